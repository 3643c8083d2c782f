"""MLPs that compute tables, and heads that find a position: Lemmas 10 to 13 and Proposition 2.

The functions here make the parts; `lemmas.py` states what they do as theorems.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from ..checks import POSITIVE
from ..signatures import checked
from .layers import MLP, Head

Dims = Sequence[int] | Int[np.ndarray, " _"]


@checked(gap=POSITIVE)
def lookup_1d(
    points: Float[np.ndarray, " n"],
    values: Float[np.ndarray, "n o"],
    read: int,
    writes: Sequence[int],
    gap: float | None = None,
) -> MLP:
    """Lemma 10: `values[i]` wherever the input is within `gap / 4` of `points[i]`.

    With D = gap / 4 the indicator of a point is a trapezoid of four units,

        relu((x - x0 + 2D)/D) - relu((x - x0 + D)/D) - relu((x - x0 - D)/D) + relu((x - x0 - 2D)/D).

    `gap` is the least distance of two points unless it is given. Far from all points the output is 0.
    """
    gap = least_gap(points[:, None], gap)
    up, bias, indicators = _trapezoids([points], gap)
    return MLP(
        (up, csr_array(values.T @ indicators)),
        (bias, np.zeros(values.shape[1])),
        np.array([read]),
        _dims(writes, values),
    )


@checked(gap=POSITIVE)
def lookup(
    points: Float[np.ndarray, "n i"],
    values: Float[np.ndarray, "n o"],
    reads: Sequence[int],
    writes: Sequence[int],
    gap: float | None = None,
) -> MLP:
    """Lemma 11: `values[j]` wherever the input is within `gap / 4` of `points[j]` in every coordinate.

    Indicators of the values that occur in each coordinate, then one unit for every point, `relu(sum of
    its indicators - (d_in - 1))`. Points have to be `gap` apart in the largest coordinate only: where two
    values of one coordinate are closer, both indicators may be on, but some other coordinate tells.
    """
    gap = least_gap(points, gap)
    columns = [np.unique(points[:, i], return_inverse=True) for i in range(points.shape[1])]
    up, bias, indicators = _trapezoids([values_i for values_i, _ in columns], gap)
    starts = np.cumsum([0, *(len(values_i) for values_i, _ in columns)])
    n, d_in = points.shape
    chosen = np.stack(
        [start + which.reshape(-1) for start, (_, which) in zip(starts, columns, strict=False)]
    )
    select = csr_array(
        (np.ones(n * d_in), (np.tile(np.arange(n), d_in), chosen.reshape(-1))), (n, int(starts[-1]))
    )
    return MLP(
        (up, csr_array(select @ indicators), csr_array(values.T)),
        (bias, np.full(n, 1.0 - d_in), np.zeros(values.shape[1])),
        _reads(reads, d_in),
        _dims(writes, values),
    )


@checked(gap=POSITIVE)
def threshold(gap: float, read: int, write: int, *, printed: bool = False) -> MLP:
    """Lemma 12: `1[x > 0]` where |x| >= gap, up to a perturbation of gap / 2:

        relu((x + gap/2)/gap) - relu((x - gap/2)/gap).

    As printed the unit has gap for gap / 2 and 2 gap for gap, which allows for no perturbation.
    """
    slope = 1 / (2 * gap) if printed else 1 / gap
    return MLP(
        (csr_array([[slope], [slope]]), csr_array([[1.0, -1.0]])),
        (np.array([0.5, -0.5]), np.zeros(1)),
        np.array([read]),
        np.array([write]),
    )


def circle(count: int, positions: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 2"]:
    """Proposition 2: `(cos 2 pi t / count, sin 2 pi t / count)`, points on a circle of `count` places."""
    angles = 2 * np.pi * np.asarray(positions) / count
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def rotation(angle: float) -> Float[np.ndarray, "2 2"]:
    """`[[cos, sin], [-sin, cos]]`: rows p of the circle times it are p moved on by the angle."""
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def look_back(
    width: int,
    places: Dims,
    angle: float,
    sharpness: float,
    reads: Dims,
    writes: Dims,
    k: int | None = None,
) -> Head:
    """A head that reads from the position whose point on the circle lies `angle` before one's own.

    The dimensions `places` hold the point p_t; scores are `sharpness <p_t, p_i moved on by the angle>`.
    What the dimensions `reads` hold there is added to `writes`. Matrices have `k` columns (default: as many
    as needed).
    """
    places, reads, writes = np.asarray(places), np.asarray(reads), np.asarray(writes)
    k = max(2, len(reads)) if k is None else k
    W_Q, W_K, W_V = np.zeros((width, k)), np.zeros((width, k)), np.zeros((width, k))
    W_C = np.zeros((k, width))
    W_Q[places, :2] = np.sqrt(sharpness) * np.eye(2)
    W_K[places, :2] = np.sqrt(sharpness) * rotation(angle)
    W_V[reads, np.arange(len(reads))] = 1
    W_C[np.arange(len(writes)), writes] = 1
    return Head(W_Q, W_K, W_V, W_C)


def previous_position(
    width: int, length: int, largest: float, places: Dims, reads: Dims, writes: Dims
) -> Head:
    """A head that copies `reads` of position t - 1 to `writes`, for positions 0..length on the circle of
    N = length + 1 points; position 0 reads itself.

    With codes up to `largest` and sharpness `(N^2 / 8) ln(16 N largest)` what is copied is within 1/8.
    """
    N = length + 1
    sharpness = N**2 / 8 * np.log(16 * N * max(largest, 1))
    return look_back(width, places, 2 * np.pi / N, sharpness, reads, writes)


def least_gap(points: Float[np.ndarray, "n i"], gap: float | None = None) -> float:
    """The least distance of two points in the largest coordinate, or the given one if it is not larger."""
    if len(points) == 1:
        return 1.0 if gap is None else gap
    if gap is not None and gap <= 1 and _whole_and_different(points):
        return gap
    least = np.inf
    for start in range(0, len(points), 1024):  # of n^2 distances only some at once
        part = np.abs(points[start : start + 1024, None] - points[None]).max(axis=2)
        part[np.arange(len(part)), start + np.arange(len(part))] = np.inf
        least = min(least, float(part.min()))
    if least == 0:
        raise ValueError("two of the points are the same; a table needs points that differ")
    if gap is not None and gap > least * (1 + 1e-9):
        raise ValueError(f"gap is {gap:g}; two of the points are only {least:g} apart")
    return least if gap is None else gap


def _whole_and_different(points: Float[np.ndarray, "n i"]) -> bool:
    """Whether the points are whole numbers and none is there twice, so that they are at least 1 apart."""
    whole = bool((points == np.rint(points)).all())
    return whole and len(np.unique(points, axis=0)) == len(points)


def _trapezoids(
    columns: list[Float[np.ndarray, " _"]], gap: float
) -> tuple[csr_array, Float[np.ndarray, " h"], csr_array]:
    """Matrix and biases of four units for every value of every coordinate, and the matrix that makes
    indicators of them."""
    D = gap / 4
    which = np.repeat(np.arange(len(columns)), [len(c) for c in columns])
    points = np.concatenate(columns)
    n = len(points)
    up = csr_array(
        (np.full(4 * n, 1 / D), (np.arange(4 * n), np.repeat(which, 4))), (4 * n, len(columns))
    )
    bias = (-points[:, None] / D + np.array([2.0, 1.0, -1.0, -2.0])).reshape(-1)
    signs = np.tile([1.0, -1.0, -1.0, 1.0], n)
    return up, bias, csr_array((signs, (np.repeat(np.arange(n), 4), np.arange(4 * n))), (n, 4 * n))


def _reads(reads: Sequence[int], count: int) -> Int[np.ndarray, " i"]:
    if len(reads) != count:
        raise ValueError(f"reads has {len(reads)} dimensions; the points have {count} coordinates")
    return np.asarray(reads, np.int64)


def _dims(writes: Sequence[int], values: Float[np.ndarray, "n o"]) -> Int[np.ndarray, " o"]:
    if len(writes) != values.shape[1]:
        raise ValueError(f"writes has {len(writes)} dimensions; the values have {values.shape[1]}")
    return np.asarray(writes, np.int64)
