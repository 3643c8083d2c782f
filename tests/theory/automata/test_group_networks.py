"""Networks of groups, resets and cascades, run by their layers, against multiplication and tables."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory.automata import (
    barrington,
    barrington_theorem,
    cascade_of,
    evaluate,
    example_7,
    five_points,
    group,
    krohn_rhodes,
    lemma_17,
    lemma_17_sizes,
    lemma_18,
    lemma_18_sizes,
    lemma_19,
    lemma_19_bias_as_printed,
    lemma_19_sizes,
    lemma_20,
    lemma_20_size_as_printed,
    lemma_20_sizes,
    lemma_21,
    lemma_21_as_printed,
    lemma_21_sizes,
    theorem_11,
    theorem_11_depth,
    theorem_14,
    theorem_16,
    theorem_16_recursion,
    theorem_16_sizes,
    word,
)
from minicosm.theory.automata.group_theorems import wreath_products
from minicosm.theory.automata.solvable import shift_copies
from minicosm.worlds import Semiautomaton, automata

FOUR = group([np.roll(np.arange(4), 1), [1, 0, 2, 3]], name="S_4")
THREE, TWO = group([[1, 2, 0]]), group([[1, 0]])


def products(G, words):
    """`g_t ... g_1` of rows of element numbers, by composing permutations."""
    found = []
    for row in words:
        now, listed = np.arange(G.elements.shape[1]), []
        for g in row:
            now = G.elements[g][now]
            listed.append(G.number(now))
        found.append(listed)
    return np.array(found)


@pytest.mark.parametrize("T", [1, 9])
@pytest.mark.parametrize(
    ("G", "depth", "rep_dim"),
    [
        (group([np.roll(np.arange(4), 1)]), 4, 3),
        (group([[1, 2, 0], [1, 0, 2]]), 4, 3),
        (group(automata.quaternion().delta), 7, 7),
        (group([[1, 2, 0, 3], [0, 2, 3, 1]]), 7, 10),
        (group([(np.arange(7) + 1) % 7, 2 * np.arange(7) % 7]), 4, 4),
        (FOUR, 10, 21),
    ],
    ids=("C_4", "S_3", "Q_8", "A_4", "C_7:C_3", "S_4"),
)
def test_prefix_products_of_solvable_groups(G, depth, rep_dim, T):
    network = theorem_16(G, T).construction
    words = np.random.default_rng(0).integers(0, G.order, (20, T))
    assert network(words).tolist() == products(G, words).tolist()
    assert network.audit().depth == depth
    assert network.width == rep_dim + 2
    assert theorem_16_sizes(G, T).holds and theorem_16_recursion(G, T).holds


def test_what_is_not_solvable_is_not_compiled():
    five = group([[1, 2, 0, 3, 4], [0, 1, 3, 4, 2]])
    refusal = theorem_16(five, 8)
    assert not refusal.applies and refusal.failed()[0].reason == "A_5 (order 60) is perfect"
    with pytest.raises(ValueError, match="Theorem 16 constructs nothing here"):
        refusal.certify()
    assert theorem_14(five, 5).holds


def test_products_of_groups():
    found = lemma_17([THREE, TWO, TWO], 12)
    assert found.certify(count=40).holds and lemma_17_sizes([THREE, TWO, TWO], 12).holds
    assert found.construction.audit().depth == 1
    phi = np.array([[0, 1, 2], THREE.inverses])
    for lemma in (lemma_18, lemma_18_sizes):
        one = lemma(THREE, TWO, phi, 12)
        assert (one.certify(count=40) if one.check else one).holds


def wreath_by_words(codes, n, p):
    """Products in `C_n wr C_p`, as permutations of n p points: (i, x) -> (i + h, x + f(i + h))."""
    places, marks = np.divmod(np.arange(n * p), n)

    def move(code):
        f, h = code[:p], code[p]
        # phi_h(f)(i) = f(i + h): an element takes (i, x) to (i - h, x + f(i - h)).
        return ((places - h) % p) * n + (marks + f[(places - h) % p]) % n

    now, found = np.arange(n * p), []
    for code in codes:
        now = move(code)[now]
        found.append(now)
    return found, move


@settings(max_examples=6)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 3))
def test_the_rule_of_wreath_products_is_that_of_permutations(seed, n, p):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, [n] * p + [p], (6, p + 1))
    moved, move = wreath_by_words(codes, n, p)
    for code, expected in zip(wreath_products(codes[None], n, p)[0], moved, strict=True):
        assert move(code).tolist() == expected.tolist()


def test_wreath_products_and_their_bias():
    for n, p in ((2, 2), (5, 2), (3, 3)):
        assert lemma_19(n, p, 8).certify(count=30).holds
        assert lemma_19_sizes(n, p, 8).holds
    assert lemma_19_bias_as_printed(3, 3, 8).certify(count=30).holds
    assert lemma_19_bias_as_printed(5, 2, 8).certify(count=30).holds is False


@settings(max_examples=8)
@given(st.integers(2, 5), st.integers(1, 3), st.integers(0, 99), st.booleans())
def test_copies_are_shifted(p, r, seed, back):
    rng = np.random.default_rng(seed)
    codes, h = rng.integers(0, 7, (p, r)), int(rng.integers(p))
    found = shift_copies(p, r, 6, back=back)(np.append(codes.ravel(), h).astype(float)[:, None])
    expected = np.roll(codes, h if back else -h, axis=0)
    np.testing.assert_array_equal(found[:, 0].reshape(p, r), expected)


# -- automata ----------------------------------------------------------------------------------------


def words_of(world, length, count=40, seed=0):
    return np.random.default_rng(seed).integers(0, world.vocab, (count, length))


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_permutation_reset_automata(seed, T):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    rows = [rng.permutation(n) for _ in range(int(rng.integers(0, 3)))]
    rows += [np.full(n, rng.integers(n)) for _ in range(int(rng.integers(0, 3)))]
    world = Semiautomaton(np.array(rows or [np.arange(n)]), int(rng.integers(n)))
    found = lemma_20(world, T)
    assert found.certify(inputs=words_of(world, T)).holds
    assert lemma_20_sizes(world, T).holds


def test_the_printed_size_of_lemma_20_is_too_small_for_s4_on_four_points():
    world = Semiautomaton([*FOUR.generators, [2, 2, 2, 2]])
    printed = lemma_20_size_as_printed(world, 8)
    assert printed.holds is False
    assert printed.details["width"] == 48 and printed.details["claimed width"] == 32
    assert "neither a bijection nor constant" in str(lemma_20(automata.gridworld(3), 8))
    five = automata.permutation_automaton([[1, 2, 0, 3, 4], [0, 1, 3, 4, 2]])
    assert "A_5 (order 60) is perfect" in str(lemma_20(five, 8))


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_solvable_automata_are_compiled(seed, T):
    rng = np.random.default_rng(seed)
    n, v = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    world = Semiautomaton(rng.integers(0, n, (v, n)), int(rng.integers(n)))
    found = theorem_11(world, T)
    assert found.certify(inputs=words_of(world, T)).holds
    assert theorem_11_depth(world, T).holds


def test_the_depth_of_a_compiled_automaton_does_not_depend_on_the_length():
    for world in (
        automata.gridworld(4),
        automata.flip_flop(),
        automata.dihedral(4),
        automata.abab(),
    ):
        audits = [theorem_11(world, T).construction.audit() for T in (1, 8, 40)]
        assert len({(a.depth, a.width, a.heads) for a in audits}) == 1
    assert "A_5 (order 60) is perfect" in theorem_11(automata.symmetric(5), 8).failed()[0].reason


def test_the_wiring_has_to_read_the_position_before():
    by_hand = cascade_of([automata.memory(2), automata.cyclic(2)], [[[0, 0, 0], [1, 1, 1]]])
    assert lemma_21(by_hand, 6).certify().holds
    assert lemma_21_sizes(by_hand, 6).holds
    printed = lemma_21_as_printed(by_hand, 6)
    assert printed.certify().holds is False
    # Input "1" from (0, 0): the stored bit becomes 1, the counter stays; as printed it advances.
    assert lemma_21(by_hand, 6).construction(np.array([2])).tolist() == [2]
    assert printed.construction(np.array([2])).tolist() == [3]
    grid = krohn_rhodes(automata.gridworld(3))
    assert lemma_21(grid, 8).certify().holds
    assert lemma_21_as_printed(grid, 8).certify().holds is False


def test_what_is_no_cascade_is_refused():
    with pytest.raises(ValueError, match=r"parts\[0\] is no permutation-reset automaton"):
        cascade_of([automata.gridworld(3), automata.cyclic(2)], [np.zeros((3, 2), int)])
    with pytest.raises(ValueError, match=r"levels are \[2, 2\]; they must begin with 1"):
        cascade_of([automata.memory(2)] * 2, [np.zeros((2, 3), int)], levels=[2, 2])


# -- formulas ----------------------------------------------------------------------------------------


def test_words_over_s5_evaluate_formulas():
    cycles = {p for p in itertools.permutations(range(5)) if len(_orbit(p)) == 5}
    assert len(cycles) == 24
    formula = ("not", ("and", ("not", 0), ("and", 1, ("not", 2))))
    program = barrington(formula)
    assert len(program) <= 16
    world = five_points()
    for inputs in itertools.product([False, True], repeat=3):
        value = (inputs[0]) or not (inputs[1] and not inputs[2])
        assert evaluate(formula, np.array(inputs)) == value
        state = 0
        for symbol in word(program, np.array(inputs)):
            state = int(world.delta[symbol, state])
        assert state == value
    assert barrington_theorem(formula).holds
    with pytest.raises(ValueError, match="is no formula"):
        barrington(("or", 0, 1))
    deep = 0
    for _ in range(9):
        deep = ("and", deep, 1)
    with pytest.raises(ValueError, match="nested 9 deep; at most 8 are compiled"):
        barrington(deep)


def _orbit(permutation):
    seen, at = [], 0
    while at not in seen:
        seen.append(at)
        at = permutation[at]
    return seen


@pytest.mark.long
def test_the_cube_lies_in_wreath_products_with_index_12():
    pytest.importorskip("sympy")
    found = example_7()
    assert found.holds and found.details["index"] == 12
    assert found.details["order"] == "43252003274489856000"
