"""Assumptions 5 to 9 of Section 2.2 of Liu's thesis, each decided on the numbers that it names."""

import numpy as np

from minicosm.worlds import HMM, GaussianHMM
from minicosm.worlds.hmm.doubly_stochastic import least_singular

from ..signatures import checked
from ..theorem import Condition
from .arguments import WORLD
from .distance import parameters

SUMS = 1e-8
RANK = 1e-10  # least singular value over the largest


def assumption_5(world: HMM | GaussianHMM) -> Condition:
    """The chain is doubly stochastic and starts from its stationary law."""
    _, T = parameters(world)
    sums = float(np.abs(np.concatenate([T.sum(axis=0), T.sum(axis=1)]) - 1).max())
    moved = float(np.abs(T @ world.p0 - world.p0).max())
    return Condition(
        "Assumption 5",
        max(sums, moved) <= SUMS,
        {"sums off by": sums, "start law off by": moved},
        reason=f"sums of the chain are off by {sums:.2g}, its start law by {moved:.2g}",
    )


def assumption_6(world: HMM) -> Condition:
    """Every token can be seen."""
    O, _ = parameters(world)
    rare = float(O.sum(axis=1).min())
    return Condition("Assumption 6", rare > 0, {"least row sum": rare}, reason="a row of O is zero")


def full_rank(world: HMM | GaussianHMM) -> Condition:
    """Assumption 7 (discrete) or 8 (Gaussian): chain and emissions have rank k."""
    O, T = parameters(world)
    least_O, least_T = least_singular(O), least_singular(T)
    top = max(np.linalg.norm(O, 2), np.linalg.norm(T, 2))
    return Condition(
        "Assumption 8" if isinstance(world, GaussianHMM) else "Assumption 7",
        bool(min(least_O, least_T) > RANK * top),
        {"sigma_min(O)": least_O, "sigma_min(T)": least_T},
        reason=f"least singular values are {least_O:.2g} of the emissions and {least_T:.2g} of the chain",
    )


def assumption_9(world: GaussianHMM) -> Condition:
    """All means have length one."""
    off = float(np.abs(np.linalg.norm(np.asarray(world.M), axis=0) - 1).max())
    return Condition(
        "Assumption 9", off <= SUMS, {"lengths off by": off}, reason=f"lengths are off by {off:.2g}"
    )


@checked(world=WORLD)
def assumptions(world: HMM | GaussianHMM, *, unit: bool = True) -> tuple[Condition, ...]:
    """All that the source asks of such a world; `unit` is Assumption 9."""
    if isinstance(world, GaussianHMM):
        return (assumption_5(world), full_rank(world), *((assumption_9(world),) if unit else ()))
    return (assumption_5(world), assumption_6(world), full_rank(world))
