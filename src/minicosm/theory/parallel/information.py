"""Information in masked prediction (Section 4.1.2).

A parametric law enters through its scores: `scores[x] = grad_theta log p_theta(x)` at the truth. For an
exponential family the statistics T(x) do as well, since only differences within a context matter:

`grad log p(x_K | x_-K, K) = g(x) - E[g | x_-K, K]`, with `g` the scores.

The expectation has weights `p(x) P(K | x)`; a mask law that does not look at x drops out of it.
"""

from collections.abc import Iterator
from itertools import combinations
from math import comb, inf
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from minicosm.worlds import Joint, MaskLaw
from minicosm.worlds.joint.joint import context_sums
from minicosm.worlds.joint.masks import check_k

from ..checks import real, reals, truths
from ..signatures import checked
from .rules import SCORES, square, symmetric, vocab_of
from .rules import masks as mask_law

PSD = 1e-10  # relative to the norm: a least eigenvalue above -PSD counts as zero


@checked(scores=SCORES)
def fisher(joint: Joint, scores: Float[np.ndarray, "states d"]) -> Float[np.ndarray, "d d"]:
    """`I = Cov(grad log p_theta(X))`: the information of whole sequences."""
    p = joint.probabilities
    centred = scores - p @ scores
    return centred.T @ (p[:, None] * centred)


@checked(
    weights=reals((None,), least=0),
    values=SCORES,
    mask=truths((None,)),
    vocab=vocab_of("weights", lambda given: len(given["mask"])),
)
def residuals(
    weights: Float[np.ndarray, " states"],
    values: Float[np.ndarray, "states d"],
    mask: Bool[np.ndarray, " N"],
    vocab: int,
) -> Float[np.ndarray, "states d"]:
    """`values(x) - E[values | x_-K]` under weights over x; zero where the context has no weight."""
    return _residuals(weights, values, mask, vocab)


def _residuals(
    weights: Float[np.ndarray, " states"],
    values: Float[np.ndarray, "states d"],
    mask: Bool[np.ndarray, " N"],
    vocab: int,
) -> Float[np.ndarray, "states d"]:
    total = context_sums(weights, mask, vocab)
    sums = context_sums(weights[:, None] * values, mask, vocab)
    safe = np.where(total > 0, total, 1)
    return np.where(total[:, None] > 0, values - sums / safe[:, None], 0)


@checked(scores=SCORES, masks=mask_law)
def masked_scores(
    joint: Joint, scores: Float[np.ndarray, "states d"], masks: MaskLaw
) -> Iterator[tuple[Float[np.ndarray, " states"], Float[np.ndarray, "states d"]]]:
    """For every mask K: the masses `p(x) P(K | x)` and `grad log p(x_K | x_-K, K)`, over x."""
    for mask, law in masks.items(len(joint.probabilities)):
        weights = joint.probabilities * law
        yield weights, _residuals(weights, scores, mask, joint.vocab)


@checked(scores=SCORES, masks=mask_law)
def information(
    joint: Joint, scores: Float[np.ndarray, "states d"], masks: MaskLaw
) -> Float[np.ndarray, "d d"]:
    """Masked information `E[s s^T] = E_K E Cov(g | x_-K, K)`, s the masked score."""
    found = np.zeros((scores.shape[1],) * 2)
    for weights, s in masked_scores(joint, scores, masks):
        found += s.T @ (weights[:, None] * s)
    return found


@checked(scores=SCORES, masks=mask_law)
def averaged_information(
    joint: Joint, scores: Float[np.ndarray, "states d"], masks: MaskLaw
) -> Float[np.ndarray, "d d"]:
    """`V = Cov_x(E_K[s | x])`: what is left of the score's variance when masks are averaged out."""
    p = joint.probabilities
    mean = np.zeros_like(scores, dtype=np.float64)
    for weights, s in masked_scores(joint, scores, masks):
        mean += (weights / np.where(p > 0, p, 1))[:, None] * s
    centred = mean - p @ mean
    return centred.T @ (p[:, None] * centred)


class Covariance(NamedTuple):
    """An asymptotic covariance `n Cov(theta_hat)`, infinite if theta is not identifiable."""

    matrix: Float[np.ndarray, "d d"]
    trace: float
    condition: float  # of the masked information, in units in which its diagonal is one
    identifiable: bool

    def __str__(self) -> str:
        if not self.identifiable:
            return "not identifiable: the masked information is singular, the covariance infinite"
        return f"trace {self.trace:.6g}, condition number {self.condition:.3g}"


@checked(
    scores=SCORES,
    masks=mask_law,
    masks_per_example=real(least=1, infinite=True),
)
def asymptotic_covariance(
    joint: Joint,
    scores: Float[np.ndarray, "states d"],
    masks: MaskLaw,
    masks_per_example: int | float = 1,
) -> Covariance:
    """`Gamma_m = I^-1 (V + (I - V) / m) I^-1` with m masks drawn and kept per example.

    m = 1 gives `I^-1` (Lemma 4.1.2); m = inf, all masks averaged or masks drawn anew in every epoch,
    gives the Godambe sandwich `I^-1 V I^-1`.
    """
    I_mask = information(joint, scores, masks)
    condition = _condition(I_mask)
    if condition == inf:
        return Covariance(np.full_like(I_mask, inf), inf, inf, False)
    inner = I_mask
    if masks_per_example > 1:
        V = averaged_information(joint, scores, masks)
        inner = V + (I_mask - V) / masks_per_example
    inverse = np.linalg.inv(I_mask)
    matrix = inverse @ inner @ inverse
    return Covariance((matrix + matrix.T) / 2, float(np.trace(matrix)), condition, True)


def _condition(matrix: Float[np.ndarray, "d d"]) -> float:
    """The condition number in units in which the diagonal is one; infinite if it is above 1e13."""
    scale = np.sqrt(np.diag(matrix))
    if not (scale > 0).all():
        return inf
    values = np.linalg.eigvalsh(matrix / np.outer(scale, scale))
    return float(values[-1] / values[0]) if values[0] > 1e-13 * values[-1] else inf


@checked(
    scores=SCORES,
    k=lambda name, value, given: check_k(value, given["joint"].length - 1, least=0),
)
def chain_rule_term(
    joint: Joint, scores: Float[np.ndarray, "states d"], k: int
) -> Float[np.ndarray, "d d"]:
    """`E_S E_{a not in S} E[g g^T]` with `g = grad log p(x_a | x_-(S + a))` and |S| = k.

    Theorem 4.1.1's proof: it is what k + 1 masks know beyond k, since log p(x_S, x_a | rest) =
    log p(x_S | x_a, rest) + log p(x_a | rest). The score g is the conditional mean of the scores
    given all but S, less that given all but S + a.
    """
    N, p = joint.length, joint.probabilities
    found = np.zeros((scores.shape[1],) * 2)
    for S in combinations(range(N), k):
        inner = np.isin(np.arange(N), S)
        within = _residuals(p, scores, inner, joint.vocab)
        for a in set(range(N)) - set(S):
            outer = inner | (np.arange(N) == a)
            g = _residuals(p, scores, outer, joint.vocab) - within
            found += g.T @ (p[:, None] * g)
    return found / (comb(N, k) * (N - k))


@checked(matrix=square)
def least_eigenvalue(matrix: Float[np.ndarray, "d d"]) -> float:
    """The least eigenvalue, divided by the largest absolute one: PSD iff it is above -1e-10."""
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    return float(values[0] / max(np.abs(values).max(), 1e-300))


@checked(larger=symmetric(definite=True), smaller=symmetric("larger"))
def whitened_gap(larger: Float[np.ndarray, "d d"], smaller: Float[np.ndarray, "d d"]) -> float:
    """The least eigenvalue of `L^-1 (larger - smaller) L^-T` with `larger = L L^T`.

    In these coordinates a scale that is 1e8 times another cannot hide or fake a violation.
    """
    L = np.linalg.cholesky(larger)
    inverse = np.linalg.inv(L)
    gap = inverse @ (larger - smaller) @ inverse.T
    return float(np.linalg.eigvalsh((gap + gap.T) / 2)[0])


@checked(I=symmetric(definite=True), covariance=symmetric("I"))
def relative_inefficiency(
    I: Float[np.ndarray, "d d"],  # noqa: E741
    covariance: Float[np.ndarray, "d d"],
) -> float:
    """`lambda_max(I Gamma)`: by how much the covariance exceeds `I^-1` in its worst direction."""
    L = np.linalg.cholesky(I)
    return float(np.linalg.eigvalsh(L.T @ covariance @ L)[-1])
