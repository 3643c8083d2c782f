"""Which hidden Markov model a masked prediction task identifies."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import pairwise  # noqa: F401
from .claims import two_tokens  # noqa: F401
from .claims import gaussian  # noqa: F401
from .claims import middle_token  # noqa: F401
from .claims import students  # noqa: F401
from .claims import samples  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
