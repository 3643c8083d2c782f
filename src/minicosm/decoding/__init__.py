"""Decoding: samplers for any generator and any verifier, with exact counters of their calls."""

from .ancestral import Ancestral
from .backtracking import Backtracking
from .engine import sample
from .trace import PADDING, Status, Trace
from .verifiers import (
    CallableVerifier,
    DyckVerifier,
    ProbeVerifier,
    RandomVerifier,
    Thresholded,
)

__all__ = [
    "PADDING",
    "Ancestral",
    "Backtracking",
    "CallableVerifier",
    "DyckVerifier",
    "ProbeVerifier",
    "RandomVerifier",
    "Status",
    "Thresholded",
    "Trace",
    "sample",
]
