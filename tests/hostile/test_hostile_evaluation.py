"""Hostile calls of `minicosm.evaluate`: one sentence that names the argument."""

import jax
import numpy as np
import pytest

import minicosm
from hostile import Call, count, faults, key, probability, report, thing
from minicosm.worlds import HMM

pytestmark = pytest.mark.usefixtures("unchecked_types")

WORLD = HMM.random(jax.random.key(0), hidden=2, vocab=3, emission_temperature=0.5)


def uniform(tokens):
    return np.full((*tokens.shape, 3), 1 / 3)


CALLS = [
    Call(minicosm.evaluate, world=thing(WORLD), model=thing(uniform), key=key(allows="None"),
         length=count(4), count=count(3), batch=count(2, allows=("2**40", "2**70")),
         start=count(3, allows=("0", "None")), outputs=thing("probabilities")),
    Call(minicosm.evaluate, world=thing(WORLD), model=thing(WORLD), length=count(4), count=count(3),
         mask=count(3, allows=("0", "None")), rate=probability(0.5)._replace(allows=frozenset(["True"])),
         outputs=thing("logits")),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
