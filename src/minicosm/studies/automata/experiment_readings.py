"""Numbers out of the results of trained models: who has learned, accuracies beyond the length of training,
cells of the depth table, heads.

Members of an arm are independent, and so are arms: differences of arms have Welch's interval, differences
within members Student's. Accuracies are shares, estimates are in per cent and points.
"""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import Estimate, Results, least, percent, unpaired

from .experiment_trials import cell

if TYPE_CHECKING:
    from .experiment_trials import Training

LEARNED, EXACT = 0.98, 0.999
"""Accuracy at the length of training from which on a Transformer has learned, and an LSTM or a scratchpad."""
ABOVE_FLOOR = 0.05
"""By how much a member must be better than the position alone for its accuracy to be an outcome."""
WORKS = 0.99
"""Accuracy of every member of the gridworld at two layers, if the recipe works."""
OFTEN, RARE = 100, 3
"""Expected numbers of strings in training from which on a cell is seen often, and below which rarely."""


def config_of(results: Results, arm: str) -> "Training":
    """The configuration that an arm was trained with."""
    return results[arm].config


def accuracy(results: Results, arm: str) -> np.ndarray:
    """The accuracy of every member at the length of training."""
    return np.asarray(results[arm].numbers["accuracy"], float)


# -- guards ------------------------------------------------------------------------------------------


def learned(results: Results, arm: str) -> np.ndarray:
    """The members that have learned; none, if an accuracy is not known."""
    values = accuracy(results, arm)
    limit = LEARNED if config_of(results, arm).model == "transformer" else EXACT
    return np.flatnonzero(values >= limit) if np.isfinite(values).all() else np.array([], int)


def enough(results: Results, *arms: str) -> bool:
    """Whether at least four members of each arm have learned, or three where three are trained."""
    needed = {arm: 3 if config_of(results, arm).members == 3 else 4 for arm in arms}
    return all(len(learned(results, arm)) >= needed[arm] for arm in arms)


def recipe_works(results: Results, *arms: str) -> bool:
    """Whether every member of the gridworld at two layers is right, and every member of these arms (default:
    of all) is better than the position alone."""
    grid = cell("Grid_4", 2)
    better = [
        least(accuracy(results, arm)) >= results[arm].numbers["position"] + ABOVE_FLOOR
        for arm in arms or results
    ]
    return grid in results and least(accuracy(results, grid)) >= WORKS and all(better)


# -- accuracies --------------------------------------------------------------------------------------


def mean(results: Results, arm: str) -> Estimate:
    """Accuracy at the length of training, in per cent."""
    return percent(accuracy(results, arm))


def best(results: Results, arm: str) -> float:
    """That of the best member; NaN if one is not known."""
    return float(np.max(accuracy(results, arm)))


def median(results: Results, arm: str) -> float:
    return float(np.median(accuracy(results, arm)))


def reach(results: Results, arm: str) -> float:
    """The largest t with at least 95% at every position up to t, median over members."""
    return float(np.median(np.asarray(results[arm].numbers["reach"], float)))


def gap_closed(results: Results, arm: str) -> float:
    """The share of what separates the position alone from perfection that the best member has closed."""
    floor = results[arm].numbers["position"]
    return (best(results, arm) - floor) / (1 - floor)


def less(results: Results, first: str, second: str) -> Estimate:
    """`first - second` at the length of training, all members."""
    return unpaired(accuracy(results, first).tolist(), accuracy(results, second).tolist())


def span(results: Results, arm: str, begin: float, end: float) -> np.ndarray:
    """Accuracy of the members that have learned at the positions after `begin` lengths of training and up to
    `end` of them: (1, 1.5) are 21..30 of 20."""
    length = config_of(results, arm).length
    positions = results[arm].arrays["positions"][learned(results, arm)]
    return positions[:, round(begin * length) : round(end * length)].mean(axis=1)


def span_mean(results: Results, arm: str, begin: float, end: float) -> Estimate:
    """The mean of `span`, in per cent."""
    return percent(span(results, arm, begin, end))


def span_less(results: Results, first: str, second: str, begin: float, end: float) -> Estimate:
    """`first - second` at these positions."""
    one, other = (span(results, arm, begin, end) for arm in (first, second))
    return unpaired(one.tolist(), other.tolist())


def at_chance(results: Results, arm: str, chance: float) -> np.ndarray:
    """Accuracy of the members that have learned where ones have this chance; NaN if it was not tried."""
    chances = config_of(results, arm).chances
    kept = learned(results, arm)
    if chance not in chances:
        return np.full(len(kept), np.nan)
    return np.asarray(results[arm].numbers["chances"], float)[kept, chances.index(chance)]


def at_all_chances(results: Results, arm: str) -> np.ndarray:
    """The same at every chance that was tried: `[member, chance]`."""
    return np.asarray(results[arm].numbers["chances"], float)[learned(results, arm)]


def often_less_rare(results: Results, arm: str) -> np.ndarray:
    """For each member that has learned, the mean accuracy over the cells (position, number of ones) that were
    seen often in training less that over those seen rarely. Cells without a test string do not count."""
    arrays = results[arm].arrays
    seen, expected = arrays["cells_seen"], arrays["expected"]
    cells = arrays["cells"][learned(results, arm)]
    kinds = [(seen > 0) & (expected >= OFTEN), (seen > 0) & (expected < RARE)]
    known = np.isfinite(seen).all() and np.isfinite(expected).all()
    if not known or not all(kind.any() for kind in kinds):
        return np.full(len(cells), np.nan)
    often, rare = (cells[:, kind].mean(axis=1) for kind in kinds)
    return often - rare


# -- heads -------------------------------------------------------------------------------------------

MEASURED = ("on", "control", "before", "before_even")


def wall_heads(results: Results, arm: str) -> dict[str, np.ndarray]:
    """Of every member that has learned: the head of the last layer, and the wall, that are best on the first
    half of the strings, and what they do on the second."""
    arrays, found = results[arm].arrays, []
    for i in learned(results, arm):
        gain = arrays["heads_on"][i, 0] - arrays["heads_control"][i, 0]
        head, wall = np.unravel_index(np.argmax(gain), gain.shape)  # of a NaN, if there is one
        known = 0.0 if np.isfinite(gain).all() else np.nan
        row = {name: arrays[f"heads_{name}"][i, 1, head, wall] + known for name in MEASURED}
        found.append(row | {"member": i, "head": head, "wall": wall})
    names = ("member", "head", "wall", *MEASURED)
    return {name: np.array([row[name] for row in found]) for name in names}


def even_heads(results: Results, arm: str) -> np.ndarray:
    """Of every member that has learned: the evenness, on the second half of the strings, of the head of the
    first layer that is most even on the first half."""
    even = results[arm].arrays["heads_even"][learned(results, arm)]
    chosen = np.argmax(even[:, 0], axis=1)  # a NaN, if there is one
    known = np.where(np.isfinite(even[:, 0]).all(axis=1), 0.0, np.nan)
    return even[np.arange(len(even)), 1, chosen] + known


def even_choice(results: Results, arm: str, member: int) -> int:
    """The head of the first layer that is most even on the first half of the strings."""
    return int(np.argmax(results[arm].arrays["heads_even"][member, 0]))


# -- the depth table ---------------------------------------------------------------------------------


def theory_depth(task: str, length: int) -> tuple[int, str]:
    """The depth of the shallowest construction of the source for a task of the table at this length, and
    where it stands: a constant one, or the logarithmic one of Theorem 10."""
    constant = {
        "Grid": (2, "Theorem 12"), "C_2^": (1, "Lemma 17"), "C_": (1, "Lemma 15"), "D_": (4, "Lemma 18"),
        "Q_8": (7, "Theorem 16"), "A_4": (7, "Theorem 16"), "S_4": (10, "Theorem 16"),
    }  # fmt: skip
    log = (int(np.ceil(np.log2(length))), "Theorem 10")
    known = [value for name, value in constant.items() if task.startswith(name)]
    return min(known[0], log) if known else log


def table_cells(results: Results) -> dict[str, dict[int, str]]:
    """The cells of the depth table that were trained: for each task, the name of the arm by depth."""
    found: dict[str, dict[int, str]] = {}
    for arm in results:
        config = config_of(results, arm)
        if arm == cell(config.task, config.layers):
            found.setdefault(config.task, {})[config.layers] = arm
    return found
