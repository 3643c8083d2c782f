"""The constants of Assumptions 11 to 15, and the places where statements are tried."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from minicosm.adaptation.checks import check_reals
from minicosm.worlds import ExponentialFamily, GaussianMean

from ..checks import POSITIVE, Given, whole
from ..signatures import checked
from ..theorem import Condition
from .contrast import Contrast, answers, in_batches

INDEPENDENT = (
    1e-10  # least eigenvalue of F, relative to the largest, of statistics that are independent
)


class Constants(NamedTuple):
    """Of a set Θ of natural parameters."""

    omega: float
    """`max |θ|` (Assumption 11)."""
    lipschitz: float
    """β_Z, `max |E_θ T|`: the least Lipschitz constant of the log-partition (Assumption 12)."""
    largest: float
    """λ_max, the largest eigenvalue of `F(θ) = E_θ[T T^T]` (Assumption 13)."""
    smallest: float
    """λ_min, the least."""
    largest_slope: float
    """γ_max, the largest norm of the gradient of the largest eigenvalue (Assumption 14)."""
    smallest_slope: float
    """γ_min, of the least."""

    @property
    def ratio(self) -> float:
        """`λ_max / λ_min`."""
        return self.largest / self.smallest if self.smallest > 0 else np.inf

    def assumption_13(self) -> Condition:
        """Whether λ_min is positive: no statistic is an affine function of the others."""
        holds = self.smallest > INDEPENDENT * self.largest
        reason = (
            f"the least eigenvalue of the Fisher matrix is {self.smallest:.2g} of {self.largest:.2g}: "
            "the statistics are affinely dependent"
        )
        numbers = {"lambda_max": self.largest, "lambda_min": self.smallest}
        return Condition("Assumption 13", bool(holds), numbers, "" if holds else reason)


def _thetas(name: str, value: object, given: Given) -> np.ndarray:
    return np.asarray(check_reals(name, value, (None, given["world"].parameters)), np.float64)


@eqx.filter_jit
def _constants(world: ExponentialFamily, thetas: Array) -> Array:
    def at(theta: Array) -> Array:
        values, vectors = jnp.linalg.eigh(world.fisher(theta))
        slopes = jax.jacfwd(world.fisher)(theta)  # of an eigenvalue it is v^T F' v
        ends = [v @ jnp.moveaxis(slopes, -1, 0) @ v for v in (vectors[:, 0], vectors[:, -1])]
        norms = [jnp.linalg.norm(end) for end in ends]
        # F^-1 is written down from the covariance, so that a small eigenvalue keeps its digits
        inverse = jnp.linalg.inv(world.covariance(theta))
        across = inverse @ world.mean(theta)
        corner = (1 + jnp.dot(world.mean(theta), across))[None, None]
        whole = jnp.block([[inverse, across[:, None]], [across[None], corner]])
        least = 1 / jnp.linalg.eigvalsh(whole)[-1]
        least = jnp.where(jnp.isfinite(least) & (least > 0), least, 0)
        mean = jnp.linalg.norm(world.mean(theta))
        return jnp.stack([jnp.linalg.norm(theta), mean, values[-1], least, norms[1], norms[0]])

    return jax.vmap(at)(thetas)


@checked(thetas=_thetas)
def constants(world: ExponentialFamily, thetas: Float[np.ndarray, "n p"]) -> Constants:
    """The constants of the set of these natural parameters."""
    found = in_batches(lambda batch: _constants(world, batch), thetas)
    least, largest = found.min(axis=0), found.max(axis=0)
    return Constants(
        *map(float, (largest[0], largest[1], largest[2], least[3], largest[4], largest[5]))
    )


@checked(points=whole(2, 2**16))
def segment(world: ExponentialFamily, points: int = 33) -> Float[np.ndarray, "points p"]:
    """Natural parameters from that of the noise to that of the data, evenly."""
    share = np.linspace(0, 1, points)[:, None]
    truth, noise = np.asarray(world.truth)[:-1], np.asarray(world.noise)[:-1]
    return np.asarray(noise + share * (truth - noise))


@checked(count=whole(1, 2**20), size=whole(2, 2**12))
def directions(count: int, size: int = 2) -> Float[np.ndarray, "count size"]:
    """Unit vectors: evenly around the circle, or normal ones, always the same, in more dimensions."""
    if size == 2:
        angle = 2 * np.pi * np.arange(count) / count
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    drawn = np.random.default_rng(size).normal(size=(count, size))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


@checked(radii=whole(1, 2**12), angles=whole(1, 2**16))
def ring(world: GaussianMean, radii: int = 5, angles: int = 181) -> Float[np.ndarray, "points 2"]:
    """Points with `0.1 R <= |τ - τ*| <= 0.2 R`, on circles of evenly spaced radii (Lemma 49)."""
    radius = np.linspace(0.1, 0.2, radii)[:, None, None] * abs(float(world.R))
    return np.asarray(world.truth + radius * directions(angles)).reshape(-1, 2)


class Neighbourhood(NamedTuple):
    """By how much the Hessian changes near τ* (Assumption 15): `σ_max(H(τ)) <= β_u σ_max(H*)` and
    `σ_min(H(τ)) >= β_l σ_min(H*)`."""

    upper: float
    """β_u."""
    lower: float
    """β_l."""
    condition: float
    """κ*."""

    @property
    def factor(self) -> float:
        """`β_u κ* / β_l`, what Theorem 19 depends on."""
        return self.upper * self.condition / self.lower if self.lower > 0 else np.inf


@checked(radius=POSITIVE, radii=whole(1, 2**12), angles=whole(1, 2**16))
def neighbourhood(
    contrast: Contrast, radius: float, radii: int = 8, angles: int = 41
) -> Neighbourhood:
    """β_u and β_l on a grid of the ball of this radius about τ*, its rim and centre included."""
    truth = np.asarray(contrast.world.truth)
    unit = directions(angles, truth.size)
    steps = radius * np.arange(radii + 1)[:, None, None] / radii
    found = answers(contrast, "extremes", (truth + steps * unit).reshape(-1, truth.size))
    optimum = contrast.optimum()
    with np.errstate(divide="ignore"):
        least, largest = (np.log(found[:, i]) + found[:, 2] for i in (0, 1))
    return Neighbourhood(
        float(np.exp(largest.max() - optimum.log_largest)),
        float(np.exp(least.min() - optimum.log_smallest)),
        optimum.condition,
    )
