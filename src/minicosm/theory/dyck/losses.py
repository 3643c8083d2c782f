"""What Theorem 2.2.2 asks of the loss: of the excess over the least one, and as printed."""

import numpy as np
from jaxtyping import Float

from minicosm.worlds import Dyck

from ..checks import INSIDE, whole
from ..signatures import checked
from ..theorem import Theorem

LENGTH = whole(1, 2**16)


def rarest_prefixes(world: Dyck, length: int) -> Float[np.ndarray, " lengths"]:
    """The least log probability of prefixes of 0..length tokens, by dynamic programming over depths."""
    k, D = world.types, world.depth
    with np.errstate(divide="ignore"):
        up, down = np.log(np.asarray(world.opening) / k), np.log(np.asarray(world.closing))
    up[-1] = down[0] = np.inf  # these moves do not exist
    least = np.full(D + 1, np.inf)
    least[0] = 0
    lows = [0.0]
    for _ in range(length):
        least = np.minimum(
            np.append(np.inf, (least + up)[:-1]), np.append((least + down)[1:], np.inf)
        )
        lows.append(float(least.min()))
    return np.array(lows)


def log_loss_bound(world: Dyck, q: float, N: int) -> float:
    """The logarithm of `(q (1 - q) / k^2)^N`, by which Theorem 2.2.2 bounds the loss."""
    return float(N * np.log(q * (1 - q) / world.types**2))


@checked(q=INSIDE, N=LENGTH)
def excess_loss(world: Dyck, q: float, N: int) -> Theorem:
    """`N (q (1 - q) / k^2)^N <= Pr(p)` for every prefix p of fewer than N tokens, so that an excess
    loss of that power times epsilon leaves a squared error of at most epsilon on each; the slack is
    of logarithms."""
    bound = log_loss_bound(world, q, N)
    slack = float(rarest_prefixes(world, N - 1).min()) - float(np.log(N)) - bound
    return Theorem.inequality("excess loss", slack, within=0.0, details={"log bound": bound})


@checked(q=INSIDE, N=LENGTH)
def loss_as_printed(world: Dyck, q: float, N: int) -> Theorem:
    """The hypothesis of Theorem 2.2.2 on the loss itself, for the best model there is and epsilon =
    1: the least squared loss is at most `(q (1 - q) / k^2)^N`; the slack is of logarithms."""
    least, bound = world.optimal_loss(N, "squared"), log_loss_bound(world, q, N)
    slack = bound - float(np.log(least))
    return Theorem.inequality(
        "loss as printed", slack, within=0.0, details={"least loss": least, "log bound": bound}
    )
