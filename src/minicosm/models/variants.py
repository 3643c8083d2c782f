"""Transformers whose layer is that of a theorem, as configs of the one `Transformer`.

A layer of the theory is `x -> g(N(attention(x)) + x)`: one head without biases and without the usual
scale of the logits, N takes the mean away and divides by the 2-norm (or by a constant C, if that is
larger), and g is an MLP without a residual. Models read `inputs` different ids (brackets with their
depth, say, and a start token) and put out numbers for `vocab` tokens.
"""

from typing import Any

from .checks import check_count, check_number
from .config import TransformerConfig


def theory(
    vocab: int,
    *,
    width: int,
    inputs: int | None = None,
    layers: int = 1,
    mlp_width: int | None = None,
    constant: float = 0.0,
    **fields: Any,
) -> TransformerConfig:
    """`x -> g(N_C(attention(x)) + x)`; by default g is `relu(x @ up + b) @ down + b'` of the same width.

    `inputs` is the number of input ids, by default the tokens and one start token; further `fields`
    are those of `TransformerConfig`.
    """
    check_count("vocab", vocab)
    check_count("width", width)
    inputs = vocab + 1 if inputs is None else check_count("inputs", inputs)
    check_number("constant", constant, least=0)
    if inputs < vocab:
        raise ValueError(f"inputs is {inputs}; it must be at least the vocabulary, {vocab}")
    shape: dict[str, Any] = {
        "causal": True, "positions": "none", "heads": 1, "norm": "branch", "mlp_norm": "none",
        "mlp_residual": False, "normaliser": "unit", "activation": "relu", "tied": False,
        "attention_bias": False, "attention_scale": 1.0, "output_bias": False,
        "head_width": width,
    }  # fmt: skip
    return TransformerConfig(
        vocab,
        layers=layers,
        width=width,
        mlp_width=width if mlp_width is None else mlp_width,
        extra_inputs=inputs - vocab,
        epsilon=constant,
        **(shape | fields),
    )


def residual_inside(vocab: int, **fields: Any) -> TransformerConfig:
    """`x -> g(N(attention(x) + x))`: as `theory`, with the residual inside the norm."""
    inside: dict[str, Any] = {"norm": "post", "embedding_norm": False}
    return theory(vocab, **(inside | fields))


def bare(vocab: int, **fields: Any) -> TransformerConfig:
    """`x -> attention(x)` alone: no residual, no norm, no MLP, so that the logits are linear in the
    mean of the values."""
    without: dict[str, Any] = {"norm": "none", "attention_residual": False, "mlp_width": 0}
    return theory(vocab, **(without | fields))


def gpt2(vocab: int, *, width: int = 50, layers: int = 2, **fields: Any) -> TransformerConfig:
    """GPT-2's block with one head and an MLP of the same width, and a start token."""
    shape: dict[str, Any] = {"heads": 1, "mlp_width": width, "extra_inputs": 1, "positions": "none"}
    return TransformerConfig.gpt2(vocab, width=width, layers=layers, **(shape | fields))
