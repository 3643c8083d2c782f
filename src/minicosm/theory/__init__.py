"""Theorems as functions: conditions, a construction, a certificate."""

from .certify import Evidence, Statement, all_sequences, certify, sample_sequences
from .theorem import Certificate, Condition, Theorem

__all__ = [
    "Certificate",
    "Condition",
    "Evidence",
    "Statement",
    "Theorem",
    "all_sequences",
    "certify",
    "sample_sequences",
]
