"""Rank decisions that show the singular values they were made on."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from minicosm.adaptation.checks import check_real, check_reals

RANK_TOLERANCE = 1e-10
DEGENERATE = 1e-3


class RankTest(NamedTuple):
    """Rank at a relative tolerance, with the singular values it was decided on."""

    rank: int
    singular_values: Float[np.ndarray, " k"]
    condition: float  # largest / smallest singular value; inf when columns are dependent

    @property
    def degenerate(self) -> bool:
        """Full rank in theory but with sigma_min / sigma_max below 1e-3."""
        return self.condition > 1 / DEGENERATE


def rank_test(matrix: Float[np.ndarray, "m n"], tolerance: float = RANK_TOLERANCE) -> RankTest:
    """The number of singular values above `tolerance` times the largest."""
    matrix = np.asarray(check_reals("matrix", matrix), np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"matrix has shape {matrix.shape}; it must have shape (m, n)")
    check_real("tolerance", tolerance, least=0)
    values = np.linalg.svd(matrix, compute_uv=False)
    top = values[0] if values.size else 0.0
    rank = int((values > tolerance * top).sum()) if top > 0 else 0
    full = rank == matrix.shape[1]
    return RankTest(rank, values, float(top / values[-1]) if full and rank else float("inf"))


def independent_columns(
    matrix: Float[np.ndarray, "m n"], tolerance: float = RANK_TOLERANCE
) -> bool:
    """Whether the columns are linearly independent (no columns: yes)."""
    return matrix.shape[1] == 0 or rank_test(matrix, tolerance).rank == matrix.shape[1]


def coloops(matrix: Float[np.ndarray, "m n"], tolerance: float = 1e-9) -> Bool[np.ndarray, " n"]:
    """Which columns lie outside the span of all the others: `(I - C^+ C)_kk = 0`."""
    matrix = np.asarray(matrix, np.float64)
    projector = np.linalg.pinv(matrix, rcond=RANK_TOLERANCE) @ matrix
    return np.abs(1 - np.diag(projector)) < tolerance
