"""Worlds: what generates the data, and everything exact about it."""

from .hmm import HMM, Posterior, Sample, Supports
from .losses import Interval, entropy_rate, masked_loss
from .memory import MemoryHMM, MemoryPosterior, MemorySample

__all__ = [
    "HMM",
    "Interval",
    "MemoryHMM",
    "MemoryPosterior",
    "MemorySample",
    "Posterior",
    "Sample",
    "Supports",
    "entropy_rate",
    "masked_loss",
]
