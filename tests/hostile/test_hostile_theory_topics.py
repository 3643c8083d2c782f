"""Hostile calls of the theory of topic structure: a bad argument meets one sentence that names it."""

import jax
import numpy as np
import pytest

from hostile import Call, array, count, faults, flag, key, not_called, positive, report, thing
from minicosm.theory import topics
from minicosm.worlds import Corruption, TopicWorld

pytestmark = pytest.mark.usefixtures("unchecked_types")

LARGE = ("2**40", "2**70")
FREE = ("entry -1", "entry 10**6", "plus .5")
BERT = Corruption()
SETS = TopicWorld(3, 2, per_document=2)
LONG = TopicWorld(100, 12, per_document=6)
MIXED = TopicWorld(3, 2, dirichlet=0.5)
SETTING = {"world": thing(SETS), "corruption": thing(BERT)}
GIVEN = topics.moments(SETS, BERT)
VALUE = topics.block_value(SETS, BERT)
value, keys = thing("block"), thing("full")
printed = flag(False)
weight = positive(2.0)
weights = array(
    np.array([1.0, 2.0]),
    allows=(
        "entry 10**6", "plus .5", "one entry less", "one axis more", "tokens far outside",
        "array of four axes", "0", "2.5", *LARGE, "True",
    ),
    names="alpha",
)  # fmt: skip
width = count(2)
whole_length = count(4, allows="None")
members = count(2)

CALLS = [
    Call(topics.constants, **SETTING),
    Call(topics.null_direction, **SETTING),
    Call(topics.features, **SETTING),
    Call(topics.labels, world=thing(SETS)),
    Call(topics.moments, **SETTING, length=whole_length, keys=thing("all")),
    Call(topics.mean_moments, **SETTING, low=count(2), high=count(4), keys=thing("all")),
    Call(topics.stage1_loss, W=array(VALUE, allows=FREE), **SETTING),
    Call(topics.proposition_2_1_1, **SETTING),
    Call(topics.lemma_2_1_1, **SETTING, key=key(), members=members),
    Call(topics.lemma_2_1_1_only, **SETTING, key=key(), members=members),
    Call(topics.lemma_2_1_1_broken, **SETTING, key=key()),
    Call(topics.block_value, **SETTING),
    Call(topics.diagonal_value, **SETTING),
    Call(topics.ridge, **SETTING, penalty=positive(0.1, allows=()), length=whole_length),
    Call(topics.theorem_2_1_2, **SETTING),
    Call(topics.theorem_2_1_2_ridge, **SETTING),
    Call(topics.theorem_2_1_2_signs, **SETTING),
    Call(topics.needs_several_documents, **SETTING),
    Call(
        topics.value_after,
        given=thing(GIVEN),
        rate=thing(0.5, allows=("True", "2.5")),
        step=thing(3.0, allows=("0", "2.5", "True", *LARGE)),
        start=thing(None, allows="None"),
    ),
    Call(
        topics.gradient_descent,
        **SETTING,
        rate=thing(0.5, allows=("True", "2.5")),
        steps=count(3),
        length=whole_length,
    ),
    Call(topics.embedding_bias, **SETTING),
    Call(topics.embedding_loss, E=array(VALUE, allows=FREE), **SETTING),
    Call(topics.topic_contrast, E=array(VALUE, allows=FREE), world=thing(SETS)),
    Call(topics.embedding_minimiser, **SETTING, width=width, key=key(), starts=members),
    Call(
        topics.theorem_2_1_1,
        **SETTING,
        shift=thing(0.5, allows=("0", "2.5", "True", *LARGE)),
        diagonal=flag(False),
    ),
    Call(topics.theorem_2_1_1_found, **SETTING, width=width, key=key(), as_printed=printed),
    Call(topics.embedding_rank, **SETTING, width=width, key=key()),
    Call(topics.nonnegative_across, **SETTING, width=width, key=key()),
    Call(topics.embedding_example, **SETTING, as_printed=printed),
    Call(
        topics.attention_loss,
        **SETTING,
        alpha=weights,
        beta=weights,
        value=value,
        keys=keys,
        total=flag(True),
    ),
    Call(topics.best_attention, **SETTING, value=value, keys=keys, total=flag(True)),
    Call(topics.attention_model, **SETTING, alpha=weight, beta=weight, value=value),
    Call(
        topics.loss_by_tokens,
        model=thing(topics.attention_model(SETS, BERT, 2.0, 3.0)),
        **SETTING,
        hidden=flag(False),
    ),
    Call(
        topics.free_table_minimum,
        **SETTING,
        value=value,
        key=key(),
        starts=count(1),
        hidden=flag(True),
    ),
    Call(
        topics.assumption_2_1_2,
        **SETTING,
        alpha=weight,
        beta=weight,
        key=key(),
        value=value,
        length=count(3),
    ),
    Call(
        topics.remark_2_1_5,
        **SETTING,
        gamma=weight,
        share=thing(0.5, allows=("0", "True")),
        keys=keys,
    ),
    Call(
        topics.attention_normaliser,
        **SETTING,
        alpha=weight,
        beta=weight,
        value=value,
        as_printed=printed,
    ),
    Call(topics.equation_2_27, **SETTING, gamma=weight, as_printed=printed),
    Call(topics.symmetric_pattern, **SETTING, value=value, key=key(), starts=count(1)),
    Call(
        topics.theorem_2_1_3,
        world=thing(LONG),
        corruption=thing(BERT),
        keys=keys,
        proof=flag(False),
    ),
    Call(topics.theorem_2_1_5, world=thing(LONG), corruption=thing(BERT), keys=keys),
    Call(
        topics.best_block_attention,
        world=thing(LONG),
        corruption=thing(BERT),
        within=positive(0.5),
        keys=keys,
    ),
    Call(
        topics.best_diagonal_attention,
        world=thing(LONG),
        corruption=thing(BERT),
        within=positive(0.5),
        keys=keys,
    ),
    Call(topics.same_topic_last, **SETTING, keys=keys),
    Call(topics.loss_ladder, **SETTING),
    Call(topics.finite_value, **SETTING, length=count(4), keys=thing("all")),
    Call(topics.finite_loss, **SETTING, length=count(4)),
    Call(topics.limits_do_not_commute, **SETTING, length=count(4)),
    Call(topics.own_word, **SETTING, length=count(4)),
]


def test_every_front_door_is_in_the_table():
    assert not not_called(topics, CALLS)


def test_a_world_of_mixtures_is_refused_where_sets_are_needed():
    for function in (topics.features, topics.best_attention, topics.same_topic_last):
        try:
            found = function(MIXED, BERT)
        except ValueError as error:
            assert "per_document" in str(error) or "Dirichlet" in str(error)
        else:
            assert not found.applies
    assert isinstance(topics.lemma_2_1_1(MIXED, BERT, jax.random.key(0)).holds, bool)


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
