"""Worlds: what generates the data, and everything exact about it."""

from .hmm import HMM, Posterior, Sample, Supports
from .losses import Interval, entropy_rate, masked_loss
from .memory import MemoryHMM, MemoryPosterior, MemorySample
from .tasks import Latent, PosteriorTask, decide, margin

__all__ = [
    "HMM",
    "Interval",
    "Latent",
    "MemoryHMM",
    "MemoryPosterior",
    "MemorySample",
    "Posterior",
    "PosteriorTask",
    "Sample",
    "Supports",
    "decide",
    "entropy_rate",
    "margin",
    "masked_loss",
]
