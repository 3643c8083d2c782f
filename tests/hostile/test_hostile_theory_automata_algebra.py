"""Groups, semigroups, decompositions and cascades meet hostile arguments with one sentence."""

import numpy as np
import pytest

from hostile import Call, array, count, faults, report, thing, tokens, whole
from minicosm.theory import automata as theory
from minicosm.worlds import Semiautomaton, automata

pytestmark = pytest.mark.usefixtures("unchecked_types")

GRID = automata.gridworld(3)
RESETS = Semiautomaton([[1, 0], [1, 1]])
THREE, TWO = theory.group([[1, 2, 0]]), theory.group([[1, 0]])
MAPS = theory.semigroup(GRID)
FOUND = theory.holonomy(GRID)
BY_HAND = theory.cascade_of([automata.memory(2), automata.cyclic(2)], [[[0, 0, 0], [1, 1, 1]]])
PROGRAM = theory.barrington(("and", 0, 1))
NETWORK = theory.theorem_10(theory.five_points(), 4).construction
WORLD, LENGTH = thing(GRID), count(3)
COORDINATES = FOUND.encode(0)
PHI = array([[0, 1, 2], [0, 2, 1]], names="group")
SEED = whole(1, names="seed")

CALLS = [
    Call(theory.semigroup, world=WORLD, most=count(50)),
    Call(MAPS.word, number=whole(1)),
    Call(MAPS.number, mapped=array([0, 0, 1], allows=("entry -1", "entry 10**6"))),
    Call(theory.permutation_reset, world=WORLD),
    Call(theory.permutation_group, world=WORLD),
    Call(
        theory.group, generators=array([[1, 2, 0]]), name=thing("", allows="'abc'"), most=count(9)
    ),
    Call(THREE.number, element=array([1, 2, 0], allows=("entry -1", "entry 10**6"))),
    Call(theory.derived_series, G=thing(THREE)),
    Call(theory.is_solvable_group, G=thing(THREE)),
    Call(theory.composition_series, G=thing(THREE), seed=whole(1, allows="None")),
    Call(theory.direct_product, factors=thing([THREE, TWO])),
    Call(theory.group_of_table, table=array([[0, 1], [1, 0]]), name=thing("", allows="'abc'")),
    Call(
        theory.semidirect_product,
        N=thing(THREE),
        H=thing(TWO),
        phi=PHI,
        name=thing("", allows="'abc'"),
    ),
    Call(theory.image_sets, world=WORLD, most=count(50)),
    Call(theory.holonomy, world=WORLD, most=count(50)),
    Call(FOUND.tiles_of, P=whole(1)),
    Call(FOUND.encode, state=whole(1)),
    Call(FOUND.decode, coordinates=thing(COORDINATES)),
    Call(FOUND.actions, coordinates=thing(COORDINATES), symbol=whole(1)),
    Call(FOUND.step, coordinates=thing(COORDINATES), symbol=whole(1)),
    Call(FOUND.run, inputs=tokens([0, 1, 1])),
    Call(FOUND.reached, most=count(50)),
    Call(theory.solvable, world=WORLD),
    Call(theory.is_solvable, world=WORLD),
    Call(theory.multiplied_back, found=thing(FOUND), most=count(50)),
    Call(theory.definition_8, world=WORLD),
    Call(theory.refused, world=WORLD, order=count(60, allows="2**40")),
    Call(theory.krohn_rhodes, world=WORLD),
    Call(
        theory.cascade_of,
        parts=thing([automata.memory(2), automata.cyclic(2)]),
        wiring=thing([[[0, 0, 0], [1, 1, 1]]]),
        levels=array([1, 2], allows="None"),
    ),
    Call(BY_HAND.wiring, level=count(2)),
    Call(theory.theorem_15, world=WORLD),
    Call(theory.theorem_11, world=WORLD, length=LENGTH),
    Call(theory.theorem_11_depth, world=WORLD, length=LENGTH),
    *(
        Call(lemma, cascade=thing(BY_HAND), length=LENGTH)
        for lemma in (theory.lemma_21, theory.lemma_21_as_printed, theory.lemma_21_sizes)
    ),
    *(
        Call(lemma, world=thing(RESETS), length=LENGTH)
        for lemma in (theory.lemma_20, theory.lemma_20_sizes, theory.lemma_20_size_as_printed)
    ),
    *(
        Call(lemma, factors=thing([THREE, TWO]), length=LENGTH)
        for lemma in (theory.lemma_17, theory.lemma_17_sizes)
    ),
    *(
        Call(lemma, N=thing(THREE), H=thing(TWO), phi=PHI, length=LENGTH)
        for lemma in (theory.lemma_18, theory.lemma_18_sizes)
    ),
    *(
        Call(lemma, n=count(3), p=count(2), length=LENGTH)
        for lemma in (theory.lemma_19, theory.lemma_19_bias_as_printed, theory.lemma_19_sizes)
    ),
    Call(theory.theorem_14, G=thing(THREE), count=count(2), seed=SEED),
    *(
        Call(theorem, G=thing(THREE), length=LENGTH)
        for theorem in (theory.theorem_16, theory.theorem_16_sizes, theory.theorem_16_recursion)
    ),
    Call(theory.barrington, formula=thing(("and", 0, 1), allows="0", names="formula")),
    Call(
        theory.barrington_theorem,
        formula=thing(("and", 0, 1), allows="0", names="formula"),
        network=thing(NETWORK, allows="None"),
    ),
    Call(
        theory.evaluate,
        formula=thing(("and", 0, 1), allows="0", names="formula"),
        inputs=array([True, False]),
    ),
    Call(theory.word, program=thing(PROGRAM), inputs=array([True, False])),
]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_hostile_arguments_of_the_algebra_are_refused_in_one_sentence(call):
    found = faults(call)
    assert not found, report(found)


def test_a_condition_that_fails_says_which_and_why():
    assert str(theory.theorem_11(automata.alternating(5), 4)) == (
        "Theorem 11 does not apply: A_5 (order 60) is perfect, on level 1 of A_5"
    )
    assert "symbol L of Grid_3 is neither a bijection nor constant" in str(theory.lemma_20(GRID, 4))
    with pytest.raises(ValueError, match="constructs nothing here"):
        theory.theorem_11_depth(automata.alternating(5), 4)
    assert np.isfinite(theory.lemma_20_sizes(RESETS, 4).slack)
