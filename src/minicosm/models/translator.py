"""An encoder-decoder Transformer that translates: all positions at once, or one after the other."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, Int, PRNGKeyArray

from minicosm.sentences import check_choice
from minicosm.worlds.arrays import AnyArray

from .by_token import TokenByToken
from .checks import (
    check_count,
    check_dtype,
    check_flag,
    check_ids,
    check_key,
    check_kind,
    check_rows,
)
from .config import TransformerConfig
from .layers import Attention, Draws, Norm, dropout
from .sublayers import BUCKETS, Memory, Sublayers, attend, project, relative_buckets

TranslatorPositions = Literal["learned", "relative"]


@dataclass(frozen=True)
class TranslatorConfig:
    """The shape of a `Translator`; a bad value raises `ValueError` when the config is made.

    Layers are pre-norm, `x + f(N(x))`. A layer of the encoder is self-attention and MLP; one of the
    decoder is self-attention, positional attention, attention to the source and MLP.

    Sizes:
        vocab: number of target tokens.
        source_vocab: number of source tokens; None: both languages share one vocabulary and one embedding.
        encoder_layers: number of layers that read the source.
        decoder_layers: number of layers that read the target.
        heads: heads of every attention; `width` is divided among them.
        width: entries of a row of the residual stream (and of an embedding).
        mlp_width: entries of the MLP's inner row.
        max_length: number of position vectors: the longest source (with its length token) and target.
        lengths: the longest target that the length predictor knows; 0 leaves the predictor out.

    What it computes:
        causal: a decoder that reads only what is before it and has a token `vocab` for start and end;
            without, one that reads all positions and is given the length of the target.
        positional_attention: in decoder layers, attention whose queries and keys are learned vectors of the
            positions and whose values are the hidden states (of a causal decoder: of those before).
        positions: "learned": a vector for every position is added to the embeddings; "relative":
            attention among positions of one side has a bias for every head and (bucket of) distance,
            shared by all layers.
        tied: whether the output matrix is the embedding of target tokens.
        bias: whether attention, MLP and output have biases.

    How it is trained and run:
        dropout: rate on the embeddings, the attention weights and every sublayer's output, where a
            method is given a key.
        init_std: weights and embeddings start as N(0, init_std^2), biases at 0.
        unroll: layers in one iteration of the compiled loop.
    """

    vocab: int
    source_vocab: int | None = None
    encoder_layers: int = 2
    decoder_layers: int = 2
    heads: int = 4
    width: int = 64
    mlp_width: int = 128
    causal: bool = False
    positional_attention: bool = True
    positions: TranslatorPositions = "learned"
    max_length: int = 64
    lengths: int = 32
    tied: bool = True
    bias: bool = True
    dropout: float = 0.0
    init_std: float = 0.02
    unroll: int = 2

    def __post_init__(self) -> None:
        counts = ("vocab", "encoder_layers", "decoder_layers", "max_length", "unroll", "mlp_width")
        for name in counts:
            check_count(name, getattr(self, name))
        check_count("lengths", self.lengths, least=0)
        if self.source_vocab is not None:
            check_count("source_vocab", self.source_vocab)
        check_choice("positions", self.positions, get_args(TranslatorPositions))
        for name in ("causal", "positional_attention", "tied", "bias"):
            check_flag(name, getattr(self, name))
        if not self.causal and not self.lengths:
            raise ValueError("lengths is 0; a decoder that is not causal needs a length predictor")
        if not self.causal and self.lengths > self.max_length:
            raise ValueError(
                f"lengths is {self.lengths}; there are only {self.max_length} positions"
            )
        self.part(1)  # checks the rest

    def part(self, layers: int) -> TransformerConfig:
        """What one kind of sublayer, stacked `layers` times, is built from."""
        return TransformerConfig(
            self.vocab, layers=layers, heads=self.heads, width=self.width,
            mlp_width=self.mlp_width, activation="relu", attention_bias=self.bias,
            mlp_bias=self.bias, dropout=self.dropout, init_std=self.init_std,
        )  # fmt: skip

    @classmethod
    def paper(cls, **fields: Any) -> Self:
        """The size of Li et al. (2024): a Transformer-base of 67 million parameters."""
        sizes: dict[str, Any] = {
            "vocab": 32128, "encoder_layers": 6, "decoder_layers": 6, "heads": 8, "width": 512,
            "mlp_width": 2048, "max_length": 256, "lengths": 128, "positions": "relative",
            "bias": False, "dropout": 0.1,
        }  # fmt: skip
        return cls(**(sizes | fields))


class TranslatorTrace(NamedTuple):
    """What the decoder computed on the way to its logits."""

    self_attention: Float[Array, "layers H T T"]
    """[l, h, i, j]: how much target position i reads from position j; rows sum to one."""
    cross_attention: Float[Array, "layers H T S"]
    """[l, h, i, s]: how much it reads from source position s."""
    logits: Float[Array, "T V"]


class Translator(eqx.Module):
    """An encoder-decoder over one pair; use `jax.vmap` for batches.

    `encode` reads the source once; `decode` gives the logits of all target positions. A parallel
    decoder reads a guess of the whole target and says for every position which token stands there; a
    causal one reads the start token `vocab` and what follows, and says what comes next (`vocab` again
    is the end). Padding stands after the end of either side, has any token, and is not `visible`.
    """

    embedding: Float[AnyArray, "*stack rows E"]
    source_embedding: Float[AnyArray, "*stack source_vocab E"] | None
    position_embedding: Float[AnyArray, "*stack max_length E"] | None
    relative: Float[AnyArray, "*stack 2 buckets H"] | None
    """Biases of distances, of the encoder and of the decoder."""
    length_token: Float[AnyArray, "*stack E"] | None
    length_vectors: Float[AnyArray, "*stack lengths E"] | None
    encoder: Sublayers
    encoder_norm: Norm
    decoder: Sublayers
    decoder_norm: Norm
    output: Float[AnyArray, "*stack E V"] | None
    output_bias: Float[AnyArray, "*stack V"] | None
    config: TranslatorConfig = eqx.field(static=True)

    def __init__(
        self, config: TranslatorConfig, *, key: PRNGKeyArray, dtype: DTypeLike | None = None
    ):
        """Random weights: N(0, init_std^2), zero biases, norms that begin as plain normalisation."""
        check_kind("config", config, TranslatorConfig, "a TranslatorConfig")
        check_key("key", key)
        dtype = check_dtype("dtype", dtype)
        width, std, rows = config.width, config.init_std, config.vocab + config.causal
        part = config.part(1)
        attention, inner = 4 * width * part.heads * part.size_of_head, 2 * width * config.mlp_width
        in_layers = config.encoder_layers * (attention + inner)
        in_layers += config.decoder_layers * (3 * attention + inner)
        outside = 2 * rows + (config.source_vocab or 0) + config.max_length + config.lengths + 1
        draw = _Draws(in_layers + width * outside, dtype, key=key)
        learned = config.positions == "learned"
        self.config = config
        self.embedding = draw(rows, width, std=std)
        own = config.source_vocab
        self.source_embedding = None if own is None else draw(own, width, std=std)
        with_vectors = learned or config.positional_attention
        self.position_embedding = draw(config.max_length, width, std=std) if with_vectors else None
        self.relative = None if learned else jnp.zeros((2, BUCKETS, config.heads), dtype)
        self.length_token = draw(width, std=std) if config.lengths else None
        self.length_vectors = draw(config.lengths, width, std=std) if config.lengths else None
        encoder, decoder = config.part(config.encoder_layers), config.part(config.decoder_layers)
        self.encoder = Sublayers(encoder, draw, positional=False, cross=False)
        positional = config.positional_attention
        self.decoder = Sublayers(decoder, draw, positional=positional, cross=True)
        self.encoder_norm, self.decoder_norm = Norm(part, dtype), Norm(part, dtype)
        self.output = None if config.tied else draw(width, rows, std=std)
        self.output_bias = jnp.zeros(rows, dtype) if config.bias else None

    @property
    def vocab(self) -> int:
        return self.config.vocab

    def encode(
        self,
        source: Int[AnyArray, " S"],
        visible: Bool[AnyArray, " S"] | None = None,
        *,
        key: PRNGKeyArray | None = None,
    ) -> Memory:
        """Read a source, with the length token in front if the model predicts lengths."""
        config, table = self.config, self.source_embedding
        vocab = config.vocab if config.source_vocab is None else config.source_vocab
        source, visible = _checked("source", source, visible, vocab, key)
        rows = jnp.asarray(self.embedding if table is None else table)[source]
        seen = visible
        if self.length_token is not None:
            rows = jnp.concatenate([jnp.asarray(self.length_token)[None], rows])
            seen = jnp.concatenate([jnp.ones(1, bool), visible])
        x = self._run(self.encoder, self.encoder_norm, rows, seen, key)[0]
        if self.length_token is None:
            return Memory(x, visible, None)
        return Memory(x[1:], visible, x[0])

    def length_logits(self, memory: Memory) -> Float[Array, " lengths"]:
        """Unnormalised log law of the target's length; entry i is length i + 1."""
        check_kind("memory", memory, Memory, "a Memory, as encode returns")
        if memory.length is None:
            raise ValueError("this model has no length predictor; give its config lengths >= 1")
        return jnp.asarray(self.length_vectors) @ memory.length

    def decode(
        self,
        tokens: Int[AnyArray, " T"],
        memory: Memory,
        visible: Bool[AnyArray, " T"] | None = None,
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "T V"]:
        """Unnormalised log laws: of each position's own token, or of the next one if causal."""
        return self._decode(tokens, memory, visible, key)[0]

    def trace(
        self,
        tokens: Int[AnyArray, " T"],
        memory: Memory,
        visible: Bool[AnyArray, " T"] | None = None,
    ) -> TranslatorTrace:
        """Attention weights of all layers and heads of the decoder, and the logits."""
        logits, (own, across) = self._decode(tokens, memory, visible, None)
        return TranslatorTrace(own, across, logits)

    def _decode(
        self, tokens: Any, memory: Memory, visible: Any, key: PRNGKeyArray | None
    ) -> tuple[Float[Array, "T V"], Any]:
        config = self.config
        tokens, visible = _checked("tokens", tokens, visible, config.vocab + config.causal, key)
        check_kind("memory", memory, Memory, "a Memory, as encode returns")
        rows = jnp.asarray(self.embedding)[tokens]
        x, weights = self._run(self.decoder, self.decoder_norm, rows, visible, key, memory)
        return self._readout(x), weights

    def readout(self, x: Float[Array, "T E"]) -> Float[Array, "T V"]:
        """Logits of rows that have gone through the decoder and its last norm."""
        return self._readout(jnp.asarray(check_rows("x", x, self.config.width)))

    def _readout(self, x: Float[Array, "T E"]) -> Float[Array, "T V"]:
        logits = x @ (jnp.asarray(self.embedding).T if self.output is None else self.output)
        return logits if self.output_bias is None else logits + self.output_bias

    def by_token(self, targets: int, room: int) -> TokenByToken:
        """A causal decoder that reads `targets` targets of a source at once, one token of each after the
        other, and at most `room` tokens; it computes what `decode` does, every position once."""
        return TokenByToken(self, targets, room)

    def _run(
        self,
        layers: Sublayers,
        norm: Norm,
        rows: Float[Array, "T E"],
        visible: Bool[Array, " T"],
        key: PRNGKeyArray | None,
        memory: Any = None,
    ) -> tuple[Float[Array, "T E"], Any]:
        """Positions, all layers of one side and its last norm."""
        config, length = self.config, rows.shape[0]
        causal = memory is not None and config.causal
        self.check_length(length, decoder=memory is not None)
        where: Any = None
        if self.position_embedding is not None:
            where = jnp.asarray(self.position_embedding)[:length]
        x = rows + where if config.positions == "learned" else rows
        bias = None
        if self.relative is not None:
            buckets = relative_buckets(length, causal=causal)
            table = jnp.asarray(self.relative)[0 if memory is None else 1]
            bias = jnp.moveaxis(table[buckets], -1, 0)
        seen = jnp.asarray(visible)[None]
        if causal:
            seen = seen & np.tril(np.ones((length, length), bool))
        keys = None
        count = config.encoder_layers if memory is None else config.decoder_layers
        if key is not None and config.dropout > 0:
            key, first = jax.random.split(key)
            x, keys = dropout(first, config.dropout, x), jax.random.split(key, count)
        part = config.part(count)

        def own(weights: Attention, rows: Array, key: Any) -> Any:
            q, k, v = (project(weights, i, rows) for i in range(3))
            return attend(weights, part, q, k, v, seen, bias, key)

        def positional(weights: Attention, rows: Array, key: Any) -> Any:
            q, k, v = (project(weights, i, x) for i, x in enumerate((where, where, rows)))
            return attend(weights, part, q, k, v, seen, None, key)

        def cross(weights: Attention, rows: Array, key: Any) -> Any:
            source = memory.rows
            q, k, v = (project(weights, i, x) for i, x in enumerate((rows, source, source)))
            return attend(weights, part, q, k, v, jnp.asarray(memory.visible)[None], None, key)

        def step(x: Array, layer_and_key: Any) -> Any:
            layer, key = layer_and_key
            return layer(part, x, key, own, positional, cross)

        x, weights = jax.lax.scan(step, x, (layers, keys), unroll=config.unroll)
        return norm(part, x), weights

    def check_length(self, length: int, *, decoder: bool) -> None:
        """Raise unless there is a vector for every position of one side, if it needs them."""
        config = self.config
        check_count("length", length, least=0)
        check_flag("decoder", decoder)
        limited = config.positions == "learned" or (decoder and config.positional_attention)
        if limited and length > config.max_length:
            raise ValueError(
                f"the sequence has {length} positions, length or start token included; "
                f"this model has {config.max_length} position vectors"
            )


class _Draws(Draws):
    """`Draws` of a given count of numbers."""

    def __init__(self, count: int, dtype: DTypeLike, *, key: PRNGKeyArray):
        self.draw(count, dtype, key)


def _checked(
    name: str, tokens: Any, visible: Any, vocab: int, key: Any
) -> tuple[Int[Array, " T"], Bool[Array, " T"]]:
    """Tokens and mask of one side; what is not visible may be any token and is read as token 0."""
    if key is not None:
        check_key("key", key)
    tokens, visible = check_ids(name, tokens, vocab, visible, "visible")
    if visible is None:
        return jnp.asarray(tokens), jnp.ones(tokens.shape[0], bool)
    return jnp.where(jnp.asarray(visible), jnp.asarray(tokens), 0), jnp.asarray(visible)
