"""Progressive distillation of sparse parities (Section 4.2 of B. Liu's thesis): the first step of a teacher,
what a student's first gradient sees of it, and what its second stage can fit."""

from .first_stage import (
    claim_7,
    corollary_3,
    corollary_4,
    lemma_63,
    lemma_64,
    sampled_step_error,
    student_gradient,
)
from .fourier import Correlations, monomial_correlations, sign_cube, walsh_hadamard
from .majority import majority_coefficient, majority_gap, majority_scaling
from .one_step import (
    Neurons,
    expected_gradient,
    first_gradient,
    linear_coefficients,
    one_step_teacher,
    stepped,
    support_recall,
    symmetric_start,
)
from .second_stage import (
    Fit,
    collinear_loss,
    lemma_65_error,
    ridge_error,
    student_fits,
    theorem_23_student,
    unequal_example,
)
from .separation import batch_for_recall, lemma_66, recall_by_batch
from .transformers import proposition_9, proposition_10

__all__ = [
    "Correlations",
    "Fit",
    "Neurons",
    "batch_for_recall",
    "claim_7",
    "collinear_loss",
    "corollary_3",
    "corollary_4",
    "expected_gradient",
    "first_gradient",
    "lemma_63",
    "lemma_64",
    "lemma_65_error",
    "lemma_66",
    "linear_coefficients",
    "majority_coefficient",
    "majority_gap",
    "majority_scaling",
    "monomial_correlations",
    "one_step_teacher",
    "proposition_9",
    "proposition_10",
    "recall_by_batch",
    "ridge_error",
    "sampled_step_error",
    "sign_cube",
    "stepped",
    "student_fits",
    "student_gradient",
    "support_recall",
    "symmetric_start",
    "theorem_23_student",
    "unequal_example",
    "walsh_hadamard",
]
