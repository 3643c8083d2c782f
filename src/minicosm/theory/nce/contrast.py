"""The population losses of noise-contrastive estimation in a world, exactly."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from minicosm.adaptation.checks import check_choice, check_kind, check_reals, check_whole
from minicosm.training.contrastive import KINDS, Kind
from minicosm.training.schedules import normalised
from minicosm.worlds import ExponentialFamily

from . import moments as of
from .moments import Moments

NODES = 4001
MOST_NODES = 2**20
BATCH = 64


class Optimum(NamedTuple):
    """The loss and its curvature at τ*. Where a number underflows, its logarithm does not."""

    loss: float
    log_loss: float
    largest: float
    """The largest eigenvalue of the Hessian."""
    smallest: float
    condition: float
    """κ*, the largest eigenvalue over the smallest."""
    log_largest: float
    log_smallest: float


class Contrast(eqx.Module):
    """A loss of noise-contrastive estimation, as a function of the extended parameter τ:

    - "nce": `½ E_* log(1 + q/p) + ½ E_q log(1 + p/q)`, by a sum over the points of a finite family or over
      `nodes` points of a line;
    - "exponential" (eNCE): `½ E_* sqrt(q/p) + ½ E_q sqrt(p/q)`, in closed form in every family.

    All answers are in double precision. An answer that underflows is 0; `log_loss`, `direction` and
    `condition` do not underflow.
    """

    world: ExponentialFamily
    kind: Kind = eqx.field(static=True)
    nodes: int = eqx.field(static=True)

    def __init__(self, world: ExponentialFamily, kind: Kind = "nce", nodes: int = NODES):
        check_kind("world", world, ExponentialFamily)
        self.kind = check_choice("kind", kind, KINDS)
        check_whole("nodes", nodes, 2, MOST_NODES)
        self.nodes = nodes if kind == "nce" else 2  # the closed form has none: one program for all
        self.world = world
        if kind == "nce":
            world.grid(2)  # which says if there is none

    def _answer(self, what: str, tau: np.ndarray) -> np.ndarray:
        return np.asarray(answers(self, what, tau[None])[0])

    def _check(self, tau: Any) -> np.ndarray:
        return np.asarray(check_reals("tau", tau, (self.world.parameters + 1,)), np.float64)

    def _inside(self, tau: Any) -> np.ndarray:
        """τ, if the loss is finite there."""
        tau = self._check(tau)
        if not np.isfinite(self.log_loss(tau)):
            raise ValueError(
                "tau lies where the exponential loss is infinite; all precisions of τ + τ_q and of "
                "2τ* + τ_q - τ must be positive"
            )
        return tau

    def loss(self, tau: Float[np.ndarray, " extended"]) -> float:
        """The loss at τ; infinite outside the domain of eNCE."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.exp(self.log_loss(tau)))

    def log_loss(self, tau: Float[np.ndarray, " extended"]) -> float:
        """The logarithm of the loss."""
        return float(self._answer("log loss", self._check(tau)))

    def gradient(self, tau: Float[np.ndarray, " extended"]) -> Float[np.ndarray, " extended"]:
        """The gradient at τ."""
        return self._answer("gradient", self._inside(tau))

    def direction(self, tau: Float[np.ndarray, " extended"]) -> Float[np.ndarray, " extended"]:
        """The gradient divided by its norm, whatever its size; 0 where the gradient is 0."""
        return self._answer("direction", self._inside(tau))

    def hessian(
        self, tau: Float[np.ndarray, " extended"]
    ) -> Float[np.ndarray, "extended extended"]:
        """The Hessian at τ."""
        return self._answer("hessian", self._inside(tau))

    def condition(self, tau: Float[np.ndarray, " extended"]) -> float:
        """The condition number of the Hessian at τ; infinite where it is singular."""
        least, largest = self._answer("extremes", self._inside(tau))[:2]
        return float(largest / least) if least > 0 else np.inf

    def optimum(self) -> Optimum:
        """Loss and curvature at the parameter of the data, τ*."""
        truth = self._check(self.world.truth)
        least, largest, log_scale = self._answer("extremes", truth)
        log_loss = self.log_loss(truth)
        with np.errstate(divide="ignore"):
            logs = np.log([largest, least]) + log_scale
        return Optimum(
            float(np.exp(log_loss)),
            log_loss,
            float(np.exp(logs[0])),
            float(np.exp(logs[1])),
            float(largest / least) if least > 0 else np.inf,
            float(logs[0]),
            float(logs[1]),
        )


# -- to be compiled, in the precision that holds where they are called -------------------------------


def loss_at(contrast: Contrast, tau: Float[Array, " extended"]) -> Float[Array, ""]:
    """The loss, as a function that JAX differentiates."""
    if contrast.kind == "nce":
        return of.nce_loss(contrast.world, contrast.world.grid(contrast.nodes), tau)
    return of.exponential_loss(contrast.world, tau)


def log_loss_at(contrast: Contrast, tau: Float[Array, " extended"]) -> Float[Array, ""]:
    """Its logarithm."""
    if contrast.kind == "nce":
        return of.nce_log_loss(contrast.world, contrast.world.grid(contrast.nodes), tau)
    return of.exponential_log_loss(contrast.world, tau)


def moments_at(contrast: Contrast, tau: Float[Array, " extended"]) -> Moments:
    """Gradient and Hessian with their factors taken out."""
    if contrast.kind == "nce":
        return of.nce_moments(contrast.world, contrast.world.grid(contrast.nodes), tau)
    return of.exponential_moments(contrast.world, tau)


def answer_at(contrast: Contrast, what: str, tau: Array) -> Array:
    """One of the answers, to be compiled."""
    if what == "loss":
        return loss_at(contrast, tau)
    if what == "log loss":
        return log_loss_at(contrast, tau)
    if what == "hessian by differentiation":
        return jax.hessian(lambda tau: loss_at(contrast, tau))(tau)
    if what == "gradient by differentiation":
        return jax.grad(lambda tau: loss_at(contrast, tau))(tau)
    moments = moments_at(contrast, tau)
    if what == "gradient":
        return moments.gradient() * jnp.exp(moments.log_gradient)
    if what == "scaled gradient":
        return jnp.append(moments.gradient(), moments.log_gradient)
    if what == "direction":
        return normalised(moments.gradient())
    if what == "hessian":
        return moments.hessian() * jnp.exp(moments.log_hessian)
    if what == "newton":
        return moments.newton()
    return jnp.append(moments.extremes(), moments.log_hessian)


@eqx.filter_jit
def _many(contrast: Contrast, what: str, taus: Array) -> Array:
    return jax.vmap(lambda tau: answer_at(contrast, what, tau))(taus)


def in_batches(function: Any, rows: Float[np.ndarray, "n k"]) -> np.ndarray:
    """A compiled function of many rows, in double precision; in batches of one size, which compile once."""
    short = -len(rows) % BATCH
    padded = np.concatenate([rows, np.repeat(np.asarray(rows)[-1:], short, axis=0)])
    with jax.enable_x64(True):
        batches = np.split(np.asarray(padded, np.float64), len(padded) // BATCH)
        found = [np.asarray(function(batch)) for batch in batches]
    return np.concatenate(found)[: len(rows)]


def answers(contrast: Contrast, what: str, taus: Float[np.ndarray, "n extended"]) -> np.ndarray:
    """One of the answers at many τ."""
    return in_batches(lambda batch: _many(contrast, what, batch), taus)
