"""Two Transformers of one layer that compute a sparse parity: Propositions 9 and 10."""

import numpy as np
from jaxtyping import Float, Int

from ..automata.gadgets import lookup, lookup_1d
from ..checks import whole
from ..signatures import checked
from ..theorem import Theorem

WRONG_BELOW = 0.1
"""How far below the threshold of Proposition 9 the sharpness is tried as well."""


def least_sharpness(d: int, k: int) -> float:
    """`log((d - k)(4k - 1) / k)`: from here on attention to the support is within 1/4k of its mean."""
    return float(np.log((d - k) * (4 * k - 1) / k))


def _attended(tokens: Int[np.ndarray, "n d"], k: int, sharpness: float) -> Float[np.ndarray, " n"]:
    """What the last position reads: weights proportional to `exp(c 1[i in S])`, value 1 for token 1."""
    weights = np.exp(np.where(np.arange(tokens.shape[1]) < k, 0.0, -sharpness))
    return tokens @ (weights / weights.sum())


def _hardest(d: int, k: int) -> Int[np.ndarray, "n d"]:
    """Ones on j of the support and all or none of the others: where attention leaks most."""
    rows = np.zeros((2 * (k + 1), d), int)
    for j in range(k + 1):
        rows[2 * j : 2 * j + 2, :j] = 1
        rows[2 * j + 1, k:] = 1
    return rows


def _inputs(d: int, k: int, seed: int, count: int = 4096) -> Int[np.ndarray, "n d"]:
    """All strings of up to 14 bits, otherwise random ones; and the hardest."""
    if d <= 14:
        return (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    drawn = np.random.default_rng([seed, d, k]).integers(0, 2, (count, d))
    return np.concatenate([drawn, _hardest(d, k)])


@checked(d=whole(2, 1000), k=whole(1, 100), seed=whole(0, 2**62))
def proposition_9(d: int, k: int, seed: int = 0) -> Theorem:
    """Attention on the support and an MLP of 4(k + 1) units of size at most 4k(k + 1) compute the
    parity, at the least sharpness; the details have the error 0.1 below it, on the hardest inputs."""
    _check(d, k)
    points = np.arange(k + 1) / k
    mlp = lookup_1d(points, ((-1.0) ** np.arange(k + 1))[:, None], 0, [0])
    tokens = _inputs(d, k, seed)
    wanted = (-1.0) ** tokens[:, :k].sum(axis=1)
    sharpness = least_sharpness(d, k)
    # The bound is attained; the last bits of the threshold itself are rounding.
    found = mlp(_attended(tokens, k, sharpness + 1e-9)[None])[0]
    hard = _hardest(d, k)
    lower = mlp(_attended(hard, k, sharpness - WRONG_BELOW)[None])[0]
    below = np.abs(lower - (-1.0) ** hard[:, :k].sum(axis=1)).max()
    sizes = mlp.widths == (4 * (k + 1),) and mlp.largest <= 4 * k * (k + 1) + 1e-9
    return Theorem.identity(
        "Proposition 9",
        float(np.abs(found - wanted).max()) if sizes else float("inf"),
        cases=len(tokens),
        details={"sharpness": sharpness, "error below it": float(below), "d": d, "k": k},
    )


@checked(d=whole(2, 1000), k=whole(1, 12), seed=whole(0, 2**62))
def proposition_10(d: int, k: int, seed: int = 0) -> Theorem:
    """Uniform attention copies position-coded values, d times as large, to the last position, and an MLP
    of three layers with 8k and 2^k units looks the parity of k of them up."""
    _check(d, k)
    points = ((np.arange(2**k)[:, None] >> np.arange(k)) & 1).astype(float)
    mlp = lookup(points, ((-1.0) ** points.sum(axis=1))[:, None], list(range(k)), [0])
    tokens = _inputs(d, k, seed)
    values = d * np.eye(d)  # of token 1 at every position
    copied = (tokens @ values) / d
    found = mlp(copied.T)[0]
    wanted = (-1.0) ** tokens[:, :k].sum(axis=1)
    sizes = mlp.widths == (8 * k, 2**k) and mlp.largest <= 2 ** (k + 2) + 2
    return Theorem.identity(
        "Proposition 10",
        float(np.abs(found - wanted).max()) if sizes else float("inf"),
        cases=len(tokens),
        details={"d": d, "k": k},
    )


def _check(d: int, k: int) -> None:
    if k >= d:
        raise ValueError(f"k is {k} and d is {d}; the support must be smaller than the input")
