"""Layers of the theory as the five matrices of Eq. 2.42, and Transformers that have them.

A layer is `X -> W_2 relu(W_1 Y)`, `Y = LN_C(W_V X softmax((W_K X)^T (W_Q X))) + X`, with positions as
columns, a causal mask, and `LN_C(a) = P a / max(|P a|, C)`, P = I - 11^T / m. The Transformer of the
package has positions as rows and an output matrix per head; here that is `[I; 0]`, no weight but a
way of writing, so that the value matrix is one matrix.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from minicosm.adaptation.checks import check_kind, check_whole
from minicosm.models import Transformer, TransformerConfig
from minicosm.models.layers import Layer
from minicosm.models.variants import theory
from minicosm.worlds.arrays import AnyArray, check_size

from ..checks import COUNT, NOT_NEGATIVE
from ..signatures import checked


@checked()
class Matrices(NamedTuple):
    """The matrices of all layers (stacked along a first axis), or of one."""

    query: Float[np.ndarray, "*layers a m"]
    key: Float[np.ndarray, "*layers a m"]
    value: Float[np.ndarray, "*layers m m"]
    up: Float[np.ndarray, "*layers w m"]  # W_1
    down: Float[np.ndarray, "*layers m w"]  # W_2

    def check_stack(self, layers: int, width: int | None = None, name: str = "matrices") -> None:
        """Raise unless they are those of so many layers (0: of one, not stacked) of this width."""
        check_whole("layers", layers)
        if width is not None:
            check_whole("width", width)
        check_kind("name", name, str)
        shape = self.key.shape
        stacked = shape[:-2] == ((layers,) if layers else ())
        if not stacked or width not in (None, shape[-1]):
            need = (
                f"a stack of {layers} layers" if layers else "one layer, without an axis of layers"
            )
            need += "" if width is None else f", of width {width}"
            raise ValueError(f"{name} has keys of shape {shape}; it must be {need}")

    def layer(self, index: int) -> "Matrices":
        """The matrices of one layer of a stack."""
        if self.key.ndim != 3:
            raise ValueError(f"index is {index}, but there is no axis of layers to choose from")
        check_whole("index", index, -len(self.key), len(self.key) - 1)
        return Matrices(*(matrix[index] for matrix in self))


@checked(constant=NOT_NEGATIVE, outputs=COUNT)
def transformer(matrices: Matrices, constant: float, outputs: int | None = None) -> Transformer:
    """The Transformer with these layers and `LN_C`, C = `constant`.

    It puts out the first `outputs` coordinates of the last layer (by default all, W_Head = I), and
    its token t is the t-th unit vector; `apply` gives it vectors directly.
    """
    if matrices.key.ndim != 3:
        raise ValueError(
            f"matrices has keys of shape {matrices.key.shape}; it must be a stack of layers"
        )
    layers, attention, width = matrices.key.shape
    outputs = width if outputs is None else outputs
    if outputs > width:
        raise ValueError(f"outputs is {outputs}; it must be at most the width {width}")
    inner = max(attention, width)
    config = theory(
        outputs, width=width, inputs=outputs, layers=layers, mlp_width=matrices.up.shape[1],
        constant=constant, head_width=inner, mlp_bias=False,
    )  # fmt: skip
    model = shape_of(config)
    return eqx.tree_at(
        lambda model: (model.layers, model.token_embedding, model.output),
        model,
        (layers_of(matrices, model.layers), np.eye(outputs, width), np.eye(width, outputs)),
    )


def shape_of(config: TransformerConfig) -> Transformer:
    """A model of this config with shapes in place of weights: drawing them takes longer to compile
    than all that is done with them here."""
    return eqx.filter_eval_shape(lambda: Transformer(config, key=jax.random.key(0)))


def layers_of(matrices: Matrices, layers: Layer) -> Layer:
    """Layers of the same shape as these, with the matrices in place of their weights."""
    if layers.mlp is None:
        raise ValueError("the layers have no MLP; they must have one")
    qkv, out = (np.zeros(w.shape) for w in (layers.attention.qkv, layers.attention.out))
    for place, matrix in enumerate((matrices.query, matrices.key, matrices.value)):
        qkv[:, :, place, 0, : matrix.shape[1]] = matrix.swapaxes(1, 2)
    out[:, 0] = np.eye(out.shape[2], out.shape[3])
    mlp = (matrices.up.swapaxes(1, 2), matrices.down.swapaxes(1, 2))
    return eqx.tree_at(
        lambda layers: (
            layers.attention.qkv, layers.attention.out, layers.mlp.up, layers.mlp.down
        ),
        layers,
        (qkv, out, *mlp),
    )  # fmt: skip


@checked()
def matrices_of(model: Transformer) -> Matrices:
    """The matrices of a Transformer of the theory: one head, no biases, g a ReLU MLP.

    `W_V` is the product of the value and the output matrix.
    """
    attention, mlp, config = model.layers.attention, model.layers.mlp, model.config
    shape = theory(
        config.vocab, width=config.width, inputs=config.vocab + config.extra_inputs,
        layers=config.layers, mlp_width=config.size_of_mlp, constant=config.epsilon,
        head_width=config.size_of_head, mlp_bias=False, positions=config.positions,
        max_length=config.max_length,
    )  # fmt: skip
    if config != shape or mlp is None:
        raise ValueError(
            "the model is not a Transformer of the theory; it must have a config of "
            "variants.theory with mlp_bias=False and mlp_width at least 1"
        )
    qkv = np.asarray(attention.qkv, np.float64)[:, :, :, 0].transpose(2, 0, 3, 1)
    value = qkv[2].swapaxes(1, 2) @ np.asarray(attention.out, np.float64)[:, 0]
    up, down = (np.asarray(w, np.float64).swapaxes(1, 2) for w in (mlp.up, mlp.down))
    return Matrices(qkv[0], qkv[1], value.swapaxes(1, 2), up, down)


@checked()
def apply(model: Transformer, inputs: Float[np.ndarray, "n T m"]) -> Float[np.ndarray, "n T out"]:
    """The outputs on sequences of vectors, in double precision; vectors are padded with zeros."""
    padding = model.config.width - inputs.shape[-1]
    if padding < 0:
        raise ValueError(
            f"inputs have {inputs.shape[-1]} coordinates; the model's width is {model.config.width}"
        )
    with jax.enable_x64(True):
        padded = np.pad(np.asarray(inputs, np.float64), ((0, 0), (0, 0), (0, padding)))
        return np.asarray(_apply(model, padded))


@eqx.filter_jit
def _apply(model: Transformer, inputs: Float[AnyArray, "n T m"]) -> Float[Array, "n T out"]:
    return jax.vmap(model.logits)(inputs)


@checked(width=COUNT, attention=COUNT, mlp_width=COUNT, layers=COUNT, constant=NOT_NEGATIVE)
def random_target(
    rng: np.random.Generator,
    *,
    width: int = 3,
    attention: int = 2,
    mlp_width: int = 6,
    layers: int = 1,
    constant: float = 0.1,
) -> Transformer:
    """A Transformer of the theory whose matrices are Gaussian and scaled to spectral norm 1."""

    def draw(*shape: int) -> Float[np.ndarray, "layers rows columns"]:
        matrix = rng.normal(size=(layers, *shape))
        return matrix / np.linalg.norm(matrix, 2, axis=(1, 2), keepdims=True)

    m, a, w = width, attention, mlp_width
    _check_drawn(layers, m, a, w)
    return transformer(
        Matrices(draw(a, m), draw(a, m), draw(m, m), draw(w, m), draw(m, w)), constant
    )


def _check_drawn(layers: int, width: int, attention: int, mlp_width: int) -> None:
    check_size(
        f"layers = {layers}, width = {width}, attention = {attention}, mlp_width = {mlp_width}",
        layers * width * (3 * max(attention, width) + 2 * mlp_width),
    )


@checked(width=COUNT, attention=COUNT, mlp_width=COUNT)
def random_large(
    rng: np.random.Generator,
    target: Transformer,
    *,
    width: int = 36,
    attention: int = 200,
    mlp_width: int = 900,
) -> Transformer:
    """The large random Transformer of Theorem 2.2.3 for this target: all entries from U(-1, 1).

    The theorem has 4L layers whose g has four layers of weights. Such a layer is here two layers
    with an MLP each, 8L in all: see `pruning`.
    """
    layers, m, a, w = 8 * target.config.layers, width, attention, mlp_width
    _check_drawn(layers, m, a, w)
    if width < target.config.width:
        raise ValueError(
            f"width is {width}; it must be at least the target's {target.config.width}"
        )

    def draw(*shape: int) -> Float[np.ndarray, "layers rows columns"]:
        return rng.uniform(-1, 1, size=(layers, *shape))

    matrices = Matrices(draw(a, m), draw(a, m), draw(m, m), draw(w, m), draw(m, w))
    return transformer(matrices, target.config.epsilon, target.config.width)


@checked()
def relative_error(
    model: Transformer, target: Transformer, inputs: Float[np.ndarray, "n T m"]
) -> Float[np.ndarray, " n"]:
    """`|model(X) - target(X)|_{1,2} / |X|_{1,2}` for every X: norms are the largest over positions."""
    if not inputs.any(axis=(1, 2)).all():
        raise ValueError("inputs has a sequence of zeros; errors are relative to the size of each")
    one, two = apply(model, inputs), apply(target, inputs)
    if one.shape != two.shape:
        raise ValueError(
            f"the model puts out {one.shape[-1]} coordinates, the target {two.shape[-1]}; they must agree"
        )
    gap, size = (np.linalg.norm(x, axis=-1).max(axis=1) for x in (one - two, inputs))
    return gap / size
