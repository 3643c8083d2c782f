"""What shape a Transformer has."""

from dataclasses import dataclass, fields
from typing import Any, Literal, Self, get_args

from minicosm.sentences import check_choice

from .checks import check_count, check_flag, check_kind, check_number

Activation = Literal["gelu", "gelu_tanh", "relu", "silu", "tanh"]
NormPlace = Literal["pre", "post", "branch", "none"]
Normaliser = Literal["layer", "unit"]
Positions = Literal["learned", "sinusoidal", "rotary", "linear", "none"]
Compute = Literal["bfloat16", "float32", "float64"]


@dataclass(frozen=True)
class TransformerConfig:
    """The shape of a `Transformer`; a bad value raises `ValueError` when the config is made.

    A layer is two sublayers `f` (attention, then MLP), each `y = x + f(N(x))` with norm "pre",
    `N(x + f(x))` with "post", `x + N(f(x))` with "branch" and `x + f(x)` with "none"; without its
    residual the `x +` is left out. Defaults are a small pre-norm encoder.

    Sizes:
        vocab: number of real tokens; outputs are laws over exactly these, as the exact worlds' are.
        layers: number of layers.
        heads: heads of every attention.
        width: entries of a row of the residual stream (and of an embedding).
        mlp_width: entries of the MLP's inner row; default `4 * width`; 0 leaves the MLP out.
        head_width: entries of a head's queries, keys and values; default `width / heads`.
        max_length: number of learned positions (prompt rows count); other kinds of positions have no
            limit. With "linear" positions row i has `i / max_length` times one learned direction added.
        extra_inputs: input-only tokens (a start token, say) with ids `vocab, vocab + 1, ...`.

    What it computes:
        causal: a position reads itself and those before it, and predicts the next token; without, it
            reads all of them and predicts its own, and there is a row for the mask.
        positions: "learned" and "sinusoidal" rows are added to the embeddings, "linear" is said above,
            "rotary" turns queries and keys, "none" leaves positions out.
        rotary_base: with "rotary", plane i of a head turns by `t rotary_base^(-2i/head_width)` at t.
        norm: where the norm of a sublayer stands, see above.
        mlp_norm: where the MLP's norm stands; default: as `norm`.
        normaliser: "layer": `(x - mean) / sqrt(var + epsilon) * scale + shift`; "unit": `(x - mean) /
            max(|x - mean|_2, epsilon)` with 0/0 = 0 and no parameters.
        epsilon: the number in it.
        embedding_norm: normalise embeddings plus positions; default: only with norm "post", as BERT does.
        final_norm: normalise after the last layer; default: only with norm "pre", as GPT-2 does.
        norm_residual: with norm "pre", a sublayer reads `N(x) + x` in place of `N(x)`.
        attention_residual: whether attention has the `x +`.
        mlp_residual: whether the MLP has it.
        attention_scale: factor on the attention logits; default `head_width ** -0.5`.
        activation: of the MLP and the head transform. "gelu" is the exact one, `x Phi(x)`, as in BERT;
            "gelu_tanh" is GPT-2's approximation.
        attention_bias: whether queries, keys, values and the output of attention have biases.
        mlp_bias: whether both maps of the MLP have.
        output_bias: whether the logits have.
        head_transform: BERT's dense + activation + norm between the last layer and the output matrix.
        tied: whether the output matrix is the token embedding.

    How it is trained and run:
        dropout: rate on the embeddings, the attention weights and every sublayer's output, where a
            method is given a key.
        embedding_dropout: rate on the embeddings alone; default: `dropout`.
        init_std: weights and embeddings start as N(0, init_std^2), biases at 0 (BERT, GPT-2).
        embedding_std: the same of the token embeddings; default: `init_std`.
        position_std: the same of positions, learned or linear; sinusoids begin with this root mean square.
            Default: `init_std`.
        residual_scaling: start what writes to the residual stream at `init_std / sqrt(2 layers)`, as
            GPT-2 does.
        compute: precision of the matrix products; default: that of the parameters. With "bfloat16" the
            parameters, the residual stream, norms, softmax and logits stay as they are.
        unroll: layers in one iteration of the compiled loop: two cost little to compile and are faster.
        remat: recompute layers in the backward pass: memory of one layer in place of all.
    """

    vocab: int
    layers: int = 2
    heads: int = 4
    width: int = 64
    mlp_width: int | None = None
    max_length: int = 512
    causal: bool = False
    positions: Positions = "learned"
    norm: NormPlace = "pre"
    activation: Activation = "gelu"
    tied: bool = True
    dropout: float = 0.0

    extra_inputs: int = 0
    attention_bias: bool = True
    mlp_bias: bool = True
    output_bias: bool = True
    head_transform: bool = False
    embedding_norm: bool | None = None
    final_norm: bool | None = None
    head_width: int | None = None
    attention_scale: float | None = None
    rotary_base: float = 10000.0
    normaliser: Normaliser = "layer"
    epsilon: float = 1e-5
    mlp_norm: NormPlace | None = None
    attention_residual: bool = True
    mlp_residual: bool = True
    norm_residual: bool = False

    embedding_dropout: float | None = None
    init_std: float = 0.02
    embedding_std: float | None = None
    position_std: float | None = None
    residual_scaling: bool = False

    compute: Compute | None = None
    unroll: int = 2
    remat: bool = False

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value is not None or name not in _OPTIONAL:
                check_choice(name, value, get_args(choices))
        for name in _FLAGS:
            value = getattr(self, name)
            if value is not None or name not in _OPTIONAL:
                check_flag(name, value)
        for name in ("vocab", "layers", "heads", "width", "max_length", "unroll"):
            check_count(name, getattr(self, name))
        check_count("extra_inputs", self.extra_inputs, least=0)
        if self.mlp_width is not None:
            check_count("mlp_width", self.mlp_width, least=0)
        if self.head_width is not None:
            check_count("head_width", self.head_width)
        elif self.width % self.heads:
            raise ValueError(
                f"width {self.width} is not divisible by {self.heads} heads; "
                "choose a multiple or give head_width"
            )
        check_number("dropout", self.dropout, least=0, below=1)
        if self.embedding_dropout is not None:
            check_number("embedding_dropout", self.embedding_dropout, least=0, below=1)
        for name in ("epsilon", "init_std", "embedding_std", "position_std"):
            if getattr(self, name) is not None or name not in _OPTIONAL:
                check_number(name, getattr(self, name), least=0)
        check_number("rotary_base", self.rotary_base, above=1)
        if self.attention_scale is not None:
            check_number("attention_scale", self.attention_scale)
        if self.positions == "rotary" and self.size_of_head % 2:
            raise ValueError(
                f"heads have width {self.size_of_head}; rotary positions need an even width"
            )
        if self.positions == "sinusoidal" and self.width % 2:
            raise ValueError(f"width is {self.width}; sinusoidal positions need an even width")

    @classmethod
    def bert(cls, vocab: int, **fields: Any) -> Self:
        """BERT's shape: post-norm, learned positions, GELU, tied output after its transform."""
        shape: dict[str, Any] = {"norm": "post", "head_transform": True, "epsilon": 1e-12}
        return cls(vocab, **(shape | fields))

    @classmethod
    def gpt2(cls, vocab: int, **fields: Any) -> Self:
        """GPT-2's shape: causal, pre-norm, learned positions, tied output without a bias."""
        shape: dict[str, Any] = {
            "causal": True,
            "activation": "gelu_tanh",
            "output_bias": False,
            "residual_scaling": True,
        }
        return cls(vocab, **(shape | fields))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The config with these fields, as `dataclasses.asdict` gives them."""
        check_kind("values", values, dict, "a dict of fields")
        unknown = sorted(set(map(str, values)) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"a TransformerConfig has no field {unknown[0]!r}")
        if "vocab" not in values:
            raise ValueError("values has no 'vocab'; a TransformerConfig needs this field")
        return cls(**values)

    @property
    def size_of_head(self) -> int:
        return self.width // self.heads if self.head_width is None else self.head_width

    @property
    def size_of_mlp(self) -> int:
        return 4 * self.width if self.mlp_width is None else self.mlp_width

    @property
    def std_of_embeddings(self) -> float:
        return self.init_std if self.embedding_std is None else self.embedding_std

    @property
    def std_of_positions(self) -> float:
        return self.init_std if self.position_std is None else self.position_std

    @property
    def rate_of_embeddings(self) -> float:
        """The dropout rate of embeddings."""
        return self.dropout if self.embedding_dropout is None else self.embedding_dropout

    @property
    def place_of_mlp_norm(self) -> NormPlace:
        return self.norm if self.mlp_norm is None else self.mlp_norm

    @property
    def has_embedding_norm(self) -> bool:
        return self.norm == "post" if self.embedding_norm is None else self.embedding_norm

    @property
    def has_final_norm(self) -> bool:
        return self.norm == "pre" if self.final_norm is None else self.final_norm

    @property
    def scale(self) -> float:
        return self.size_of_head**-0.5 if self.attention_scale is None else self.attention_scale


_OPTIONAL = {
    "mlp_norm", "compute", "embedding_norm", "final_norm", "embedding_std", "position_std",
}  # fmt: skip
_FLAGS = (
    "causal", "tied", "attention_bias", "mlp_bias", "output_bias", "head_transform",
    "embedding_norm", "final_norm", "attention_residual", "mlp_residual", "norm_residual",
    "residual_scaling", "remat",
)  # fmt: skip
_CHOICES = {
    "positions": Positions,
    "norm": NormPlace,
    "mlp_norm": NormPlace,
    "activation": Activation,
    "normaliser": Normaliser,
    "compute": Compute,
}
