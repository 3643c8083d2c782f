"""Hostile calls of heads, classifiers, losses and what was tuned."""

import jax
import numpy as np
import pytest

from hostile import Call, array, count, faults, flag, key, positive, report, thing, tokens
from minicosm import adaptation
from minicosm.models import Transformer, TransformerConfig
from minicosm.worlds import HMM

pytestmark = pytest.mark.usefixtures("unchecked_types")

CONFIG = TransformerConfig.bert(4, layers=1, heads=1, width=2, max_length=6)
MODEL = jax.jit(lambda key: Transformer(CONFIG, key=key))(jax.random.key(0))
WORLD = HMM([[0.7, 0.4], [0.3, 0.6]], [[0.4, 0.1], [0.3, 0.2], [0.2, 0.3], [0.1, 0.4]], [0.5, 0.5])
LAWS = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]])
ROWS, LABELS = np.array([[0, 1, 2], [3, 2, 1]]), np.array([0, 1])
KNOWN = np.array([True, True, False])
PAIR = ("tokens far outside", "tokens below zero")  # numbers too
FREE = ("entry -1", "entry 10**6", "plus .5")  # where any finite number will do
HEAD = adaptation.AttentionHead(
    np.ones(2), np.ones((2, 4)), np.ones((3, 4)), np.ones((2, 3)), np.ones((4, 3))
)
PROMPT = adaptation.SoftPrompt(np.full((1, 2), 0.5))
PROMPTED = adaptation.Classifier(adaptation.LinearHead(np.ones((2, 4))), PROMPT, placeholder=True)
READING = {
    "model": thing(WORLD),
    "tokens": tokens([0, 1, 2], names="observed"),
    "observed": array(KNOWN, allows="None"),
}
TUNED = adaptation.Tuned(
    WORLD, adaptation.Classifier(adaptation.LinearHead([1.0, 0, 0, -1]), placeholder=True), 2
)
OUTPUTS = array(LAWS, allows=("one entry less", *FREE))
PAIRED = array(LAWS, allows=FREE, names="tokens")  # a law for every token

CALLS = [
    Call(
        adaptation.AttentionHead,
        query=array(HEAD.query, allows=(*FREE, *PAIR), names="key"),
        key=array(HEAD.key, allows=FREE),
        value=array(HEAD.value, allows=FREE, names="readout"),
        readout=array(HEAD.readout, allows=(*FREE, "one entry less", "one axis more")),
        tokens=array(HEAD.tokens, allows=("None", *FREE)),
        positions=array(np.ones((1, 2)), allows=("None", *FREE)),
        temperature=positive(0.5, allows="0"),
    ),
    Call(HEAD.scores, outputs=OUTPUTS),
    Call(HEAD.weights, outputs=OUTPUTS),
    Call(HEAD.values, outputs=PAIRED, tokens=array([0, 1, 2]), known=array(KNOWN)),
    Call(PROMPTED.inputs, **READING),
    Call(PROMPTED.outputs, **READING),
    Call(
        PROMPT.prepend,
        embeddings=array(np.ones((3, 2)), allows=("one entry less", "array of complex", *FREE)),
    ),
    Call(
        adaptation.HeadLoss,
        outputs=array(np.stack([LAWS, LAWS]), allows=FREE),
        tokens=tokens(ROWS, names="labels"),
        labels=array(LABELS, allows=("entry 10**6", PAIR[0])),  # heads know how many classes there are
        mask_first=flag(True),
        batch=count(2),
    ),
    Call(
        adaptation.SlotLoss,
        world=thing(WORLD),
        messages=array(np.array([[1, 0.5], [0.2, 1]]), allows=("entry 10**6", "plus .5"), names="labels"),
        labels=array(LABELS, allows=("entry 10**6", PAIR[0])),
        batch=count(2),
    ),
    Call(
        adaptation.Tuned,
        model=thing(WORLD),
        classifier=thing(TUNED.classifier),
        classes=count(2),
        mask_first=flag(True),
        history=thing({}, allows="{}"),
    ),
    *[
        Call(method, tokens=tokens(ROWS))
        for method in (TUNED.decision_function, TUNED.predict, TUNED.predict_proba)
    ],
    Call(TUNED.score, tokens=tokens(ROWS, names="labels"), labels=array(LABELS)),
    Call(adaptation.fresh_rows, key=key(), length=count(2), model=thing(MODEL)),
    Call(
        adaptation.prompt_rates,
        classifier=thing(PROMPTED),
        head=positive(0.1, allows="0"),
        prompt=positive(0.1, allows="0"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
