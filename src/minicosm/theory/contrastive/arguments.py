"""Rules for what the functions of this folder are given (see `theory.checks`)."""

from typing import Any

import numpy as np

from minicosm.worlds.diffusions import (
    Gaussian,
    GridDiffusion,
    Local,
    OrnsteinUhlenbeck,
    Stationary,
    Table,
)

from ..checks import Given, kind, reals

CONTRAST = kind(Stationary, Gaussian, Local, Table)
WORLD = kind(OrnsteinUhlenbeck, GridDiffusion)
SUM = 1e-8


def kernels(name: str, value: Any, given: Given) -> np.ndarray:
    """Row-stochastic matrices without zeros: the last two axes are square."""
    P = reals()(name, value, given)
    if P.ndim < 2 or P.shape[-1] != P.shape[-2] or 0 in P.shape:
        raise ValueError(f"{name} has shape {P.shape}; its last two axes must have the same size")
    if not (P > 0).all():
        raise ValueError(f"{name} goes down to {P.min():.2g}; every entry must be positive")
    off = np.abs(P.sum(axis=-1) - 1).max()
    if off > SUM:
        raise ValueError(f"{name} has a row that is off one by {off:.2g}; every row must sum to 1")
    return P


def like(other: str) -> Any:
    """Kernels of the shape of another argument."""

    def rule(name: str, value: Any, given: Given) -> np.ndarray:
        P = kernels(name, value, given)
        if P.shape != np.shape(given[other]):
            raise ValueError(
                f"{name} has shape {P.shape}; it must have the shape of {other}, {np.shape(given[other])}"
            )
        return P

    return rule


def law_of(other: str) -> Any:
    """A law for each kernel of another argument."""

    def rule(name: str, value: Any, given: Given) -> np.ndarray:
        law = reals()(name, value, given)
        wanted = np.shape(given[other])[:-1]
        if law.shape != wanted:
            raise ValueError(f"{name} has shape {law.shape}; it must have shape {wanted}")
        if not (law > 0).all() or np.abs(law.sum(axis=-1) - 1).max() > SUM:
            raise ValueError(f"{name} is no law; its entries must be positive and sum to 1")
        return law

    return rule
