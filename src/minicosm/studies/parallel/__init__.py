"""Masked pseudolikelihood, block dynamics and parallel decoding."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import masking  # noqa: F401
from .claims import adaptive  # noqa: F401
from .claims import estimation  # noqa: F401
from .claims import chains  # noqa: F401
from .claims import steps  # noqa: F401
from .claims import modes  # noqa: F401
from .claims import other_worlds  # noqa: F401
from .claims import refinement  # noqa: F401
from .claims import choices  # noqa: F401
from .claims import stutter  # noqa: F401
from .claims import text  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
