"""Random worlds and maskings that suites run on."""

import jax
import numpy as np

from minicosm.worlds import Corruption, TopicWorld

from ..trials import FOLD, Worlds

BERT = Corruption(0.15, 0.1, 0.1)


def generator(config: Worlds, part: int) -> np.random.Generator:
    """A generator of its own for each part of a suite."""
    return np.random.default_rng((FOLD, config.seed, part))


def key(config: Worlds, part: int, world: int) -> jax.Array:
    folded = jax.random.fold_in(jax.random.key(config.seed), FOLD)
    return jax.random.fold_in(jax.random.fold_in(folded, part), world)


def corruption(rng: np.random.Generator) -> Corruption:
    """Any masking: p_m in (.05, .9), p_c and p_r in (.02, .45)."""
    return Corruption(*(float(x) for x in rng.uniform((0.05, 0.02, 0.02), (0.9, 0.45, 0.45))))


def world(
    rng: np.random.Generator, most_topics: int = 8, most_words: int = 6, least_topics: int = 2
) -> TopicWorld:
    """T topics of v words, tau < T of them in a document."""
    T = int(rng.integers(least_topics, most_topics + 1))
    return TopicWorld(T, int(rng.integers(1, most_words + 1)), per_document=int(rng.integers(1, T)))


def asymptotic(rng: np.random.Generator) -> tuple[TopicWorld, Corruption]:
    """A setting of Theorems 2.1.3 and 2.1.5: tau >= 5, tau / T <= .1, v from 10 on, p_m < 1/2, p_c = p_r."""
    T = int(np.exp(rng.uniform(np.log(60), np.log(1e5))))
    tau = int(np.exp(rng.uniform(np.log(5), np.log(T / 10))))
    v = int(np.exp(rng.uniform(np.log(10), np.log(300))))
    chosen, share = float(rng.uniform(0.05, 0.49)), float(rng.uniform(0.02, 0.45))
    return TopicWorld(T, v, per_document=max(tau, 5)), Corruption(chosen, share, share)
