"""Semiautomata and the shortcuts of shallow Transformers."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import gadgets  # noqa: F401
from .claims import shortcuts  # noqa: F401
from .claims import groups  # noqa: F401
from .claims import cascades  # noqa: F401
from .claims import gridworld  # noqa: F401
from .claims import trained_depth, trained_heads, trained_labels  # noqa: F401
from .claims import trained_shift, trained_length  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
