"""One layer of attention without positions, computed from how often each word stands in a document."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.worlds.arrays import AnyArray, is_concrete

from . import variants
from .checks import (
    check_count,
    check_finite,
    check_flag,
    check_ids,
    check_inside,
    check_key,
    check_number,
    check_whole,
    numbers_of,
    shown,
)
from .transformer import Transformer

MASK = 0
"""The id of the mask among the V = words + 1 ids; word w has the id w + 1."""


class BagAttention(eqx.Module):
    r"""`f(X) = W_E^T (W_V Z A + b_V) + b_pred` with `Z = W_E X` and
    `A = softmax((W_K Z + b_K)^T (W_Q Z + b_Q) / sqrt(d_a))`, whose columns (queries) sum to one.

    There are V ids: the mask, 0, and the words. Without positions what a query reads depends only on the
    counts n of the ids in the document: id l has the weight `n_l exp(S[l, q]) / sum_l n_l exp(S[l, q])` from
    the query q, where `S` is a table over pairs of ids. `to_transformer` is the same model as an ordinary
    `Transformer`.
    """

    embedding: Float[AnyArray, "*stack d V"] | None
    """`W_E`; None: one-hot, `d = V`."""
    key: Float[AnyArray, "*stack a d"]
    query: Float[AnyArray, "*stack a d"]
    value: Float[AnyArray, "*stack d d"]
    key_bias: Float[AnyArray, "*stack a"]
    query_bias: Float[AnyArray, "*stack a"]
    value_bias: Float[AnyArray, "*stack d"]
    output_bias: Float[AnyArray, "*stack V"]

    def __init__(
        self,
        embedding: Any,
        key: Any,
        query: Any,
        value: Any,
        key_bias: Any = None,
        query_bias: Any = None,
        value_bias: Any = None,
        output_bias: Any = None,
    ):
        """Matrices as in the formula; a bias that is None is zero."""
        self.value = _matrix("value", value)
        width = self.value.shape[0]
        if self.value.shape != (width, width):
            raise ValueError(f"value has shape {self.value.shape}; it must have shape (d, d)")
        self.key, self.query = _matrix("key", key), _matrix("query", query)
        for name in ("key", "query"):
            shape = getattr(self, name).shape
            if shape != (self.key.shape[0], width):
                raise ValueError(
                    f"{name} has shape {shape}; it must have shape ({self.key.shape[0]}, {width})"
                )
        self.embedding = None if embedding is None else _matrix("embedding", embedding)
        if self.embedding is not None and self.embedding.shape[0] != width:
            raise ValueError(
                f"embedding has shape {self.embedding.shape}; it must have shape ({width}, V)"
            )
        heads, ids = self.key.shape[0], self.ids
        self.key_bias = _vector("key_bias", key_bias, heads, self.key.dtype)
        self.query_bias = _vector("query_bias", query_bias, heads, self.key.dtype)
        self.value_bias = _vector("value_bias", value_bias, width, self.key.dtype)
        self.output_bias = _vector("output_bias", output_bias, ids, self.key.dtype)

    @classmethod
    def random(
        cls,
        key: PRNGKeyArray,
        *,
        words: int,
        one_hot: bool = True,
        width: int | None = None,
        std: float = 0.02,
    ) -> Self:
        """All matrices N(0, std^2), all biases zero; `width` (default V) is d and d_a."""
        check_key("key", key)
        ids = check_count("words", words) + 1
        check_flag("one_hot", one_hot)
        std = check_number("std", std, least=0)
        if width is not None and check_count("width", width) != ids and one_hot:
            raise ValueError(
                f"width is {width}; one-hot embeddings have width {ids}, words and mask"
            )
        d = ids if width is None else width
        if max(ids, d) ** 2 > 2**26:
            raise ValueError(f"words is {shown(words)} and width is {d}; at most 8191 are allowed")
        draws = std * jax.random.normal(key, (3 * d * d + (0 if one_hot else d * ids),))
        each = draws[: 3 * d * d].reshape(3, d, d)
        embedding = None if one_hot else draws[3 * d * d :].reshape(d, ids)
        return cls(embedding, *each)

    @property
    def ids(self) -> int:
        """V, the number of words and one for the mask."""
        return self.value.shape[-1] if self.embedding is None else self.embedding.shape[-1]

    @property
    def vocab(self) -> int:
        """The number of words."""
        return self.ids - 1

    def scores(self) -> Float[Array, "V V"]:
        """`S[l, q] = (W_K e_l + b_K) . (W_Q e_q + b_Q) / sqrt(d_a)`."""
        keys, queries = jnp.asarray(self.key), jnp.asarray(self.query)
        if self.embedding is not None:
            keys, queries = keys @ self.embedding, queries @ self.embedding
        keys = keys + jnp.asarray(self.key_bias)[:, None]
        queries = queries + jnp.asarray(self.query_bias)[:, None]
        return keys.T @ queries / np.sqrt(self.key.shape[0])

    def mix(
        self, counts: Float[AnyArray, " V"], queries: Int[AnyArray, " n"]
    ) -> Float[Array, "n V"]:
        """`[q, l]`: the attention that a query gives to all positions with the id l together."""
        counts, queries = self._checked(counts, queries)
        logits = self.scores().T[queries]
        present = counts > 0
        highest = jnp.where(present, logits, -jnp.inf).max(axis=-1, keepdims=True)
        weights = counts * jnp.exp(jnp.where(present, logits - jax.lax.stop_gradient(highest), 0))
        return weights / weights.sum(axis=-1, keepdims=True)

    def read(self, mixed: Float[AnyArray, "*n V"]) -> Float[Array, "*n V"]:
        """`W_E^T (W_V W_E y + b_V) + b_pred` for rows y that sum to one."""
        mixed = numbers_of("mixed", mixed)
        if is_concrete(mixed):
            check_finite("mixed", mixed)
        mixed = jnp.asarray(mixed)
        if not mixed.ndim or mixed.shape[-1] != self.ids:
            raise ValueError(f"mixed has shape {mixed.shape}; its last axis must be {self.ids}")
        if self.embedding is None:
            return mixed @ jnp.asarray(self.value).T + self.value_bias + self.output_bias
        embedding = jnp.asarray(self.embedding)
        hidden = mixed @ embedding.T @ jnp.asarray(self.value).T + self.value_bias
        return hidden @ embedding + self.output_bias

    def logits(
        self, counts: Float[AnyArray, " V"], queries: Int[AnyArray, " n"]
    ) -> Float[Array, "n V"]:
        """The outputs at queries of a document with these counts of ids."""
        return self.read(self.mix(counts, queries))

    def of_tokens(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, "T V"]:
        """The outputs at all positions of a document; the mask stands where it is not observed."""
        tokens, observed = check_ids("tokens", tokens, self.vocab, observed)
        ids = jnp.asarray(tokens) + 1
        ids = ids if observed is None else jnp.where(jnp.asarray(observed), ids, MASK)
        counts = jnp.zeros(self.ids, jnp.result_type(float)).at[ids].add(1)
        return self.logits(counts, ids)

    def to_transformer(self) -> Transformer:
        """The same model as a `Transformer` over the words; its mask is the row `mask_embedding`.

        Its logits are those of the words, in the order of words.
        """
        d, a = self.value.shape[0], self.key.shape[0]
        head = max(d, a)
        config = variants.bare(
            self.vocab, width=d, inputs=self.vocab, causal=False, tied=True, attention_bias=True,
            output_bias=True, head_width=head, attention_scale=float(a) ** -0.5, max_length=1,
        )  # fmt: skip
        rows = np.eye(d) if self.embedding is None else np.asarray(self.embedding).T
        qkv, bias = np.zeros((1, d, 3, 1, head)), np.zeros((1, 3, 1, head))
        maps = (
            (self.query, self.query_bias),
            (self.key, self.key_bias),
            (self.value, self.value_bias),
        )
        for i, (matrix, shift) in enumerate(maps):
            qkv[0, :, i, 0, : matrix.shape[0]] = np.asarray(matrix).T
            bias[0, i, 0, : matrix.shape[0]] = np.asarray(shift)
        kind = np.asarray(self.value).dtype
        arrays = (
            rows[1:], rows[MASK], qkv, bias, np.eye(head, d)[None, None], np.zeros((1, d)),
            np.asarray(self.output_bias)[1:],
        )  # fmt: skip
        return eqx.tree_at(
            lambda m: (
                m.token_embedding, m.mask_embedding, m.layers.attention.qkv,
                m.layers.attention.qkv_bias, m.layers.attention.out, m.layers.attention.out_bias,
                m.output_bias,
            ),
            Transformer(config, key=jax.random.key(0)),
            tuple(array.astype(kind) for array in arrays),
        )  # fmt: skip

    def _checked(self, counts: Any, queries: Any) -> tuple[Array, Array]:
        counts = numbers_of("counts", counts)
        if counts.shape != (self.ids,):
            raise ValueError(
                f"counts has shape {counts.shape}; it must have shape ({self.ids},), the mask first"
            )
        if is_concrete(counts):
            check_finite("counts", counts)
            known = np.asarray(counts)
            if (known < 0).any() or not (known > 0).any():
                raise ValueError("counts must be nonnegative, and one of them positive")
        queries = check_whole("queries", queries)
        if queries.ndim != 1:
            raise ValueError(f"queries has shape {queries.shape}; it must have shape (n,)")
        return jnp.asarray(counts), check_inside("queries", queries, 0, self.ids - 1)


def _matrix(name: str, value: Any) -> AnyArray:
    array = numbers_of(name, value)
    if len(array.shape) != 2 or 0 in array.shape or array.dtype.kind not in "fiu":
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}; it must be a matrix of numbers"
        )
    if is_concrete(array):
        check_finite(name, array)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else np.asarray(array, np.float64)


def _vector(name: str, value: Any, size: int, dtype: Any) -> AnyArray:
    if value is None:
        return np.zeros(size, dtype)
    array = numbers_of(name, value)
    if array.shape != (size,) or not jnp.issubdtype(array.dtype, jnp.floating):
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}; it must be {size} real numbers"
        )
    if is_concrete(array):
        check_finite(name, array)
    return array
