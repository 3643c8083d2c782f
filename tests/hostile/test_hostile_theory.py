"""Hostile calls of theory and adaptation: a bad argument meets one sentence that names it."""

import jax
import numpy as np
import pytest

from hostile import Call, array, count, faults, flag, key, positive, report, thing, tokens
from minicosm import adaptation
from minicosm.theory import all_sequences, certify, rank_test, sample_sequences, tuning
from minicosm.worlds import MemoryHMM, PosteriorTask, full_rank_world
from minicosm.worlds.markov import stationary_law

pytestmark = pytest.mark.usefixtures("unchecked_types")

WORLD = full_rank_world(jax.random.key(0), hidden=3, vocab=4)
TASK = PosteriorTask(np.array([1.0, -0.7, 0.2]))
MU = np.array([1.0, -0.5])
W = np.random.default_rng(0).dirichlet(np.ones(6), size=(2, 1, 2)).transpose(3, 0, 1, 2)
A = np.array([[0.0, 0.5], [1.0, 0.5]])
MEMORY = MemoryHMM(A, W, np.full(2, 0.5), stationary_law(A))
CELL = PosteriorTask(MU, "cell")
ROWS = np.array([[0, 1], [2, 3]])
LABELS, FEATURES = np.array([0, 1, 1, 0]), np.array([[0.1, 1], [2, 0.3], [1, 0.7], [0.2, 0.1]])
LINEAR, ATTENTION = adaptation.LinearHead(np.ones(4)), adaptation.fresh_attention_head(6)
CLASSIFIER = adaptation.Classifier(LINEAR, placeholder=True)
TOKENS = np.array([[0, 1], [2, 3], [1, 0], [3, 3]])
WORLDS = {"world": thing(WORLD)}
ONE = {"world": thing(WORLD), "task": thing(TASK)}
TWO = {"world": thing(MEMORY), "task": thing(CELL)}

NUMBERS = ("entry -1", "entry 10**6", "plus .5")  # where any finite number will do

CALLS = [
    Call(
        adaptation.LinearHead,
        weights=array(
            np.ones(3),
            allows=(
                "one entry less",
                "one axis more",
                *NUMBERS,
                "array of four axes",
                "-1",
                "tokens far outside",
                "tokens below zero",
            ),
            names="bias",
        ),
        bias=array(
            0.0,
            names="bias",
            allows=(
                "None",
                "0",
                "-1",
                "2.5",
                "2**40",
                "2**70",
                *NUMBERS,
                "one entry less",
                "one axis more",
            ),
        ),
    ),
    Call(
        adaptation.SoftPrompt,
        parameters=array(np.ones((2, 3)), allows=("one entry less", *NUMBERS)),
        squash=thing(jax.nn.sigmoid, allows="a function"),
    ),
    Call(
        adaptation.Classifier,
        head=thing(LINEAR),
        prompt=thing(None, allows="None"),
        placeholder=flag(True),
    ),
    Call(
        adaptation.accuracy,
        scores=array(
            FEATURES, allows=("entry -1", "entry 10**6", "entry inf", "plus .5"), names="labels"
        ),
        labels=array(LABELS),
    ),
    Call(
        adaptation.logistic_regression,
        features=array(FEATURES, allows=NUMBERS, names="labels"),
        labels=array(LABELS),
        classes=count(2),
        ridge=positive(1e-3, allows="0"),
        whiten=flag(True),
        max_steps=count(20, allows=("2**40",)),
    ),
    Call(
        adaptation.HeadTuning().fit,
        model=thing(WORLD),
        tokens=tokens(TOKENS, names="labels"),
        labels=array(LABELS),
    ),
    Call(
        adaptation.HeadTuning,
        ridge=positive(0.1, allows="0"),
        steps=count(3),
        batch=count(3),
        rate=positive(0.1),
        mask_first=flag(True),
    ),
    Call(
        adaptation.PromptTuning,
        length=count(1),
        ridge=positive(0.1, allows="0"),
        steps=count(3),
        batch=count(3),
        rates=thing((0.1, 0.1), allows="None"),
        mask_first=flag(True),
    ),
    Call(
        adaptation.PromptTuning(steps=2).fit,
        model=thing(WORLD),
        tokens=tokens(TOKENS, names="labels"),
        labels=array(LABELS),
        key=key(),
    ),
    Call(
        adaptation.TuningLoss,
        model=thing(WORLD),
        tokens=tokens(TOKENS, allows="entry 10**6"),
        labels=array(LABELS, allows="entry 10**6"),
        mask_first=flag(True),
        batch=count(2),
    ),
    Call(
        adaptation.FineTuningLoss,
        tokens=tokens(TOKENS, allows="entry 10**6"),
        labels=array(LABELS, allows="entry 10**6"),
        mask_first=flag(True),
        batch=count(2),
    ),
    Call(adaptation.fresh_linear_head, vocab=count(3), classes=count(2)),
    Call(adaptation.fresh_attention_head, vocab=count(3), classes=count(2), by_token=flag(False)),
    Call(adaptation.fresh_prompt, key=key(), length=count(2), width=count(3)),
    Call(adaptation.attention_trainable, head=thing(ATTENTION)),
    Call(adaptation.slot_messages, world=thing(WORLD), tokens=tokens(TOKENS)),
    Call(
        CLASSIFIER.scores,
        model=thing(WORLD),
        tokens=tokens([0, 1, 2], names="observed"),
        observed=array(np.ones(3, bool), allows="None"),
    ),
    Call(all_sequences, vocab=count(2), length=count(3)),
    Call(sample_sequences, world=thing(WORLD), key=key(), length=count(3), count=count(2)),
    Call(
        rank_test,
        matrix=array(
            np.eye(3), allows=("[[]]", "array without entries", "one entry less", *NUMBERS)
        ),
        tolerance=positive(1e-9, allows="0"),
    ),
    Call(
        certify,
        **ONE,
        classifier=thing(CLASSIFIER),
        statement=thing(tuning.statement_3_3),
        sequences=tokens(ROWS),
    ),
    Call(tuning.theorem_3_3, **ONE, printed=flag(True)),
    Call(tuning.theorem_3_6, **ONE, budget=count(100, allows=("2**40", "2**70"))),
    Call(tuning.theorem_4_3, **TWO, star=thing((0,), allows=("None", "[]"))),
    Call(
        tuning.theorem_d6,
        **TWO,
        beta=thing("safe"),
        stationary=flag(True),
        star=thing((0,), allows=("None", "[]")),
    ),
    Call(
        tuning.theorem_4_6,
        **TWO,
        beta=thing("safe"),
        stationary=flag(True),
        star=thing((0,), allows=("None", "[]")),
    ),
    Call(tuning.nondegenerate, **WORLDS, tolerance=positive(1e-9, allows="0")),
    Call(tuning.regular, **WORLDS),
    Call(tuning.start_recurs, **WORLDS),
    Call(
        tuning.covering,
        **WORLDS,
        mu=array(TASK.mu, allows=(*NUMBERS, "one axis more")),
        budget=count(100, allows=("2**40", "2**70")),
    ),
    Call(
        tuning.recoverable_states,
        world=thing(MEMORY),
        cell=thing(0, allows="0"),
        star=thing((0,), allows=("None", "[]")),
    ),
    Call(
        tuning.recoverable_for,
        world=thing(MEMORY),
        mu=array(MU, allows=(*NUMBERS, "one axis more", "tokens far outside", "tokens below zero")),
        cell=thing(0, allows="0"),
        star=thing((0,), allows=("None", "[]")),
    ),
    Call(tuning.claim_b1, **WORLDS, sequences=tokens(ROWS), i=count(1)),
    Call(tuning.lemma_c1, **WORLDS, u=array(np.ones(3)), sequences=tokens(ROWS)),
    Call(tuning.lemma_c2, **WORLDS, u=array(np.ones(3)), sequences=tokens(ROWS)),
    Call(tuning.equation_c1, **WORLDS, sequences=tokens(ROWS)),
    Call(tuning.proposition_3_4, joint=array(np.ones((2, 2, 2)) / 8, allows=("big-endian",))),
    Call(tuning.conditionally_independent_joint, key=key(), u=count(2), v=count(2), z=count(2)),
    Call(
        tuning.linear_head_exists, **WORLDS, mu=array(TASK.mu, allows=(*NUMBERS, "one axis more"))
    ),
    Call(tuning.linear_head_for_task, **ONE),
    Call(tuning.pseudo_inverse_head, **ONE),
    Call(tuning.observable_span, **WORLDS, length=count(2, allows=("None", "2**40", "2**70"))),
    Call(tuning.separable_prompt, **WORLDS, mu=array(TASK.mu, allows=(*NUMBERS, "one axis more"))),
    Call(tuning.separable_prompt_head, **ONE),
    Call(
        tuning.shorter_prompt,
        **WORLDS,
        rows=array(np.ones((2, 3)), allows=("one entry less", "entry 10**6", "plus .5")),
    ),
    Call(
        tuning.reached,
        **WORLDS,
        rows=array(np.ones((2, 3)), allows=("one entry less", "entry 10**6", "plus .5")),
    ),
    Call(tuning.proposition_d1, world=thing(MEMORY), sequences=tokens(ROWS)),
    Call(tuning.proposition_d8, world=thing(MEMORY), length=count(1), shifts=count(1)),
    *[
        Call(
            getattr(tuning, name),
            **TWO,
            sequences=tokens(ROWS),
            star=thing((0,), allows="None", names="S*"),
        )
        for name in (
            "lemma_d2",
            "claim_d3",
            "lemma_d4",
            "lemma_d9",
            "claim_d10",
            "proposition_d11",
            "claim_d12",
            "lemma_d13",
            "claim_d14",
            "claim_d15",
        )
    ],
    Call(tuning.binary_prompt, **TWO, sequences=tokens(ROWS)),
    Call(tuning.lemma_d9_by_any_head, **TWO, sequences=tokens(ROWS)),
    Call(
        tuning.memory_prompt,
        world=thing(MEMORY),
        mu=array(MU, allows=(*NUMBERS, "one axis more", "tokens far outside", "tokens below zero")),
        cell=thing(0, allows="0"),
        repaired=flag(False),
    ),
]


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
