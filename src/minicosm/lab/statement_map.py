"""A map of statements: which claim stands on which, as an SVG whose boxes are links.

Columns are ranks: what stands on a statement is at its right. Parts that have nothing to do with each
other are apart, the largest first. An edge over several columns goes through waypoints, which take part in
the layout, so that it passes between boxes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

WIDTH, HEIGHT, GAP, LANE = 190, 56, 10, 48
LETTERS, LINES, LINE = 26, 3, 14.5
SWEEPS = 12

Node = str | tuple[str, int]
"""A statement, or the waypoint of the edges from a statement in a column."""


class Box(NamedTuple):
    """A statement: its id, what is written in its box, where it links to, its verdict and what that is
    called."""

    id: str
    title: str
    address: str
    state: str
    name: str


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


def columns(uses: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The column of every statement on the map: as near as can be to what stands on it."""
    column = ranks(uses)
    for name in sorted(column, key=lambda name: -column[name]):
        above = [column[user] for user, below in uses.items() if name in below]
        column[name] = min(above, default=column[name] + 1) - 1
    return column


def paths(uses: Mapping[str, Sequence[str]]) -> list[list[Node]]:
    """For every edge its nodes from column to column: a statement, waypoints, a statement."""
    column = columns(uses)
    return [
        [each, *((each, between) for between in range(column[each] + 1, column[name])), name]
        for name, below in uses.items()
        for each in below
    ]


def layout(uses: Mapping[str, Sequence[str]]) -> dict[Node, tuple[int, float]]:
    """The column and the height of the middle of every node."""
    column, routes = columns(uses), paths(uses)
    left: dict[Node, list[Node]] = {}
    right: dict[Node, list[Node]] = {}
    for route in routes:
        for a, b in pairwise(route):
            if b not in right.setdefault(a, []):
                right[a].append(b)
                left.setdefault(b, []).append(a)
    found: dict[Node, tuple[int, float]] = {}
    top = bottom = 0.0
    taken, most = 0, max(column.values(), default=0) + 1
    for part in _parts(left, right):
        lanes: dict[int, list[Node]] = {}
        for node in part:
            lanes.setdefault(column[node] if isinstance(node, str) else node[1], []).append(node)
        middle = _middles(_ordered(lanes, left, right), left, right)
        first = min(y - _tall(node) / 2 for node, y in middle.items())
        if taken + len(lanes) > most:  # else there is room at the right of the part before
            top, taken = bottom + 2 * GAP, 0
        for place, lane in lanes.items():
            found |= {node: (taken + place, top + middle[node] - first) for node in lane}
        bottom = max(bottom, *(found[node][1] + _tall(node) / 2 for node in part))
        taken += len(lanes)
    return found


def _tall(node: Node) -> float:
    return HEIGHT if isinstance(node, str) else 0.0


def _parts(left: Mapping[Node, list[Node]], right: Mapping[Node, list[Node]]) -> list[list[Node]]:
    """The nodes, those together that edges connect, the largest part first."""
    parts: list[list[Node]] = []
    seen: set[Node] = set()
    for start in right:
        part, waiting = [], [start]
        while waiting:
            node = waiting.pop(0)
            if node not in seen:
                seen.add(node)
                part.append(node)
                waiting += [*right.get(node, ()), *left.get(node, ())]
        parts += [part] if part else []
    return sorted(parts, key=len, reverse=True)


def _ordered(
    lanes: Mapping[int, list[Node]],
    left: Mapping[Node, list[Node]],
    right: Mapping[Node, list[Node]],
) -> dict[int, list[Node]]:
    """The lanes, each ordered by the mean place of its neighbours; the sweep with fewest crossings."""
    order = {place: list(lanes[place]) for place in sorted(lanes)}
    best = (_crossings(order, right), order)
    for sweep in range(SWEEPS):
        near = left if sweep % 2 == 0 else right
        order = {place: list(lane) for place, lane in order.items()}
        for place in list(order) if sweep % 2 == 0 else reversed(order):
            at = {node: i for lane in order.values() for i, node in enumerate(lane)}
            mean = {
                node: sum(at[n] for n in near[node]) / len(near[node])
                if near.get(node)
                else at[node]
                for node in order[place]
            }
            order[place].sort(key=mean.__getitem__)
        crossings = _crossings(order, right)
        best = (crossings, order) if crossings < best[0] else best
    return best[1]


def _crossings(order: Mapping[int, list[Node]], right: Mapping[Node, list[Node]]) -> int:
    at = {node: i for lane in order.values() for i, node in enumerate(lane)}
    count = 0
    for lane in order.values():
        ends = [(at[node], at[end]) for node in lane for end in right.get(node, ())]
        count += sum((a - c) * (b - d) < 0 for i, (a, b) in enumerate(ends) for c, d in ends[:i])
    return count


def _middles(
    order: Mapping[int, list[Node]],
    left: Mapping[Node, list[Node]],
    right: Mapping[Node, list[Node]],
) -> dict[Node, float]:
    """Heights near the mean of the neighbours' ones, in this order and without overlaps."""
    middle: dict[Node, float] = {}
    for lane in order.values():
        middle |= dict(zip(lane, _apart([0.0] * len(lane), lane), strict=True))
    for sweep in range(SWEEPS):
        for lane in list(order.values())[:: 1 if sweep % 2 else -1]:
            near = [[*left.get(node, ()), *right.get(node, ())] for node in lane]
            wanted = [sum(middle[n] for n in each) / len(each) for each in near]
            middle |= dict(zip(lane, _apart(wanted, lane), strict=True))
    return middle


def _apart(wanted: Sequence[float], lane: Sequence[Node]) -> list[float]:
    """The heights nearest to the wanted ones in squares at which neighbours do not overlap: isotonic
    regression of what is left of them when the boxes above are taken off."""
    offsets = [0.0]
    for a, b in pairwise(lane):
        offsets.append(offsets[-1] + (_tall(a) + _tall(b)) / 2 + GAP)
    pools: list[tuple[float, int]] = []
    for height, offset in zip(wanted, offsets, strict=True):
        pools.append((height - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            later, more = pools.pop()
            value, count = pools.pop()
            pools.append(((value * count + later * more) / (count + more), count + more))
    level = [value for value, count in pools for _ in range(count)]
    return [value + offset for value, offset in zip(level, offsets, strict=True)]


def draw(boxes: Sequence[Box], uses: Mapping[str, Sequence[str]]) -> str:
    """The map as an `<svg>` element, or nothing if no statement stands on another."""
    at = layout(uses)
    if not at:
        return ""
    of = {box.id: box for box in boxes}
    width = (max(place for place, _ in at.values()) + 1) * (WIDTH + LANE) - LANE
    height = max(y + _tall(node) / 2 for node, (_, y) in at.items())
    parts = [
        f'<svg class="statements" role="group" aria-label="Map of statements" width="{width + 4}" '
        f'height="{height + 4:.0f}" viewBox="-2 -2 {width + 4} {height + 4:.0f}">'
    ]
    for route in paths(uses):
        (place, y), *further = (at[node] for node in route)
        x = place * (WIDTH + LANE) + WIDTH
        line = f"M{x} {y:.1f}"
        for place, end in further:
            stop = place * (WIDTH + LANE)
            line += f"C{x + LANE / 2} {y:.1f} {stop - LANE / 2} {end:.1f} {stop} {end:.1f}"
            x, y = stop + WIDTH, end
            line += f"H{x}" if (place, end) != further[-1] else ""
        parts.append(
            f'<path class="edge" d="{line}"/><path class="head" d="M{stop} {end:.1f}l-7 -3.5v7z"/>'
        )
    for node, (place, y) in at.items():
        if isinstance(node, str):
            parts.append(_box(of[node], place * (WIDTH + LANE), y))
    return "".join([*parts, "</svg>"])


def _box(box: Box, x: float, middle: float) -> str:
    lines = textwrap.wrap(box.title, LETTERS) or [""]
    if len(lines) > LINES:
        rest = textwrap.shorten(" ".join(lines[LINES - 1 :]), LETTERS, placeholder=" …")
        lines = [*lines[: LINES - 1], rest]
    first = middle + 4 - (len(lines) - 1) * LINE / 2
    text = "".join(
        f'<tspan x="{x + 8}" y="{first + LINE * i:.1f}">{escape(line)}</tspan>'
        for i, line in enumerate(lines)
    )
    return (
        f'<a href="{escape(box.address)}"><title>{escape(box.title)}: {escape(box.name)}</title>'
        f'<rect class="{escape(box.state)}" x="{x}" y="{middle - HEIGHT / 2:.1f}" width="{WIDTH}" '
        f'height="{HEIGHT}" rx="6"/><text>{text}</text></a>'
    )
