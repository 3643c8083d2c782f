"""What a contrastive task says about a diffusion (Liu's thesis, Section 2.1).

The task is in `minicosm.training.trajectory_contrast`, the diffusions in `minicosm.worlds`. Here are the
theorems on them: the optimum, mixing of points and of pairs, the length of a trajectory, what a small loss
says about the kernel, and what a contrast law costs. Kernels have a row for the point that a chain is at.
"""

from .length import (
    exponent,
    exponential_mixing,
    generalisation_bound,
    printed_side,
    root_mixing,
    theorem_1_proof_as_printed,
    trajectory_length,
)
from .loss_theorems import (
    Comparison,
    Global,
    c_q,
    comparison,
    global_quantities,
    lemma_1,
    lemma_6,
    local_moment,
    moment_limit,
    remark_1,
    scaled_ratio,
    theorem_2,
    theorem_2_sharper,
    theorem_3,
)
from .mixing import (
    PairMixing,
    beta,
    equation_2_2,
    equation_2_2_as_printed,
    lemma_3,
    lemma_4,
    lemma_4_as_printed,
    lemma_5,
    lemma_5_as_printed,
    pair_mixing,
)
from .price import optimal_loss, price

__all__ = [
    "Comparison",
    "Global",
    "PairMixing",
    "beta",
    "c_q",
    "comparison",
    "equation_2_2",
    "equation_2_2_as_printed",
    "exponent",
    "exponential_mixing",
    "generalisation_bound",
    "global_quantities",
    "lemma_1",
    "lemma_3",
    "lemma_4",
    "lemma_4_as_printed",
    "lemma_5",
    "lemma_5_as_printed",
    "lemma_6",
    "local_moment",
    "moment_limit",
    "optimal_loss",
    "pair_mixing",
    "price",
    "printed_side",
    "remark_1",
    "root_mixing",
    "scaled_ratio",
    "theorem_1_proof_as_printed",
    "theorem_2",
    "theorem_2_sharper",
    "theorem_3",
    "trajectory_length",
]
