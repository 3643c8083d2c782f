"""How fast a reversible chain forgets: Dirichlet form, Poincaré and entropy constants."""

from collections.abc import Iterator
from math import inf, log
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import rel_entr

from minicosm.worlds import Joint, MaskLaw
from minicosm.worlds.joint.joint import context_sums

from ..checks import probabilities, real, whole
from ..signatures import checked
from .information import masked_scores
from .kernels import Kernel, block_dynamics, contexts, reversibility_error
from .rules import CONSTANT, FUNCTION, LAW, MASKED_LAWS, kernel, laws_over
from .rules import masks as mask_law

Law = Float[np.ndarray, " states"]

ONE = probabilities((None,))

SMALL_GAP = 1e-6  # below it, 1 / (1 - lambda_2) has fewer than ten digits

NEAR = (
    1e-6  # below it a quotient of divergences is rounding; there the limit is the Poincaré constant
)


@checked(P=kernel, mu=LAW, f=FUNCTION, g=FUNCTION)
def dirichlet(
    P: Kernel, mu: Law, f: Float[np.ndarray, " states"], g: Float[np.ndarray, " states"]
) -> float:
    """`E(f, g) = <f, (I - P) g>_mu` (Definition 4.1.4)."""
    return float((mu * f) @ (g - P @ g))


@checked(masks=mask_law, f=FUNCTION, g=FUNCTION)
def conditional_covariance(
    joint: Joint,
    masks: MaskLaw,
    f: Float[np.ndarray, " states"],
    g: Float[np.ndarray, " states"],
) -> float:
    """`E_{x,K} Cov(f, g | x_-K, K)`, the Dirichlet form of block dynamics (Proposition 4.1.1)."""
    pairs = masked_scores(joint, np.stack([f, g], axis=1), masks)
    return float(sum(weights @ (s[:, 0] * s[:, 1]) for weights, s in pairs))


@checked(P=kernel, mu=LAW)
def eigenvalues(P: Kernel, mu: Law) -> Float[np.ndarray, " support"]:
    """Eigenvalues of a reversible kernel on the support of mu, ascending."""
    inside = mu > 0
    root = np.sqrt(mu[inside])
    S = root[:, None] * P[np.ix_(inside, inside)] / root
    return np.linalg.eigvalsh((S + S.T) / 2)


@checked(P=kernel, mu=LAW)
def poincare(P: Kernel, mu: Law) -> float:
    """`C = 1 / (1 - lambda_2)`: the least C with `Var(f) <= C E(f, f)`.

    Infinite if the support of mu falls into parts, which is decided on truth values. The kernel must
    be reversible for mu. Where 1 - lambda_2 is so small that rounding would show, C is found as the
    largest eigenvalue of the inverse of `I - P` (`slow_poincare`).
    """
    error = reversibility_error(P, mu)
    if error > 1e-9:
        raise ValueError(
            f"mu(x) P(x, y) and mu(y) P(y, x) differ by {error:.2g}; the Poincaré constant is that "
            "of a chain that is reversible for mu"
        )
    if parts(P, mu) > 1:
        return inf
    values = eigenvalues(P, mu)
    if len(values) == 1:
        return 1.0
    gap = 1 - values[-2]
    return float(1 / gap) if gap > SMALL_GAP else slow_poincare(P, mu)


@checked(P=kernel, mu=LAW)
def slow_poincare(P: Kernel, mu: Law) -> float:
    """The Poincaré constant of a connected chain to many digits, however large it is.

    With the likeliest state o as ground, `G = (I - P)^-1` on the other states is found by elimination
    without a subtraction (as in `hitting.expected_steps`). For f of mean zero, `(I - P) u = f` is solved
    by u = G f up to a constant, so C is the largest eigenvalue of `Q D^(1/2) G D^(-1/2) Q`, where
    D = diag(mu), G is zero at o, and Q projects onto what is orthogonal to `sqrt(mu)`.
    """
    if parts(P, mu) > 1:
        raise ValueError("the support of mu falls into parts under P; the constant is infinite")
    order = np.argsort(-mu, kind="stable")[: int((mu > 0).sum())]
    mu, A = mu[order], P[np.ix_(order, order)].astype(np.float64)
    np.fill_diagonal(A, 0)
    n = len(mu)
    G, leave = np.eye(n), np.ones(n)
    for i in range(n - 1, 0, -1):
        leave[i] = A[i, :i].sum()
        share = A[:i, i] / leave[i]
        A[:i, :i] += np.outer(share, A[i, :i])
        np.fill_diagonal(A[:i, :i], 0)
        G[:i] += np.outer(share, G[i])
    G[0] = 0
    for i in range(1, n):
        G[i] = (G[i] + A[i, :i] @ G[:i]) / leave[i]
    root = np.sqrt(mu)
    S = root[:, None] * G / root
    S = S - np.outer(root, root @ S)
    S = S - np.outer(S @ root, root)
    return float(np.linalg.eigvalsh((S + S.T) / 2)[-1])


@checked(P=kernel, mu=LAW)
def parts(P: Kernel, mu: Law) -> int:
    """Into how many parts the support of mu falls under the moves of P."""
    inside = mu > 0
    moves = csr_array(P[np.ix_(inside, inside)] > 0)
    return int(connected_components(moves, directed=False)[0])


@checked(mu=ONE, p=laws_over("mu"))
def chi_squared(p: Float[np.ndarray, "*batch states"], mu: Law) -> Float[np.ndarray, "*batch"]:
    """`sum_x (p(x) - mu(x))^2 / mu(x)`; infinite if p leaves the support of mu."""
    inside = mu > 0
    found = ((p - mu)[..., inside] ** 2 / mu[inside]).sum(axis=-1)
    return np.where((p[..., ~inside] > 0).any(axis=-1), inf, found)


@checked(mu=ONE, p=laws_over("mu"))
def kl(p: Float[np.ndarray, "*batch states"], mu: Law) -> Float[np.ndarray, "*batch"]:
    """`sum_x p log(p / mu)`; infinite if p leaves the support of mu."""
    return _kl(p, mu)


def _kl(p: Float[np.ndarray, "*batch states"], mu: Law) -> Float[np.ndarray, "*batch"]:
    return np.asarray(rel_entr(p, mu).sum(axis=-1))


@checked(q=ONE, p=laws_over("q"))
def total_variation(p: Float[np.ndarray, "*batch states"], q: Law) -> Float[np.ndarray, "*batch"]:
    """`sum_x |p - q| / 2`."""
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


@checked(**MASKED_LAWS)
def conditional_kl(r: Law, q: Law, masks: MaskLaw, vocab: int) -> float:
    """`E_{x ~ r, K} KL(r(. | x_-K, K) || q(. | x_-K, K))`: the masked loss of q on r, less its least.

    Equals `sum_K sum_x r(x) P(K | x) log(r(x) q_K(x_-K) / (q(x) r_K(x_-K)))`.
    """
    return _conditional_kl(r, q, masks, vocab)


def _conditional_kl(r: Law, q: Law, masks: MaskLaw, vocab: int) -> float:
    if not ((q > 0) | (r == 0)).all():
        return inf
    found = float(sum(w @ v for w, v in _log_ratios(r, q, masks, vocab)))
    return max(found, 0.0)  # rounding may leave -1e-17


def _log_ratios(r: Law, q: Law, masks: MaskLaw, vocab: int) -> Iterator[tuple[Law, Law]]:
    """For every mask, `r P(K | .)` and `log(r(x_K | x_-K, K) / q(x_K | x_-K, K))`, zero where r is."""
    safe = np.where(r > 0, r, 1) / np.where(r > 0, q, 1)
    for mask, law in masks.items(len(r)):
        ours = context_sums(r * law, mask, vocab)
        theirs = context_sums(q * law, mask, vocab)
        ratio = safe * np.where(ours > 0, theirs, 1) / np.where(ours > 0, ours, 1)
        seen = (r > 0) & (law > 0)
        yield r * law, np.where(seen, np.log(np.where(seen, ratio, 1)), 0)


class Bracket(NamedTuple):
    """`lower <= C_AT <= upper`, and the law that gives the lower end."""

    lower: float
    upper: float
    witness: Law


@checked(C=CONSTANT, least=real(above=0, most=0.5))
def entropy_upper(C: float, least: float) -> float:
    """`C log(1 / q_min - 1) / (1 - 2 q_min)`: above C_AT, from `Var(sqrt f) <= Ent(f)` and the
    Diaconis-Saloff-Coste bound on the log-Sobolev constant; at q_min = 1/2 the factor is 2."""
    gap = 1 - 2 * least
    return C * (2.0 if gap < 1e-6 else log(1 / least - 1) / gap)


@checked(masks=mask_law, starts=whole(), steps=whole(), seed=whole(0, None))
def entropy_constant(
    joint: Joint, masks: MaskLaw, *, starts: int = 6, steps: int = 60, seed: int = 0
) -> Bracket:
    """A certified bracket of the block entropy constant (Definition 4.1.9)

    `C_AT(q) = sup_r KL(r || q) / E_{x ~ r, K} KL(r(. | x_-K, K) || q(. | x_-K, K))`.

    From above by `entropy_upper`; from below by the Poincaré constant (r near q), by all point masses
    and by ascent with multiplicative weights on r. Infinite if the support of q falls into parts.
    """
    q = joint.probabilities
    P = block_dynamics(joint, masks)
    C = poincare(P, q)
    if inf == C:
        return Bracket(inf, inf, q)
    support = np.flatnonzero(q > 0)
    upper = entropy_upper(C, float(q[support].min())) if len(support) > 1 else 1.0
    best, witness = C, q
    ratios = _point_ratios(joint, masks)
    if ratios.max() > best:
        best, witness = float(ratios.max()), np.eye(len(q))[ratios.argmax()]
    rng = np.random.default_rng(seed)
    for start in range(starts):
        r = _start(rng, start, q)
        value, r = _ascend(r, q, masks, joint.vocab, steps)
        if value > best:
            best, witness = value, r
    return Bracket(best, upper, witness)


def _point_ratios(joint: Joint, masks: MaskLaw) -> Float[np.ndarray, " states"]:
    """The quotient of C_AT at the point mass of every x, zero where q(x) is 0 or 1:

    `-log q(x) / sum_K P(K | x) log(1 + sum_{z != x, z_-K = x_-K} q(z) P(K | z) / (q(x) P(K | x)))`,

    without the subtraction that would round a likely token's surprise to zero.
    """
    q = joint.probabilities
    below = np.zeros(len(q))
    for mask, law in masks.items(len(q)):
        members = contexts(joint, mask)
        weights = (q * law)[members]
        before, after = (np.cumsum(w, axis=1) for w in (weights, weights[:, ::-1]))
        others = np.zeros_like(weights)
        others[:, 1:] += before[:, :-1]
        others[:, :-1] += after[:, -2::-1]
        seen = weights > 0
        surprise = np.where(seen, np.log1p(others / np.where(seen, weights, 1)), 0)
        below[members] += law[members] * surprise
    judged = (q > 0) & (below > 0)
    return np.where(judged, -np.log(np.where(judged, q, 1)) / np.where(judged, below, 1), 0)


def _start(rng: np.random.Generator, start: int, q: Law) -> Law:
    """Near q, near a vertex, or anywhere, in turn."""
    inside = q > 0
    r = np.zeros_like(q)
    if start % 3 == 0:
        r[inside] = q[inside] * np.exp(0.5 * rng.normal(size=inside.sum()))
    elif start % 3 == 1:
        r[inside] = 0.1 * q[inside]
        r[rng.choice(np.flatnonzero(inside))] += 0.9
    else:
        r[inside] = rng.dirichlet(np.ones(inside.sum()))
    return r / r.sum()


def _ascend(r: Law, q: Law, masks: MaskLaw, vocab: int, steps: int) -> tuple[float, Law]:
    """Multiplicative weights on the ratio; the step shrinks where it does not climb."""

    def ratio(r: Law) -> float:
        below = _conditional_kl(r, q, masks, vocab)
        return float(_kl(r, q)) / below if below > NEAR else 0.0

    value, rate = ratio(r), 1.0
    before = 0.0
    for _ in range(steps):
        if value < before * (1 + 1e-9):
            break
        before = value
        inside = r > 0
        slope = np.where(inside, np.log(np.where(inside, r, 1) / np.where(inside, q, 1)), 0)
        for w, v in _log_ratios(r, q, masks, vocab):
            slope = slope - value * (w / np.where(inside, r, 1)) * v
        slope = slope - slope[inside].max()
        scale = max(float(-slope[inside].min()), 1e-12)
        while rate > 1e-6:
            new = r * np.exp(rate * slope / scale)
            new = new / new.sum()
            found = ratio(new)
            if found > value:
                r, value, rate = new, found, min(2 * rate, 4.0)
                break
            rate /= 2
        else:
            break
    return value, r
