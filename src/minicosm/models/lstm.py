"""A long short-term memory, as a whole string at once and token by token."""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, DTypeLike, Float, Int, PRNGKeyArray

from minicosm.worlds.arrays import AnyArray, check_size, check_whole_numbers
from minicosm.worlds.memories import check_place, check_step

from .checks import (
    check_count,
    check_dtype,
    check_ids,
    check_key,
    check_kind,
    check_memory,
    check_positions,
    check_rows,
)


@dataclass(frozen=True)
class LSTMConfig:
    """The shape of an `LSTM`; a bad value raises `ValueError` when the config is made."""

    vocab: int
    """Number of real tokens; outputs are laws over exactly these."""
    hidden: int = 64
    """Entries of the hidden state and of the cell."""
    embedding: int | None = None
    """Entries of a token's embedding; default: `hidden`."""
    extra_inputs: int = 0
    """Input-only tokens with ids `vocab, vocab + 1, ...`."""

    def __post_init__(self) -> None:
        for name in ("vocab", "hidden"):
            check_count(name, getattr(self, name))
        check_count("extra_inputs", self.extra_inputs, least=0)
        if self.embedding is not None:
            check_count("embedding", self.embedding)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The config with these fields, as `dataclasses.asdict` gives them."""
        check_kind("values", values, dict, "a dict of fields")
        unknown = sorted(set(map(str, values)) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"an LSTMConfig has no field {unknown[0]!r}, which is in values")
        if "vocab" not in values:
            raise ValueError("values has no 'vocab'; an LSTMConfig needs this field")
        return cls(**values)

    @property
    def size_of_embedding(self) -> int:
        return self.hidden if self.embedding is None else self.embedding


class LSTM(eqx.Module):
    """One recurrent layer over one sequence; use `jax.vmap` for batches.

    With `(i, f, g, o) = W_ih e_t + W_hh h_{t-1} + b`, each of `hidden` entries,

        c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g),   h_t = sigmoid(o) tanh(c_t),   h_0 = c_0 = 0

    and logits `h_t @ output + output_bias`. It answers as a causal `Transformer` does: `embed`, `logits`,
    `predict` and `next_logits`, and `LSTMGenerator` reads token by token.
    """

    token_embedding: Float[AnyArray, "*stack rows E"]
    cell: eqx.nn.LSTMCell
    output: Float[AnyArray, "*stack F V"]
    output_bias: Float[AnyArray, "*stack V"]
    config: LSTMConfig = eqx.field(static=True)

    def __init__(self, config: LSTMConfig, *, key: PRNGKeyArray, dtype: DTypeLike | None = None):
        """As PyTorch draws them: embeddings N(0, 1), all else uniform in `±hidden^(-1/2)`; the output
        bias begins at zero."""
        check_kind("config", config, LSTMConfig, "an LSTMConfig")
        check_key("key", key)
        dtype = check_dtype("dtype", dtype)
        width, hidden = config.size_of_embedding, config.hidden
        rows = config.vocab + config.extra_inputs
        count = rows * width + 4 * hidden * (width + hidden + 1) + hidden * config.vocab
        check_memory("a model of this config", count, 2 * jnp.dtype(dtype).itemsize)
        first, second, third = jax.random.split(key, 3)
        bound = hidden**-0.5
        self.config = config
        self.token_embedding = jax.random.normal(first, (rows, width), dtype)
        self.cell = eqx.nn.LSTMCell(width, hidden, dtype=dtype, key=second)
        shape = (hidden, config.vocab)
        self.output = jax.random.uniform(third, shape, dtype, minval=-bound, maxval=bound)
        self.output_bias = jnp.zeros(config.vocab, dtype)

    @property
    def vocab(self) -> int:
        return self.config.vocab

    def embed(self, tokens: Int[AnyArray, " T"]) -> Float[Array, "T E"]:
        """`token_embedding[token]`. While JAX traces, tokens cannot be checked."""
        tokens, _ = check_ids("tokens", tokens, self.vocab + self.config.extra_inputs)
        return jnp.asarray(self.token_embedding)[jnp.asarray(tokens)]

    def hidden(
        self, embeddings: Float[AnyArray, "T E"], at: Int[AnyArray, " n"] | None = None
    ) -> Float[Array, "n F"]:
        """The states `h_t` at all positions, or `at` these."""
        rows = check_rows("embeddings", embeddings, self.config.size_of_embedding)
        at = None if at is None else check_positions("at", at, rows.shape[0])
        cell = jax.tree.map(jnp.asarray, self.cell)
        rows = jnp.asarray(rows).astype(cell.weight_ih.dtype)

        def step(state: tuple[Array, Array], row: Array) -> tuple[tuple[Array, Array], Array]:
            state = cell(row, state)
            return state, state[0]

        nothing = jnp.zeros(self.config.hidden, rows.dtype)
        _, states = jax.lax.scan(step, (nothing, nothing), rows)
        return states if at is None else states[jnp.asarray(at)]

    def readout(self, hidden: Float[AnyArray, "T F"]) -> Float[Array, "T V"]:
        """Logits of states: `hidden @ output + output_bias`."""
        return self._readout(jnp.asarray(check_rows("hidden", hidden, self.config.hidden)))

    def _readout(self, hidden: Float[Array, "*T F"]) -> Float[Array, "*T V"]:
        return hidden @ jnp.asarray(self.output) + jnp.asarray(self.output_bias)

    def logits(
        self, embeddings: Float[AnyArray, "T E"], at: Int[AnyArray, " n"] | None = None
    ) -> Float[Array, "n V"]:
        """Unnormalised log laws of all positions, or `at` these."""
        return self._readout(self.hidden(embeddings, at))

    def predict(
        self, embeddings: Float[AnyArray, "T E"], at: Int[AnyArray, " n"] | None = None
    ) -> Float[Array, "n V"]:
        """`softmax(logits(embeddings, at))`."""
        return jax.nn.softmax(self.logits(embeddings, at), axis=-1)

    def next_logits(self, tokens: Int[AnyArray, " T"]) -> Float[Array, "T V"]:
        """Unnormalised log law of the token after each position."""
        return self.logits(self.embed(tokens))


class LSTMMemory(NamedTuple):
    """The state after the start token and n tokens, for every n."""

    hidden: Float[Array, "rows F"]
    cell: Float[Array, "rows F"]


class LSTMGenerator(eqx.Module):
    """A `Generator` around an `LSTM`, whose strings stand after the token `start`.

    `law(memory, n)` is the `log_softmax` of `model.next_logits` of the start token and the first n tokens,
    at its last row. Reading costs the same whatever n is.
    """

    model: LSTM
    start: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_kind("model", self.model, LSTM, "an LSTM")
        if check_count("start", self.start, least=0) >= self._inputs:
            raise ValueError(
                f"the start token is {self.start}; it must be one of 0..{self._inputs - 1}"
            )

    @property
    def _inputs(self) -> int:
        return self.model.vocab + self.model.config.extra_inputs

    @property
    def vocab(self) -> int:
        return self.model.vocab

    def begin(self, room: int, start: Int[AnyArray, ""] | int | None = None) -> LSTMMemory:
        """The memory of the empty string: the start token has been read, or `start` in its place."""
        first = jnp.int32(self.start)
        if start is not None:
            start = check_whole_numbers("start", start, 0, self._inputs - 1, ())
            first = jnp.asarray(start, jnp.int32)
        memory = self._empty(room)
        nothing = jnp.zeros_like(memory.hidden[0])
        return self._put(memory, jnp.int32(0), self._step(first, (nothing, nothing)))

    def _empty(self, room: int) -> LSTMMemory:
        check_count("room", room, least=0)
        check_size(f"a memory of {room} tokens", 2 * (room + 1) * self.model.config.hidden)
        kind = jnp.asarray(self.model.token_embedding).dtype
        rows = jnp.zeros((room + 1, self.model.config.hidden), kind)
        return LSTMMemory(rows, rows)

    def read(
        self, memory: LSTMMemory, n: Int[AnyArray, ""], token: Int[AnyArray, ""]
    ) -> LSTMMemory:
        """The memory once `token` stands after the first n tokens."""
        n, token = check_step(self._empty, memory, n, token, self._inputs)
        state = (memory.hidden[n], memory.cell[n])
        return self._put(memory, n + 1, self._step(jnp.asarray(token), state))

    def law(self, memory: LSTMMemory, n: Int[AnyArray, ""]) -> Float[Array, " V"]:
        """Log-probabilities of the token after the first n."""
        n = check_place(self._empty, memory, n)
        return jax.nn.log_softmax(self.model._readout(memory.hidden[n]))

    def _step(self, token: Int[Array, ""], state: tuple[Array, Array]) -> tuple[Array, Array]:
        cell = jax.tree.map(jnp.asarray, self.model.cell)
        return cell(jnp.asarray(self.model.token_embedding)[token], state)

    def _put(self, memory: LSTMMemory, at: Any, state: tuple[Array, Array]) -> LSTMMemory:
        """A select, which in a batch is as fast as a scatter."""
        here = (jnp.arange(memory.hidden.shape[0]) == at)[:, None]
        return LSTMMemory(
            jnp.where(here, state[0], memory.hidden), jnp.where(here, state[1], memory.cell)
        )
