"""Laws over short sequences that are written out, mask laws, Ising models."""

from .clique_ising import CliqueIsing, LumpedClique
from .ising import Ising, random_ising
from .joint import Joint, JointSample
from .masks import MaskLaw

__all__ = [
    "CliqueIsing",
    "Ising",
    "Joint",
    "JointSample",
    "LumpedClique",
    "MaskLaw",
    "random_ising",
]
