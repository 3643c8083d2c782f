"""Every sampler has the law and the number of calls of its chain, solved exactly.

4096 strings each, and 100,000 (20,000 for some switches) in the long tests.
A law is compared by Pearson's statistic at the level 1e-4 and by total variation, which exceeds
`sum sqrt(p (1 - p) / n) / 2 + sqrt(log(1e4) / 2n)` with probability at most 1e-4; strings of
probability zero never come. Mean counts are within 4.5 standard errors.
"""

import itertools
from types import SimpleNamespace

import chains
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tables
from scipy.stats import chi2
from tables import END, LENGTH, NODES, PrefixWorld, Scores, Tables, leaves

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
    Truncated,
    ValueGuided,
    VerifierEnumeration,
    engine,
    sample,
)
from minicosm.decoding.truncation import choose, truncate

FEW = 1024
WORLD = PrefixWorld(28)
DEAD_ENDS = PrefixWorld(7, end=0.3)
LONG = PrefixWorld(23, end=0.3)  # few strings end early


@pytest.fixture(params=[4 * FEW, pytest.param(100_000, marks=pytest.mark.long)])
def count(request):
    """How many strings; programs that run long are compiled as for users."""
    jax.config.update("jax_disable_most_optimizations", request.param == 4 * FEW)
    yield request.param
    jax.config.update("jax_disable_most_optimizations", True)


NAMES = {Status.DONE: "done", Status.FAILED: "failed", Status.INTERIOR: "interior"}


def draw(sampler, scores, prompt=(), count=FEW, world=WORLD, **options):
    prompts = np.tile(np.asarray(prompt, np.int32), (count, 1))
    return sample(
        sampler,
        world.generator,
        None if scores is None else Scores(scores),
        prompts,
        jax.random.key(7),
        length=LENGTH,
        end=END,
        chunk=FEW,
        **({"segment": 16} | options),
    )


def check(trace, outcome: chains.Outcome, extra=0):
    assert sum(outcome.law.values()) == pytest.approx(1, abs=1e-9)
    counts: dict[chains.Ended, int] = {}
    packed, number = np.unique(
        np.column_stack([trace.tokens, trace.status]), axis=0, return_counts=True
    )
    for row, many in zip(packed, number, strict=True):
        string = tuple(int(a) for a in row[:-1] if a >= 0)
        counts[chains.Ended(string, NAMES[Status(row[-1])])] = int(many)
    possible = {end for end, p in outcome.law.items() if p > 0}
    assert set(counts) <= possible
    p = np.array([outcome.law[end] for end in possible])
    seen = np.array([counts.get(end, 0) for end in possible])
    n = len(trace)
    often = p * n >= 5
    p_table = np.append(p[often], p[~often].sum())
    table = np.append(seen[often], seen[~often].sum())
    keep = p_table > 1e-12
    statistic = np.sum((table - n * p_table)[keep] ** 2 / (n * p_table)[keep])
    assert statistic <= chi2.isf(1e-4, max(keep.sum() - 1, 1))
    bound = np.sum(np.sqrt(p * (1 - p) / n)) / 2 + np.sqrt(np.log(1e4) / (2 * n))
    assert np.abs(seen / n - p).sum() / 2 <= bound
    for found, wanted in (
        (trace.calls, outcome.calls),
        (trace.verifier_calls, outcome.verifier_calls + extra),
    ):
        error = found.std() / np.sqrt(n)
        assert abs(found.mean() - wanted) <= 4.5 * error + 1e-6 * wanted


def referee_truncation(laws, temperature, top_k, top_p):
    """By its words, one law after another."""
    new = np.zeros_like(laws)
    for i, law in enumerate(laws):
        order = sorted(range(len(law)), key=lambda a: (-law[a], a))
        if temperature == 0:
            new[i, order[0]] = 1
            continue
        law = law ** (1 / temperature) / np.sum(law ** (1 / temperature))
        order = order[:top_k]
        total, mass = sum(law[order]), 0.0
        for a in order:
            if mass > 0 and mass >= top_p * total:
                break
            new[i, a] = law[a]
            mass += law[a]
    return new / new.sum(1, keepdims=True)


@pytest.mark.parametrize(
    "temperature, top_k, top_p",
    [(1, None, 1), (0.7, None, 1), (0.7, None, 0.8), (2, 5, 0.9), (0, None, 1)],
)
def test_truncation_of_large_vocabularies(temperature, top_k, top_p):
    """Those are sorted, and not even that where all is kept; with ties."""
    law = np.random.default_rng(0).integers(1, 60, 100).astype(float)
    settings = Ancestral(temperature=temperature, top_k=top_k, top_p=top_p)
    mine = jnp.exp(truncate(jnp.log(law / law.sum()), jax.tree.map(jnp.asarray, settings)))
    (exact,) = referee_truncation(law[None] / law.sum(), temperature, top_k, top_p)
    np.testing.assert_allclose(mine, exact, atol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 64, 65, 100, 513, 1024])
def test_draws_are_where_the_sum_of_the_weights_before_them_says(size):
    """Against sums in float64; also of weights that are mostly zero, and of the largest numbers below 1."""
    draw = np.random.default_rng(size)
    weights = draw.exponential(size=(300, size)) ** 3
    weights *= draw.random((300, size)) < draw.choice([0.02, 0.5, 1], (300, 1))
    weights[np.arange(300), draw.integers(0, size, 300)] += 1e-3
    weights = weights.astype(np.float32)
    numbers = draw.random(300).astype(np.float32)
    numbers[:50], numbers[50:60] = np.nextafter(np.float32(1), np.float32(0)), 0
    numbers[:25] -= np.float32(2**-24)  # as large as JAX draws them
    indices = np.asarray(jax.vmap(choose)(jnp.asarray(numbers), jnp.asarray(weights)))
    mass = np.cumsum(weights.astype(float), 1)
    share = mass[np.arange(300), indices] / mass[:, -1]
    own = weights[np.arange(300), indices] / mass[:, -1]
    assert (own > 0).all()
    assert (share >= numbers - 1e-5).all() and (share - own <= numbers + 1e-5).all()


@pytest.mark.parametrize("temperature, top_p", [(1.0, 1.0), (0.6, 0.9), (0.0, 1.0), (1.0, 0.0)])
def test_ancestral(temperature, top_p, count):
    laws = referee_truncation(WORLD.laws, temperature, None, top_p)
    trace = draw(Ancestral(temperature=temperature, top_p=top_p), None, count=count)
    check(trace, chains.solve(chains.ancestral(laws), ()))


def test_a_generator_cut_to_the_top_k_and_their_nucleus():
    settings = Ancestral(temperature=1.5, top_k=2, top_p=0.7)
    generator = Truncated(WORLD.generator, settings)
    at = jnp.arange(len(WORLD.laws))[:, None]
    laws = jnp.exp(jax.jit(jax.vmap(lambda node: generator.law(node, jnp.int32(0))))(at))
    wanted = referee_truncation(WORLD.laws, 1.5, 2, 0.7)
    np.testing.assert_allclose(laws, wanted, atol=2e-6)


def test_rejection(count):
    trace = draw(Rejection(), WORLD.feasible, count=count)
    outcome = chains.solve(chains.rejection(WORLD), ())
    check(trace, outcome)
    for s in leaves():  # which is the law given that the string is valid
        if WORLD.valid[s] and chains.Ended(s) in outcome.law:
            p = np.prod([WORLD.laws[chains.node(s[:i]), a] for i, a in enumerate(s)])
            assert outcome.law[chains.Ended(s)] == pytest.approx(p / WORLD.values[0])


def test_best_of_n(count):
    moves, start = chains.best_of(WORLD, WORLD.noisy, 3, LENGTH)
    check(draw(BestOfN(count=3), WORLD.noisy, count=count), chains.solve(moves, start))


def test_block_best_of_n(count):
    moves, start = chains.best_of(WORLD, WORLD.noisy, 3, 2)
    trace = draw(BlockBestOfN(count=3, size=2), WORLD.noisy, count=count)
    check(trace, chains.solve(moves, start))


def test_tokenwise_rejection(count):
    outcome = chains.solve(chains.tokenwise(WORLD, WORLD.feasible), ())
    check(draw(TokenwiseRejection(), WORLD.feasible, count=count), outcome)


def test_action_level_rejection(count):
    outcome = chains.solve(chains.tokenwise(WORLD, WORLD.noisy * WORLD.feasible), ())
    check(draw(ActionLevelRejection(), WORLD.noisy, count=count), outcome)


def test_value_guided_where_it_can_fail(count):
    world = DEAD_ENDS
    scores = np.where(world.noisy > 0, world.noisy, 0.05)
    for s in leaves():
        scores[chains.node(s)] = world.valid[s]
    outcome = chains.solve(chains.value_guided(world, scores), ())
    assert sum(p for end, p in outcome.law.items() if end.status == "failed") > 0.01
    check(draw(ValueGuided(), scores, count=count, world=world), outcome)


def test_verifier_enumeration_asks_the_generator_nothing():
    trace = draw(VerifierEnumeration(), WORLD.feasible, count=FEW)
    first = min(s for s in leaves() if WORLD.feasible[chains.node(s)])
    assert trace.string(0).tolist() == list(first) and trace.done.all()
    assert (trace.calls == 0).all() and (trace.verifier_calls == sum(first) + len(first)).all()


@pytest.mark.parametrize("output, steps", [("last", 9), ("uniform", 9), ("first_leaf", 2**20)])
def test_vgb(output, steps, count):
    name = "first" if output == "first_leaf" else output
    moves, start = chains.vgb(WORLD, WORLD.noisy, name, steps, rerun=False)
    trace = draw(VGB(output=output, steps=steps, rerun=False), WORLD.noisy, count=count)
    check(trace, chains.solve(moves, start))


def test_vgb_run_again_until_it_ends_at_a_leaf(count):
    moves, start = chains.vgb(WORLD, WORLD.noisy, "last", 9, rerun=True)
    check(draw(VGB(steps=9), WORLD.noisy, count=min(count, 20_000)), chains.solve(moves, start))


def test_vgb_by_proposals_has_the_same_law(count):
    moves, start = chains.vgb(WORLD, WORLD.noisy, "last", 5, rerun=False)
    same = chains.solve(moves, start)
    moves, start = chains.vgb_by_proposals(WORLD, WORLD.noisy, "repeat", 5, 1.0)
    outcome = chains.solve(moves, start)
    for end, p in outcome.law.items():
        assert same.law[end] == pytest.approx(p, abs=1e-9)
    trace = draw(VGB(steps=5, rerun=False, proposals="repeat"), WORLD.noisy, count=count)
    check(trace, outcome)
    assert np.array_equal(trace.calls, trace.verifier_calls)


def test_vgb_that_holds_on_reject(count):
    """Also that a larger envelope is another walk, and one that is too small is an error."""
    children = [
        (u, 3 * u + 1 + a) for u in range(13) for a in range(3)
    ]  # of strings up to two tokens
    ratios = [WORLD.noisy[v] / WORLD.noisy[u] for u, v in children if WORLD.noisy[u] > 0]
    # Of longer strings too: what is above a child of value zero cannot be reached.
    ratios += [1 / WORLD.noisy[u] for u in range(13, 40) if WORLD.noisy[u] > 0]
    envelope = max(1, *ratios)
    for many, bound in ((count, envelope), (min(count, 20_000), 2 * envelope)):
        moves, start = chains.vgb_by_proposals(WORLD, WORLD.noisy, "hold", 9, bound)
        settings = VGB(steps=9, rerun=False, proposals="hold", envelope=bound)
        check(draw(settings, WORLD.noisy, count=many), chains.solve(moves, start), extra=1)
    small = VGB(steps=9, proposals="hold", envelope=1.0)
    with pytest.raises(ValueError, match="score above the envelope"):
        draw(small, WORLD.noisy, count=FEW)
    empty = WORLD.noisy.copy()
    empty[0] = 0
    trace = draw(settings, empty, count=FEW)
    assert (trace.status == Status.FAILED).all() and (trace.verifier_calls == 1).all()


SWITCHES = [
    ((), {"quota": 2, "stride": 1}),
    ((), {"quota": 3, "stride": 3, "check_during_refill": True}),
    ((0, 1), {"quota": 2, "stride": 2, "erasable_prompt": 1}),
    ((0, 1), {"quota": 3, "stride": 2, "check_prompt": True, "erasable_prompt": 2}),
    ((0, 1), {"quota": 2, "stride": 2, "force_first": True, "erasable_prompt": 2}),
]


@pytest.mark.parametrize("prompt, switches", SWITCHES)
def test_backtracking(prompt, switches, count):
    moves, start, extra = chains.backtracking(LONG, LONG.unrelated, prompt, **switches)
    count = min(count, 20_000) if prompt else count
    trace = draw(Backtracking(**switches), LONG.unrelated, prompt, count, LONG)
    check(trace, chains.solve(moves, start), extra)
    assert (trace.quota_left + trace.backtracks == switches["quota"]).all()


@pytest.mark.parametrize(
    "switches",
    [
        {"quota": 2, "stride": 2, "refill": "none"},
        {"quota": 3, "stride": 2, "refill": "index", "check_during_refill": True},
        {"quota": 3, "stride": 1, "once_per_prefix": True, "check_during_refill": True},
    ],
)
def test_backtracking_in_other_ways(switches, count):
    moves, start, extra = chains.backtracking(LONG, LONG.unrelated, (0, 1), **switches)
    trace = draw(Backtracking(**switches), LONG.unrelated, (0, 1), min(count, 20_000), LONG)
    check(trace, chains.solve(moves, start), extra)
    if trace.fired is not None:
        fired = np.sum(trace.fired_lengths >= 0, axis=1)
        assert np.array_equal(fired, trace.backtracks)
        strings = [tuple(x[x >= 0]) for x in trace.fired[fired > 1][0][:2]]
        assert strings[0] != strings[1]
        assert all(LONG.unrelated[chains.node(x)] < 0.5 for x in strings)


class Binary:
    """Four tokens, each 1 with its own probability, whatever stands before it."""

    def __init__(self, *ones: float):
        laws = np.ones((NODES, 3)) * [0.5, 0.5, 0]
        for n, one in enumerate(ones):
            for s in itertools.product(range(3), repeat=n):
                laws[chains.node(s)] = 1 - one, one, 0
        self.generator = Tables(laws)


def test_calls_of_the_needle(count):
    """Only 0000 is valid: `D 2^D` calls by rejection, `2 D` by tokenwise rejection."""
    scores = np.zeros(NODES)
    for n in range(LENGTH + 1):
        scores[chains.node((0,) * n)] = 1
    world = Binary()
    for sampler, wanted in ((Rejection(), 64), (TokenwiseRejection(), 8)):
        trace = draw(sampler, scores, world=world, count=FEW if count < 20_000 else 20_000)
        assert (trace.tokens == 0).all() and trace.done.all()
        assert abs(trace.calls.mean() - wanted) <= 4.5 * trace.calls.std() / np.sqrt(len(trace))


@pytest.mark.parametrize(
    "stride, quota, refill", [(1, 2, "argmax"), (2, 1, "argmax"), (2, 2, "none")]
)
def test_a_verifier_that_notices_late(stride, quota, refill, count):
    """The second token is wrong with probability .3, and the verifier sees it one token later: with
    the argmax refill accuracy .7 if B <= 1 and 1 if B >= 2, there with `D + .3 B` calls; without a
    refill `1 - .3^(Q+1)` if B >= 2."""
    scores = np.ones(NODES)
    for n in (3, 4):
        for s in itertools.product(range(3), repeat=n):
            scores[chains.node(s)] = s[1] == 0
    settings = Backtracking(quota=quota, stride=stride, refill=refill)
    trace = draw(settings, scores, count=count, world=Binary(0.4, 0.3, 0.4, 0.4))
    right = (trace.tokens[:, 1] == 0).mean()
    wanted = 0.7 if stride == 1 else 1.0 if refill == "argmax" else 1 - 0.3 ** (quota + 1)
    assert abs(right - wanted) <= 4.5 * np.sqrt(wanted * (1 - wanted) / count)
    if stride == 2 and refill == "argmax":
        assert np.array_equal(trace.calls, LENGTH + 2 * trace.backtracks)
        assert abs(trace.backtracks.mean() - 0.3) <= 4.5 * np.sqrt(0.21 / count)


# What follows is here because it uses the programs that the tests above have compiled.

IMPOSSIBLE, ONES = np.zeros(NODES), np.ones(NODES)


EVERY = {
    "ancestral": Ancestral(),
    "rejection": Rejection(),
    "best of n": BestOfN(count=3),
    "blocks": BlockBestOfN(count=3, size=2),
    "tokenwise": TokenwiseRejection(),
    "action level": ActionLevelRejection(),
    "enumeration": VerifierEnumeration(),
    "value-guided": ValueGuided(),
    "backtracking": Backtracking(),
    "VGB": VGB(steps=20),
    "VGB, repeat": VGB(steps=20, proposals="repeat"),
    "VGB, hold": VGB(steps=20, proposals="hold", envelope=99.0),
}


@pytest.mark.parametrize("name", EVERY)
def test_budgets_are_honoured_and_what_there_is_comes_back(name):
    scores = None if name == "ancestral" else LONG.noisy
    for budget in ({"max_calls": 2}, {"max_verifier_calls": 4}):
        if budget == {"max_verifier_calls": 4} and name in ("ancestral", "best of n"):
            continue  # they end before
        few = draw(EVERY[name], scores, count=FEW, world=LONG, **budget)
        assert (few.calls <= budget.get("max_calls", 10**6)).all()
        assert (few.verifier_calls <= budget.get("max_verifier_calls", 10**6)).all()
        spent = few.status == Status.BUDGET
        if name != "enumeration" or "max_verifier_calls" in budget:
            assert spent.any() and "budget was spent" in few.explain(int(np.argmax(spent)))
        assert ((few.tokens >= 0).sum(axis=1) == few.lengths).all()
    late = draw(EVERY[name], scores, count=FEW, world=LONG, seconds=0.0)
    assert (late.status == Status.BUDGET).all() and (late.lengths + late.calls == 0).all()


def test_time_is_kept_by_steps(monkeypatch):
    """A clock that goes on by a second whenever it is looked at. Of ten seconds one step takes the first
    look; after that there is time for about 7, 35, 105 and 105 steps."""
    clock = SimpleNamespace(monotonic=itertools.count(1.0).__next__)
    monkeypatch.setattr(engine, "time", clock)
    seen = []
    late = draw(
        Rejection(),
        IMPOSSIBLE,
        count=3 * FEW,
        seconds=10.0,
        segment=10**8,
        progress=lambda ended, rows: seen.append((ended, rows)),
    )
    assert (late.status == Status.BUDGET).all()
    assert (late.calls[:FEW] == late.calls[0]).all() and 240 <= late.calls[0] <= 253
    assert (late.calls[FEW:] == 0).all() and len(seen) == 6 and seen[-1] == (FEW, 3 * FEW)


def test_the_best_so_far_comes_back():
    few = draw(BestOfN(count=3), WORLD.noisy, count=FEW, max_calls=5)
    assert (few.status == Status.BUDGET).any()
    for row in np.flatnonzero(few.status == Status.BUDGET)[:99].tolist():
        assert tables.is_leaf(string := few.string(row).tolist())
        assert few.score[row] == np.float32(WORLD.noisy[chains.node(string)])
    few = draw(BlockBestOfN(count=3, size=2), WORLD.noisy, count=FEW, max_calls=5)
    spent = few.lengths[few.status == Status.BUDGET]
    assert len(spent) and set(spent) <= {1, 2, 3, 4}
    short = few.lengths == 1
    assert (few.tokens[short & (few.status == Status.BUDGET), 0] == END).all()


def test_no_valid_completion():
    """Said at once where all is known, after a stated number of draws where it is not."""
    for sampler in (ValueGuided(), VGB(output="first_leaf", steps=99), VerifierEnumeration()):
        trace = draw(sampler, IMPOSSIBLE, count=FEW)
        assert (trace.status == Status.FAILED).all() and (trace.lengths == 0).all()
        assert (trace.calls <= 1).all() and (trace.verifier_calls == 3).all()
    for sampler in (
        TokenwiseRejection(redraws=9),
        ActionLevelRejection(redraws=9),
        VGB(output="first_leaf", steps=99, proposals="repeat", redraws=40),
    ):
        trace = draw(sampler, IMPOSSIBLE, count=FEW)
        assert (trace.status == Status.FAILED).all() and (trace.calls <= 40).all()
        assert "accepts no token after the first 0" in trace.explain(0)
        assert "if the verifier is exact, the prompt has no valid completion" in trace.explain(0)


def test_a_token_of_probability_zero_is_not_waited_for():
    """The verifier accepts only a token that the generator never gives."""
    only = np.zeros(NODES)
    only[chains.node((2,))] = 1
    trace = draw(TokenwiseRejection(redraws=9), only, count=FEW, world=Binary())
    assert (trace.status == Status.FAILED).all() and (trace.calls == 9).all()


@pytest.mark.parametrize("name", [name for name in EVERY if name != "ancestral"])
def test_scores_that_are_no_numbers(name):
    sampler = EVERY[name]
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="verifier gave a score that is no finite number"):
            draw(sampler, ONES * value, count=FEW)


def test_bad_scores():
    with pytest.raises(ValueError, match="verifier gave a negative score"):
        draw(ValueGuided(), -ONES, count=FEW)
    with pytest.raises(ValueError, match="score above 1; TokenwiseRejection needs prob"):
        draw(TokenwiseRejection(), 1.5 * ONES, count=FEW)
    with pytest.raises(ValueError, match="score above the envelope"):
        draw(ActionLevelRejection(envelope=0.5), ONES, count=FEW)
    assert draw(ValueGuided(), 1.5 * ONES, count=FEW).done.all()  # values may exceed one
