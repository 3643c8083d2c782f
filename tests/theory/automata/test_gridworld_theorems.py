"""Gridworlds in two layers: on all paths, against walking them."""

from itertools import product

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory.automata import (
    algorithm_1_is_exact,
    lemma_22,
    lemma_23,
    strings,
    theorem_12,
    theorem_12_margins,
    theorem_12_sizes,
)
from minicosm.theory.automata.gridworld import algorithm_1
from minicosm.worlds import Semiautomaton, automata

READINGS = ("count", "deep", "wide")


def walked(moves, S, start):
    place, places = start, []
    for move in moves:
        place = min(max(place + move, 0), S)
        places.append(place)
    return places


def grid(n, start=0, moves=(-1, 1, 0)):
    q = np.arange(n)
    return Semiautomaton([np.clip(q + m, 0, n - 1) for m in moves], start)


def all_paths(length):
    return np.array(list(product(range(3), repeat=length)))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("read", READINGS)
def test_all_paths_from_every_start(n, read):
    moves = np.array([-1, 1, 0])
    for start in range(n):
        for length in (1, 4):
            paths = all_paths(length)
            exact = [walked(path, n - 1, start) for path in moves[paths]]
            network = theorem_12(grid(n, start), length, read=read).construction
            assert network(paths).tolist() == exact
            assert network.as_hard(2)(paths).tolist() == exact
            assert np.abs(network.values(paths) - np.rint(network.values(paths))).max() < 1e-9


@settings(max_examples=5)
@given(st.integers(2, 9), st.integers(1, 24), st.integers(0, 10**6), st.sampled_from(READINGS))
def test_long_paths(n, length, seed, read):
    rng = np.random.default_rng(seed)
    world = grid(n, int(rng.integers(n)))
    result = theorem_12(world, length, read=read).certify(count=20, seed=seed)
    assert result.holds
    assert theorem_12_sizes(world, length, read=read).holds


def distinct_from(z, S):
    """t_uniq by counting a set for every suffix, from the shortest on."""
    for t in range(len(z), 0, -1):
        if len(set(z[t - 1 :])) == S + 1:
            return t
    raise AssertionError("too few values")


@given(st.integers(1, 4), st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=30), st.data())
def test_algorithm_1_is_what_is_printed(S, moves, data):
    """The suffix is found by sets, the extremes by their definition, the state by walking."""
    start = data.draw(st.integers(0, S))
    found = algorithm_1(np.array([moves]), S, start)
    places = walked(moves, S, start)
    front = S + 1 + start
    z = np.cumsum([*[-1] * (S + 1), *[1] * start, *moves]).tolist()
    for t, place in enumerate(places):
        prefix = z[: front + t + 1]
        unique = distinct_from(prefix, S)
        suffix = prefix[unique - 1 :]
        t_min = max(i for i, v in enumerate(prefix, 1) if v == min(suffix) and i >= unique)
        t_max = max(i for i, v in enumerate(prefix, 1) if v == max(suffix) and i >= unique)
        assert found.states[0, t] == place
        assert found.states[0, t] == prefix[-1] - min(suffix)  # the identity q = z - min z
        assert found.start[0, t] == unique
        assert found.wall_at[0, t] == max(t_min, t_max)
        assert found.wall[0, t] == (0 if t_min > t_max else S)
        if max(t_min, t_max) > front:  # inside the string: the state there is the wall
            assert places[max(t_min, t_max) - front - 1] == found.wall[0, t]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_algorithm_1_and_lemma_22_on_all_paths(n):
    for start in range(n):
        world = grid(n, start)
        assert algorithm_1_is_exact(world, all_paths(7)).holds
        assert lemma_22(world, all_paths(7)).holds


@pytest.mark.parametrize("n", [2, 3, 4])
def test_what_the_heads_return(n):
    world = grid(n, 0)
    paths = strings(world, 12, 20)
    assert lemma_23(world, 12, paths).holds
    # With S = 1 a value that was not reached is next to z_t, so that t is selected; from S = 2 on it is not.
    assert lemma_23(world, 12, paths, printed=True).holds is (n == 2)


def test_a_head_without_a_match_does_not_select_t():
    """S = 2, one move to the right: the head for two places further left than ever finds the leftmost."""
    network = theorem_12(grid(3), 1).construction.as_hard(2)
    weights = network.attention(np.array([1]), 2)
    row = weights[0, -1]  # head s = 0 looks for z_t - 2
    assert row.argmax() == len(row) - 2  # position t - 1, where the sum was least, and not t
    # and the pad at position 0 is never selected
    assert (weights[:, -1, 0] == 0).all()


@pytest.mark.parametrize("part", ["step 2(a)", "unmatched heads", "centre head", "output"])
def test_steps_as_printed_do_not_give_the_state(part):
    theorem = theorem_12(grid(4), 20, read="deep", printed=part)
    assert theorem.name == f"Theorem 12, {part} as printed"
    assert theorem.certify(count=60).holds is False
    assert theorem_12(grid(4), 20, read="deep").certify(count=60).holds


def test_the_printed_output_is_right_where_the_upper_end_is_later():
    """B = 1 there, and then S - s is printed: states after hitting the right wall come out."""
    network = theorem_12(grid(3), 6, read="deep", printed="output").construction
    path = np.array([1, 1, 1, 1, 1, 1])
    assert network(path)[2:].tolist() == [2, 2, 2, 2]
    assert network(np.zeros(6, int)).tolist() == [-1] * 6  # 2S + 1 - s is no state


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (2, 2, 2)])
def test_grids_of_several_dimensions_are_copies_side_by_side(shape):
    axes = len(shape)
    where = np.array(np.unravel_index(np.arange(np.prod(shape)), shape))
    moves = [m for m in product((-1, 0, 1), repeat=axes) if sum(map(abs, m)) <= 1]
    rows = []
    for move in moves:
        after = [np.clip(c + m, 0, n - 1) for c, m, n in zip(where, move, shape, strict=True)]
        rows.append(np.ravel_multi_index(after, shape))
    start = int(np.prod(shape)) - 2
    world = Semiautomaton(rows, start)
    theorem = theorem_12(world, 9, shape=shape)
    assert theorem.certify(count=100).holds
    audit = theorem.construction.audit()
    assert (audit.depth, audit.heads) == (2, sum(2 * n - 1 for n in shape))
    assert not theorem_12(world, 9).applies


def test_the_library_square_is_one():
    world = automata.gridworld_2d(3)
    assert theorem_12(world, 8, shape=(3, 3)).certify(count=100).holds


def test_what_is_no_gridworld_is_refused_with_its_symbol():
    reason = theorem_12(automata.cyclic(3), 5).failed()[0].reason
    assert reason == (
        "symbol 1 takes state 2 from 2 to 0; in a gridworld of 3 places a symbol moves all states to the "
        "left, all to the right or none, but for the walls"
    )
    for statement in (
        algorithm_1_is_exact(automata.cyclic(3), np.zeros((1, 4), int)),
        lemma_22(automata.cyclic(3), np.zeros((1, 4), int)),
        lemma_23(automata.cyclic(3), 4, np.zeros((1, 4), int)),
        theorem_12_sizes(automata.cyclic(3), 4),
    ):
        assert not statement.applies
    with pytest.raises(ValueError, match=r"shape is \(2, 2\); its places must be the 3 states"):
        theorem_12(grid(3), 4, shape=(2, 2))
    with pytest.raises(ValueError, match="is about the reading 'deep'"):
        theorem_12(grid(3), 4, printed="output")
    with pytest.raises(ValueError, match="the largest number of places is 65"):
        theorem_12(grid(65), 4)


def test_margins():
    """Scores of all pairs of positions, for all values: the aim wins by what is said."""
    for T in (1, 2, 3, 10, 100, 4096):
        assert theorem_12_margins(T).holds
    T = 12
    c = np.pi**2 / (16 * np.log(2) * T**2)
    gamma = np.log(2 * T - np.arange(1, T + 1))
    values = np.cos(np.pi * np.arange(0, 2 * T) / (2 * T))  # by how many steps a sum is off
    matched, other = 1 - c * gamma, values[1:, None] - c * gamma
    margins = theorem_12_margins(T).details
    assert matched.min() - other.max() == pytest.approx(
        margins["value"] / T**2 + c * np.log(2) - c * (gamma.max() - gamma.min())
    )
    assert 40 * T**3 * np.diff(matched).min() >= margins["recency"]


def test_as_a_transformer_and_in_single_precision():
    """In double precision the Transformer of the package gives every state; in single precision, where the
    table of the circle loses four digits, it still does at T = 16."""
    world = automata.gridworld(4)
    network = theorem_12(world, 16).construction
    inputs = strings(world, 16, 20)[:20]
    exact = network(inputs)
    for precise in (True, False):
        with jax.enable_x64(precise):
            model = network.as_transformer()
            assert model.config.layers == 3
            logits = jax.jit(jax.vmap(model.next_logits))(network.ids(inputs))
        states = np.asarray(logits)[:, len(network.pads) :].argmax(axis=2)
        assert (states == exact).all()


@pytest.mark.long
@pytest.mark.parametrize(("n", "read"), [(4, "count"), (4, "deep"), (4, "wide"), (9, "count")])
def test_ten_thousand_paths_of_128_moves(n, read):
    result = theorem_12(automata.gridworld(n), 128, read=read).certify(count=10_000, seed=1)
    assert result.details["strings"] == 10_000
    assert result.details["wrong"] == 0
    assert result.holds


@pytest.mark.long
def test_single_precision_ends_between_32_and_128():
    world = automata.gridworld(4)
    wrong = {}
    for length in (32, 128):
        network = theorem_12(world, length).construction
        inputs = strings(world, length, 40)
        logits = jax.jit(jax.vmap(network.as_transformer().next_logits))(network.ids(inputs))
        states = np.asarray(logits)[:, len(network.pads) :].argmax(axis=2)
        wrong[length] = (states != network(inputs)).mean()
    assert wrong[32] == 0
    assert wrong[128] > 0.3
