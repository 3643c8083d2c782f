"""Bounded Dyck languages: prefixes, complete strings, and where a string goes wrong."""

from .complete import CompleteDyck, EndingDyck
from .dyck import ClosingFloor, ClosingQuery, Dyck, DyckSample

__all__ = [
    "ClosingFloor",
    "ClosingQuery",
    "CompleteDyck",
    "Dyck",
    "DyckSample",
    "EndingDyck",
]
