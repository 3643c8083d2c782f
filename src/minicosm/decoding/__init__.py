"""Decoding: samplers for any generator and any verifier, with exact counters of their calls."""

from .ancestral import Ancestral
from .backtracking import Backtracking
from .beam import Beams, beam
from .blocks import BlockBestOfN
from .engine import Sampler, sample
from .generate import generate
from .hugging_face import HuggingFaceGenerator
from .refinement import Refinement, refine
from .settings import Draw
from .tokenwise import ActionLevelRejection, TokenwiseRejection, ValueGuided, VerifierEnumeration
from .trace import PADDING, Status, Trace
from .truncation import Truncated, truncate
from .verifiers import (
    CallableVerifier,
    DyckVerifier,
    FunctionVerifier,
    ProbeVerifier,
    RandomVerifier,
    Thresholded,
)
from .vgb import VGB, distinct_prefixes
from .whole_strings import BestOfN, Rejection

__all__ = [
    "PADDING",
    "VGB",
    "ActionLevelRejection",
    "Ancestral",
    "Backtracking",
    "Beams",
    "BestOfN",
    "BlockBestOfN",
    "CallableVerifier",
    "Draw",
    "DyckVerifier",
    "FunctionVerifier",
    "HuggingFaceGenerator",
    "ProbeVerifier",
    "RandomVerifier",
    "Refinement",
    "Rejection",
    "Sampler",
    "Status",
    "Thresholded",
    "TokenwiseRejection",
    "Trace",
    "Truncated",
    "ValueGuided",
    "VerifierEnumeration",
    "beam",
    "distinct_prefixes",
    "generate",
    "refine",
    "sample",
    "truncate",
]
