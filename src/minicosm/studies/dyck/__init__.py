"""Bounded Dyck languages: balanced attention and the limits of looking at attention."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import balance, necessity, construction, exact_attention  # noqa: F401
from .claims import lemmas, approximate, pruning, planted  # noqa: F401
from .claims import length, variation, copying  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
