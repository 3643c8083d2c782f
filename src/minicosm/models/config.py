"""What shape a Transformer has."""

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, get_args

from minicosm.worlds.arrays import check_count

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
    """

    vocab: int
    """Number of real tokens: outputs are laws over exactly these, as the exact worlds' are."""
    layers: int = 2
    heads: int = 4
    width: int = 64
    mlp_width: int | None = None
    """Default `4 * width`; 0 leaves the MLP out."""
    max_length: int = 512
    """Number of learned positions (prompt rows count); other kinds of positions have no limit. With
    "linear" positions row i has `i / max_length` times one learned direction added."""
    causal: bool = False
    positions: Positions = "learned"
    norm: NormPlace = "pre"
    activation: Activation = "gelu"
    """"gelu" is the exact one, `x Phi(x)`, as in BERT; "gelu_tanh" is GPT-2's approximation."""
    tied: bool = True
    """Whether the output matrix is the token embedding."""
    dropout: float = 0.0
    """Rate on the embeddings, the attention weights and every sublayer's output."""

    extra_inputs: int = 0
    """Input-only tokens (a start token, say) with ids `vocab, vocab + 1, ...`, never predicted."""
    attention_bias: bool = True
    mlp_bias: bool = True
    output_bias: bool = True
    head_transform: bool = False
    """BERT's dense + activation + norm between the last layer and the output matrix."""
    embedding_norm: bool | None = None
    """Normalise embeddings plus positions; default: only with norm "post", as BERT does."""
    final_norm: bool | None = None
    """Normalise after the last layer; default: only with norm "pre", as GPT-2 does."""
    head_width: int | None = None
    """Width of a head's queries, keys and values; default `width / heads`."""
    attention_scale: float | None = None
    """Factor on the attention logits; default `head_width ** -0.5`."""
    rotary_base: float = 10000.0
    normaliser: Normaliser = "layer"
    """"layer": `(x - mean) / sqrt(var + epsilon) * scale + shift`; "unit": `(x - mean) /
    max(|x - mean|_2, epsilon)` with 0/0 = 0 and no parameters."""
    epsilon: float = 1e-5
    mlp_norm: NormPlace | None = None
    """Where the MLP's norm stands; default: as `norm`."""
    attention_residual: bool = True
    mlp_residual: bool = True
    norm_residual: bool = False
    """With norm "pre", a sublayer reads `N(x) + x` in place of `N(x)`."""

    init_std: float = 0.02
    """Weights and embeddings start as N(0, init_std^2), biases at 0 (BERT, GPT-2)."""
    residual_scaling: bool = False
    """Start what writes to the residual stream at `init_std / sqrt(2 layers)`, as GPT-2 does."""

    compute: Compute | None = None
    """Precision of the matrix products; default: that of the parameters. With "bfloat16" the
    parameters, the residual stream, norms, softmax and logits stay as they are."""
    unroll: int = 2
    """Layers in one iteration of the compiled loop: two cost little to compile and are faster."""
    remat: bool = False
    """Recompute layers in the backward pass: memory of one layer in place of all."""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in get_args(choices) and not (value is None and name in _OPTIONAL):
                raise ValueError(
                    f"{name} is {value!r}; it must be one of {', '.join(get_args(choices))}"
                )
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
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; it must be at least 0 and less than 1")
        for name in ("epsilon", "init_std"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise ValueError(f"{name} is {value}; it must be a finite number of at least 0")
        if not (self.rotary_base > 1 and math.isfinite(self.rotary_base)):
            raise ValueError(f"rotary_base is {self.rotary_base}; it must be greater than 1")
        if self.attention_scale is not None and not math.isfinite(self.attention_scale):
            raise ValueError(f"attention_scale is {self.attention_scale}; it must be finite")
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
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"a TransformerConfig has no field {unknown[0]!r}")
        if "vocab" not in values:
            raise ValueError("a TransformerConfig needs the field 'vocab'")
        return cls(**values)

    @property
    def size_of_head(self) -> int:
        return self.width // self.heads if self.head_width is None else self.head_width

    @property
    def size_of_mlp(self) -> int:
        return 4 * self.width if self.mlp_width is None else self.mlp_width

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


_OPTIONAL = {"mlp_norm", "compute"}
_CHOICES = {
    "positions": Positions,
    "norm": NormPlace,
    "mlp_norm": NormPlace,
    "activation": Activation,
    "normaliser": Normaliser,
    "compute": Compute,
}
