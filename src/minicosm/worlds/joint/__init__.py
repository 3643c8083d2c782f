"""Laws over short sequences that are written out, mask laws, Ising models."""

from .clique_ising import CliqueIsing, LumpedClique
from .ising import Ising
from .joint import Joint
from .masks import MaskLaw

__all__ = [
    "CliqueIsing",
    "Ising",
    "Joint",
    "LumpedClique",
    "MaskLaw",
]
