r"""Posteriors of topic mixtures given how often each topic is shown, in double precision.

A shown word of topic t has probability proportional to `a theta_t + b/T`: its own word, or a uniform one
(`Corruption.a`, `Corruption.b`; without corruption a = 1, b = 0). With counts `n_t` of shown words the
likelihood is `prod_t (a theta_t + b/T)^{n_t}`.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln, logsumexp


def mixture_of_sets(
    counts: Int[np.ndarray, " T"], per_document: int, a: float, b: float
) -> Float[np.ndarray, " T"]:
    r"""`P(t in S | counts) / tau`, S a uniform set of tau topics and theta uniform on it; zero if impossible.

    With `r_t = (1 + a T / (b tau))^{n_t}` and elementary symmetric polynomials e,
    `P(t in S) = r_t e_{tau-1}(r without r_t) / e_tau(r)`. Without noise (b = 0) S holds every topic that is
    seen and the others are equally likely.
    """
    T, tau = len(counts), per_document
    seen = np.asarray(counts) > 0
    if b == 0:
        known = int(seen.sum())
        if known > tau:
            return np.zeros(T)
        return np.where(seen, 1.0, (tau - known) / max(T - known, 1)) / tau
    logs = counts * np.log1p(a * T / (b * tau))
    before, after = _symmetric(logs, tau), _symmetric(logs[::-1], tau)[::-1]
    inside = np.empty(T)
    for t in range(T):  # e_{tau-1} of the topics before t and after it
        inside[t] = logs[t] + logsumexp(before[t, :tau] + after[t + 1, :tau][::-1])
    return np.exp(inside - before[T, tau]) / tau


def _symmetric(logs: Float[np.ndarray, " T"], order: int) -> Float[np.ndarray, "T+1 k"]:
    """`[m, k]`: the logarithm of e_k of the first m numbers, k = 0..order."""
    table = np.full((len(logs) + 1, order + 1), -np.inf)
    table[:, 0] = 0
    for m, log in enumerate(logs):
        table[m + 1, 1:] = np.logaddexp(table[m, 1:], log + table[m, :-1])
    return table


def mixture_of_dirichlet(
    counts: Int[np.ndarray, " T"], alpha: float, a: float, b: float
) -> Float[np.ndarray, " T"]:
    r"""`E[theta_t | counts]` under a Dirichlet law with all parameters alpha.

    A binomial expansion says how many of the `n_t` words are noise:
    `g_t(j) = C(n_t, j) a^{n_t - j} (b/T)^j Gamma(alpha + n_t - j)`. The likelihood is the convolution of
    all g_t, its entry J weighted by `1 / Gamma(T alpha + n - J)`; in the mean of theta_t factor t has
    `Gamma(alpha + n_t - j + 1)`. All terms are positive, so nothing cancels.
    """
    counts = np.asarray(counts)
    T, n = len(counts), int(counts.sum())
    total = T * alpha
    if b == 0:
        return (alpha + counts) / (total + n)
    # g_t(j) is multiplied by (total + n)^j and the weights are divided by it, so that both stay near one.
    tilt = np.log(total + n)

    def factor(count: int, more: int) -> tuple[np.ndarray, float]:
        j = np.arange(count + 1)
        logs = gammaln(count + 1) - gammaln(j + 1) - gammaln(count - j + 1)
        logs = logs + (count - j) * np.log(a) + j * (np.log(b / T) + tilt)
        logs = logs + gammaln(alpha + count - j + more)
        return np.exp(logs - logs.max()), float(logs.max())

    # Topics that are not seen have g = Gamma(alpha), a number: only seen ones are convolved.
    seen = np.flatnonzero(counts)
    factors = [factor(int(counts[t]), 0) for t in seen]
    before, after = _products(factors), _products(factors[::-1])[::-1]
    J = np.arange(n + 1)
    weights = -gammaln(total + n - J + 1) - J * tilt
    weights = np.exp(weights - weights.max())

    def value(polynomial: np.ndarray, log: float) -> float:
        with np.errstate(divide="ignore"):
            return float(np.log(polynomial @ weights[: len(polynomial)]) + log)

    logs = np.full(T, np.log(alpha) + value(*before[-1]))  # Gamma(alpha + 1) / Gamma(alpha)
    for at, t in enumerate(seen):
        own, scale = factor(int(counts[t]), 1)
        (first, one), (last, two) = before[at], after[at + 1]
        logs[t] = value(np.convolve(np.convolve(first, own), last), one + two + scale)
    return np.exp(logs - logsumexp(logs))


def _products(factors: list[tuple[np.ndarray, float]]) -> list[tuple[np.ndarray, float]]:
    """`[m]`: the product of the first m polynomials, scaled, with the logarithm of its scale."""
    found = [(np.ones(1), 0.0)]
    for polynomial, log in factors:
        product = np.convolve(found[-1][0], polynomial)
        top = product.max()
        found.append((product / top, found[-1][1] + log + float(np.log(top))))
    return found


def law_of_topic_count(topics: int, alpha: float, length: int) -> Float[np.ndarray, " counts"]:
    r"""`P(a document of N words has words of exactly m topics)`, m = 0..T, under a Dirichlet law.

    Word i + 1 is of a topic not yet seen with probability `alpha (T - m) / (T alpha + i)`, if m were.
    """
    m = np.arange(topics + 1)
    law = np.zeros(topics + 1)
    law[0] = 1
    for i in range(length):
        new = law * alpha * (topics - m) / (topics * alpha + i)
        law = law - new
        law[1:] += new[:-1]
    return law
