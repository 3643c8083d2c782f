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
from .guided import GuidedWorld, TableVerifier, tree_world
from .guided_worlds import (
    biased_coin,
    biased_coin_table,
    coin_flip_tree,
    delayed_table,
    delayed_value,
    lagged_error,
    monte_carlo_table,
    needle,
    noisy_table,
    random_tree,
    secret_parity,
    some_zero,
)
from .hmm import HMM, Posterior, Sample, Supports
from .ising import Ising
from .joint import Joint
from .knapsack import Knapsack
from .losses import Interval, entropy_rate, masked_loss
from .masks import MaskLaw
from .memory import MemoryHMM, MemoryPosterior, MemorySample
from .noisy_dyck import noisy_dyck, noisy_dyck_log_values
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
    "GuidedWorld",
    "Interval",
    "Ising",
    "Joint",
    "Knapsack",
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
    "TableVerifier",
    "TaskWorld",
    "Translation",
    "balance_contrast",
    "balance_dense",
    "biased_coin",
    "biased_coin_table",
    "coin_flip_tree",
    "covered_world",
    "decide",
    "degrade_rank",
    "delayed_table",
    "delayed_value",
    "duplicate_columns_world",
    "entropy_rate",
    "full_rank_world",
    "harder_memory_world",
    "lagged_error",
    "margin",
    "masked_loss",
    "monte_carlo_table",
    "needle",
    "noisy_dyck",
    "noisy_dyck_log_values",
    "noisy_table",
    "nonstationary",
    "overlapping_spans_world",
    "position_one_world",
    "prompt_memory_world",
    "random_tree",
    "rank_deficient_world",
    "recoverable_memory_world",
    "secret_parity",
    "separable_world",
    "some_zero",
    "transient_world",
    "tree_world",
    "uncovered_world",
]
