"""Every sampler on small worlds, named and random, against `theory.guided`, which shares no code with it.

All worlds are tables over prefixes of at most four of three tokens, and every sampler is one program for all
of them, that of `test_laws` if it has run before. Drawn are 1024 strings, 4096 in the long test; total
variation exceeds `sum sqrt(p (1 - p) / n) / 2 + sqrt(log(1e9) / 2n)` with probability at most 1e-9. Strings
of probability zero never come. `test_laws` has the same samplers with their numbers of calls.
"""

import itertools

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import LENGTH, NODES, VOCAB, Scores, Tables, node

from minicosm.decoding import (
    VGB,
    ActionLevelRejection,
    Ancestral,
    Backtracking,
    BestOfN,
    BlockBestOfN,
    Rejection,
    Status,
    TokenwiseRejection,
    ValueGuided,
    sample,
)
from minicosm.theory.guided import laws
from minicosm.theory.guided.backtracking import Backtracking as Rules
from minicosm.theory.guided.holding import HoldingWalk
from minicosm.theory.guided.prefix_tree import PrefixTree
from minicosm.worlds import (
    GuidedWorld,
    biased_coin,
    biased_coin_table,
    delayed_table,
    delayed_value,
    needle,
    secret_parity,
    some_zero,
)

CHUNK = 1024


class Case:
    """A world with scores in [0, 1], as tables over prefixes."""

    def __init__(self, world: GuidedWorld, log_table, count: int = CHUNK):
        self.count = count
        self.world, self.log_table = world, np.asarray(log_table, float)
        self.laws = np.full((NODES, VOCAB), 1 / VOCAB)
        self.scores, self.valid = np.zeros(NODES), np.zeros(NODES)
        for h in range(world.horizon + 1):
            for s in itertools.product(range(world.vocab), repeat=h):
                state = 0
                for i, a in enumerate(s):
                    state = world.step[i, state, a]
                self.scores[node(s)] = np.exp(self.log_table[h, state])
                if h < world.horizon:
                    self.laws[node(s)] = 0
                    self.laws[node(s), : world.vocab] = world.base[h, state]
                else:
                    self.valid[node(s)] = world.log_tilt[state] > -np.inf
        # Longer strings, which only the last row makes, are worth what their beginnings are.
        for i in range(node((0,) * (world.horizon + 1)), NODES):
            parent = (i - 1) // VOCAB
            self.scores[i], self.valid[i] = self.scores[parent], self.valid[parent]

    def draw(self, sampler, scores=None, **options):
        # One string more, of full length, so that all worlds have one shape.
        lengths = np.full(self.count, self.world.horizon)
        lengths[-1] = LENGTH
        trace = sample(
            sampler,
            Tables(self.laws),
            Scores(self.scores if scores is None else scores),
            np.zeros((self.count, 0), np.int32),
            jax.random.key(int(self.laws.sum() * 1e6) % 2**31),
            length=lengths,
            chunk=CHUNK,
            segment=16,
            **options,
        )
        return trace

    def check(self, trace, law, misses=Status.FAILED):
        """`law` over all complete strings; what is missing to one has the status `misses`."""
        tokens, status = trace.tokens[:-1], trace.status[:-1]
        H, K = self.world.horizon, self.world.vocab
        done = status == Status.DONE
        assert (status[~done] == misses).all()
        assert (trace.lengths[:-1][done] == H).all()
        codes = tokens[done, :H] @ K ** np.arange(H - 1, -1, -1)
        assert (tokens[done, :H] < K).all()
        seen = np.append(np.bincount(codes, minlength=K**H), (~done).sum())
        p = np.clip(np.append(law, 1 - np.sum(law)), 0, None)
        p[p < 1e-12] = 0
        assert not seen[p == 0].any()
        n = len(tokens)
        bound = np.sqrt(p * (1 - p) / n).sum() / 2 + np.sqrt(np.log(1e9) / (2 * n))
        assert np.abs(seen / n - p).sum() / 2 <= bound


def samplers_have_their_laws(case: Case):
    world, table = case.world, case.log_table
    H, tree = world.horizon, PrefixTree(world, table)
    free = case.draw(Ancestral())
    case.check(free, laws.ancestral(world).law)
    assert (free.calls[:-1] == H).all() and (free.verifier_calls == 0).all()

    if world.log_partition() > np.log(0.05) and set(world.log_tilt) <= {0.0, -np.inf}:
        case.check(case.draw(Rejection(), case.valid), laws.rejection(world).law)
    kept = case.draw(BestOfN(count=3))
    case.check(kept, laws.best_of_n(world, table, 3).law)
    assert (kept.calls[:-1] == 3 * H).all() and (kept.verifier_calls[:-1] == 3).all()
    blocks = case.draw(BlockBestOfN(count=2, size=2))
    case.check(blocks, laws.block_best_of_n(world, table, 2, 2).law)
    assert (blocks.calls[:-1] == 2 * H).all()

    guided = case.draw(ValueGuided())
    law = laws.value_guided(world, table).law
    case.check(guided, law)
    assert np.array_equal(guided.verifier_calls, VOCAB * guided.calls)
    dead_ends = law.sum() < 1 - 1e-9  # then rows fail after too few draws to have their law
    truth = np.where(table > -np.inf, 0.0, -np.inf)
    if not dead_ends:
        case.check(case.draw(ActionLevelRejection(redraws=10_000)), law)
    tokenwise = laws.tokenwise_rejection(world, truth)
    if tokenwise.calls < np.inf:
        whole = case.draw(TokenwiseRejection(threshold=1e-6))
        case.check(whole, tokenwise.law)
        assert np.array_equal(whole.calls, whole.verifier_calls)
        assert np.array_equal(whole.calls - whole.backtracks, whole.lengths)

    for quota, stride, checked in ((1, 2, False), (2, 1, True)):
        rules = Rules(quota, stride, check_during_refill=checked)
        trace = case.draw(Backtracking(quota=quota, stride=stride, check_during_refill=checked))
        case.check(trace, laws.backtracking(world, table, rules).law)
        assert (trace.calls <= trace.lengths + stride * trace.backtracks).all()

    if tree.weight[0] == 0:
        for kind in ("none", "repeat"):
            stuck = case.draw(VGB(steps=9, proposals=kind, redraws=9, lazy=False))
            assert (stuck.status[:-1] == Status.FAILED).all()
            assert "no valid completion" in stuck.explain(0)
        return
    steps = 2 * H + 1
    for output in ("last", "uniform"):
        law = laws.vgb_stationary(
            world, table, steps, uniform_time=output == "uniform", rerun=False
        ).law
        case.check(case.draw(VGB(output=output, steps=steps, rerun=False)), law, Status.INTERIOR)
    repeated = VGB(steps=steps, proposals="repeat", rerun=False)
    last = laws.vgb_stationary(world, table, steps, rerun=False).law
    case.check(case.draw(repeated), last, Status.INTERIOR)
    first = VGB(output="first_leaf", steps=3 * H, rerun=False)
    case.check(case.draw(first), laws.vgb_first_leaf(world, table, 3 * H).law, Status.INTERIOR)
    if tree.value[0] > 0:
        walk = HoldingWalk(tree)
        held = VGB(steps=steps, proposals="hold", envelope=walk.bound, rerun=False)
        case.check(case.draw(held), walk.after(steps)[tree.leaves], Status.INTERIOR)


AUTOMATA = {
    "seed": st.integers(0, 10**6),
    "states": st.integers(1, 4),
    "vocab": st.integers(1, VOCAB),
    "horizon": st.integers(1, LENGTH),
}


@settings(max_examples=4)
@given(**AUTOMATA)
def test_random_automata(seed, states, vocab, horizon):
    on_a_random_automaton(seed, states, vocab, horizon)


@pytest.mark.long
@settings(max_examples=50)
@given(**AUTOMATA)
def test_many_random_automata(seed, states, vocab, horizon):
    on_a_random_automaton(seed, states, vocab, horizon, 4 * CHUNK)


def on_a_random_automaton(seed, states, vocab, horizon, count=CHUNK):
    """Probabilities and scores are zero or of a few sizes, so that many are equal."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, (horizon, states, vocab))
    weights[..., 0] += weights.sum(-1) == 0
    world = GuidedWorld(
        rng.integers(0, states, weights.shape),
        weights / weights.sum(-1, keepdims=True),
        np.where(rng.random(states) < 0.7, 0.0, -np.inf),
    )
    with np.errstate(divide="ignore"):
        table = np.log(rng.choice([0, 0.25, 0.5, 1, 1], (horizon + 1, states)))
    samplers_have_their_laws(Case(world, table, count))


def named():
    parity, coin, late = secret_parity((0, 1, 1)), biased_coin(4), delayed_value(3, 2.0)
    for world in (needle(4), some_zero(3)):
        yield world, np.where(world.feasible(), 0.0, -np.inf)
    yield parity, np.where(parity.feasible(oracle=False), 0.0, -np.inf)
    for world, table in (
        (coin, biased_coin_table(coin, 0.5)),
        (late, delayed_table(late, 2.0)),
    ):
        yield world, table - table.max()  # scores of at most one


@pytest.mark.parametrize("index", range(5))
def test_named_worlds(index):
    samplers_have_their_laws(Case(*list(named())[index]))
