"""Noise-contrastive estimation from samples: losses of log-ratios, and objectives for `fit`.

A model of the log-ratio `r = log p/q` of data and noise is trained to tell samples of the data from samples
of a known noise. Against overflow ratios are differences of logarithms, and |r| or the gradient of one sample
may be limited.
"""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from minicosm.models.checks import check_count, check_key, check_kind, check_number
from minicosm.worlds import ExponentialFamily
from minicosm.worlds.arrays import AnyArray, check_choice, check_reals

Kind = Literal["nce", "exponential"]
KINDS: tuple[Kind, ...] = ("nce", "exponential")
MOST_SAMPLES = 2**24


def one_sided(z: Float[Array, "*batch"], kind: Kind) -> Float[Array, "*batch"]:
    """The loss of one sample, `log(1 + e^z)` or `e^{z/2}`, where z is -r for data and r for noise."""
    return jax.nn.softplus(z) if kind == "nce" else jnp.exp(z / 2)


def contrastive_loss(
    data: Float[AnyArray, " n"],
    noise: Float[AnyArray, " m"],
    kind: Kind = "nce",
    clip: float | None = None,
) -> Float[Array, ""]:
    """The loss of log-ratios r of a batch of data and of a batch of noise:

    - "nce": `½ mean_data log(1 + e^-r) + ½ mean_noise log(1 + e^r)`;
    - "exponential" (eNCE): `½ mean_data e^{-r/2} + ½ mean_noise e^{r/2}`.

    With `clip`, ratios beyond it count as that far, and give no gradient.
    """
    check_choice("kind", kind, KINDS)
    sides = []
    for name, ratios, sign in (("data", data, -1), ("noise", noise, 1)):
        r = jnp.asarray(check_reals(name, ratios))
        if r.ndim != 1 or not r.size:
            raise ValueError(f"{name} has shape {r.shape}; it must have one log-ratio per sample")
        if clip is not None:
            most = float(check_number("clip", clip, above=0))
            r = jnp.clip(r, -most, most)
        sides.append(jnp.mean(one_sided(sign * r, kind)))
    return (sides[0] + sides[1]) / 2


class SampledContrast(eqx.Module):
    """A loss for `fit`: the extended parameter τ of an exponential family from `batch` samples of data and as
    many of noise, fresh in every step. Its metric "distance" is `|τ - τ*|`.

    `clip` limits |r|; `clip_gradient` the norm of the gradient of one sample, `min(1, K/|g|) g`.
    """

    world: ExponentialFamily
    kind: Kind = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    clip: float | None = eqx.field(static=True)
    clip_gradient: float | None = eqx.field(static=True)

    def __init__(
        self,
        world: ExponentialFamily,
        kind: Kind = "nce",
        batch: int = 1000,
        clip: float | None = 100.0,
        clip_gradient: float | None = None,
    ):
        check_kind("world", world, ExponentialFamily, "an exponential family, such as GaussianMean")
        self.world = world
        self.kind = check_choice("kind", kind, KINDS)
        self.batch = check_count("batch", batch)
        if batch > MOST_SAMPLES:
            raise ValueError(f"batch is {batch}; it must be at most {MOST_SAMPLES}")
        self.clip = None if clip is None else check_number("clip", clip, above=0)
        self.clip_gradient = (
            None if clip_gradient is None else check_number("clip_gradient", clip_gradient, above=0)
        )

    def samples(self, key: PRNGKeyArray) -> tuple[Float[Array, "batch p"], Float[Array, "batch p"]]:
        """Statistics of samples of the data and of the noise."""
        check_key("key", key)
        world = self.world

        def draw(key: PRNGKeyArray, theta: Array) -> Array:
            keys = jax.random.split(key, self.batch)
            return jax.vmap(lambda k: world.statistics(world.sample(k, theta)))(keys)

        data, noise = jax.random.split(key)
        truth, known = jnp.asarray(world.truth), jnp.asarray(world.noise)
        return draw(data, truth[:-1]), draw(noise, known[:-1])

    def ratios(
        self, tau: Float[Array, " extended"], key: PRNGKeyArray
    ) -> tuple[Float[Array, " batch"], Float[Array, " batch"]]:
        """Log-ratios of samples of the data and of the noise, not limited."""
        check_key("key", key)
        away = self._away(tau)
        return tuple(T @ away[:-1] - away[-1] for T in self.samples(key))  # type: ignore[return-value]

    def _away(self, tau: Any) -> Array:
        """`τ - τ_q`, whose product with the statistics is the log-ratio."""
        tau = jnp.asarray(check_reals("tau", tau, self.world.truth.shape))
        return tau - jnp.asarray(self.world.noise)

    def __call__(
        self, tau: Float[Array, " extended"], key: PRNGKeyArray, step: Any = 0
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        """The loss of fresh samples."""
        away = self._away(tau)
        sides = []
        for statistics, sign in zip(self.samples(key), (-1, 1), strict=True):
            r = statistics @ away[:-1] - away[-1]
            if self.clip is not None:
                r = jnp.clip(r, -self.clip, self.clip)
            losses = one_sided(sign * r, self.kind)
            if self.clip_gradient is not None:
                losses = self._limited(losses, sign * r, statistics)
            sides.append(jnp.mean(losses))
        distance = jnp.linalg.norm(tau - jnp.asarray(self.world.truth))
        return (sides[0] + sides[1]) / 2, {"distance": distance}

    def _limited(self, losses: Array, z: Array, statistics: Array) -> Array:
        """The losses, with gradients that are at most `clip_gradient` long. The gradient of a sample is
        a number times `[T, -1]`."""
        assert self.clip_gradient is not None
        slope = jax.nn.sigmoid(z) if self.kind == "nce" else jnp.exp(z / 2) / 2
        norm = slope * jnp.sqrt(1 + jnp.sum(statistics**2, axis=1))
        share = jnp.minimum(1, self.clip_gradient / jnp.maximum(norm, self.clip_gradient))
        kept = jax.lax.stop_gradient(share) * losses
        return jax.lax.stop_gradient(losses - kept) + kept
