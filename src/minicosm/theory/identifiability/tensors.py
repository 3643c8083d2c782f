"""Three-way tensors as sums of rank-one terms: when the terms are unique, and how to find them."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import reals, whole
from ..linear_algebra import RANK_TOLERANCE, independent_columns
from ..signatures import checked
from ..theorem import Condition

MOST_COLUMNS = 12  # all subsets are looked at
DRAWS = 20
ILL_CONDITIONED = 1e12
REAL = 1e-8  # relative size of an imaginary part that is rounding


class Factors(NamedTuple):
    """`tensor[a, b, c] = sum_i A[a, i] B[b, i] C[c, i]`, up to the residual.

    The columns of B and C have length one and free signs; A has what remains.
    """

    A: Float[np.ndarray, "m r"]
    B: Float[np.ndarray, "n r"]
    C: Float[np.ndarray, "p r"]
    residual: float  # the largest entry of the difference
    condition: float  # of the eigenvectors that were found, divided by their relative eigengap


@checked()
def kruskal_rank(matrix: Float[np.ndarray, "m n"], tolerance: float = RANK_TOLERANCE) -> int:
    """The largest r such that every r columns are independent, by looking at all sets of columns."""
    columns = matrix.shape[1]
    if columns > MOST_COLUMNS:
        raise ValueError(f"matrix has {columns} columns; at most {MOST_COLUMNS} can be looked at")
    rank = 0
    for size in range(1, min(matrix.shape) + 1):
        for chosen in combinations(range(columns), size):
            part = matrix[:, chosen]
            if not part.any() or not independent_columns(part, tolerance):
                return rank
        rank = size
    return rank


@checked()
def kruskal_condition(
    A: Float[np.ndarray, "m r"], B: Float[np.ndarray, "n r"], C: Float[np.ndarray, "p r"]
) -> Condition:
    """Kruskal's condition `k_A + k_B + k_C >= 2 r + 2` (Proposition 1), under which A, B and C are determined
    by their tensor up to a common permutation and scaling of columns. One term is always unique."""
    ranks = [kruskal_rank(each) for each in (A, B, C)]
    r, total = A.shape[1], sum(ranks)
    fine = total >= 2 * r + 2 or (r == 1 and 0 not in ranks)
    return Condition(
        "Kruskal's condition",
        fine,
        {"k_A": ranks[0], "k_B": ranks[1], "k_C": ranks[2], "rank": r},
        reason=f"the Kruskal ranks {ranks} sum to {total}, less than {2 * r + 2}",
    )


@checked(rank=whole(1, 64), tensor=reals((None, None, None)), seed=whole(0, 2**62))
def jennrich(tensor: Float[np.ndarray, "m n p"], rank: int, *, seed: int = 0) -> Factors:
    """The rank-one terms of a tensor by simultaneous diagonalisation (Harshman 1970).

    Slices are `W[a] = B diag(A[a]) C^T`. Projected on the leading singular vectors, two random mixtures of
    them have the quotient `B diag(.) B^-1`, whose eigenvectors are the columns of B. Of 20 mixtures, drawn
    from `seed`, the one with the best separated eigenvalues is taken. B and C must have `rank` independent
    columns, and no two columns of A may be parallel.
    """
    m, n, p = tensor.shape
    if rank > min(n, p):
        raise ValueError(
            f"rank is {rank}; slices of shape {(n, p)} have at most {min(n, p)} independent terms"
        )
    left, right = _leading(tensor, 1, rank), _leading(tensor, 2, rank)
    slices = np.einsum("abc,bi,cj->aij", tensor, left, right)
    rng, best, found = np.random.default_rng(seed), 0.0, None
    for _ in range(DRAWS):
        one, other = np.einsum("sa,aij->sij", rng.normal(size=(2, m)), slices)
        if not np.isfinite(c := np.linalg.cond(other)) or c > ILL_CONDITIONED:
            continue
        values, vectors = np.linalg.eig(one @ np.linalg.inv(other))
        score = _gap(values) / np.linalg.cond(vectors)
        if np.abs(values.imag).max() > REAL * np.abs(values).max():
            score *= 0.01  # noise: a pair of complex eigenvalues stands for two close real ones
        if score > best:
            best, found = score, vectors
    if found is None or best < 1 / ILL_CONDITIONED:
        raise ValueError(
            f"tensor has no {rank} rank-one terms that can be told apart: all mixtures of its slices are "
            "singular, or have equal eigenvalues"
        )
    B = left @ _real_columns(found)
    # Row i of B^+ W[a] is A[a, i] C[:, i]: a matrix of rank one over a and c.
    rows = np.einsum("ib,abc->iac", np.linalg.pinv(B), tensor)
    A, C = np.empty((m, rank)), np.empty((p, rank))
    for i, row in enumerate(rows):
        U, s, Vt = np.linalg.svd(row, full_matrices=False)
        A[:, i], C[:, i] = s[0] * U[:, 0], Vt[0]
    residual = float(np.abs(tensor - np.einsum("ai,bi,ci->abc", A, B, C)).max())
    return Factors(A, B, C, residual, float(1 / best))


def _leading(tensor: np.ndarray, axis: int, rank: int) -> Float[np.ndarray, "n r"]:
    """The leading left singular vectors of the unfolding along an axis."""
    unfolded = np.moveaxis(tensor, axis, 0).reshape(tensor.shape[axis], -1)
    return np.linalg.svd(unfolded, full_matrices=False)[0][:, :rank]


def _gap(values: np.ndarray) -> float:
    """The least distance between two eigenvalues, relative to the largest."""
    top = np.abs(values).max()
    if len(values) == 1 or top == 0:
        return float(top > 0)
    apart = np.abs(values[:, None] - values[None]) + np.diag(np.full(len(values), np.inf))
    return float(apart.min() / top)


def _real_columns(vectors: np.ndarray) -> np.ndarray:
    """Real columns of length one: of a complex pair, its real and its imaginary part."""
    real = vectors.real.copy()
    for i in range(1, real.shape[1]):
        if (
            np.abs(vectors[:, i] - vectors[:, i - 1].conj()).max() < 1e-14
            and np.iscomplex(vectors[:, i]).any()
        ):
            real[:, i] = vectors[:, i].imag
    return real / np.maximum(np.linalg.norm(real, axis=0), 1e-300)
