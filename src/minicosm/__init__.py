"""Small worlds in which everything about language is known exactly."""

TYPE_CHECKING = (
    False  # as that of `typing`, which is not loaded before Ctrl-C is caught (see `entry`)
)
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

__all__ = ["Evaluation", "evaluate"]


def __getattr__(name: str) -> "Any":
    """What needs JAX is imported when it is first asked for, so that the command line starts at once."""
    if name in __all__:
        from minicosm import evaluation

        return getattr(evaluation, name)
    raise AttributeError(f"module 'minicosm' has no attribute {name!r}")
