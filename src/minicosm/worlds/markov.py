"""Questions about a transition matrix alone: ergodicity and the stationary law."""

import numpy as np
from jaxtyping import Float
from scipy.sparse.csgraph import connected_components


def is_primitive(A: Float[np.ndarray, "H H"]) -> bool:
    """Whether some power of A is positive everywhere (irreducible and aperiodic).

    By Wielandt's bound it is enough to look at the power n^2 - 2n + 2, reached by squaring; a
    larger power is positive as well.
    """
    reach = np.asarray(A) > 0
    n = reach.shape[0]
    exponent = 1
    while exponent < n * n - 2 * n + 2:
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
        exponent *= 2
    return bool(reach.all())


def stationary_law(A: Float[np.ndarray, "H H"]) -> Float[np.ndarray, " H"]:
    """The probability vector with `A p = p`; raises if there is more than one."""
    A = np.asarray(A, np.float64)
    n = A.shape[0]
    count, label = connected_components(A.T > 0, directed=True, connection="strong")
    # A class is recurrent when no arrow leaves it; each one carries its own stationary law.
    leaves = [(A[np.ix_(label != c, label == c)] > 0).any() for c in range(count)]
    recurrent = count - sum(leaves)
    if recurrent != 1:
        raise ValueError(
            f"the chain has {recurrent} recurrent classes; its stationary law is not unique"
        )
    system = np.vstack([A - np.eye(n), np.ones((1, n))])
    target = np.zeros(n + 1)
    target[-1] = 1
    law = np.linalg.lstsq(system, target, rcond=None)[0]
    transient = np.isin(label, [c for c in range(count) if leaves[c]])
    law = np.where(transient, 0.0, np.maximum(law, 0.0))
    return law / law.sum()
