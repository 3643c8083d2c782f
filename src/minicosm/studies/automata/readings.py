"""Numbers out of results, for claims and figures."""

from typing import Any

from minicosm.lab import Results, rows


def depth_cells(results: Results) -> dict[tuple[str, str], tuple[Any, Any]]:
    """Of automaton and construction: the depth, None where a condition fails, and whether every state was
    right."""
    found = rows(results, "depths")
    names = zip(found["automaton"], found["construction"], strict=True)
    return dict(zip(names, zip(found["depth"], found["exact"], strict=True), strict=True))


def in_order(names: list[Any]) -> list[Any]:
    """Each once, as they come."""
    return list(dict.fromkeys(names))


def wrong_strings(results: Results, part: str) -> tuple[str, int, int, int, int]:
    """Of networks of Theorem 12 with a part as printed: strings with a wrong state, strings, wrong states,
    and states."""
    found = rows(results, f"Theorem 12, {part} as printed")
    return part, *(sum(found[name]) for name in ("wrong strings", "strings", "wrong", "cases"))


def depth_lines(results: Results) -> dict[str, list[tuple[int, int, bool]]]:
    """Of every construction: length, depth, and whether it was run there."""
    depths, states = rows(results, "Definition 3, depth"), rows(results, "Definition 3, states")
    run = set(zip(states["construction"], states["length"], strict=True))
    lines: dict[str, list[tuple[int, int, bool]]] = {}
    for name, length, depth in zip(
        depths["construction"], depths["length"], depths["depth"], strict=True
    ):
        lines.setdefault(name, []).append((length, depth, (name, length) in run))
    return lines
