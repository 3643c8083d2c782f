"""Flip-flop languages: networks that remember a bit, and what keeps attention from it."""

from .monoids import is_isomorphic, monoids, smallest_monoid
from .proposition_3 import (
    distant_read,
    proposition_3,
    proposition_3_horizon,
    proposition_3_linear,
    two_layer_transformer,
    wrong_reads,
)
from .proposition_4 import (
    LeakyHead,
    attention_bound,
    dilution,
    first_diluted,
    proposition_4,
    proposition_4_tight,
    recency_dilution,
    recency_reader,
    tightest_head,
)
from .proposition_5 import (
    PositionHead,
    Scores,
    always_right,
    first_failure,
    late_failure,
    proposition_5,
    proposition_5_exact,
    proposition_5_solution,
    solution_head,
    solution_transformer,
)
from .two_unit_lstm import recurrent_memory, two_unit_lstm
from .windows import all_strings, enumerated_error, n_gram_error, n_gram_guesses

__all__ = [
    "LeakyHead",
    "PositionHead",
    "Scores",
    "all_strings",
    "always_right",
    "attention_bound",
    "dilution",
    "distant_read",
    "enumerated_error",
    "first_diluted",
    "first_failure",
    "is_isomorphic",
    "late_failure",
    "monoids",
    "n_gram_error",
    "n_gram_guesses",
    "proposition_3",
    "proposition_3_horizon",
    "proposition_3_linear",
    "proposition_4",
    "proposition_4_tight",
    "proposition_5",
    "proposition_5_exact",
    "proposition_5_solution",
    "recency_dilution",
    "recency_reader",
    "recurrent_memory",
    "smallest_monoid",
    "solution_head",
    "solution_transformer",
    "tightest_head",
    "two_layer_transformer",
    "two_unit_lstm",
    "wrong_reads",
]
