"""Progressive distillation and its implicit curriculum."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import first_stage  # noqa: F401
from .claims import second_stage  # noqa: F401
from .claims import parity  # noqa: F401
from .claims import attention  # noqa: F401
from .claims import heads  # noqa: F401
from .claims import hierarchy  # noqa: F401
from .claims import grammar  # noqa: F401
from .claims import features  # noqa: F401
from .claims import next_tokens  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
