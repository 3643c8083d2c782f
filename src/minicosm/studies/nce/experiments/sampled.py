"""Figure 4.2: the parameter of Gaussians from samples, by all step sizes, losses, methods and schedules."""

from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.training import SampledContrast, fit_ensemble
from minicosm.worlds import DiagonalGaussian, ExponentialFamily, GaussianMean

from ..trials import FIRST, METHODS, SCHEDULES, Sampled
from .rated import Rated, RatedLoss, own_rate

KINDS = ("nce", "exponential")
MEAN = 16.0  # of the data in one dimension


def run(config: Sampled, progress: Progress) -> TrialResult:
    """Arrays are [loss, method, schedule, step size, seed], curves of chosen runs also [update]."""
    shape = (len(METHODS), len(SCHEDULES), len(config.rates), config.seeds)
    found = []
    for done, kind in enumerate(KINDS):
        progress(done, len(KINDS), f"{kind}, {config.dimension}-d")
        with jax.enable_x64(True):
            found.append(_runs(config, kind, shape))
    best, last, fresh, domain = (np.stack(each) for each in zip(*found, strict=True))
    chosen = np.where(np.isnan(fresh), np.inf, fresh).argmin(axis=3)
    curves = np.take_along_axis(best, chosen[:, :, :, None, :, None], axis=3)[:, :, :, 0]
    # the source's selection is by fresh loss; beside it every step size as a mean over seeds
    return TrialResult(
        {"rates": list(config.rates), "seeds": config.seeds},
        {
            "best": best[..., -1],
            "last": last,
            "fresh": fresh,
            "outside": domain,
            "chosen": chosen,
            "chosen_curves": curves.astype(np.float32),
            "mean_curves": best.mean(axis=4).astype(np.float32),
        },
    )


def _world(config: Sampled, key: Any) -> ExponentialFamily:
    return (
        GaussianMean(MEAN)
        if config.dimension == 1
        else DiagonalGaussian.random(key, config.dimension)
    )


def _runs(config: Sampled, kind: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Running minimum of the distance after every update, last distance, loss on fresh samples, and whether a
    run ever left the domain of the exponential loss."""
    root = jax.random.key(FIRST + config.seed)
    keys = [jax.random.fold_in(root, config.stream * 10**6 + i) for i in range(config.seeds)]
    worlds = [_world(config, jax.random.fold_in(key, 1)) for key in keys]
    runs = list(product(METHODS, SCHEDULES, config.rates, range(config.seeds)))
    each = np.array([seed for *_, seed in runs])
    world = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves))[each], *worlds)
    loss = SampledContrast(world, kind, config.batch, config.clip, config.clip_gradient)
    params = Rated(
        world.noise,
        jnp.array([rate for _, _, rate, _ in runs]),
        jnp.array([float(method == "ngd") for method, *_ in runs]),
        jnp.array([float(schedule == "decay") for _, schedule, *_ in runs]),
    )
    member_keys = jax.random.wrap_key_data(
        jnp.stack([jax.random.key_data(keys[seed]) for seed in each])
    )

    def watch(params: Rated, done: int) -> dict[str, np.ndarray]:
        away = np.asarray(params.model) - np.asarray(world.truth)
        outside = np.asarray(_outside(world, params.model))
        return {"away": np.linalg.norm(away, axis=1), "outside": outside}

    params, history = fit_ensemble(
        RatedLoss(loss),
        params,
        own_rate(config.updates),
        config.updates,
        member_keys,
        chunk=1,
        watch=watch,
        finite=False,
    )
    start = np.linalg.norm(np.asarray(world.noise - world.truth), axis=1)
    away = np.concatenate([start[None], history["away"]])
    best = np.fmin.accumulate(away).T.reshape(*shape, -1)
    fresh = _fresh(
        loss, params.model, jax.vmap(lambda key: jax.random.fold_in(key, 2))(member_keys)
    )
    return (
        best,
        away[-1].reshape(shape),
        np.asarray(fresh).reshape(shape),
        history["outside"].any(axis=0).reshape(shape),
    )


@eqx.filter_jit
def _fresh(loss: SampledContrast, tau: Any, keys: Any) -> Any:
    """The loss on samples that no run has seen, with nothing clipped."""
    bare = SampledContrast(loss.world, loss.kind, loss.batch, None)
    return eqx.filter_vmap(lambda loss, tau, key: loss(tau, key)[0])(bare, tau, keys)


@eqx.filter_jit
def _outside(world: Any, tau: Any) -> Any:
    """Whether the exponential loss of the population is infinite at τ, though that of samples is not."""

    def one(world: Any, tau: Any) -> Any:
        first = world.truth + (world.noise - tau) / 2
        second = (tau + world.noise) / 2
        parts = [world.log_partition(each[:-1]) for each in (first, second)]
        return ~jnp.isfinite(jnp.stack(parts)).all()

    return eqx.filter_vmap(one)(world, tau)
