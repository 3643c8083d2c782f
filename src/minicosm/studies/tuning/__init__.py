"""Head and prompt tuning on hidden Markov worlds (Wei, Xie and Ma, 2021)."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import head, prompt, memory, prompted  # noqa: F401
from .claims import exact, trained, extensions  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
