"""Laws that are written out, against sums over dictionaries and against other worlds."""

import itertools
import math

import jax
import numpy as np
import pytest
import referee
from hypothesis import given
from hypothesis import strategies as st

from minicosm.worlds import HMM, CompleteDyck, Dyck, Joint, MaskLaw
from minicosm.worlds.joint.counterexamples import independent_bits, two_bits, two_islands
from minicosm.worlds.joint.joint import context_sums, product_rows, total_correlation


def drawn(seed: int, vocab: int, length: int, zeros: bool = False) -> tuple[Joint, dict]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(vocab**length))
    if zeros:
        p[rng.random(len(p)) < 0.5] = 0
        p[0] += 1e-3
        p /= p.sum()
    order = list(itertools.product(range(vocab), repeat=length))
    return Joint(p, vocab, length), dict(zip(order, p, strict=True))


worlds = st.tuples(st.integers(0, 9), st.integers(2, 3), st.integers(1, 4), st.booleans())


@given(worlds, st.data())
def test_conditionals_are_ratios_of_sums(world, data):
    joint, table = drawn(*world)
    N, V = joint.length, joint.vocab
    x = tuple(data.draw(st.integers(0, V - 1)) for _ in range(N))
    mask = np.array([data.draw(st.booleans()) for _ in range(N)])
    same = [y for y in table if all(m or a == b for m, a, b in zip(mask, x, y, strict=True))]
    total = sum(table[y] for y in same)
    found = joint.conditional(np.array(x), mask)
    np.testing.assert_allclose(found, [table[y] / total if total else 0 for y in same], atol=1e-12)
    sums = context_sums(joint.probabilities, mask, V)
    assert sums[joint.number(np.array(x))] == pytest.approx(total, abs=1e-12)
    laws = joint.conditionals(np.array(x), ~mask)
    for i in range(N):
        seen = [y for y in table if all(m or j == i or y[j] == x[j] for j, m in enumerate(mask))]
        weight = sum(table[y] for y in seen)
        for v in range(V):
            part = sum(table[y] for y in seen if y[i] == v)
            assert laws[i, v] == pytest.approx(part / weight if weight else 0, abs=1e-12)


@given(worlds)
def test_information_measures(world):
    joint, table = drawn(*world)
    marginals = [
        [sum(p for y, p in table.items() if y[i] == v) for v in range(joint.vocab)]
        for i in range(joint.length)
    ]
    np.testing.assert_allclose(joint.marginals(), marginals, atol=1e-12)
    entropy = -sum(p * math.log(p) for p in table.values() if p > 0)
    assert joint.entropy() == pytest.approx(entropy)
    divergence = sum(
        p * math.log(p / math.prod(marginals[i][v] for i, v in enumerate(y)))
        for y, p in table.items()
        if p > 0
    )
    assert joint.total_correlation() == pytest.approx(divergence, abs=1e-10)
    assert joint.number(joint.states).tolist() == list(range(len(table)))


def test_products_have_no_total_correlation():
    laws = np.random.default_rng(0).dirichlet(np.ones(3), size=(5, 4))
    rows = product_rows(laws)
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert total_correlation(rows, 3, 4).max() < 1e-12
    assert independent_bits(3, 0.2).probabilities[-1] == pytest.approx(0.008)


def test_a_short_hmm_and_short_brackets_are_finite_joints():
    hmm = HMM([[0.9, 0.2], [0.1, 0.8]], [[0.7, 0.1], [0.2, 0.3], [0.1, 0.6]], [0.5, 0.5])
    joint = Joint.of_world(hmm, 3)
    law = referee.sequence_law(referee.of_hmm(hmm), 3)
    for x, p in zip(joint.states, joint.probabilities, strict=True):
        assert p == pytest.approx(law[tuple(x.tolist())], rel=1e-10)
    strings = Joint.of_world(CompleteDyck(Dyck(1, 2), (6,)), 6)
    balanced = [
        "".join(map(str, x))
        for x, p in zip(strings.states, strings.probabilities, strict=True)
        if p
    ]
    assert sorted(balanced) == ["001011", "001101", "010011", "010101"]  # not 000111: depth 3


def test_samples_follow_the_law():
    joint, _ = two_bits()
    drawn = jax.jit(jax.vmap(joint.sample))(jax.random.split(jax.random.key(0), 4000))
    counts = np.bincount(joint.number(np.asarray(drawn.tokens)), minlength=4)
    assert counts[3] == 0
    expected = 4000 * joint.probabilities[:3]
    assert ((counts[:3] - expected) ** 2 / expected).sum() < 16  # chi-squared, 2 degrees


def test_a_law_in_float32_is_kept_as_it_is():
    """It is judged in its own precision, and neither refused for its rounding nor normalised."""
    given = np.float32([0.9, 0.1])
    assert abs(given.astype(np.float64).sum() - 1) > 1e-8
    joint = Joint(given, 2, 1)
    assert joint.probabilities.dtype == np.float64
    np.testing.assert_array_equal(joint.probabilities, given)
    assert Joint([1.0], 1, 32).states.shape == (1, 32)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Joint([0.5, 0.4], 2, 1), r"sums to 0.9; it must sum to 1"),
        (lambda: Joint([0.5, 0.5], 2, 2), r"has 2 entries; .* need 2\^2 = 4"),
        (lambda: Joint([1.5, -0.5], 2, 1), r"probabilities\[1\] is -0.5"),
        (lambda: Joint([0.5, 0.5 + 1e-7], 2, 1), r"sums to 1 \+ 1.0e-07; it must sum to 1"),
        (lambda: Joint([0.5, 0.5 - 2e-8], 2, 1), r"sums to 1 - 2.0e-08; it must sum to 1"),
        (lambda: Joint(np.float32([0.5, 0.4999]), 2, 1), r"sums to 0.9999; it must sum to 1"),
        (lambda: Joint([1.0], 1, 100), r"length is 100; .* up to 32 positions"),
        (lambda: Joint.from_weights(np.zeros(0), 2, 1), "one finite number"),
        (lambda: Joint.from_weights(np.full(2, -np.inf), 2, 1), "one finite number"),
        (lambda: Joint.from_weights(np.array([np.inf, 0]), 2, 1), r"no \+inf"),
        (lambda: Joint.of_world(object(), 2), "the world has type object; it must have `vocab`"),
        (lambda: Joint(np.ones(1), 2, 15), r"2\^15 sequences; at most 16384"),
        (lambda: Joint.from_weights(np.array([np.nan, 0]), 2, 1), "no NaN"),
        (
            lambda: two_bits()[0].number(np.array([0, 2])),
            r"tokens\[1\] is 2; it must lie in 0\.\.1",
        ),
        (lambda: two_bits()[0].conditional(np.array([0, 0]), np.array([1, 0])), "must be boolean"),
        (lambda: two_islands(1.0), "strictly between"),
        (
            lambda: two_bits()[0].sample(jax.random.key(0), 3),
            "length is 3; sequences of this world have 2 tokens",
        ),
    ],
)
def test_bad_input_is_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_masks_are_drawn_with_their_probabilities():
    plain = MaskLaw.bernoulli(3, 0.3)
    drawn = np.asarray(plain.sample(jax.random.key(0), np.zeros(4000, int)))
    for mask, p in zip(plain.masks, plain.weights, strict=True):
        share = (drawn == mask).all(axis=1).mean()
        assert abs(share - p) < 4 * np.sqrt(p * (1 - p) / 4000)
        assert plain.log_prob(mask) == pytest.approx(np.log(p))
    looks = MaskLaw.adaptive([[0], [1]], [[1, 0], [0.25, 0.75], [0, 1], [0.5, 0.5]], 2)
    drawn = np.asarray(looks.sample(jax.random.key(1), np.array([0, 2] * 20)))
    np.testing.assert_array_equal(drawn[:, 0], [True, False] * 20)
    assert looks.log_prob([False, True], 1) == pytest.approx(np.log(0.75))
    assert looks.log_prob([True, True], 1) == -np.inf
