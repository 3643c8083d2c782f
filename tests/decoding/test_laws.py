"""At 100,000 strings every sampler has the law and the number of calls of its chain, solved exactly.

A law is compared by Pearson's statistic at the level 1e-4 and by total variation, which exceeds
`sum sqrt(p (1 - p) / n) / 2 + sqrt(log(1e4) / 2n)` with probability at most 1e-4; strings of
probability zero never come. Mean counts are within 4.5 standard errors.
"""

import chains
import jax
import numpy as np
import pytest
from scipy.stats import chi2
from tables import END, LENGTH, Scores, World, leaves

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
    sample,
)

COUNT = 100_000
WORLD = World(28)
NAMES = {Status.DONE: "done", Status.FAILED: "failed", Status.INTERIOR: "interior"}


def draw(sampler, scores, prompt=(), generator=None, count=COUNT):
    prompts = np.tile(np.asarray(prompt, np.int32), (count, 1))
    generator = WORLD.generator if generator is None else generator
    return sample(
        sampler,
        generator,
        None if scores is None else Scores(scores),
        prompts,
        jax.random.key(7),
        length=LENGTH,
        end=END,
        chunk=4096,
        segment=16,
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
    "temperature, top_p", [(1.0, 1.0), (1.0, 0.7), (0.6, 0.9), (0.0, 1.0), (1.0, 0.0)]
)
def test_ancestral(temperature, top_p):
    laws = referee_truncation(WORLD.laws, temperature, None, top_p)
    trace = draw(Ancestral(temperature=temperature, top_p=top_p), None)
    check(trace, chains.solve(chains.ancestral(laws), ()))


def test_ancestral_from_the_top_k_and_their_nucleus():
    laws = referee_truncation(WORLD.laws, 1.5, 2, 0.7)
    trace = draw(Ancestral(temperature=1.5, top_k=2, top_p=0.7), None)
    check(trace, chains.solve(chains.ancestral(laws), ()))
    wrapped = Truncated(WORLD.generator, Ancestral(temperature=1.5, top_k=2, top_p=0.7))
    again = draw(Ancestral(top_k=3), None, generator=wrapped, count=2000)
    assert np.array_equal(again.tokens, trace.tokens[:2000])


def test_rejection():
    trace = draw(Rejection(), WORLD.feasible)
    outcome = chains.solve(chains.rejection(WORLD), ())
    check(trace, outcome)
    for s in leaves():  # which is the law given that the string is valid
        if WORLD.valid[s] and chains.Ended(s) in outcome.law:
            p = np.prod([WORLD.laws[chains.node(s[:i]), a] for i, a in enumerate(s)])
            assert outcome.law[chains.Ended(s)] == pytest.approx(p / WORLD.values[0])


def test_best_of_n():
    moves, start = chains.best_of(WORLD, WORLD.noisy, 3, LENGTH)
    check(draw(BestOfN(count=3), WORLD.noisy), chains.solve(moves, start))


def test_block_best_of_n():
    moves, start = chains.best_of(WORLD, WORLD.noisy, 3, 2)
    check(draw(BlockBestOfN(count=3, size=2), WORLD.noisy), chains.solve(moves, start))


def test_tokenwise_rejection():
    outcome = chains.solve(chains.tokenwise(WORLD, WORLD.feasible), ())
    check(draw(TokenwiseRejection(), WORLD.feasible), outcome)


def test_action_level_rejection():
    outcome = chains.solve(chains.tokenwise(WORLD, WORLD.noisy * WORLD.feasible), ())
    check(draw(ActionLevelRejection(), WORLD.noisy), outcome)


def test_value_guided_where_it_can_fail():
    scores = np.where(WORLD.noisy > 0, WORLD.noisy, 0.05)
    for s in leaves():
        scores[chains.node(s)] = WORLD.valid[s]
    outcome = chains.solve(chains.value_guided(WORLD, scores), ())
    assert any(end.status == "failed" for end in outcome.law)
    check(draw(ValueGuided(), scores), outcome)


def test_verifier_enumeration_asks_the_generator_nothing():
    trace = draw(VerifierEnumeration(), WORLD.feasible, count=2000)
    first = min(s for s in leaves() if WORLD.feasible[chains.node(s)])
    assert trace.string(0).tolist() == list(first) and trace.done.all()
    assert (trace.calls == 0).all() and (trace.verifier_calls == sum(first) + len(first)).all()


@pytest.mark.parametrize("output, steps", [("last", 9), ("uniform", 9), ("first_leaf", None)])
def test_vgb(output, steps):
    name = "first" if output == "first_leaf" else output
    moves, start = chains.vgb(WORLD, WORLD.noisy, name, steps or 0, rerun=False)
    trace = draw(VGB(output=output, steps=steps, rerun=False), WORLD.noisy)
    check(trace, chains.solve(moves, start))


def test_vgb_run_again_until_it_ends_at_a_leaf():
    moves, start = chains.vgb(WORLD, WORLD.noisy, "last", 9, rerun=True)
    check(draw(VGB(steps=9), WORLD.noisy, count=20_000), chains.solve(moves, start))


def test_vgb_by_proposals_has_the_same_law():
    moves, start = chains.vgb(WORLD, WORLD.noisy, "last", 9, rerun=False)
    outcome = chains.solve(moves, start)
    trace = draw(VGB(steps=9, rerun=False, proposals=True), WORLD.noisy)
    counted = outcome._replace(calls=trace.calls.mean(), verifier_calls=trace.verifier_calls.mean())
    check(trace, counted)
    assert np.array_equal(trace.calls, trace.verifier_calls)


ODD = np.random.default_rng(0).permutation(np.linspace(0, 1, len(WORLD.noisy)))
ODD = np.where(WORLD.feasible > 0, np.maximum(ODD, 0.3), ODD)
SWITCHES = [
    {"quota": 1, "stride": 1},
    {"quota": 2, "stride": 3},
    {"quota": 3, "stride": 2, "check_during_refill": True},
    {"quota": 2, "stride": 2, "erasable_prompt": 1},
    {"quota": 3, "stride": 2, "check_prompt": True, "erasable_prompt": 2},
    {"quota": 2, "stride": 2, "force_first": True, "erasable_prompt": 2},
]


@pytest.mark.parametrize("switches", SWITCHES)
@pytest.mark.parametrize("prompt", [(), (0, 1)])
def test_backtracking(switches, prompt):
    moves, start, extra = chains.backtracking(WORLD, ODD, prompt, **switches)
    check(draw(Backtracking(**switches), ODD, prompt), chains.solve(moves, start), extra)


@pytest.mark.parametrize(
    "switches",
    [
        {"quota": 2, "stride": 2, "refill": "none"},
        {"quota": 3, "stride": 2, "refill": "index", "check_during_refill": True},
        {"quota": 3, "stride": 2, "once_per_prefix": True, "erasable_prompt": None},
    ],
)
def test_backtracking_in_other_ways(switches):
    moves, start, extra = chains.backtracking(WORLD, ODD, (0, 1), **switches)
    check(draw(Backtracking(**switches), ODD, (0, 1)), chains.solve(moves, start), extra)
