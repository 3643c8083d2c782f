"""What is asked of decoded targets: are they translations, how likely, how often do they stutter."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from minicosm.models.stutter import stutter_pairs
from minicosm.worlds import Fertility


class Quality(NamedTuple):
    """Shares and means over targets."""

    valid: float
    """Share of targets that are translations of their sources."""
    log_prob: float
    """Mean log-probability under the world of those that are; NaN if none is."""
    length: float
    """Mean number of tokens."""


def quality(
    world: Fertility,
    source: Int[np.ndarray, "n S"],
    source_lengths: Int[np.ndarray, " n"],
    target: Int[np.ndarray, "n T"],
    lengths: Int[np.ndarray, " n"],
) -> Quality:
    found = world.log_probs(source, source_lengths, target, lengths)
    good = np.isfinite(found)
    mean = float(found[good].mean()) if good.any() else float("nan")
    return Quality(float(good.mean()), mean, float(np.mean(lengths)))


def stutter_share(tokens: Int[np.ndarray, "n T"], lengths: Int[np.ndarray, " n"]) -> float:
    """The share of neighbouring pairs that are equal."""
    pairs = int(np.maximum(np.asarray(lengths) - 1, 0).sum())
    return float(stutter_pairs(tokens, lengths).sum() / max(pairs, 1))


def by_seed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Numbers of every seed, nested alike, as columns: a list with an entry per seed in every place."""
    return {
        name: by_seed([row[name] for row in rows])
        if isinstance(value, dict)
        else [row[name] for row in rows]
        for name, value in rows[0].items()
    }
