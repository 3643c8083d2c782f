"""The house style of figures, and inline SVG that follows the page from light to dark.

Text, axes and grid are drawn in one ink, which `to_svg` turns into `currentColor`; the background
is transparent. The five colours of the palette can be read on white and on near-black, and stay far
apart for readers with each form of colour blindness; after five, lines are dashed.
"""

from __future__ import annotations

import base64
import io
import re
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from minicosm.lab.checking import check_kind, check_number, check_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE = "#4856e8"
ORANGE = "#e66300"
GREEN = "#00a763"
PURPLE = "#b247b1"
GREY = "#907f8d"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, GREY)

INK = "#010203"


def house_style() -> AbstractContextManager[None]:
    """Context in which axes are drawn in the house style; the lab draws claims inside it."""
    import matplotlib
    from cycler import cycler

    style: Any = {
        "axes.prop_cycle": cycler(linestyle=["-", "--"]) * cycler(color=PALETTE),
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.labelsize": 10,
        "axes.linewidth": 0.8,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "figure.facecolor": "none",
        "font.size": 10,
        "grid.color": INK,
        "grid.alpha": 0.14,
        "grid.linewidth": 0.7,
        "image.cmap": "cividis",
        "legend.frameon": False,
        "legend.fontsize": 9,
        "lines.linewidth": 1.8,
        "lines.markersize": 5,
        "patch.edgecolor": INK,
        "savefig.facecolor": "none",
        "text.color": INK,
        "xtick.color": INK,
        "xtick.labelsize": 9,
        "ytick.color": INK,
        "ytick.labelsize": 9,
        "svg.fonttype": "none",
    }
    return matplotlib.rc_context(style)


def figure(width: float = 7.0, height: float = 3.6) -> Figure:
    """An empty figure of the given size in inches, laid out so that nothing overlaps."""
    from matplotlib.figure import Figure

    for name, size in (("width", width), ("height", height)):
        check_number(name, size, lambda x: 0 < x <= 100, "a positive number of at most 100 inches")
    return Figure(figsize=(width, height), layout="constrained", facecolor="none")


def to_svg(fig: Figure, name: str = "figure") -> str:
    """An `<svg>` element to put into a page; `name` keeps its ids apart from other figures'."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    check_kind("fig", fig, Figure, "a figure, such as lab.figure() makes")
    check_text("name", name)
    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        fig.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    # the style element says `*`, which in a page would mean every element of the page
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(rf"{INK}|#000000", "currentColor", svg)
    prefix = re.sub(r"[^A-Za-z0-9]+", "-", name) + "-"
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", svg)
    width, height = (re.search(rf'{side}="([\d.]+)pt"', svg) for side in ("width", "height"))
    if width and height:
        style = f'style="max-width: {float(width[1]) * 96 / 72:.0f}px" role="img"'
        svg = svg.replace(f"{width[0]}", style, 1).replace(f"{height[0]} ", "", 1)
    return compact(svg.strip() + "\n")


def compact(svg: str) -> str:
    """The same picture in fewer bytes: coordinates to a hundredth of a point, and images of at most 256
    colours with a palette."""
    svg = re.sub(r'(?<= )(?:d|x|y)="[^"]*"', lambda found: _shorter(found[0]), svg)
    return re.sub(r"(?<=data:image/png;base64,)[^\"]*", lambda found: _palette(found[0]), svg)


INHERITED = {
    "fill", "fill-opacity", "stroke", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap",
    "stroke-linejoin", "stroke-miterlimit", "stroke-opacity", "stroke-width",
}  # fmt: skip
"""What a mark has from its group as well as from itself."""


def lean(svg: str, name: str) -> str:
    """The same picture for a page that gives its text a font and has a colour `--soft`, in about half the
    bytes: marks of one style have it from a group, only ids that something refers to are there, numbered
    after `name`, and the figure's own, and what is written for readers of the file is not."""
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"(?<=>)\s+(?=<)", "", svg)
    svg = re.sub(r'(?<= )d="[^"]*"', lambda found: _one_line(found[0]), svg)
    svg = re.sub(r"font-family: 'DejaVu Sans', '[^;\"]*;? ?", "", svg)
    svg = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", svg)
    svg = svg.replace("xlink:href=", "href=")
    # Dark grey would not be seen on a dark page.
    svg = re.sub(r"#([0-6][0-9a-f])\1\1\b", "var(--soft)", svg)
    svg = re.sub(
        r'(?:<use [^>]*style="([^"]*)"/>)(?:<use [^>]*style="\1"/>)+',
        lambda found: _grouped(found[0], found[1]),
        svg,
    )
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    numbers: dict[str, int] = {}

    def short(found: re.Match[str]) -> str:
        before, each, after = found.groups()
        if each.endswith("figure_1"):
            return f"{before}{name}{after}"
        if before == ' id="' and each not in used:
            return ""
        return f"{before}{name}-{numbers.setdefault(each, len(numbers))}{after}"

    return re.sub(r'( id="|href="#|url\(#)([^")]+)(["\)])', short, svg)


def _grouped(marks: str, style: str) -> str:
    if {part.partition(":")[0].strip() for part in style.split(";")} <= INHERITED:
        plain = marks.replace(f' style="{style}"', "")
        return f'<g style="{style}">{plain}</g>'
    return marks


def _one_line(path: str) -> str:
    path = re.sub(r"\s+", " ", path)
    return re.sub(r" (?=[A-Za-z\"])|(?<=[A-Za-z]) (?=[-\d.])", "", path)


def _shorter(text: str) -> str:
    """With at most two digits after the point."""
    return re.sub(
        r"-?\d+\.\d+(?![\de])", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), text
    )


def _palette(data: str) -> str:
    """A PNG, without loss, with a palette if it has few colours and is smaller so."""
    import numpy as np
    from PIL import Image

    before = base64.b64decode(data)
    with Image.open(io.BytesIO(before)) as image:
        pixels = np.asarray(image.convert("RGBA"))
    colours, places = np.unique(pixels.reshape(-1, 4), axis=0, return_inverse=True)
    if len(colours) > 256:
        return data
    indexed = Image.fromarray(places.reshape(pixels.shape[:2]).astype(np.uint8))
    indexed.putpalette(colours.tobytes(), "RGBA")
    buffer = io.BytesIO()
    indexed.save(buffer, "png", optimize=True, transparency=colours[:, 3].tobytes())
    after = buffer.getvalue()
    return base64.b64encode(min(before, after, key=len)).decode()
