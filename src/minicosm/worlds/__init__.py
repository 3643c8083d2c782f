"""Worlds: what generates the data, and everything exact about it."""

from .clique_ising import CliqueIsing, LumpedClique
from .dyck import ClosingFloor, ClosingQuery, Dyck, DyckSample
from .dyck_complete import CompleteDyck
from .fertility import Fertility, PhrasePosterior, Translation
from .generators import (
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
from .hmm import HMM, Posterior, Sample, Supports
from .ising import Ising
from .joint import Joint
from .losses import Interval, entropy_rate, masked_loss
from .masks import MaskLaw
from .memory import MemoryHMM, MemoryPosterior, MemorySample
from .tasks import Latent, PosteriorTask, decide, margin
from .violations import (
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
    "CliqueIsing",
    "ClosingFloor",
    "ClosingQuery",
    "CompleteDyck",
    "CoveredWorld",
    "Dyck",
    "DyckSample",
    "Fertility",
    "Interval",
    "Ising",
    "Joint",
    "Latent",
    "LumpedClique",
    "MaskLaw",
    "MemoryHMM",
    "MemoryPosterior",
    "MemorySample",
    "PhrasePosterior",
    "Posterior",
    "PosteriorTask",
    "RecoverableWorld",
    "Sample",
    "Supports",
    "TaskWorld",
    "Translation",
    "balance_contrast",
    "balance_dense",
    "covered_world",
    "decide",
    "degrade_rank",
    "duplicate_columns_world",
    "entropy_rate",
    "full_rank_world",
    "harder_memory_world",
    "margin",
    "masked_loss",
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
