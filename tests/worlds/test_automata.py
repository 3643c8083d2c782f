"""Semiautomata: states against a loop over symbols, laws and floors against enumeration."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.worlds import Dyck, Semiautomaton, automata


def states_of(world, inputs):
    """Symbol by symbol."""
    state, found = int(world.start), []
    for symbol in inputs:
        state = int(world.delta[symbol, state])
        found.append(state)
    return found


def words(vocab, length):
    return np.array(list(itertools.product(range(vocab), repeat=length))).reshape(-1, length)


@st.composite
def worlds(draw, most=4):
    """Small automata with any law: independent, by state, with modes; with zeros; one state, one symbol."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, v, modes = (int(rng.integers(1, k + 1)) for k in (most, 3, 2))
    kind = draw(st.sampled_from(["none", "independent", "by state", "modes"]))
    table, start = rng.integers(0, n, (v, n)), int(rng.integers(n))
    if kind == "none":
        return Semiautomaton(table, start)
    if kind == "independent":
        return Semiautomaton(table, start, rng.dirichlet(np.ones(v)))
    law = np.moveaxis(rng.dirichlet(np.ones(v), (modes, n)), -1, 1)
    law[:, :, rng.integers(n)] = np.eye(v)[rng.integers(v)]  # zeros
    if kind == "by state":
        return Semiautomaton(table, start, law[0])
    return Semiautomaton(table, start, law, rng.dirichlet(np.ones(modes)))


def chance(world, word):
    """`sum_k w_k prod_t P(s_t | q_{t-1}, k)`."""
    before = [int(world.start), *states_of(world, word)[:-1]]
    return sum(
        weight * np.prod([law[s, q] for s, q in zip(word, before, strict=True)])
        for weight, law in zip(world.weights, world.symbol_law, strict=True)
    )


def as_one_shape(world):
    """The same automaton in tables of one size, so that few programs are compiled."""
    return world.padded(3, 4, modes=2)


@settings(max_examples=8)
@given(worlds(), st.integers(1, 16), st.integers(0, 99))
def test_runs_and_maps_are_those_of_a_loop(world, length, seed):
    inputs = np.random.default_rng(seed).integers(0, world.vocab, length)
    assert np.asarray(as_one_shape(world).run(inputs)).tolist() == states_of(world, inputs)
    maps = np.asarray(as_one_shape(world).maps(inputs))
    for q in range(world.states):
        other = Semiautomaton(world.delta, q)
        assert maps[:, q].tolist() == states_of(other, inputs)


@settings(max_examples=5)
@given(worlds())
def test_probabilities_are_those_of_all_words(world):
    every, large = words(world.vocab, 3), as_one_shape(world)
    exact = np.array([chance(world, word) for word in every])
    found = np.exp([float(large.log_prob(word)) for word in every])
    np.testing.assert_allclose(found, exact, atol=1e-6)
    for word in every[:2]:
        rows = np.exp(np.asarray(large.next_logits(word, start=True)))[:, : world.vocab]
        states = [int(world.start), *states_of(world, word)]
        np.testing.assert_allclose(
            large.next_token(np.zeros(0, int))[: world.vocab], rows[0], atol=1e-6
        )
        for i in range(3):
            same = (every[:, :i] == word[:i]).all(axis=1)
            law = np.bincount(every[same, i], exact[same], world.vocab)
            law = law / law.sum() if law.sum() > 0 else law
            np.testing.assert_allclose(rows[i], law, atol=1e-5)
            if i:
                moved = np.bincount(world.delta[:, states[i]], law, world.states)
                found = np.asarray(large.next_states(word))[i - 1, : world.states]
                np.testing.assert_allclose(found, moved, atol=1e-5)
                next_law = large.next_token(word[:i])[: world.vocab]
                np.testing.assert_allclose(next_law, law, atol=1e-5)


@settings(max_examples=8)
@given(worlds(), st.integers(1, 4))
def test_floors_are_those_of_all_words(world, length):
    every = words(world.vocab, length)
    weights = np.array([chance(world, word) for word in every])
    states = np.array([states_of(world, word) for word in every])
    marginals = world.marginals(length)
    for t in range(length):
        law = np.bincount(states[:, t], weights, world.states)
        np.testing.assert_allclose(marginals[t + 1], law, atol=1e-12)
    parity = world.observe(np.arange(world.states) % 2)
    for watched, labels in ((world, states), (parity, states % 2)):
        best = [np.bincount(labels[:, t], weights).max() for t in range(length)]
        assert watched.position_accuracy(length) == pytest.approx(np.mean(best), abs=1e-12)
        for w in range(length + 1):
            right = 0.0
            for t in range(length):
                seen = [tuple(word[max(0, t + 1 - w) : t + 1]) for word in every]
                for window in set(seen):
                    same = [i for i, other in enumerate(seen) if other == window]
                    right += np.bincount(labels[same, t], weights[same]).max()
            found = watched.window_accuracy(w, length)
            assert found == pytest.approx(right / length, abs=1e-12)


@pytest.mark.parametrize(
    ("world", "length", "position", "windows"),
    [
        (automata.gridworld(4), 100, 26.0, {8: 94.5, 16: 99.7}),
        (automata.gridworld(4), 20, 30.0, {4: 83.7, 8: 96.8, 12: 99.5}),
        (automata.gridworld(9), 100, 15.3, {8: 53.4, 16: 70.6}),
        (automata.gridworld(9), 20, 27.0, {8: 79.9}),
        (automata.cyclic(2), 100, 50.0, {8: 54.0}),
        (automata.dihedral(3), 12, 21.3, {4: 49.1, 6: 62.9, 8: 76.6}),
        (automata.dihedral(4), 12, 27.1, {4: 52.1, 6: 64.6, 8: 77.1}),
        (automata.dihedral(3, stay=True), 12, 18.7, {6: 60.4}),
        (automata.dihedral(4, stay=True), 12, 15.9, {6: 59.6}),
        (automata.quaternion(), 12, 14.9, {4: 44.0, 6: 58.6, 8: 73.0}),
        (automata.cyclic(8), 12, 12.5, {}),
        (automata.alternating(5, stay=True), 100, 2.3, {}),
        (automata.symmetric(5), 100, 1.2, {}),
        (automata.gridworld(9).observe(automata.is_boundary(9)), 20, 71.3, {}),
        (automata.abab().observe(automata.is_state(automata.abab(), 3)), 20, 87.7, {}),
    ],
    ids=lambda value: value.name if isinstance(value, Semiautomaton) else None,
)
def test_floors_of_the_literature(world, length, position, windows):
    """Values that were computed elsewhere, to their digits."""
    assert 100 * world.position_accuracy(length) == pytest.approx(position, abs=0.05)
    for w, accuracy in windows.items():
        assert 100 * world.window_accuracy(w, length) == pytest.approx(accuracy, abs=0.05)


def test_samples_follow_the_law():
    world = automata.abab()
    drawn = jax.vmap(lambda key: world.sample(key, 6))(jax.random.split(jax.random.key(0), 2000))
    tokens, states = np.asarray(drawn.tokens), np.asarray(drawn.states)
    assert [states_of(world, row) for row in tokens[:50]] == states[:50].tolist()
    found = np.array([(states == q).mean(axis=0) for q in range(5)]).T
    np.testing.assert_allclose(found, world.marginals(6)[1:], atol=0.03)
    alternating = (tokens == [0, 1] * 3).all(axis=1).mean()
    assert alternating == pytest.approx(0.5 + 0.5 / 64, abs=0.03)
    assert world.sample(jax.random.key(1), 9).tokens[:5].tolist() == (
        world.sample(jax.random.key(1), 5).tokens.tolist()
    )


def test_padded_automata_are_the_same_and_stack():
    small, large = automata.cyclic(2), automata.dihedral(3)
    both = [small.padded(4, 8), large.padded(4, 8)]
    inputs = np.array([1, 0, 1, 1, 0, 1])
    stack = Semiautomaton.stack(both)
    runs = jax.vmap(lambda world: world.run(inputs))(stack)
    assert np.asarray(runs).tolist() == [states_of(w, inputs) for w in (small, large)]
    keys = jax.random.split(jax.random.key(0), 2)
    drawn = jax.vmap(lambda world, key: world.sample(key, 50))(stack, keys)
    assert (np.asarray(drawn.tokens) < 2).all()
    assert both[0].position_accuracy(10) == small.position_accuracy(10)
    assert stack.outputs == 6
    noisy = automata.abab().padded(3, 6, modes=3)
    np.testing.assert_allclose(noisy.marginals(5)[:, :5], automata.abab().marginals(5))


def test_an_unknown_symbol_under_a_trace_leaves_the_state_and_is_impossible():
    world = automata.cyclic(3)
    inputs = jnp.array([1, 7, -1, 1])
    assert jax.jit(lambda x: world.run(x))(inputs).tolist() == [1, 1, 1, 2]
    assert float(jax.jit(lambda x: world.log_prob(x))(inputs)) == -np.inf


@settings(max_examples=8)
@given(worlds())
def test_a_product_is_both_automata(world):
    other = automata.gridworld(3)
    both = automata.product(world, other)
    first, second = automata.with_identity(world), automata.with_identity(other)
    rng = np.random.default_rng(0)
    inputs = rng.integers(0, both.vocab, 12)
    found = states_of(both, inputs)
    pairs = zip(
        states_of(first, inputs // second.vocab),
        states_of(second, inputs % second.vocab),
        strict=True,
    )
    assert found == [q * other.states + r for q, r in pairs]


def test_a_cascade_reads_the_states_before_the_step():
    """A counter that advances if the stored bit is 1: the input that sets it does not count."""
    world = automata.cascade([automata.memory(2), automata.cyclic(2)], [[[0, 0, 0], [1, 1, 1]]])
    assert np.asarray(world.run(np.array([2, 0, 0, 1]))).tolist() == [2, 3, 2, 1]


@pytest.mark.parametrize(("types", "depth"), [(2, 4), pytest.param(3, 2, marks=pytest.mark.long)])
def test_brackets_are_those_of_the_dyck_world(types, depth):
    world, other = automata.dyck(types, depth), Dyck.uniform(types, depth)
    assert world.states == sum(types**i for i in range(depth + 1)) + 1
    for key in jax.random.split(jax.random.key(0), 2):
        tokens, states = world.sample(key, 20)
        assert float(world.log_prob(tokens)) == pytest.approx(
            float(other.log_prob(tokens)), abs=1e-4
        )
        assert (np.asarray(states) < world.states - 1).all()
        tops = np.asarray(other.stack_tops(tokens))
        types_on_top = np.where(tops < 0, types, np.asarray(tokens)[tops] // 2)
        seen = world.observe(automata.stack_tops(types, depth))
        assert np.asarray(seen.labels(tokens)).tolist() == types_on_top.tolist()
    assert world.text(tokens) == other.text(tokens)


def test_groups_of_the_library_multiply():
    quaternion = automata.quaternion()
    names = list(quaternion.state_names)
    for word, product in {"ij": "-k", "ji": "k", "ii": "-1", "kji": "-1", "ijk": "1"}.items():
        inputs = np.array(["1ijk".index(letter) for letter in word])
        assert names[int(quaternion.run(inputs)[-1])] == product  # the last symbol stands first
    for world, order in (
        (automata.symmetric(4), 24),
        (automata.alternating(5), 60),
        (automata.cyclic_power(2, 3), 8),
        (automata.dihedral(4), 8),
    ):
        assert world.states == order
        assert (np.sort(world.delta, axis=1) == np.arange(order)).all()
    first = automata.symmetric(3).observe(automata.first_values(3))
    elements = list(itertools.permutations(range(3)))
    assert first.observation.tolist() == [element[0] for element in elements]
    table = automata.symmetric(3, tokens=6, stay=True).delta
    assert sorted(map(tuple, table.tolist())) == sorted(
        tuple(elements.index(tuple(a[i] for i in b)) for b in elements) for a in elements
    )


def test_the_cube_is_six_turns_of_order_four():
    turns = automata.rubik().delta
    assert turns.shape == (6, 48)
    for turn in turns:
        moved = np.arange(48)
        for _ in range(4):
            moved = turn[moved]
        assert (moved == np.arange(48)).all()
        assert (turn != np.arange(48)).sum() == 20
    opposite = turns[0][turns[1]], turns[1][turns[0]]
    assert (opposite[0] == opposite[1]).all()


def test_the_tasks_of_the_source():
    tasks = automata.source_tasks()
    assert len(tasks) == 19
    assert list(tasks)[:4] == ["Dyck_4,2", "Grid_4", "Grid_9", "C_2"]
    assert tasks["D_8"].observe(automata.places(4)).outputs == 4


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Semiautomaton([[0, 2]]), r"delta\[0, 1\] is 2; it must lie in 0..1"),
        (lambda: Semiautomaton(np.zeros((0, 3), int)), "delta has no symbols"),
        (
            lambda: automata.cyclic(2).run(np.array([0, 2])),
            "token 2 at index 1 is outside the vocabulary 0..1",
        ),
        (lambda: automata.cyclic(2).sample(jax.random.key(0), 0), "length is 0"),
        (lambda: automata.cyclic(2).marginals(0), "length is 0"),
        (lambda: automata.cyclic(2).with_law([0.5, 0.6]), "law sums to 1.1; it must sum to 1"),
        (lambda: automata.cyclic(2).with_law(np.full((2, 2, 2), 0.5)), "2 modes; give the weights"),
        (
            lambda: automata.cyclic(3).padded(2, 4),
            "vocab is 2; it must be a whole number of at least 3",
        ),
        (lambda: automata.dyck(8, 6), "at most 16384 are allowed"),
        (lambda: automata.canonical([[0, 1], [1, 1]]), "lacks an element"),
        (lambda: automata.permutation_automaton([[0, 0]]), r"tokens\[0\] is no permutation"),
        (
            lambda: automata.permutation_automaton([[1, 0, 2]], [[0, 1, 2]]),
            "is a product of the permutations and not among the elements",
        ),
        (
            lambda: Semiautomaton(
                np.random.default_rng(0).integers(0, 40, (16, 40))
            ).window_accuracy(6, 9),
            "give a smaller w",
        ),
    ],
)
def test_bad_input_meets_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)
