"""Stationary Langevin diffusions that are observed at a gap, and contrastive tasks on their trajectories.

Of a path of `2m = floor(T / gap)` observations the anchors are every second one; with probability 1/2 the
partner of an anchor is the observation after it (label 1), otherwise a draw of the contrast law q (label 0).
"""

from .contrast import (
    Contrast,
    ContrastivePairs,
    Gaussian,
    Local,
    Stationary,
    Table,
    contrast_moments,
    contrast_table,
    contrastive_pairs,
)
from .grid import LOG_COSH, QUADRATIC, GridDiffusion, Potential
from .ornstein_uhlenbeck import DiffusionSample, OrnsteinUhlenbeck

__all__ = [
    "LOG_COSH",
    "QUADRATIC",
    "Contrast",
    "ContrastivePairs",
    "DiffusionSample",
    "Gaussian",
    "GridDiffusion",
    "Local",
    "OrnsteinUhlenbeck",
    "Potential",
    "Stationary",
    "Table",
    "contrast_moments",
    "contrast_table",
    "contrastive_pairs",
]
