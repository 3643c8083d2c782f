"""How many steps a chain needs to reach a set, exactly."""

import numpy as np
from jaxtyping import Bool, Float

from minicosm.worlds.joint import Joint, context_sums
from minicosm.worlds.masks import MaskLaw


def _outside(
    P: Float[np.ndarray, "states states"], target: Bool[np.ndarray, " states"]
) -> Float[np.ndarray, "others others"]:
    if target.shape != (len(P),) or not target.any():
        raise ValueError("the target must be a truth value per state, true for at least one")
    return P[np.ix_(~target, ~target)]


def expected_steps(
    P: Float[np.ndarray, "states states"], target: Bool[np.ndarray, " states"]
) -> Float[np.ndarray, " states"]:
    """`E[T]` from every state, T the first step in the target: `(I - Q) t = 1` outside it.

    Infinite from states that may never arrive.
    """
    Q = _outside(P, target)
    reach = np.eye(len(Q), dtype=bool) | (Q > 0)
    for _ in range(max(1, int(np.ceil(np.log2(max(len(Q), 2)))))):
        reach = (reach.astype(np.float64) @ reach) > 0
    leaves = (P[np.ix_(~target, target)] > 0).any(axis=1)
    arrives = (reach & leaves).any(axis=1)
    sure = ~(reach & ~arrives).any(axis=1)
    steps = np.full(len(Q), np.inf)
    inner = Q[np.ix_(sure, sure)]
    steps[sure] = np.linalg.solve(np.eye(int(sure.sum())) - inner, np.ones(int(sure.sum())))
    found = np.zeros(len(P))
    found[~target] = steps
    return found


def survival(
    P: Float[np.ndarray, "states states"],
    target: Bool[np.ndarray, " states"],
    start: Float[np.ndarray, " states"],
    budget: int,
) -> Float[np.ndarray, " budget+1"]:
    """`P(T > t)` for t = 0..budget, from the law `start`."""
    Q = _outside(P, target)
    law = np.asarray(start, np.float64)[~target]
    found = np.empty(budget + 1)
    for t in range(budget + 1):
        found[t] = law.sum()
        law = law @ Q
    return found


def capped_steps(
    P: Float[np.ndarray, "states states"],
    target: Bool[np.ndarray, " states"],
    start: Float[np.ndarray, " states"],
    budget: int,
) -> float:
    """`E[min(T, budget)] = sum_{t < budget} P(T > t)`."""
    return float(survival(P, target, start, budget)[:-1].sum())


def reach_in_one(
    joint: Joint, masks: MaskLaw, target: Bool[np.ndarray, " states"]
) -> Float[np.ndarray, " states"]:
    """`P(x -> target)` of one step of block dynamics from every x, without a dense kernel."""
    masks.check(joint)
    found = np.zeros(len(joint.probabilities))
    for mask, law in masks.items(len(found)):
        weights = joint.probabilities * law
        total = context_sums(weights, mask, joint.vocab)
        inside = context_sums(weights * target, mask, joint.vocab)
        found += law * inside / np.where(total > 0, total, 1)
    return found
