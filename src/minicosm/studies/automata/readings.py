"""Numbers out of results, for claims and figures."""

from typing import Any

from minicosm.lab import Results, rows


def depth_cells(results: Results) -> dict[tuple[str, str], tuple[Any, Any]]:
    """Of automaton and construction: the depth, None where a condition fails, and whether every state was
    right."""
    found = rows(results, "depths")
    names = zip(found["automaton"], found["construction"], strict=True)
    return dict(zip(names, zip(found["depth"], found["exact"], strict=True), strict=True))


def in_order(names: list[str]) -> list[str]:
    """Each once, as they come."""
    return list(dict.fromkeys(names))
