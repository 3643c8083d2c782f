"""Samplers of a clique of equal spins through its number of + spins: exact for hundreds of spins."""

import numpy as np
from jaxtyping import Float
from scipy.special import log_expit, logsumexp

from minicosm.worlds import LumpedClique
from minicosm.worlds.joint.clique_ising import log_binomial

from ..checks import kind, whole
from ..signatures import checked
from .rules import hidden

CLIQUE = kind(LumpedClique)


@checked(k=hidden)
def clique_share(world: LumpedClique, k: int) -> Float[np.ndarray, " counts"]:
    """P(j of the k hidden spins are in the clique), j = 0..k: hypergeometric."""
    N, c = world.length, world.clique
    j = np.arange(k + 1)
    return np.exp(log_binomial(c, j) + log_binomial(N - c, k - j) - log_binomial(N, k))


@checked(k=hidden)
def k_gibbs(world: LumpedClique, k: int) -> Float[np.ndarray, "levels levels"]:
    """The k-Gibbs sampler: hide j clique spins, u of them +, and draw v new + spins with weights
    `binom(j, v) exp(E(s - u + v))`."""
    c, E = world.clique, world.energies
    P = np.zeros((c + 1, c + 1))
    s = np.arange(c + 1)
    for j, share in enumerate(clique_share(world, k)[: c + 1]):
        if share == 0:
            continue
        visible = np.arange(c - j + 1)  # + spins that stay
        u = s[:, None] - visible
        keep = np.exp(
            log_binomial(s[:, None], u) + log_binomial(c - s[:, None], j - u) - log_binomial(c, j)
        )
        v = s[None, :] - visible[:, None]
        weights = log_binomial(j, v) + E
        redraw = np.exp(weights - logsumexp(weights, axis=1, keepdims=True))
        P += share * keep @ redraw
    return P


@checked()
def independent_parallel(world: LumpedClique) -> Float[np.ndarray, "levels levels"]:
    """The independent parallel sampler: the new s is a sum of two binomials."""
    c = world.clique
    stay, turn = world.update_logits()
    P = np.empty((c + 1, c + 1))
    for s in range(c + 1):
        P[s] = np.convolve(_binomial(s, stay[s]), _binomial(c - s, turn[s]))
    return P


def _binomial(n: int, logit: float) -> Float[np.ndarray, " counts"]:
    """The binomial law of n trials with these log odds; right in the tails too."""
    k = np.arange(n + 1)
    return np.exp(log_binomial(n, k) + k * log_expit(logit) + (n - k) * log_expit(-logit))


@checked(s=whole(0, None))
def at(world: LumpedClique, s: int) -> Float[np.ndarray, " levels"]:
    """The law that is surely in state s; `at(world, 0)` is the smaller mode, all clique spins -."""
    if s > world.clique:
        raise ValueError(f"s is {s}; a clique of {world.clique} spins has states 0..{world.clique}")
    law = np.zeros(world.clique + 1)
    law[s] = 1
    return law
