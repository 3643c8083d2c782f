"""Numbers out of results: times to 90%, who has learned, correlations at a phase, slopes with intervals.

Seeds are paired: under every arm a seed has the same student at the start and the same inputs. A time that is
never reached counts as the horizon. Only seeds whose teacher has learned count.
"""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import Estimate, Results, finite, rows

if TYPE_CHECKING:
    from .trials import Batches, Hierarchy, Parity

LEARNED = 0.97
"""Accuracy at the end from which on a teacher has learned."""
FEWEST = 4
"""Seeds with such a teacher that a comparison needs."""
T90 = 0.9
IN_TIME = 1.5
"""A student is in time if it has 90% after at most so many times the teacher's own steps."""
WHOLE = 0.99
"""Accuracy from which on a student of a tree has learned."""


# -- one sparse parity -----------------------------------------------------------------------------


def parity_config(results: Results) -> "Parity":
    return results["parity"].config


def learned(results: Results, trial: str = "parity") -> np.ndarray:
    """The seeds whose teacher has learned; none, if an accuracy is not known."""
    last = np.asarray(results[trial].numbers["teacher"], float)
    return np.flatnonzero(last >= LEARNED) if finite(last) else np.array([], int)


def enough(results: Results, trial: str = "parity") -> bool:
    return len(learned(results, trial)) >= FEWEST


def curve(results: Results, arm: str, trial: str = "parity") -> np.ndarray:
    """Accuracy `[step, seed]` of the seeds whose teacher has learned; "teacher" is an arm."""
    name = "teacher_curve" if arm == "teacher" else f"curve_{arm}"
    return np.asarray(results[trial].arrays[name], float)[:, learned(results, trial)]


def times(results: Results, arm: str) -> np.ndarray:
    """The first evaluation with 90%, seed by seed; the horizon where there is none, NaN where an accuracy
    is NaN."""
    found = curve(results, arm)
    steps = np.asarray(results["parity"].arrays["steps"], float)
    reached = found >= T90
    first = np.where(reached.any(axis=0), steps[np.argmax(reached, axis=0)], steps[-1])
    return first + 0 * found.sum(axis=0)


def ever(results: Results, arm: str) -> np.ndarray:
    """Whether 90% was reached at all."""
    return np.asarray((curve(results, arm) >= T90).any(axis=0))


def in_time(results: Results, arm: str, factor: float = IN_TIME) -> np.ndarray:
    """1 for every seed whose student had 90% by `factor` times the teacher's own time, else 0; NaN if a
    number is missing."""
    student, teacher = times(results, arm), times(results, "teacher")
    right = (student <= factor * teacher) & ever(results, arm) & ever(results, "teacher")
    return right.astype(float) + 0 * (student + teacher)


def more_in_time(results: Results, first: str, second: str, factor: float = IN_TIME) -> Estimate:
    """The share of seeds in time under one arm less that under another, in points."""
    gap = in_time(results, first, factor) - in_time(results, second, factor)
    return Estimate.of(100 * gap)


def log_ratio(results: Results, first: str, second: str) -> Estimate:
    """`log(t90 of one / t90 of the other)`, pair by pair."""
    return Estimate.of(np.log(times(results, first) / times(results, second)))


def phase(results: Results, name: str) -> np.ndarray:
    """The steps of a phase ("start", "middle", "end") of the teachers that have learned."""
    values = results["parity"].numbers[name]
    return np.array([np.nan if values[i] is None else values[i] for i in learned(results)], float)


def leaking_degree(results: Results) -> int:
    """k - 2, or the nearest degree that was measured."""
    return max(1, min(parity_config(results).k - 2, 3))


def correlation(results: Results, degree: int, wanted: np.ndarray) -> np.ndarray:
    """`log(on / off)` of one degree at the checkpoints nearest to these steps, seed by seed; NaN for steps
    that are not known or come after the horizon."""
    arrays = results["parity"].arrays
    steps = np.asarray(arrays["steps"], float)
    found = []
    for i, step in zip(learned(results), wanted, strict=True):
        if not step <= steps[-1]:
            found.append(np.nan)
            continue
        t = int(np.argmin(np.abs(steps - step)))
        on, off = (float(arrays[name][t, i, degree - 1]) for name in ("on", "off"))
        found.append(np.log(on / off) if on > 0 and off > 0 else np.nan)
    return np.array(found)


def mean(values: np.ndarray) -> float:
    """Of no values NaN."""
    return float(np.mean(values)) if len(values) else float("nan")


def median(values: np.ndarray) -> float:
    """Of no values NaN."""
    return float(np.median(values)) if len(values) else float("nan")


def known(values: np.ndarray) -> np.ndarray:
    """Those that are numbers."""
    return values[~np.isnan(values)]


# -- a tree of parities ----------------------------------------------------------------------------


def tree_config(results: Results) -> "Hierarchy":
    return results["hierarchy"].config


def solved(results: Results, arm: str) -> np.ndarray:
    """1 for every seed whose student has 99% at the end, else 0; NaN where an accuracy is."""
    last = curve(results, arm, "hierarchy")[-1]
    return (last >= WHOLE).astype(float) + 0 * last


def more_solved(results: Results, first: str, *others: str) -> Estimate:
    """The share solved under one arm less the mean of that under others, in points."""
    gap = solved(results, first) - np.mean([solved(results, other) for other in others], axis=0)
    return Estimate.of(100 * gap)


def peaks(results: Results) -> tuple[np.ndarray, np.ndarray]:
    """The steps at which pairs of the root's block, and of its child's, stand out most."""
    kept = learned(results, "hierarchy")
    numbers = results["hierarchy"].numbers
    return np.asarray(numbers["root"], float)[kept], np.asarray(numbers["child"], float)[kept]


def fitted_slope(x: np.ndarray, y: np.ndarray) -> float:
    """Of the least-squares line; NaN unless all numbers are finite."""
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return float("nan")
    return float(np.polyfit(x, y, 1)[0])


def log(value: float | None) -> float:
    """The logarithm; NaN of what has none."""
    return float(np.log(value)) if value is not None and value > 0 else float("nan")


# -- batches that reveal the support ---------------------------------------------------------------

SAMPLES = 1000  # of the bootstrap
RECALL, LEAK_RECALL = 0.6, 0.75


def batches_config(results: Results) -> "Batches":
    return results["suite"].config


def sides(results: Results) -> dict[str, tuple[tuple, tuple, float]]:
    """Of every source: what is varied, the batches, and the level of recall."""
    config = batches_config(results)
    return {
        "teacher": (config.teacher_dims, config.teacher_batches, RECALL),
        "labels": (config.label_dims, config.label_batches, RECALL),
        "leak": (config.leaks, config.leak_batches, LEAK_RECALL),
    }


def batch_sizes(results: Results, source: str, chosen: np.ndarray | None = None) -> np.ndarray:
    """The batch at which the mean recall over these seeds (default: all) reaches its level, for every
    dimension or leak."""
    from minicosm.theory.distillation import batch_for_recall

    _, sizes, level = sides(results)[source]
    recall = np.asarray(results["suite"].arrays[source], float)
    if not np.isfinite(recall).all():
        return np.full(len(recall), np.nan)
    kept = recall if chosen is None else recall[:, chosen]
    grid = np.asarray(sizes, float)
    return np.array([batch_for_recall(grid, row, level) for row in kept.mean(axis=1)])


def batch_slope(results: Results, source: str) -> Estimate:
    """The slope of the logarithm of that batch in the logarithm of what is varied, with the 95% interval of a
    bootstrap over seeds. A batch that the grid does not reach makes the slope infinite, or unknown."""
    varied = np.log(np.asarray(sides(results)[source][0], float))
    seeds = np.asarray(results["suite"].arrays[source]).shape[1]
    rng = np.random.default_rng(0)

    def slope(chosen: np.ndarray | None) -> float:
        sizes = np.log(batch_sizes(results, source, chosen))
        return fitted_slope(varied, sizes)

    drawn = np.array([slope(np.asarray(rng.integers(0, seeds, seeds))) for _ in range(SAMPLES)])
    value = slope(None)
    if np.isnan(value) or np.isnan(drawn).mean() > 0.025:
        return Estimate(value, -np.inf, np.inf, seeds)
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return Estimate(value, float(low), float(high), seeds)


# -- exact suites ------------------------------------------------------------------------------------


def coefficient_sizes(results: Results) -> dict[tuple[int, int], dict[int, tuple[float, float]]]:
    """Root mean squares over starts of linear coefficients on and off the support, by (d, k) and width."""
    found = rows(results, "Linear coefficients")
    columns = [np.asarray(found[name], float) for name in ("d", "k", "m", "on", "off")]
    table: dict[tuple[int, int], dict[int, tuple[float, float]]] = {}
    for d, k, m in sorted({(int(d), int(k), int(m)) for d, k, m, *_ in zip(*columns, strict=True)}):
        here = (columns[0] == d) & (columns[1] == k) & (columns[2] == m)
        on, off = (float(np.sqrt(np.mean(columns[i][here] ** 2))) for i in (3, 4))
        table.setdefault((d, k), {})[m] = (on, off)
    return table


def width_slopes(results: Results) -> dict[tuple[int, int], float]:
    """The slope of log rms on the support in log width, by (d, k)."""
    return {
        size: fitted_slope(np.log(list(by)), np.array([log(on) for on, _ in by.values()]))
        for size, by in coefficient_sizes(results).items()
    }


def noise_slopes(results: Results) -> dict[tuple[int, int], float]:
    """The slope of the log error of a sampled step in the log batch, by (d, k)."""
    found = rows(results, "Noise of the first step")
    pairs = sorted(set(zip(found["d"], found["k"], strict=True)))
    slopes = {}
    for d, k in pairs:
        here = [i for i in range(found.count) if (found["d"][i], found["k"][i]) == (d, k)]
        batch = np.log([found["batch"][i] for i in here])
        error = np.array([log(found["error"][i]) for i in here])
        slopes[(d, k)] = fitted_slope(batch, error)
    return slopes


def student_losses(results: Results) -> dict[tuple[int, int, int], np.ndarray]:
    """The best hinge losses of students, by (d, k, width of the teacher)."""
    found = rows(results, "Theorem 23, student as printed")
    losses: dict[tuple[int, int, int], list[float]] = {}
    for d, k, m, loss in zip(found["d"], found["k"], found["m"], found["loss"], strict=True):
        losses.setdefault((d, k, m), []).append(np.nan if loss is None else loss)
    return {size: np.array(values, float) for size, values in losses.items()}
