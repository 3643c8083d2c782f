"""Numbers out of results of Transformers of one width: times to 90% with few and with many heads.

Every seed counts, also one that learns with neither number of heads: a time that is never reached counts
as the horizon, which is the same for both.
"""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import Estimate, Results

from .readings import FEWEST, LEARNED, T90

if TYPE_CHECKING:
    from .head_trials import Heads

HEADS = "heads"


def heads_config(results: Results) -> "Heads":
    return results[HEADS].config


def steps(results: Results) -> np.ndarray:
    return np.asarray(results[HEADS].arrays["steps"], float)


def curve(results: Results, arm: str) -> np.ndarray:
    """Accuracy `[step, seed]` with "few" or "many" heads."""
    return np.asarray(results[HEADS].arrays[arm], float)


def reached(results: Results, arm: str) -> np.ndarray:
    """`[step, seed]`: whether there was an evaluation with 90% up to then."""
    return np.maximum.accumulate(curve(results, arm) >= T90, axis=0)


def times(results: Results, arm: str) -> np.ndarray:
    """The first evaluation with 90%, seed by seed; the horizon where there is none, NaN where an accuracy is
    NaN."""
    when, found = steps(results), reached(results, arm)
    first = np.where(found[-1], when[np.argmax(found, axis=0)], when[-1])
    return first + 0 * curve(results, arm).sum(axis=0)


def log_ratio(results: Results) -> Estimate:
    """`log(t90 with few heads / t90 with many)`, seed by seed."""
    return Estimate.of(np.log(times(results, "few") / times(results, "many")))


def enough(results: Results) -> bool:
    """Whether at least four models with many heads have learned."""
    return int((curve(results, "many")[-1] >= LEARNED).sum()) >= FEWEST
