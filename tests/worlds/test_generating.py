"""Worlds as generators: their laws are quotients of sums of probabilities, and strings follow them."""

import itertools

import drawn
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from minicosm.decoding import (
    Ancestral,
    Backtracking,
    CallableVerifier,
    DyckVerifier,
    Thresholded,
    sample,
)
from minicosm.models import Generator
from minicosm.worlds import HMM, CompleteDyck, Dyck, MemoryHMM


def strings_of(vocab: int, length: int) -> np.ndarray:
    every = itertools.product(range(vocab), repeat=length)
    return np.array(list(every), np.int64).reshape(-1, length)


@eqx.filter_jit
def laws_of(generator, strings):
    """The laws after 0..T tokens of each string, read to the end before any law is asked for."""

    def one(string):
        places = jnp.arange(len(string) + 1, dtype=jnp.int32)
        memory, _ = jax.lax.scan(
            lambda memory, now: (generator.read(memory, *now), None),
            generator.begin(len(string)),
            (places[:-1], string),
        )
        return jax.vmap(lambda n: generator.law(memory, n))(places)

    return jax.vmap(one)(strings)


@eqx.filter_jit
def chances_of(world, strings):
    return jnp.exp(jax.vmap(world.log_prob)(strings))


def expected_laws(strings: np.ndarray, probabilities: np.ndarray, vocab: int, levels: int):
    """`P[next | prefix]` for the prefixes of every string, from the probabilities of all strings."""
    found = np.zeros((len(strings), levels, vocab))
    for row, string in enumerate(strings):
        for n in range(levels):
            fits = (strings[:, :n] == string[:n]).all(axis=1)
            law = np.bincount(strings[fits, n], probabilities[fits], vocab)
            found[row, n] = law / law.sum() if law.sum() > 0 else 0
    return found


def check_laws(world, length):
    """Every law after every prefix, also after impossible ones."""
    strings = strings_of(world.vocab, length)
    with jax.enable_x64(True):
        laws = np.exp(np.asarray(laws_of(world, strings)))
        chances = np.asarray(chances_of(world, strings), float)
    wanted = expected_laws(strings, chances, world.vocab, length)
    np.testing.assert_allclose(laws[:, :length], wanted, atol=1e-9)
    assert ((laws[:, :length] == 0) == (wanted == 0)).all()
    assert not np.isnan(laws).any()
    alive = chances > 0
    np.testing.assert_allclose(laws[alive, length].sum(axis=-1), 1, atol=1e-9)
    assert not laws[~alive, length].any()


@pytest.mark.parametrize(("hidden", "vocab", "length"), [(1, 1, 1), (2, 3, 1), (3, 2, 4)])
@settings(max_examples=6)
@given(data=st.data())
def test_the_law_of_an_hmm(hidden, vocab, length, data):
    check_laws(data.draw(drawn.hmms(hidden, vocab)), length)


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (2, 1, 2, 3, 3), (2, 2, 2, 2, 3)])
@settings(max_examples=6)
@given(data=st.data())
def test_the_law_of_a_memory_world(sizes, data):
    *shape, length = sizes
    check_laws(data.draw(drawn.memory_hmms(*shape)), length)


@pytest.mark.parametrize(
    ("world", "length"),
    [
        (Dyck(2, 2, 0.3, [0.4, 0.6]), 4),
        (Dyck(1, 1), 3),
        (Dyck(2, 3, [1, 0.0, 0.5, 0]), 4),
        (Dyck(2, 1, 0.5, [1.0, 0.0]), 1),
        (CompleteDyck(Dyck(2, 2, 0.3, [0.4, 0.6]), [4]), 4),
        (CompleteDyck(Dyck(2, 3, 0.3), [4], closing="forced"), 4),
    ],
)
def test_the_law_of_brackets(world, length):
    strings = strings_of(world.vocab, length)
    if isinstance(world, Dyck):
        return check_laws(world, length)
    with jax.enable_x64(True):
        laws = np.exp(np.asarray(laws_of(world, strings)))
        chances = np.asarray(chances_of(world, strings), float)
    np.testing.assert_allclose(
        laws[:, :-1], expected_laws(strings, chances, world.vocab, length), atol=1e-9
    )
    assert not laws[:, -1].any()  # the end is certain


@pytest.mark.parametrize("closing", ["conditioned", "forced"])
def test_the_law_of_brackets_and_their_end(closing):
    """With an end token: probabilities of the strings of every length, padded with the end."""
    world = CompleteDyck(Dyck(1, 2, 0.3), [2, 4], [0.3, 0.7], closing=closing)
    ending = world.with_end()
    strings = strings_of(ending.vocab, 5)
    done = (strings == ending.end).any(axis=1)
    first = np.where(done, (strings == ending.end).argmax(axis=1), 5)
    canonical = done & ((strings == ending.end) == (np.arange(5) >= first[:, None])).all(axis=1)
    with jax.enable_x64(True):  # the end token is the one that pads
        chances = np.asarray(chances_of(world, strings), float) * canonical
        laws = np.exp(np.asarray(laws_of(ending, strings)))
        next_logits = np.exp(
            jax.jit(lambda x: world.next_logits(x, start=True))(np.array([0, 1, 0, 1]))
        )
        plain = np.exp(np.asarray(laws_of(world, np.array([[0, 1, 0, 1]]))))[0]
    assert chances.sum() == pytest.approx(1)
    wanted = expected_laws(strings, chances, ending.vocab, 5)
    before_end = np.arange(5) <= first[:, None]
    np.testing.assert_allclose(laws[:, :5][before_end], wanted[before_end], atol=1e-9)
    np.testing.assert_allclose(plain, next_logits, atol=1e-9)


SKEWED = HMM([[0.9, 0.0], [0.1, 1.0]], [[0.7, 0.0], [0.3, 0.4], [0.0, 0.6]], [0.6, 0.4])
REMEMBERING = MemoryHMM(
    [[0.2, 0.7], [0.8, 0.3]],
    np.array([[[0.9, 0.2], [0.1, 0.2]], [[0.1, 0.8], [0.9, 0.8]]]),
    [0.3, 0.7],
    [0.5, 0.5],
)
COUNT = 4000


@pytest.mark.parametrize(
    "world", [SKEWED, REMEMBERING, Dyck(2, 2, 0.3, [0.4, 0.6])], ids=lambda w: type(w).__name__
)
def test_sampled_strings_have_the_law_of_the_world(world):
    assert isinstance(world, Generator)
    prompts = np.zeros((COUNT, 0), int)
    found = sample(Ancestral(), world, None, prompts, jax.random.key(1), length=3, chunk=COUNT)
    strings = strings_of(world.vocab, 3)
    chances = np.asarray(chances_of(world, strings), float)
    code = found.tokens @ world.vocab ** np.arange(2, -1, -1)
    counts = np.bincount(code, minlength=len(strings))
    assert not counts[chances == 0].any()
    possible = chances > 0
    expected = COUNT * chances[possible] / chances.sum()
    assert stats.chisquare(counts[possible], expected).pvalue > 1e-4


def test_complete_strings_of_several_lengths():
    world = CompleteDyck(Dyck(2, 2, 0.6), [2, 4], [0.4, 0.6])
    ending, prompts = world.with_end(), np.zeros((COUNT, 0), int)
    found = sample(
        Ancestral(), ending, None, prompts, jax.random.key(2), length=5, end=ending.end, chunk=COUNT
    )
    texts = [world.text(row) for row in found.tokens]
    every = [[0, 1], [2, 3]] + [[*a, *b] for a in ([0, 1], [2, 3]) for b in ([0, 1], [2, 3])]
    every += [[a, b, b + 1, a + 1] for a in (0, 2) for b in (0, 2)]
    padded = np.array([[*s, 4, 4][:4] for s in every])
    chances = np.asarray(chances_of(world, padded), float)
    expected = {world.text(s): COUNT * p for s, p in zip(every, chances, strict=True)}
    assert sum(expected.values()) == pytest.approx(COUNT, rel=1e-4)
    assert set(texts) <= set(expected)
    counts = np.array([texts.count(text) for text in expected])
    total = np.array(list(expected.values()))
    assert stats.chisquare(counts, total * COUNT / total.sum()).pvalue > 1e-4


def test_under_a_verifier():
    """Backtracking to a perfect verifier leaves only strings that it accepts."""
    world = Dyck(2, 3, 0.6)
    prompts = np.tile([0, 2], (64, 1))
    walk = Backtracking(quota=60, stride=2, threshold=0.5, refill="none")
    verifier = DyckVerifier(types=2, brackets=6)
    found = sample(walk, world, verifier, prompts, jax.random.key(3), length=6)
    complete = [
        world.log_prob(row) > -np.inf and world.depths(row)[-1] == 0 for row in found.tokens
    ]
    assert all(complete) and found.prompt_preserved.all()

    few = Thresholded(
        CallableVerifier(lambda tokens, n: jnp.mean((tokens != 2) | (jnp.arange(4) >= n))), 0.9
    )
    found = sample(walk, SKEWED, few, np.zeros((64, 0), int), jax.random.key(4), length=4)
    assert not (found.tokens == 2).any()


def test_after_an_impossible_prompt_nothing_is_possible():
    with pytest.raises(ValueError, match=r"token is 7; it must lie in 0\.\.2"):
        SKEWED.read(SKEWED.begin(2), 0, 7)
    read = jax.jit(lambda token: SKEWED.law(SKEWED.read(SKEWED.begin(2), 0, token), 1))
    assert (np.asarray(read(7)) == -np.inf).all()  # under a trace values are not seen
    with pytest.raises(ValueError, match="sum to one"):
        sample(Ancestral(), Dyck(2, 2), None, np.array([[1]]), jax.random.key(0), length=3)


@pytest.mark.parametrize("room", [-1, 2.5, None, True, 2**40])
@pytest.mark.parametrize(
    "world", [SKEWED, REMEMBERING, Dyck(2, 2), CompleteDyck(Dyck(2, 2), [4])], ids=lambda w: type(w)
)
@pytest.mark.usefixtures("unchecked_types")
def test_room_that_cannot_be_had(world, room):
    with pytest.raises(ValueError, match=r"room is|a memory of"):
        world.begin(room)
