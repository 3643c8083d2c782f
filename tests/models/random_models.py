"""Models with random weights drawn by NumPy, which has nothing to compile: biases and norms random too."""

import equinox as eqx
import jax
import numpy as np

from minicosm.models import (
    Transformer,
    TransformerConfig,
    Translator,
    TranslatorConfig,
    from_arrays,
)
from minicosm.models.weights import shapes


def transformer(
    config: TransformerConfig, seed: int = 0, scale: float = 0.4, shift: float = 0.1
) -> Transformer:
    """In double precision."""
    draw = np.random.default_rng(seed)
    return from_arrays(
        config,
        {name: draw.normal(size=shape) * scale + shift for name, shape in shapes(config).items()},
    )


def translator(config: TranslatorConfig, seed: int = 0, scale: float = 0.4) -> Translator:
    """In single precision; norms begin as plain normalisation, as those of a new model."""
    draw = np.random.default_rng(seed)
    skeleton = eqx.filter_eval_shape(lambda: Translator(config, key=jax.random.key(0)))
    leaves, tree = jax.tree.flatten_with_path(skeleton)
    arrays = [
        scale * draw.normal(size=leaf.shape) + ("scale" in jax.tree_util.keystr(path))
        for path, leaf in leaves
    ]
    return jax.tree.unflatten(tree, [array.astype(np.float32) for array in arrays])
