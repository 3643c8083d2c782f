"""A penalty that sharpens the attention of some layers."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from minicosm.models.checks import check_count
from minicosm.worlds.arrays import AnyArray, check_kind, check_reals

from .attention_penalty import AttentionPenalty


class LayerPenalty(AttentionPenalty):
    """An `AttentionPenalty` of these layers alone, counted from 0; the others are left free."""

    layers: tuple[int, ...] = eqx.field(static=True, default=(0,))

    def __check_init__(self) -> None:
        check_kind("layers", self.layers, tuple, "a tuple of layers")
        if not self.layers:
            raise ValueError("layers is (); it must have at least one layer")
        for layer in self.layers:
            check_count("a layer in layers", layer, least=0)

    def of(self, attention: Float[AnyArray, "layers H T S"]) -> Float[Array, ""]:
        """R of the attention of one string, over these layers."""
        rows = check_reals("attention", attention, (None, None, None, None))
        if np.max(self.layers) >= rows.shape[0]:
            raise ValueError(
                f"layers has {np.max(self.layers)}; attention has the layers 0..{rows.shape[0] - 1}"
            )
        return super().of(rows[np.array(self.layers)])
