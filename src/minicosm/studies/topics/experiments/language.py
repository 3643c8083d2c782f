"""A masked language model of words without positions, and what its embeddings and attention say of pairs."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax

from minicosm.models import Transformer, TransformerConfig
from minicosm.training import MaskedObjective
from minicosm.worlds import PairAttention, cosines, pair_attention

from ..trials import Shape

AT_ONCE = 20  # documents whose attention is computed together


def shape_of(config: Shape, vocab: int, **fields: Any) -> TransformerConfig:
    return TransformerConfig(
        vocab, layers=config.layers, heads=config.heads, width=config.width,
        mlp_width=config.mlp_width, positions="none", max_length=1, **fields,
    )  # fmt: skip


@eqx.filter_jit
def fresh(shape: TransformerConfig, keys: Any) -> Transformer:
    """New models, stacked."""
    return eqx.filter_vmap(lambda key: Transformer(shape, key=key))(keys)


def objective_of(windows: Sequence[np.ndarray], config: Shape) -> MaskedObjective:
    """Masked prediction of windows, whose masks are BERT's; an entry for each member."""
    stacked = np.stack(windows).astype(np.int32)
    return MaskedObjective(
        length=stacked.shape[-1],
        batch=config.batch,
        corpus=stacked,
        corruption="bert",
        measure=False,
    )


# One optimiser for each rate, so that equal shapes compile once.
_ADAM: dict[float, optax.GradientTransformation] = {}


def adam(rate: float) -> optax.GradientTransformation:
    return _ADAM.setdefault(rate, optax.adam(rate))


@eqx.filter_jit
def _attention(model: Transformer, tokens: Any, visible: Any) -> jax.Array:
    """The mean over layers and heads, for documents of one padded length."""

    def one(tokens: Any, visible: Any) -> jax.Array:
        return model.trace(tokens, visible=visible).attention.mean(axis=(0, 1))

    return jax.vmap(one)(tokens, visible)


def attention_of(model: Transformer, documents: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Mean attention `[query, key]` of every document, padded to the longest and cut again."""
    longest = max(map(len, documents))
    found: list[np.ndarray] = []
    for start in range(0, len(documents), AT_ONCE):
        part = list(documents[start : start + AT_ONCE])
        rows = np.zeros((AT_ONCE, longest), np.int32)
        seen = np.zeros((AT_ONCE, longest), bool)
        seen[len(part) :, 0] = True  # rows that fill the batch
        for i, document in enumerate(part):
            rows[i, : len(document)], seen[i, : len(document)] = document, True
        weights = np.asarray(_attention(model, rows, seen), np.float64)
        found += [weights[i, : len(d), : len(d)] for i, d in enumerate(part)]
    return found


def pairs_of(
    model: Transformer, documents: Sequence[np.ndarray], vocab: int, debias: bool = True
) -> PairAttention:
    """The attention between all pairs of words in these documents."""
    return pair_attention(attention_of(model, documents), list(documents), vocab, debias=debias)


class Measured:
    """Cosines, inner products and attention of one model, averaged over related pairs of words."""

    def __init__(self, model: Transformer, documents: Sequence[np.ndarray]):
        rows = np.asarray(model.token_embedding, np.float64)
        self.cosine, self.inner = cosines(rows), rows @ rows.T
        self.pairs = pairs_of(model, documents, len(rows))

    def of(self, relation: np.ndarray) -> dict[str, float]:
        """Means over pairs of words (of positions with such words for attention)."""
        some = bool(relation.any())
        return {
            "cosine": float(self.cosine[relation].mean()) if some else float("nan"),
            "inner": float(self.inner[relation].mean()) if some else float("nan"),
            "attention": self.pairs.mean(relation),
        }
