"""The other methods of worlds meet hostile arguments with one sentence, as those of `test_hostile_worlds`."""

import jax
import numpy as np
import pytest
from test_hostile_worlds import (
    AT,
    BRACKETS,
    COIN,
    COMPLETE,
    EMBEDDED,
    FREE,
    HIDDEN,
    MASKS,
    OBSERVED,
    PHRASES,
    REMEMBERING,
    ROWS,
    SPINS,
    STRING,
    TABLE,
    TASK,
)

import minicosm.worlds as worlds
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
from minicosm.worlds import MaskLaw
from minicosm.worlds.joint import random_ising

pytestmark = pytest.mark.usefixtures("unchecked_types")

TOKENS = tokens([0, 1, 1], names="observed")
SEEN = {"tokens": TOKENS, "observed": OBSERVED}
MEMORY_ROWS = np.asarray(REMEMBERING.embed(np.array([0, 1, 1])))
TEXT = ("[]", "entry -1", "tokens below zero")
ENDING = COMPLETE.with_end()
CLIQUE = worlds.CliqueIsing(3, 2, 0.5, 0.1)
KNAPSACK = worlds.Knapsack.random(jax.random.key(0), 3, largest=10)
SOURCES = {
    "source_length": count(2, names="source of"),
    "target_length": count(3, names="target of"),
}
OF_TASK = {"world": thing(HIDDEN), "tokens": tokens([0, 1, 1])}
STATES = array([0, 1], allows=("entry 10**6", "tokens far outside", "one entry less", "[]"))
RECOVERABLE = worlds.recoverable_memory_world(
    jax.random.key(0), values=2, cells=1, syntax=2, vocab=4
)
LEAVES = [np.array([[0.5, 0.5]]), np.array([[0.2, 0.8], [0.5, 0.5]])]

LINE, WIDE = worlds.GaussianMean(2.0), worlds.DiagonalGaussian([0.1], [2.0], [0.0], [1.0])
FINITE = worlds.FiniteFamily([[-1.0], [0.0], [1.0]], [0.2, 1.0, 0.5], [0.4], [0.0])
NODES = count(5)


PAIR = ("tokens far outside", "tokens below zero")  # as two numbers


def family(world, theta, x, *, allows=FREE, finite=FREE):
    """The calls that every exponential family has; its laws are those whose partition is `finite`."""
    parameter = array(theta, allows=finite)
    own = [
        Call(world.log_partition, theta=array(theta, allows=allows)),
        *(Call(getattr(world, name), theta=parameter) for name in ("mean", "covariance")),
    ]
    points = [Call(getattr(world, name), x=x) for name in ("statistics", "log_base")]
    return [
        *own,
        *points,
        Call(world.sample, key=key(), theta=parameter),
        Call(world.extended, theta=array(theta, allows=allows)),
        Call(world.fisher, theta=parameter),
        Call(world.log_bhattacharyya, first=parameter, second=parameter),
        Call(
            world.log_density,
            tau=array([*theta, 1.0], allows=(*FREE, *(PAIR if len(theta) == 1 else ()))),
            x=x,
        ),
        Call(world.grid, nodes=NODES),
    ]


CALLS = [
    *family(LINE, [0.5], number(0.3)),
    *family(
        WIDE,
        [0.5, 0.1],
        array([0.3], allows=FREE),
        allows=(*FREE, *PAIR),
        finite=[name for name in FREE if name != "entry -1"],
    ),
    *family(FINITE, [0.5], whole(1)),
    Call(FINITE.law, theta=array([0.5], allows=FREE)),
    Call(HIDDEN.messages, embeddings=array(EMBEDDED, allows=ROWS)),
    Call(REMEMBERING.embed, **SEEN),
    Call(REMEMBERING.conditionals, **SEEN),
    Call(REMEMBERING.predict, embeddings=array(MEMORY_ROWS, allows=ROWS, names="at["), at=AT),
    Call(REMEMBERING.messages, embeddings=array(MEMORY_ROWS, allows=ROWS)),
    Call(REMEMBERING.aggregate, embeddings=array(MEMORY_ROWS, allows=ROWS)),
    Call(REMEMBERING.supports, embeddings=array(MEMORY_ROWS, allows=ROWS)),
    Call(REMEMBERING.next_logits, tokens=tokens([0, 1, 1])),
    Call(REMEMBERING.text, tokens=tokens([0, 1, 1], allows=TEXT)),
    Call(CLIQUE.mode, sign=thing(1, allows="-1")),
    *[
        Call(method, tokens=tokens(STRING))
        for method in (
            BRACKETS.closing_query, BRACKETS.copy_targets, BRACKETS.depths, BRACKETS.is_prefix,
            BRACKETS.stack_tops, BRACKETS.token_depths, COMPLETE.end_probabilities,
        )
    ],
    Call(BRACKETS.next_token, prefix=tokens(STRING, allows="[]")),
    Call(BRACKETS.depth_marginals, length=count(4)),
    Call(worlds.Dyck.uniform, types=count(2), depth=count(3)),
    Call(COMPLETE.next_logits, tokens=tokens(STRING), start=flag(False)),
    Call(COMPLETE.optimal_loss, kind=thing("squared")),
    *[Call(w.text, tokens=tokens([0, 2, 3], allows=TEXT)) for w in (COMPLETE, ENDING)],
    Call(worlds.EndingDyck, complete=thing(COMPLETE)),
    *[Call(w.text, tokens=tokens([0, 1], allows=TEXT)) for w in (PHRASES, COIN, SPINS, TABLE)],
    *[Call(m, **SOURCES) for m in (PHRASES.best_lengths, PHRASES.product_decoder, PHRASES.total_correlation)],
    Call(PHRASES.log_probs, source=array([[0, 1]], names="source_length"), source_lengths=array([2]),
         target=array([[0, 2, 3]], names="lengths"), lengths=array([3], names="target")),
    Call(PHRASES.length_law, source_length=count(2)),
    *[Call(method, oracle=flag(True)) for method in (COIN.feasible, COIN.feasibility_verifier)],
    Call(COIN.verifier, log_table=array(COIN.log_values(), allows=("entry -1", "entry 10**6", "plus .5"))),
    Call(worlds.Ising.from_parameters, theta=array([0.1, 0.2, 0.3], allows=FREE),
         length=count(2, names="spins")),
    Call(random_ising, key=key(), length=count(3), field=number(0.5), coupling=number(0.5)),
    Call(TABLE.conditional, tokens=tokens([0, 1]), mask=array([True, False])),
    Call(TABLE.number, tokens=tokens([0, 1], allows="one axis more")),
    Call(worlds.Knapsack, weights=thing((1, 2, 3)), target=count(3, allows=("0", "2**40", "2**70"))),
    Call(KNAPSACK.world, one=probability(0.5)),
    Call(MaskLaw, masks=array(MASKS.masks, names="weights"),
         weights=array(MASKS.weights, allows="one axis more", names="masks")),
    Call(MaskLaw.adaptive, masks=thing([[0], [1]], names="table"), length=count(2, names="positions"),
         table=array(np.full((4, 2), 0.5), allows=("one entry less", "entry 10**6", "plus .5"))),
    Call(MASKS.check, joint=thing(TABLE)),
    Call(MASKS.items, states=count(4)),
    Call(MASKS.table, states=count(4)),
    Call(MASKS.log_prob, mask=array(MASKS.masks[0]), state=count(1, allows="0")),
    Call(REMEMBERING.lift, rows=array(np.ones((2, 4)), allows=(*FREE, "one entry less", "one axis more"))),
    Call(REMEMBERING.unlift, lifted=array(np.ones((2, 2)), allows=(*FREE, "one axis more"))),
    *[Call(m, **OF_TASK) for m in (TASK.label, TASK.law, TASK.margin, TASK.scores)],
    Call(TASK.observed, length=count(3)),
    Call(worlds.biased_coin, horizon=count(3)),
    Call(worlds.some_zero, horizon=count(3)),
    Call(worlds.nonstationary, task=thing(RECOVERABLE), key=key()),
    Call(worlds.tree_world, base=thing(LEAVES), log_tilt=array([0.0, 1.0, 2.0, 3.0], allows=FREE)),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
