"""Reaching a mode together or one by one (Sections 4.1.4.2 and 4.3.5 to 4.3.8), as functions of a world."""

from math import exp, log

import numpy as np
from scipy.special import expit

from minicosm.worlds import CliqueIsing

from ..checks import whole
from ..signatures import checked
from ..theorem import IDENTITY, Condition, Theorem
from . import bounds, hitting, kernels, lumped
from .rules import DELTA, SIZE, hidden

EXACT = 1e-12


@checked()
def proposition_4_3_3(world: CliqueIsing) -> Theorem:
    """States of R_1 are more likely than those of R_-1, which are at least `e^(2 J_0)` times as likely as
    any other (print has >); flipping the clique changes the odds by exactly `e^(2 h_G)`.

    The error, in logs, is the largest by which one of the three misses.
    """
    condition = bounds.strongly_ferromagnetic(world)
    energy = np.log(world.ising().joint().probabilities)
    high, low = world.mode(1), world.mode(-1)
    others = energy[~(high | low)]
    first = energy[high].min() - energy[low].max()
    second = energy[low].min() - others.max() - 2 * world.slack if others.size else 0.0
    flipped = np.arange(len(energy)) ^ ((2**world.clique - 1) << (world.length - world.clique))
    ratio = np.abs(energy[high] - energy[flipped[high]] - 2 * world.clique_field).max()
    order = 0.0 if first > 0 else 1.0 - first
    return Theorem.identity(
        "Proposition 4.3.3",
        float(np.max([order, -second, ratio])),
        conditions=(condition,),
        details={"second mode over others": float(second), "error of the ratio": float(ratio)},
    )


@checked(k=hidden, delta=DELTA)
def proposition_4_1_4(world: CliqueIsing, k: int, delta: float = 0.1) -> Theorem:
    """From any state a k-Gibbs step with k >= c enters R_1 with probability at least `1 - c_R1`, so
    that R_1 was visited after `ceil(ln delta / ln c_R1)` steps with probability `1 - delta`.

    The slack is the lesser of exact / bound - 1 and 1 - P(not visited) / delta.
    """
    conditions = (bounds.strongly_ferromagnetic(world), _covers(world, k))
    if not all(condition.holds for condition in conditions):
        return Theorem("Proposition 4.1.4", conditions)
    bound, steps = bounds.reach_probability(world, k), bounds.reach_steps(world, k, delta)
    P, start, target, exact = _reaching(world, k)
    missed = hitting.survival_at(P, target, start, steps)
    return Theorem.inequality(
        "Proposition 4.1.4",
        float(np.min([exact / bound - 1, 1 - missed / delta])),
        within=EXACT,
        conditions=conditions,
        details={"exact": exact, "bound": bound, "steps": steps, "not visited": missed},
    )


def _covers(world: CliqueIsing, k: int) -> Condition:
    reason = "" if k >= world.clique else f"k is {k}, less than the clique's {world.clique} spins"
    return Condition("k >= c", not reason, {"k": k, "c": world.clique}, reason)


def _reaching(world: CliqueIsing, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """The k-Gibbs chain, its start with all clique spins -, R_1, and the least chance to enter it."""
    if np.ptp(world.h[: world.clique]) == 0:
        state = world.lumped()
        P = lumped.k_gibbs(state, k)
        target = np.arange(len(P)) == world.clique
        return P, lumped.at(state, 0), target, float(P[:, -1].min())
    joint = world.ising().joint()
    P = kernels.k_gibbs(joint, k)
    start = np.zeros(len(P))
    start[0] = 1
    target = world.mode(1)
    return P, start, target, float(P[:, target].sum(axis=1).min())


@checked(delta=DELTA, most=SIZE)
def proposition_4_1_5(
    world: CliqueIsing, delta: float, *, most: int = 10**6, as_printed: bool = False
) -> Theorem:
    """From a start with clique sum <= -2, independent parallel sampling keeps it so for
    `floor(delta e^c_stuck / 2)` steps with probability `1 - delta`, if `c tanh(J_0) > 2` (a condition that
    is not printed). More than `most` steps are not taken, since rounding adds up."""
    name = "Proposition 4.1.5 as printed" if as_printed else "Proposition 4.1.5"
    found = bounds.stuck(world, delta)
    conditions: tuple[Condition, ...] = (bounds.strongly_ferromagnetic(world),)
    if not as_printed:
        reason = (
            "" if found.applies else f"r = c tanh(J_0) / 2 - 1 is {found.r:.3g}; it must be > 0"
        )
        conditions += (Condition("c tanh(J_0) > 2", found.applies, {"r": found.r}, reason),)
    if not all(condition.holds for condition in conditions):
        return Theorem(name, conditions)
    stays = _stays(world, min(found.steps, most))
    return Theorem.inequality(
        name,
        stays - (1 - delta),
        within=EXACT,
        conditions=conditions,
        details={"stays": stays, "steps": found.steps, "c_stuck": found.rate, "r": found.r},
    )


def _stays(world: CliqueIsing, steps: int) -> float:
    """The chance that the clique's sum stays <= -2 for this number of steps, from the worst start."""
    if np.ptp(world.h[: world.clique]) == 0:
        state = world.lumped()
        low = 2 * np.arange(world.clique + 1) - world.clique <= -2
        worst = lumped.at(state, int(np.flatnonzero(low)[-1]))
        return hitting.survival_at(lumped.independent_parallel(state), ~low, worst, steps)
    joint = world.ising().joint()
    low = (2 * joint.states[:, : world.clique] - 1).sum(axis=1) <= -2
    inside = kernels.independent_parallel(joint)[np.ix_(low, low)]
    return float(np.linalg.matrix_power(inside, steps).sum(axis=1).min())


@checked()
def equation_4_44(world: CliqueIsing) -> Theorem:
    """From a clique sum <= -2 each spin turns up with probability at most `1 / (1 + e^(2 J_0))` in a step
    of independent parallel sampling. The slack is relative; the clique's fields must be equal."""
    low = 2 * np.arange(world.clique + 1) - world.clique <= -2
    turn = float(expit(world.lumped().update_logits()[1][low].max()))
    slack = 1 - turn * (1 + exp(2 * world.slack))
    conditions = (bounds.strongly_ferromagnetic(world),)
    return Theorem.inequality("Equation 4.44", slack, within=EXACT, conditions=conditions)


@checked(k=hidden, budget=whole(1), delta=DELTA)
def corollary_4_1_1(world: CliqueIsing, k: int, budget: int, delta: float) -> Theorem:
    """One k-Gibbs step from a clique of sum <= -2 enters R_1, and `budget` independent parallel steps do
    not leave, each with probability `1 - delta / 2`. The clique's fields must be equal.

    The slack is the least of both and of the steps of the proof: `c_R1 <= delta / 2`,
    `c_stuck >= c / 8 - 1` and `c / 8 - 1 >= ln(4M / delta)`.
    """
    need = bounds.separation(budget, delta)
    least = bounds.least_k(world.length, world.clique, delta)
    short = [
        f"{name} is {value:.6g}; it must be at least {bound:.6g}"
        for name, value, bound in (
            ("c", world.clique, need.clique),
            ("h_G", world.clique_field, need.clique_field),
            ("J_0", world.slack, need.slack),
        )
        if value < bound * (1 - EXACT)
    ]
    reason = "" if k >= least else f"k is {k}; it must be at least {least}"
    conditions = (
        bounds.strongly_ferromagnetic(world),
        Condition("Assumption 4.1.6", not short, {"J_0": world.slack}, "; ".join(short)),
        Condition("Assumption 4.1.7", not reason, {"k": k, "least": least}, reason),
    )
    if not all(condition.holds for condition in conditions):
        return Theorem("Corollary 4.1.1", conditions)
    state, c = world.lumped(), world.clique
    low = 2 * np.arange(c + 1) - c <= -2
    reach = float(lumped.k_gibbs(state, k)[low, c].min())
    worst = lumped.at(state, int(np.flatnonzero(low)[-1]))
    left = hitting.hit_probability(lumped.independent_parallel(state), ~low, worst, budget)
    missed, rate = 1 - bounds.reach_probability(world, k), bounds.stuck(world, delta).rate
    proof = (
        delta / 2 - missed + EXACT,
        rate - (c / 8 - 1),
        c / 8 - 1 - log(4 * budget / delta) + IDENTITY,
    )
    return Theorem.inequality(
        "Corollary 4.1.1",
        float(np.min([reach - (1 - delta / 2), delta / 2 - left, *proof])),
        within=0.0,
        conditions=conditions,
        details={"one step enters": reach, "independent steps leave": left, "c_R1": missed},
    )
