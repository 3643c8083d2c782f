"""Ising worlds and mask laws against loops over spins and pairs."""

import itertools
import math

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.worlds import CliqueIsing, Ising, Joint, MaskLaw
from minicosm.worlds.joint import random_ising
from minicosm.worlds.joint.counterexamples import two_bits


@given(st.integers(0, 20), st.integers(1, 5))
def test_every_pair_counts_once(seed, N):
    world = random_ising(jax.random.key(seed), N)
    weights = [
        math.exp(
            sum(world.h[i] * x[i] for i in range(N))
            + sum(world.J[i, j] * x[i] * x[j] for i in range(N) for j in range(i))
        )
        for x in itertools.product((-1, 1), repeat=N)
    ]
    p = world.joint().probabilities
    np.testing.assert_allclose(p, np.array(weights) / sum(weights), rtol=1e-10)
    tilt = world.statistics() @ world.parameters()
    np.testing.assert_allclose(np.exp(tilt - tilt.max()) / np.exp(tilt - tilt.max()).sum(), p)
    again = Ising.from_parameters(world.parameters(), N)
    np.testing.assert_array_equal(again.J, world.J)


@given(st.integers(2, 6), st.integers(0, 3), st.floats(0.05, 2), st.floats(0, 1))
def test_a_lumped_clique_is_the_enumerated_one(c, free, J, h):
    world = CliqueIsing(c + free, c, J, h)
    joint, lumped = world.ising().joint(), world.lumped()
    plus = joint.states[:, :c].sum(axis=1)
    by_count = np.bincount(plus, weights=joint.probabilities, minlength=c + 1)
    np.testing.assert_allclose(np.exp(lumped.log_law), by_count, rtol=1e-9, atol=1e-300)
    assert joint.probabilities[world.mode(1)].sum() == pytest.approx(by_count[c])
    assert world.mode(-1).sum() == 2**free
    energies = [
        sum(J * a * b for a, b in itertools.combinations(x, 2)) + h * sum(x)
        for x in itertools.product((-1, 1), repeat=c)
    ]
    assert lumped.log_partition == pytest.approx(math.log(sum(map(math.exp, energies))))


def test_samples_of_spins_follow_the_law():
    world = CliqueIsing(3, 2, 0.5, 0.3).ising()
    keys = jax.random.split(jax.random.key(0), 4000)
    tokens = np.asarray(jax.jit(jax.vmap(lambda key: world.sample(key, 3)))(keys).tokens)
    joint = world.joint()
    expected = 4000 * joint.probabilities
    counts = np.bincount(joint.number(tokens), minlength=8)
    assert ((counts - expected) ** 2 / expected).sum() < 30  # chi-squared, 7 degrees


def test_hundreds_of_spins_are_a_law():
    law = np.exp(CliqueIsing(400, 300, 2.0, 0.01).lumped().log_law)
    assert law.sum() == pytest.approx(1) and np.isfinite(law).all()
    assert law[300] / law[0] == pytest.approx(math.exp(2 * 300 * 0.01), rel=1e-6)


@given(st.integers(1, 6), st.integers(1, 6), st.floats(0.05, 1))
def test_mask_laws(N, k, rate):
    k = min(k, N)
    uniform = MaskLaw.uniform(N, k)
    assert len(uniform.masks) == math.comb(N, k) and (uniform.masks.sum(axis=1) == k).all()
    bernoulli = MaskLaw.bernoulli(N, rate)
    assert bernoulli.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(bernoulli.weights @ bernoulli.masks, rate)  # each hidden so often
    np.testing.assert_allclose(uniform.weights @ uniform.masks, k / N)


bits = Joint([0.25] * 4, 2, 2)
corner = Joint([0.5, 0.25, 0.25, 0], 2, 2)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Ising([0, 0], [[0, 1], [0.5, 0]]), r"J\[0, 1\] is 1 and J\[1, 0\] is 0.5"),
        (lambda: Ising([0, 0], np.eye(2)), r"J\[0, 0\] is 1; a spin has no coupling with itself"),
        (lambda: Ising([0, 0], np.zeros((3, 3))), r"2 spins need \(2, 2\)"),
        (lambda: Ising(np.zeros(15), np.zeros((15, 15))).joint(), r"lumped\(\)"),
        (lambda: CliqueIsing(3, 4, 1.0, 0.0), r"clique is 4; it must be in 2..3"),
        (lambda: CliqueIsing(3, 3, -1.0, 0.0), "positive coupling"),
        (lambda: CliqueIsing(3, 3, 1.0, -0.1), "not negative"),
        (lambda: CliqueIsing(3, 3, 1.0, [0.1, 0.2, 0.3]).lumped(), "must be equal"),
        (lambda: Ising([0], [[0]]).sample(jax.random.key(0), 2), "length is 2; .* have 1 tokens"),
        (lambda: MaskLaw.uniform(4, 0), r"k is 0; it must be a whole number in 1..4"),
        (lambda: MaskLaw.uniform(4, 5), r"k is 5; it must be a whole number in 1..4"),
        *(
            (lambda k=k: MaskLaw.uniform(4, k), r"k is .*; it must be a whole number in 1..4")
            for k in (2.5, 2.0, "2", None, True, np.nan)
        ),
        (lambda: CliqueIsing(3, 3, 1.0, 0.0).mode(0), "sign is 0; it must be 1 or -1"),
        (
            lambda: MaskLaw.blocks(2, [[0, 1.5]]),
            r"cover is \[0, 1.5\]; .* whole numbers in 0..1",
        ),
        (lambda: MaskLaw.blocks(2, [[True, False]]), "whole numbers in 0..1"),
        (lambda: MaskLaw.blocks(2, [[0], "1"]), "whole numbers in 0..1"),
        (lambda: MaskLaw.blocks(2, [0, 1]), "a block of the cover is 0; it must be a set"),
        (lambda: MaskLaw(np.eye(2, dtype=bool), [0.5, 0.5 - 1e-7]), r"sums to 1 - 1.0e-07"),
        (lambda: MaskLaw.uniform(256, 128), "lumped chains"),
        (lambda: MaskLaw.blocks(3, [[0], [1]]), "no mask hides position 2"),
        (lambda: MaskLaw.blocks(2, [[0], [1, 2]]), r"a block of the cover is \[1, 2\]; .* 0..1"),
        (lambda: MaskLaw.blocks(2, []), "has no blocks"),
        (lambda: MaskLaw.bernoulli(2, 0.0), "greater than 0"),
        (lambda: MaskLaw.uniform(3, 1).check(bits), "3 positions; the sequences have 2"),
        (lambda: two_bits()[1].check(bits), "sequence 3 sum to 0"),
        (
            lambda: MaskLaw.adaptive([[0], [1]], [[0.5, 0.5]] * 3 + [[0.5, 0.1]], 2).check(corner),
            "sequence 3 sum to 0.6; they must sum to 1, or be zero",
        ),
    ],
)
def test_bad_input_is_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
