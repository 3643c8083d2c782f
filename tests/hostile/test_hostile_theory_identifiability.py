"""Hostile calls of the theory of identifiability: a bad argument meets one sentence that names it."""

import numpy as np
import pytest

from hostile import Call, array, count, faults, flag, key, not_called, number, report, thing
from minicosm.theory import identifiability as theory
from minicosm.worlds import GaussianHMM, predictor

pytestmark = pytest.mark.usefixtures("unchecked_types")

WORLD, OTHER = theory.one_step_pair()
FIRST, SECOND = theory.every_gap_pair()
GAUSSIAN, MIRRORED = theory.middle_pair()
TALL = np.array([[0.6, 0.6], [0.8, -0.8], [0.0, 0.0]])
FACTORS = [np.random.default_rng(i).normal(size=(3, 2)) for i in range(3)]
TENSOR = np.einsum("ai,bi,ci->abc", *FACTORS)
TABLE = predictor(WORLD, "x2,x3|x1")
CHAIN = np.array([[0.8, 0.2], [0.2, 0.8]])
NUMBERS = ("entry -1", "entry 10**6", "plus .5")
ROWS = (*NUMBERS, "one entry less")

world, other, gaussian = thing(WORLD), thing(OTHER), thing(GAUSSIAN)
task, name = thing("x2,x3|x1"), thing("a name", allows="'abc'")
tasks = thing(["x2|x1", "x3|x1"], names="task is")
least = number(0.01, allows=("0", "2.5", "2**40", "2**70"))._replace(
    allows=frozenset({"0", "2.5", "2**40", "2**70"})
)
gap = count(2)
M = array(TALL, allows=ROWS, names="means")
factor = [array(F, allows=ROWS, names=("A", "B", "C")) for F in FACTORS]
seed = count(1, allows=("0", "2**40"))
within = thing(1e-6, allows=("inf", "2.5", "2**40", "2**70"), names="differs by")

CALLS = [
    Call(theory.distance, first=world, second=other),
    Call(theory.apart, first=world, second=other, tasks=tasks),
    Call(theory.unseen, world=world, tasks=tasks),
    Call(
        theory.twin, world=world, tasks=thing("x2|x1", names="task is"), key=key(), tries=count(1)
    ),
    Call(theory.gauge, first=world, second=other),
    Call(theory.joined, world=world, S=array(np.array([[0.9, 0.1], [0.1, 0.9]]))),
    Call(
        theory.gauge_twin,
        world=world,
        key=key(),
        orthogonal=flag(False, names="states"),
        tries=count(1),
    ),
    Call(
        theory.recover,
        table=array(TABLE, names=("task", "hidden", "tensor")),
        task=thing("x2,x3|x1"),
        hidden=count(2),
        within=within,
        seed=seed,
    ),
    Call(
        theory.recover_gaussian,
        function=thing(predictor(GAUSSIAN, "x2|x1")),
        task=thing("x2|x1", names="function"),
        hidden=count(2),
        dimension=count(2, names=("hidden", "points")),
        within=within,
    ),
    Call(theory.jennrich, tensor=array(TENSOR, allows=ROWS), rank=count(2), seed=seed),
    Call(theory.kruskal_rank, matrix=array(TALL, allows=ROWS), tolerance=number(1e-10)),
    Call(theory.kruskal_condition, A=factor[0], B=factor[1], C=factor[2]),
    Call(theory.reflection, M=array(TALL, allows=ROWS)),
    Call(theory.other_roots, T=array(CHAIN), power=count(2)),
    Call(theory.assumptions, world=world, unit=flag(True)),
    Call(theory.one_step_pair, stretch=thing(1.5)),
    Call(theory.every_gap_pair, persistence=thing(0.7)),
    *[
        Call(function, gap=gap)
        for function in (
            theory.powers_pair,
            theory.across_a_gap_pair,
            theory.gaussian_gap_pair,
            theory.claim_1,
        )
    ],
    Call(theory.middle_pair, number=count(1, allows="0")),
    Call(theory.not_identified, name=name, first=world, second=other, tasks=tasks, least=least),
    Call(theory.theorem_4, first=world, second=other, least=least),
    Call(theory.theorem_4_later, first=world, second=other, gap=gap, least=least),
    Call(theory.theorem_6, first=thing(FIRST), second=thing(SECOND), least=least),
    Call(
        theory.theorem_6_in_fractions,
        numerator=count(7),
        denominator=count(10, names="numerator"),
        last=count(3),
    ),
    Call(theory.gauge_joins, first=world, second=other, orthogonal=flag(False), within=least),
    Call(
        theory.unseen_directions, name=name, world=world, tasks=tasks, wanted=count(1, allows="0")
    ),
    Call(theory.theorem_7, world=world, task=task),
    Call(theory.proposition_1, A=factor[0], B=factor[1], C=factor[2]),
    Call(theory.refuses_degenerate, world=world, task=task),
    Call(theory.marginals, world=world),
    Call(theory.one_visible_token, first=thing(FIRST), second=thing(SECOND), length=count(3)),
    Call(theory.theorem_5, world=gaussian, any_norms=flag(False)),
    Call(theory.gaussian_gap, world=gaussian, gap=gap),
    Call(theory.lemma_7, M=M),
    Call(
        theory.lemma_7_as_printed, M=array(TALL, allows=NUMBERS), other=array(TALL, allows=NUMBERS)
    ),
    Call(theory.turned_means, M=array(TALL, allows=NUMBERS), angle=number(1.0)),
    Call(theory.lemma_8, M=array(TALL, allows=NUMBERS), other=array(TALL, allows=NUMBERS)),
    Call(theory.lemma_8_permutation, M=array(TALL, allows=ROWS), order=array([1, 0])),
    Call(theory.theorem_8, world=gaussian, task=thing("x1,x3|x2")),
    Call(theory.theorem_8_as_printed, number=count(1, allows="0")),
    Call(theory.two_states, world=gaussian),
    Call(theory.theorem_9, world=gaussian),
]


def test_every_front_door_is_in_the_table():
    assert not not_called(theory, CALLS)


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)


def test_what_cannot_be_recovered_is_named():
    with pytest.raises(ValueError, match="hidden is 4; 3 tokens determine at most 3 states"):
        theory.recover(TABLE, "x2,x3|x1", hidden=4)
    with pytest.raises(ValueError, match=r"table differs by .* from the predictor of the nearest"):
        theory.recover(
            np.random.default_rng(0).dirichlet(np.ones(9), 3).reshape(3, 3, 3), "x2,x3|x1", hidden=2
        )
    still = GaussianHMM(np.full((2, 2), 0.5), np.eye(2))
    with pytest.raises(ValueError, match=r"function takes \d values far from 0"):
        theory.recover_gaussian(predictor(still, "x2|x1"), "x2|x1", hidden=2, dimension=2)
    with pytest.raises(ValueError, match="a discrete HMM is recovered from"):
        theory.recover(np.full((3, 3, 3), 1 / 3), "x2|x1,x3", hidden=2)
