"""What the gadgets do, as statements that are run: Lemmas 10 to 13 and Proposition 2."""

from math import exp, pi
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from ..checks import POSITIVE, reals, whole
from ..signatures import checked
from ..theorem import Theorem
from .gadgets import least_gap, lookup, lookup_1d, threshold
from .layers import MLP

SHIFTS = reals((None,), least=-1, most=1)


@checked(shifts=SHIFTS)
def lemma_10(
    points: Float[np.ndarray, " n"],
    values: Float[np.ndarray, "n o"],
    shifts: Float[np.ndarray, " shifts"],
) -> Theorem:
    """The 2-layer network of a table gives `values[i]` at `points[i] + xi`, for `xi = shifts gap / 4`."""
    built = lookup_1d(points, values, 0, list(range(values.shape[1])))
    asked = points[:, None] + shifts * least_gap(points[:, None]) / 4
    return _table("Lemma 10", built, asked.reshape(1, -1), values, len(shifts))


@checked()
def lemma_10_sizes(points: Float[np.ndarray, " n"], values: Float[np.ndarray, "n o"]) -> Theorem:
    """`d' = 4n`, `|W_1| <= 4/gap`, `|b_1| <= 4 B_x/gap + 2`, `|W_2| <= B_y`."""
    built = lookup_1d(points, values, 0, list(range(values.shape[1])))
    gap = least_gap(points[:, None])
    return _sizes(
        "Lemma 10, sizes",
        {
            "d'": (built.widths[0], 4 * len(points)),
            "W_1": (built.weights[0], 4 / gap),
            "b_1": (built.biases[0], 4 * _norm(points) / gap + 2),
            "W_2": (built.weights[1], _norm(values)),
        },
    )


@checked(shifts=SHIFTS)
def lemma_11(
    points: Float[np.ndarray, "n i"],
    values: Float[np.ndarray, "n o"],
    shifts: Float[np.ndarray, " shifts"],
) -> Theorem:
    """The 3-layer network of a table gives `values[j]` at `points[j] + xi` with `|xi|_inf <= gap / 4`: every
    point is moved by each of the shifts, in directions that differ from coordinate to coordinate."""
    built = lookup(points, values, list(range(points.shape[1])), list(range(values.shape[1])))
    signs = np.where(np.arange(points.shape[1]) % 2, -1.0, 1.0)
    moved = shifts[:, None] * signs * least_gap(points) / 4
    asked = points[:, None] + moved[None]
    return _table("Lemma 11", built, asked.reshape(-1, points.shape[1]).T, values, len(shifts))


@checked()
def lemma_11_sizes(points: Float[np.ndarray, "n i"], values: Float[np.ndarray, "n o"]) -> Theorem:
    """`d_1 = 4 sum_i |X_i|`, `d_2 = n`, and the norms of Lemma 10 with `|W_2| <= 1`, `|b_2| <= d_in`,
    `|W_3| <= B_y`."""
    d_in = points.shape[1]
    built = lookup(points, values, list(range(d_in)), list(range(values.shape[1])))
    gap = least_gap(points)
    distinct = sum(len(np.unique(column)) for column in points.T)
    return _sizes(
        "Lemma 11, sizes",
        {
            "d_1": (built.widths[0], 4 * distinct),
            "d_2": (built.widths[1], len(points)),
            "W_1": (built.weights[0], 4 / gap),
            "b_1": (built.biases[0], 4 * _norm(points) / gap + 2),
            "W_2": (built.weights[1], 1.0),
            "b_2": (built.biases[1], d_in),
            "W_3": (built.weights[2], _norm(values)),
        },
    )


@checked(gap=POSITIVE, shifts=SHIFTS)
def lemma_12(
    gap: float,
    points: Float[np.ndarray, " n"],
    shifts: Float[np.ndarray, " shifts"],
    *,
    printed: bool = False,
) -> Theorem:
    """Two units give `1[x > 0]` at `x + xi`, for points with |x| >= gap and `xi = shifts gap / 4`; with
    `printed`, the units as they stand in the source."""
    inside = np.abs(points) < gap * (1 - 1e-12)
    if inside.any():
        raise ValueError(
            f"points[{int(np.argmax(inside))}] is {points[inside][0]:g}; every point must be at least "
            f"gap = {gap:g} from 0"
        )
    built = threshold(gap, 0, 0, printed=printed)
    asked = points[:, None] + shifts * gap / 4
    name = "Lemma 12 as printed" if printed else "Lemma 12"
    wanted = (points > 0).astype(float)[:, None]
    return _table(name, built, asked.reshape(1, -1), wanted, len(shifts))


@checked(gap=POSITIVE)
def lemma_12_sizes(gap: float) -> Theorem:
    """`d' = 2`, `|W_1| <= 1/gap`, `|b_1| <= 1/2`, `|W_2| <= 1`."""
    built = threshold(gap, 0, 0)
    return _sizes(
        "Lemma 12, sizes",
        {
            "d'": (built.widths[0], 2),
            "W_1": (built.weights[0], 1 / gap),
            "b_1": (built.biases[0], 0.5),
            "W_2": (built.weights[1], 1.0),
        },
    )


@checked()
def lemma_13(scores: Float[np.ndarray, " T"]) -> Theorem:
    """`|softmax(z) - e|_1 <= 2 T exp(-gamma)`, where all other scores are at most the largest less gamma."""
    z = scores - scores.max()
    best = int(np.argmax(z))
    others = np.delete(z, best)
    gamma = -float(others.max()) if len(others) else np.inf
    weights = softmax(z)
    distance = float(weights.sum() - weights[best] + (1 - weights[best]))
    bound = 2 * len(z) * exp(-gamma)
    ratio = distance / bound if bound > 0 else 0.0
    return Theorem.inequality(
        "Lemma 13", bound - distance, details={"ratio": ratio, "gamma": gamma, "length": len(z)}
    )


@checked(count=whole(2, 2**20))
def proposition_2(count: int, *, printed: bool = False) -> Theorem:
    """Of `count` = N points of a circle any two have `<p_t, p_t'> <= 1 - 8/N^2`. As printed:
    `|<p_t, p_t'>| <= 1 - 2 pi^2/N^2`."""
    products = np.cos(2 * pi * np.arange(1, count) / count)
    if printed:
        slack = 1 - 2 * pi**2 / count**2 - np.abs(products).max()
        return Theorem.inequality("Proposition 2 as printed", slack, details={"points": count})
    return Theorem.inequality(
        "Proposition 2", 1 - 8 / count**2 - products.max(), details={"points": count}
    )


@checked(count=whole(2, 2**20))
def proposition_2_constant(count: int) -> Theorem:
    """How much larger than 8 the constant c may be in `<p_t, p_t'> <= 1 - c/N^2`: `N^2 (1 - cos 2 pi/N) - 8`.
    That it is not negative is Proposition 2; that it is 0 for N = 2 makes 8 the best constant."""
    room = count**2 * (1 - np.cos(2 * pi / count)) - 8
    return Theorem.inequality("Proposition 2, constant", room, details={"room": float(room)})


# -- measuring --------------------------------------------------------------------------------


def _table(
    name: str,
    built: MLP,
    asked: Float[np.ndarray, "i asked"],
    values: Float[np.ndarray, "n o"],
    shifts: int,
) -> Theorem:
    """The largest error of an MLP at perturbed points; columns of `asked` go through the shifts of each."""
    error = np.abs(built(asked).T - np.repeat(values, shifts, axis=0)).max()
    return Theorem.identity(name, float(error), cases=asked.shape[1])


def _sizes(name: str, pairs: dict[str, tuple]) -> Theorem:
    """Sizes and norms are at most those claimed; the slack is the least of `1 - measured / claimed`."""
    shares = {key: _share(measured, claimed) for key, (measured, claimed) in pairs.items()}
    tightest = max(shares, key=lambda key: shares[key])
    return Theorem.inequality(
        name, 1 - shares[tightest], cases=len(shares), details={"tightest": tightest}
    )


def _share(measured: Any, claimed: float) -> float:
    size = float(measured) if isinstance(measured, int | float) else _norm(measured)
    return size / claimed if claimed else (0.0 if size == 0 else np.inf)


def _norm(array: Any) -> float:
    """The largest absolute entry, of a dense or a sparse array."""
    values = array if isinstance(array, np.ndarray) else array.data
    return float(np.abs(values).max(initial=0.0))
