"""Hostile calls of the theory of guided generation: a bad argument meets one sentence that names it."""

import numpy as np
import pytest

from hostile import (
    Call,
    array,
    count,
    faults,
    flag,
    key,
    not_called,
    positive,
    probability,
    report,
    thing,
    tokens,
    whole,
)
from minicosm.theory import guided
from minicosm.theory.guided import (
    Backtracking,
    HoldingWalk,
    LumpedTree,
    PrefixTree,
    constrained,
    dyck_sandbox,
    laws,
    mixing,
)
from minicosm.worlds import Knapsack, biased_coin, biased_coin_table, needle

pytestmark = pytest.mark.usefixtures("unchecked_types")

WORLD = biased_coin(2)
VALUES = biased_coin_table(WORLD, 0.3)
TREE, EXACT, LUMPED = PrefixTree(WORLD, VALUES), PrefixTree(WORLD), LumpedTree(WORLD, VALUES)
HOLDING = HoldingWalk(TREE)
SETTINGS = Backtracking(1, 1)
SACK = Knapsack((1, 2, 4), 3)
LARGE = ("2**40", "2**70")
NUMBERS = ("entry -1", "entry 10**6", "plus .5")  # where any finite number will do
LOGS = ("entry -1", "plus .5")  # logarithms of values: small enough for a double

TIMES = count(2, allows=LARGE)
tree, exact, world = thing(TREE), thing(EXACT), thing(WORLD)
table = array(VALUES, allows=LOGS)
maybe_table = array(VALUES, allows=(*LOGS, "None"))
log_table = array(VALUES, allows=NUMBERS)
settings = thing(SETTINGS)
law = array([0.25, 0.25, 0.5])
lacking = array([0.25, 0.25, 0.25])
nodes = array(np.full(7, 1 / 7))
share = probability(0.5)
secret = array(np.array([1, 0]), allows=("[]", "one entry less"))
accepts = array(WORLD.feasible())
skeleton = array(np.array([1, 1, -1, -1]))
steps = count(3)
bits = count(3)
OPENING = {"opening": share, "deepest": count(3, allows=("None", *LARGE))}

TREES = (
    "convergence_with_laziness",
    "first_leaf",
    "first_leaf_of_exact_values",
    "footnote_12_as_printed",
    "gap_bounds",
    "holding_on_rejection",
    "holding_with_an_envelope",
    "law_of_the_leaves",
    "least_mass_of_the_leaves",
    "mass_of_the_leaves",
    "masses_of_levels",
    "no_convergence_without_laziness",
    "plain_guidance",
    "spectrum",
    "spread_of_the_first_leaf",
    "stationary_law",
    "time_to_the_root",
)

CALLS = [
    *[Call(getattr(guided, name), tree=exact) for name in TREES],
    Call(guided.coverage, tree=tree, steps=steps),
    Call(guided.decay, tree=tree, steps=count(3, allows="0")),
    Call(guided.law_at_every_time, tree=exact, steps=count(3)),
    Call(guided.scaled_levels, tree=tree, factor=positive(2.0, allows="True")),
    Call(guided.scaled_below_the_leaves, world=world, scale=positive(2.0)),
    Call(guided.sinclair_jerrum, world=world),
    Call(guided.feasibility_stalls, horizon=bits),
    Call(guided.repeated_proposals, tree=tree, envelope=positive(2.0)),
    Call(guided.HoldingWalk, tree=tree, bound=positive(2.0, allows="None")),
    Call(HOLDING.advance, law=nodes),
    Call(HOLDING.after, steps=count(3, allows="0")),
    Call(HOLDING.calls, steps=count(3, allows="0")),
    Call(guided.PrefixTree, world=world, log_table=maybe_table),
    Call(TREE.nodes, level=count(1, allows="0")),
    Call(TREE.over_children, values=array(np.ones(7), allows=NUMBERS)),
    Call(TREE.given_leaf, law=nodes),
    Call(TREE.advance, law=nodes, lazy=flag(True)),
    Call(TREE.after, steps=count(3, allows="0"), lazy=flag(True)),
    Call(TREE.at_uniform_time, steps=steps),
    Call(TREE.reached_by, steps=count(3, allows="0")),
    Call(TREE.kernel, lazy=flag(True)),
    Call(TREE.spectrum, lazy=flag(True)),
    Call(TREE.hitting_time, lazy=flag(True)),
    Call(TREE.guided_law, value=array(np.ones(7), allows=("entry 10**6", "plus .5"))),
    Call(guided.LumpedTree, world=world, log_table=array(VALUES, allows=(*NUMBERS, "None"))),
    Call(LUMPED.kl, table=array(VALUES, allows=NUMBERS)),
    Call(LUMPED.hitting_time, lazy=flag(True)),
    Call(
        guided.Backtracking,
        quota=count(1, allows="0"),
        stride=count(1, allows=LARGE),
        threshold=positive(0.5, allows="0"),
        refill=thing("argmax"),
        check_during_refill=flag(False),
        check_prompt=flag(False),
        erasable_prompt=whole(0, allows="None"),
        once_per_prefix=flag(False),
        force_first=flag(False),
    ),
    Call(
        guided.backtracking,
        world=world,
        log_table=log_table,
        settings=settings,
        prompt=tokens([0], allows="[]"),
        end=thing(1, allows=("None", "0")),
    ),
    Call(guided.query_count, world=world, log_table=log_table, settings=settings),
    Call(
        guided.lagged_errors,
        length=count(3),
        position=count(1),
        lag=count(1, allows=("0", *LARGE)),
        chance=thing(0.2, allows="0"),
        settings=settings,
    ),
    Call(
        guided.last_token_errors,
        target=array([0.25, 0.75], names="ratio"),
        ratio=array([1.0, 2.0], allows=("entry 10**6", "plus .5")),
        horizon=count(3),
    ),
    Call(guided.biased_coin_errors, horizon=count(3), bias=thing(0.5, allows="0")),
    Call(guided.delayed_errors, horizon=count(3), weight=positive(2.0)),
    Call(guided.tv, p=lacking, q=lacking),
    Call(guided.kl, p=lacking, q=lacking),
    Call(guided.equation_3_4, length=count(4), opening=share),
    Call(guided.flipped_diversity, prefix=count(28, allows="0")),
    Call(guided.theorem_3_1_1, bits=bits),
    Call(guided.theorem_3_1_1_as_printed, bits=bits),
    Call(
        guided.short_queries,
        secrets=array(np.array([[0, 1], [1, 1]]), allows=("one entry less", "[[]]")),
    ),
    Call(guided.searches, secret=secret, key=key(), count=count(3)),
    Call(guided.verifier_calls, secret=secret),
    Call(guided.theorem_3_1_2, knapsack=thing(SACK)),
    Call(guided.superincreasing_weights, knapsack=thing(SACK)),
    Call(guided.proposition_3_1_1, length=bits),
    Call(guided.proposition_3_1_2, length=bits),
    Call(guided.tokenwise_calls_of_uniform_bits, world=world),
    # the modules
    Call(constrained.rejection_calls, world=world),
    Call(constrained.tokenwise_rejection, world=world, accepts=accepts),
    Call(constrained.restart_calls, world=world, accepts=accepts),
    Call(constrained.verifier_enumeration, verifier=thing(needle(2).feasibility_verifier())),
    Call(
        dyck_sandbox.opening_probability,
        depth=whole(1),
        left=whole(3),
        **OPENING,
    ),
    Call(dyck_sandbox.depth_law, length=count(4), **OPENING),
    Call(dyck_sandbox.entropy, length=count(4), square=share, **OPENING),
    Call(
        dyck_sandbox.completions,
        depth=count(2, allows=("0", *LARGE)),
        left=count(4, allows="0"),
        types=count(2, allows=LARGE),
    ),
    Call(
        dyck_sandbox.distinct_completions,
        depth=count(2, allows="0"),
        left=count(4, allows="0"),
        square=share,
        opening=share,
        samples=TIMES,
    ),
    Call(
        dyck_sandbox.ideal_diversity,
        prefix=count(2, allows="0"),
        length=count(4),
        square=share,
        opening=share,
        samples=TIMES,
    ),
    Call(dyck_sandbox.skeletons, length=count(4)),
    Call(dyck_sandbox.printed_weight, skeleton=skeleton, opening=share, strict=flag(True)),
    Call(dyck_sandbox.process_probability, skeleton=skeleton, opening=share),
    Call(laws.strings, world=world),
    Call(laws.ancestral, world=world),
    Call(
        laws.truncated,
        world=world,
        temperature=positive(0.5, allows="0"),
        top_k=count(1, allows=("None", *LARGE)),
        top_p=probability(0.9, allows="0"),
    ),
    Call(laws.rejection, world=world, attempts=count(2, allows=("None", *LARGE))),
    Call(laws.best_of_n, world=world, log_table=table, n=TIMES),
    Call(laws.block_best_of_n, world=world, log_table=table, n=TIMES, block=TIMES),
    Call(laws.value_guided, world=world, log_table=table),
    Call(laws.tokenwise_rejection, world=world, log_table=log_table),
    Call(laws.action_rejection, world=world, log_table=table, envelope=positive(2.0)),
    Call(laws.backtracking, world=world, log_table=log_table, settings=settings),
    Call(laws.vgb_first_leaf, world=world, log_table=table, steps=count(3, allows=("None", "0"))),
    Call(
        laws.vgb_stationary,
        world=world,
        log_table=table,
        steps=count(4),
        uniform_time=flag(False),
        rerun=flag(True),
    ),
    Call(mixing.exact_spectrum, tree=exact),
    Call(mixing.exact_gap, tree=exact),
    Call(mixing.errors, tree=tree),
    Call(mixing.gap_bounds, tree=tree),
    Call(mixing.subtree_mass, tree=tree),
    Call(mixing.tv_curve, tree=tree, steps=count(3, allows="0")),
    Call(
        mixing.tv_bound,
        root_mass=thing(0.25, allows="True"),
        gap=probability(0.1),
        steps=count(3, allows="0"),
    ),
    Call(
        mixing.sufficient_steps,
        horizon=count(3, allows=LARGE),
        kappa=thing(1.5, allows=("2.5", "2**40", "2**70", "True")),
        delta=thing(0.1, allows="True"),
    ),
    Call(mixing.root_time, tree=tree),
    Call(mixing.coverage, tree=tree, steps=count(3)),
]


def test_every_front_door_is_in_the_table():
    assert not not_called(guided, CALLS)


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
