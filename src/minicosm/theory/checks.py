"""The sequences that theorems are run on: checked once, in one way."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from minicosm.adaptation.checks import as_numbers, check_token_rows


def check_sequences(
    world: Any, sequences: Any, observed: Any = None
) -> tuple[Int[np.ndarray, "n T"], Bool[np.ndarray, " T"]]:
    """Sequences of the world's tokens as rows, and which positions are observed (default: all).

    A verifier must not verify nonsense: tokens outside the vocabulary, fractions and arrays in another
    byte order are refused.
    """
    rows = np.asarray(check_token_rows("sequences", sequences, world.vocab))
    if rows.dtype not in (np.int32, np.int64):
        rows = rows.astype(np.int64)
    if observed is None:
        return rows, np.ones(rows.shape[1], bool)
    seen = np.asarray(as_numbers("observed", observed, "b"))
    if seen.shape != rows.shape[1:]:
        raise ValueError(f"observed has shape {seen.shape}; it must have shape {rows.shape[1:]}")
    return rows, seen
