"""Guided generation, exactly: prefix trees as Markov chains, laws and costs of samplers, and theorems."""

from . import constrained, dyck_sandbox, laws, mixing
from .backtracking import (
    Backtracking,
    backtracking,
    lagged_errors,
    query_count,
)
from .closed_forms import biased_coin_errors, delayed_errors, last_token_errors
from .distances import kl, tv
from .dyck_sandbox import equation_3_4, flipped_diversity
from .guidance import (
    feasibility_stalls,
    first_leaf,
    first_leaf_of_exact_values,
    plain_guidance,
    spread_of_the_first_leaf,
)
from .hardness import (
    proposition_3_1_1,
    proposition_3_1_2,
    searches,
    short_queries,
    superincreasing_weights,
    theorem_3_1_1,
    theorem_3_1_1_as_printed,
    theorem_3_1_2,
    tokenwise_calls_of_uniform_bits,
    verifier_calls,
)
from .holding import HoldingWalk, holding_on_rejection, holding_with_an_envelope, repeated_proposals
from .lumped_tree import LumpedTree
from .prefix_tree import Amplification, PrefixTree
from .relaxation import coverage, decay, gap_bounds, time_to_the_root
from .walk import (
    convergence_with_laziness,
    footnote_12_as_printed,
    law_at_every_time,
    law_of_the_leaves,
    least_mass_of_the_leaves,
    mass_of_the_leaves,
    masses_of_levels,
    no_convergence_without_laziness,
    scaled_below_the_leaves,
    scaled_levels,
    sinclair_jerrum,
    spectrum,
    stationary_law,
)

__all__ = [
    "Amplification",
    "Backtracking",
    "HoldingWalk",
    "LumpedTree",
    "PrefixTree",
    "backtracking",
    "biased_coin_errors",
    "constrained",
    "convergence_with_laziness",
    "coverage",
    "decay",
    "delayed_errors",
    "dyck_sandbox",
    "equation_3_4",
    "feasibility_stalls",
    "first_leaf",
    "first_leaf_of_exact_values",
    "flipped_diversity",
    "footnote_12_as_printed",
    "gap_bounds",
    "holding_on_rejection",
    "holding_with_an_envelope",
    "kl",
    "lagged_errors",
    "last_token_errors",
    "law_at_every_time",
    "law_of_the_leaves",
    "laws",
    "least_mass_of_the_leaves",
    "mass_of_the_leaves",
    "masses_of_levels",
    "mixing",
    "no_convergence_without_laziness",
    "plain_guidance",
    "proposition_3_1_1",
    "proposition_3_1_2",
    "query_count",
    "repeated_proposals",
    "scaled_below_the_leaves",
    "scaled_levels",
    "searches",
    "short_queries",
    "sinclair_jerrum",
    "spectrum",
    "spread_of_the_first_leaf",
    "stationary_law",
    "superincreasing_weights",
    "theorem_3_1_1",
    "theorem_3_1_1_as_printed",
    "theorem_3_1_2",
    "time_to_the_root",
    "tokenwise_calls_of_uniform_bits",
    "tv",
    "verifier_calls",
]
