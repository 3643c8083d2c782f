"""What is typed becomes a world or a sentence; exact answers against paths that are written out."""

from itertools import product

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from minicosm.explorer import markov, panels, settings
from minicosm.worlds import HMM


@hypothesis.given(seed=st.integers(0, 10**6), rows=st.integers(1, 9), columns=st.integers(1, 5))
def test_columns_are_rounded_to_thousandths_and_still_sum_to_one(seed, rows, columns):
    law = np.random.default_rng(seed).dirichlet(np.full(rows, 0.4), size=columns).T
    found = markov.thousandths(law)
    counts = np.round(found * 1000)
    assert np.abs(found * 1000 - counts).max() < 1e-9 and (counts.sum(axis=0) == 1000).all()
    assert np.abs(found - law).max() <= 1e-3 and (found >= 0).all()


@pytest.mark.parametrize("kind", markov.KINDS.values())
def test_a_world_that_is_drawn_can_be_typed(kind):
    world, mu = markov.draw_world(kind, 5, 4 if kind in ("covered", "uncovered") else 6, 1)
    again = markov.read_world(*(markov.as_text(part) for part in (world.A, world.W, world.p0)))
    assert np.array_equal(again.A, world.A) and np.array_equal(again.W, world.W)
    assert np.allclose(markov.read_task(markov.as_text(mu), again).mu, mu)


def test_kinds_are_what_they_say():
    conditions = {}
    for kind in markov.KINDS.values():
        world, mu = markov.draw_world(
            kind, 5, 4 if kind in ("covered", "uncovered") else 6, 2, temperature=1.0
        )
        first = markov.assumptions(world, markov.PosteriorTask(mu))[:3]
        conditions[kind] = [condition.holds for condition in first]
    assert conditions["independent"][:2] == [True, True]
    assert conditions["covered"] == [False, True, True]
    assert conditions["uncovered"][0] is False and conditions["uncovered"][2] is False
    assert conditions["deficient"][0] is False


def test_answers_are_those_of_all_paths():
    A, W, p0 = "0.9 0\n0.1 1", "1/2 0\n1/2 1", "1/4 3/4"
    world = markov.read_world(A, W, p0)
    tokens, seen = markov.read_tokens("1 ? 1", world)
    found = markov.answers(world, tokens, seen)
    posterior, laws, total = np.zeros((4, 2)), np.zeros((3, 2)), 0.0
    for path in product(range(2), repeat=4):
        moves = world.p0[path[0]] * np.prod([world.A[path[i + 1], path[i]] for i in range(3)])
        emitted = [world.W[tokens[i], path[i + 1]] if seen[i] else 1.0 for i in range(3)]
        weight = moves * np.prod(emitted)
        total += weight
        for i in range(4):
            posterior[i, path[i]] += weight
        for i in range(3):
            others = moves * np.prod([e for j, e in enumerate(emitted) if j != i])
            laws[i] += others * world.W[:, path[i + 1]]
    assert np.allclose(found.posterior, posterior / total)
    assert np.allclose(found.conditionals, laws / laws.sum(axis=1, keepdims=True))
    assert found.log_prob == pytest.approx(np.log(total))


def test_the_prompt_of_a_covered_world_is_right_and_the_unpromised_head_is_not():
    world, mu = markov.draw_world(**settings.WORLD)
    task = markov.PosteriorTask(mu)
    applied = markov.theorems(world, task)
    assert not applied[0].applies and applied[1].holds
    head, prompt = markov.scores(world, task, applied)
    assert not head.promised and head.wrong.any()
    assert prompt.promised and not prompt.wrong.any()


GOOD = "0.5 0.5\n0.5 0.5"


@pytest.mark.parametrize(
    "A, W, p0, said",
    [
        ("", GOOD, "1 0", "A is empty; it needs a row of numbers on each line"),
        (
            "0.5 x\n0.5 1",
            GOOD,
            "1 0",
            "A has 'x' in row 1; it must be a number such as 0.25 or 1/4",
        ),
        ("1/0 1\n1 0", GOOD, "1 0", "A has '1/0' in row 1"),
        ("1 0\n1", GOOD, "1 0", "A has 2 numbers in row 1 and 1 in row 2"),
        ("1 0\n0.5 1", GOOD, "1 0", "A[:, 0] sums to 1.5; every column of A must sum to 1"),
        ("1 0 0\n0 1 1", GOOD, "1 0", "A has shape (2, 3)"),
        (GOOD, "0.3 0.7\n0.5 0.5", "1 0", "the rows of W sum to 1: pass the transpose"),
        (GOOD, GOOD, "0.5 0.6", "p0 sums to 1.1; it must sum to 1"),
        (GOOD, GOOD, "1", "p0 has shape (1,)"),
        ("1e999 0\n0 1", GOOD, "1 0", "A"),
        ("nan 0\n0 1", GOOD, "1 0", "A has 'nan' in row 1"),
        ("1e300000000 0\n0 1", GOOD, "1 0", "A"),
        ("1e30000000/3 0\n0 1", GOOD, "1 0", "A has '1e30000000/3' in row 1"),
        (" ".join(["1"] * 13), GOOD, "1", "there are 13 states"),
    ],
)
def test_a_matrix_that_is_none_is_a_sentence(A, W, p0, said):
    for shown in (panels.answers(A, W, p0, "0 1"), panels.theorems(A, W, p0, "1 -1")):
        assert shown.startswith('<p class="wrong" role="alert">') and shown.count("<p") == 1
        assert said in shown.replace("&#x27;", "'")


@pytest.mark.parametrize(
    "tokens, said",
    [
        ("", "there are 0 tokens"),
        ("0 " * 25, "there are 25 tokens"),
        ("0 2", "token 2 is '2'; it must be a number from 0 to 1, or ?"),
        ("-1", "token 1 is '-1'"),
        ("²", "token 1 is '²'"),
        ("9" * 5000, "token 1 is '9999"),
        ("<b>", "&lt;b&gt;"),
    ],
)
def test_tokens_that_are_none_are_a_sentence(tokens, said):
    shown = panels.answers(GOOD, GOOD, "1 0", tokens)
    assert 'role="alert"' in shown and said in shown.replace("&#x27;", "'")


def test_an_impossible_sequence_says_so():
    shown = panels.answers("1 0\n0 1", "1 0\n0 1", "1 0", "0 1")
    assert "impossible in this world" in shown


def test_a_task_of_another_size_is_a_sentence():
    assert "mu has 3 numbers; the world has 2 states" in panels.theorems(GOOD, GOOD, "1 0", "1 2 3")


def test_sizes_that_no_world_has_are_a_sentence():
    texts, refused = panels.texts_of_world("independent", 6, 3, 0, 0.3, True)
    assert "independent emissions of 6 states need at least 6 tokens" in refused
    assert set(texts.values()) == {""}


def test_equal_laws_make_every_label_alike():
    world = HMM(np.full((2, 2), 0.5), np.full((2, 2), 0.5), np.array([0.5, 0.5]))
    task = markov.PosteriorTask(np.array([1.0, -1.0]))
    applied = markov.theorems(world, task)
    (head,) = markov.scores(world, task, applied)
    assert not applied[0].applies and not len(head.exact)  # every exact score is zero
    assert "does not apply" in panels.theorems(GOOD, GOOD, "1/4 3/4", "1 -1")


def test_a_sequence_is_drawn_that_the_world_can_have():
    world, _ = markov.draw_world("independent", 4, 6, 0)
    for seed in range(10):
        tokens, seen = markov.read_tokens(markov.sampled_text(world, seed), world)
        assert seen.tolist() == [True, True, False] + [True] * 5
        assert np.isfinite(markov.answers(world, tokens, seen).log_prob)
