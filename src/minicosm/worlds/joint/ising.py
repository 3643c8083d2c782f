"""Ising worlds: spins that like to agree with their neighbours."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from ..arrays import AnyArray, check_key, check_length, check_number, check_reals
from ..text import numbers_text
from .joint import Joint, JointSample, all_sequences, check_own_length, check_states

LUMPED = (
    "; a clique of equal spins can be treated by `CliqueIsing(...).lumped()`, whatever its size"
)


class Ising(eqx.Module):
    """`p(x) ∝ exp(sum_i h_i x_i + sum_{i<j} J_ij x_i x_j)` over spins x in {-1, +1}^N (Eq. 4.5).

    The second sum has every pair once. As tokens, 0 is the spin -1 and 1 the spin +1.
    """

    h: Float[np.ndarray, " N"]
    J: Float[np.ndarray, "N N"]

    def __init__(self, h: Any, J: Any):
        """Fields, and a symmetric matrix of couplings with a zero diagonal."""
        h, J = (np.asarray(check_reals(n, a), np.float64) for n, a in (("h", h), ("J", J)))
        if h.ndim != 1 or h.size == 0:
            raise ValueError(f"h has shape {h.shape}; it must have one field per spin")
        if J.shape != (h.size, h.size):
            raise ValueError(f"J has shape {J.shape}; {h.size} spins need ({h.size}, {h.size})")
        off = np.abs(J - J.T) > 1e-12
        if off.any():
            i, j = (int(a) for a in np.argwhere(off)[0])
            raise ValueError(
                f"J[{i}, {j}] is {J[i, j]:g} and J[{j}, {i}] is {J[j, i]:g}; couplings must be "
                "symmetric"
            )
        if np.diag(J).any():
            i = int(np.argmax(np.diag(J) != 0))
            raise ValueError(f"J[{i}, {i}] is {J[i, i]:g}; a spin has no coupling with itself")
        self.h, self.J = h, J

    @property
    def length(self) -> int:
        return self.h.size

    @property
    def vocab(self) -> int:
        return 2

    def energy(self, spins: Int[AnyArray, "*batch N"]) -> Float[np.ndarray, "*batch"]:
        """`sum_i h_i x_i + sum_{i<j} J_ij x_i x_j`: the log probability up to a constant."""
        x = np.asarray(check_reals("spins", spins), np.float64)
        if x.ndim == 0 or x.shape[-1] != self.length or not (np.abs(x) == 1).all():
            raise ValueError(
                f"spins have shape {x.shape}; they must be -1 or 1, with {self.length} on the last axis"
            )
        return np.asarray(x @ self.h + np.sum((x @ self.J) * x, axis=-1) / 2)

    def joint(self) -> Joint:
        """The law of all `2^N` configurations, as tokens."""
        check_states(2, self.length, LUMPED)
        return Joint.from_weights(self.energy(spins_of(self.length)), 2, self.length)

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> JointSample:
        """One configuration, as tokens."""
        check_key(key)
        check_own_length(length, self.length)
        check_states(2, self.length, LUMPED)
        x = jnp.asarray(spins_of(self.length))
        energy = x @ jnp.asarray(self.h) + jnp.sum((x @ jnp.asarray(self.J)) * x, axis=-1) / 2
        state = jax.random.categorical(key, energy)
        return JointSample(jnp.asarray(all_sequences(2, self.length))[state])

    def text(self, tokens: Any) -> str:
        """The tokens as numbers with spaces between them; see `Dyck.text` for padding."""
        return numbers_text(tokens, self.vocab)

    def statistics(self) -> Float[np.ndarray, "states d"]:
        """`T(x) = (x_1, ..., x_N, x_1 x_2, x_1 x_3, ...)` of every configuration."""
        return pairwise_statistics(self.length)

    def parameters(self) -> Float[np.ndarray, " d"]:
        """`theta = (h, J_12, J_13, ...)`: p is the exponential family of `statistics` at theta."""
        return np.concatenate([self.h, self.J[np.triu_indices(self.length, 1)]])

    @classmethod
    def from_parameters(cls, theta: Float[np.ndarray, " d"], length: int) -> "Ising":
        """The world with these `parameters`."""
        check_length(length, 2**12)
        d = length + length * (length - 1) // 2
        theta = np.asarray(check_reals("theta", theta), np.float64)
        if theta.shape != (d,):
            raise ValueError(f"theta has shape {theta.shape}; {length} spins have {d} parameters")
        J = np.zeros((length, length))
        J[np.triu_indices(length, 1)] = theta[length:]
        return cls(theta[:length], J + J.T)


def spins_of(length: int) -> Int[np.ndarray, "states N"]:
    """All configurations of spins -1 and +1, in the order of their tokens."""
    return 2 * all_sequences(2, length) - 1


def pairwise_statistics(length: int) -> Float[np.ndarray, "states d"]:
    """Spins, then products of pairs."""
    x = spins_of(length).astype(np.float64)
    i, j = np.triu_indices(length, 1)
    return np.hstack([x, x[:, i] * x[:, j]])


def random_ising(
    key: PRNGKeyArray, length: int, *, field: float = 0.5, coupling: float = 0.5
) -> Ising:
    """Normal fields and couplings with these deviations."""
    check_length(length, 2**12)
    check_number("field", field)
    check_number("coupling", coupling)
    drawn = np.asarray(jax.random.normal(check_key(key), (length + 1, length)), np.float64)
    J = np.triu(drawn[1:] * coupling, 1)
    return Ising(drawn[0] * field, J + J.T)
