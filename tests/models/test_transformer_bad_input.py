"""What a Transformer and its config say to bad input: one sentence that names the fault."""

import dataclasses

import jax
import numpy as np
import pytest
import random_models

from minicosm.models import Transformer, TransformerConfig, TranslatorConfig

pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"vocab": 0}, "vocab is 0; it must be a whole number of at least 1"),
        ({"layers": 0}, "layers is 0"),
        ({"heads": 2.0}, "heads is 2.0"),
        ({"width": 10, "heads": 4}, "width 10 is not divisible by 4 heads"),
        ({"mlp_width": -1}, "mlp_width is -1"),
        ({"max_length": 0}, "max_length is 0"),
        ({"dropout": 1.0}, "dropout is 1.0; it must be at least 0 and less than 1"),
        ({"epsilon": -1e-5}, "epsilon is -1e-05"),
        ({"init_std": float("nan")}, "init_std is nan"),
        ({"activation": "swish"}, "activation is 'swish'; it must be one of 'gelu'"),
        ({"norm": None}, "norm is None; it must be one of 'pre'"),
        ({"positions": "absolute"}, "positions is 'absolute'"),
        ({"compute": "int8"}, "compute is 'int8'"),
        ({"positions": "rotary", "head_width": 3}, "rotary positions need an even width"),
        ({"positions": "sinusoidal", "width": 9, "heads": 3}, "width is 9; sinusoidal"),
        ({"rotary_base": 1.0}, "rotary_base is 1.0"),
        ({"attention_scale": float("inf")}, "attention_scale is inf"),
        ({"causal": "no"}, "causal is 'no'; it must be True or False"),
        ({"tied": None}, "tied is None"),
        ({"final_norm": 1}, "final_norm is 1; it must be True or False"),
        ({"dropout": "0.1"}, "dropout is '0.1'"),
        ({"norm": ["pre"]}, "norm is ['pre']; it must be one of 'pre'"),
    ],
)
def test_bad_configs(fields, sentence):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
        TransformerConfig(**({"vocab": 5} | fields))
    assert sentence in str(raised.value)


def test_bad_calls():
    config = TransformerConfig(5, layers=1, heads=2, width=8, max_length=6)
    model = random_models.transformer(config)
    decoder = random_models.transformer(TransformerConfig(5, width=8, causal=True))
    rows = np.ones((7, 8), np.float32)
    for call, sentence in [
        (lambda: model.logits(rows), "the sequence has 7 positions, prompt included"),
        (lambda: model.logits(rows[:, :4]), "they must have shape (T, 8)"),
        (lambda: model.logits(rows[:0]), "they must have shape (T, 8) with T >= 1"),
        (lambda: model.embed([1, 5]), "token 5 at index 1 is outside the vocabulary 0..4"),
        (lambda: model.embed([[1]]), "one sequence has shape (T,)"),
        (lambda: model.next_logits([1, 2]), "needs a config with causal=True"),
        (lambda: decoder.embed([1], [False]), "this model is causal and has no mask"),
        (lambda: model.trace(rows[:2], [True, True]), "observed goes with tokens"),
        (lambda: model.logits(rows[:3], visible=[True]), "visible has shape (1,)"),
        (
            lambda: model.predict(rows[:6], at=[1000]),
            "at[0] is 1000; the sequence has the positions",
        ),
        (lambda: model.predict(rows[:6], at=[0, -1]), "at[1] is -1"),
        (lambda: model.predict(rows[:6], at=[0.5]), "at has shape (1,) and dtype float64"),
        (lambda: model.predict(rows[:6] * np.nan), "embeddings[0, 0] is nan"),
        (lambda: Transformer(TransformerConfig(2**40), key=jax.random.key(0)), "this machine has"),
        (lambda: TransformerConfig.from_dict({"vocab": 3, "depth": 2}), "no field 'depth'"),
    ]:
        with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
            call()
        assert sentence in str(raised.value)


def test_bad_configs_of_translators():
    for fields, sentence in [
        ({"causal": "no"}, "causal is 'no'; it must be True or False"),
        ({"bias": 0}, "bias is 0; it must be True or False"),
        ({"positions": 3}, "positions is 3; it must be one of 'learned', 'relative'"),
        ({"dropout": np.nan}, "dropout is nan"),
        ({"lengths": 65}, "lengths is 65; there are only 64 positions"),
    ]:
        with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
            TranslatorConfig(5, **fields)
        assert sentence in str(raised.value)


@pytest.mark.parametrize("config", [TransformerConfig, TranslatorConfig])
def test_every_field_of_a_config_is_explained(config):
    for field in dataclasses.fields(config):
        assert f"        {field.name}: " in config.__doc__


def test_tokens_that_are_not_observed_may_hold_anything():
    model = random_models.transformer(TransformerConfig(5, width=8))
    observed = np.array([True, False])
    np.testing.assert_array_equal(
        model.embed(np.array([1, -1]), observed), model.embed(np.array([1, 99]), observed)
    )
