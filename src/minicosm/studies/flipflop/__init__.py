"""Flip-flop languages and the glitches of attention."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import memory  # noqa: F401
from .claims import networks  # noqa: F401
from .claims import limits  # noqa: F401
from .claims import glitches  # noqa: F401
from .claims import remedies  # noqa: F401
from .claims import simulation  # noqa: F401
from .claims import language_models  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
