"""Figures, tables, maps and sentences as HTML, without marimo and without JAX.

Maps of probabilities are tables whose cells have a shade: they are made at once, follow the page from
light to dark, and can be read aloud.
"""

import html
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from minicosm.lab import to_svg
from minicosm.lab.figures import house_style
from minicosm.lab.formatting import number
from minicosm.lab.mathematics import inline

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(name: str, alt: str, draw: Callable[..., "Figure"], *args: Any) -> str:
    """What `draw` draws, in the house style; `alt` is what a reader who does not see it is told."""
    with house_style():
        svg = to_svg(draw(*args), name)
    label = f'<svg aria-label="{html.escape(alt)}"'
    return f'<figure class="scroll" tabindex="0">{svg.replace("<svg", label, 1)}</figure>'


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """Cells are texts, with mathematics between dollars, or numbers."""
    head = "".join(f'<th scope="col">{inline(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    title = f"<caption>{inline(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll" tabindex="0"><table class="data">{title}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return f"<td>{inline(value)}</td>"
    return f'<td class="number">{html.escape(number(value))}</td>'


def shades(
    values: Float[np.ndarray, "rows columns"],
    caption: str,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    corner: str = "",
    framed: Sequence[tuple[int, int]] = (),
    written: bool = True,
    pale_after: int | None = None,
) -> str:
    """A map of numbers in [0, 1]: the larger, the darker; `framed` cells have a frame, and columns after
    `pale_after` are pale. Numbers are written into the cells, or are shown where the mouse is."""
    rows = [str(i) for i in range(values.shape[0])] if rows is None else rows
    columns = [str(j) for j in range(values.shape[1])] if columns is None else columns
    frames = set(framed)
    body = []
    for i, (name, line) in enumerate(zip(rows, values.tolist(), strict=True)):
        cells = []
        for j, value in enumerate(line):
            style = "framed" if (i, j) in frames else ""
            style += " dark" if value > 0.55 else ""
            style += " pale" if pale_after is not None and j > pale_after else ""
            text = (f"{value:.2f}".removeprefix("0") if value >= 0.005 else "") if written else ""
            tip = "" if written else f' title="{html.escape(f"{name} {columns[j]}: {value:.3f}")}"'
            marked = f' class="{style.strip()}"' if style else ""
            cells.append(f'<td{marked}{tip} style="--p:{value:.3g}">{text}</td>')
        body.append(f'<tr><th scope="row">{html.escape(name)}</th>{"".join(cells)}</tr>')
    head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in columns)
    kind = "shades" if written else "shades small"
    return (
        f'<div class="scroll" tabindex="0"><table class="{kind}"><caption>{inline(caption)}</caption>'
        f"<thead><tr><th>{html.escape(corner)}</th>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def side_by_side(*parts: str) -> str:
    """Parts in a row, or below one another where there is no room."""
    return f'<div class="side">{"".join(f"<div>{part}</div>" for part in parts)}</div>'


def prose(*paragraphs: str) -> str:
    """Paragraphs with mathematics between dollars and `code`."""
    return "".join(f"<p>{inline(text)}</p>" for text in paragraphs)


def sentence(error: Exception) -> str:
    """What is wrong with what was given."""
    return f'<p class="wrong" role="alert">{html.escape(str(error))}</p>'
