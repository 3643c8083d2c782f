"""Proposition 2.2.1: planted attention maps show what they should and change nothing."""

import jax
import numpy as np
import pytest

from minicosm.models import Transformer
from minicosm.models.variants import gpt2
from minicosm.theory.dyck import planted_layer, proposition_2_2_1
from minicosm.theory.dyck.matrices import apply, random_target
from minicosm.theory.dyck.planted import (
    closed_pattern,
    closed_score,
    copy_model,
    plant,
    read,
    stack_pattern,
    top_score,
    zero_head,
)
from minicosm.worlds import Dyck

PROBE = np.repeat([0, 1, 2, 3], 4)


@pytest.fixture(scope="module")
def world():
    return Dyck(2, 4)


@pytest.mark.parametrize("at", [0, 2])
def test_a_planted_layer_changes_no_output(at):
    rng = np.random.default_rng(at)
    model = random_target(rng, width=5, attention=7, mlp_width=4, layers=2)
    inputs = rng.normal(size=(3, 6, 5))
    logits = 10 * rng.normal(size=(5, 5))
    planted = plant(model, logits, at=at)
    assert planted.config.layers == 3
    assert np.abs(apply(planted, inputs) - apply(model, inputs)).max() <= 1e-12
    assert not apply(zero_head(planted), inputs).any()
    assert planted_layer(model, logits, inputs, at=at).holds
    assert proposition_2_2_1(planted, inputs).holds


def test_the_stack_pattern_points_at_the_last_open_bracket(world):
    copy = copy_model(world)
    planted = plant(copy, stack_pattern(world))
    tokens = np.array([0, 2, 3, 2, 2, 3, 3, 1, 2, 0, 1, 0, 1, 3, 0, 2])
    plain, found = read(copy, world, tokens), read(planted, world, tokens)
    stack, tops = [0], []  # the start token, at position 0
    for place, token in enumerate(tokens, start=1):
        if token % 2 == 0:
            stack.append(place)
        else:
            stack.pop()
        tops.append(stack[-1])
    assert list(found.attention[0][1:].argmax(axis=1)) == tops
    assert found.attention[0][1:].max(axis=1).min() > 0.99
    assert top_score(world, tokens, found.attention[0]) > 0.99
    assert top_score(world, tokens, plain.attention[0]) < 0.5
    assert np.abs(found.output - plain.output).max() <= 1e-12
    assert np.allclose(found.output[1:], np.eye(4)[tokens])


def test_the_closed_pattern_reads_closed_brackets_only(world):
    copy = copy_model(world)
    found = read(plant(copy, closed_pattern(world)), world, PROBE)
    closed = np.append(False, PROBE % 2 == 1)
    for query in range(5, 17):
        seen = closed & (np.arange(17) <= query)
        assert np.allclose(found.attention[0, query], seen / seen.sum(), atol=1e-6)
    assert closed_score(PROBE, found.attention[0]) > 0.99
    assert np.abs(found.output - read(copy, world, PROBE).output).max() <= 1e-12


def test_what_cannot_be_planted_is_said():
    model = random_target(np.random.default_rng(0))
    with pytest.raises(ValueError, match="at is 2; the model has 1 layers"):
        plant(model, np.eye(3), at=2)
    with pytest.raises(ValueError, match=r"they must have shape \(3, 3\)"):
        plant(model, np.eye(4))
    with pytest.raises(ValueError, match="not a Transformer of the theory"):
        plant(Transformer(gpt2(4, width=8), key=jax.random.key(0)), np.eye(8))
