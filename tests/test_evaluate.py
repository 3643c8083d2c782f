"""Any model against the exact law: what it loses, by sums over all sequences and by closed forms."""

import itertools

import jax
import numpy as np
import pytest

import minicosm
from minicosm.models import Transformer, TransformerConfig
from minicosm.worlds import HMM, Dyck

WORLD = HMM.random(jax.random.key(0), hidden=3, vocab=4, emission_temperature=0.5)


def uniform(tokens):
    return np.zeros((*tokens.shape, 4))


def test_the_exact_model_loses_nothing():
    found = minicosm.evaluate(WORLD, WORLD, length=8, count=16)
    assert found.excess.value < 1e-6 and found.variation.value < 1e-5
    found = minicosm.evaluate(WORLD, WORLD, length=8, count=16, mask=WORLD.vocab)
    assert found.excess.value < 1e-6 and found.variation.value < 1e-5
    assert np.allclose(found.predicted[found.pairs > 0], found.exact[found.pairs > 0], atol=1e-5)


def test_a_uniform_model_loses_what_enumeration_says():
    """Over all 4^3 sequences: log 4 less the mean entropy of the laws of the second and third token."""
    with jax.enable_x64(True):
        chances, losses = [], []
        for tokens in itertools.product(range(4), repeat=3):
            laws = np.exp(np.asarray(WORLD.next_logits(np.array(tokens[:2]))))
            entropy = -(laws * np.log(np.where(laws > 0, laws, 1))).sum(axis=1)
            chances.append(np.exp(float(WORLD.log_prob(np.array(tokens)))))
            losses.append(np.log(4) - entropy.mean())
    want = float(np.dot(chances, losses))
    found = minicosm.evaluate(WORLD, uniform, jax.random.key(1), length=3, count=4000, batch=999)
    assert found.excess.low <= want <= found.excess.high
    assert found.excess.high - found.excess.low < 0.05
    assert np.isclose(found.loss.value, np.log(4)) and np.isnan(found.excess_at[0])
    assert found.pairs.sum() == found.pairs[2] == 4000 * 2 * 4


def test_a_first_token_is_predicted_after_a_start_token():
    law = np.asarray(WORLD.law(WORLD.begin(0), 0))
    found = minicosm.evaluate(
        WORLD, lambda tokens: np.tile(law, (*tokens.shape, 1)), length=1, count=4, start=4
    )
    assert found.excess.value < 1e-6 and found.excess_at.shape == (1,)


def test_tokens_that_the_world_does_not_have_are_wrong():
    def wide(tokens):
        logits = np.full((*tokens.shape, 5), -np.inf)
        logits[..., :4] = 0
        logits[..., 4] = np.log(4)  # half of the mass
        return logits

    plain = minicosm.evaluate(WORLD, uniform, length=4, count=8)
    found = minicosm.evaluate(WORLD, wide, length=4, count=8)
    assert np.isclose(found.excess.value, plain.excess.value + np.log(2))


def test_models_of_the_package_and_worlds_with_ends():
    config = TransformerConfig(4, layers=1, heads=1, width=8, causal=True)
    model = Transformer(config, key=jax.random.key(2))
    report = minicosm.evaluate(WORLD, model, length=6, count=4)
    assert report.excess.value > 0 and "best possible" in str(report)
    assert len(report.figure().axes) == 3
    dyck = Dyck(types=2, depth=3)
    found = minicosm.evaluate(dyck, dyck, length=12, count=4)
    assert found.excess.value < 1e-5


def test_a_model_that_excludes_what_happens_loses_everything():
    def certain(tokens):
        return np.eye(4)[np.zeros(tokens.shape, int)]

    found = minicosm.evaluate(WORLD, certain, length=4, count=8, outputs="probabilities")
    assert found.excess.value == np.inf and 0 < found.variation.value < 1


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    "model, options, sentence",
    [
        ("gpt", {}, "model is 'gpt'; it must be a model, or a function from tokens"),
        (lambda t: np.zeros((*t.shape, 3)), {}, "laws over 3 tokens; the world has 4"),
        (lambda t: np.zeros(t.shape), {}, r"answers shape \(8, 5\) for tokens of shape \(8, 5\)"),
        (lambda t: np.full((*t.shape, 4), np.nan), {}, "answers NaN for sequence 0, position 1"),
        (lambda t: np.full((*t.shape, 4), -np.inf), {}, "-inf for all tokens"),
        (lambda t: "no", {}, "it must answer an array"),
        (lambda t: np.full((*t.shape, 4), 1j), {}, "the model answers complex numbers"),
        (uniform, {"outputs": "probabilities"}, "sum to 0; they must sum to 1"),
        (uniform, {"outputs": "laws"}, "outputs is 'laws'"),
        (uniform, {"rate": 0.0}, r"rate is 0.0; it must lie in \(0, 1\]"),
        (uniform, {"mask": -1}, "mask is -1"),
        (uniform, {"mask": 4, "start": 4}, "mask and start are both given"),
        (uniform, {"length": 1}, "no token was predicted"),
        (
            Transformer(TransformerConfig(4, layers=1, heads=1, width=8), key=jax.random.key(0)),
            {},
            "reads ahead .* give mask, the token that it reads where one is hidden",
        ),
    ],
)
def test_bad_models_and_options_are_a_sentence(model, options, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        minicosm.evaluate(WORLD, model, **{"length": 5, "count": 8, **options})


def test_a_torch_module_is_a_model():
    torch = pytest.importorskip("torch")

    class Zeros(torch.nn.Module):
        def forward(self, tokens):
            return torch.zeros((*tokens.shape, 4))

    one = minicosm.evaluate(WORLD, Zeros(), length=4, count=8)
    assert np.isclose(
        one.excess.value, minicosm.evaluate(WORLD, uniform, length=4, count=8).excess.value
    )


def test_a_torch_module_whose_vocabulary_is_too_small_is_a_sentence():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Embedding(2, 3), torch.nn.Linear(3, 4))
    with pytest.raises(ValueError, match=r"cannot read the tokens 0\.\.\d in rows of 4; its voc"):
        minicosm.evaluate(WORLD, model, length=4, count=8)
