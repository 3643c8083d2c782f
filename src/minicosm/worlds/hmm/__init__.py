"""Hidden Markov worlds, with and without memory, their tasks, and random ones for every assumption."""

from .doubly_stochastic import doubly_stochastic_world, gaussian_world
from .gaussian import GaussianHMM, GaussianSample
from .hmm import HMM, Posterior, Sample, Supports
from .masked_tasks import GaussianPredictor, MaskedTask, predictor
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
    "GaussianHMM",
    "GaussianPredictor",
    "GaussianSample",
    "Latent",
    "MaskedTask",
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
    "doubly_stochastic_world",
    "duplicate_columns_world",
    "full_rank_world",
    "gaussian_world",
    "harder_memory_world",
    "margin",
    "nonstationary",
    "overlapping_spans_world",
    "position_one_world",
    "predictor",
    "prompt_memory_world",
    "rank_deficient_world",
    "recoverable_memory_world",
    "separable_world",
    "transient_world",
    "uncovered_world",
]
