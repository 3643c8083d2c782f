"""The exact refiner against the enumeration of all targets."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.models.exact_translator import ExactRefiner
from minicosm.worlds import Fertility

WORLD = Fertility((0.5, 0.2, 0.3), source_vocab=5, shortest=1, longest=3)
T = WORLD.longest_target


def enumerated(world, source, N, noisy, keep):
    """P(y_j = v | source, N, noisy target), from every choice of phrase lengths and of turns."""
    law, F = np.zeros((N, world.vocab)), world.phrase
    choices = itertools.product(range(1, F + 1), (False, True))
    for chosen in itertools.product(list(choices), repeat=len(source)):
        p, target = 1.0, []
        for a, (n, turned) in zip(source, chosen, strict=True):
            places = [1, 0] if turned and n == 2 else list(range(n))
            p *= world.q[n - 1] * (world.swap if turned else 1 - world.swap)
            target += [a * F + o for o in places]
        if len(target) != N:
            continue
        for y, x in zip(target, noisy, strict=True):
            p *= keep * (y == x) + (1 - keep) / world.vocab
        law[np.arange(N), target] += p
    return law / law.sum(axis=1, keepdims=True)


@eqx.filter_jit
def law_of(model, source, visible, noisy, real):
    return jax.nn.softmax(model.decode(noisy, model.encode(source, visible), real))


@pytest.mark.parametrize(("keep", "swap"), [(0.0, 0.0), (0.15, 0.0), (0.85, 0.0), (0.15, 0.3)])
def test_the_posterior_is_that_of_all_targets(keep, swap):
    world = Fertility(WORLD.q, swap=swap, source_vocab=5, shortest=1, longest=3)
    model = ExactRefiner(world, keep)
    rng = np.random.default_rng(3)
    for L, N in ((1, 2), (2, 3), (3, 3), (3, 6), (3, 8), (2, 6)):
        source = rng.permutation(5)[:3]
        noisy = rng.integers(0, WORLD.vocab, T)
        noisy[:L] = source[:L] * WORLD.phrase  # some of it right
        found = law_of(model, source, jnp.arange(3) < L, noisy, jnp.arange(T) < N)[:N]
        expected = enumerated(world, source[:L], N, noisy[:N], keep)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        if keep == 0:
            exact = WORLD.product_decoder(L, N)
            names = (source[:L, None] * WORLD.phrase + np.arange(WORLD.phrase)).reshape(-1)
            np.testing.assert_allclose(found[:, names], exact, atol=1e-5)


def test_lengths_and_impossible_ones():
    model = ExactRefiner(WORLD)
    memory = model.encode(np.array([4, 1, 0]), np.array([True, True, False]))
    law = WORLD.length_law(2)
    np.testing.assert_allclose(
        np.exp(model.length_logits(memory)), np.pad(law[1:], (0, T + 1 - len(law))), atol=1e-6
    )
    impossible = law_of(  # two words, one token
        model, np.array([4, 1, 0]), np.arange(3) < 2, np.zeros(T, int), np.arange(T) < 1
    )
    np.testing.assert_allclose(impossible[0], 1 / WORLD.vocab, atol=1e-6)
    with pytest.raises(ValueError, match="keep is 1"):
        ExactRefiner(WORLD, 1.0)
