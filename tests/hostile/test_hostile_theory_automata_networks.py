"""Hostile calls of the networks for automata and of what is proved with them: one sentence that names the
argument. The algebra of automata has a table of its own."""

import numpy as np
import pytest

from hostile import (
    Call,
    array,
    count,
    faults,
    flag,
    positive,
    report,
    thing,
    tokens,
    whole,
)
from minicosm.theory import automata as theory
from minicosm.worlds import automata

pytestmark = pytest.mark.usefixtures("unchecked_types")

GRID, COUNTER, MEMORY = automata.gridworld(3), automata.cyclic(3), automata.memory(2)
NETWORK = theory.lemma_15(COUNTER, 4).construction
STRINGS = np.array([[0, 1, 2], [2, 2, 1]])
PATHS = np.array([[0, 1, 1], [1, 0, 0]])
SHIFTS = np.array([-1.0, 0.5, 1.0])
POINTS, VALUES = np.array([0.0, 1.0, 3.0]), np.array([[1.0], [2.0], [0.5]])
PLANE = np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]])
ANY = ("entry -1", "entry 10**6", "plus .5")  # where any finite number will do
LISTS = ("tokens far outside", "tokens below zero")  # as two numbers
SEED = whole(0)

grid, counter, memory = thing(GRID), thing(COUNTER), thing(MEMORY)
length = count(4)
inputs = tokens(STRINGS, names="inputs")
paths = tokens(PATHS, names="inputs")
points, values = array(POINTS, allows=ANY), array(VALUES, allows=ANY)
plane = array(PLANE, allows=ANY)
shifts = array(SHIFTS, allows=("entry -1", "one entry less", "tokens below zero"))


def hard(layer):
    return NETWORK.as_hard(layer)


CALLS = [
    # -- networks
    Call(
        theory.Network,
        encoder=array(NETWORK.encoder, allows=(*ANY, "one entry less")),
        # a network without pads is one, of rows as wide as the encoder's
        pads=array(NETWORK.pads, allows=(*ANY, "one entry less", "array without entries")),
        positions=array(NETWORK.positions, allows=(*ANY, "one entry less")),
        layers=thing(NETWORK.layers, allows="[]"),
        decoder=thing(NETWORK.decoder),
    ),
    Call(NETWORK.values, inputs=inputs),
    Call(NETWORK.hidden, inputs=inputs, layer=count(1, allows="0")),
    Call(NETWORK.attention, inputs=inputs, layer=count(1)),
    Call(NETWORK.ids, inputs=inputs),
    Call(
        NETWORK.then, layers=thing((), allows="[]"), decoder=thing(NETWORK.decoder, allows="None")
    ),
    Call.of(NETWORK.as_hard, hard, layer=count(1)),
    Call(
        theory.Decoder.of_scalar,
        dim=count(1, allows=("0", "2**40")),
        codes=array(np.arange(3), allows=("entry -1", "entry 10**6", "one entry less", *LISTS)),
    ),
    Call(
        theory.side_by_side,
        networks=thing([NETWORK, NETWORK]),
        symbols=array(np.array([[0, 1], [2, 2]]), allows="one entry less"),
    ),
    Call(
        theory.strings,
        world=grid,
        length=count(3),
        count=count(5),
        seed=SEED,
        all_up_to=count(100, allows="0"),
    ),
    Call(theory.exact_states, world=counter, inputs=inputs),
    # -- gadgets
    Call(theory.lemma_10, points=points, values=values, shifts=shifts),
    Call(theory.lemma_10_sizes, points=points, values=values),
    Call(theory.lemma_11, points=plane, values=values, shifts=shifts),
    Call(theory.lemma_11_sizes, points=plane, values=values),
    Call(
        theory.lemma_12,
        gap=positive(1.0),
        points=array(np.array([1.0, -2.0]), allows=(*ANY, "one entry less")),
        shifts=shifts,
        printed=flag(False),
    ),
    Call(theory.lemma_12_sizes, gap=positive(1.0)),
    Call(
        theory.lemma_13, scores=array(np.array([1.0, 0.5]), allows=(*ANY, "one entry less", *LISTS))
    ),
    Call(theory.proposition_2, count=count(3), printed=flag(False)),
    Call(theory.proposition_2_constant, count=count(3)),
    Call(theory.lemma_14, states=count(2), hats=flag(True), count=count(100), seed=SEED),
    Call(theory.lemma_14_sizes, states=count(2)),
    # -- automata
    Call(theory.theorem_10, world=grid, length=length, sharpness=positive(100.0), hats=flag(True)),
    *[
        Call(function, world=world, length=length)
        for function, world in (
            (theory.theorem_10_sizes, grid),
            (theory.lemma_15, counter),
            (theory.lemma_15_sizes, counter),
            (theory.lemma_16, memory),
            (theory.lemma_16_sizes, memory),
            (theory.recurrence, grid),
        )
    ],
    Call(
        theory.theorem_10_readout_as_printed,
        world=grid,
        length=length,
        count=count(5),
        seed=SEED,
    ),
    Call(
        theory.theorem_10_sharpness,
        world=counter,
        length=length,
        hats=flag(True),
        count=count(5),
        seed=SEED,
    ),
    # -- gridworlds
    Call(
        theory.theorem_12,
        world=grid,
        length=length,
        read=thing("deep"),
        shape=thing((3,), allows="None"),
        sharpness=positive(100.0, allows="None"),
        printed=thing("output"),
    ),
    Call(theory.theorem_12_sizes, world=grid, length=length, read=thing("count")),
    Call(theory.theorem_12_margins, length=count(5)),
    Call(theory.algorithm_1_is_exact, world=grid, inputs=paths),
    Call(theory.lemma_22, world=grid, inputs=paths),
    Call(theory.lemma_23, world=grid, length=length, inputs=paths, printed=flag(False)),
]


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
