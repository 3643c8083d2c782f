"""Keys and values of many strings for a model of transformers, each token at its own place.

The cache of transformers grows by a place for all rows at once. Here a row reads on from where its own string
ends, and only some of the rows at a time. Needs torch and transformers.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from transformers.cache_utils import Cache, DynamicLayer


class SharedCache(Cache):
    """Room for `count` strings of at most `places` tokens."""

    def __init__(self, count: int, places: int) -> None:
        super().__init__(layer_class_to_replicate=lambda: _Layer(self))
        self.count, self.places = count, places

    def some(self, rows: Int[np.ndarray, " fewer"]) -> "SharedCache":
        """A cache with some of the rows."""
        fewer = SharedCache(len(rows), self.places)
        for old in self.layers:
            layer = _Layer(fewer)
            layer.keys, layer.values, layer.is_initialized = old.keys[rows], old.values[rows], True
            fewer.layers.append(layer)
        return fewer

    def turn_to(self, rows: torch.Tensor, at: torch.Tensor) -> None:
        """The next tokens are those of these rows, at the places `at`, of shape (rows, new)."""
        self.rows = rows
        self.new = (rows[:, None] * self.places + at).flatten()
        self.longest = int(at.max()) + 1
        self.past = self.longest - at.shape[1]


class _Layer(DynamicLayer):
    """Keys and values of a layer, (count, places, heads, width)."""

    def __init__(self, cache: SharedCache) -> None:
        super().__init__()
        self._cache = cache

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Put new keys and values, (rows, heads, new, width), at their places; those of all places."""
        cache = self._cache
        if not self.is_initialized:
            self.keys, self.values = (
                new.new_zeros(cache.count, cache.places, new.shape[1], new.shape[3])
                for new in (key_states, value_states)
            )
            self.is_initialized: bool = True
        for kept, new in ((self.keys, key_states), (self.values, value_states)):
            kept.flatten(0, 1).index_copy_(0, cache.new, new.transpose(1, 2).flatten(0, 1))
        keys, values = (kept[:, : cache.longest] for kept in (self.keys, self.values))
        if len(cache.rows) < cache.count:  # else all of them, in order
            keys, values = (kept.index_select(0, cache.rows) for kept in (keys, values))
        return keys.transpose(1, 2), values.transpose(1, 2)

    def get_seq_length(self) -> int:
        """How many places stand before the new tokens, for the model's mask."""
        return self._cache.past
