"""How different, and how stack-like, attention patterns are, and what they look like.

Patterns are arrays [query, key], as `TransformerTrace.attention` gives them for every layer and head.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.worlds import Dyck
from minicosm.worlds.arrays import AnyArray, check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_DRAWN = 2000  # positions
MAX_LENGTH = 10**7
MAX_NAMED = 60  # positions that are named at the axes


def variation(
    first: Float[AnyArray, "*batch T S"], second: Float[AnyArray, "*batch T S"]
) -> Float[np.ndarray, "*batch"]:
    """The squared Frobenius distance `|A_1 - A_2|_F^2`."""
    one, other = _pattern("first", first), _pattern("second", second)
    if one.shape != other.shape:
        raise ValueError(
            f"first has shape {one.shape} and second {other.shape}; they must be alike"
        )
    gap = one - other
    return np.asarray(np.sum(gap**2, axis=(-2, -1)))


def mean_variation(patterns: Float[AnyArray, "seeds *batch T S"]) -> Float[np.ndarray, "*batch"]:
    """The mean of `variation` over all n (n - 1) / 2 pairs of seeds.

    It equals `2 / (n - 1) sum_i |A_i - mean A|_F^2`, twice the unbiased variance of all entries.
    """
    patterns = _seeds(patterns)
    if len(patterns) < 2:
        raise ValueError("patterns hold that of one seed; a variation needs at least 2")
    gaps = patterns - patterns.mean(axis=0)
    return np.asarray(2 / (len(patterns) - 1) * np.sum(gaps**2, axis=(0, -2, -1)))


def pairwise_variation(
    patterns: Float[AnyArray, "seeds *batch T S"],
) -> Float[np.ndarray, "*batch seeds seeds"]:
    """`variation` of every two seeds, from the inner products of their patterns."""
    patterns = _seeds(patterns)
    flat = np.moveaxis(patterns.reshape(*patterns.shape[:-2], -1), 0, -2)
    inner = flat @ np.swapaxes(flat, -1, -2)
    own = np.diagonal(inner, axis1=-2, axis2=-1)
    return np.maximum(own[..., :, None] + own[..., None, :] - 2 * inner, 0)


def random_variation(length: int) -> float:
    """The mean variation of two independent causal patterns whose rows are uniform on the simplex.

    Row i has i entries with `E |a - b|^2 = 2 (i - 1) / (i (i + 1))`, so with H the harmonic numbers
    the sum over i = 1..N is `2 [2 (H_{N+1} - 1) - H_N]`.
    """
    if check_count("length", length) > MAX_LENGTH:
        raise ValueError(f"length is {length}; it must be at most {MAX_LENGTH}")
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
    patterns, tokens = _seeds(patterns), np.asarray(tokens)
    if not isinstance(world, Dyck):
        raise TypeError(f"world is a {type(world).__name__}; it must be a Dyck world")
    if tokens.ndim != 2 or tokens.dtype.kind not in "iu" or 0 in tokens.shape:
        raise ValueError(
            f"tokens have shape {tokens.shape} and dtype {tokens.dtype}; "
            "they must be whole numbers of shape (n, N)"
        )
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


def draw_attention(
    pattern: Float[AnyArray, "T S"],
    tokens: Sequence[Any] | None = None,
    *,
    keys: Sequence[Any] | None = None,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw one attention map: a row for every query, darker where it attends more; returns the axes.

    `tokens` name the positions, and `keys` those that are attended to if they are others (the source
    of a translation). `ax.figure.savefig("map.png")` saves it. Needs Matplotlib.
    """
    values = _pattern("pattern", pattern, drawn=True)
    if values.ndim != 2:
        raise ValueError(
            f"pattern has shape {values.shape}; give one map of shape (queries, keys), "
            "such as trace.attention[layer, head]"
        )
    if max(values.shape) > MAX_DRAWN:
        raise ValueError(
            f"pattern has shape {values.shape}; at most {MAX_DRAWN} positions are drawn"
        )
    names = _names("tokens", tokens, values.shape[0])
    if keys is None and values.shape[0] == values.shape[1]:
        keys = tokens
    columns = _names("keys", keys, values.shape[1])
    if not isinstance(title, str):
        raise TypeError(f"title is {title!r}; it must be text")
    if ax is None:
        from matplotlib.figure import Figure

        side = float(np.clip(0.28 * max(values.shape), 3, 12))
        ax = Figure(figsize=(side, side), layout="constrained").subplots()
    elif not hasattr(ax, "imshow"):
        raise TypeError(f"ax is {ax!r}; it must be Matplotlib axes, or None for new ones")
    image = ax.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="equal", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="attention", shrink=0.7)
    for axis, labels in ((ax.yaxis, names), (ax.xaxis, columns)):
        if labels is not None and len(labels) <= MAX_NAMED:
            axis.set_ticks(np.arange(len(labels)), labels)
    ax.set(xlabel="attended position", ylabel="query", title=title)
    return ax


def _seeds(patterns: Any) -> Float[np.ndarray, "seeds *batch T S"]:
    values = _pattern("patterns", patterns)
    if values.ndim < 3:
        raise ValueError(
            f"patterns have shape {values.shape}; they must have shape (seeds, .., queries, keys)"
        )
    return values


def _pattern(name: str, value: Any, *, drawn: bool = False) -> Float[np.ndarray, "*batch T S"]:
    """Patterns as a finite array of at least two axes; to be `drawn`, with entries in [0, 1]."""
    try:
        values = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} is no rectangular array of numbers") from None
    if values.dtype.kind not in "fiu" or values.dtype.itemsize > 8:
        raise TypeError(f"{name} holds {values.dtype}; it must be an array of real numbers")
    if values.ndim < 2 or 0 in values.shape:
        raise ValueError(f"{name} has shape {values.shape}; it must have shape (.., queries, keys)")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has an entry that is not finite; all must be")
    if drawn and not ((values >= 0) & (values <= 1 + 1e-6)).all():
        raise ValueError(f"{name} has entries outside [0, 1]; attention weights are probabilities")
    return values


def _names(name: str, given: Any, count: int) -> list[str] | None:
    if given is None:
        return None
    if not isinstance(given, str | list | tuple | np.ndarray | jax.Array) or np.ndim(given) > 1:
        raise TypeError(f"{name} is {given!r}; it must be a sequence of names or None")
    if np.ndim(given) == 0 and not isinstance(given, str):
        raise TypeError(f"{name} is {given!r}; it must be a sequence of names or None")
    if len(given) != count:
        raise ValueError(f"{name} has {len(given)} names; the pattern has {count} positions there")
    return [str(one) for one in given]
