"""A map of statements: which claim stands on which, as an SVG whose boxes are links.

Columns are ranks, the length of the longest way to a statement from those that stand on nothing;
within a column boxes are ordered by the mean place of their neighbours.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT, GAP, LANE = 178, 44, 12, 62
SWEEPS = 6


class Box(NamedTuple):
    """A statement: its id, what is written in its box, where it links to, its verdict."""

    id: str
    title: str
    address: str
    state: str


def ranks(uses: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """For every statement that uses another or is used its rank; `ValueError` if it stands on itself."""
    found: dict[str, int] = {}
    waiting: set[str] = set()

    def rank(name: str) -> int:
        if name in waiting:
            raise ValueError(f"{name} stands on itself")
        if name not in found:
            waiting.add(name)
            found[name] = max((1 + rank(below) for below in uses.get(name, ())), default=0)
            waiting.remove(name)
        return found[name]

    used = {below for all_below in uses.values() for below in all_below}
    for name in (*uses, *used):
        if uses.get(name) or name in used:
            rank(name)
    return found


def columns(uses: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The statements by rank, ordered so that neighbours are near."""
    rank = ranks(uses)
    made: list[list[str]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for name in [name for name in uses if name in rank] + [n for n in rank if n not in uses]:
        made[rank[name]].append(name)
    near: dict[str, list[str]] = {name: list(uses.get(name, ())) for name in rank}
    for name, below in uses.items():
        for each in below:
            near[each].append(name)
    for _ in range(SWEEPS):
        place = {name: i / len(column) for column in made for i, name in enumerate(column)}
        for column in made:
            column.sort(key=lambda name: sum(place[n] for n in near[name]) / len(near[name]))
            place |= {name: i / len(column) for i, name in enumerate(column)}
    return made


def draw(boxes: Sequence[Box], uses: Mapping[str, Sequence[str]]) -> str:
    """The map as an `<svg>` element, or nothing if no statement stands on another."""
    made = columns(uses)
    if not made:
        return ""
    of = {box.id: box for box in boxes}
    tall = max(len(column) for column in made)
    width = len(made) * (WIDTH + LANE) - LANE
    height = tall * (HEIGHT + GAP) - GAP
    at: dict[str, tuple[float, float]] = {}
    for place, column in enumerate(made):
        top = (height - (len(column) * (HEIGHT + GAP) - GAP)) / 2
        for i, name in enumerate(column):
            at[name] = (place * (WIDTH + LANE), top + i * (HEIGHT + GAP))
    parts = [
        f'<svg class="statements" role="img" aria-label="Map of statements" width="{width + 4}" '
        f'height="{height + 4:.0f}" viewBox="-2 -2 {width + 4} {height + 4:.0f}">'
    ]
    for name, below in uses.items():
        for each in below:
            (x0, y0), (x1, y1) = at[each], at[name]
            x0, y0, y1 = x0 + WIDTH, y0 + HEIGHT / 2, y1 + HEIGHT / 2
            bend = min(LANE, (x1 - x0) / 2)
            parts.append(
                f'<path class="edge" d="M{x0} {y0:.1f}C{x0 + bend} {y0:.1f} '
                f'{x1 - bend} {y1:.1f} {x1 - 5} {y1:.1f}"/>'
                f'<path class="head" d="M{x1} {y1:.1f}l-7 -3.5v7z"/>'
            )
    for name, (x, y) in at.items():
        box = of[name]
        lines = textwrap.wrap(box.title, 29) or [""]
        if len(lines) > 2:
            lines = [lines[0], textwrap.shorten(" ".join(lines[1:]), 29, placeholder=" …")]
        first = y + (26 if len(lines) == 1 else 18)
        text = "".join(
            f'<tspan x="{x + 9}" y="{first + 15 * i:.1f}">{escape(line)}</tspan>'
            for i, line in enumerate(lines)
        )
        parts.append(
            f'<a href="{escape(box.address)}"><title>{escape(box.title)}: {escape(box.state)}</title>'
            f'<rect class="{escape(box.state)}" x="{x}" y="{y:.1f}" width="{WIDTH}" '
            f'height="{HEIGHT}" rx="6"/>'
            f"<text>{text}</text></a>"
        )
    return "".join([*parts, "</svg>"])
