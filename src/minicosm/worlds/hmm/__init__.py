"""Hidden Markov worlds, with and without memory, their tasks, and random ones for every assumption."""

from .hmm import HMM, Posterior, Sample, Supports
from .memory import MemoryHMM, MemoryPosterior, MemorySample
from .satisfying import (
    CoveredWorld,
    RecoverableWorld,
    balance_contrast,
    balance_dense,
    covered_world,
    full_rank_world,
    harder_memory_world,
    prompt_memory_world,
    recoverable_memory_world,
)
from .tasks import Latent, PosteriorTask, decide, margin
from .violating import (
    TaskWorld,
    degrade_rank,
    duplicate_columns_world,
    nonstationary,
    overlapping_spans_world,
    position_one_world,
    rank_deficient_world,
    separable_world,
    transient_world,
    uncovered_world,
)

__all__ = [
    "HMM",
    "CoveredWorld",
    "Latent",
    "MemoryHMM",
    "MemoryPosterior",
    "MemorySample",
    "Posterior",
    "PosteriorTask",
    "RecoverableWorld",
    "Sample",
    "Supports",
    "TaskWorld",
    "balance_contrast",
    "balance_dense",
    "covered_world",
    "decide",
    "degrade_rank",
    "duplicate_columns_world",
    "full_rank_world",
    "harder_memory_world",
    "margin",
    "nonstationary",
    "overlapping_spans_world",
    "position_one_world",
    "prompt_memory_world",
    "rank_deficient_world",
    "recoverable_memory_world",
    "separable_world",
    "transient_world",
    "uncovered_world",
]
