"""Stationary Langevin diffusions that are observed at a gap."""

from .grid import LOG_COSH, QUADRATIC, GridDiffusion, Potential
from .ornstein_uhlenbeck import DiffusionSample, OrnsteinUhlenbeck

__all__ = [
    "LOG_COSH",
    "QUADRATIC",
    "DiffusionSample",
    "GridDiffusion",
    "OrnsteinUhlenbeck",
    "Potential",
]
