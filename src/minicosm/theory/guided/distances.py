"""Distances between laws over the same strings."""

import numpy as np
from jaxtyping import Float

from ..checks import probabilities
from ..signatures import checked

_TWO = {
    "p": probabilities((None,), lacking=True),
    "q": probabilities(lambda given: given["p"].shape, lacking=True),
}


@checked(**_TWO)
def tv(p: Float[np.ndarray, " n"], q: Float[np.ndarray, " n"]) -> float:
    """Total variation `1/2 sum |p - q|`; mass that one of them lacks (a failure) is counted too."""
    return float(np.abs(p - q).sum() + abs(p.sum() - q.sum())) / 2


@checked(**_TWO)
def kl(p: Float[np.ndarray, " n"], q: Float[np.ndarray, " n"]) -> float:
    """`sum p log(p / q)` in nats; infinite if q is zero where p is not."""
    on = p > 0
    if (q[on] <= 0).any():
        return float("inf")
    return float(np.sum(p[on] * np.log(p[on] / q[on])))
