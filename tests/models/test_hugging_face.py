"""A BERT-shaped model gives the same logits in Hugging Face's BERT (where it is installed)."""

import json

import jax
import numpy as np
import pytest

from minicosm.models import Transformer, TransformerConfig, export_bert, from_arrays
from minicosm.models.weights import shapes


def make(**fields) -> Transformer:
    shape = {"layers": 2, "heads": 2, "width": 16, "mlp_width": 24, "max_length": 12}
    config = TransformerConfig.bert(7, **(shape | fields))
    draw = np.random.default_rng(0)
    return from_arrays(
        config, {name: draw.normal(size=shape) * 0.3 for name, shape in shapes(config).items()}
    )


@pytest.mark.parametrize(
    "fields",
    [{}, {"tied": False}, {"activation": "gelu_tanh", "output_bias": False}, {"extra_inputs": 2}],
)
def test_same_logits_in_transformers(fields, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = make(**fields)
    export_bert(model, tmp_path, names=list("abcdefg"))
    bert, info = transformers.BertForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ids = tokenizer("c a [MASK] g g [MASK] b")["input_ids"]
    mask = 7 + model.config.extra_inputs
    assert ids == [2, 0, mask, 6, 6, mask, 1] and tokenizer.mask_token_id == mask
    with torch.no_grad():
        theirs = bert.eval()(input_ids=torch.tensor([ids])).logits[0].numpy()
    observed = np.array(ids) != mask
    embeddings = model.embed(np.where(observed, ids, 0), observed)
    np.testing.assert_allclose(theirs[:, :7], model.logits(embeddings), atol=1e-4)
    np.testing.assert_allclose(jax.nn.softmax(theirs)[:, :7], model.predict(embeddings), atol=1e-5)


def test_the_folder_is_complete_without_transformers(tmp_path):
    export_bert(make(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["vocab_size"] == 12 and config["architectures"] == ["BertForMaskedLM"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"norm": "pre"}, "a BERT has norm = 'post', this model 'pre'"),
        ({"causal": True}, "a BERT has causal = False"),
        ({"head_transform": False}, "a BERT has head_transform = True"),
        ({"mlp_width": 0}, "this model has no MLP"),
        ({"head_width": 4}, "2 heads of width 4 do not fill width 16"),
        ({"attention_scale": 1.0}, "attention_scale is 1.0"),
    ],
)
def test_what_is_not_a_bert_is_refused(fields, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        export_bert(make(**fields), tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_bad_names(tmp_path):
    with pytest.raises(ValueError, match="names must be 7 different texts"):
        export_bert(make(), tmp_path, names=["a", "a", "b", "c", "d", "e", "f"])
