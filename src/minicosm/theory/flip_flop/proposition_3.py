"""Proposition 3: two layers with one head remember a bit."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.models import Transformer, TransformerConfig, from_arrays
from minicosm.worlds import FlipFlop
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.flip_flop.language import IGNORE, READ, SYMBOL, WRITE

from ..checks import kind, whole, wholes
from ..signatures import checked
from ..theorem import Condition, Theorem

IS_WRITE, IS_OTHER, IS_ZERO, IS_ONE, ONE, PLACE, BEGUN = range(7)
"""Coordinates e1..e7 of the proof."""


def logarithmic(horizon: int) -> float:
    """`c = 2 T ln(8 T)`, as large as the proof asks for up to a constant."""
    return 2 * horizon * float(np.log(8 * horizon))


def linear(horizon: int) -> float:
    """`c = 3 T`."""
    return 3.0 * horizon


@checked(horizon=whole(2, 2**24))
def two_layer_transformer(horizon: int, c: float | None = None) -> Transformer:
    """The network of Proposition 3 with positions `t / horizon` and scores scaled by c (default
    `2 T ln(8 T)`): width 7, one head of width 2, three units in each MLP.

    Layer 1 scores position j by `(c/T)(3/2 1[x_j = w] + j)` and finds whether this token or the one before
    is a write; layer 2 by `c (1[...] + j/T)` and copies the bit. An MLP adds `phi(u) - relu(u)` to the
    coordinate u that a head wrote, with `phi(u) = relu(2u - 1/2) - relu(2u - 3/2)`, which is u rounded
    within 1/4 of 0 and 1.
    """
    c = logarithmic(horizon) if c is None else c
    if not c > 0:
        raise ValueError(f"c is {c}; it must be positive")
    config = TransformerConfig(
        5, layers=2, heads=1, width=7, head_width=2, mlp_width=3, max_length=horizon, causal=True,
        positions="linear", norm="none", activation="relu", tied=False, attention_bias=False,
        attention_scale=1.0, output_bias=False,
    )  # fmt: skip
    embedding = np.zeros((5, 7))
    embedding[WRITE, IS_WRITE] = 1
    embedding[[READ, IGNORE], IS_OTHER] = 1
    embedding[SYMBOL, IS_ZERO] = embedding[SYMBOL + 1, IS_ONE] = 1
    embedding[:, ONE] = 1
    output = np.zeros((7, 5))
    output[IS_WRITE, SYMBOL + 1] = 1
    output[ONE, SYMBOL] = 0.5
    output[ONE, :SYMBOL] = -1
    arrays: dict[str, Any] = {
        "token_embedding": embedding,
        "position_direction": np.eye(7)[PLACE],
        "output": output,
    }
    layers = ((IS_WRITE, 1.5 * c / horizon, IS_WRITE, BEGUN), (BEGUN, c, IS_ONE, IS_WRITE))
    for i, (marked, weight, reads, writes) in enumerate(layers):
        qkv = np.zeros((7, 3, 1, 2))
        qkv[ONE, 0, 0] = 1
        qkv[marked, 1, 0, 0], qkv[PLACE, 1, 0, 1] = weight, c
        qkv[reads, 2, 0, 0] = 1
        out = np.zeros((1, 2, 7))
        out[0, 0, writes] = 1
        up, down = np.zeros((7, 3)), np.zeros((3, 7))
        up[writes] = 2, 2, 1
        down[:, writes] = 1, -1, -1
        arrays |= {
            f"layers.{i}.attention.qkv": qkv,
            f"layers.{i}.attention.out": out,
            f"layers.{i}.mlp.up": up,
            f"layers.{i}.mlp.up_bias": np.array([-0.5, -1.5, 0]),
            f"layers.{i}.mlp.down": down,
        }
    return from_arrays(config, arrays, fill=0)


@eqx.filter_jit
def _margins(
    model: Any, strings: Int[Array, "n T"]
) -> tuple[Float[Array, "n S"], Bool[Array, "n S"]]:
    """By how much the logit of the next token is above all others, and where it is a read's."""

    def one(string: Array) -> Array:
        logits, told = model.logits(model.embed(string[:-1])), string[1:, None]
        mine = jnp.take_along_axis(logits, told, axis=-1)[:, 0]
        others = jnp.where(jnp.arange(logits.shape[-1]) == told, -jnp.inf, logits)
        return mine - others.max(axis=-1)

    return jax.lax.map(one, strings, batch_size=64), strings[:, :-1] == READ


def _asked(
    model: Any, strings: Int[AnyArray, "n T"], precise: bool
) -> tuple[Float[np.ndarray, "n S"], Bool[np.ndarray, "n S"]]:
    """The margins in float64, or in float32, if model and strings are such."""
    for name in ("embed", "logits"):
        if isinstance(model, type) or not callable(getattr(model, name, None)):
            raise TypeError(f"model is a {type(model).__name__}; it must have embed and logits")
    if np.shape(strings)[1] < 2:
        raise ValueError("strings have one token; there must be at least two, to be read and told")
    with jax.enable_x64(precise):
        kind = np.float64 if precise else np.float32
        cast = jax.tree.map(
            lambda leaf: np.asarray(leaf, kind) if eqx.is_inexact_array_like(leaf) else leaf, model
        )
        margins, asked = _margins(cast, jnp.asarray(np.asarray(strings, np.int32)))
    return np.asarray(margins), np.asarray(asked)


@checked(strings=wholes(5, (None, None)))
def wrong_reads(model: Any, strings: Int[AnyArray, "n T"], precise: bool = True) -> tuple[int, int]:
    """How many reads of the strings a model gets wrong (its likeliest token of all is not what follows, or
    not the only one), and how many there are; in float64, or in float32."""
    margins, asked = _asked(model, strings, precise)
    return int((asked & ~(margins > 0)).sum()), int(asked.sum())


@checked(strings=wholes(5, (None, None)))
def least_margin(model: Any, strings: Int[AnyArray, "n T"], precise: bool = True) -> float:
    """The least margin of a read: the logit of the right token less the largest other one. A read is wrong if
    it is not positive; strings have a read."""
    margins, asked = _asked(model, strings, precise)
    if not asked.any():
        raise ValueError("strings have no read (a token 1 before the last); there must be one")
    return float(margins[asked].min())


def _certificate(model: Any) -> Any:
    def check(strings: Int[AnyArray, "n T"], precise: bool = True) -> Theorem:
        wrong, reads = wrong_reads(model, strings, precise)
        _check_language(np.asarray(strings))
        return Theorem.identity("", wrong, within=0, cases=reads, details={"wrong": wrong})

    return check


def _check_language(strings: Int[np.ndarray, "n T"]) -> None:
    """Refuse strings that are not of the language: what a network says of them decides nothing."""
    if strings.shape[1] % 2:
        raise ValueError(f"strings have {strings.shape[1]} tokens; pairs need an even number")
    instructions, symbols = strings[:, ::2], strings[:, 1::2]
    place = np.arange(instructions.shape[1])
    latest = np.maximum.accumulate(np.where(instructions == WRITE, place, -1), axis=1)
    written = np.take_along_axis(symbols, np.maximum(latest, 0), axis=1)
    faults = {
        "is no instruction (0, 1, 2) and symbol (3, 4)": (instructions >= SYMBOL) | (symbols < SYMBOL),
        "stands before the first write": latest < 0,
        "is a read that does not say what was written last":
            (instructions == READ) & (symbols != written),
    }  # fmt: skip
    for fault, found in faults.items():
        if found.any():
            row, pair = np.argwhere(found)[0]
            raise ValueError(f"strings[{row}] is not of the language; its pair {pair} {fault}")


def _one_bit(world: FlipFlop) -> Condition:
    fits = world.symbols == 2 and world.select == "last"
    reason = f"there are {world.symbols} symbols and reads say the {world.select} write"
    return Condition("one bit, last write", fits, {"symbols": world.symbols}, reason)


@checked(world=kind(FlipFlop))
def proposition_3(world: FlipFlop) -> Theorem:
    """A Transformer of two layers with one head each says every read of the world's strings: `certify` runs
    it on strings, `certify(strings=..., precise=True)`."""
    condition = _one_bit(world)
    if not condition.holds:
        return Theorem("Proposition 3", (condition,))
    model = two_layer_transformer(world.length)
    return Theorem("Proposition 3", (condition,), construction=model, check=_certificate(model))


@checked(world=kind(FlipFlop))
def proposition_3_linear(world: FlipFlop) -> Theorem:
    """The same with `c = 3 T`: scores fall linearly with distance, so that a geometric series leaks."""
    condition = _one_bit(world)
    if not condition.holds:
        return Theorem("Proposition 3, c = 3T", (condition,))
    model = two_layer_transformer(world.length, linear(world.length))
    return Theorem(
        "Proposition 3, c = 3T", (condition,), construction=model, check=_certificate(model)
    )


@checked(pairs=whole(0, 2**20))
def distant_read(pairs: int) -> Int[np.ndarray, " T"]:
    """`w 1 (i 0)^pairs r 1`."""
    return np.array([WRITE, SYMBOL + 1] + pairs * [IGNORE, SYMBOL] + [READ, SYMBOL + 1])


@checked(horizon=whole(4, 2**12))
def proposition_3_horizon(horizon: int) -> Theorem:
    """A network with positions `t / C` reads `w 1 (i 0)^m r` right iff the read is at most C after the bit.
    The error counts lengths up to `2 C` at which it is otherwise."""
    model = two_layer_transformer(horizon, linear(horizon))
    m = np.arange(horizon)
    ignored = np.array([WRITE, SYMBOL + 1] + horizon * [IGNORE, SYMBOL])
    strings = np.tile(ignored, (horizon, 1))  # what stands after the read cannot change it
    strings[m, 2 * m + 2], strings[m, 2 * m + 3] = READ, SYMBOL + 1
    with jax.enable_x64(True):
        margins, asked = _margins(model, jnp.asarray(strings))
        failed = np.asarray(asked & ~(margins > 0)).any(axis=1)
    beyond = 2 * m + 1 > horizon  # from the bit at 1 to the read at 2 + 2 m
    first = 2 * int(np.argmax(failed)) + 4 if failed.any() else 0
    return Theorem.identity(
        "Proposition 3, horizon",
        int((failed != beyond).sum()),
        within=0,
        cases=horizon,
        details={"first length": first},
    )
