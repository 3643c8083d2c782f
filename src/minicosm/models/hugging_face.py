"""BERT-shaped models as folders that Hugging Face `transformers` opens. Needs neither it nor torch.

**Tokens.** Ids 0..vocab-1 mean the same in both; input-only tokens keep their ids after them; then
come [MASK], [PAD], [UNK], [CLS] and [SEP] in this order. [MASK] has the model's mask row; the other
four were never trained and have zero rows. In the output the five special and the input-only
tokens have the bias -10000, so that a softmax over all ids gives them probability zero and the real
tokens exactly the model's law. Segment embeddings are zero.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save as safetensors_bytes

from .checks import check_kind, check_path, shown
from .config import TransformerConfig
from .transformer import Transformer
from .weights import to_arrays, write_atomically

SPECIAL_TOKENS = ("[MASK]", "[PAD]", "[UNK]", "[CLS]", "[SEP]")
NEVER = -1e4  # a bias that no logit overcomes and that float16 can hold
HUGGING_FACE_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_tanh": "gelu_pytorch_tanh",
    "relu": "relu",
    "silu": "silu",
    "tanh": "tanh",
}


def export_bert(
    model: Transformer, folder: str | os.PathLike, names: Sequence[str] | None = None
) -> None:
    """Write a folder that `transformers.BertForMaskedLM.from_pretrained` loads.

    The logits of the real tokens are those of `model.logits(model.embed(tokens, observed))`.
    `names` are the real tokens' texts (default "0", "1", ...) for the whitespace tokenizer that
    `transformers.AutoTokenizer.from_pretrained` loads from the same folder.
    """
    check_kind("model", model, Transformer, "a Transformer")
    folder, config = check_path("folder", folder), model.config
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"folder is {str(folder)!r}, which is a file; give the path of a folder")
    _check_bert(config)
    if names is None:
        names = [str(i) for i in range(config.vocab)]
    elif not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"names is {shown(names)}; it must be a list of texts, or None")
    names = list(names)
    names += [f"[EXTRA{i}]" for i in range(config.extra_inputs)]
    names += SPECIAL_TOKENS
    wanted = config.vocab + config.extra_inputs + len(SPECIAL_TOKENS)
    if len(names) != wanted or len(set(names)) != wanted:
        raise ValueError(
            f"names must be {config.vocab} different texts other than {', '.join(SPECIAL_TOKENS)}"
        )
    _write_json(folder / "tokenizer.json", _tokenizer(names))
    _write_json(folder / "tokenizer_config.json", _tokenizer_config(config))
    weights = {name: np.ascontiguousarray(w) for name, w in bert_arrays(model).items()}
    write_atomically(folder / "model.safetensors", safetensors_bytes(weights, {"format": "pt"}))
    _write_json(folder / "config.json", bert_config(config))


def bert_config(config: TransformerConfig) -> dict:
    """The `config.json` of a `BertForMaskedLM` of this shape."""
    check_kind("config", config, TransformerConfig, "a TransformerConfig")
    _check_bert(config)
    rows = config.vocab + config.extra_inputs
    return {
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        "vocab_size": rows + len(SPECIAL_TOKENS),
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.size_of_mlp,
        "hidden_act": HUGGING_FACE_ACTIVATIONS[config.activation],
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout,
        "max_position_embeddings": config.max_length,
        "type_vocab_size": 2,
        "initializer_range": config.init_std,
        "layer_norm_eps": config.epsilon,
        "pad_token_id": rows + SPECIAL_TOKENS.index("[PAD]"),
        "position_embedding_type": "absolute",
        "tie_word_embeddings": config.tied,
        "dtype": "float32",
    }


def bert_arrays(model: Transformer) -> dict[str, np.ndarray]:
    """The state of a `BertForMaskedLM` with this model's weights, in float32.

    Its linear maps act from the left, so every matrix is transposed; heads lie side by side.
    """
    check_kind("model", model, Transformer, "a Transformer")
    _check_bert(model.config)
    config, width = model.config, model.config.width
    ours = {name: value.astype(np.float32) for name, value in to_arrays(model).items()}
    zero_rows = np.zeros((len(SPECIAL_TOKENS) - 1, width), np.float32)
    bert = {
        "bert.embeddings.word_embeddings.weight": np.concatenate(
            [ours["token_embedding"], ours["mask_embedding"][None], zero_rows]
        ),
        "bert.embeddings.position_embeddings.weight": ours["position_embedding"],
        "bert.embeddings.token_type_embeddings.weight": np.zeros((2, width), np.float32),
    }

    def put(name: str, weight: np.ndarray, bias: np.ndarray) -> None:
        bert[f"{name}.weight"], bert[f"{name}.bias"] = weight, bias

    def put_norm(name: str, mine: str) -> None:
        put(name, ours[f"{mine}.scale"], ours[f"{mine}.shift"])

    put_norm("bert.embeddings.LayerNorm", "embedding_norm")
    for i in range(config.layers):
        here, mine = f"bert.encoder.layer.{i}", f"layers.{i}"
        qkv, bias = ours[f"{mine}.attention.qkv"], ours[f"{mine}.attention.qkv_bias"]
        for s, which in enumerate(("query", "key", "value")):
            put(
                f"{here}.attention.self.{which}", qkv[:, s].reshape(width, width).T, bias[s].ravel()
            )
        out = ours[f"{mine}.attention.out"].reshape(width, width).T
        put(f"{here}.attention.output.dense", out, ours[f"{mine}.attention.out_bias"])
        put_norm(f"{here}.attention.output.LayerNorm", f"{mine}.attention_norm")
        put(f"{here}.intermediate.dense", ours[f"{mine}.mlp.up"].T, ours[f"{mine}.mlp.up_bias"])
        put(f"{here}.output.dense", ours[f"{mine}.mlp.down"].T, ours[f"{mine}.mlp.down_bias"])
        put_norm(f"{here}.output.LayerNorm", f"{mine}.mlp_norm")
    head = "cls.predictions.transform"
    put(f"{head}.dense", ours["head_transform.weight"].T, ours["head_transform.bias"])
    put_norm(f"{head}.LayerNorm", "head_transform.norm")
    never = np.full(config.extra_inputs + len(SPECIAL_TOKENS), NEVER, np.float32)
    real = ours.get("output_bias", np.zeros(config.vocab, np.float32))
    bert["cls.predictions.bias"] = np.concatenate([real, never])
    if not config.tied:
        rest = np.zeros((len(never), width), np.float32)
        bert["cls.predictions.decoder.weight"] = np.concatenate([ours["output"].T, rest])
        bert["cls.predictions.decoder.bias"] = bert["cls.predictions.bias"].copy()
    return bert


def _check_bert(config: TransformerConfig) -> None:
    """Raise unless BERT can compute what a model of this config computes."""
    needed = {
        "causal": False,
        "norm": "post",
        "place_of_mlp_norm": "post",
        "normaliser": "layer",
        "positions": "learned",
        "head_transform": True,
        "has_embedding_norm": True,
        "has_final_norm": False,
        "attention_bias": True,
        "mlp_bias": True,
        "attention_residual": True,
        "mlp_residual": True,
    }
    for name, value in needed.items():
        if getattr(config, name) != value:
            raise ValueError(
                f"a BERT has {name} = {value!r}, this model {getattr(config, name)!r}; "
                "TransformerConfig.bert makes the shape that can be exported"
            )
    if config.size_of_mlp == 0:
        raise ValueError("this model has no MLP; a BERT has one in every layer")
    if config.heads * config.size_of_head != config.width:
        raise ValueError(
            f"{config.heads} heads of width {config.size_of_head} do not fill width {config.width}, "
            "as a BERT's must"
        )
    if config.scale != config.size_of_head**-0.5:
        raise ValueError(
            f"attention_scale is {config.attention_scale}; a BERT's is the default one"
        )


def _tokenizer(names: list[str]) -> dict:
    """A `tokenizers` file: split on whitespace, look words up."""
    first_special = len(names) - len(SPECIAL_TOKENS)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": first_special + i,
                "content": name,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for i, name in enumerate(SPECIAL_TOKENS)
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {name: i for i, name in enumerate(names)},
            "unk_token": "[UNK]",
        },
    }


def _tokenizer_config(config: TransformerConfig) -> dict:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": config.max_length,
        "mask_token": "[MASK]",
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
    }


def _write_json(path: Path, content: dict) -> None:
    write_atomically(path, json.dumps(content, indent=2).encode() + b"\n")
