"""Models of the right form: every parameter vector is a world, and least squares fits its predictors to given
ones."""

from itertools import permutations
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from minicosm.worlds import HMM, GaussianHMM, MaskedTask
from minicosm.worlds.hmm.masked_tasks import conditional_table, gaussian_expectation

MOST_STATES = 4  # all permutations are mixed


def mixtures(k: int) -> Float[np.ndarray, "perms k k"]:
    """All permutation matrices, of which doubly stochastic ones are the mixtures (Birkhoff)."""
    if k > MOST_STATES:
        raise ValueError(f"k is {k}; students have at most {MOST_STATES} states")
    return np.array([np.eye(k)[list(order)] for order in permutations(range(k))])


class DiscreteStudent(eqx.Module):
    """`O = softmax(logits)` by columns and `T = sum_p softmax(weights)_p P_p`; a residual is the difference
    of a predictor from its target."""

    target: Float[Array, " n"]
    tasks: tuple[MaskedTask, ...] = eqx.field(static=True)
    vocab: int = eqx.field(static=True)
    hidden: int = eqx.field(static=True)

    @property
    def size(self) -> int:
        return self.vocab * self.hidden + len(mixtures(self.hidden))

    def unpack(self, theta: Any) -> tuple[Array, Array]:
        """O and T."""
        cut = self.vocab * self.hidden
        O = jax.nn.softmax(theta[:cut].reshape(self.vocab, self.hidden), axis=0)
        return O, jnp.einsum("p,pij->ij", jax.nn.softmax(theta[cut:]), mixtures(self.hidden))

    def __call__(self, theta: Any) -> Array:
        O, T = self.unpack(theta)
        p0 = jnp.full(self.hidden, 1 / self.hidden, T.dtype)
        found = [conditional_table(T, O, p0, task).ravel() for task in self.tasks]
        return jnp.concatenate(found) - self.target

    def world(self, theta: Any) -> HMM:
        O, T = (np.asarray(a, np.float64) for a in self.unpack(jnp.asarray(theta)))
        k = len(T)
        return HMM(T / T.sum(axis=0), O / O.sum(axis=0), np.full(k, 1 / k))


class GaussianStudent(eqx.Module):
    """Means M, scaled to length one if `unit`, and T as in `DiscreteStudent`; residuals are differences at
    points, of a predictor or of the tensor products that were drawn."""

    target: Float[Array, "points *targets"]
    points: Float[Array, "points d"]
    task: MaskedTask = eqx.field(static=True)
    hidden: int = eqx.field(static=True)
    unit: bool = eqx.field(static=True, default=True)

    @property
    def size(self) -> int:
        return self.points.shape[1] * self.hidden + len(mixtures(self.hidden))

    def unpack(self, theta: Any) -> tuple[Array, Array]:
        """M and T."""
        d = self.points.shape[1]
        M = theta[: d * self.hidden].reshape(d, self.hidden)
        if self.unit:
            M = M / jnp.linalg.norm(M, axis=0)
        weights = jax.nn.softmax(theta[d * self.hidden :])
        return M, jnp.einsum("p,pij->ij", weights, mixtures(self.hidden))

    def __call__(self, theta: Any) -> Array:
        M, T = self.unpack(theta)
        p0 = jnp.full(self.hidden, 1 / self.hidden, T.dtype)
        found = gaussian_expectation(T, M, p0, self.task, [self.points])
        return (found - self.target).ravel()

    def world(self, theta: Any) -> GaussianHMM:
        M, T = (np.asarray(a, np.float64) for a in self.unpack(jnp.asarray(theta)))
        return GaussianHMM(T / T.sum(axis=0), M)
