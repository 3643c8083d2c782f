"""Fourier analysis on the cube of signs: all coefficients by a fast transform, and correlations with the
monomials of one degree on and off a support."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..checks import whole
from ..signatures import checked

MOST_DIMENSIONS = 20


@checked(d=whole(1, MOST_DIMENSIONS))
def sign_cube(d: int) -> Float[np.ndarray, "n d"]:
    """All sign vectors; coordinate j of row r is -1 iff bit j of r is set."""
    return 1.0 - 2.0 * ((np.arange(2**d)[:, None] >> np.arange(d)) & 1)


@checked()
def walsh_hadamard(values: Float[np.ndarray, "*rows n"]) -> Float[np.ndarray, "*rows n"]:
    r"""`f^(U) = E f(x) prod_{j in U} x_j` for all U, from the values of f on `sign_cube(d)` along the
    last axis; the coefficient of U stands at the number whose bits are U."""
    size = values.shape[-1]
    d = size.bit_length() - 1
    if size != 2**d:
        raise ValueError(f"values has {size} entries in its last axis; it must be a power of two")
    found = np.array(values, np.float64)
    for j in range(d):
        pairs = found.reshape(*values.shape[:-1], -1, 2, 2**j)
        even, odd = pairs[..., 0, :], pairs[..., 1, :]
        found = np.stack([even + odd, even - odd], axis=-2).reshape(values.shape)
    return found / size


class Correlations(NamedTuple):
    """`|E f(x) prod_{i in U} x_i|` for sets U of one degree."""

    on_support: Float[np.ndarray, " a"]
    """U inside the support."""
    off_support: Float[np.ndarray, " b"]
    """U with at least one index outside."""

    @property
    def ratio(self) -> float:
        """Mean on the support over mean off it."""
        return float(self.on_support.mean() / self.off_support.mean())


def monomials(d: int, degree: int) -> Int[np.ndarray, "n degree"]:
    """All sets of `degree` of d coordinates."""
    return np.array(list(combinations(range(d), degree))).reshape(-1, degree)


def on_support(sets: Int[np.ndarray, "n degree"], support: Sequence[int]) -> np.ndarray:
    """Which sets lie inside the support."""
    return np.asarray(np.isin(sets, np.asarray(support)).all(axis=1))


@checked(degree=whole(1, 4))
def monomial_correlations(
    values: Float[np.ndarray, " n"],
    x: Float[np.ndarray, "n d"],
    support: Sequence[int],
    degree: int,
) -> Correlations:
    """Correlations of a function with all monomials of a degree, from its values at sign vectors: exactly on
    the whole cube (`sign_cube`), with a standard error of about `sqrt(E f^2 / n)` on n random ones."""
    d = x.shape[1]
    if degree > d or not set(support) <= set(range(d)):
        raise ValueError(
            f"degree is {degree} and support {list(support)}; x has the coordinates 0..{d - 1}"
        )
    found = all_correlations(values, x, degree)
    inside = on_support(monomials(d, degree), support)
    return Correlations(np.abs(found[inside]), np.abs(found[~inside]))


def all_correlations(
    values: Float[np.ndarray, " n"], x: Float[np.ndarray, "n d"], degree: int
) -> Float[np.ndarray, " sets"]:
    """`E f(x) prod_{i in U} x_i` for all U of a degree, in the order of `monomials`: pairs by one product of
    matrices, higher degrees by one for each set of the first coordinates."""
    n, d = x.shape
    weighted = values[:, None] * x
    if degree == 1:
        return weighted.mean(axis=0)
    if degree == 2:
        return (weighted.T @ x / n)[np.triu_indices(d, 1)]
    parts = []
    for first in combinations(range(d), degree - 2):
        rest = np.arange(first[-1] + 1, d)
        head = values * np.prod(x[:, list(first)], axis=1)
        square = (head[:, None] * x[:, rest]).T @ x[:, rest] / n
        parts.append(square[np.triu_indices(len(rest), 1)])
    return np.concatenate(parts)
