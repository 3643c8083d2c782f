"""The flip-flop language, mixtures and penalties of attention with one bad argument at a time."""

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
    probability,
    report,
    thing,
    tokens,
    whole,
)
from minicosm.models import TransformerConfig, with_layer_options
from minicosm.training import AttentionPenalty, LayerPenalty
from minicosm.worlds import FlipFlop, Mixture, flip_flop

pytestmark = pytest.mark.usefixtures("unchecked_types")

WORLD = FlipFlop(8, p_ignore=0.5)
MIXED = Mixture([WORLD, FlipFlop(8, p_ignore=0.1)], [0.5, 0.5])
STRING = np.array([0, 3, 2, 4, 1, 3, 1, 3])
MEMORY = WORLD.begin(3)
PAIRED = flip_flop.PairedFlipFlop(WORLD)
PAIRS = np.array([0, 5, 2, 2])
TAILS = flip_flop.FlipFlopMixture(8)
CONFIG = TransformerConfig(5, layers=1, heads=1, width=4, max_length=8, causal=True)
PENALTY = AttentionPenalty(0.1)
FIRST = LayerPenalty(0.1)
ROWS = np.full((1, 1, 2, 2), 0.5)
SHORTER = "one entry less"
DIGITS = np.array([1, 2, 3])

CALLS = [
    Call(FlipFlop, length=count(8), p=array([0.2, 0.3, 0.5]), symbols=count(2, allows=("2**40",)),
         select=thing("last")),
    Call(FlipFlop, length=count(8), p_ignore=probability(0.5, allows=("0", "True"), names="p")),
    Call(FlipFlop.stack, worlds=thing([WORLD, WORLD])),
    Call(WORLD.sample, key=key(), length=count(8, allows="None")),
    Call(WORLD.labelled, key=key(), length=count(8, allows="None")),
    Call(WORLD.is_valid, tokens=tokens(STRING, allows=SHORTER)),
    Call(WORLD.text, tokens=tokens(STRING, allows=("[]", "entry -1", "tokens below zero", SHORTER))),
    Call(WORLD.log_prob, tokens=tokens(STRING, allows=SHORTER)),
    Call(WORLD.next_logits, tokens=tokens(STRING, allows=SHORTER), start=flag(True)),
    Call(WORLD.next_token, prefix=tokens(STRING, allows=("[]", SHORTER))),
    Call(WORLD.memory, tokens=tokens(STRING)),
    Call(WORLD.begin, room=whole(3, names="memory")),
    Call(WORLD.read, memory=thing(MEMORY), n=whole(1), token=whole(1)),
    Call(WORLD.law, memory=thing(MEMORY), n=whole(1)),
    Call(WORLD.glitches, model=thing(WORLD), key=key(), count=count(2)),
    Call(flip_flop.PairedFlipFlop, world=thing(WORLD)),
    Call(PAIRED.paired, tokens=tokens(STRING, names=("tokens", "token"))),
    Call(PAIRED.unpaired, pairs=tokens(PAIRS, allows=SHORTER, names="tokens")),
    Call(PAIRED.sample, key=key(), length=count(4, allows="None")),
    Call(PAIRED.labelled, key=key(), length=count(4, allows="None")),
    Call(PAIRED.is_valid, tokens=tokens(PAIRS, allows=SHORTER)),
    Call(PAIRED.log_prob, tokens=tokens(PAIRS, allows=SHORTER)),
    Call(PAIRED.next_logits, tokens=tokens(PAIRS, allows=SHORTER), start=flag(True)),
    Call(PAIRED.text, tokens=tokens(PAIRS, allows=("[]", "entry -1", "tokens below zero", SHORTER))),
    Call(flip_flop.FlipFlopMixture, length=count(8),
         p_ignore=array([0.5, 0.1], allows=(SHORTER, "plus .5"), names=("p_ignore", "p")),
         weights=array([0.5, 0.5], allows="None"), symbols=count(2, allows="2**40"),
         select=thing("last")),
    Call(TAILS.sample, key=key(), length=count(8, allows="None")),
    Call(MIXED.next_logits, tokens=tokens(STRING, allows=SHORTER), start=flag(True)),
    Call(with_layer_options, config=thing(CONFIG), key=key(), gated=flag(True),
         attention_dropout=probability(0.1, allows="0"), mlp_dropout=probability(0.1, allows="0"),
         dtype=thing("float32", allows="None")),
    Call(LayerPenalty, weight=number(0.1, allows=("0", "array of four axes", "tokens far outside")),
         layers=thing((0,))),
    Call(FIRST.of, attention=array(ROWS, allows=(SHORTER, "entry 10**6", "plus .5", "array of four axes"))),
    Call(WORLD.divergence, other=thing(WORLD)),
    Call(WORLD.distance_law, to=thing("write")),
    Call(WORLD.mean_distance, to=thing("informative")),
    Call(WORLD.window_error, window=count(3, allows=("2**40", "2**70"))),
    Call(Mixture, worlds=thing([WORLD, WORLD]), weights=array([0.5, 0.5])),
    Call(MIXED.sample, key=key(), length=count(8, allows="None")),
    Call(MIXED.labelled, key=key(), length=count(8, allows="None")),
    Call(MIXED.log_prob, tokens=tokens(STRING, allows=SHORTER)),
    Call(MIXED.posterior, tokens=tokens(STRING, allows=SHORTER)),
    Call(flip_flop.register, p_keep=probability(0.5, allows=("0", "True"))),
    Call(flip_flop.as_sentences, tokens=tokens(STRING, names=("tokens", "pair", "read"))),
    Call(flip_flop.question, tokens=tokens(STRING, names=("tokens", "pair", "read")),
         demonstration=tokens(STRING, allows="None", names=("tokens", "pair", "read"))),
    Call(flip_flop.carry_symbols, a=array(DIGITS), b=array(DIGITS)),
    Call(flip_flop.sum_digits, a=array(DIGITS), b=array(DIGITS)),
    Call(AttentionPenalty, weight=number(0.1, allows=("0", "array of four axes", "tokens far outside")),
         kind=thing("l2"),
         schedule=thing("linear"), start=count(1, allows="0", names="steps"),
         steps=count(10, allows=("2**40", "2**70"))),
    Call(PENALTY.factor, step=whole(3)),
    Call(PENALTY.of, attention=array(ROWS, allows=(SHORTER, "entry 10**6", "plus .5", "array of four axes"))),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)


def test_strings_that_cannot_be_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="there is nothing to remember before one"):
        flip_flop.as_sentences([1, 3, 0, 3])
    with pytest.raises(ValueError, match="it must be an even number from 4 on"):
        FlipFlop(7, p_ignore=0.5)
    with pytest.raises(ValueError, match=r"p sums to 0.9; it must sum to 1"):
        FlipFlop(8, [0.2, 0.2, 0.5])
    with pytest.raises(ValueError, match="a question ends in one"):
        flip_flop.question([0, 3, 2, 3])
    with pytest.raises(ValueError, match="p is under a trace"):
        jax.jit(lambda p: FlipFlop(8, p).optimal_loss())(np.array([0.2, 0.3, 0.5]))
