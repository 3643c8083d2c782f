"""Worlds of guided generation against enumeration of all strings, each world written out once more."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.worlds import (
    CompleteDyck,
    Dyck,
    GuidedWorld,
    Knapsack,
    TableVerifier,
    biased_coin,
    biased_coin_table,
    coin_flip_tree,
    delayed_table,
    delayed_value,
    lagged_error,
    monte_carlo_table,
    needle,
    noisy_dyck,
    noisy_dyck_log_values,
    noisy_table,
    random_tree,
    secret_parity,
    some_zero,
    tree_world,
)

SQUARE, OPENING, ERRORS = 0.2, 0.5, (0.3, 0.1)
WEIGHTS, TARGET, ONES = (1, 2, 3, 4), 5, (0.3, 0.5, 0.6, 0.9)


def fair(prefix):
    return [0.5, 0.5]


def parity_law(secret):
    def law(prefix):
        if len(prefix) < len(secret):
            return [0.5, 0.5]
        even = sum(prefix) % 2  # the bit that makes the total even
        last = even if tuple(prefix) == tuple(secret) else 1 - even
        return [float(last == 0), float(last == 1)]

    return law


def dyck_law(length):
    def law(prefix):
        stack = []
        for token in prefix:
            if token % 2 == 0:
                stack.append(token // 2)
            elif stack:
                stack.pop()
        depth, left = len(stack), length - len(prefix)
        up = 1.0 if depth == 0 else 0.0 if depth >= left else OPENING
        row = [up * SQUARE, 0.0, up * (1 - SQUARE), 0.0]
        if stack:
            wrong = ERRORS[stack[-1]]
            row[2 * stack[-1] + 1] = (1 - up) * (1 - wrong)
            row[2 * (1 - stack[-1]) + 1] = (1 - up) * wrong
        return row

    return law


def balanced(string):
    stack = []
    for token in string:
        if token % 2 == 0:
            stack.append(token)
        elif not stack or stack.pop() + 1 != token:
            return False
    return not stack


def lagged_law(prefix):
    return [0.7, 0.3] if len(prefix) == 1 else [0.5, 0.5]


CASES = {
    "parity": (secret_parity([1, 0, 1]), parity_law((1, 0, 1)), lambda s: float(sum(s) % 2 == 0)),
    "one bit": (secret_parity([]), parity_law(()), lambda s: float(sum(s) % 2 == 0)),
    "knapsack": (
        Knapsack(WEIGHTS, TARGET).world(ONES),
        lambda prefix: [1 - ONES[len(prefix)], ONES[len(prefix)]],
        lambda s: float(sum(b * w for b, w in zip(s, WEIGHTS, strict=True)) == TARGET),
    ),
    "needle": (needle(4), fair, lambda s: float(sum(s) == 0)),
    "some zero": (some_zero(4), fair, lambda s: float(0 in s)),
    "biased coin": (biased_coin(3), fair, lambda s: 1.0),
    "delayed": (delayed_value(4, 3.0), fair, lambda s: 3.0 ** sum(s)),
    "lagged": (lagged_error(4, 2, 1, 0.3)[0], lagged_law, lambda s: float(s[1] == 0)),
    "noisy Dyck": (
        noisy_dyck(4, SQUARE, OPENING, ERRORS),
        dyck_law(4),
        lambda s: float(balanced(s)),
    ),
}


def possible(law, prefix):
    return all(law(prefix[:i])[token] > 0 for i, token in enumerate(prefix))


def completions(law, prefix, vocab, horizon):
    """Every completion with its probability given the prefix."""
    if len(prefix) == horizon:
        yield prefix, 1.0
        return
    for token, chance in enumerate(law(prefix)):
        for string, rest in completions(law, (*prefix, token), vocab, horizon):
            yield string, chance * rest


@pytest.mark.parametrize("name", CASES)
def test_values_and_feasibility_of_every_prefix(name):
    world, law, tilt = CASES[name]
    values, literal, oracle = world.log_values(), world.feasible(oracle=False), world.feasible()
    verifier = world.feasibility_verifier()
    for h in range(world.horizon + 1):
        for prefix in itertools.product(range(world.vocab), repeat=h):
            state = world.state_paths(np.array([prefix], int).reshape(1, h))[0, -1]
            every = list(completions(law, prefix, world.vocab, world.horizon))
            assert literal[h, state] == any(tilt(s) > 0 for s, _ in every)
            chance = np.prod([law(prefix[:i])[prefix[i]] for i in range(h)])
            reachable = chance > 0 and any(tilt(s) > 0 and p > 0 for s, p in every)
            at = 0
            for i, token in enumerate(prefix):
                at = verifier.step[i, at, token]
            assert (verifier.log_table[h, at] == 0) == reachable
            if chance > 0:
                wanted = sum(p * tilt(s) for s, p in every)
                assert np.exp(values[h, state]) == pytest.approx(wanted, abs=1e-14, rel=1e-12)
                assert oracle[h, state] == reachable


@pytest.mark.parametrize("name", CASES)
def test_unfolding_and_tilting_keep_the_laws(name):
    world, law, tilt = CASES[name]
    tree = world.unfolded()
    every = list(completions(law, (), world.vocab, world.horizon))
    weights = np.array([p * tilt(s) for s, p in every])
    assert np.exp(tree.log_partition()) == pytest.approx(weights.sum(), rel=1e-12)
    np.testing.assert_allclose(tree.reach()[-1], [p for _, p in every], atol=1e-15)
    np.testing.assert_allclose(tree.tilted().reach()[-1], weights / weights.sum(), atol=1e-14)


def test_reading_is_compiled_and_going_back_is_a_smaller_number():
    """States, laws and scores after all strings; then a token is replaced in the middle."""
    world, law, _ = CASES["noisy Dyck"]
    value, exact = world.value_verifier(), np.exp(world.log_values())

    @jax.jit
    @jax.vmap
    def run(string):
        memory, judged = world.begin(4), value.begin(4)
        rows, scores = [], [value.score(judged, jnp.int32(0))]
        for n in jnp.arange(4):
            rows.append(world.law(memory, n))
            memory, judged = world.read(memory, n, string[n]), value.read(judged, n, string[n])
            scores.append(value.score(judged, n + 1))
        again = world.law(world.read(memory, jnp.int32(1), 1 - string[1] % 2), jnp.int32(2))
        return jnp.stack(rows), jnp.stack(scores), again

    strings = np.array(list(itertools.product(range(4), repeat=4)))
    rows, scores, again = run(strings)
    for i, string in enumerate(map(tuple, strings)):
        for n in range(4):
            if possible(law, string[:n]):
                np.testing.assert_allclose(np.exp(rows[i, n]), law(string[:n]), atol=1e-6)
        back = (string[0], 1 - string[1] % 2)
        if possible(law, back):
            np.testing.assert_allclose(np.exp(again[i]), law(back), atol=1e-6)
        paths = world.state_paths(strings[i : i + 1])[0]
        np.testing.assert_allclose(scores[i], exact[np.arange(5), paths], atol=1e-6)


def test_samples_follow_the_base_law():
    world, _, _ = CASES["lagged"]
    drawn = jax.jit(jax.vmap(world.sample))(jax.random.split(jax.random.key(0), 4000))
    share = np.asarray(drawn.tokens).mean(axis=0)
    wanted = np.array([0.5, 0.3, 0.5, 0.5])
    assert (np.abs(share - wanted) < 4.5 * np.sqrt(wanted * (1 - wanted) / 4000)).all()


def test_log_prob_is_that_of_the_law_as_written():
    world, law, _ = CASES["noisy Dyck"]
    strings = np.array(list(itertools.product(range(4), repeat=4)))
    wanted = [np.prod([law(tuple(s[:i]))[s[i]] for i in range(4)]) for s in strings.tolist()]
    drawn = np.exp(jax.jit(jax.vmap(world.log_prob))(strings))
    np.testing.assert_allclose(drawn, wanted, atol=1e-7)
    assert float(world.log_prob(np.array([0]))) == pytest.approx(np.log(SQUARE), rel=1e-6)
    assert (
        float(jax.jit(lambda t: world.log_prob(t))(np.array([0, 9]))) == -np.inf
    )  # under a trace: impossible
    with pytest.raises(ValueError, match="token 9 at index 1"):
        world.log_prob(np.array([0, 9]))


def test_noisy_dyck_without_noise_is_the_sandbox():
    world = noisy_dyck(6, 0.2, 0.5, (0.0, 0.0))
    strings = np.array(list(itertools.product(range(4), repeat=6)))
    paths = world.state_paths(strings)
    mine = np.ones(len(strings))
    for h in range(6):
        mine = mine * world.base[h, paths[:, h], strings[:, h]]
    package = CompleteDyck(Dyck(2, 3, 0.5, [0.2, 0.8]), 6, closing="forced")
    theirs = np.exp(np.asarray(jax.jit(jax.vmap(package.log_prob))(strings)))
    np.testing.assert_allclose(mine, theirs, atol=1e-6)
    assert mine.sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("errors", [(0.3, 0.1), (0.0, 0.0), (1.0, 0.2)])
def test_noisy_dyck_values_in_closed_form(errors):
    world = noisy_dyck(8, 0.2, 0.5, errors)
    on = world.reach() > 0
    closed = noisy_dyck_log_values(8, 0.2, 0.5, errors)
    np.testing.assert_allclose(np.exp(closed)[on], np.exp(world.log_values())[on], atol=1e-14)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=9), st.integers(0, 200))
def test_knapsack_counts_by_meeting_in_the_middle(weights, target):
    def sums(half):
        return [sum(w for w, b in zip(half, bits, strict=True) if b)
                for bits in itertools.product((0, 1), repeat=len(half))]  # fmt: skip

    middle = len(weights) // 2
    right = sums(weights[middle:])
    wanted = sum(right.count(target - left) for left in sums(weights[:middle]))
    knapsack = Knapsack(tuple(weights), target)
    assert knapsack.count() == wanted
    assert np.exp(knapsack.world().log_partition()) * 2 ** len(weights) == pytest.approx(wanted)


def test_knapsack_with_huge_weights_and_density():
    knapsack = Knapsack((10**30, 2 * 10**30, 3), 10**30 + 3)
    assert knapsack.count() == 1 and knapsack.greedy() == (1, 0, 1)
    assert Knapsack((1, 1024), 5).density == pytest.approx(0.2)
    assert Knapsack((1, 1), 5).density == float("inf")


@given(st.integers(0, 10**6))
def test_superincreasing_knapsacks_are_decided_greedily(seed):
    rng = np.random.default_rng(seed)
    drawn = Knapsack.superincreasing(jax.random.key(seed), 8)
    assert drawn.count() == 1 and drawn.greedy() is not None
    other = Knapsack(drawn.weights, int(rng.integers(0, sum(drawn.weights) + 1)))
    assert (other.greedy() is not None) == (other.count() == 1)


def test_verifiers_that_err_are_exact_at_the_leaves():
    key = jax.random.key(0)
    world = coin_flip_tree(key, 4)
    for table in (noisy_table(world, key, kappa=2.0), noisy_table(world, key, sigma=1.0)):
        np.testing.assert_array_equal(table[[0, -1]], world.log_values()[[0, -1]])
        assert not np.allclose(table[1:4], world.log_values()[1:4])
    off = noisy_table(world, key, kappa=2.0)[1:-1, :2] - world.log_values()[1:-1, :2]
    assert np.abs(off).max() <= np.log(2)
    coin = biased_coin(3)
    np.testing.assert_allclose(
        np.exp(biased_coin_table(coin, 0.5)), [[1, 1], [0.5, 1.5], [0.5, 1.5], [1, 1]]
    )


def test_delayed_table_is_the_value_of_the_prefix_without_its_last_token():
    world = delayed_value(4, 3.0)
    late, exact = delayed_table(world, 3.0), world.log_values()
    for string in itertools.product((0, 1), repeat=3):
        path = world.state_paths(np.array([string]))[0]
        for h in (1, 2, 3):
            assert late[h, path[h]] == pytest.approx(exact[h - 1, path[h - 1]])


def test_monte_carlo_values_count_rollouts():
    """With one state per level every rollout passes it: (sum of tau + Z) / (N + 1)."""
    world = needle(3)
    table = np.exp(monte_carlo_table(world, jax.random.key(1), 4000))
    assert table[1, 0] == pytest.approx(0.25, rel=0.2) and table[2, 0] == pytest.approx(
        0.5, rel=0.2
    )
    assert table[1, 1] == pytest.approx(
        1 / 8 / (4000 * 0.5 + 1), rel=0.1
    )  # no tau beyond the prior


@pytest.mark.usefixtures("unchecked_types")
class TestBadInput:
    def test_laws_must_sum_to_one(self):
        with pytest.raises(ValueError, match=r"base\[0, 0\] sums to 0.9; it must sum to 1"):
            GuidedWorld([[[0, 0]]], [[[0.5, 0.4]]], [0.0])

    def test_steps_must_lead_to_states(self):
        with pytest.raises(ValueError, match=r"step\[0\] leads to state 2; states are 0..0"):
            GuidedWorld([[[0, 2]]], [[[0.5, 0.5]]], [0.0])

    def test_tilts_must_be_numbers(self):
        with pytest.raises(ValueError, match=r"log_tilt\[0\] is nan; it must be finite or -inf"):
            GuidedWorld([[[0, 0]]], [[[0.5, 0.5]]], [float("nan")])

    def test_scores_must_be_numbers(self):
        with pytest.raises(ValueError, match=r"log_table\[1, 0\] is nan"):
            TableVerifier([[[0, 0]]], [[0.0], [float("nan")]])

    def test_tables_must_fit(self):
        with pytest.raises(ValueError, match="it must have 2 rows"):
            TableVerifier([[[0, 0]]], [[0.0]])

    def test_a_world_without_completions_says_so(self):
        world = Knapsack((2, 4), 5).world()
        assert world.log_partition() == -np.inf and not world.feasible()[0, 0]
        with pytest.raises(
            ValueError, match="no string of positive probability has a positive tilt"
        ):
            world.tilted()

    @pytest.mark.parametrize(
        ("make", "fault"),
        [
            (lambda: secret_parity([2]), r"secret\[0\] is 2; it must lie in 0\.\.1"),
            (lambda: Knapsack((), 1), "weights are empty"),
            (lambda: Knapsack((-1,), 1), r"weights\[0\] is -1"),
            (lambda: Knapsack((1,), 1).world(1.0), "strictly between 0 and 1"),
            (lambda: needle(0), "horizon is 0"),
            (lambda: needle(3).log_prob(np.zeros(4, int)), "there are 4 tokens; strings have 3"),
            (lambda: needle(3).sample(jax.random.key(0), 4), "length is 4; .* have 3 tokens"),
            (lambda: biased_coin_table(biased_coin(2), 1.0), "bias is 1.0"),
            (lambda: delayed_value(3, 0.0), "weight is 0.0"),
            (lambda: lagged_error(4, 5, 1, 0.3), "position is 5"),
            (lambda: lagged_error(4, 2, 1, 0.5), "chance is 0.5"),
            (lambda: noisy_dyck(5), "even length"),
            (lambda: noisy_dyck(4, errors=(1.5, 0)), r"errors\[0\] is 1.5"),
            (lambda: noisy_dyck(60), "at most 24"),
            (lambda: noisy_table(needle(2), jax.random.key(0)), "either kappa or sigma"),
            (lambda: noisy_table(needle(2), jax.random.key(0), kappa=0.5), "kappa is 0.5"),
            (lambda: monte_carlo_table(needle(2), jax.random.key(0), 0), "rollouts is 0"),
            (lambda: needle(30).unfolded(), r"2\^30 leaves"),
            (lambda: tree_world([np.ones((1, 1))], np.zeros(2)), "it must have 1"),
            (lambda: random_tree(jax.random.key(0), 2, 0), "horizon is 0"),
        ],
    )
    def test_one_sentence(self, make, fault):
        with pytest.raises(ValueError, match=fault):
            make()
