"""How many steps a chain needs to reach a set, exactly."""

from math import inf

import numpy as np
from jaxtyping import Bool, Float

from minicosm.worlds import Joint, MaskLaw
from minicosm.worlds.joint.joint import context_sums

from ..checks import whole
from ..signatures import checked
from .rules import LAW, kernel
from .rules import masks as mask_law
from .rules import target as wanted


def _outside(
    P: Float[np.ndarray, "states states"], target: Bool[np.ndarray, " states"]
) -> Float[np.ndarray, "others others"]:
    return P[np.ix_(~target, ~target)]


@checked(P=kernel, target=wanted)
def expected_steps(
    P: Float[np.ndarray, "states states"], target: Bool[np.ndarray, " states"]
) -> Float[np.ndarray, " states"]:
    """`E[T]` from every state, T the first step in the target: `t = 1 + Q t` outside it.

    States are eliminated one by one without a subtraction (as Grassmann, Taksar and Heyman do), so that
    times of 1e15 steps, which make `I - Q` singular in double precision, are right to many digits.
    Infinite from states that may never arrive.
    """
    others = np.flatnonzero(~target)
    n = len(others)
    A = P[np.ix_(others, others)].copy()
    out = P[np.ix_(others, np.flatnonzero(target))].sum(axis=1)
    steps = np.ones(n)
    leave = np.empty(n)
    for i in range(n - 1, -1, -1):
        leave[i] = A[i, :i].sum() + out[i]
        if leave[i] == 0:
            steps[:i][A[:i, i] > 0] = inf
            steps[i] = inf
            continue
        share = A[:i, i] / leave[i]
        A[:i, :i] += np.outer(share, A[i, :i])
        out[:i] += share * out[i]
        steps[:i] += np.where(share > 0, share * steps[i], 0) if steps[i] < inf else 0
        steps[:i][(share > 0) & (steps[i] == inf)] = inf
    found = np.zeros(n)
    for i in range(n):
        near = A[i, :i] > 0
        if leave[i] == 0 or steps[i] == inf:
            found[i] = inf
        else:
            found[i] = (steps[i] + A[i, :i][near] @ found[:i][near]) / leave[i]
    everywhere = np.zeros(len(P))
    everywhere[others] = found
    return everywhere


@checked(P=kernel, target=wanted, start=LAW, budget=whole())
def survival(
    P: Float[np.ndarray, "states states"],
    target: Bool[np.ndarray, " states"],
    start: Float[np.ndarray, " states"],
    budget: int,
) -> Float[np.ndarray, " times"]:
    """`P(T > t)` for t = 0..budget, from the law `start`."""
    Q = _outside(P, target)
    law = start[~target]
    found = np.empty(budget + 1)
    for t in range(budget + 1):
        found[t] = law.sum()
        law = law @ Q
    return found


@checked(P=kernel, target=wanted, start=LAW, steps=whole(0, None))
def survival_at(
    P: Float[np.ndarray, "states states"],
    target: Bool[np.ndarray, " states"],
    start: Float[np.ndarray, " states"],
    steps: int,
) -> float:
    """`P(T > steps)` alone, by squaring: for millions of steps."""
    Q, law = _outside(P, target), start[~target]
    power = np.linalg.matrix_power(Q, steps)
    return float(law @ power.sum(axis=1))


@checked(P=kernel, target=wanted, start=LAW, budget=whole())
def hit_probability(
    P: Float[np.ndarray, "states states"],
    target: Bool[np.ndarray, " states"],
    start: Float[np.ndarray, " states"],
    budget: int,
) -> float:
    """`P(T <= budget)`, summed from arrivals: 1 less the survival would round 1e-20 to zero."""
    Q = _outside(P, target)
    arrive = P[np.ix_(~target, target)].sum(axis=1)
    found, law = float(start[target].sum()), start[~target]
    for _ in range(budget):
        found += float(law @ arrive)
        law = law @ Q
    return found


@checked(P=kernel, target=wanted, start=LAW, budget=whole())
def capped_steps(
    P: Float[np.ndarray, "states states"],
    target: Bool[np.ndarray, " states"],
    start: Float[np.ndarray, " states"],
    budget: int,
) -> float:
    """`E[min(T, budget)] = sum_{t < budget} P(T > t)`."""
    return float(survival(P, target, start, budget)[:-1].sum())


@checked(masks=mask_law, target=wanted)
def reach_in_one(
    joint: Joint, masks: MaskLaw, target: Bool[np.ndarray, " states"]
) -> Float[np.ndarray, " states"]:
    """`P(x -> target)` of one step of block dynamics from every x, without a dense kernel.

    As in `kernels.block_dynamics`, an impossible context stays as it is.
    """
    found = np.where(masks.table(len(target)).any(axis=1), 0.0, target)  # no mask law: stays
    for mask, law in masks.items(len(found)):
        weights = joint.probabilities * law
        total = context_sums(weights, mask, joint.vocab)
        inside = context_sums(weights * target, mask, joint.vocab)
        found += law * np.where(total > 0, inside / np.where(total > 0, total, 1), target)
    return found
