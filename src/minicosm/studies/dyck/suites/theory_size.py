"""How much the suites of theorems run, and the strings they look at."""

from dataclasses import dataclass

import numpy as np

from minicosm.worlds import Dyck


@dataclass(frozen=True)
class TheorySize:
    """Random weights `draws` times, `strings` per length, lengths up to `longest`; `sizes` says whether
    worlds of all sizes are tried (every size compiles anew) or a few."""

    seed: int
    draws: int
    strings: int
    longest: int
    all_sizes: bool = True


SIZES = (
    (2, 4, 0.5),
    (3, 2, 0.4),
    (1, 3, 0.5),
    (2, 1, 0.5),
    (2, 2, 0.4),
    (3, 4, 0.4),
    (1, 1, 0.5),
    (1, 2, 0.4),
)
PROBE = np.array([2] * 4 + [3] * 4 + [0] * 4 + [1] * 4)  # [[[[]]]](((())))


def worlds(config: TheorySize) -> list[Dyck]:
    """Worlds of k types, depth D and opening probability q; the first is the default of the source."""
    return [Dyck(*size) for size in (SIZES if config.all_sizes else SIZES[:4])]
