"""Every exact answer of a Dyck world, against plain enumeration with a Python list for the stack."""

import itertools
import math
from collections import Counter

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from minicosm.worlds import CompleteDyck, Dyck, entropy_rate

CASES = [(2, 2, 7, 0.3), (3, 3, 7, 0.7)]
SKEWED = Dyck(2, 3, [1, 0.7, 0.2, 0], [0.8, 0.2])
COUNT = 20_000


# -- the referee ------------------------------------------------------------------------------


def token_law(p, stack, types):
    """{token: probability} after this stack, if a bracket opens with probability p."""
    law = {2 * t: p * share for t, share in enumerate(types)}
    if stack:
        law[2 * stack[-1] + 1] = 1 - p
    return {token: chance for token, chance in law.items() if chance > 0}


def strings(world, length, opening=None):
    """{string: probability}; `opening(i, d)` in place of the world's own p(d)."""
    opening = opening or (lambda _, d: float(world.opening[d]))
    reached = {(): (1.0, ())}
    for i in range(length):
        reached = {
            (*tokens, token): (chance * step, follow(stack, token))
            for tokens, (chance, stack) in reached.items()
            for token, step in token_law(
                opening(i, len(stack)), stack, world.type_probabilities
            ).items()
        }
    return {tokens: chance for tokens, (chance, _) in reached.items()}


def follow(stack, token):
    return (*stack, token // 2) if token % 2 == 0 else stack[:-1]


def stacks(tokens, depth):
    """The stack of positions after each token, or None once the string is outside the language."""
    stack, all_stacks = [], []
    for i, token in enumerate(tokens):
        if token % 2 == 0:
            stack = [*stack, i]
        elif stack and tokens[stack[-1]] == token - 1:
            stack = stack[:-1]
        else:
            return None
        if len(stack) > depth:
            return None
        all_stacks.append(stack)
    return all_stacks


def complete(law):
    """A law given that its strings are balanced."""
    kept = {w: p for w, p in law.items() if sum(1 - 2 * (x % 2) for x in w) == 0}
    return {w: p / sum(kept.values()) for w, p in kept.items()}


def forced(world, length):
    return strings(world, length, lambda i, d: 0 if d == length - i else float(world.opening[d]))


def mixture(law_of_length):
    """{string: probability} of equally likely lengths."""
    return {w: p / len(law_of_length) for law in law_of_length for w, p in law.items()}


def as_arrays(law):
    return np.array(list(law)), np.array(list(law.values()))


@eqx.filter_jit
def ask(world, batch):
    """Every answer about the strings of a batch."""
    names = ["log_prob", "end_probabilities"] if isinstance(world, CompleteDyck) else QUESTIONS
    answers = {name: jax.vmap(getattr(world, name))(batch) for name in names}
    rows = jax.vmap(lambda tokens: world.next_logits(tokens, start=True))(batch)
    return answers | {"rows": rows}


QUESTIONS = ["log_prob", "is_prefix", "depths", "stack_tops", "matching"]


def asked(world, batch):
    with jax.enable_x64(True):
        answers = ask(world, np.array(batch))
    assert answers["rows"].dtype == np.float64
    assert not any(np.isnan(answer).any() for answer in answers.values())
    return {name: np.asarray(answer) for name, answer in answers.items()}


def assert_matching(tokens, tops, matching, depth):
    """The last open bracket after each token, and all pairs, as a plain stack has them."""
    all_stacks = stacks(tokens, depth)
    np.testing.assert_array_equal(tops, [s[-1] if s else -1 for s in all_stacks])
    expected = np.full(len(tokens), -1)
    for i, before in enumerate([[], *all_stacks[:-1]]):
        if tokens[i] % 2:
            expected[i], expected[before[-1]] = before[-1], i
    np.testing.assert_array_equal(matching, expected)


# -- prefixes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("types", "depth", "length", "q"), CASES)
def test_prefixes_equal_enumeration(types, depth, length, q):
    world = Dyck(types, depth, q)
    law = strings(world, length)
    tokens, chances = as_arrays(law)
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    ours = asked(world, tokens)
    log_prob, rows = ours["log_prob"], ours["rows"]
    np.testing.assert_allclose(np.exp(log_prob), chances, rtol=1e-12)
    np.testing.assert_allclose(np.exp(rows).sum(axis=2), 1, atol=1e-12)
    each = np.take_along_axis(rows[:, :-1], tokens[..., None], axis=2)[..., 0]
    np.testing.assert_allclose(each.sum(axis=1), log_prob, rtol=1e-12)

    depths = np.array([[len(s) for s in stacks(w, depth)] for w in tokens])
    np.testing.assert_array_equal(ours["depths"], depths)
    for w, tops, pairs in list(zip(tokens, ours["stack_tops"], ours["matching"], strict=True))[::5]:
        assert_matching(w, tops, pairs, depth)
    marginals = [
        np.bincount(at, weights=chances, minlength=depth + 1)
        for at in np.column_stack([np.zeros(len(tokens), int), depths]).T
    ]
    np.testing.assert_allclose(world.depth_marginals(length), marginals, atol=1e-12)

    assert world.optimal_loss(length) == pytest.approx(-chances @ log_prob / length, rel=1e-12)
    least = 1 - np.sum(np.exp(2 * rows[:, :-1]), axis=2)
    assert world.optimal_loss(length, "squared") == pytest.approx(
        chances @ least.mean(axis=1), rel=1e-12
    )

    assert world.count(length) == len(law)
    even = [w for w in strings(world, 6) if len(stacks(w, depth)[-1]) == 0]
    assert world.count(6, complete=True) == len(even) and world.count(7, complete=True) == 0


def test_every_string_inside_or_outside_the_language():
    world = Dyck(2, 2, 0.3)
    law = strings(world, 5)
    tokens = np.array(list(itertools.product(range(4), repeat=5)))
    ours = asked(world, tokens)
    with np.errstate(divide="ignore"):
        expected = np.log([law.get(tuple(w), 0.0) for w in tokens.tolist()])
    np.testing.assert_allclose(ours["log_prob"], expected, rtol=1e-12)
    np.testing.assert_array_equal(ours["is_prefix"], expected > -np.inf)
    assert (ours["rows"][expected == -np.inf, -1] == -np.inf).all()


@pytest.mark.parametrize(
    ("types", "depth", "length", "cross_entropy", "squared"),
    [
        (2, 4, 28, 0.87881, 0.54241),
        (2, 4, 10_000, 0.86647, 0.53128),
        (2, 8, 28, 0.96704, 0.59378),
        (3, 4, 28, 1.09602, 0.60119),
        (3, 8, 28, 1.19604, 0.65331),
    ],
)
def test_reference_losses(types, depth, length, cross_entropy, squared):
    world = Dyck(types, depth)
    assert world.optimal_loss(length) == pytest.approx(cross_entropy, abs=6e-6)
    assert world.optimal_loss(length, "squared") == pytest.approx(squared, abs=6e-6)


def test_big_counts_are_whole_numbers():
    """Prefixes of length n of unbounded Dyck strings of one type: central binomial coefficients."""
    assert Dyck(1, 300).count(200) == math.comb(200, 100)
    assert Dyck(2, 4).count(500) > 2**500
    assert isinstance(Dyck(2, 4).count(500), int)


def test_the_first_token_and_empty_prefix():
    ask_next = eqx.filter_jit(Dyck.next_token)
    np.testing.assert_allclose(ask_next(SKEWED, np.zeros(0, int)), [0.8, 0, 0.2, 0], rtol=1e-6)
    np.testing.assert_allclose(ask_next(SKEWED, np.array([2])), [0.56, 0, 0.14, 0.3], rtol=1e-6)
    np.testing.assert_array_equal(ask_next(SKEWED, np.array([1])), np.zeros(4))
    equal = ask_next(Dyck.uniform(3, 2), np.array([2]))
    np.testing.assert_allclose(equal, [1 / 4, 0, 1 / 4, 1 / 4, 1 / 4, 0], rtol=1e-6)


def test_entropy_rate_brackets_the_optimal_loss():
    estimate = entropy_rate(Dyck(), jax.random.key(0), length=28, count=256)
    assert estimate.low < Dyck().optimal_loss(28) < estimate.high


@given(
    size=st.sampled_from([(1, 1), (1, 3), (2, 2), (3, 1)]),
    q=st.sampled_from([0.0, 1.0]) | st.floats(0.01, 0.99),
    data=st.data(),
)
def test_any_world_and_any_string(size, q, data):
    """Probabilities of zero and one included; a prefix of probability zero has no next token."""
    types, depth = size
    share = data.draw(st.sampled_from([None, [1.0] + [0.0] * (types - 1)]))
    world = Dyck(types, depth, q, share)
    inside = st.sampled_from(sorted(strings(Dyck(types, depth), 6)))
    anything = st.lists(st.integers(0, 2 * types), min_size=6, max_size=6)
    tokens = data.draw(inside | anything)
    ours = asked(world, [tokens])
    brackets = list(itertools.takewhile(lambda x: x < 2 * types, map(int, tokens)))
    trailing = all(x == 2 * types for x in tokens[len(brackets) :])
    law = strings(world, len(brackets))
    chance = law.get(tuple(brackets), 0.0) if trailing else 0.0
    assert np.exp(ours["log_prob"][0]) == pytest.approx(chance, rel=1e-12)
    inside = stacks(brackets, depth) is not None and trailing
    assert ours["is_prefix"][0] == inside
    if inside and brackets:
        end = len(brackets)
        assert_matching(brackets, ours["stack_tops"][0, :end], ours["matching"][0, :end], depth)
    sums = np.exp(ours["rows"][0]).sum(axis=1)
    for i in range(7):
        live = i <= len(brackets) and tuple(brackets[:i]) in strings(world, i)
        assert sums[i] == pytest.approx(float(live), abs=1e-12)


# -- complete strings -------------------------------------------------------------------------

LENGTHS = (2, 4, 6)
COMPLETE = {
    "conditioned": lambda world, n: complete(strings(world, n)),
    "forced": forced,
}
both = pytest.mark.parametrize("closing", COMPLETE)


@pytest.mark.parametrize(
    ("world", "closing"),
    [
        (SKEWED, "conditioned"),
        (SKEWED, "forced"),
        (Dyck(1, 1), "forced"),
    ],
)
def test_complete_strings_equal_enumeration(world, closing):
    """The law, Bayes' law of the next token when n is unknown, and the law of the end."""
    law = mixture([COMPLETE[closing](world, n) for n in LENGTHS])
    padded = [w + (world.vocab,) * (6 - len(w)) for w in law]
    ours = asked(CompleteDyck(world, LENGTHS, closing=closing), padded)
    np.testing.assert_allclose(np.exp(ours["log_prob"]), list(law.values()), rtol=1e-12)

    mass = Counter()  # of every prefix that goes on, and of all strings through a prefix
    for w, p in law.items():
        for i in range(len(w)):
            mass[w[:i], "on"] += p
            mass[w[: i + 1]] += p
    for w, row, end in zip(law, ours["rows"], ours["end_probabilities"], strict=True):
        for i in range(7):
            on = mass[w[:i], "on"] if i <= len(w) else 0
            expected = [mass[*w[:i], x] / on if on else 0 for x in range(world.vocab)]
            np.testing.assert_allclose(np.exp(row[i]), expected, atol=1e-12)
        for i in range(1, len(w) + 1):
            assert end[i - 1] == pytest.approx(law.get(w[:i], 0) / mass[w[:i]], abs=1e-12)
        # The string is its tokens and its end.
        steps = np.exp(row[np.arange(len(w)), w]) * (1 - np.append(0, end[: len(w) - 1]))
        assert np.prod(steps) * end[len(w) - 1] == pytest.approx(law[w], rel=1e-12)


@pytest.mark.parametrize(
    ("closing", "lengths"), [("conditioned", LENGTHS), ("conditioned", (4,)), ("forced", (6,))]
)
def test_the_optimal_loss_of_complete_strings_equals_enumeration(closing, lengths):
    law = mixture([COMPLETE[closing](SKEWED, n) for n in lengths])
    on = Counter()  # [prefix, next token]
    for w, p in law.items():
        for i, x in enumerate(w):
            on[w[:i], x] += p
    total = Counter()
    for (prefix, _), p in on.items():
        total[prefix] += p
    size = sum(p * len(w) for w, p in law.items())
    entropy = -sum(p * np.log(p / total[prefix]) for (prefix, _), p in on.items()) / size
    squared = sum(p * (1 - p / total[prefix]) for (prefix, _), p in on.items()) / size
    world = CompleteDyck(SKEWED, lengths, closing=closing)
    assert world.optimal_loss() == pytest.approx(entropy, rel=1e-12)
    assert world.optimal_loss("squared") == pytest.approx(squared, rel=1e-12)


@both
def test_strings_that_are_not_complete(closing):
    law = CompleteDyck(Dyck(2, 2), [4, 6], closing=closing)
    bad = ["01444444", "00110101", "02134444", "02304444", "01401444", "00444444", "02130111"]
    ours = asked(law, [list(map(int, digits)) for digits in bad])
    assert (ours["log_prob"] == -np.inf).all()
    rows = ours["rows"][-1]
    assert np.isfinite(rows[2]).any() and (rows[3:] == -np.inf).all()


def test_forced_closing_is_another_law():
    """At length 4 conditioning weighs (()) by q, against 1 for ()(); forcing gives it q itself."""
    q = 0.3
    pair = [[0, 0, 1, 1], [0, 1, 0, 1]]
    conditioned, forcing = (
        np.exp(asked(CompleteDyck(Dyck(1, 3, q), 4, closing=closing), pair)["log_prob"])
        for closing in ("conditioned", "forced")
    )
    np.testing.assert_allclose(conditioned, [q / (1 + q), 1 / (1 + q)], rtol=1e-12)
    np.testing.assert_allclose(forcing, [q, 1 - q], rtol=1e-12)


def test_forced_closing_may_close_what_the_world_never_would():
    """q = 1 opens up to D; with four tokens the second bracket must close all the same."""
    law = CompleteDyck(Dyck(1, 3, 1.0), 4, closing="forced")
    np.testing.assert_array_equal(
        asked(law, [[0, 0, 1, 1], [0, 1, 0, 1]])["log_prob"], [0, -np.inf]
    )
    np.testing.assert_array_equal(sampled(law, jax.random.key(0), 2).tokens, [[0, 0, 1, 1]] * 2)


def test_rare_returns_do_not_underflow():
    """From depth 10 the way back has probability 1e-108; float32 does not even hold q."""
    law = CompleteDyck(Dyck(2, 10, 1 - 1e-12), 20)
    drawn = sampled(law, jax.random.key(0), 5)
    assert not np.asarray(drawn.depths)[:, -1].any()
    batch = np.vstack([drawn.tokens, [0] * 10 + [1] * 10])
    single = ask(law, batch)
    assert single["rows"].dtype == np.float32
    np.testing.assert_allclose(single["log_prob"], asked(law, batch)["log_prob"], rtol=1e-4)


# -- samples ----------------------------------------------------------------------------------


@eqx.filter_jit
def sampled(world, key, *arguments, method="sample"):
    count, arguments = arguments[-1], arguments[:-1]
    return jax.vmap(lambda k: getattr(world, method)(k, *arguments))(jax.random.split(key, count))


def assert_law(drawn, law):
    """Chi-square at one fixed key, at a level of one in a million; rare outcomes are pooled."""
    counts = Counter(drawn)
    assert set(counts) <= set(law) and abs(sum(law.values()) - 1) < 1e-9
    common = [w for w, p in law.items() if COUNT * p >= 5]
    observed = [counts[w] for w in common]
    expected = [COUNT * law[w] for w in common]
    if COUNT - sum(expected) > 1e-6:
        observed.append(COUNT - sum(observed))
        expected.append(COUNT - sum(expected))
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    assert stats.chi2.sf(statistic, max(len(expected) - 1, 1)) > 1e-6


def brackets(drawn, vocab):
    """The strings of a batch without their padding."""
    np.testing.assert_array_equal(drawn.mask, np.asarray(drawn.tokens) < vocab)
    return [tuple(x for x in row if x < vocab) for row in np.asarray(drawn.tokens).tolist()]


@pytest.mark.parametrize("world", [SKEWED])
def test_prefix_samples(world):
    drawn = sampled(world, jax.random.key(3), 4, COUNT)
    assert_law(brackets(drawn, world.vocab), strings(world, 4))
    ups = 1 - 2 * (np.asarray(drawn.tokens) % 2)
    np.testing.assert_array_equal(drawn.depths, np.cumsum(ups, axis=1))


@both
def test_complete_samples(closing):
    law = mixture([COMPLETE[closing](SKEWED, n) for n in LENGTHS])
    world = CompleteDyck(SKEWED, LENGTHS, closing=closing)
    drawn = sampled(world, jax.random.key(4), COUNT)
    assert drawn.tokens.shape == (COUNT, 6)
    assert_law(brackets(drawn, 4), law)
    assert not np.asarray(drawn.depths)[:, -1].any()


def test_complete_samples_of_one_length():
    drawn = sampled(CompleteDyck(SKEWED, LENGTHS), jax.random.key(5), 4, COUNT)
    assert drawn.tokens.shape == (COUNT, 4)
    assert_law(brackets(drawn, 4), COMPLETE["conditioned"](SKEWED, 4))


def test_samples_that_end_in_a_closed_bracket():
    """Lengths 2..5 uniformly, and the law of prefixes given that the last token is closed."""
    laws = []
    for n in range(2, 6):
        ending = {w: p for w, p in strings(SKEWED, n).items() if w[-1] % 2}
        laws.append({w: p / sum(ending.values()) for w, p in ending.items()})
    drawn = sampled(SKEWED, jax.random.key(6), 5, 2, COUNT, method="sample_closing")
    assert_law(brackets(drawn, 4), mixture(laws))
    drawn = sampled(SKEWED, jax.random.key(7), 5, COUNT, method="sample_closing")
    assert_law(brackets(drawn, 4), laws[-1])


def test_two_unequal_types_of_length_32_with_forced_closing():
    world = CompleteDyck(Dyck(2, 16, 0.5, [0.9, 0.1]), 32, closing="forced")
    drawn = sampled(world, jax.random.key(8), 500)
    assert drawn.tokens.shape == (500, 32) and not np.asarray(drawn.depths)[:, -1].any()
    share = np.mean(np.asarray(drawn.tokens) < 2)
    assert abs(share - 0.9) < 5 * np.sqrt(0.09 / (500 * 16))
    assert np.isfinite(ask(world, drawn.tokens)["log_prob"]).all()


def test_the_same_key_in_either_precision():
    drawn = sampled(Dyck(), jax.random.key(9), 50, 3).tokens
    with jax.enable_x64(True):
        again = sampled(Dyck(), jax.random.key(9), 50, 3).tokens
    assert drawn.dtype == again.dtype == np.int32
    np.testing.assert_array_equal(drawn, again)


def test_stacked_worlds_equal_single_ones():
    worlds = [Dyck(2, 3, q) for q in (0.2, 0.5, 0.8)]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *worlds)
    batch = np.array([[0, 2, 2, 3, 3, 1, 2]])
    together = eqx.filter_jit(jax.vmap(lambda w: w.log_prob(batch[0])))(stacked)
    alone = [asked(world, batch)["log_prob"][0] for world in worlds]
    np.testing.assert_allclose(together, alone, rtol=1e-6)


def test_the_likelihood_has_a_gradient():
    """d/dq log P = opens / q - closes / (1 - q) over the free choices."""
    tokens = np.array([0, 2, 3, 1, 0])
    slope = jax.jit(jax.grad(lambda q: Dyck(2, 3, q).log_prob(tokens)))(0.3)
    assert slope == pytest.approx(1 / 0.3 - 2 / 0.7, rel=1e-5)


# -- the closing query ------------------------------------------------------------------------


def test_floor_of_the_closing_query():
    world = Dyck(2, 4, 0.5)
    assert world.closing_floor() == pytest.approx((0.625, 0.8125))
    assert world.closing_floor(400) == pytest.approx((0.5, 0.75))
    assert world.closing_floor(401) == pytest.approx((0.75, 0.875))
    assert Dyck(1, 3).closing_floor().accuracy == 1 and Dyck(2, 1).closing_floor().easy == 1


@pytest.mark.parametrize("world", [Dyck(3, 3, 0.7), SKEWED])
def test_floor_equals_enumeration(world):
    """The best guess from the last token alone, by counting."""
    for length in (2, 3, 6):
        joint = Counter()
        for w, p in strings(world, length).items():
            if w[-1] % 2:
                joint[w[-2], w[-1]] += p
        seen = {last for last, _ in joint}
        best = sum(max(p for (last, _), p in joint.items() if last == x) for x in seen)
        easy = sum(p for (last, _), p in joint.items() if last % 2 == 0)
        total = sum(joint.values())
        assert world.closing_floor(length) == pytest.approx((easy / total, best / total))


def test_closing_queries():
    world = Dyck(2, 4)
    ask_query = eqx.filter_jit(world.closing_query)
    query = ask_query(np.array([0, 2, 3, 1, 4, 4]))
    np.testing.assert_array_equal(query.tokens, [0, 2, 3, 4, 4])
    assert (query.position, query.answer, bool(query.hard)) == (2, 1, True)
    query = ask_query(np.array([0, 2, 3, 4, 4, 4]))
    np.testing.assert_array_equal(query.tokens, [0, 2, 4, 4, 4])
    assert (query.position, query.answer, bool(query.hard)) == (1, 3, False)


def test_exact_predictor_answers_every_query_and_the_share_of_hard_ones():
    world = Dyck(2, 4)
    drawn = sampled(world, jax.random.key(10), 60, 41, 2000, method="sample_closing")
    assert np.asarray(drawn.length).min() == 41 and np.asarray(drawn.length).max() == 60

    @eqx.filter_jit
    @jax.vmap
    def answer(tokens):
        query = world.closing_query(tokens)
        return query, 2 * jnp.argmax(world.next_logits(query.tokens)[query.position, 1::2]) + 1

    query, answers = answer(drawn.tokens)
    np.testing.assert_array_equal(answers, query.answer)
    easy = 1 - np.mean(np.asarray(query.hard))
    assert abs(easy - 0.625) < 5 * np.sqrt(0.625 * 0.375 / 2000)


def test_copy_targets_are_the_tokens():
    np.testing.assert_array_equal(Dyck().copy_targets(np.array([0, 1, 2])), [0, 1, 2])


# -- bad input --------------------------------------------------------------------------------

BAD = {
    "types is 0; it must be a whole number of at least 1": lambda: Dyck(0, 4),
    "depth is 0; it must be a whole number of at least 1": lambda: Dyck(2, 0),
    "open_probability is 1.5; it must lie in [0, 1]": lambda: Dyck(2, 4, 1.5),
    "open_probability is nan; it must lie in [0, 1]": lambda: Dyck(2, 4, float("nan")),
    "open_probability is 'half'; it must lie in [0, 1]": lambda: Dyck(2, 4, "half"),
    "open_probability[1] is 2; it must lie in [0, 1]": lambda: Dyck(2, 2, [1, 2, 0]),
    "open_probability[0] is 0.5; it must be 1, nothing is open to be closed": lambda: Dyck(
        2, 2, [0.5, 0.5, 0]
    ),
    "open_probability[2] is 0.5; it must be 0, brackets nest at most 2 deep": lambda: Dyck(
        2, 2, [1, 0.5, 0.5]
    ),
    "open_probability has shape (2,); it must have shape (4)": lambda: Dyck(2, 3, [1, 0]),
    "type_probabilities[1] is -0.5; no entry may be negative": lambda: Dyck(2, 2, 0.5, [1.5, -0.5]),
    "type_probabilities sums to 0.9; it must sum to 1": lambda: Dyck(2, 2, 0.5, [0.5, 0.4]),
    "length is 0; it must be a whole number of at least 1": lambda: Dyck().sample(
        jax.random.key(0), 0
    ),
    "length is -1; it must be a whole number of at least 1": lambda: Dyck().count(-1),
    "kind is 'hinge'; it must be one of 'cross_entropy', 'squared'": lambda: Dyck().optimal_loss(
        3, "hinge"
    ),
    "no string of length 1 ends in a closed bracket with positive probability": lambda: (
        Dyck().closing_floor(1)
    ),
    "no string of length 3 ends in a closed bracket with positive probability": lambda: Dyck(
        1, 4, 1.0
    ).sample_closing(jax.random.key(0), 3),
    "shortest is 5; it must be at most the length 4": lambda: Dyck().sample_closing(
        jax.random.key(0), 4, 5
    ),
    "token 3 at index 1 cannot stand there; the string must be a prefix of balanced brackets "
    "of 2 types, at most 4 deep": lambda: Dyck().matching(np.array([0, 3])),
    "token 0 at index 2 cannot stand there; the string must be a prefix of balanced brackets "
    "of 2 types, at most 2 deep": lambda: Dyck(2, 2).stack_tops(np.array([0, 2, 0])),
    "token 9 at index 1 is outside the vocabulary 0..4": lambda: Dyck().log_prob(np.array([0, 9])),
    "the string ends in token 2; it must end in a closed bracket": lambda: Dyck().closing_query(
        np.array([0, 1, 2])
    ),
    "no complete string has length 7; it must be even": lambda: CompleteDyck(Dyck(), [2, 7]),
    "no string of length 2 is complete with positive probability": lambda: CompleteDyck(
        Dyck(2, 2, 1.0), 2
    ),
    "lengths are empty; give at least one": lambda: CompleteDyck(Dyck(), []),
    "lengths hold 4 more than once": lambda: CompleteDyck(Dyck(), [4, 4]),
    "length_probabilities sums to 0.5; it must sum to 1": lambda: CompleteDyck(Dyck(), [4], [0.5]),
    "closing is 'soft'; it must be one of 'conditioned', 'forced'": lambda: CompleteDyck(
        Dyck(), closing="soft"
    ),
    "the forced law has 2 lengths; its optimal loss is exact for one": lambda: CompleteDyck(
        Dyck(), [2, 4], closing="forced"
    ).optimal_loss(),
    "length is 8; it must be one of [2, 4]": lambda: CompleteDyck(Dyck(), [2, 4]).sample(
        jax.random.key(0), 8
    ),
}


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("message", BAD)
def test_bad_input_meets_one_sentence(message):
    with pytest.raises(ValueError) as error:
        BAD[message]()
    assert str(error.value) == message


def test_bad_tokens_under_a_trace_are_impossible():
    for token in (-1, 7):
        tokens = np.array([0, token, 1])
        assert eqx.filter_jit(Dyck.log_prob)(Dyck(), tokens) == -np.inf
        assert eqx.filter_jit(CompleteDyck.log_prob)(CompleteDyck(Dyck()), tokens) == -np.inf


@pytest.mark.parametrize(("types", "depth"), [(1, 1), (3, 2)])
def test_token_depths_number_every_pair_once(types, depth):
    world = Dyck(types, depth)
    tokens = np.asarray(world.sample(jax.random.key(types), 60).tokens)
    legal = [
        (token, d)
        for token in range(2 * types)
        for d in (range(1, depth + 1) if token % 2 == 0 else range(depth))
    ]
    assert len(legal) == world.pairs
    level = 0
    expected = []
    for token in tokens:
        level += 1 if token % 2 == 0 else -1
        expected.append(legal.index((token, level)))
    np.testing.assert_array_equal(world.token_depths(tokens), expected)
    padded = np.append(tokens, world.vocab)
    assert world.token_depths(padded)[-1] == world.pairs
