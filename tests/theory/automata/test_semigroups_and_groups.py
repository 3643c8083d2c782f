"""Semigroups and groups against enumeration, known orders, and SymPy where it is installed."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory.automata import (
    composition_series,
    derived_series,
    direct_product,
    group,
    group_of_table,
    is_solvable_group,
    permutation_group,
    permutation_reset,
    semidirect_product,
    semigroup,
)
from minicosm.worlds import Semiautomaton, automata


@st.composite
def tables(draw, most=4):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, v = int(rng.integers(1, most + 1)), int(rng.integers(1, 4))
    return rng.integers(0, n, (v, n))


@settings(max_examples=10)
@given(tables(3))
def test_a_semigroup_holds_the_maps_of_all_words(table):
    found = semigroup(Semiautomaton(table))
    maps = {tuple(row) for row in found.maps.tolist()}
    for length in (1, 2, 3, 4):
        for word in itertools.product(range(len(table)), repeat=length):
            now = np.arange(table.shape[1])
            for symbol in word:
                now = table[symbol][now]
            assert tuple(now) in maps
    for number in range(0, len(found), 7):
        now = np.arange(table.shape[1])
        for symbol in found.word(number):
            now = table[symbol][now]
        assert now.tolist() == found.maps[number].tolist()
        assert found.number(now) == number
    if len(found) <= 40:
        products = found.products()
        i, j = len(found) // 2, len(found) - 1
        assert found.maps[products[i, j]].tolist() == found.maps[j][found.maps[i]].tolist()


@pytest.mark.parametrize(
    ("world", "size", "is_group", "aperiodic"),
    [
        (automata.dihedral(4), 8, True, False),
        (automata.cyclic(6), 6, True, False),
        (automata.symmetric(4), 24, True, False),
        (automata.quaternion(), 8, True, False),
        (automata.flip_flop(), 3, False, True),
        (automata.gridworld(4), 17, False, True),
        (automata.gridworld(9), 212, False, True),
        (automata.permutation_automaton([[1, 2, 0, 3, 4], [0, 1, 3, 4, 2]]), 60, True, False),
    ],
    ids=lambda value: value.name if isinstance(value, Semiautomaton) else None,
)
def test_named_semigroups(world, size, is_group, aperiodic):
    found = semigroup(world)
    assert len(found) == size
    assert found.is_group() == is_group
    assert found.is_aperiodic() == aperiodic


def test_sizes_of_gridworlds_have_a_closed_form():
    """A map is a window of sums: it keeps an interval of differences and clips the rest."""
    for n in range(2, 6):
        q = np.arange(n)
        maps = set()
        for low in range(n):
            for high in range(low, n):  # the image is low..high, slopes are 0 or 1
                for shift in range(-(n - 1), n):
                    moved = np.clip(q + shift, low, high)
                    if moved.min() == low and moved.max() == high:
                        maps.add(tuple(moved))
        maps.discard(tuple(q))  # no word does nothing...
        found = {tuple(row) for row in semigroup(automata.gridworld(n)).maps.tolist()}
        assert found == maps


def test_what_permutes_and_resets():
    assert permutation_reset(automata.memory(3)).holds
    refusal = permutation_reset(automata.gridworld(3))
    assert not refusal.holds
    assert refusal.reason == (
        "symbol L of Grid_3 is neither a bijection nor constant: it maps 3 states to 2"
    )
    with_resets = Semiautomaton([[1, 0, 2], [1, 2, 0], [2, 2, 2]])
    assert permutation_group(with_resets).order == 6


def test_a_semigroup_that_is_too_large_is_refused_with_the_limit():
    with pytest.raises(ValueError, match="has more than 100 maps; at most 100 are listed"):
        semigroup(automata.gridworld(9), most=100)
    with pytest.raises(ValueError, match="more than 500 elements; at most 500 are listed"):
        group([np.roll(np.arange(10), 1), [1, 0, *range(2, 10)]], most=500)


# -- groups ------------------------------------------------------------------------------------------

SYMMETRIC = [np.roll(np.arange(4), 1), np.array([1, 0, 2, 3])]


@pytest.mark.parametrize(
    ("generators", "orders", "derived", "solvable"),
    [
        (SYMMETRIC, [24, 12, 4, 2, 1], [24, 12, 4, 1], True),
        ([[1, 2, 0, 3], [0, 2, 3, 1]], [12, 4, 2, 1], [12, 4, 1], True),
        (automata.quaternion().delta, [8, 4, 2, 1], [8, 2, 1], True),
        (automata.dihedral(4).delta, [8, 4, 2, 1], [8, 2, 1], True),
        ([(np.arange(7) + 1) % 7, 2 * np.arange(7) % 7], [21, 7, 1], [21, 7, 1], True),
        ([[1, 2, 0, 3, 4], [0, 1, 3, 4, 2]], [60, 1], [60], False),
        ([np.roll(np.arange(5), 1), [1, 0, 2, 3, 4]], [120, 60, 1], [120, 60], False),
        ([[0]], [1], [1], True),
    ],
    ids=("S_4", "A_4", "Q_8", "D_8", "C_7:C_3", "A_5", "S_5", "1"),
)
def test_series_of_named_groups(generators, orders, derived, solvable):
    G = group(generators)
    assert [H.order for H in composition_series(G)] == orders
    assert [H.order for H in derived_series(G)] == derived
    assert is_solvable_group(G) == solvable


@settings(max_examples=6)
@given(st.integers(0, 2**32 - 1))
def test_a_composition_series_is_normal_and_cannot_be_refined(seed):
    rng = np.random.default_rng(seed)
    G = group([rng.permutation(4) for _ in range(2)])
    for now, after in itertools.pairwise(composition_series(G, int(rng.integers(100)))):
        members = [now.number(h) for h in after.elements]
        assert min(members) >= 0  # a subgroup
        for g in now.elements:
            back = np.argsort(g)
            assert all(after.number(g[h[back]]) >= 0 for h in after.elements)
        index = now.order // after.order
        assert index in (2, 3) and now.order % after.order == 0  # prime: nothing lies between


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_groups_agree_with_sympy(seed, points):
    combinatorics = pytest.importorskip("sympy.combinatorics")
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(points) for _ in range(int(rng.integers(1, 4)))]
    other = combinatorics.PermutationGroup([combinatorics.Permutation(r.tolist()) for r in rows])
    G = group(rows)
    assert G.order == other.order()
    assert G.is_abelian == other.is_abelian
    assert is_solvable_group(G) == other.is_solvable
    expected = [H.order() for H in other.derived_series()]
    assert [H.order for H in derived_series(G)] == expected
    if is_solvable_group(G):
        factors = sorted(
            a // b for a, b in itertools.pairwise(H.order for H in composition_series(G))
        )
        series = [H.order() for H in other.composition_series()]
        assert factors == sorted(a // b for a, b in itertools.pairwise(series))


def test_tables_and_products_of_groups():
    three, two = group([[1, 2, 0]]), group([[1, 0]])
    six = direct_product([three, two])
    assert six.order == 6 and six.is_abelian
    swapped = semidirect_product(three, two, [[0, 1, 2], three.inverses])
    assert swapped.order == 6 and not swapped.is_abelian
    G = group(SYMMETRIC)
    for i, j in itertools.product(range(0, 24, 5), repeat=2):
        together = G.elements[i][G.elements[j]]
        assert G.elements[G.table[i, j]].tolist() == together.tolist()
    again = group_of_table(G.table)
    assert (again.table == G.table).all()
    assert [H.order for H in composition_series(again)] == [24, 12, 4, 2, 1]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: group([[0, 2]]), r"generators\[0\] is no permutation"),
        (lambda: group_of_table([[0, 1], [1, 1]]), "lacks an element|not associative"),
        (
            lambda: semidirect_product(group([[1, 2, 0]]), group([[1, 0]]), [[0, 1, 2], [1, 2, 0]]),
            "phi",
        ),
        (lambda: direct_product([]), "factors is empty"),
    ],
)
def test_what_is_no_group_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
