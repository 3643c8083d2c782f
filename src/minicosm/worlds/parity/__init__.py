"""Parities of few coordinates of a random sign vector."""

from .hierarchical import HierarchicalParity
from .sparse import ParitySample, SparseParity

__all__ = ["HierarchicalParity", "ParitySample", "SparseParity"]
