"""A small world as tables over all prefixes: a generator, verifiers, and the sizes of both."""

import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np

VOCAB, LENGTH, END = 3, 4, 2


def node(string) -> int:
    """The number of a prefix: children of node i are `3 i + 1 + a`."""
    at = 0
    for token in string:
        at = VOCAB * at + 1 + token
    return at


NODES = node((VOCAB - 1,) * LENGTH) + 1


def is_leaf(string) -> bool:
    return len(string) == LENGTH or (len(string) > 0 and string[-1] == END)


def leaves() -> list[tuple[int, ...]]:
    """All complete strings."""
    found = []
    for n in range(1, LENGTH + 1):
        for string in itertools.product(range(VOCAB), repeat=n):
            if END not in string[:-1] and is_leaf(string):
                found.append(string)
    return found


def child(memory, n, token):
    """Put the next node after the first n tokens."""
    new = jnp.minimum(VOCAB * memory[n] + 1 + token, NODES - 1)
    return jnp.where(jnp.arange(len(memory)) == n + 1, new, memory)


class Tables(eqx.Module):
    """A generator: `laws[node]`."""

    laws: np.ndarray

    @property
    def vocab(self) -> int:
        return VOCAB

    def begin(self, room):
        return jnp.zeros(room + 1, jnp.int32)

    def read(self, memory, n, token):
        return child(memory, n, token)

    def law(self, memory, n):
        return jnp.log(jnp.asarray(self.laws, jnp.float32)[memory[n]])


class Scores(eqx.Module):
    """A verifier: `scores[node]`."""

    scores: np.ndarray

    def begin(self, room, source):
        return jnp.zeros(room + 1, jnp.int32)

    def read(self, memory, n, token, source):
        return child(memory, n, token)

    def score(self, memory, n):
        return jnp.asarray(self.scores, jnp.float32)[memory[n]]


class PrefixWorld:
    """Random laws with some zeros, a tilt of zeros and ones, exact and wrong values."""

    def __init__(self, seed: int, end: float = 1.0):
        draw = np.random.default_rng(seed)
        self.laws = draw.dirichlet([1, 1, end], NODES)
        for i in draw.choice(np.arange(4, NODES), 3, replace=False):
            self.laws[i, draw.integers(VOCAB)] = 0
        self.laws /= self.laws.sum(1, keepdims=True)
        self.valid = {s: bool(draw.random() < 0.6) for s in leaves()}
        self.values = np.zeros(NODES)
        self.feasible = np.zeros(NODES)
        self._fill(())
        wrong = self.values * np.exp(draw.uniform(-0.7, 0.7, NODES))
        self.noisy = np.where(
            [i in set(map(node, leaves())) for i in range(NODES)], self.values, wrong
        )
        self.noisy = np.minimum(self.noisy, 1)
        self.unrelated = draw.uniform(0, 1, NODES)

    def _fill(self, string) -> float:
        if is_leaf(string):
            value = float(self.valid[string])
        else:
            value = sum(self.laws[node(string), a] * self._fill((*string, a)) for a in range(VOCAB))
        self.values[node(string)] = value
        self.feasible[node(string)] = value > 0
        return value

    @property
    def generator(self) -> Tables:
        return Tables(self.laws)
