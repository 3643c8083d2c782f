"""Topic worlds, corpora with topics and models of bags: a bad argument meets one sentence that names it."""

import tempfile
from pathlib import Path

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
    number,
    positive,
    probability,
    report,
    thing,
    tokens,
)
from minicosm import models, text, training, worlds
from minicosm.models import BagAttention
from minicosm.training import Arm, BagLoss, draw_bags
from minicosm.worlds import LDA, Corruption, OverlappingTopics, TopicWorld

pytestmark = pytest.mark.usefixtures("unchecked_types")

LARGE = ("2**40", "2**70")
FREE = ("entry -1", "entry 10**6", "plus .5")  # numbers of any size and sign
WEIGHTS = ("entry 10**6", "plus .5")
BERT = Corruption()
SETS = TopicWorld(3, 2, per_document=2)
MIXED = TopicWorld(3, 2, dirichlet=0.5, lengths=(3, 5))
W = np.array([[0.7, 0.1], [0.3, 0.4], [0.0, 0.5]])
GENERAL = LDA(W, [0.5, 1.0])
STOP = np.array([0.0, 0.0, 1.0])
TEXTS = OverlappingTopics(np.array([[0.7, 0.1], [0.3, 0.9], [0, 0]]), STOP, most=2)
LABELS = np.array([0, 0, 1, 1])
MATRIX = np.arange(16.0).reshape(4, 4)
FOLDER = Path(tempfile.mkdtemp())
for name, words in (("a", "cat dog"), ("b", "tea cup"), ("topics", "cat dog\ntea cup\n")):
    (FOLDER / f"{name}.txt").write_text(words)
CORPUS = text.read_topic_corpus(FOLDER)
MODEL = BagAttention.random(jax.random.key(0), words=3)
BAGS = draw_bags(MIXED, BERT, jax.random.key(0), 6)
ARM = Arm(BagAttention.random(jax.random.key(0), words=6), rate=0.1)
STACKED = jax.tree.map(lambda leaf: np.asarray(leaf)[None], ARM.model)
SQUARE = np.eye(3)

length = count(4, allows="None")
corruption = thing(BERT)
seen = thing(None, allows="None", names="observed")
words3 = tokens([0, 2, 4], allows=("read backwards",))
small = tokens([0, 1, 1], allows=("read backwards",))
bias = thing(None, allows="None")

CALLS = [
    Call(
        Corruption, chosen=thing(0.15), kept=thing(0.1, allows="0"), random=thing(0.1, allows="0")
    ),
    Call(
        BERT.corrupt,
        key=key(),
        tokens=tokens([0, 1, 2], names="real"),
        vocab=count(5),
        real=array([True, True, False], allows="None"),
    ),
    Call(
        TopicWorld,
        topics=count(4, allows="2**40"),
        words=count(3, allows="2**40"),
        per_document=count(2, names="dirichlet"),
        dirichlet=thing(None, allows="None", names="per_document"),
        lengths=thing((2, 5), allows="None"),
    ),
    Call.of(
        TopicWorld.of_vocabulary,
        lambda vocab, topics: TopicWorld.of_vocabulary(vocab, topics, dirichlet=0.5),
        vocab=count(6, names="topics"),
        topics=count(3),
    ),
    Call(MIXED.sample, key=key(), length=length),
    Call(MIXED.posterior, tokens=words3, observed=seen),
    Call(MIXED.conditionals, tokens=words3, observed=seen),
    Call(MIXED.next_logits, tokens=words3),
    Call(MIXED.log_prob, tokens=words3),
    Call(MIXED.denoised, counts=array([2, 0, 1]), corruption=corruption),
    Call(
        SETS.bayes_predict,
        tokens=tokens([0, 2, 4], names="observed"),
        observed=array([True, False, True], allows="None"),
        corruption=corruption,
    ),
    Call(SETS.stage1_loss, loss=thing("squared")),
    Call(SETS.bayes_loss, corruption=corruption, loss=thing("cross-entropy")),
    Call(MIXED.topic_count_law, length=count(4)),
    Call(LDA, W=array(W), alpha=array([0.5, 1.0], allows=WEIGHTS)),
    Call(
        LDA.random,
        key=key(),
        topics=count(2),
        vocab=count(3),
        words=positive(0.5, allows=()),
        mixture=positive(0.1),
    ),
    Call(GENERAL.sample, key=key(), length=count(4)),
    Call(GENERAL.log_prob, tokens=small),
    Call(GENERAL.posterior, tokens=small, observed=seen),
    Call(GENERAL.conditionals, tokens=small, observed=seen),
    Call(
        OverlappingTopics,
        W=array(TEXTS.W, names="stop"),
        stop=array(STOP),
        stop_share=probability(0.3),
        extra=number(1.5, allows=()),
        most=count(2),
    ),
    Call(
        OverlappingTopics.random,
        key=key(),
        topics=count(6),
        words=count(8),
        stop_words=count(2),
        sparsity=positive(0.05),
        zipf=number(0.7),
    ),
    Call(TEXTS.sample, key=key(), length=count(4)),
    Call(
        worlds.block_statistics,
        matrix=array(MATRIX, allows=FREE, names="labels"),
        labels=array(LABELS, allows=("entry 10**6",)),
        seed=count(1, allows=("0", *LARGE)),
    ),
    Call(
        worlds.topic_pairs,
        labels=array(
            LABELS,
            allows=(
                "entry -1",
                "one entry less",
                "entry 10**6",
                "tokens far outside",
                "tokens below zero",
            ),
        ),
    ),
    Call(worlds.cosines, embedding=array(MATRIX, allows=(*FREE, "one entry less"))),
    Call(
        worlds.pair_attention,
        attention=thing([np.full((2, 2), 0.5)]),
        documents=thing([np.array([0, 1])], names="attention"),
        vocab=count(4),
        debias=flag(True),
    ),
    Call(
        worlds.pair_attention([np.full((2, 2), 0.5)], [np.array([0, 1])], 2).mean,
        relation=array(np.ones((2, 2), bool)),
    ),
    Call(worlds.recover_topics, matrix=array(MATRIX, allows=FREE), topics=count(2)),
    Call(
        worlds.topic_agreement,
        found=array(LABELS, allows="entry 10**6"),
        true=array(LABELS, allows="entry 10**6"),
    ),
    # text
    Call(text.read_topic_corpus, path=thing(FOLDER), others=thing("leave")),
    Call(
        text.TopicCorpus,
        words=thing(CORPUS.words),
        documents=thing(CORPUS.documents, allows="ragged"),
        topics=thing(CORPUS.topics),
        members=thing(CORPUS.members),
    ),
    Call(CORPUS.windows, length=count(2)),
    # models
    Call(
        BagAttention,
        embedding=thing(None, allows="None"),
        key=array(SQUARE, allows=FREE, names="query"),
        query=array(SQUARE, allows=FREE),
        value=array(SQUARE, allows=FREE),
        key_bias=bias,
        query_bias=bias,
        value_bias=bias,
        output_bias=bias,
    ),
    Call(
        BagAttention.random,
        key=key(),
        words=count(3),
        one_hot=flag(False, names="width"),
        width=count(2, allows="None"),
        std=thing(0.1, allows=("0", "2.5", *LARGE)),
    ),
    Call(
        MODEL.mix,
        counts=array([1.0, 0, 2, 1], allows=("entry 10**6", "plus .5")),
        queries=array([0, 2], allows=("one entry less",)),
    ),
    Call(
        MODEL.read,
        mixed=array(np.full((2, 4), 0.25), allows=("one axis more", "one entry less", *FREE)),
    ),
    Call(
        MODEL.logits,
        counts=array([1.0, 0, 2, 1], allows=("entry 10**6", "plus .5")),
        queries=array([0, 2], allows=("one entry less",)),
    ),
    Call(MODEL.of_tokens, tokens=small, observed=seen),
    # training
    Call(
        training.draw_bags,
        world=thing(MIXED),
        corruption=corruption,
        key=key(),
        documents=count(4),
        length=count(5, allows="None"),
        keys=thing("all"),
    ),
    Call(
        training.Bags,
        counts=thing(BAGS.counts, names=("masked", "queries")),
        masked=thing(BAGS.masked),
        queries=thing(BAGS.queries, names="labels"),
        labels=thing(BAGS.labels),
    ),
    Call(
        Arm,
        model=thing(MODEL),
        rate=thing(0.1, allows=("0", "2.5", *LARGE)),
        adam=flag(True),
        cross_entropy=flag(True),
        penalty=thing(0.1, allows=("0", "2.5", *LARGE)),
        frozen=thing(["value"], allows="[]"),
    ),
    Call(training.stack_arms, arms=thing([ARM, ARM])),
    Call(training.stack_bags, bags=thing([BAGS, BAGS])),
    Call(BagLoss, bags=thing(BAGS), batch=count(4, allows=LARGE), by_document=flag(False)),
    Call(
        training.mean_losses, models=thing(STACKED), bags=thing(BAGS), batch=count(4, allows=LARGE)
    ),
]


# What compiles for many shapes, and stands on the same checks as the posterior.
LONG = {"LDA.conditionals"}


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, id=call.name, marks=pytest.mark.long if call.name in LONG else ())
        for call in CALLS
    ],
)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)


def test_every_front_door_of_the_family_is_here():
    called = {id(getattr(call.target, "__func__", call.target)) for call in CALLS}
    for module, names in (
        (worlds, ("TopicWorld", "LDA", "OverlappingTopics", "Corruption", "block_statistics")),
        (models, ("BagAttention",)),
        (training, ("Arm", "BagLoss", "Bags", "draw_bags")),
    ):
        assert all(id(getattr(module, name)) in called for name in names)
