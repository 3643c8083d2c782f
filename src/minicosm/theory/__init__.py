"""Theorems as functions: conditions, a construction or an identity, and what came out.

One folder for each line of work; here is what they share.
"""

from .certify import (
    Evidence,
    Statement,
    all_sequences,
    both_scores,
    certify,
    sample_sequences,
)
from .linear_algebra import RankTest, rank_test
from .theorem import IDENTITY, Condition, Theorem

__all__ = [
    "IDENTITY",
    "Condition",
    "Evidence",
    "RankTest",
    "Statement",
    "Theorem",
    "all_sequences",
    "both_scores",
    "certify",
    "rank_test",
    "sample_sequences",
]
