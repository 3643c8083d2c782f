"""A model of the log-ratio of two densities: a quadratic function of learned features."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from minicosm.worlds.arrays import AnyArray, check_choice, check_reals

from .checks import check_count, check_key

LEAST = 1e-4  # what is added to the diagonal of W, so that it is positive definite
MOST = 2**12  # of each size
STAGES = (1, 2, 4, 8)  # widths of a ResNet-18, in the width of its first stage

Features = Literal["mlp", "resnet"]


class DensityRatio(eqx.Module):
    """`log p(x)/q(x) = -f(x)·W f(x) - b·f(x) - c` with `W = L L^T + 1e-4 I`, of an image x.

    The features f are those of an MLP with one hidden layer of tanh, or of a ResNet-18. It starts close to 0.
    """

    features: Any
    L: Float[Array, "k k"]
    b: Float[Array, " k"]
    c: Float[Array, ""]
    shape: tuple[int, int] = eqx.field(static=True)

    def __init__(
        self,
        key: PRNGKeyArray,
        height: int,
        width: int,
        kind: Features = "mlp",
        hidden: int = 64,
        features: int = 32,
    ):
        """`hidden` is the width of the MLP, or of the first of the four stages of the ResNet."""
        check_key("key", key)
        sizes = {"height": height, "width": width, "hidden": hidden, "features": features}
        for name, size in sizes.items():
            if check_count(name, size) > MOST:
                raise ValueError(f"{name} is {size}; it must be at most {MOST}")
        if check_choice("kind", kind, ("mlp", "resnet")) == "resnet":
            self.features: Any = ResNet18(key, hidden, features)
        else:
            self.features = eqx.nn.MLP(
                height * width, features, hidden, 1, activation=jnp.tanh, key=key
            )
        self.L = 0.1 * jnp.eye(features)
        self.b, self.c = jnp.zeros(features), jnp.zeros(())
        self.shape = (int(height), int(width))

    def log_ratio(self, image: Float[AnyArray, "height width"]) -> Float[Array, ""]:
        """`log p(x)/q(x)` of one image."""
        x = jnp.asarray(check_reals("image", image, self.shape))
        f = self.features(x[None] if isinstance(self.features, ResNet18) else x.ravel())
        square = jnp.sum((f @ self.L) ** 2) + LEAST * jnp.sum(f**2)
        return -square - jnp.dot(self.b, f) - self.c


class _Block(eqx.Module):
    """Two convolutions, and what came in beside them."""

    convolutions: tuple[eqx.nn.Conv2d, eqx.nn.Conv2d]
    norms: tuple[eqx.nn.GroupNorm, eqx.nn.GroupNorm]
    beside: eqx.nn.Conv2d | None

    def __init__(self, key: PRNGKeyArray, channels: int, out: int, stride: int):
        keys = jax.random.split(key, 3)
        self.convolutions = (
            eqx.nn.Conv2d(channels, out, 3, stride, 1, use_bias=False, key=keys[0]),
            eqx.nn.Conv2d(out, out, 3, 1, 1, use_bias=False, key=keys[1]),
        )
        self.norms = (eqx.nn.GroupNorm(_groups(out), out), eqx.nn.GroupNorm(_groups(out), out))
        same = stride == 1 and channels == out
        self.beside = None if same else eqx.nn.Conv2d(channels, out, 1, stride, key=keys[2])

    def __call__(self, x: Array) -> Array:
        y = jax.nn.relu(self.norms[0](self.convolutions[0](x)))
        y = self.norms[1](self.convolutions[1](y))
        return jax.nn.relu(y + (x if self.beside is None else self.beside(x)))


class ResNet18(eqx.Module):
    """ResNet-18 of an image in one channel, for small images: its first convolution is 3x3 without pooling.
    Groups of channels are normalised in the place of batches: an example does not depend on others."""

    first: eqx.nn.Conv2d
    blocks: tuple[_Block, ...]
    last: eqx.nn.Linear

    def __init__(self, key: PRNGKeyArray, hidden: int = 64, features: int = 32):
        keys = jax.random.split(key, 2 * len(STAGES) + 2)
        self.first = eqx.nn.Conv2d(1, hidden, 3, 1, 1, key=keys[0])
        blocks, channels = [], hidden
        for i, factor in enumerate(STAGES):
            for j in range(2):
                stride = 2 if i and not j else 1
                blocks.append(_Block(keys[1 + 2 * i + j], channels, factor * hidden, stride))
                channels = factor * hidden
        self.blocks = tuple(blocks)
        self.last = eqx.nn.Linear(channels, features, key=keys[-1])

    def __call__(self, image: Float[Array, "1 height width"]) -> Float[Array, " features"]:
        """The features of one image."""
        x = jax.nn.relu(self.first(image))
        for block in self.blocks:
            x = block(x)
        return self.last(jnp.mean(x, axis=(1, 2)))


def _groups(channels: int) -> int:
    return next(groups for groups in (8, 4, 2, 1) if channels % groups == 0)
