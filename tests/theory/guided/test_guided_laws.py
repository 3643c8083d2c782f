"""Exact laws of samplers against their rules, carried out over every possible draw."""

import itertools
from collections import defaultdict

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.theory.guided import constrained, hardness, laws
from minicosm.theory.guided import dyck_sandbox as sandbox
from minicosm.theory.guided.backtracking import (
    Backtracking,
    backtracking,
    query_count,
)
from minicosm.theory.guided.closed_forms import lagged_outcome, needle_costs, some_zero_tv
from minicosm.theory.guided.distances import tv
from minicosm.worlds import (
    Knapsack,
    lagged_error,
    needle,
    noisy_table,
    random_tree,
    secret_parity,
    some_zero,
)


def small(seed, K=2, H=3):
    keys = jax.random.split(jax.random.key(seed))
    world = random_tree(keys[0], K, H, zero_laws=0.2)
    return world, noisy_table(world, keys[1], kappa=4.0), np.random.default_rng(seed)


def prefix_state(world, string):
    state = 0
    for h, token in enumerate(string):
        state = world.step[h, state, token]
    return state


def next_law(world, string):
    return world.base[len(string), prefix_state(world, string)]


def as_array(world, law):
    whole = np.zeros(world.vocab**world.horizon)
    for string, mass in law.items():
        whole[int("".join(map(str, string)), world.vocab)] += mass
    return whole


def test_strings_are_in_alphabetical_order():
    world = random_tree(jax.random.key(0), 3, 3)
    assert list(map(tuple, laws.strings(world))) == list(itertools.product(range(3), repeat=3))


@given(st.integers(0, 10**6))
def test_ancestral_and_rejection(seed):
    world, _, _ = small(seed)
    every = list(map(tuple, laws.strings(world)))
    base = np.array([np.prod([next_law(world, s[:h])[s[h]] for h in range(3)]) for s in every])
    tau = np.exp(world.log_tilt)
    np.testing.assert_allclose(laws.ancestral(world).law, base, atol=1e-14)
    out = laws.rejection(world)
    np.testing.assert_allclose(out.law, base * tau / (base @ tau), atol=1e-14)
    # At most n attempts: the first accepted one, term by term.
    accepted = base * tau / tau.max()
    miss = 1 - accepted.sum()
    limited = laws.rejection(world, attempts=3)
    np.testing.assert_allclose(limited.law, accepted * (1 + miss + miss**2), atol=1e-14)
    assert limited.calls == pytest.approx(3 * (1 + miss + miss**2))
    assert out.calls == pytest.approx(constrained.rejection_calls(world))


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3))
def test_best_of_n_by_all_tuples(seed, n, block):
    world, table, rng = small(seed, 2, 3)
    # Few levels of scores, so that there are ties.
    table = np.where(rng.random(table.shape) < 0.5, 0.0, np.log(0.5))

    def grow(string):
        if len(string) == 3:
            return {string: 1.0}
        size = min(block, 3 - len(string))
        options = {}
        for tail in itertools.product(range(2), repeat=size):
            chance, longer = 1.0, string
            for token in tail:
                chance *= next_law(world, longer)[token]
                longer = (*longer, token)
            options[longer] = chance
        kept = defaultdict(float)
        for drawn in itertools.product(options, repeat=n):
            scores = [table[len(s), prefix_state(world, s)] for s in drawn]
            kept[drawn[scores.index(max(scores))]] += np.prod([options[s] for s in drawn])
        total = defaultdict(float)
        for longer, mass in kept.items():
            for whole, rest in grow(longer).items():
                total[whole] += mass * rest
        return total

    out = laws.block_best_of_n(world, table, n, block)
    np.testing.assert_allclose(out.law, as_array(world, grow(())), atol=1e-12)
    assert out.calls == 3 * n
    np.testing.assert_allclose(
        laws.best_of_n(world, table, n).law, laws.block_best_of_n(world, table, n, 3).law
    )


@given(st.integers(0, 10**6))
def test_tokens_drawn_again_until_accepted(seed):
    """Action-level rejection, as a sum over how often a token is refused."""
    world, table, _ = small(seed, 2, 2)
    envelope = float(np.exp(table[1:]).max()) * 1.3

    def grow(string):
        if len(string) == 2:
            return {string: 1.0}, 0.0
        law = next_law(world, string)
        accept = np.array(
            [
                law[a]
                * np.exp(table[len(string) + 1, prefix_state(world, (*string, a))])
                / envelope
                for a in range(2)
            ]
        )
        refused, mass, calls = 1 - accept.sum(), defaultdict(float), 0.0
        for k in range(4000):
            calls += refused**k
        for a in range(2):
            rest, more = grow((*string, a))
            share = accept[a] / accept.sum()
            calls += share * more
            for whole, p in rest.items():
                mass[whole] += share * p
        return mass, calls

    mass, calls = grow(())
    out = laws.action_rejection(world, table, envelope)
    np.testing.assert_allclose(out.law, as_array(world, mass), atol=1e-10)
    assert out.calls == pytest.approx(calls, rel=1e-6)
    np.testing.assert_allclose(laws.value_guided(world, table).law, out.law)


def test_tokenwise_rejection_on_automata_and_on_trees():
    world = Knapsack(tuple(range(1, 13)), 39).world()
    table = np.where(world.feasible(), 0.0, -np.inf)
    out, lumped = (
        laws.tokenwise_rejection(world, table),
        constrained.tokenwise_rejection(world, world.feasible()),
    )
    np.testing.assert_allclose(out.law, laws.ancestral(lumped.world).law, atol=1e-14)
    assert out.calls == pytest.approx(17.234375) == lumped.calls
    assert constrained.rejection_calls(world) == pytest.approx(396.387, abs=5e-4)
    assert tv(out.law, laws.rejection(world).law) == pytest.approx(0.196573, abs=5e-7)


def test_tokenwise_rejection_that_ignores_the_generator_gets_stuck():
    world = secret_parity([1, 0, 1])
    found = constrained.tokenwise_rejection(world, world.feasible(oracle=False))
    assert found.calls == float("inf") and found.stuck == pytest.approx(7 / 8)
    table = np.where(world.feasible(oracle=False), 0.0, -np.inf)
    assert laws.tokenwise_rejection(world, table).calls == float("inf")


def test_needle_and_some_zero():
    for D in (1, 2, 6):
        world, closed = needle(D), needle_costs(D)
        accepts = world.feasible()
        assert constrained.rejection_calls(world) == pytest.approx(closed.rejection)
        assert constrained.restart_calls(world, accepts) == pytest.approx(closed.restart)
        assert constrained.tokenwise_rejection(world, accepts).calls == pytest.approx(
            closed.tokenwise
        )
        world = some_zero(D)
        out = laws.tokenwise_rejection(world, np.where(world.feasible(), 0.0, -np.inf)).law
        assert tv(out, laws.rejection(world).law) == pytest.approx(
            float(some_zero_tv(D)), abs=1e-14
        )


def test_truncation():
    world = random_tree(jax.random.key(0), 3, 1)
    base = np.array([[[0.5, 0.3, 0.2]]])
    world = type(world)(world.step, base, world.log_tilt)

    def law(**settings):
        return laws.ancestral(laws.truncated(world, **settings)).law

    np.testing.assert_allclose(law(top_p=0.5), [1, 0, 0])
    np.testing.assert_allclose(law(top_p=0.51), [0.625, 0.375, 0])
    np.testing.assert_allclose(law(top_p=0.0), [1, 0, 0])
    np.testing.assert_allclose(law(temperature=0.0), [1, 0, 0])
    np.testing.assert_allclose(law(top_k=2), [0.625, 0.375, 0])
    squares = np.array([0.25, 0.09, 0.04])
    np.testing.assert_allclose(law(temperature=0.5), squares / squares.sum())
    # Temperature before the nucleus: cold, the first token alone has 0.66.
    np.testing.assert_allclose(law(temperature=0.5, top_p=0.6), [1, 0, 0])


def printed_algorithm(world, table, Q, B, *, refill, threshold=0.5):
    """Algorithm 1 line by line, over every draw; refills are one block, as printed."""
    law, calls = defaultdict(float), 0.0
    agenda = [((), Q, 1.0)]
    while agenda:
        string, quota, mass = agenda.pop()
        if len(string) == world.horizon:
            law[string] += mass
            continue
        calls += mass
        for token, chance in enumerate(next_law(world, string)):
            if chance == 0:
                continue
            s, left = (*string, token), quota
            score = np.exp(table[len(s), prefix_state(world, s)])
            if left > 0 and score < threshold:
                before = len(s)
                s, left = s[: max(0, len(s) - B)], left - 1
                while refill and len(s) < before:
                    calls += mass * chance
                    s = (*s, int(np.argmax(next_law(world, s))))
            agenda.append((s, left, mass * chance))
    return law, calls


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_algorithm_1_as_printed(seed, Q, B, refill):
    world, _, rng = small(seed, 2, 4)
    table = np.log(rng.uniform(0.1, 1, size=world.log_values().shape))
    settings = Backtracking(Q, B, refill="argmax" if refill else "none")
    found = backtracking(world, table, settings)
    law, calls = printed_algorithm(world, table, Q, B, refill=refill)
    np.testing.assert_allclose(as_array(world, found.law), as_array(world, law), atol=1e-12)
    assert found.calls == pytest.approx(calls)
    np.testing.assert_allclose(
        laws.backtracking(world, table, settings).law, as_array(world, law), atol=1e-12
    )
    assert found.calls <= world.horizon + Q * B + 1e-9
    assert sum(found.quota_left.values()) == pytest.approx(1)
    used = sum((Q - q) * mass for q, mass in found.quota_left.items())
    assert used == pytest.approx(found.backtracks)


def test_switches_of_algorithm_1():
    """One certain path of ones that the verifier refuses from length 3 on."""
    world, _ = lagged_error(4, 1, 0, 0.0, other=1.0)  # 0 1 1 1
    table = np.zeros((5, 2))
    table[3:] = -np.inf
    plain = backtracking(world, table, Backtracking(2, 2))
    # Drawn: 3 tokens, back to 1, refilled to 3, one drawn at 4: back to 2, refilled to 4.
    assert plain.calls == 3 + 2 + 1 + 2 and plain.backtracks == 2 and plain.verifier_calls == 4
    checked = backtracking(world, table, Backtracking(2, 2, check_during_refill=True))
    # Back to 1 at length 3, refilled to 3, refused again: back to 1, then no quota.
    assert checked.calls == 3 + 2 + 3 and checked.backtracks == 2 and checked.verifier_calls == 5
    once = backtracking(
        world, table, Backtracking(2, 2, check_during_refill=True, once_per_prefix=True)
    )
    # The second time at the same prefix it is let through; at length 4 it is refused.
    assert once.calls == 3 + 2 + 1 + 2 and once.backtracks == 2
    kept = backtracking(world, table, Backtracking(1, 4), prompt=(0, 1))
    assert kept.calls == 1 + 1 + 1  # erased up to the prompt only
    erased = backtracking(world, table, Backtracking(1, 4, erasable_prompt=None), prompt=(0, 1))
    assert erased.calls == 1 + 3 + 1
    one = backtracking(world, table, Backtracking(1, 4, erasable_prompt=1), prompt=(0, 1))
    assert one.calls == 1 + 2 + 1
    forced = backtracking(
        world,
        np.zeros((5, 2)),
        Backtracking(1, 1, force_first=True, erasable_prompt=1),
        prompt=(0, 1),
    )
    assert forced.calls == 3 and forced.backtracks == 1 and forced.verifier_calls == 0
    prompted = backtracking(
        world, table, Backtracking(1, 1, check_prompt=True, erasable_prompt=1), prompt=(0, 1, 1)
    )
    assert prompted.backtracks == 1 and prompted.calls == 2
    ended = backtracking(world, np.zeros((5, 2)), Backtracking(1, 1), end=1)
    assert ended.law == {(0, 1): 1.0}
    index = backtracking(world, table, Backtracking(1, 2, refill="index"))
    assert index.calls == 3 + 2 + 1


@pytest.mark.parametrize("stride", range(1, 7))
def test_lagged_errors(stride):
    world, table = lagged_error(8, 3, 2, 0.3)
    for refill in ("argmax", "none"):
        found = backtracking(world, table, Backtracking(2, stride, refill=refill))
        closed = lagged_outcome(8, 3, 2, 0.3, quota=2, stride=stride, refill=refill)
        right = sum(mass for string, mass in found.law.items() if string[2] == 0)
        assert right == pytest.approx(closed.accuracy)
        if closed.calls is not None:
            assert found.calls == pytest.approx(closed.calls)


def test_vgb_with_a_limit_and_after_a_number_of_steps():
    world, table, _ = small(4)
    short = laws.vgb_first_leaf(world, table, steps=2)  # three tokens need three steps
    assert short.law.sum() == 0 and short.calls == 1  # two steps, each made half of the time
    exact, many = laws.vgb_first_leaf(world, table), laws.vgb_first_leaf(world, table, steps=300)
    np.testing.assert_allclose(many.law, exact.law, atol=1e-3)
    assert many.calls == pytest.approx(exact.calls, rel=0.01)
    late = laws.vgb_stationary(world, table, 1000)
    np.testing.assert_allclose(late.law, laws.rejection(world).law, atol=1e-9)
    once = laws.vgb_stationary(world, table, 50, rerun=False)
    again = laws.vgb_stationary(world, table, 50)
    np.testing.assert_allclose(once.law / once.law.sum(), again.law)
    assert again.calls == pytest.approx(once.calls / once.law.sum()) and once.calls < 25
    assert laws.vgb_stationary(world, table, 2, rerun=False).calls == 1
    mean = laws.vgb_stationary(world, table, 2, uniform_time=True, rerun=False)
    assert mean.calls == 0.75  # one step or two, each made half of the time
    mean = laws.vgb_stationary(world, table, 1000, uniform_time=True)
    assert tv(mean.law, late.law) < 0.02


# -- the sandbox -------------------------------------------------------------------------------


def all_completions(depth, left, square, opening):
    """Probabilities of all completions, types included, one by one."""
    if left == 0:
        return [1.0]
    up = 1.0 if depth == 0 else 0.0 if depth == left else opening
    found = []
    if up > 0:
        rest = all_completions(depth + 1, left - 1, square, opening)
        found += [up * share * p for share in (square, 1 - square) for p in rest]
    if depth:
        found += [(1 - up) * p for p in all_completions(depth - 1, left - 1, square, opening)]
    return found


@pytest.mark.parametrize(
    ("depth", "left"), [(0, 0), (0, 2), (1, 3), (2, 6), (0, 6), (3, 7), (6, 6)]
)
def test_completions_and_their_diversity(depth, left):
    every = all_completions(depth, left, 0.2, 0.5)
    assert sum(every) == pytest.approx(1)
    assert len(every) == sandbox.completions(depth, left)
    wanted = sum(1 - (1 - p) ** 10 for p in every)
    assert sandbox.distinct_completions(depth, left, 0.2, 0.5) == pytest.approx(wanted)
    assert sandbox.completions(depth, left + 1) == 0


def test_ideal_diversity_of_out_of_distribution_prompts():
    found = [sandbox.ideal_diversity(n) for n in range(25, 32)]
    law = sandbox.depth_law(32)[26]
    by_hand = sum(
        law[d] * sum(1 - (1 - p) ** 10 for p in all_completions(d, 6, 0.2, 0.5))
        for d in (0, 2, 4, 6)
    )
    assert found[1] == pytest.approx(by_hand) == pytest.approx(4.84451, abs=5e-6)
    assert np.mean(found) == pytest.approx(2.974, abs=5e-4)
    np.testing.assert_allclose(
        found, [sandbox.ideal_diversity(n, square=0.8) for n in range(25, 32)]
    )


def test_entropy_of_the_sandbox():
    every = np.array(all_completions(0, 8, 0.2, 0.4))
    assert sandbox.entropy(8, 0.2, 0.4) == pytest.approx(-np.sum(every * np.log(every)))
    assert sandbox.entropy() / 33 == pytest.approx(0.72663, abs=5e-6)
    assert abs(sandbox.entropy(deepest=12) - sandbox.entropy()) < 2e-5


def test_equation_3_4():
    for D in (2, 4, 6, 8):
        every = list(sandbox.skeletons(D))
        assert len(every) == sandbox.completions(0, D, types=1)
        strict = [sandbox.printed_weight(s, 0.5, strict=True) for s in every]
        process = [sandbox.process_probability(s, 0.5) for s in every]
        np.testing.assert_allclose(strict, process, atol=1e-15)
    printed = np.array([sandbox.printed_weight(s, 0.5, strict=False) for s in sandbox.skeletons(4)])
    assert printed.sum() == pytest.approx(0.375)  # `<=` is true of every closing
    assert sandbox.equation_3_4(6).holds


def test_statements_about_constrained_generation():
    """Each on one instance where it holds, and where it has a condition on one that does not meet it."""
    assert hardness.theorem_3_1_1(5).holds and not hardness.theorem_3_1_1_as_printed(5).holds
    assert hardness.verifier_calls([1, 0, 1]).details["calls"] == 6  # two, one, two, one
    assert hardness.theorem_3_1_2(Knapsack((2, 4), 5)).details["solutions"] == 0
    assert hardness.superincreasing_weights(Knapsack((1, 2, 4), 6)).holds
    assert hardness.superincreasing_weights(Knapsack((1, 1, 2), 2)).holds is None
    assert hardness.tokenwise_calls_of_uniform_bits(Knapsack((2, 4), 5).world()).holds is None
    assert hardness.proposition_3_1_2(1).holds is None and hardness.proposition_3_1_2(3).holds
    counts = hardness.searches([1, 0], jax.random.key(0), 4000)
    assert set(counts) == {1, 2, 3} and counts.mean() == pytest.approx(2.25, abs=0.06)


def test_the_most_calls_of_algorithm_1():
    """The longest run of the printed algorithm, over every draw."""
    world, table = lagged_error(6, 2, 1, 0.3)
    settings = Backtracking(2, 2)
    assert backtracking(world, table, settings).most_calls == 6 + 2  # the refill is right at once
    drawn = Backtracking(2, 2, refill="none")
    assert backtracking(world, table, drawn).most_calls == 6 + 4
    assert query_count(world, table, drawn).slack == 0
    assert query_count(world, np.zeros_like(table), drawn).slack == 4  # nothing is rejected
