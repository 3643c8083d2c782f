"""Translation by phrases against enumeration of all phrase lengths."""

import itertools
import math

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.worlds import Fertility


def targets(world: Fertility, L: int):
    """Every target of the source 0..L-1 with its probability, and the source place of each token."""
    F = world.phrase
    for lengths in itertools.product(range(1, F + 1), repeat=L):
        doubles = [s for s in range(L) if lengths[s] == 2]
        for turned in itertools.product((False, True), repeat=len(doubles)):
            flips = dict(zip(doubles, turned, strict=True))
            p = math.prod(world.q[n - 1] for n in lengths)
            p *= math.prod(world.swap if t else 1 - world.swap for t in turned)
            y = []
            for s, n in enumerate(lengths):
                phrase = [s * F + o for o in range(n)]
                y += phrase[::-1] if flips.get(s) else phrase
            if p > 0:
                yield tuple(y), p


@given(
    st.sampled_from([(1.0,), (0.5, 0.5), (0.2, 0.5, 0.3), (0.6, 0.0, 0.4)]),
    st.sampled_from([0.0, 0.25]),
    st.integers(1, 4),
    st.data(),
)
def test_posteriors_are_those_of_enumeration(q, swap, L, data):
    world = Fertility(q, swap=swap, source_vocab=6, shortest=1, longest=4)
    table = dict(targets(world, L))
    law = world.length_law(L)
    for n in range(len(law)):
        assert law[n] == pytest.approx(sum(p for y, p in table.items() if len(y) == n))
    N = data.draw(st.sampled_from([n for n in range(len(law)) if law[n] > 0]))
    given_n = {y: p / law[N] for y, p in table.items() if len(y) == N}
    found = world.posterior(L, N)
    tokens = np.zeros((N, L * world.phrase))
    for y, p in given_n.items():
        tokens[np.arange(N), y] += p
    np.testing.assert_allclose(found.tokens.reshape(N, -1), tokens, atol=1e-12)
    np.testing.assert_allclose(found.alignment, tokens.reshape(N, L, -1).sum(axis=2), atol=1e-12)
    entropy = -sum(p * math.log(p) for p in given_n.values())
    assert found.entropy == pytest.approx(entropy, abs=1e-10)
    alone = -sum(v * math.log(v) for v in tokens.ravel() if v > 0)
    assert world.total_correlation(L, N) == pytest.approx(alone - entropy, abs=1e-10)
    best = world.best_lengths(L, N)
    ways = [w for w in itertools.product(range(1, world.phrase + 1), repeat=L) if sum(w) == N]
    most = max(math.prod(q[n - 1] for n in w) for w in ways)
    assert math.prod(q[n - 1] for n in best) == pytest.approx(most)
    for y, p in table.items():
        assert world.log_prob(np.arange(L), np.array(y)) == pytest.approx(math.log(p))


def test_samples_are_translations_of_the_right_lengths():
    world = Fertility((0.5, 0.5), swap=0.3)
    drawn = jax.jit(jax.vmap(world.sample))(jax.random.split(jax.random.key(0), 300))
    sources, targets = np.asarray(drawn.source), np.asarray(drawn.tokens)
    sizes = []
    for i in range(len(sources)):
        L, N = int(drawn.source_length[i]), int(drawn.target_length[i])
        assert np.isfinite(world.log_prob(sources[i, :L], targets[i, :N]))
        assert (sources[i, L:] == 30).all() and (targets[i, N:] == world.vocab).all()
        sizes.append(N - 1.5 * L)
    assert set(np.asarray(drawn.source_length).tolist()) == set(range(5, 11))
    assert abs(np.mean(sizes)) < 4 * np.std(sizes) / len(sizes) ** 0.5


def test_a_repeat_is_no_translation():
    world = Fertility((0.5, 0.5))
    assert world.log_prob(np.array([3, 4]), np.array([6, 6])) == -np.inf
    assert world.log_prob(np.array([3, 4]), np.array([6, 8])) == pytest.approx(2 * math.log(0.5))


def test_phrase_lengths_in_float32_are_kept_as_they_are():
    given = np.float32([0.9, 0.1])
    np.testing.assert_array_equal(Fertility(jax.numpy.asarray(given)).q, given.astype(np.float64))


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Fertility((0.5, 0.4)), "sums to 0.9"),
        (lambda: Fertility((0.5, 0.5 + 1e-7)), r"q sums to 1 \+ 1.0e-07"),
        (lambda: Fertility((0.5, 0.5)).posterior(3, 4.5), "target_length is 4.5; .* whole number"),
        (lambda: Fertility((1.0,), swap=2), "swap is 2; it must be a number in"),
        (lambda: Fertility((1.0,), shortest=5, longest=4), "at most longest"),
        (lambda: Fertility((1.0,), source_vocab=3), "need more"),
        (lambda: Fertility((0.5, 0.5)).posterior(3, 7), "probability zero"),
        (lambda: Fertility((1.0,)).sample(jax.random.key(0), 4), "length is 4; .* padded to 10"),
        (lambda: Fertility((1.0,)).log_prob(np.array([1, 1]), np.array([1, 1])), "different"),
    ],
)
def test_bad_input_is_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
