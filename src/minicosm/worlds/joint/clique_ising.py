"""A clique of spins with one coupling, and free spins: two modes, at any size."""

from typing import Any, NamedTuple, Self

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float
from scipy.special import gammaln, logsumexp

from ..arrays import check_count, check_length, check_number, check_reals, short
from .ising import Ising, spins_of


class CliqueIsing(eqx.Module):
    """Spins 0..c-1 form a clique of coupling J > 0, the others are alone (Eq. 4.6, every pair once):

    `p(x) ∝ exp(sum_i h_i x_i + J sum_{i<j<c} x_i x_j)`, with `h_G = sum_{i<c} h_i >= 0`.
    """

    h: Float[np.ndarray, " N"]
    coupling: float = eqx.field(static=True)
    clique: int = eqx.field(static=True)

    def __init__(self, length: int, clique: int, coupling: float, h: Any):
        """`h` is one field for all spins, or a field per spin."""
        _check_clique(length, clique, coupling)
        fields = np.asarray(check_reals("h", h), np.float64)
        fields = np.full(length, fields) if fields.ndim == 0 else fields
        if fields.shape != (length,):
            raise ValueError(f"h has shape {fields.shape}; {length} spins need ({length},)")
        if fields[:clique].sum() < 0:
            raise ValueError(
                "the fields h of the clique have a negative sum; it must be positive or zero, not negative"
            )
        self.h, self.coupling, self.clique = fields, float(coupling), int(clique)

    @property
    def length(self) -> int:
        return self.h.size

    @property
    def clique_field(self) -> float:
        """`h_G`, the sum of the clique's fields."""
        return float(self.h[: self.clique].sum())

    @property
    def slack(self) -> float:
        """`J_0 = J - |h|_1`; Assumption 4.1.5 needs it to be positive."""
        return float(self.coupling - np.abs(self.h).sum())

    def ising(self) -> Ising:
        """The same law as an `Ising` world."""
        inside = np.arange(self.length) < self.clique
        J = self.coupling * np.outer(inside, inside) * (1 - np.eye(self.length))
        return Ising(self.h, J)

    def mode(self, sign: int) -> Bool[np.ndarray, " states"]:
        """The configurations of the region `R_1` or `R_-1` (Eqs. 4.7, 4.8): clique spins all `sign`."""
        if isinstance(sign, bool) or not isinstance(sign, int | np.integer) or sign not in (-1, 1):
            raise ValueError(f"sign is {short(sign)}; it must be 1 or -1")
        return (spins_of(self.length)[:, : self.clique] == sign).all(axis=1)

    def lumped(self) -> "LumpedClique":
        """The same law through the number of + spins in the clique; its fields must be equal."""
        inside = self.h[: self.clique]
        if np.ptp(inside) > 0:
            raise ValueError(
                f"the clique's fields go from {inside.min():g} to {inside.max():g}; they must be "
                "equal for the number of + spins to be enough"
            )
        return LumpedClique(self.length, self.clique, self.coupling, float(inside[0]))


class _Lumped(NamedTuple):
    length: int
    clique: int
    coupling: float
    field: float


class LumpedClique(_Lumped):
    """A clique of equal spins; the state is s = 0..c, its number of + spins."""

    __slots__ = ()

    def __new__(cls, length: int, clique: int, coupling: float, field: float) -> Self:
        _check_clique(length, clique, coupling)
        check_number("field", field)
        return super().__new__(cls, length, clique, coupling, field)

    @property
    def energies(self) -> Float[np.ndarray, " levels"]:
        """`E(s) = J ((2s - c)^2 - c) / 2 + h (2s - c)` of one configuration with s + spins."""
        M = 2.0 * np.arange(self.clique + 1) - self.clique
        return self.coupling * (M**2 - self.clique) / 2 + self.field * M

    @property
    def log_law(self) -> Float[np.ndarray, " levels"]:
        """`log P(s)`, with `P(s) ∝ binom(c, s) exp(E(s))`."""
        weights = log_binomial(self.clique, np.arange(self.clique + 1)) + self.energies
        return weights - logsumexp(weights)

    @property
    def log_partition(self) -> float:
        """`log sum_x exp(energy)` over the clique's configurations."""
        return float(
            logsumexp(log_binomial(self.clique, np.arange(self.clique + 1)) + self.energies)
        )

    def update_logits(self) -> tuple[Float[np.ndarray, " levels"], Float[np.ndarray, " levels"]]:
        """Log odds of + given the other spins, of a spin that is + and of one that is -, for every s:
        `2 (h + J (M - 1))` and `2 (h + J (M + 1))` with `M = 2s - c`."""
        M = 2.0 * np.arange(self.clique + 1) - self.clique
        return (
            2 * (self.field + self.coupling * (M - 1)),
            2 * (self.field + self.coupling * (M + 1)),
        )


def _check_clique(length: Any, clique: Any, coupling: Any) -> None:
    check_length(length)
    if not 2 <= check_count("clique", clique) <= length:
        raise ValueError(f"clique is {clique}; it must be in 2..{length}, the number of spins")
    if check_number("coupling", coupling) <= 0:
        raise ValueError(f"coupling is {coupling}; the clique needs a positive coupling")


def log_binomial(n: Any, k: Any) -> Float[np.ndarray, "*shape"]:
    """`log binom(n, k)`, -inf outside 0..n."""
    n, k = np.broadcast_arrays(np.asarray(n, np.float64), np.asarray(k, np.float64))
    inside = (k >= 0) & (k <= n)
    k = np.where(inside, k, 0)
    n = np.maximum(n, 0)
    return np.where(inside, gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), -np.inf)
