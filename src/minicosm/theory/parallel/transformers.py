"""One-layer Transformers that take any deterministic or product step in parallel (Section 4.3.9).

Width `N + 2V + NV`: position (one-hot), token (one-hot), a slot for the token of every position, and the
output. Head i copies token i into slot i at every position. One hidden unit per sequence tau and position j
is 1 iff the input is tau and the position j, and adds the wanted logits to the output.
"""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from minicosm.adaptation.checks import check_token_rows, unshared
from minicosm.models import Transformer, TransformerConfig
from minicosm.worlds.joint.joint import all_sequences, check_states, product_rows, total_correlation

from ..checks import Given, kind, probabilities, reals, whole
from ..signatures import checked
from .rules import STEP

SHARP = 60.0  # exp(-60) = 1e-26: attention on other positions
LEAST = 1e-26  # softmax has no zeros: smaller probabilities become this
MOST_UNITS = 2**14


def _check_table(name: str, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Raise unless a table of this shape has a row per sequence, and not too many."""
    states, N, V = shape
    if states != check_states(V, N):
        raise ValueError(
            f"{name} has {states} rows; {V} tokens at {N} positions make {V**N} sequences"
        )
    if N * states > MOST_UNITS:
        raise ValueError(
            f"{name} needs {N * states} hidden units, one per sequence and position; at most "
            f"{MOST_UNITS} are built"
        )
    return states, N, V


def _image(name: str, value: Any, given: Given) -> np.ndarray:
    """Tokens, a row for every sequence."""
    found = np.asarray(check_token_rows(name, value, given["vocab"]))
    _check_table(name, (*found.shape, given["vocab"]))
    return found


def _length(name: str, value: Any, given: Given) -> int:
    return whole(1, given["model"].config.max_length)(name, value, given)


MODEL = kind(Transformer)
IMAGE = {"vocab": whole(1), "image": _image}


@checked(logits=reals((None, None, None)))
def lookup(logits: Float[np.ndarray, "states N vocab"]) -> Transformer:
    """The Transformer whose logits at position j for the input tau are `logits[tau, j]`.

    An ordinary model with weights in float64: call it under `jax.enable_x64(True)`.
    """
    states, N, V = _check_table("logits", logits.shape)
    d = N + 2 * V + N * V
    tok, slot, out = N, N + V, N + V + N * V
    embedding, positions = np.zeros((V, d)), np.zeros((N, d))
    embedding[:, tok:slot] = np.eye(V)
    positions[:, :N] = np.eye(N)
    qkv = np.zeros((1, d, 3, N, V))
    write = np.zeros((1, N, V, d))
    for i in range(N):
        qkv[0, :N, 0, i, 0] = 1  # every query asks with 1,
        qkv[0, i, 1, i, 0] = SHARP  # and position i answers head i
        qkv[0, tok:slot, 2, i] = np.eye(V)
        write[0, i, :, slot + i * V : slot + (i + 1) * V] = np.eye(V)
    sequences = all_sequences(V, N)
    read = np.zeros((states, N, d))
    read[:, :, :N] = np.eye(N)
    for i in range(N):
        read[np.arange(states), :, slot + i * V + sequences[:, i]] = 1
    down = np.zeros((states, N, d))
    down[:, :, out:] = logits
    output = np.zeros((d, V))
    output[out:] = np.eye(V)
    config = TransformerConfig(
        V, layers=1, heads=N, width=d, mlp_width=N * states, max_length=N, head_width=V,
        attention_scale=1.0, attention_bias=False, norm="none", activation="relu", tied=False,
        output_bias=False,
    )  # fmt: skip
    model = eqx.filter_eval_shape(Transformer, config, key=jax.random.key(0))
    return eqx.tree_at(
        lambda t: (
            t.token_embedding, t.mask_embedding, t.position_embedding, t.output,
            t.layers.attention.qkv, t.layers.attention.out,
            t.layers.mlp.up, t.layers.mlp.up_bias, t.layers.mlp.down, t.layers.mlp.down_bias,
        ),
        model,
        (
            embedding, np.zeros(d), positions, output, qkv, write,
            read.reshape(1, -1, d).transpose(0, 2, 1), np.full((1, N * states), -float(N)),
            down.reshape(1, -1, d), np.zeros((1, d)),
        ),
    )  # fmt: skip


@checked(**IMAGE)
def deterministic(image: Int[np.ndarray, "states N"], vocab: int) -> Transformer:
    """Proposition 4.1.2: the Transformer whose most likely tokens for the input tau are `image[tau]`."""
    return lookup(SHARP * np.eye(vocab)[image])


@checked(laws=probabilities((None, None, None)))
def product(laws: Float[np.ndarray, "states N vocab"]) -> Transformer:
    """Proposition 4.1.3: the Transformer whose law of token j for the input tau is `laws[tau, j]`, with
    probabilities below 1e-26 raised to it."""
    _check_table("laws", laws.shape)
    return lookup(np.log(np.maximum(laws, LEAST)))


@checked(model=MODEL, length=_length)
def laws_of(model: Transformer, length: int) -> Float[np.ndarray, "states N vocab"]:
    """The laws that a model predicts at every position of every sequence, in double precision."""
    return predict_all(model, all_sequences(model.vocab, length))


@checked(
    model=MODEL,
    tokens=lambda name, value, given: check_token_rows(name, value, given["model"].vocab),
)
def predict_all(
    model: Transformer, tokens: Int[np.ndarray, "batch N"]
) -> Float[np.ndarray, "batch N vocab"]:
    """The laws that a model predicts for many sequences, in double precision."""
    with jax.enable_x64(True):
        return np.asarray(_predict(unshared(model), tokens))


@eqx.filter_jit
def _predict(model: Any, tokens: Any) -> Any:
    return jax.vmap(lambda row: model.predict(model.embed(row)))(tokens)


@checked(model=MODEL, length=_length)
def kernel_of(
    model: Transformer, length: int, *, argmax: bool = False
) -> Float[np.ndarray, "states states"]:
    """The Markov chain of decoding in parallel: rows are products over positions."""
    laws = laws_of(model, length)
    if argmax:
        laws = np.eye(model.vocab)[laws.argmax(axis=2)]
    return product_rows(laws)


@checked(**STEP)
def row_dependence(
    P: Float[np.ndarray, "states states"], vocab: int, length: int
) -> Float[np.ndarray, " states"]:
    """Total correlation of every row; a Transformer can take the step iff all are zero."""
    return total_correlation(P, vocab, length)
