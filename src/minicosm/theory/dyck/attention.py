"""How different, and how stack-like, attention patterns are.

Patterns are arrays [query, key], as `Trace.attention` gives them for every layer and head.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
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


def random_variation(length: int) -> float:
    """The mean variation of two independent causal patterns whose rows are uniform on the simplex.

    Row i has i entries with `E |a - b|^2 = 2 (i - 1) / (i (i + 1))`, so with H the harmonic numbers
    the sum over i = 1..N is `2 [2 (H_{N+1} - 1) - H_N]`.
    """
    check_count("length", length)
    harmonic = float(np.sum(1 / np.arange(1, length + 1)))
    return 2 * (2 * (harmonic + 1 / (length + 1) - 1) - harmonic)


@eqx.filter_jit
def _tops(world: Dyck, tokens: Int[Array, " N"]) -> tuple[Int[Array, " N"], Bool[Array, ""]]:
    return world.stack_tops(tokens), world.is_prefix(tokens)


class StackScore(NamedTuple):
    """How much closed brackets of positive depth look at the last bracket still open."""

    mean: float  # attention on it; NaN if there is no such query
    rate: float  # how often it has the most attention
    queries: int


def stack_score(
    pattern: Float[AnyArray, "T S"], world: Dyck, tokens: Int[AnyArray, " N"]
) -> StackScore:
    """The score of one pattern over a string, which may be padded.

    The pattern is over the string's tokens, or over a start token and them.
    """
    pattern = np.asarray(pattern, np.float64)
    start = len(pattern) - len(tokens)
    if pattern.shape not in ((len(tokens),) * 2, (len(tokens) + 1,) * 2):
        raise ValueError(
            f"the pattern has shape {pattern.shape}; a string of {len(tokens)} tokens needs as many "
            "rows and columns, or one more with a start token"
        )
    tops, legal = map(np.asarray, _tops(world, jnp.asarray(tokens)))
    if not legal:
        raise ValueError("the string is no prefix of balanced brackets of this world")
    given = np.asarray(tokens)
    queries = np.flatnonzero((given < world.vocab) & (given % 2 == 1) & (tops >= 0))
    if not len(queries):
        return StackScore(float("nan"), float("nan"), 0)
    rows, wanted = pattern[queries + start], tops[queries] + start
    on_top = rows[np.arange(len(queries)), wanted]
    return StackScore(
        float(on_top.mean()), float(np.mean(rows.argmax(axis=1) == wanted)), len(queries)
    )
