"""What is asked of decoded targets: are they translations, how likely, how often do they stutter."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from minicosm.theory.masking.dependence import stutter_pairs
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
    found = log_probs(world, source, source_lengths, target, lengths)
    good = np.isfinite(found)
    mean = float(found[good].mean()) if good.any() else float("nan")
    return Quality(float(good.mean()), mean, float(np.mean(lengths)))


def log_probs(
    world: Fertility,
    source: Int[np.ndarray, "n S"],
    source_lengths: Int[np.ndarray, " n"],
    target: Int[np.ndarray, "n T"],
    lengths: Int[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """`log P(target | source)` of every row; -inf if it is no translation. All rows at once."""
    if world.swap:
        raise ValueError(f"swap is {world.swap}; phrases that may be turned round are not known")
    source, target = np.asarray(source), np.asarray(target)
    n, T = target.shape
    rows = np.full((n, T + world.phrase), -1)
    rows[:, :T] = np.where(np.arange(T) < np.asarray(lengths)[:, None], target, -1)
    reached = np.full(
        (n, T + 1), -np.inf
    )  # [:, j]: log weight of the phrases so far having j tokens
    reached[:, 0] = 0
    with np.errstate(divide="ignore"):
        log_q = np.log(world.q)
    for s in range(source.shape[1]):
        following = np.full_like(reached, -np.inf)
        fits = np.ones((n, T), bool)
        for o in range(world.phrase):
            fits = fits & (rows[:, o : o + T] == (source[:, s] * world.phrase + o)[:, None])
            here = np.where(fits, reached[:, :T] + log_q[o], -np.inf)
            end = T - o
            following[:, o + 1 :] = np.logaddexp(following[:, o + 1 :], here[:, :end])
        live = s < np.asarray(source_lengths)
        reached = np.where(live[:, None], following, reached)
    return reached[np.arange(n), np.asarray(lengths)]


def stutter_share(tokens: Int[np.ndarray, "n T"], lengths: Int[np.ndarray, " n"]) -> float:
    """The share of neighbouring pairs that are equal."""
    pairs = int(np.maximum(np.asarray(lengths) - 1, 0).sum())
    return float(stutter_pairs(tokens, lengths).sum() / max(pairs, 1))
