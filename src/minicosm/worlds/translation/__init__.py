"""Translation by phrases of random length."""

from .fertility import Fertility, PhrasePosterior, Translation

__all__ = [
    "Fertility",
    "PhrasePosterior",
    "Translation",
]
