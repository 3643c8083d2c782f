"""Lemmas 2.2.15 to 2.2.20, each run on given data.

Errors are relative to the largest wanted value, if that exceeds 1. A network that is not as wide as
its lemma says has the difference in units as its error.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from minicosm.adaptation.checks import check_reals

from ..checks import POSITIVE
from ..signatures import checked
from ..theorem import IDENTITY, Condition, Theorem
from .relu import (
    Stage,
    index,
    interpolate,
    linear,
    orthonormal,
    smallest_gap,
    switch,
    switch_printed,
    which,
)

PRINTED = 1e-3
"""How far off a printed form has to be to count as wrong."""


@checked()
def lemma_2_2_15(
    points: Float[np.ndarray, "n inputs"], values: Float[np.ndarray, "n outputs"]
) -> Theorem:
    """A ReLU network of two layers and 2n units interpolates n distinct points."""
    stage = interpolate(points, values)
    gap = smallest_gap(points @ stage.up[:, 0])
    condition = 1.0 if np.isinf(gap) else 1 / gap
    error = _worst(_error(stage(points), values), abs(stage.width - 2 * len(points)))
    return _network("Lemma 2.2.15", error, stage, details={"condition": condition})


@checked()
def lemma_2_2_16(given: Float[np.ndarray, "count n"], v: Float[np.ndarray, " n"]) -> Theorem:
    """For nonzero vectors there are n - 2 orthonormal ones, orthogonal to the vector of ones, whose
    span holds none of the given: those orthogonal to ones and to a v with `v . x != 0` for all x.

    A vector that is closer to the span than rounding counts as one whole error.
    """
    n = given.shape[1]
    if n < 3 or not v.any() or not given.any(axis=1).all():
        raise ValueError(
            f"given and v have {n} coordinates; they must be nonzero vectors of at least 3"
        )
    along = float(np.abs(given @ v).min())
    u = orthonormal(np.stack([np.ones(n), v]), n - 2)
    wrong = _worst(np.abs(u @ u.T - np.eye(n - 2)).max(), np.abs(u @ np.ones(n)).max())
    distance = float(np.linalg.norm(given - given @ u.T @ u, axis=1).min())
    return Theorem.identity(
        "Lemma 2.2.16",
        _worst(wrong, not distance > IDENTITY),
        conditions=(Condition("v is orthogonal to no vector", along > 0, {"least": along}),),
        details={"distance": distance},
    )


@checked(bound=POSITIVE)
def lemma_2_2_17(
    x: Float[np.ndarray, "count n"], y: Float[np.ndarray, " count"], bound: float
) -> Theorem:
    """A ReLU network of two layers and 2n units has f(x, y) = x_y for x in [0, M]^n and y = 1..n."""
    n = x.shape[1]
    check_reals("y", y, least=1, most=n)
    if (y != np.round(y)).any():
        raise ValueError(f"y has an entry that is not among 1..{n}")
    stage = index(n, bound)
    wanted = x[np.arange(len(x)), np.asarray(y, int) - 1]
    error = _worst(_error(stage(np.column_stack([x, y]))[:, 0], wanted), abs(stage.width - 2 * n))
    inside = bool((x >= 0).all() and (x <= bound).all())
    return _network("Lemma 2.2.17", error, stage, (Condition("x in [0, M]", inside, {"M": bound}),))


@checked(threshold=POSITIVE)
def lemma_2_2_18(x: Float[np.ndarray, "count n"], threshold: float) -> Theorem:
    """A ReLU network of two layers and 2n units names the only entry that is not zero and above M:
    `sum_i i (relu(x_i) - relu(x_i - M)) / M`."""
    n = x.shape[1]
    stage = which(n, threshold)
    single = bool(((x != 0).sum(axis=1) == 1).all() and (x.max(axis=1) > threshold).all())
    error = _worst(_error(stage(x)[:, 0], x.argmax(axis=1) + 1.0), abs(stage.width - 2 * n))
    return _network("Lemma 2.2.18", error, stage, (Condition("one entry above M", single),))


@checked()
def lemma_2_2_19(
    stages: Sequence[Stage], x: Float[np.ndarray, "count inputs"], *, printed: bool = False
) -> Theorem:
    """A ReLU network of two layers has f(y, x) = f_y(x) for K networks of m units, with 2Km + 2K units.

    As printed it is too large by all other biases, and wrong where a preactivation of network y - 1
    is negative.
    """
    if not stages or any(
        s.up.shape[0] != x.shape[1] or len(s.down_bias) != len(stages[0].down_bias) for s in stages
    ):
        raise ValueError(
            f"stages are {len(stages)}, x has shape {x.shape}; there must be at least one stage, all of "
            f"{x.shape[1]} inputs and of one number of outputs"
        )
    if printed and len({s.width for s in stages}) > 1:
        raise ValueError("stages differ in width; as printed all are of one")
    bound = max(float(np.abs(x @ s.up + s.up_bias).max()) for s in stages)
    chosen = switch_printed(stages, bound) if printed else switch(stages, bound)
    error = 0.0
    for number, stage in enumerate(stages, 1):
        given = np.column_stack([np.full(len(x), float(number)), x])
        error = _worst(error, _error(chosen(given), stage(x)))
    if printed:
        return _network("Lemma 2.2.19 as printed", error, chosen, within=PRINTED)
    units = 2 * sum(stage.width + 1 for stage in stages)
    return _network("Lemma 2.2.19", _worst(error, abs(chosen.width - units)), chosen)


@checked()
def lemma_2_2_20(W: Float[np.ndarray, "n n"], x: Float[np.ndarray, "count n"]) -> Theorem:
    """`W x = [I, -I] relu([W; -W] x)` with 2n units, for |W| <= 2 with matrices of norm at most 2
    sqrt(2)."""
    stage, norm = linear(W), float(np.linalg.norm(W, 2))
    largest = max(np.linalg.norm(stage.up, 2), np.linalg.norm(stage.down, 2))
    error = _worst(
        _error(stage(x), x @ W.T),
        float(largest - 2 * 2**0.5),
        abs(stage.width - 2 * len(W)),
    )
    small = Condition("|W| is at most 2", norm <= 2 * (1 + IDENTITY), {"norm": norm})
    return _network("Lemma 2.2.20", error, stage, (small,))


def _worst(*errors: float | int) -> float:
    """The largest error; NaN if one is NaN."""
    return float(np.max(errors))


def _error(values: Float[np.ndarray, "..."], wanted: Float[np.ndarray, "..."]) -> float:
    return float(np.abs(values - wanted).max() / max(1.0, np.abs(wanted).max()))


def _network(
    name: str,
    error: float,
    stage: Stage,
    conditions: tuple[Condition, ...] = (),
    *,
    within: float = IDENTITY,
    details: dict[str, float] | None = None,
) -> Theorem:
    result = Theorem.identity(
        name,
        error,
        within=within,
        conditions=conditions,
        details={"width": stage.width, **(details or {})},
    )
    return replace(result, construction=stage)
