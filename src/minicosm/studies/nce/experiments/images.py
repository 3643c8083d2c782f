"""Figure 4.3: networks that tell images from Gaussian noise, by all step sizes of both methods."""

import hashlib
from itertools import product
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from minicosm.lab import Progress, TrialResult
from minicosm.models import DensityRatio
from minicosm.training import fit_ensemble

from ..arms import FIRST, KINDS, METHODS, by_arm
from ..trials import Images
from .rated import Rated, RatedLoss, own_rate, settings

MARGIN = 0.05  # of the logit
ROWS = 10  # of the history: each is the mean loss of a tenth of the updates


def content(path: str) -> str:
    """A hash of the file; a sentence if it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ValueError(f"images is {path!r}, which cannot be read: {reason}") from None


def load_images(path: str) -> Float[np.ndarray, "n height width"]:
    """Images of a .npy or .npz file, or the 8x8 digits of scikit-learn."""
    if not path:
        from sklearn.datasets import load_digits

        return np.asarray(load_digits().images, np.float64)
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.lib.npyio.NpzFile):
            found = found["images" if "images" in found.files else found.files[0]]
    except (OSError, ValueError, EOFError, IndexError, KeyError):
        raise ValueError(f"images is {path!r}; it must be a .npy or .npz file of numbers") from None
    images = np.asarray(found)
    if images.ndim != 3 or images.dtype.kind not in "uif" or images.shape[0] < 2:
        raise ValueError(
            f"images is {path!r} with shape {images.shape} and dtype {images.dtype}; it must hold numbers "
            "of shape (n, height, width)"
        )
    if not np.isfinite(images).all() or images.min() < 0:
        raise ValueError(f"images is {path!r}, which holds negative or infinite numbers")
    return images.astype(np.float64)


def prepared(
    images: np.ndarray, rng: np.random.Generator, held_out: int
) -> tuple[np.ndarray, np.ndarray]:
    """Images as points of R^d: values dequantised, squeezed into (0, 1) with a margin, their logits, centred;
    those to be trained on, and those held out."""
    if len(images) <= held_out + 1:
        raise ValueError(
            f"held_out is {held_out}; there are {len(images)} images, and some must be left to train on"
        )
    levels = images.max() + 1
    shares = MARGIN + (1 - 2 * MARGIN) * (images + rng.random(images.shape)) / levels
    logits = np.log(shares / (1 - shares))
    order = rng.permutation(len(images))
    training, rest = logits[order[held_out:]], logits[order[:held_out]]
    return training - training.mean(axis=0), rest - training.mean(axis=0)


class ImageRatios(eqx.Module):
    """Log-ratios of a `DensityRatio` on `batch` images and as much noise from the Gaussian fitted to them."""

    images: Float[Array, "n height width"]
    root: Float[Array, "d d"]
    """Of the covariance: noise is `root @ normal`."""
    batch: int = eqx.field(static=True)

    def noise(self, key: PRNGKeyArray, count: int) -> Array:
        drawn = jax.random.normal(key, (count, self.root.shape[-1])) @ self.root.T
        return drawn.reshape(count, *self.images.shape[-2:])

    def of(self, model: DensityRatio, images: Array, noise: Array) -> Any:
        return tuple(jax.vmap(model.log_ratio)(batch) for batch in (images, noise))

    def __call__(self, model: DensityRatio, key: PRNGKeyArray) -> Any:
        chosen, other = jax.random.split(key)
        rows = jax.random.randint(chosen, (self.batch,), 0, self.images.shape[-3])
        return self.of(model, self.images[rows], self.noise(other, self.batch))


def run(config: Images, progress: Progress) -> TrialResult:
    """For every loss and method arrays are [step size, seed]; curves also [tenth of the updates]. What is not
    finite counts as an infinite loss."""
    images = load_images(config.images)
    parts = (KINDS, METHODS, ("constant",), config.rates)
    runs = list(product(*parts))
    keys = jax.random.split(jax.random.key(FIRST + config.seed), config.seeds)
    ratios, held = [], []
    for i in range(config.seeds):
        rng = np.random.default_rng([FIRST + config.seed, i])
        training, rest = prepared(images, rng, config.held_out)
        flat = training.reshape(len(training), -1)
        square = np.linalg.cholesky(np.cov(flat.T) + 1e-6 * np.eye(flat.shape[1]))
        given, root = (jnp.asarray(each, jnp.float32) for each in (training, square))
        ratios.append(ImageRatios(given, root, config.batch))
        held.append(jnp.asarray(rest, jnp.float32))
    exponential, *own = settings(runs, config.seeds)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *ratios)
    loss = RatedLoss(stacked, exponential, config.clip)
    models = _models(keys, images.shape[1:], config.features, config.hidden, len(runs))
    params, history = fit_ensemble(
        loss,
        Rated(models, *own),
        own_rate(config.updates),
        config.updates,
        keys,
        chunk=config.updates // ROWS,
        progress=lambda done, total: progress(done, total, f"{len(runs)} networks a seed"),
        finite=False,
    )
    fresh = np.asarray(_held_out(params.model, loss, jnp.stack(held), keys), float)
    shape = (len(KINDS), len(METHODS), len(config.rates), config.seeds)
    curves = np.transpose(history["losses"], (2, 1, 0)).reshape(*shape, -1).astype(float)
    last, fresh = (np.where(np.isfinite(each), each, np.inf) for each in (curves[..., -1], fresh.T))
    return TrialResult(
        {"rates": list(config.rates), "images": len(images), "shape": list(images.shape[1:])},
        by_arm(
            {
                "loss": last,
                "held_out": fresh.reshape(shape),
                "curves": curves.astype(np.float32),
            },
            KINDS,
            METHODS,
        ),
    )


@eqx.filter_jit
def _models(
    keys: Any, shape: tuple[int, ...], features: Any, hidden: int, runs: int
) -> DensityRatio:
    """[seed, run] networks; those of one seed start alike."""
    height, width = shape

    def made(key: PRNGKeyArray) -> DensityRatio:
        model = DensityRatio(jax.random.fold_in(key, 1), height, width, features, hidden)
        return eqx.filter_vmap(lambda _: model)(jnp.arange(runs))

    return eqx.filter_vmap(made)(keys)


@eqx.filter_jit
def _held_out(model: Any, loss: RatedLoss, rest: Any, keys: Any) -> Any:
    """[seed, run] losses on images that were held out and on other noise."""

    def seed(models: Any, loss: RatedLoss, rest: Array, key: PRNGKeyArray) -> Array:
        noise = loss.ratios.noise(jax.random.fold_in(key, 2), len(rest))

        def run(model: Any, exponential: Array) -> Array:
            data, other = loss.ratios.of(model, rest, noise)
            return loss.of(data, other, exponential)

        return eqx.filter_vmap(run)(models, loss.exponential)

    return eqx.filter_vmap(seed)(model, loss, rest, keys)
