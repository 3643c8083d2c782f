"""Classifiers that learn the kernel of a diffusion from one trajectory."""

import equinox as eqx
import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.training import fit_ensemble
from minicosm.training.trajectory_contrast import (
    Classifier,
    ContrastiveObjective,
    excess_loss,
    kernel_of,
    plain_adam,
)
from minicosm.worlds.diffusions import (
    LOG_COSH,
    Contrast,
    GridDiffusion,
    Local,
    OrnsteinUhlenbeck,
    Stationary,
    contrastive_pairs,
)

from ..trials import Ensemble
from .plug_in import key_of

SHOWN = (-1.2, 0.0, 0.8)  # anchors whose laws are drawn


def train(
    config: Ensemble, world: GridDiffusion | OrnsteinUhlenbeck, place: int, progress: Progress
) -> tuple[Contrast, list[Classifier]]:
    """The contrast law, and a classifier for each seed, trained on the pairs of a trajectory of its own."""
    contrast = Local() if config.contrast == "local" else Stationary()
    pair_key, init_key, train_key = jax.random.split(
        key_of(config, place, round(1000 * config.gap), int(config.contrast == "local")), 3
    )
    pairs = jax.vmap(lambda key: contrastive_pairs(world, contrast, config.length, key))(
        jax.random.split(pair_key, config.seeds)
    )
    dimension = pairs.x.shape[-1]
    models = eqx.filter_vmap(lambda key: Classifier(key, dimension=dimension, width=config.width))(
        jax.random.split(init_key, config.seeds)
    )
    trained, _ = fit_ensemble(
        ContrastiveObjective(pairs, config.batch),
        models,
        plain_adam(config.rate, config.steps),
        config.steps,
        jax.random.split(train_key, config.seeds),
        progress=progress,
    )

    def member(i: int) -> Classifier:
        return jax.tree.map(lambda leaf: leaf[i] if eqx.is_array(leaf) else leaf, trained)

    return contrast, [member(i) for i in range(config.seeds)]


def run(config: Ensemble, progress: Progress) -> TrialResult:
    """Of every seed: divergence of the learned kernel, excess loss, and by how much the kernel was not
    normalised; the divergence of one Euler step with the true drift; and laws at a few anchors."""
    world = GridDiffusion(LOG_COSH, config.gap)
    contrast, trained = train(config, world, 90, progress)
    numbers: dict[str, list[float]] = {"divergence": [], "excess": [], "off": []}
    kernels = []
    for model in trained:
        learned = kernel_of(world, contrast, model)
        numbers["divergence"].append(world.kl(learned.kernel))
        numbers["excess"].append(excess_loss(world, contrast, model))
        numbers["off"].append(learned.off)
        kernels.append(learned.kernel)
    at = [int(np.argmin(np.abs(world.points - x))) for x in SHOWN]
    return TrialResult(
        {**numbers, "euler": world.kl(world.euler())},
        {
            "points": world.points,
            "truth": world.kernel[at] / world.spacing,
            "learned": np.stack([kernel[at] for kernel in kernels]) / world.spacing,
            "one_step": world.euler()[at] / world.spacing,
        },
    )
