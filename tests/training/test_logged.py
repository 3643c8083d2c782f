"""Metrics are written after every chunk, and are those of the objective."""

import jax
import numpy as np
import optax
import pytest

from minicosm.models import Transformer, TransformerConfig
from minicosm.training import MaskedObjective, fit, logged
from minicosm.worlds import HMM

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def parts():
    world = HMM.random(KEY, hidden=2, vocab=4)
    config = TransformerConfig(4, layers=1, heads=1, width=8, positions="rotary")
    return MaskedObjective(world, length=6, batch=4), Transformer(config, key=KEY)


def test_every_metric_is_written_after_every_chunk_and_joins_the_history(parts):
    objective, model = parts
    said = []
    watch = logged(objective, lambda *words: said.append(words), jax.random.key(1))
    trained, history = fit(objective, model, optax.adam(1e-2), 6, KEY, chunk=2, watch=watch)
    names = {name for name, _, _ in said}
    assert {"loss", "excess"} <= names and {step for _, _, step in said} == {2, 4, 6}
    assert len(said) == 3 * len(names)
    assert all(type(value) is float and np.isfinite(value) for _, value, _ in said)
    for name in names:
        written = [value for other, value, _ in said if other == name]
        assert np.allclose(history[f"held-out {name}"], written)
    # The last numbers are those of the objective at the end, on sequences of their own key.
    loss, metrics = objective(trained, jax.random.fold_in(jax.random.key(1), 6), 6)
    assert said[-len(names)][1] == pytest.approx(float(loss), rel=1e-5)
    assert history["held-out excess"][-1] == pytest.approx(float(metrics["excess"]), rel=1e-4)


def test_training_is_the_same_with_and_without(parts):
    objective, model = parts
    watch = logged(objective, lambda *words: None, jax.random.key(1))
    plain, _ = fit(objective, model, optax.adam(1e-2), 4, KEY, chunk=2)
    watched, _ = fit(objective, model, optax.adam(1e-2), 4, KEY, chunk=2, watch=watch)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(watched), strict=True)
    )


def test_many_numbers_of_one_name_are_a_sentence():
    def two(params, key, step):
        return jax.numpy.sum(params**2), {"each": params}

    watch = logged(two, print, KEY)
    with pytest.raises(ValueError, match=r"each has shape \(2,\); what is written must be numbers"):
        fit(two, jax.numpy.ones(2), optax.adam(1e-2), 2, KEY, chunk=1, watch=watch)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("write", [None, "file", 3, str])
def test_what_is_no_function_is_a_sentence(write):
    with pytest.raises(TypeError, match=r"write is .* it must be a function"):
        logged(lambda *_: None, write, KEY)
