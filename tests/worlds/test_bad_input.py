"""Bad input meets one sentence that names the number, or a defined value; never NaN."""

import drawn
import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minicosm.worlds import HMM, MemoryHMM

pytestmark = pytest.mark.usefixtures("unchecked_types")

WORLDS = {
    "hmm": HMM(np.full((3, 3), 1 / 3), np.full((4, 3), 1 / 4), np.full(3, 1 / 3)),
    "memory": MemoryHMM(
        np.full((2, 2), 1 / 2), np.full((4, 3, 1, 2), 1 / 4), np.full(3, 1 / 3), np.full(2, 1 / 2)
    ),
}


def one_sentence(call) -> str:
    """The message of the ValueError that `call` raises, if it is one line."""
    with pytest.raises(ValueError) as error:
        call()
    message = str(error.value)
    assert type(error.value) is ValueError and message and "\n" not in message
    return message


def rebuilt(world, **changed):
    return type(world)(**(world.parameters() | changed))


each_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())


@each_world
@given(data=st.data())
def test_an_entry_that_is_no_probability(world, data):
    """Negative, NaN, infinite, or one that spoils a sum: the message shows it."""
    name = data.draw(st.sampled_from(sorted(world.parameters())))
    array = world.parameters()[name].copy()
    where = data.draw(st.tuples(*(st.integers(0, size - 1) for size in array.shape)))
    bad = data.draw(
        st.sampled_from([np.nan, np.inf, -np.inf])
        | st.floats(-2, -1e-3)
        | st.floats(1e-3, 5).filter(lambda x: abs(x - array[where]) > 1e-3)
    )
    array[where] = bad
    message = one_sentence(lambda: rebuilt(world, **{name: array}))
    assert message.startswith(name)
    if not np.isfinite(bad) or bad < 0:
        assert str(list(where)) in message and f"{bad:g}" in message
    else:
        axes = 0 if array.ndim > 1 else None
        total = np.unique(np.round(array.sum(axis=axes), 12))
        assert any(f"{t:.6g}" in message for t in total if abs(t - 1) > 1e-8)


@each_world
@given(data=st.data())
def test_a_wrong_shape(world, data):
    name = data.draw(st.sampled_from(sorted(world.parameters())))
    right = world.parameters()[name].shape
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5))
    assume(shape != right and not (name == "W" and len(shape) == len(right)))
    # Other readings of the same numbers: W of one cell, and a law over the grid of cells.
    assume(not (name == "W" and isinstance(world, MemoryHMM) and len(shape) == 3))
    message = one_sentence(lambda: rebuilt(world, **{name: np.zeros(shape)}))
    assert "shape" in message or "sums" in message


@pytest.mark.parametrize(
    "value", [None, "abc", [[1, 2], [3]], 1j * np.eye(3), np.zeros((0, 0)), {}]
)
def test_not_an_array_of_numbers(value):
    one_sentence(lambda: HMM(value, np.ones((1, 3)), np.ones(3) / 3))


@each_world
@given(data=st.data())
def test_a_token_outside_the_vocabulary(world, data):
    tokens = data.draw(drawn.token_arrays(4, 5))
    at = data.draw(st.integers(0, 4))
    bad = data.draw(st.integers(-(2**40), -1) | st.integers(4, 2**40))
    tokens[at] = bad
    for question in (world.log_prob, world.conditionals, world.posterior, world.next_token):
        message = one_sentence(lambda question=question: question(tokens))
        assert str(bad) in message and str(at) in message


@each_world
@pytest.mark.parametrize(
    ("tokens", "observed", "number"),
    [
        (np.zeros(0, int), None, "empty"),
        (np.zeros((2, 3), int), None, "(2, 3)"),
        (np.zeros(3), None, "float64"),
        (np.zeros(3, int), np.ones(2, bool), "(2,)"),
        (np.zeros(3, int), np.ones(3), "float64"),
        ([], None, "empty"),
        (3, None, "()"),
        ("abc", None, "()"),
        ([[1], [1, 2]], None, ""),
    ],
)
def test_malformed_sequences(world, tokens, observed, number):
    for question in (world.log_prob, world.conditionals, world.posterior):
        assert number in one_sentence(lambda question=question: question(tokens, observed))


@each_world
@pytest.mark.parametrize("size", [0, -1, 2.5, True, "3", None, np.nan])
def test_sizes_of_random_worlds(world, size):
    key = jax.random.key(0)
    text = repr(size)
    assert text in one_sentence(lambda: HMM.random(key, hidden=size))
    assert text in one_sentence(lambda: HMM.random(key, hidden=2, vocab=size))
    assert text in one_sentence(lambda: MemoryHMM.random(key, memory=size))
    assert text in one_sentence(lambda: MemoryHMM.random(key, memory=2, cells=size))
    assert text in one_sentence(lambda: world.sample(key, size))
    if size is not None:  # the default: as many permutations as states
        assert text in one_sentence(lambda: HMM.random(key, hidden=2, permutations=size))
        assert text in one_sentence(lambda: MemoryHMM.random(key, memory=2, permutations=size))


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.nan, np.inf])
def test_temperatures_of_random_worlds(temperature):
    for name in ("transition", "emission", "start"):
        message = one_sentence(
            lambda name=name: HMM.random(
                jax.random.key(0), hidden=2, **{f"{name}_temperature": temperature}
            )
        )
        assert message.startswith(f"{name}_temperature is {temperature}")


def test_too_many_configurations():
    message = one_sentence(lambda: MemoryHMM.random(jax.random.key(0), memory=10, cells=5))
    assert "100000" in message


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (np.zeros((0, 3)), "(0, 3)"),
        (np.ones((2, 5)), "(2, 5)"),
        (np.ones(3), "(3,)"),
        (np.array([[1.0, -0.5, 1.0]]), "-0.5"),
        (np.array([[1.0, np.nan, 1.0]]), "nan"),
    ],
)
def test_embeddings(rows, text):
    for question in (WORLDS["hmm"].predict, WORLDS["hmm"].supports):
        assert text in one_sentence(lambda question=question: question(rows))


@eqx.filter_jit
def _everything(world, tokens, observed):
    return (
        world.log_prob(tokens, observed),
        world.conditionals(tokens, observed),
        world.posterior(tokens, observed),
        world.next_token(tokens),
    )


@pytest.mark.parametrize("kind", ["hmm", "memory"])
@given(data=st.data())
def test_traced_values_never_give_nan(kind, data):
    """Compiled, a token cannot be refused: outside the vocabulary it is impossible, not NaN."""
    make = drawn.hmms(3, 2) if kind == "hmm" else drawn.memory_hmms(2, 1, 2, 2)
    world = data.draw(make)
    tokens = data.draw(hnp.arrays(np.int64, 4, elements=st.integers(-3, 5)))
    observed = data.draw(drawn.masks(4))
    with jax.enable_x64(True):
        answers = _everything(world, tokens, observed)
    assert not any(np.isnan(np.asarray(leaf)).any() for leaf in jax.tree.leaves(answers))
    if (observed & ((tokens < 0) | (tokens > 1))).any():
        assert float(answers[0]) == -np.inf
        assert not any(np.asarray(leaf).any() for leaf in jax.tree.leaves(answers[2]))


def test_row_stochastic_matrices_are_told_to_be_turned():
    """As users of other libraries have them: rows that sum to one."""
    A, W, p = (
        np.array([[0.9, 0.1], [0.4, 0.6]]),
        np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]),
        [1, 0],
    )
    assert "pass the transpose, A.T" in one_sentence(lambda: HMM(A, W.T, p))
    assert "pass the transpose, W.T" in one_sentence(lambda: HMM(A.T, W, p))
    assert "transpose" not in one_sentence(lambda: HMM(A.T * 0.9, W.T, p))
    HMM(A.T, W.T, p)
    cells = np.stack([W, W[::-1]])  # (value, syntax, token)
    assert "A.T" in one_sentence(lambda: MemoryHMM(A, np.moveaxis(cells, -1, 0), [1, 0], p))
    assert "np.moveaxis(W, -1, 0)" in one_sentence(lambda: MemoryHMM(A.T, cells, [1, 0], p))
    MemoryHMM(A.T, np.moveaxis(cells, -1, 0), [1, 0], p)


@pytest.mark.parametrize(
    "call",
    [
        lambda world, tokens: world.posterior(tokens),
        lambda world, tokens: world.conditionals(tokens),
        lambda world, tokens: world.log_prob(tokens),
        lambda world, tokens: HMM(np.ma.masked_array(world.A), world.W, world.p0),
    ],
)
def test_a_mask_of_numpy_is_not_lost_in_silence(call):
    tokens = np.ma.masked_array([0, 1, 2], mask=[False, True, False])
    assert "is a masked array, whose mask would be lost" in one_sentence(
        lambda: call(WORLDS["hmm"], tokens)
    )
