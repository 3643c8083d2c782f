"""Hidden Markov worlds whose states emit Gaussian vectors."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .. import markov
from ..arrays import (
    AnyArray,
    check_distribution,
    check_key,
    check_length,
    check_reals,
    check_shape,
    check_size,
    is_concrete,
    native,
    parameter,
    stochastic,
)
from . import chain
from .hmm import Posterior, draw_chain


class GaussianSample(NamedTuple):
    """One draw from a Gaussian HMM; `hidden[0]` is H_0, which emits nothing."""

    observations: Float[Array, "T d"]
    hidden: Int[Array, " T+1"]


class GaussianHMM(eqx.Module):
    """A hidden Markov chain that emits vectors: `H_0 ~ p0`, `H_i ~ A[:, H_{i-1}]`, and `X_i` is normal with
    mean `M[:, H_i]` and the identity as covariance, for i = 1..T.

    Methods take one sequence; use `jax.vmap` for batches. Computations run in float32, or in float64
    under `jax.enable_x64(True)`.
    """

    A: Float[AnyArray, "hidden hidden"]
    M: Float[AnyArray, "d hidden"]
    p0: Float[AnyArray, " hidden"]

    def __init__(self, A: Any, M: Any, p0: Any = None):
        """`A[i, j] = P(next = i | now = j)`, the means as columns of M, and `p0 = P[H_0]`: by default
        uniform, which is stationary if A is doubly stochastic."""
        hidden = parameter("A", A, (None, None)).shape[1]
        self.A = stochastic("A", A, (hidden, hidden))
        M = check_reals("M", M)
        if len(M.shape) != 2 or M.shape[0] < 1 or M.shape[1] != hidden:
            raise ValueError(
                f"M has shape {M.shape}; it must have shape (d, {hidden}), a mean for each state"
            )
        self.M = np.asarray(M, np.float64) if is_concrete(M) and M.dtype != np.float32 else M
        self.p0 = parameter("p0", np.full(hidden, 1 / hidden) if p0 is None else p0, (hidden,))
        check_distribution("p0", self.p0, columns=False)

    @property
    def hidden(self) -> int:
        return self.A.shape[0]

    @property
    def dimension(self) -> int:
        return self.M.shape[0]

    @property
    def first(self) -> Float[Array, " hidden"]:
        """`P[H_1] = A p0`."""
        return jnp.asarray(self.A) @ jnp.asarray(self.p0)

    def sample(self, key: PRNGKeyArray, length: int) -> GaussianSample:
        """Draw `length` observations and the hidden states 0..length behind them."""
        check_length(length)
        check_size(f"length = {length} observations", length * self.dimension)
        path_key, noise_key = jax.random.split(check_key(key))
        A, p0, M = jnp.asarray(self.A), jnp.asarray(self.p0), jnp.asarray(self.M)
        hidden = draw_chain(path_key, length, A, p0, jnp.ones((1, self.hidden), A.dtype)).hidden
        noise = jax.random.normal(noise_key, (length, self.dimension), M.dtype)
        return GaussianSample(M.T[hidden[1:]] + noise, hidden)

    def log_likelihoods(self, observations: Float[AnyArray, "T d"]) -> Float[Array, "T hidden"]:
        """`log p(x_i | H_i = h) = -|x_i - M[:, h]|^2 / 2 - d log(2 pi) / 2`."""
        x, M = jnp.asarray(self._check(observations)), jnp.asarray(self.M)
        squares = jnp.sum((x[:, :, None] - M) ** 2, axis=1)
        return -squares / 2 - self.dimension * jnp.log(2 * jnp.pi) / 2

    def posterior(
        self, observations: Float[AnyArray, "T d"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Posterior:
        """`P[H_i | what is observed]` for i = 0..T."""
        return Posterior(_posterior(self, *self._checked(observations, observed)))

    def conditional_means(
        self, observations: Float[AnyArray, "T d"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, "T d"]:
        """`E[X_i | what is observed at the other positions]` for every i."""
        return _conditional_means(self, *self._checked(observations, observed))

    def log_density(
        self, observations: Float[AnyArray, "T d"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, ""]:
        """The log density of what is observed."""
        return _log_density(self, *self._checked(observations, observed))

    def is_ergodic(self) -> bool:
        """Whether the hidden chain is irreducible and aperiodic."""
        return markov.is_primitive(np.asarray(self.A))

    def _checked(
        self, observations: Any, observed: Any
    ) -> tuple[Float[AnyArray, "T d"], Bool[AnyArray, " T"]]:
        x = self._check(observations)
        if observed is None:
            return x, np.ones(len(x), bool)
        seen = native("observed", observed)
        check_shape("observed", seen, (len(x),))
        if seen.dtype != bool:
            raise ValueError(f"observed has dtype {seen.dtype}; it must be boolean")
        return x, seen

    def _check(self, observations: Any) -> AnyArray:
        x = check_reals("observations", observations)
        if len(x.shape) != 2 or x.shape[0] < 1 or x.shape[1] != self.dimension:
            raise ValueError(
                f"observations have shape {x.shape}; one sequence has shape (T, {self.dimension}) with "
                "T >= 1"
            )
        return x


def _rows(
    world: GaussianHMM, x: Any, seen: Any
) -> tuple[Float[Array, "T hidden"], Float[Array, " T"]]:
    """Likelihoods of the states, divided by the largest, and the logarithms of the divisors; ones where
    nothing is observed."""
    logs = world.log_likelihoods(x)
    top = jnp.max(logs, axis=1)
    rows = jnp.exp(logs - top[:, None])
    return jnp.where(seen[:, None], rows, 1), jnp.where(seen, top, 0)


@eqx.filter_jit
def _posterior(world: GaussianHMM, x: Any, seen: Any) -> Float[Array, "rows hidden"]:
    rows, _ = _rows(world, x, seen)
    m = chain.messages(jnp.asarray(world.A), world.first, rows)
    start = jnp.asarray(world.p0) * m.backward[0]
    return chain.normalise(jnp.concatenate([start[None], m.forward * m.backward[1:] * rows]))


@eqx.filter_jit
def _conditional_means(world: GaussianHMM, x: Any, seen: Any) -> Float[Array, "T d"]:
    rows, _ = _rows(world, x, seen)
    return chain.laws(jnp.asarray(world.A), world.first, rows, jnp.asarray(world.M))


@eqx.filter_jit
def _log_density(world: GaussianHMM, x: Any, seen: Any) -> Float[Array, ""]:
    rows, logs = _rows(world, x, seen)
    return chain.log_likelihood(jnp.asarray(world.A), world.first, rows) + jnp.sum(logs)
