"""Bounded Dyck languages: balanced attention and the limits of looking at attention."""

from .study import STUDY

__all__ = ["STUDY"]
