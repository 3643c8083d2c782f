r"""What a uniform attention sees: moments of the features of a masked document, exactly.

Matrices over ids have size `V = T v + 1`; id 0 is the mask and id i is word i - 1 of the world, as in the
source. This is the one place where words become ids.

The feature x of a document is the vector of frequencies of ids among its positions. In infinite documents it
is `x_0 = k`, `x_i = a theta_topic(i) / v + b / (T v)`.
"""

from typing import Literal, NamedTuple

import numpy as np
import scipy
from jaxtyping import Float

from minicosm.worlds import Corruption, TopicWorld

from ..checks import Given, Rule, whole
from ..signatures import checked
from ..theorem import Condition

MOST_IDS = 2**12
Keys = Literal["all", "unchosen"]
"""Which positions attention may read: all, or only those that are not chosen (predicted)."""


class Constants(NamedTuple):
    """Constants of the source; `a + b + k = 1` are those of the corruption."""

    a: float
    b: float
    k: float
    c1: float
    """`p_r / ((1 - p_c - p_r) a T v)`."""
    c2: float
    """`1/k - 1`."""
    c3: float
    """`1/a`."""


class Features(NamedTuple):
    """Second moments of features and labels."""

    M: Float[np.ndarray, "V V"]
    """`E[x x^T]`."""
    C: Float[np.ndarray, "V V"]
    """`E[y x^T]`, y the one-hot label of a chosen position."""


@checked()
def constants(world: TopicWorld, corruption: Corruption) -> Constants:
    """The constants of Theorem 2.1.2."""
    a, b, k = corruption.a, corruption.b, corruption.k
    masked = 1 - corruption.kept - corruption.random
    c1 = corruption.random / (masked * a * world.vocab)
    return Constants(a, b, k, c1, 1 / k - 1, 1 / a)


@checked()
def null_direction(world: TopicWorld, corruption: Corruption) -> Float[np.ndarray, " V"]:
    """`nu = (-c2, 1, ..., 1)`: `nu . x = 0` for the features of every infinite document."""
    check_ids(world)
    nu = np.ones(world.vocab + 1)
    nu[0] = -constants(world, corruption).c2
    return nu


@checked()
def features(world: TopicWorld, corruption: Corruption) -> Float[np.ndarray, "sets V"]:
    """The features of all infinite documents of tau topics, one row for each set of topics."""
    check_ids(world)
    sets = world.topic_sets()
    a, b, k = corruption.a, corruption.b, corruption.k
    words = a * sets[:, world.labels] / sets.sum(axis=1, keepdims=True) / world.words
    return np.concatenate([np.full((len(sets), 1), k), words + b / world.vocab], axis=1)


@checked()
def labels(world: TopicWorld) -> Float[np.ndarray, "sets V"]:
    """The law of the label in all infinite documents of tau topics; the mask is never one."""
    check_ids(world)
    sets = world.topic_sets()
    words = sets[:, world.labels] / sets.sum(axis=1, keepdims=True) / world.words
    return np.concatenate([np.zeros((len(sets), 1)), words], axis=1)


def length_rule(name: str, value: object, given: Given) -> int:
    """A number of words in a document."""
    return whole(1, 2**16)(name, value, given)


LENGTH: Rule = length_rule


@checked(length=LENGTH)
def moments(
    world: TopicWorld, corruption: Corruption, length: int | None = None, keys: Keys = "all"
) -> Features:
    r"""M and C of documents of `length` words, or of infinite ones (None).

    A position that shows its word with probability c, a uniform one with u and the mask with m has, given
    theta, the law `c theta_t / v + u / (T v)`. Two positions are independent given theta. Of N positions a
    binomial number, at least one, is chosen; the objective is the mean over chosen positions of a document,
    then over documents. With keys "unchosen" the mask is never seen: its row and column are zero.
    """
    check_ids(world)
    chosen = (corruption.kept, corruption.random, 1 - corruption.kept - corruption.random)
    unchosen = label = (1.0, 0.0, 0.0)
    every = (corruption.a, corruption.b, corruption.k)
    if length is None:
        shown = every if keys == "all" else unchosen
        return Features(_pair(world, shown, shown), _pair(world, label, shown))
    m = np.arange(1, length + 1)
    weights = scipy.stats.binom.pmf(m, length, corruption.chosen)
    weights = weights / weights.sum()
    N = length
    if keys == "unchosen":
        some = m < N
        if not weights[some].sum() > 0:
            raise ValueError(f"length is {length}; with keys 'unchosen' it must be at least 2")
        inverse = (weights[some] / (N - m[some])).sum() / weights[some].sum()
        M = inverse * np.diag(_mean(world, unchosen))
        M = M + (1 - inverse) * _pair(world, unchosen, unchosen)
        return Features(M, _pair(world, label, unchosen))
    first, second = weights @ m, weights @ (m * (m - 1))
    both = weights @ (m * (N - m))
    rest = weights @ ((N - m) * (N - m - 1))
    M = np.diag(first * _mean(world, chosen) + (N - first) * _mean(world, unchosen))
    M = M + second * _pair(world, chosen, chosen) + rest * _pair(world, unchosen, unchosen)
    across = _pair(world, chosen, unchosen)
    M = M + both * (across + across.T)
    C = _own(world, chosen) + (first - 1) * _pair(world, label, chosen)
    C = C + (N - first) * _pair(world, label, unchosen)
    return Features(M / N**2, C / N)


@checked(low=LENGTH, high=LENGTH)
def mean_moments(
    world: TopicWorld, corruption: Corruption, low: int, high: int, keys: Keys = "all"
) -> Features:
    """M and C of documents whose length is uniform on `low..high`."""
    if low > high:
        raise ValueError(f"low is {low} and high is {high}; low must be at most high")
    each = [moments(world, corruption, n, keys) for n in range(low, high + 1)]
    return Features(np.mean([f.M for f in each], axis=0), np.mean([f.C for f in each], axis=0))


Shown = tuple[float, float, float]


def _mean(world: TopicWorld, shown: Shown) -> np.ndarray:
    c, u, m = shown
    law = np.full(world.vocab + 1, (c + u) / world.vocab)
    law[0] = m
    return law


def _pair(world: TopicWorld, X: Shown, Y: Shown) -> np.ndarray:
    """The joint law of the ids at two positions."""
    same, different = world.moments
    topic = world.labels
    theta = np.where(topic[:, None] == topic, same, different) / world.words**2
    flat = 1 / world.vocab**2
    joint = np.outer(_mean(world, X), _mean(world, Y))
    joint[1:, 1:] = X[0] * Y[0] * theta + (X[0] * Y[1] + X[1] * Y[0] + X[1] * Y[1]) * flat
    return joint


def _own(world: TopicWorld, chosen: Shown) -> np.ndarray:
    """The joint law of the label and the id at one chosen position."""
    kept, random, masked = chosen
    own = np.zeros((world.vocab + 1,) * 2)
    own[1:, 0] = masked / world.vocab
    own[1:, 1:] = random / world.vocab**2 + np.eye(world.vocab) * kept / world.vocab
    return own


def check_ids(world: TopicWorld) -> None:
    """Raise if matrices over ids would be too large."""
    if world.vocab >= MOST_IDS:
        raise ValueError(
            f"world has {world.vocab} words; matrices over words are for fewer than {MOST_IDS}"
        )


# -- conditions -------------------------------------------------------------------------------


def sets_of_topics(world: TopicWorld) -> Condition:
    """Assumption 2.1.1 speaks of documents of exactly tau topics."""
    tau = world.per_document
    reason = "" if tau is not None else "documents have a Dirichlet mixture, not tau topics"
    return Condition("documents of tau topics", tau is not None, {"tau": tau}, reason)


def documents_differ(world: TopicWorld) -> Condition:
    """With tau = T all infinite documents are alike."""
    tau, T = world.per_document, world.topics
    alike = T == 1 or tau == T
    reason = (
        f"all {T} topics are in every document, so that all documents are alike" if alike else ""
    )
    return Condition("documents differ", not alike, {"tau": tau, "T": T}, reason)
