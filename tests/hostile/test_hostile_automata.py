"""Every public callable of `minicosm.worlds.automata` meets hostile arguments with one sentence."""

import jax
import numpy as np
import pytest

from hostile import Call, array, count, faults, flag, key, report, thing, tokens, whole
from minicosm.worlds import Semiautomaton, automata

pytestmark = pytest.mark.usefixtures("unchecked_types")

TABLE = np.array([[1, 2, 0], [0, 0, 2]])
WORLD = Semiautomaton(TABLE)
MEMORY = WORLD.begin(3)
LESS = "one entry less"
WORDS = tokens([0, 1, 1])
TEXT = ("[]", "entry -1", "tokens below zero")
LAW = array([0.5, 0.5], allows="None")
ELEMENTS = [[0, 1, 2], [1, 0, 2]]

CALLS = [
    Call(
        Semiautomaton,
        delta=array(TABLE, allows=LESS, names="law"),
        start=whole(1, allows=()),
        law=LAW,
        weights=array([1.0], allows="None"),
        name=thing("", allows="'abc'"),
        symbols=thing(("a", "b"), allows="[]"),
        state_names=thing((), allows="[]"),
    ),
    Call(Semiautomaton.random, key=key(), states=count(3), vocab=count(2)),
    Call(Semiautomaton.stack, worlds=thing([WORLD, WORLD])),
    Call(WORLD.with_law, law=LAW, weights=array([1.0], allows="None")),
    Call(WORLD.observe, phi=array([0, 1, 1], allows=("entry 10**6",))),
    Call(WORLD.padded, vocab=count(3), states=count(4), modes=count(2)),
    Call(WORLD.run, inputs=WORDS),
    Call(WORLD.maps, inputs=WORDS),
    Call(WORLD.labels, inputs=WORDS),
    Call(WORLD.sample, key=key(), length=count(3)),
    Call(WORLD.log_prob, tokens=WORDS),
    Call(WORLD.next_logits, tokens=WORDS, start=flag(True)),
    Call(WORLD.next_states, tokens=WORDS),
    Call(WORLD.next_token, prefix=tokens([0, 1, 1], allows="[]")),
    Call(WORLD.begin, room=whole(3, names="memory")),
    Call(WORLD.read, memory=thing(MEMORY), n=whole(1), token=whole(1)),
    Call(WORLD.law, memory=thing(MEMORY), n=whole(1)),
    Call(WORLD.text, tokens=tokens([0, 1, 1], allows=TEXT)),
    Call(WORLD.marginals, length=count(3)),
    Call(WORLD.position_accuracy, length=count(3)),
    Call(WORLD.window_accuracy, w=whole(2), length=count(3)),
    Call(automata.product, first=thing(WORLD), second=thing(WORLD)),
    Call(automata.with_identity, world=thing(WORLD)),
    Call(
        automata.cascade,
        parts=thing([automata.memory(2), automata.cyclic(2)]),
        wiring=thing([[[0, 0, 0], [1, 1, 1]]]),
    ),
    Call(automata.cyclic, n=count(3)),
    Call(automata.cyclic_power, n=count(2), copies=count(2)),
    Call(automata.memory, states=count(3)),
    Call(automata.gridworld, n=count(3), stay=flag(True)),
    Call(automata.gridworld_2d, n=count(3)),
    Call(automata.dihedral, n=count(3), stay=flag(False)),
    Call(automata.symmetric, n=count(3), tokens=count(4), stay=flag(False)),
    Call(automata.alternating, n=count(4), stay=flag(False)),
    Call(automata.dyck, types=count(2), depth=count(3)),
    Call(automata.abab, noisy=flag(True)),
    Call(
        automata.permutation_automaton,
        tokens=array([[1, 0, 2], [0, 1, 2]], allows=LESS, names="elements"),
        elements=array(ELEMENTS, allows="None"),
        name=thing("", allows="'abc'"),
        symbols=thing((), allows="[]"),
    ),
    Call(automata.canonical, table=array([[0, 1], [1, 0]]), name=thing("", allows="'abc'")),
    Call(automata.is_boundary, n=count(3)),
    Call(automata.is_state, world=thing(WORLD), state=whole(1)),
    Call(automata.places, n=count(3)),
    Call(automata.first_values, n=count(3)),
    Call(automata.stack_tops, types=count(2), depth=count(2)),
]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_hostile_arguments_of_automata_are_refused_in_one_sentence(call):
    found = faults(call)
    assert not found, report(found)


def test_an_observation_under_a_trace_is_refused():
    with pytest.raises(ValueError, match="phi is under a trace"):
        jax.jit(lambda phi: WORLD.observe(phi).observation)(np.zeros(3, int))
