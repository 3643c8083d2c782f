"""How far apart the parameters of two worlds are, once their states have been matched as well as possible."""

import numpy as np
from jaxtyping import Float

from minicosm.worlds import HMM, GaussianHMM

from ..signatures import checked
from .arguments import WORLD, same_kind

MOST_STATES = 10


def parameters(world: HMM | GaussianHMM) -> tuple[np.ndarray, np.ndarray]:
    """Emissions (`W`, or the means M) with a column for each state, and the chain A."""
    emissions = world.M if isinstance(world, GaussianHMM) else world.W
    return np.asarray(emissions, np.float64), np.asarray(world.A, np.float64)


@checked(first=WORLD, second=same_kind)
def distance(first: HMM | GaussianHMM, second: HMM | GaussianHMM) -> float:
    """The largest difference of an entry of emissions or chain, in the best of all relabellings of the
    states: `min_Pi max(|O - O' Pi|, |T - Pi^T T' Pi|)` over permutations."""
    return matched_distance(*parameters(first), *parameters(second))


def matched_distance(
    O: Float[np.ndarray, "d k"],
    T: Float[np.ndarray, "k k"],
    other_O: Float[np.ndarray, "d k"],
    other_T: Float[np.ndarray, "k k"],
) -> float:
    """`distance` of matrices: the states of the second are assigned one by one, and a branch is left as soon
    as it is no better than the best assignment so far."""
    k = O.shape[1]
    if k > MOST_STATES:
        raise ValueError(f"the worlds have {k} states; at most {MOST_STATES} can be matched")
    cost = np.abs(O[:, :, None] - other_O[:, None, :]).max(axis=0)  # [state of first, of second]
    order = np.argsort(cost, axis=1)
    best = np.inf

    def assign(chosen: list[int], reached: float) -> None:
        nonlocal best
        i = len(chosen)
        if i == k:
            best = reached
            return
        for j in order[i]:
            if j in chosen:
                continue
            now = [*chosen, int(j)]
            here = max(
                reached,
                cost[i, j],
                np.abs(T[i, : i + 1] - other_T[j, now]).max(),
                np.abs(T[: i + 1, i] - other_T[now, j]).max(),
            )
            if here < best:
                assign(now, float(here))

    assign([], 0.0)
    return float(best)
