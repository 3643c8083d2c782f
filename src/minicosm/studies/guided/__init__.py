"""Verifier-guided generation: query complexity, backtracking, and a reversible walk on prefixes."""

# Importing a module registers its claims, in this order.
# isort: off
from .claims import hardness  # noqa: F401
from .claims import sandbox_law  # noqa: F401
from .claims import walk  # noqa: F401
from .claims import guidance  # noqa: F401
from .claims import dyck_verifier  # noqa: F401
from .claims import dyck_backtracking  # noqa: F401
from .claims import dyck_unseen  # noqa: F401
from .claims import cases  # noqa: F401
from .claims import code_model  # noqa: F401

# isort: on
from .study import STUDY

__all__ = ["STUDY"]
