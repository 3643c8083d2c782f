"""The short way to strings: the same as the long one, with a verifier of one's own."""

import jax
import numpy as np
import pytest
from tables import END, LENGTH, PrefixWorld, Scores, node

from minicosm.decoding import VGB, Ancestral, Backtracking, Rejection, Status, generate, sample

WORLD = PrefixWorld(23, end=0.3)
KEY = jax.random.key(5)
UNRELATED = Scores(WORLD.unrelated)


def test_it_is_sample_without_what_need_not_be_said():
    short = generate(WORLD.generator, key=KEY, length=LENGTH, count=12, end=END)
    empty = np.zeros((12, 0), int)
    long = sample(Ancestral(), WORLD.generator, None, empty, KEY, length=LENGTH, end=END)
    np.testing.assert_array_equal(short.tokens, long.tokens)
    one = generate(WORLD.generator, key=KEY, length=LENGTH, prompts=[1], count=12)
    many = generate(WORLD.generator, key=KEY, length=LENGTH, prompts=[[1]] * 12)
    np.testing.assert_array_equal(one.tokens, many.tokens)
    ragged = generate(WORLD.generator, key=KEY, length=LENGTH, prompts=[[1], [0, 1], []])
    assert ragged.prompt_lengths.tolist() == [1, 2, 0] and ragged.prompt_preserved.all()


@pytest.mark.parametrize("sampler", [VGB(steps=40), Backtracking(quota=2, stride=2), Rejection()])
def test_a_python_function_is_a_verifier(sampler):
    """Same scores, same strings, same counters as a verifier that JAX computes."""
    asked: list[tuple[int, ...]] = []

    def score(tokens):
        asked.append(tuple(tokens.tolist()))
        return WORLD.unrelated[node(tokens)]

    at = {"key": KEY, "length": LENGTH, "count": 16, "end": END}
    mine = generate(WORLD.generator, sampler, verifier=score, **at)
    compiled = generate(WORLD.generator, sampler, verifier=UNRELATED, **at)
    for name, value in vars(compiled).items():
        if value is not None:
            np.testing.assert_allclose(getattr(mine, name), value, rtol=1e-6, err_msg=name)
    assert len(asked) == len(set(asked))  # each string once
    exact = [WORLD.unrelated[node(mine.string(row))] for row in range(16)]
    np.testing.assert_allclose(mine.final_score, exact, rtol=1e-6)
    np.testing.assert_array_equal(mine.accepted, np.array(exact) >= 0.5)


def test_a_verifier_that_accepts_nothing_ends_at_a_budget():
    nothing = generate(
        WORLD.generator, Rejection(), key=KEY, length=LENGTH, count=3, verifier=lambda tokens: 0.0
    )
    assert (nothing.status == Status.BUDGET).all() and not nothing.accepted.any()
    assert (nothing.calls <= 200 * LENGTH).all()


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": "gpt2"}, "model is a str; it must be a world that generates"),
        ({"model": None}, "model is a NoneType"),
        ({"sampler": "vgb"}, "sampler is a str; it must be a sampler such as"),
        ({"verifier": 3}, "verifier is a int; it must be a function of the tokens"),
        ({"length": 0}, "length is 0"),
        ({"count": 0}, "count is 0"),
        ({"prompts": "abc"}, "prompts is a text; they must be tokens"),
        ({"prompts": 3}, "prompts is a int; it must be a prompt or a list"),
        ({"prompts": []}, "prompts is empty"),
        ({"prompts": [[0.5]]}, "prompt 0 has shape .* and dtype float64"),
        ({"prompts": [[7]]}, "prompt 0 has token 7 at index 0"),
        ({"prompts": [[0], [1]], "count": 3}, "count is 3 and there are 2 prompts"),
        ({"end": 9}, "the end token is 9"),
    ],
)
def test_mistakes_are_sentences(change, sentence):
    words = {"model": WORLD.generator, "key": KEY, "length": LENGTH, **change}
    with pytest.raises((TypeError, ValueError), match=sentence):
        generate(**words)


def test_what_a_function_raises_is_raised():
    def broken(tokens):
        raise KeyError("no such word")

    with pytest.raises(KeyError, match="no such word"):
        generate(WORLD.generator, Rejection(), key=KEY, length=LENGTH, verifier=broken)
    with pytest.raises(ValueError, match="a score that is no finite number"):
        generate(
            WORLD.generator, Rejection(), key=KEY, length=LENGTH, verifier=lambda tokens: np.nan
        )


def test_strings_that_no_verifier_saw_say_so():
    with pytest.raises(ValueError, match="were not scored"):
        _ = generate(WORLD.generator, key=KEY, length=LENGTH).accepted
