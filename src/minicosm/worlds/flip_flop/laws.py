"""What is exact about the flip-flop language, in double precision."""

import numpy as np
from jaxtyping import Float
from scipy.special import rel_entr, xlogy


def entropy(p: Float[np.ndarray, " 3"]) -> float:
    """`-sum p ln p` in nats."""
    return float(-xlogy(p, p).sum())


def divergence(p: Float[np.ndarray, " 3"], other: Float[np.ndarray, " 3"]) -> float:
    """`KL(p | other)` in nats; infinite where `other` lacks what p has."""
    return float(rel_entr(p, other).sum())


def read_weights(pairs: int, p_read: float) -> Float[np.ndarray, " reads"]:
    """Expected number of reads in the pairs 2, 3, ..., P: `p_r`, and 1 in the last."""
    return np.append(np.full(pairs - 2, p_read), 1.0)


def distance_law(pairs: int, p_read: float, found: float) -> Float[np.ndarray, " distances"]:
    """`[d - 1]`: the share of reads that are d pairs after the pair that is looked for, d = 1..P-1.

    Every pair between the first and the read is one with probability `found`, the first certainly: a read in
    pair k has distance d with probability `found (1 - found)^(d-1)` for d < k - 1, the rest is at k - 1.
    """
    weights = read_weights(pairs, p_read)
    beyond = np.append(np.cumsum(weights[::-1])[::-1], 0.0)  # [j]: reads in pair j + 2 or later
    d = np.arange(1, pairs)
    none_nearer = (1 - found) ** (d - 1.0)
    law = none_nearer * (found * beyond[d] + weights[d - 1])
    return law / weights.sum()


def window_error(pairs: int, p_read: float, p_silent: float, symbols: int, window: int) -> float:
    """The share of reads that the best guess from the last `window` tokens, the read among them, gets wrong.

    It sees the symbols of m = window // 2 earlier pairs. In a read of a pair k > m + 1 all of them are
    silent with probability `p_silent^m`, and then every symbol is as likely as any other:
    `(1 - 1/n) p_silent^m [p_r max(0, P-2-m) + 1{P-1>m}] / [p_r (P-2) + 1]`.
    """
    m = window // 2
    left = p_read * max(0, pairs - 2 - m) + (pairs - 1 > m)
    return (1 - 1 / symbols) * p_silent**m * left / (p_read * (pairs - 2) + 1)
