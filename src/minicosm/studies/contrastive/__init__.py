"""Contrastive learning of diffusions."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import loss  # noqa: F401
from .claims import mixing  # noqa: F401
from .claims import length  # noqa: F401
from .claims import contrast_law  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
