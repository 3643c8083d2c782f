"""Networks and heads of the flip-flop with one bad argument at a time."""

import numpy as np
import pytest

from hostile import Call, array, count, faults, flag, number, positive, report, thing, tokens, whole
from minicosm.theory import flip_flop as theory
from minicosm.worlds import FlipFlop

pytestmark = pytest.mark.usefixtures("unchecked_types")

WORLD = FlipFlop(8, p_ignore=0.5)
HEAD = theory.solution_head(3.0)
MODEL = theory.two_layer_transformer(8)
STRINGS = theory.all_strings(6)
TABLE = np.array([[0, 1], [1, 0]])
ANY = ("entry -1", "entry 10**6", "plus .5", "one entry less")
FEW = ("entry -1", "plus .5", "one entry less")
world, head = thing(WORLD), thing(HEAD)
length = count(8)

CALLS = [
    Call(theory.monoids, order=count(2)),
    Call(theory.is_isomorphic, first=array(TABLE), second=array(TABLE)),
    Call(theory.all_strings, length=length),
    Call(theory.enumerated_error, world=world, window=count(3, allows="2**40")),
    Call(theory.n_gram_error, world=world, window=count(3, allows="2**40")),
    Call(theory.n_gram_guesses, world=world),
    Call(theory.two_layer_transformer, horizon=length, c=positive(20.0, allows="None")),
    Call(theory.wrong_reads, model=thing(MODEL), strings=tokens(STRINGS, allows="one entry less"),
         precise=flag(True)),
    Call(theory.least_margin, model=thing(MODEL), strings=tokens(STRINGS, allows="one entry less"),
         precise=flag(True)),
    *[
        Call(function, world=world)
        for function in (theory.proposition_3, theory.proposition_3_linear, theory.recurrent_memory)
    ],
    Call(theory.distant_read, pairs=whole(3)),
    Call(theory.proposition_3_horizon, horizon=length),
    Call(theory.two_unit_lstm, K=positive(5.0)),
    Call(theory.attention_bound, sigma=positive(1.0, allows="0"), length=count(3, allows="2**40")),
    Call(theory.proposition_4, M=array(np.eye(2), allows=ANY),
         latents=array(0.5 * np.ones((3, 2)), allows=ANY)),
    Call(theory.tightest_head, sigma=positive(1.0, allows="0"), length=count(3)),
    Call(theory.proposition_4_tight, sigma=positive(1.0, allows="0"), length=count(3)),
    Call(theory.dilution, scores=array(np.array([0.0, 0.1, 0.2]), allows=(*FEW, "tokens below zero")),
         keeps=array(np.array([0.5, 0.1]), allows=(*FEW, "tokens below zero"))),
    Call(theory.first_diluted, slope=positive(0.5)),
    Call(theory.recency_dilution, slope=positive(0.5), most=count(5)),
    Call(theory.first_failure, head=head, longest=length),
    Call(theory.always_right, head=head, tolerance=positive(1e-9, allows=("0", "-1"))),
    Call(theory.late_failure, head=head),
    Call(theory.proposition_5, head=head),
    Call(theory.proposition_5_exact, head=head, longest=length),
    Call(theory.proposition_5_solution, C=positive(3.0), a=number(0.1), longest=length),
    Call(theory.solution_head, C=positive(3.0), a=number(0.1)),
    Call(theory.solution_transformer, length=length, sharpness=positive(3.0)),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
