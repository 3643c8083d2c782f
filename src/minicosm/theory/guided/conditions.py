"""What statements about a tree need of its values, each decided on the tree."""

from collections.abc import Callable

import numpy as np

from ..theorem import Condition
from .mixing import errors
from .prefix_tree import PrefixTree

EXACT = 1e-9  # values are called exact if `V / V*` is one up to this


def same_support(tree: PrefixTree) -> Condition:
    """Whether values are zero exactly where `V*` is."""
    wrong = ((tree.mass * tree.exact > 0) != (tree.mass * tree.value > 0))[1:]
    return Condition(
        "values are positive where V* is",
        not wrong.any(),
        {"nodes": int(wrong.sum())},
        f"at {int(wrong.sum())} nodes only one of V and V* is zero",
    )


def exact_leaves(tree: PrefixTree) -> tuple[Condition, Condition]:
    """Whether values have the zeros of `V*` and are exact at the leaves."""
    return same_support(tree), _exact("leaves are exact", tree, tree.leaves)


def exact_values(tree: PrefixTree) -> tuple[Condition, Condition]:
    """Whether values have the zeros of `V*` and are exact at every node but the root."""
    return same_support(tree), _exact("values are exact", tree, slice(1, None))


def _exact(name: str, tree: PrefixTree, at: slice) -> Condition:
    off = float(np.abs(errors(tree).ratio[at] - 1).max())
    return Condition(name, off <= EXACT, {"error": off}, f"V / V* is off one by {off:.3g}")


def where(conditions: tuple[Condition, ...], compute: Callable[[], float]) -> float:
    """The number, computed only if all conditions hold; else NaN, which decides nothing."""
    return compute() if all(condition.holds for condition in conditions) else float("nan")


def largest(*errors: float) -> float:
    """The largest error; NaN if one is NaN."""
    return float(np.max(errors))


def least(*slacks: float) -> float:
    """The least slack; NaN if one is NaN."""
    return float(np.min(slacks))
