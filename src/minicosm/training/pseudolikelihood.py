"""Masked pseudolikelihood of exponential families, fitted by damped Newton steps on count tables.

The data are counts: `counts[m, x]` is how often the sequence x was seen with the mask `K_m`. One example
with mask K has the loss `-log p_theta(x_K | x_-K, K)`, its gradient in theta is `-(T(x) - E[T | x_-K, K])`
and its Hessian `Cov(T | x_-K, K)`, with weights `p_theta(x) P(K | x)`. The loss is convex.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from minicosm.models.checks import (
    check_count,
    check_finite,
    check_flag,
    check_kind,
    check_memory,
    check_number,
    numbers_of,
)
from minicosm.worlds import Joint, MaskLaw
from minicosm.worlds.arrays import parameter

MOST = 2**20  # sequences of a table


class Fit(NamedTuple):
    """Estimates for a batch of data sets."""

    theta: Float[np.ndarray, "*batch d"]
    gradient: Float[np.ndarray, "*batch"]  # largest entry of the gradient of the mean loss
    converged: Bool[np.ndarray, "*batch"]  # False: no minimum found, perhaps at infinity


def draw_counts(
    rng: np.random.Generator,
    joint: Joint,
    masks: MaskLaw,
    examples: int,
    *,
    masks_per_example: int = 1,
    repeats: int = 1,
) -> Float[np.ndarray, "repeats M states"]:
    """Counts of `repeats` data sets: each example is drawn once and gets its own masks, kept fixed."""
    check_kind("rng", rng, np.random.Generator, "a NumPy generator, as np.random.default_rng(0)")
    check_kind("joint", joint, Joint, "a Joint")
    check_kind("masks", masks, MaskLaw, "a MaskLaw")
    masks.check(joint)
    for name, count in (
        ("examples", examples),
        ("masks_per_example", masks_per_example),
        ("repeats", repeats),
    ):
        if check_count(name, count) >= 2**62:
            raise ValueError(f"{name} is {count}; it must be less than 2^62")
    if masks_per_example * examples >= 2**62:
        raise ValueError(
            f"examples times masks_per_example is {masks_per_example * examples}; it must be less "
            "than 2^62"
        )
    states = len(joint.probabilities) * (2 * len(masks.masks) + 1)
    check_memory(f"the table of counts of {repeats} repeats", repeats * states, 8)
    p = joint.probabilities
    table = masks.table(len(p))
    safe = np.where(table.sum(axis=1, keepdims=True) > 0, table, 1 / table.shape[1])
    drawn = rng.multinomial(examples, p / p.sum(), size=repeats)
    # Given x, m masks of each of its examples are m times as many independent draws.
    counts = rng.multinomial(masks_per_example * drawn, safe / safe.sum(axis=1, keepdims=True))
    return np.moveaxis(counts, -1, -2).astype(np.float64) / masks_per_example


def averaged_counts(
    sequences: Float[np.ndarray, "*batch states"], masks: MaskLaw
) -> Float[np.ndarray, "*batch M states"]:
    """Every example with every mask, weighted by `P(K | x)` (Eq. 4.2)."""
    check_kind("masks", masks, MaskLaw, "a MaskLaw")
    sequences = np.asarray(numbers_of("sequences", sequences))
    states = sequences.shape[-1] if sequences.ndim else 0
    power = round(states ** (1 / masks.length)) ** masks.length
    if not states or power != states or (masks.looks and states != len(masks.weights)):
        raise ValueError(
            f"sequences has shape {sequences.shape}; it must end in a count for each of the sequences of "
            f"{masks.length} tokens"
        )
    parameter("sequences", sequences, sequences.shape)
    table = masks.table(sequences.shape[-1])
    return sequences[..., None, :] * table.T


def loss(
    theta: Float[np.ndarray, "*batch d"],
    counts: Float[np.ndarray, "*batch M states"],
    statistics: Float[np.ndarray, "states d"],
    masks: MaskLaw,
    vocab: int,
    *,
    mask_is_evidence: bool = True,
) -> Float[np.ndarray, "*batch"]:
    """The mean of `-log p_theta(x_K | x_-K, K)` over the counts."""
    theta, counts, statistics = _checked(theta, counts, statistics, masks, vocab, mask_is_evidence)
    total = np.zeros(theta.shape[:-1])
    for m, mask, logs in _weights(theta, statistics, masks, mask_is_evidence):
        n = counts[..., m, :]
        context = _log_sums(logs, mask, vocab)
        total = total - np.where(n > 0, n * (logs - context), 0).sum(axis=-1)
    return np.asarray(total / counts.sum(axis=(-1, -2)))


def derivatives(
    theta: Float[np.ndarray, "*batch d"],
    counts: Float[np.ndarray, "*batch M states"],
    statistics: Float[np.ndarray, "states d"],
    masks: MaskLaw,
    vocab: int,
    *,
    mask_is_evidence: bool = True,
) -> tuple[Float[np.ndarray, "*batch d"], Float[np.ndarray, "*batch d d"]]:
    """Gradient and Hessian of the mean loss.

    Without `mask_is_evidence` the factor `P(K | x)` is left out of the model's conditional: right for
    masks that do not look, and inconsistent for masks that do.
    """
    theta, counts, statistics = _checked(theta, counts, statistics, masks, vocab, mask_is_evidence)
    d = statistics.shape[1]
    gradient = np.zeros((*theta.shape[:-1], d))
    hessian = np.zeros((*theta.shape[:-1], d, d))
    length = masks.length
    for m, mask, logs in _weights(theta, statistics, masks, mask_is_evidence):
        n = counts[..., m, :]
        p = np.exp(logs - _log_sums(logs, mask, vocab))  # p_theta(x_K | x_-K, K)
        weight = p * _sums(n, mask, vocab, length)  # expected counts, given the contexts
        mean = _sums(p[..., None] * statistics, mask, vocab, length, trailing=1)
        gradient += np.einsum("...x,xd->...d", weight - n, statistics)
        centred = statistics - mean
        hessian += np.einsum("...x,...xd,...xe->...de", weight, centred, centred, optimize=True)
    total = counts.sum(axis=(-1, -2))
    return gradient / total[..., None], hessian / total[..., None, None]


def fit(
    counts: Float[np.ndarray, "*batch M states"],
    statistics: Float[np.ndarray, "states d"],
    masks: MaskLaw,
    vocab: int,
    *,
    mask_is_evidence: bool = True,
    steps: int = 60,
    tolerance: float = 1e-9,
) -> Fit:
    """Minimise the loss of every data set of the batch from theta = 0.

    Newton steps with a ridge of 1e-10 are halved until the loss falls. A data set whose minimum is at
    infinity, or not unique, does not converge: `converged` says so, and no number is invented.
    """
    check_count("steps", steps)
    check_number("tolerance", tolerance, above=0)
    _, counts, statistics = _checked(..., counts, statistics, masks, vocab, mask_is_evidence)
    d = statistics.shape[1]
    given = {"mask_is_evidence": mask_is_evidence}
    theta = np.zeros((*counts.shape[:-2], d))
    value = loss(theta, counts, statistics, masks, vocab, **given)
    for _ in range(steps):
        gradient, hessian = derivatives(theta, counts, statistics, masks, vocab, **given)
        if np.abs(gradient).max(initial=0) < tolerance:
            break
        step = np.linalg.solve(hessian + 1e-10 * np.eye(d), gradient[..., None])[..., 0]
        rate = np.ones(value.shape)
        for _ in range(30):
            new = theta - rate[..., None] * step
            reached = loss(new, counts, statistics, masks, vocab, **given)
            worse = ~(reached <= value + 1e-12)
            if not worse.any():
                break
            rate = np.where(worse, rate / 2, rate)
        theta, value = np.where(worse[..., None], theta, new), np.where(worse, value, reached)
    gradient, hessian = derivatives(theta, counts, statistics, masks, vocab, **given)
    largest = np.abs(gradient).max(axis=-1)
    curved = np.linalg.eigvalsh(hessian)[..., 0] > 1e-9
    return Fit(theta, largest, (largest < 1e3 * tolerance) & curved)


def _checked(
    theta: Any, counts: Any, statistics: Any, masks: Any, vocab: Any, evidence: Any
) -> tuple[Any, np.ndarray, np.ndarray]:
    """The arrays, if the counts are of data sets that are not empty, and statistics and theta fit."""
    check_kind("masks", masks, MaskLaw, "a MaskLaw")
    check_count("vocab", vocab)
    check_flag("mask_is_evidence", evidence)
    if vocab > MOST or vocab**masks.length > MOST:
        raise ValueError(f"vocab is {vocab}; it has more than {MOST} sequences of {masks.length}")
    counts = np.asarray(numbers_of("counts", counts))
    statistics = np.asarray(numbers_of("statistics", statistics))
    if theta is not ...:
        theta = np.asarray(numbers_of("theta", theta))
        if theta.ndim == 0 or theta.shape[-1:] != statistics.shape[-1:]:
            raise ValueError(
                f"theta has shape {theta.shape}; it must end in an entry for each column of statistics, "
                f"which have shape {statistics.shape}"
            )
        if theta.shape[:-1] != counts.shape[:-2]:
            raise ValueError(
                f"theta has shape {theta.shape} and counts {counts.shape}; their batches must be equal"
            )
        check_finite("theta", theta)
    check_finite("statistics", statistics)
    _check(counts, statistics, masks, vocab)
    return theta, counts, statistics


def _check(counts: np.ndarray, statistics: np.ndarray, masks: MaskLaw, vocab: int) -> None:
    """Raise unless the shapes fit, and no data set is empty."""
    states = vocab**masks.length
    if statistics.ndim != 2 or statistics.shape[0] != states or statistics.shape[1] == 0:
        raise ValueError(
            f"statistics have shape {statistics.shape}; they need a row for each of {states} sequences "
            "and at least one column"
        )
    if counts.shape[-2:] != (len(masks.masks), states):
        raise ValueError(
            f"counts have shape {counts.shape}; they must end in ({len(masks.masks)}, {states}), a row "
            "per mask and a column per sequence"
        )
    parameter("counts", counts, counts.shape)
    if not counts.sum(axis=(-1, -2)).all():
        raise ValueError("the counts of a data set are all zero; it must have at least one example")


def _weights(
    theta: np.ndarray, statistics: np.ndarray, masks: MaskLaw, evidence: bool
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """For every mask in use: its index, itself, and `log (p_theta(x) P(K | x))` up to a constant."""
    energies = theta @ statistics.T
    for m, mask in enumerate(masks.masks):
        if evidence and masks.looks:
            with np.errstate(divide="ignore"):
                yield m, mask, energies + np.log(masks.weights[:, m])
        else:
            yield m, mask, energies


def _sums(
    values: np.ndarray, mask: np.ndarray, vocab: int, length: int, trailing: int = 0
) -> np.ndarray:
    """Sums over the masked positions, repeated for every state of the context; with batch axes."""
    return _over_masked(np.sum, values, mask, vocab, length, trailing)


def _over_masked(
    reduce: Callable[..., np.ndarray],
    values: np.ndarray,
    mask: np.ndarray,
    vocab: int,
    length: int,
    trailing: int = 0,
) -> np.ndarray:
    states_axis = values.ndim - 1 - trailing
    shape = values.shape[:states_axis] + (vocab,) * length + values.shape[states_axis + 1 :]
    axes = tuple(int(i) + states_axis for i in np.flatnonzero(mask))
    reduced = reduce(values.reshape(shape), axis=axes, keepdims=True)
    return np.broadcast_to(reduced, shape).reshape(values.shape)


def _log_sums(logs: np.ndarray, mask: np.ndarray, vocab: int) -> np.ndarray:
    """`log sum exp` over the masked positions; zero where the whole context is impossible.

    Each context has its own maximum: a context far below the most likely one would underflow.
    """
    highest = _over_masked(np.max, logs, mask, vocab, len(mask))
    highest = np.where(np.isfinite(highest), highest, 0)
    sums = _sums(np.exp(logs - highest), mask, vocab, len(mask))
    with np.errstate(divide="ignore"):
        return np.where(sums > 0, np.log(sums) + highest, 0)
