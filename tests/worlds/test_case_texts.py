"""The world of test cases against texts written out and against enumeration."""

import re
from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.worlds.guided.case_states import KINDS, MARKS, Slot
from minicosm.worlds.guided.case_texts import AppendCases
from minicosm.worlds.guided.case_values import CaseReferee, CaseValue


def right_sides(world, listed, item):
    """Every right-hand side that is meant, with its kind and probability, written out by hand; junk
    only up to its `def`."""
    correct = [*listed, item]
    p = dict(zip(KINDS, np.asarray(world.kind_probabilities), strict=True))
    yield correct, p["correct"], False
    yield [item, *listed], p["prepended"], False
    yield sorted(correct), p["sorted"], False
    for i, digit in product(range(len(correct)), range(world.digits)):
        if digit != correct[i]:
            wrong = [*correct[:i], digit, *correct[i + 1 :]]
            yield wrong, p["wrong digit"] / len(correct) / (world.digits - 1), False
    for stop in range(2 * len(listed) + 3):
        yield stop, p["junk"] / (2 * len(listed) + 3), True


def right_tokens(world, digits):
    body = [t for d in digits for t in (d, world.mark(","))][:-1]
    return [world.mark("["), *body, world.mark("]"), world.mark("\n")]


def left_tokens(world, name, listed, item):
    m = world.mark
    body = [t for d in listed for t in (d, m(","))][:-1]
    head = [m("def"), world.first_name + name, m("\n"), m("assert"), world.first_name + name, m("("),
            m("["), *body, m("]"), m(","), item, m(")"), m("==")]  # fmt: skip
    return head


@eqx.filter_jit
def scores(verifier, tokens):
    """What a verifier says after each token."""

    def one(carry, token):
        memory, n = carry
        memory = verifier.read(memory, n, token, None)
        return (memory, n + 1), verifier.score(memory, n + 1)

    return jax.lax.scan(one, (verifier.begin(len(tokens), None), jnp.asarray(0)), tokens)[1]


def test_without_noise_the_law_is_that_of_lines_written_out():
    world = AppendCases(noise=0.0, names=3, misleading=0, lines=1, longest=2, digits=3)
    score = jax.jit(jax.vmap(world.log_prob))
    texts, wanted = [], {}
    for size in range(3):
        for *listed, item in product(range(3), repeat=size + 1):
            base = 1 / 3 * 1 / 3 * 3.0 ** -(size + 1)
            left = left_tokens(world, 0, listed, item)
            for side, p, stops in right_sides(world, listed, item):
                if stops:
                    whole = right_tokens(world, [*listed, item])
                    text = (*left, *whole[:side], world.mark("def"))
                else:
                    text = (*left, *right_tokens(world, side))
                wanted[text] = wanted.get(text, 0) + base * p
    assert sum(wanted.values()) == pytest.approx(1 / 3)  # of the three names, one
    room = max(map(len, wanted))
    # A text is followed by <eos>; after junk's `def` that has probability 1 / V.
    for text in wanted:
        texts.append([*text, *[world.end] * (room + 1 - len(text))])
    found = np.exp(np.asarray(score(jnp.asarray(texts)), np.float64))
    after = [1 / world.vocab if t[-1] == world.mark("def") else 1.0 for t in wanted]
    assert np.allclose(found, np.array(list(wanted.values())) * after, rtol=2e-5, atol=0)


SMALL = {"names": 2, "misleading": 1, "lines": 2, "longest": 2, "digits": 3}
ROOM = 48


@eqx.filter_jit
def draw(world, key, count, names):
    """Texts for names with these numbers."""

    def one(key, name):
        return world.sample(key, ROOM, name).tokens

    return jax.vmap(one)(jax.random.split(key, count), names)


@eqx.filter_jit
def lines_of(world, texts):
    return jax.vmap(world.cases)(texts)


FEW = 40


@eqx.filter_jit
def worth(value, texts):
    """Of the states after 1, 2, ... tokens of all texts: the value, the law of the next token, and what
    the state is worth if each token follows."""
    world = value.world

    def one(state):
        children = jax.vmap(world.step, (None, 0))(state, jnp.arange(world.vocab))
        both = jax.tree.map(lambda s, c: jnp.concatenate([s[None], c]), state, children)
        values = jax.vmap(value.value)(both)
        ended = (children.slot == Slot.LINE) & (
            state.slot >= Slot.LINE
        )  # a line break in the lines
        whole = (state.slot == Slot.RIGHT) & state.alive[0] & (state.place == 2 * state.size + 3)
        return values[0], jnp.exp(world.log_law(state)), jnp.where(ended, whole, values[1:])

    states = jax.vmap(world.states)(texts)
    return jax.vmap(one)(jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), states))


def test_laws_sum_to_one_and_value_is_their_martingale():
    """V* is 1 or 0 where a line has ended and the mean over its children elsewhere."""
    world = AppendCases(noise=0.1, **SMALL)
    texts = draw(world, jax.random.key(0), 400, jnp.arange(400) % 3)
    rights = [[*left_tokens(world, n, [1, 2], 0), *right_tokens(world, [1, 2, 0])] for n in (0, 2)]
    rights = [r + [world.end] * (ROOM - len(r)) for r in rights]
    some = jnp.concatenate([texts[: FEW - 2], jnp.array(rights)])
    here, law, then = map(np.asarray, worth(CaseValue(world), some))
    assert np.allclose(law.sum(axis=1), 1, atol=1e-6)
    assert np.allclose(here, (law * then).sum(axis=1), atol=1e-6)
    assert (here > 0.3).any() and (here == 0).any()


@pytest.mark.long
def test_value_is_the_share_of_samples_that_end_correct():
    world = AppendCases(noise=0.02, **SMALL)
    for name in (0, 2):
        texts = draw(world, jax.random.key(name), 400, jnp.arange(400) * 0 + name)
        lines = lines_of(world, texts)
        first = np.asarray(lines.ends).argmax(axis=1)
        right = np.asarray(lines.correct)[np.arange(400), first]
        exact = float(worth(CaseValue(world), texts[:FEW])[0][2])  # after the header
        assert abs(right.mean() - exact) < 4 * np.sqrt(exact * (1 - exact) / 400)


PATTERN = re.compile(r"assert f\d+ \( \[ ?((?:\d ,? ?)*?)\] , (\d) \) == \[ ((?:\d ,? ?)+)\]$")


def read_text(text):
    """The correct cases of a text, by a regular expression on its lines."""
    found = []
    for line in text.split("\n")[1:]:
        match = PATTERN.match(line.strip())
        if not match:
            found.append(None)
            continue
        listed, item, side = (part.replace(" ", "").strip(",") for part in match.groups())
        commas = line.count(",") == max(len(listed.split(",")) - 1, 0) + 1 + side.count(",")
        whole = ",".join(part for part in (listed, item) if part)
        found.append((listed, item) if whole == side and commas else None)
    return found


def test_cases_are_those_that_a_reader_of_the_text_finds():
    world = AppendCases(noise=0.01, **SMALL)
    texts = draw(world, jax.random.key(1), 400, jnp.arange(400) % 3)
    lines = lines_of(world, texts)
    names, seen = {}, 0
    for tokens, ends, correct, case in zip(np.asarray(texts), *map(np.asarray, lines), strict=True):
        text = world.text(tokens)
        read = read_text(text)[: int(ends.sum())]
        mine = [int(c) if ok else None for ok, c in zip(correct[ends], case[ends], strict=True)]
        name = re.match(r"def (f\d+)", text).group(1)
        same_name = [f"assert {name} " in line for line in text.split("\n")[1:]]
        for theirs, ours, named in zip(read, mine, same_name, strict=False):
            assert (theirs is not None and named) == (ours is not None)
            if ours is not None:
                assert names.setdefault(theirs, ours) == ours
                seen += 1
    assert seen > 300 and len(set(names.values())) == len(names) > 20


def test_the_referee_rejects_from_the_first_token_that_cannot_be_right():
    world = AppendCases(names=1, misleading=1, lines=1, longest=2, digits=4)
    referee = CaseReferee(world)
    good = [*left_tokens(world, 0, [1, 3], 2), *right_tokens(world, [1, 3, 2]), world.end]
    for wrong_at in (None, 4, 7, 18, 22, len(good) - 2):
        tokens = list(good)
        if wrong_at is not None:
            tokens[wrong_at] = world.mark("(") if good[wrong_at] != world.mark("(") else 0
        found = scores(referee, jnp.asarray(tokens)).tolist()
        end = len(good) if wrong_at is None else wrong_at
        assert found[:end] == [1.0] * end
        assert wrong_at is None or found[wrong_at] == 0


def test_misleading_names_triple_two_kinds():
    world = AppendCases()
    plain = np.asarray(world.prior(jnp.asarray(world.first_name), jnp.asarray(5)))
    led = np.asarray(world.prior(jnp.asarray(world.first_name + world.names), jnp.asarray(5)))
    assert np.allclose(led[1:3], 3 * plain[1:3])
    assert np.allclose([plain.sum(), led.sum()], 1)
    assert np.allclose(led[3:], plain[3:])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"noise": 1.0}, "noise is 1.0"),
        ({"misled": 9.0}, "misled is 9.0"),
        ({"kind_probabilities": (0.5, 0.1, 0.1, 0.1, 0.1)}, "sum"),
        ({"digits": 1}, "digits"),
    ],
)
def test_bad_worlds_are_named(given, words):
    with pytest.raises(ValueError, match=words):
        AppendCases(**given)


def test_marks_and_names_have_tokens_of_their_own():
    world = AppendCases()
    assert len({world.mark(m) for m in MARKS}) == len(MARKS)
    assert world.vocab == 50
    assert world.text(world.header(2)) == "def f2 \n"
