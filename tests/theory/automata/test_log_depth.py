"""Theorem 10, counters and memories on all strings of small automata, against a loop over time."""

from itertools import product

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.theory.automata import (
    lemma_14,
    lemma_14_sizes,
    lemma_15,
    lemma_15_sizes,
    lemma_16,
    lemma_16_sizes,
    recurrence,
    strings,
    theorem_10,
    theorem_10_readout_as_printed,
    theorem_10_sharpness,
    theorem_10_sizes,
)
from minicosm.theory.automata.log_depth import composition, scan_network
from minicosm.worlds import Semiautomaton, automata


def walked(world, string):
    """States by looking up one transition after another."""
    state, states = int(world.start), []
    for symbol in string:
        state = int(world.delta[symbol][state])
        states.append(state)
    return states


def all_strings(vocab, length):
    return np.array(list(product(range(vocab), repeat=length)))


@st.composite
def small_automata(draw, most_states=5):
    states, vocab = draw(st.integers(1, most_states)), draw(st.integers(1, 3))
    entries = st.lists(st.integers(0, states - 1), min_size=states, max_size=states)
    delta = draw(st.lists(entries, min_size=vocab, max_size=vocab))
    return Semiautomaton(np.array(delta), draw(st.integers(0, states - 1)))


@given(small_automata(), st.integers(1, 6), st.booleans())
def test_any_automaton_in_logarithmic_depth_on_all_strings(world, length, hats):
    theorem = theorem_10(world, length, hats=hats)
    assert theorem.applies
    network = theorem.construction
    assert len(network.layers) == int(np.ceil(np.log2(length)))
    every = all_strings(world.vocab, length)
    assert network(every).tolist() == [walked(world, string) for string in every]
    assert np.abs(network.values(every) - np.rint(network.values(every))).max() < 1e-9
    assert theorem_10_sizes(world, length).holds
    result = theorem.certify()
    assert result.holds
    assert result.details["strings"] == len(every)


@given(small_automata(4), st.integers(1, 5))
def test_the_recurrence_takes_as_many_layers_as_steps(world, length):
    network = recurrence(world, length).construction
    assert len(network.layers) == length
    every = all_strings(world.vocab, length)
    assert network(every).tolist() == [walked(world, string) for string in every]


def test_depth_t_is_needed_by_the_recurrence():
    """After l layers states up to position l are right; after it they are not yet."""
    world = automata.parity()
    network = recurrence(world, 6).construction
    string = np.ones(6, int)
    for done in range(7):
        state = network.hidden(string, done)[1:, 0]
        right = np.abs(state - walked(world, string)) < 1e-9
        assert right[:done].all()
        assert done == 6 or not right.all()


@pytest.mark.parametrize("hats", [True, False])
def test_all_pairs_of_functions_are_composed(hats):
    for n in (2, 3):
        assert lemma_14(n, hats=hats).holds
        assert lemma_14_sizes(n).holds
        built = composition(n, hats=hats)
        for g in product(range(n), repeat=n):
            for f in product(range(n), repeat=n):
                out = built(np.array([[*g, *f]], float).T + 1)[:, 0]
                assert out.tolist() == [f[g[q]] + 1 for q in range(n)]
    assert composition(3, hats=False).widths == (4 * 9 + 3, 9)


def test_trapezoids_bear_an_attention_error_and_hats_pass_it_on():
    pair = np.array([[1.1, 2.0, 3.0, 2.0, 1.0, 3.0]]).T
    assert composition(3, hats=False)(pair)[0, 0] == pytest.approx(2.0, abs=1e-12)
    assert abs(composition(3, hats=True)(pair)[0, 0] - 2.0) > 0.05


def test_the_readout_as_printed_is_wrong_at_the_last_position_only():
    world = automata.dihedral(3)
    result = theorem_10_readout_as_printed(world, 8)
    assert result.holds is False
    assert result.details["wrong before the last position"] == 0
    # where the start is read it is right, and at lengths that are no power of two so is every coordinate
    assert theorem_10(world, 8).certify().holds
    assert theorem_10_readout_as_printed(world, 7).holds
    other = scan_network(np.asarray(world.delta), 0, 8, read=1)
    wrong = other(all_strings(2, 8)) != theorem_10(world, 8).construction(all_strings(2, 8))
    assert wrong[:, -1].all()
    assert not wrong[:, :-1].any()


def test_attention_must_be_sharp_enough():
    rng = np.random.default_rng(0)
    world = Semiautomaton([rng.permutation(5) for _ in range(3)])
    for hats in (True, False):
        result = theorem_10_sharpness(world, 16, hats=hats, count=50)
        assert result.holds
        assert 0.1 < result.details["least factor"] < 1
    network = theorem_10(world, 16, sharpness=0.05)
    assert network.certify(count=50).holds is False
    assert theorem_10_sharpness(automata.memory(2), 4).failed()[0].reason == (
        "symbol 1 takes two states to one"
    )


# -- counters and memories ----------------------------------------------------------------------


@given(st.integers(1, 5), st.integers(1, 6), st.data())
def test_counters_in_one_layer(n, length, data):
    start = data.draw(st.integers(0, n - 1))
    steps = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3))
    world = Semiautomaton([[(q + s) % n for q in range(n)] for s in steps], start)
    every = all_strings(len(steps), length)
    network = lemma_15(world, length).construction
    assert network(every).tolist() == [walked(world, string) for string in every]
    assert lemma_15_sizes(world, length).holds


@given(st.integers(1, 4), st.integers(1, 5), st.data())
def test_memories_in_one_layer(m, length, data):
    start = data.draw(st.integers(0, m - 1))
    table = data.draw(
        st.lists(st.sampled_from([list(range(m)), *([q] * m for q in range(m))]), min_size=1,
                 max_size=3)
    )  # fmt: skip
    world = Semiautomaton(table, start)
    every = all_strings(len(table), length)
    network = lemma_16(world, length).construction
    assert network(every).tolist() == [walked(world, string) for string in every]
    assert lemma_16_sizes(world, length).holds


def test_what_a_memory_copies_is_within_an_eighth():
    for m, length in ((2, 50), (8, 100)):
        world = automata.memory(m)
        network = lemma_16(world, length).construction
        inputs = strings(world, length, 100)
        head = network.layers[0].heads[0]
        copied = head(network.hidden(inputs, 0))[:, :, 0]
        exact = np.array([walked(world, string) for string in inputs]) + 1
        assert np.abs(copied - exact).max() <= 1 / 8


def test_the_norm_of_a_memory_is_the_stated_one_for_long_strings():
    sizes = lemma_16_sizes(automata.memory(4), 64)
    assert sizes.details["claimed largest_weight"] == pytest.approx(2 * 64 * np.log(4 * 64))
    assert sizes.holds
    assert "claimed largest_weight" not in lemma_16_sizes(automata.memory(4), 2).details


def test_a_construction_says_which_condition_fails():
    grid, dihedral = automata.gridworld(4), automata.dihedral(3)
    assert str(lemma_15(grid, 5)) == (
        "Lemma 15 does not apply: symbol 0 adds 0 to state 0 and 3 to state 1; in a counter modulo 4 a "
        "symbol adds the same number to every state"
    )
    assert "symbol 0 takes state 0 to 2" in lemma_16(dihedral, 5).failed()[0].reason
    for theorem in (lemma_15(grid, 5), lemma_15_sizes(grid, 5), lemma_16_sizes(dihedral, 5)):
        assert not theorem.applies
        assert theorem.construction is None
    with pytest.raises(ValueError, match="Lemma 15 constructs nothing here"):
        lemma_15(grid, 5).certify()


def test_bad_lengths_and_sizes_get_one_sentence():
    world = automata.parity()
    for length in (0, -1, 5000):
        with pytest.raises(ValueError, match=r"length is -?\d+; it must be in 1\.\.4096"):
            theorem_10(world, length)
    large = Semiautomaton(np.zeros((1, 2000), int))
    with pytest.raises(
        ValueError, match=r"the number of states of world is 2000; it must be in 1\.\."
    ):
        theorem_10(large, 4)
    network = theorem_10(world, 4).construction
    with pytest.raises(ValueError, match="inputs hold the symbol 2 at row 0, index 1"):
        network(np.array([0, 2]))
    with pytest.raises(ValueError, match=r"T in 1\.\.4"):
        network(np.zeros((2, 5), int))
    with pytest.raises(ValueError, match=r"T in 1\.\.4"):
        network(np.zeros((2, 0), int))
    stacked = Semiautomaton.stack([world, world])
    with pytest.raises(ValueError, match="it must be one automaton"):
        theorem_10(stacked, 4)


# -- as Transformers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theorem", "world"),
    [
        (theorem_10, automata.dihedral(3)),
        (lemma_15, automata.cyclic(3)),
        (lemma_16, automata.memory(3)),
        (recurrence, automata.parity()),
    ],
)
def test_constructions_are_ordinary_transformers(theorem, world):
    """With the package's own code; Theorem 10 also in single precision."""
    network = theorem(world, 6).construction
    inputs = strings(world, 6, 8)[::97][:8]
    for precise in (True, False) if theorem is theorem_10 else (True,):
        with jax.enable_x64(precise):
            model = network.as_transformer()
            logits = jax.jit(jax.vmap(model.next_logits))(network.ids(inputs))
        states = np.asarray(logits)[:, len(network.pads) :].argmax(axis=2)
        assert states.tolist() == [walked(world, string) for string in inputs]


# -- long strings ---------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("theorem", "world"),
    [
        (theorem_10, automata.dihedral(4)),
        (theorem_10, automata.quaternion()),
        (theorem_10, automata.gridworld(9)),
        (lemma_15, automata.cyclic(8)),
        (lemma_16, automata.memory(8)),
    ],
)
def test_ten_thousand_strings_of_128_symbols(theorem, world):
    result = theorem(world, 128).certify(count=10_000, seed=1)
    assert result.details["strings"] == 10_000
    assert result.details["wrong"] == 0
    assert result.holds
