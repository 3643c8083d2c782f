"""Figure 4.2: the parameter of Gaussians from samples, by all step sizes, losses, methods and schedules."""

from functools import partial
from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.training import SampledContrast, fit_ensemble
from minicosm.worlds import DiagonalGaussian, ExponentialFamily, GaussianMean

from ..arms import FIRST, KINDS, METHODS, SCHEDULES, by_arm
from ..trials import Sampled
from .rated import Rated, RatedLoss, own_rate, settings

MEAN = 16.0  # of the data in one dimension


def run(config: Sampled, progress: Progress) -> TrialResult:
    """For every loss, method and schedule arrays are [step size, seed]; `chosen` are the runs with the least
    loss on fresh samples, as the source chooses them, and their curves are [seed, update]."""
    with jax.enable_x64(True):
        best, last, fresh, outside = _runs(config, progress)
    chosen = np.where(np.isnan(fresh), np.inf, fresh).argmin(axis=3)
    curves = np.take_along_axis(best, chosen[:, :, :, None, :, None], axis=3)[:, :, :, 0]
    return TrialResult(
        {"rates": list(config.rates), "seeds": config.seeds},
        by_arm(
            {
                "best": best[..., -1],
                "last": last,
                "fresh": fresh,
                "outside": outside,
                "chosen": chosen,
                "curves": curves.astype(np.float32),
            },
            KINDS,
            METHODS,
            SCHEDULES,
        ),
    )


def _world(config: Sampled, key: Any) -> ExponentialFamily:
    if config.dimension == 1:
        return GaussianMean(MEAN)
    return DiagonalGaussian.random(key, config.dimension)


def _runs(config: Sampled, progress: Progress) -> tuple[np.ndarray, ...]:
    """Running minimum of the distance after every update, last distance, loss on fresh samples, and whether a
    run ever left the domain of the exponential loss."""
    root = jax.random.key(FIRST + config.seed)
    keys = [jax.random.fold_in(root, config.stream * 10**6 + i) for i in range(config.seeds)]
    worlds = [_world(config, jax.random.fold_in(key, 1)) for key in keys]
    parts = (KINDS, METHODS, SCHEDULES, config.rates)
    runs, shape = list(product(*parts)), (*(len(part) for part in parts), config.seeds)
    world = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *worlds)
    exponential, *rest = settings(runs, config.seeds)
    start = jnp.repeat(world.noise[:, None], len(runs), axis=1)
    params = Rated(start, *rest)
    objective = SampledContrast(world, batch=config.batch)
    loss = RatedLoss(SampledRatios(objective), exponential, config.clip)

    def watch(params: Rated, done: int) -> dict[str, np.ndarray]:
        progress(done, config.updates, f"{config.dimension} dimensions, {len(runs)} runs a seed")
        away = np.asarray(params.model) - np.asarray(world.truth)[:, None]
        outside = np.asarray(_outside(world, params.model))
        return {"away": np.linalg.norm(away, axis=-1), "outside": outside}

    params, history = fit_ensemble(
        loss,
        params,
        own_rate(config.updates),
        config.updates,
        jnp.stack(keys),
        chunk=1,
        watch=watch,
        finite=False,
    )
    begin = np.linalg.norm(np.asarray(start - world.truth[:, None]), axis=-1)
    away = np.concatenate([begin[None], history["away"]])  # [update, seed, run]
    best = np.fmin.accumulate(away)
    fresh = [
        _fresh(config, *each)
        for each in zip(
            worlds,
            keys,
            np.asarray(params.model).reshape(config.seeds, *shape[:-1], -1),
            strict=True,
        )
    ]
    return (
        np.transpose(best, (2, 1, 0)).reshape(*shape, -1),
        away[-1].T.reshape(shape),
        np.stack(fresh, axis=-1),
        history["outside"].any(axis=0).T.reshape(shape),
    )


class SampledRatios(eqx.Module):
    """The log-ratios of an objective."""

    objective: SampledContrast

    def __call__(self, tau: Any, key: Any) -> Any:
        return self.objective.ratios(tau, key)


@eqx.filter_jit
def _samples(objective: SampledContrast, key: Any) -> Any:
    return objective.samples(key)


def _fresh(config: Sampled, world: ExponentialFamily, key: Any, taus: np.ndarray) -> np.ndarray:
    """Both losses, first axis, on samples of one seed that no run has seen, with nothing limited."""
    objective = SampledContrast(world, batch=config.batch)
    samples = map(np.asarray, _samples(objective, jax.random.fold_in(key, 2)))
    away = taus - np.asarray(world.noise)
    z = [
        sign * (away[..., :-1] @ T.T - away[..., -1:])
        for T, sign in zip(samples, (-1, 1), strict=True)
    ]
    with np.errstate(over="ignore"):
        nce = sum(np.logaddexp(0, side[0]).mean(axis=-1) for side in z) / 2
        exponential = sum(np.exp(side[1] / 2).mean(axis=-1) for side in z) / 2
    return np.stack([nce, exponential])


@eqx.filter_jit
def _outside(world: Any, tau: Any) -> Any:
    """[seed, run]: whether the exponential loss of the population is infinite at τ, though that of samples is
    not."""

    def one(world: Any, tau: Any) -> Any:
        first = world.truth + (world.noise - tau) / 2
        second = (tau + world.noise) / 2
        parts = [world.log_partition(each[:-1]) for each in (first, second)]
        return ~jnp.isfinite(jnp.stack(parts)).all()

    return eqx.filter_vmap(lambda world, taus: jax.vmap(partial(one, world))(taus))(world, tau)
