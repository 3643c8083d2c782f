"""Bounded Dyck languages: balanced attention and the limits of looking at attention."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import approximate, pruning, lipschitz, planted  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
