"""Semiautomata, and those of the literature."""

from .combinators import cascade, product, with_identity
from .cube import rubik
from .library import (
    abab,
    alternating,
    canonical,
    cyclic,
    cyclic_power,
    dihedral,
    dyck,
    flip_flop,
    gridworld,
    gridworld_2d,
    memory,
    parity,
    permutation_automaton,
    quaternion,
    source_tasks,
    symmetric,
)
from .observations import first_values, is_boundary, is_state, places, stack_tops
from .semiautomaton import AutomatonMemory, AutomatonSample, Semiautomaton

__all__ = [
    "AutomatonMemory",
    "AutomatonSample",
    "Semiautomaton",
    "abab",
    "alternating",
    "canonical",
    "cascade",
    "cyclic",
    "cyclic_power",
    "dihedral",
    "dyck",
    "first_values",
    "flip_flop",
    "gridworld",
    "gridworld_2d",
    "is_boundary",
    "is_state",
    "memory",
    "parity",
    "permutation_automaton",
    "places",
    "product",
    "quaternion",
    "rubik",
    "source_tasks",
    "stack_tops",
    "symmetric",
    "with_identity",
]
