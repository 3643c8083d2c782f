"""Hostile calls of the results of theory, and of the parts of the theory of tuning."""

import jax
import numpy as np
import pytest

from hostile import (
    Call,
    array,
    count,
    faults,
    flag,
    key,
    later,
    number,
    positive,
    report,
    thing,
    tokens,
    whole,
)
from minicosm import adaptation
from minicosm.theory import Condition, Theorem, both_scores, certify, tuning
from minicosm.theory.tuning.recoverable import columns
from minicosm.worlds import HMM, MemoryHMM, PosteriorTask
from minicosm.worlds.markov import stationary_law

pytestmark = pytest.mark.usefixtures("unchecked_types")

KEY = jax.random.key(0)
WORLD = HMM([[0.7, 0.4], [0.3, 0.6]], [[0.4, 0.1], [0.3, 0.2], [0.2, 0.3], [0.1, 0.4]], [0.5, 0.5])
TASK = PosteriorTask(np.array([1.0, -0.7]))
W = np.random.default_rng(0).dirichlet(np.ones(6), size=(2, 1, 2)).transpose(3, 0, 1, 2)
A = np.array([[0.0, 0.5], [1.0, 0.5]])
MEMORY = MemoryHMM(A, W, np.full(2, 0.5), stationary_law(A))
MU = np.array([1.0, -0.5])
CELL = PosteriorTask(MU, "cell")
ROWS, STAR = np.array([[0, 1], [2, 3]]), np.array([True, False])
LINEAR = adaptation.Classifier(adaptation.LinearHead(np.ones(4)), placeholder=True)
PROMPTED = adaptation.Classifier(
    LINEAR.head, adaptation.SoftPrompt(np.ones((1, 2))), placeholder=True
)
ATTENTION = later(lambda: tuning.theorem_4_3(MEMORY, CELL).construction)
PROMPT = adaptation.SoftPrompt(np.full((1, 4), 0.5))
FREE = ("entry -1", "entry 10**6", "plus .5")  # where any finite number will do
HOLDS = Condition("a condition", True)
NAME = thing("a name", allows="'abc'")
NOT_FINITE = ("nan", "inf", "-inf")
PARTS = {
    "conditions": thing((HOLDS,), allows="[]"),
    "details": thing({"a": 1}, allows="{}"),
}
RESULT = {
    "within": positive(1e-9, allows="0"),
    "cases": whole(3, allows="None"),
    "conditions": PARTS["conditions"],
    "details": thing({"a": 1}, allows=("{}", "None")),
}
BIG = ("2**40", "2**70")
# An error that is no number, or infinite, is one that does not hold.
ERROR = positive(0.1, allows=("0", "nan", "inf"))._replace(nan=frozenset({"nan"}))
SLACK = number(0.1, allows=NOT_FINITE)._replace(nan=frozenset({"nan"}))
NO_TRUTH = frozenset({"True"})


def optional(argument):
    return argument._replace(allows=(argument.allows | {"None"}) - NO_TRUTH)


ONE, TWO = {"world": thing(WORLD)}, {"world": thing(MEMORY)}
MASKED = {"star": array(STAR), "observed": array([True, False], allows="None", names="sequences")}
SEQUENCES = {"sequences": tokens(ROWS, names="observed")}
OF_CELL = {"mu": array(MU, allows=(*FREE, "one axis more", "tokens far outside", "tokens below zero")),
           "cell": thing(0, allows="0")}  # fmt: skip
SET = {"star": thing((0,), names="S*")}
LENGTH = count(2, allows="None")

CALLS = [
    Call(Condition, name=NAME, holds=flag(True), numbers=PARTS["details"], reason=NAME),
    Call(
        Theorem,
        name=NAME,
        **PARTS,
        holds=flag(True, allows="None"),
        error=optional(ERROR),
        slack=optional(SLACK),
        tolerance=positive(0.1, allows="0"),
        check=thing(certify, allows=("None", "a function")),
    ),
    Call(Theorem.identity, name=NAME, error=ERROR, **RESULT),
    Call(Theorem.inequality, name=NAME, slack=SLACK, **RESULT),
    Call.of(
        Theorem.certify,
        lambda **how: tuning.theorem_3_3(WORLD, TASK).certify(**how),
        length=count(2),
        key=key(),
        count=count(2),
        floor=positive(1e-9, allows="0"),
        tolerance=positive(1e-12, allows="0"),
    ),
    Call(both_scores, **ONE, task=thing(TASK), classifier=thing(LINEAR), sequences=tokens(ROWS)),
    Call(
        tuning.best_linear_head,
        **ONE,
        task=thing(TASK),
        key=key(),
        length=count(3),
        train=count(50),
        test=count(50),
        ridge=positive(1e-8, allows="0"),
    ),
    Call(
        tuning.covering_numeric,
        **ONE,
        mu=array(TASK.mu, allows=(*FREE, "one axis more", "tokens far outside", "tokens below zero")),
        budget=count(100, allows=BIG),
    ),
    Call(tuning.duplicate_emissions, **ONE, task=thing(TASK), length=count(2)),
    Call(
        tuning.enumerate_paths,
        A=array(WORLD.A),
        p0=array(WORLD.p0),
        seen=array(np.full((1, 2, 2), 0.5), allows="plus .5"),
    ),
    Call(tuning.in_scope, **TWO, **SEQUENCES, **MASKED),
    Call(tuning.in_wider_scope, **TWO, prompt=thing(PROMPT), **SEQUENCES, **MASKED),
    Call(tuning.lemma_d7, **TWO, u=array(np.full((2, 2), 0.5), allows="plus .5"), sequences=tokens(ROWS)),
    Call(
        tuning.message_form,
        **ONE,
        rows=array(np.ones((1, 2, 2)), allows=("entry 10**6", "plus .5")),
    ),
    Call(
        tuning.nondegenerate_implies_covering,
        **ONE,
        mu=array(TASK.mu, allows=(*FREE, "one axis more", "tokens far outside", "tokens below zero")),
    ),
    Call(tuning.overlapping_spans, **TWO, task=thing(CELL), **SET, sequences=tokens(ROWS)),
    Call(
        tuning.prompt_length_is_irrelevant,
        **ONE,
        rows=array(np.ones((2, 2)), allows=("one entry less", *FREE[1:], "tokens far outside")),
        sequences=tokens(ROWS),
    ),
    Call(tuning.prompted_emissions, **ONE, u=array([0.1, 0.2], allows="plus .5")),
    Call(tuning.prompted_head, **TWO, **OF_CELL, **SET, beta=thing("safe"), repaired=flag(True)),
    Call(tuning.recoverable_relations, **TWO, **OF_CELL),
    Call(
        tuning.recovering_head,
        **TWO,
        **OF_CELL,
        **SET,
        which=thing(columns(MEMORY, 0)),
        last=number(1.0)._replace(allows=frozenset(("-1", "0", "2.5", *BIG))),
        positions=array(np.ones((1, 3)), allows=("None", *FREE)),
    ),
    Call(
        tuning.soft_attention,
        **TWO,
        classifier=thing(ATTENTION),
        sequences=tokens(ROWS, names="observed"),
        lambdas=array([1.0, 2.0], allows=("one entry less", "entry 10**6", "plus .5")),
        observed=array([True, True], allows="None", names="sequences"),
    ),
    Call(
        tuning.softmax_bound,
        found=thing(later(lambda: tuning.soft_attention(MEMORY, ATTENTION.make(), ROWS, [1.0]))),
    ),
    Call(tuning.star_states, **TWO, cell=thing(0, allows="0"), star=thing((0,), allows="[]")),
    Call(tuning.statement_3_3, **ONE, task=thing(TASK), classifier=thing(LINEAR), tokens=tokens([0, 1])),
    Call(tuning.statement_3_6, **ONE, task=thing(TASK), classifier=thing(PROMPTED), tokens=tokens([0, 1])),
    Call(tuning.stationary, **TWO, tolerance=positive(1e-9, allows="0")),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
