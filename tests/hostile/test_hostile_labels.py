"""Recurrent models, placements and labels with one bad argument at a time."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hostile import Call, array, count, faults, key, report, thing, tokens
from minicosm.models import (
    LSTM,
    LSTMConfig,
    LSTMGenerator,
    Placement,
    recency_slopes,
)
from minicosm.training import AttentionPenalty, Labelled, LabelObjective

pytestmark = pytest.mark.usefixtures("unchecked_types")

BIG = ("2**40", "2**70")
CONFIG = LSTMConfig(3, hidden=2, embedding=4)
MODEL = jax.jit(lambda key: LSTM(CONFIG, key=key))(jax.random.key(0))
ROWS = np.array([[0.1, -0.2, 0.3, 0.4], [0.5, 0.1, -0.3, 0.2], [0.2, 0.4, 0.1, -0.5]])
FINITE = ("one entry less", "entry -1", "entry 10**6", "plus .5")


class Zeros(eqx.Module):
    """Labels that are always 0."""

    def labelled(self, key, length):
        return Labelled(jnp.zeros(length, int), jnp.zeros(length, int), jnp.ones(length))


ANY = (
    "one axis more", "one entry less", "entry -1", "entry 10**6", "plus .5", "array of four axes",
    "tokens far outside", "tokens below zero", "-1", "0", "2.5", *BIG, "True", "[]", "[[]]",
    "array without entries",
)  # fmt: skip
CALLS = [
    Call(LSTMConfig, vocab=count(3, allows=BIG), hidden=count(2, allows=BIG),
         embedding=count(4, allows=("None", *BIG)), extra_inputs=count(1, allows=("0", *BIG))),
    Call(LSTMConfig.from_dict, values=thing({"vocab": 3})),
    Call(LSTM, config=thing(CONFIG), key=key(), dtype=thing("float32", allows="None")),
    Call(MODEL.embed, tokens=tokens([0, 1, 2])),
    *(
        Call(method, embeddings=array(ROWS, allows=FINITE),
             at=array([0, 1], allows=("None", "one entry less")))
        for method in (MODEL.hidden, MODEL.logits, MODEL.predict)
    ),
    Call(MODEL.readout, hidden=array(ROWS[:, :2], allows=FINITE)),
    Call(MODEL.next_logits, tokens=tokens([0, 1, 2])),
    Call(LSTMGenerator, model=thing(MODEL), start=count(2, allows="0")),
    Call(recency_slopes, heads=count(4)),
    Call(Placement, slopes=array(np.ones(2), allows=("None", *ANY)),
         offset=array(3, allows=("None", "0", "one axis more", "one entry less", "array of four axes",
                                 "tokens far outside", "entry 10**6")),
         rows=array(np.ones((3, 4)), allows=("None", *ANY))),
    Call(LabelObjective, world=thing(Zeros()), placement=thing(Placement(np.ones(2)), allows="None"),
         shift=array(2, allows=("None", "0", "one axis more", "one entry less", "entry 10**6",
                                "array of four axes", "[]", "[[]]", "tokens far outside")),
         length=count(4), batch=count(2), at=thing((0, 1), allows="None"), mean=thing("strings"),
         penalty=thing(AttentionPenalty(0.1), allows="None")),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
