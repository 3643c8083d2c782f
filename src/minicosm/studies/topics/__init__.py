"""How a one-layer Transformer learns topic structure."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import stage1  # noqa: F401
from .claims import values  # noqa: F401
from .claims import embeddings  # noqa: F401
from .claims import attention  # noqa: F401
from .claims import trained_attention  # noqa: F401
from .claims import dynamics  # noqa: F401
from .claims import text  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
