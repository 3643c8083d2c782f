"""Laws at the mask, the prior that explains them, and whitened features."""

import jax
import jax.numpy as jnp
import numpy as np

from minicosm.adaptation.logistic import whitened
from minicosm.adaptation.outputs import (
    outputs_at_mask,
    outputs_everywhere,
    outputs_one_by_one,
)
from minicosm.adaptation.prior import fitted_prior, laws_with_prior
from minicosm.models import Transformer, TransformerConfig
from minicosm.studies.tuning.experiments.prompt_effect import prompt_effect
from minicosm.worlds import HMM


def test_the_fitted_prior_is_found_on_the_exact_model():
    """Outputs of the exact model with some law of H_1 are explained by that law."""
    with jax.enable_x64(True):
        world = HMM.random(
            jax.random.key(0),
            hidden=4,
            vocab=6,
            emission_temperature=0.5,
            transition_temperature=0.5,
        )
    rng = np.random.default_rng(0)
    messages, prior = rng.dirichlet(np.ones(4), 300), np.array([0.5, 0.3, 0.15, 0.05])
    laws = laws_with_prior(world, messages, prior)
    np.testing.assert_allclose(fitted_prior(world, messages, laws), prior, atol=2e-3)
    mu = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]])
    bare = laws_with_prior(world, messages, np.asarray(world.first))
    found = prompt_effect(world, messages, mu, bare, laws, prior)
    assert found["prompt_misfit"] < 1e-3 < found["prompt_change"]
    joint = messages * prior
    expected = (joint[:, :2].sum(1) / joint.sum(1)).mean()
    np.testing.assert_allclose(found["relevant_after"], expected, atol=2e-3)
    np.testing.assert_allclose(found["relevant_exact"], expected)


def test_the_law_at_the_mask_is_the_models_own():
    config = TransformerConfig(5, layers=1, width=8, heads=2, max_length=16)
    model = Transformer(config, key=jax.random.key(0))
    tokens = np.random.default_rng(0).integers(0, 5, (3, 7))
    prompt = np.random.default_rng(1).normal(size=(2, 8)).astype(np.float32)
    observed = np.arange(7) > 0
    found = outputs_at_mask(model, tokens, prompt)
    everywhere = outputs_everywhere(model, tokens)
    alone = outputs_one_by_one(model, tokens, np.array([0, 4]))
    for x, with_prompt, whole, one_by_one in zip(tokens, found, everywhere, alone, strict=True):
        hidden = model.predict(model.embed(x, observed & (np.arange(7) != 4)))
        np.testing.assert_allclose(one_by_one, [whole[0], hidden[4]], atol=1e-6)
        rows = model.embed(x, observed)
        np.testing.assert_allclose(whole, model.predict(rows), atol=1e-6)
        after = model.predict(np.concatenate([prompt, rows]))[2]
        np.testing.assert_allclose(with_prompt, after, atol=1e-6)


def test_whitened_features_have_unit_covariance():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(2, 500, 3)) @ np.diag([1, 1e-5, 0.0])
    white = whitened(jnp.asarray(features), 400)[:, :400]
    for x in white:
        np.testing.assert_allclose(np.cov(x.T, bias=True), np.diag([1, 1, 0.0]), atol=1e-5)
