"""The optimisation landscape of noise-contrastive estimation."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import convexity  # noqa: F401
from .claims import flatness  # noqa: F401
from .claims import slow  # noqa: F401
from .claims import normalised  # noqa: F401
from .claims import condition  # noqa: F401
from .claims import exponential  # noqa: F401
from .claims import sampled  # noqa: F401
from .claims import images  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
