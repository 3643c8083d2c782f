"""The decomposition, multiplied back in two ways, and its groups against those that words induce."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory.automata import (
    definition_8,
    derived_series,
    group,
    holonomy,
    image_sets,
    is_solvable,
    is_solvable_group,
    krohn_rhodes,
    multiplied_back,
    refused,
    semigroup,
    solvable,
    theorem_15,
)
from minicosm.worlds import Semiautomaton, automata


@st.composite
def worlds(draw, most=5):
    """Random tables with more permutations and resets than chance has."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, v = int(rng.integers(1, most + 1)), int(rng.integers(1, 4))
    kinds = [lambda: rng.permutation(n), lambda: np.full(n, rng.integers(n))]
    kinds += [lambda: rng.integers(0, n, n)] * 2
    rows = [kinds[int(rng.integers(4))]() for _ in range(v)]
    return Semiautomaton(np.array(rows), int(rng.integers(n)))


@settings(max_examples=6)
@given(worlds())
def test_coordinates_run_the_automaton(world):
    found = holonomy(world)
    wrong, cases = multiplied_back(found)
    assert wrong == 0 and cases >= world.states * world.vocab
    for q in range(world.states):
        assert found.decode(found.encode(q)) == q
    inputs = np.random.default_rng(0).integers(0, world.vocab, 30)
    state, expected = int(world.start), []
    for symbol in inputs:
        state = int(world.delta[symbol, state])
        expected.append(state)
    assert found.run(inputs).tolist() == expected
    assert theorem_15(world).holds


@settings(max_examples=6)
@given(worlds(4))
def test_the_cascade_product_is_the_automaton(world):
    """Components and wiring as tables over all coordinates, put together by the world's own product."""
    found = holonomy(world)
    parts, wiring = found.cascade()
    if not parts:
        assert world.states == 1
        return
    whole = automata.cascade(parts, wiring)
    shape = [part.states for part in parts]
    labels = [found.decode(at) for at in np.ndindex(*shape)]
    for state, q in enumerate(labels):
        for symbol in range(world.vocab):
            assert labels[whole.delta[symbol, state]] == world.delta[symbol, q]
    for part in parts:
        sizes = [len(set(row)) for row in part.delta.tolist()]
        assert set(sizes) <= {1, part.states}
    listed = krohn_rhodes(world)
    assert listed.levels == tuple(part.level for part in found.components)
    assert len(listed.labels) <= np.prod(shape)


@settings(max_examples=6)
@given(worlds(4))
def test_solvable_if_the_groups_that_words_induce_on_image_sets_are(world):
    """By enumeration of the semigroup: of every set the permutations of it that words make."""
    sets = image_sets(world)
    maps = [np.arange(world.states), *semigroup(world).maps]
    verdict = True
    for row in sets.members:
        inside = np.flatnonzero(row)
        induced = [
            np.searchsorted(inside, m[inside])
            for m in maps
            if sorted(m[inside].tolist()) == inside.tolist()
        ]
        verdict &= is_solvable_group(group(induced))
    assert is_solvable(world) == verdict


@settings(max_examples=6)
@given(worlds(4))
def test_heights_and_classes_by_enumeration(world):
    sets = image_sets(world)
    maps = [np.arange(world.states), *semigroup(world).maps]
    rows = [frozenset(np.flatnonzero(row).tolist()) for row in sets.members]
    images = [{frozenset(m[list(P)].tolist()) for m in maps} for P in rows]
    below = [[any(image >= P for image in images[r]) for P in rows] for r in range(len(rows))]
    for i in range(len(rows)):
        for j in range(len(rows)):
            assert (sets.classes[i] == sets.classes[j]) == (below[i][j] and below[j][i])

    def height(i):
        if len(rows[i]) == 1:
            return 0
        strictly = [j for j in range(len(rows)) if below[i][j] and not below[j][i]]
        return 1 + max(height(j) for j in strictly)

    assert [height(i) for i in range(len(rows))] == sets.heights.tolist()
    whole = set().union(*images[:1])
    assert {row for row in rows if len(row) > 1} == {row for row in whole if len(row) > 1}


@pytest.mark.parametrize(("n", "levels"), [(3, 2), (4, 3), (9, 8)])
def test_gridworlds_have_a_level_less_than_places_and_no_groups(n, levels):
    found = holonomy(automata.gridworld(n))
    assert found.levels == levels
    assert [len(part.tiles) for part in found.components] == [2] * levels
    assert all(part.group.order == 1 for part in found.components)


def test_every_automaton_of_the_source_is_decomposed():
    for world in automata.source_tasks().values():
        wrong, _ = multiplied_back(holonomy(world), most=20)
        assert wrong == 0
    solved = {name: is_solvable(world) for name, world in automata.source_tasks().items()}
    assert [name for name, value in solved.items() if not value] == ["A_5", "S_5"]


def test_what_is_not_solvable_is_refused_with_its_perfect_group():
    assert (
        solvable(automata.alternating(5)).reason == "A_5 (order 60) is perfect, on level 1 of A_5"
    )
    points = automata.permutation_automaton([[1, 2, 0, 3, 4], [0, 1, 3, 4, 2], [1, 0, 3, 2, 4]])
    assert refused(points, 60).holds
    with_walls = np.vstack([points.delta, [0, 0, 1, 2, 3]])
    world = Semiautomaton(with_walls)
    assert not is_solvable(world)
    assert derived_series(solvable(world).witness)[-1].order == 60
    assert refused(automata.gridworld(3), 60).holds is False
    assert definition_8(automata.gridworld(4)).holds
    assert definition_8(automata.gridworld(5)).holds is None


def test_what_is_too_large_names_the_limit():
    with pytest.raises(ValueError, match="Grid_9 has more than 20 image sets; at most 20 are"):
        holonomy(automata.gridworld(9), most=20)


@pytest.mark.long
def test_brackets_of_eight_types_are_too_large():
    with pytest.raises(ValueError, match="Dyck_4,8 has more than 4096 image sets; at most 4096"):
        holonomy(automata.dyck(8, 4))
