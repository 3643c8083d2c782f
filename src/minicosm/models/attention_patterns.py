"""How different, and how stack-like, attention patterns are.

Patterns are arrays [query, key], as `TransformerTrace.attention` gives them for every layer and head.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.worlds import Dyck
from minicosm.worlds.arrays import AnyArray, check_count


def variation(
    first: Float[AnyArray, "*batch T S"], second: Float[AnyArray, "*batch T S"]
) -> Float[np.ndarray, "*batch"]:
    """The squared Frobenius distance `|A_1 - A_2|_F^2`."""
    gap = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    return np.asarray(np.sum(gap**2, axis=(-2, -1)))


def mean_variation(patterns: Float[AnyArray, "seeds *batch T S"]) -> Float[np.ndarray, "*batch"]:
    """The mean of `variation` over all n (n - 1) / 2 pairs of seeds.

    It equals `2 / (n - 1) sum_i |A_i - mean A|_F^2`, twice the unbiased variance of all entries.
    """
    patterns = np.asarray(patterns, np.float64)
    if len(patterns) < 2:
        raise ValueError(f"there is {len(patterns)} pattern; a variation needs at least 2")
    gaps = patterns - patterns.mean(axis=0)
    return np.asarray(2 / (len(patterns) - 1) * np.sum(gaps**2, axis=(0, -2, -1)))


def pairwise_variation(
    patterns: Float[AnyArray, "seeds *batch T S"],
) -> Float[np.ndarray, "*batch seeds seeds"]:
    """`variation` of every two seeds, from the inner products of their patterns."""
    patterns = np.asarray(patterns, np.float64)
    flat = np.moveaxis(patterns.reshape(*patterns.shape[:-2], -1), 0, -2)
    inner = flat @ np.swapaxes(flat, -1, -2)
    own = np.diagonal(inner, axis1=-2, axis2=-1)
    return np.maximum(own[..., :, None] + own[..., None, :] - 2 * inner, 0)


def random_variation(length: int) -> float:
    """The mean variation of two independent causal patterns whose rows are uniform on the simplex.

    Row i has i entries with `E |a - b|^2 = 2 (i - 1) / (i (i + 1))`, so with H the harmonic numbers
    the sum over i = 1..N is `2 [2 (H_{N+1} - 1) - H_N]`.
    """
    check_count("length", length)
    harmonic = float(np.sum(1 / np.arange(1, length + 1)))
    return 2 * (2 * (harmonic + 1 / (length + 1) - 1) - harmonic)


class StackScore(NamedTuple):
    """How much closed brackets of positive depth look at the last bracket still open."""

    mean: Float[np.ndarray, "*batch"]  # attention on it; NaN if there is no such query
    rate: Float[np.ndarray, "*batch"]  # how often it has the most attention
    queries: int


@eqx.filter_jit
def _tops(world: Dyck, tokens: Int[AnyArray, "n N"]) -> tuple[Int[Array, "n N"], Bool[Array, " n"]]:
    return jax.vmap(world.stack_tops)(tokens), jax.vmap(world.is_prefix)(tokens)


def stack_score(
    patterns: Float[AnyArray, "*batch n T T"], world: Dyck, tokens: Int[AnyArray, "n N"]
) -> StackScore:
    """The score of patterns over n strings, which may be padded, over all their queries together.

    A pattern is over its string's tokens, or over a start token, which takes part, and them.
    """
    patterns, tokens = np.asarray(patterns), np.asarray(tokens)
    n, length = tokens.shape
    start = patterns.shape[-1] - length
    if patterns.shape[-3] != n or start not in (0, 1):
        raise ValueError(
            f"the patterns have shape {patterns.shape}; {n} strings of {length} tokens need {n} "
            f"patterns with as many rows and columns, or one more with a start token"
        )
    tops, legal = map(np.asarray, _tops(world, tokens))
    if not legal.all():
        raise ValueError(
            f"string {int(legal.argmin())} is no prefix of balanced brackets of this world"
        )
    string, query = np.nonzero((tokens < world.vocab) & (tokens % 2 == 1) & (tops >= 0))
    rows = patterns[..., string, query + start, :]
    wanted = tops[string, query] + start
    if not len(wanted):
        nothing = np.full(patterns.shape[:-3], np.nan)
        return StackScore(nothing, nothing, 0)
    on_top = rows[..., np.arange(len(wanted)), wanted]
    return StackScore(
        on_top.mean(axis=-1), (rows.argmax(axis=-1) == wanted).mean(axis=-1), len(wanted)
    )
