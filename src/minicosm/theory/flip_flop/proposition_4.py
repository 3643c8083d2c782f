"""Proposition 4: soft attention leaks, the more the more there is to look at; and what leaks are writes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from minicosm.models import Transformer, from_arrays
from minicosm.models.variants import bare

from ..checks import real, reals, whole
from ..signatures import checked
from ..theorem import Condition, Theorem


@checked(sigma=real(least=0), length=whole(1, 2**40))
def attention_bound(sigma: float, length: int) -> float:
    """`e^(2 sigma) / (e^(2 sigma) + T - 1)`: no weight is larger where scores are in `[-sigma, sigma]`."""
    return float(1 / (1 + (length - 1) * np.exp(-2 * sigma)))


@checked()
def proposition_4(M: Float[np.ndarray, "d d"], latents: Float[np.ndarray, "T d"]) -> Theorem:
    """For latents of norm at most 1 and scores `v_t^T M v_T`, with sigma the largest singular value of M,
    every weight of the last position is at most `attention_bound(sigma, T)`."""
    norms = np.linalg.norm(latents, axis=1)
    sigma = float(np.linalg.norm(M, 2))
    weights = softmax(latents @ M @ latents[-1])
    bounded = Condition(
        "latents of norm at most 1",
        bool(norms.max() <= 1 + 1e-12),
        {"largest norm": float(norms.max())},
        reason=f"a latent has norm {norms.max():.3g}",
    )
    slack = attention_bound(sigma, len(latents)) - weights.max()
    details = {"sigma": sigma, "largest weight": float(weights.max())}
    return Theorem.inequality("Proposition 4", slack, conditions=(bounded,), details=details)


class LeakyHead(NamedTuple):
    """Scores `v_t^T M v_T` of latents, the last of which asks."""

    M: Float[np.ndarray, "d d"]
    latents: Float[np.ndarray, "T d"]


@checked(sigma=real(least=0), length=whole(2, 2**20))
def tightest_head(sigma: float, length: int) -> LeakyHead:
    """`M = -sigma u u^T`, the first latent `-u` and all others, the last among them, `u`: the weight of the
    first attains the bound of Proposition 4."""
    u = np.array([1.0, 0.0])
    latents = np.tile(u, (length, 1))
    latents[0] = -u
    return LeakyHead(-sigma * np.outer(u, u), latents)


@checked(sigma=real(least=0), length=whole(2, 2**20))
def proposition_4_tight(sigma: float, length: int) -> Theorem:
    """The bound is attained."""
    head = tightest_head(sigma, length)
    largest = softmax(head.latents @ head.M @ head.latents[-1]).max()
    error = abs(largest - attention_bound(sigma, length))
    return Theorem.identity("Proposition 4, equality", error, within=1e-12)


# -- dilution by writes ------------------------------------------------------------------------------


@checked(scores=reals((None,), least=-300, most=300), keeps=reals((None,), least=-300, most=300))
def dilution(scores: Float[np.ndarray, " writes"], keeps: Float[np.ndarray, " keeps"]) -> Theorem:
    """A head whose values are 1 for the last write, -1 for the N writes before it and 0 for `keeps`, read by
    its sign, is wrong if `N > e^(2 sigma)`, where `2 sigma` is the range of the scores of writes; scores of
    what keeps the memory change nothing. The slack is how far the read-out, in units of its largest term, is
    below zero."""
    if len(scores) < 2:
        raise ValueError("scores has one entry; there must be a write before the last one")
    spread = float(np.ptp(scores))
    many = Condition(
        "more than e^(2 sigma) opposite writes",
        bool(len(scores) - 1 > np.exp(spread)),
        {"writes": len(scores) - 1, "e^(2 sigma)": float(np.exp(spread))},
        reason=f"{len(scores) - 1} opposite writes are at most {np.exp(spread):.3g}",
    )
    weights = softmax(np.concatenate([scores, keeps]))[: len(scores)]
    values = np.append(-np.ones(len(scores) - 1), 1)
    read = float(weights @ values / weights.max())
    alone = float(softmax(scores) @ values / softmax(scores).max())
    return Theorem.inequality(
        "Dilution by writes",
        min(-read, 1e-9 - abs(read - alone)),
        within=0,
        conditions=(many,),
        details={"read": read, "change by what keeps": abs(read - alone)},
    )


@checked(slope=real(above=0, most=50))
def first_diluted(slope: float) -> float:
    """`ceil(-ln(2 - e^g) / g)`: the least number of opposite writes just before the last at which a head
    with recency slope g is wrong; infinite from `g = ln 2` on."""
    left = 2 - np.exp(slope)
    return float(np.ceil(-np.log(left) / slope)) if left > 0 else float("inf")


def recency_reader() -> Transformer:
    """A Transformer of one attention layer alone whose scores are zero, so that its placement's recency slope
    is all that it knows: it reads keep, set 1, set 2, with values 0, -1, 1, and says 1 or 2 by the sign."""
    config = bare(3, width=2, inputs=3)
    embedding = np.array([[0.0, 1.0], [-1.0, 1.0], [1.0, 1.0]])
    qkv, out = np.zeros((2, 3, 1, 2)), np.zeros((1, 2, 2))
    qkv[0, 2, 0, 0] = 1
    qkv[1, 2, 0, 1] = 1
    out[0] = np.eye(2)
    output = np.array([[0.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
    return from_arrays(
        config,
        {"token_embedding": embedding, "layers.0.attention.qkv": qkv,
         "layers.0.attention.out": out, "output": output},
        fill=0,
    )  # fmt: skip


@checked(slope=real(above=0, most=50), most=whole(1, 2**12))
def recency_dilution(slope: float, most: int) -> Theorem:
    """A head with recency slope g, N opposite writes before the last: it is wrong exactly from
    `first_diluted(g)` on. The error counts numbers of writes up to `most` where it is otherwise."""
    N = np.arange(1, most + 1)
    opposite = np.cumsum(np.exp(-slope * N))
    wrong = 1 - opposite <= 0
    # At g = ln 2 the sum is 1 - 2^-N, which rounding may not tell from 1.
    clear = np.abs(1 - opposite) > 1e-12
    error = int(((wrong != (first_diluted(slope) <= N)) & clear).sum())
    found = float(N[wrong][0]) if wrong.any() else float("inf")
    return Theorem.identity(
        "Dilution by recency", error, within=0, cases=int(clear.sum()), details={"first": found}
    )
