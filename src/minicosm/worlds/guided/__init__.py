"""Worlds of guided generation: a base law and a tilt of strings, with exact values."""

from .examples import (
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
from .knapsack import Knapsack
from .noisy_dyck import noisy_dyck, noisy_dyck_log_values
from .world import GuidedSample, GuidedWorld, TableVerifier, tree_world

__all__ = [
    "GuidedSample",
    "GuidedWorld",
    "Knapsack",
    "TableVerifier",
    "biased_coin",
    "biased_coin_table",
    "coin_flip_tree",
    "delayed_table",
    "delayed_value",
    "lagged_error",
    "monte_carlo_table",
    "needle",
    "noisy_dyck",
    "noisy_dyck_log_values",
    "noisy_table",
    "random_tree",
    "secret_parity",
    "some_zero",
    "tree_world",
]
