"""The quadratic model of a log-ratio against its formula, with both kinds of features."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.models import DensityRatio


def test_the_log_ratio_is_its_formula():
    model = DensityRatio(jax.random.key(0), 3, 4, hidden=5, features=2)
    values = jnp.array([[0.5, 0.2], [0.1, -0.4]]), jnp.array([0.3, 0.7]), jnp.array(0.2)
    model = eqx.tree_at(lambda m: (m.L, m.b, m.c), model, values)
    image = np.linspace(-1, 1, 12).reshape(3, 4)
    first, last = model.features.layers
    hidden = np.tanh(np.asarray(first.weight) @ image.ravel() + np.asarray(first.bias))
    f = np.asarray(last.weight) @ hidden + np.asarray(last.bias)
    W = np.asarray(model.L) @ np.asarray(model.L).T + 1e-4 * np.eye(2)
    wanted = -f @ W @ f - np.asarray(model.b) @ f - 0.2
    assert np.isclose(model.log_ratio(image), wanted, rtol=1e-5)
    assert (np.linalg.eigvalsh(W) > 0).all()


@pytest.mark.parametrize("kind", ["mlp", pytest.param("resnet", marks=pytest.mark.long)])
def test_it_starts_close_to_zero_and_has_gradients(kind):
    model = DensityRatio(jax.random.key(1), 8, 8, kind, hidden=4, features=3)
    image = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
    value, slopes = eqx.filter_jit(eqx.filter_value_and_grad(lambda m: m.log_ratio(image)))(model)
    assert abs(float(value)) < 1
    assert all(
        np.isfinite(leaf).all() for leaf in jax.tree.leaves(eqx.filter(slopes, eqx.is_array))
    )


def test_a_resnet_has_eighteen_layers_with_weights():
    model = eqx.filter_eval_shape(
        lambda key: DensityRatio(key, 8, 8, "resnet", hidden=4, features=3), jax.random.key(1)
    )
    kinds = (eqx.nn.Conv2d, eqx.nn.Linear)
    layers = jax.tree.leaves(model.features, is_leaf=lambda leaf: isinstance(leaf, kinds))
    count = sum(isinstance(layer, kinds) for layer in layers)
    assert count == 18 + 3  # and three beside the blocks that change the width


def test_an_image_of_another_shape_is_refused():
    model = DensityRatio(jax.random.key(0), 3, 4)
    with pytest.raises(ValueError, match=r"image has shape \(4, 3\); it must have shape \(3, 4\)"):
        model.log_ratio(np.zeros((4, 3)))
