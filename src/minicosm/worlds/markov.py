"""Questions about a transition matrix alone: ergodicity and the stationary law."""

import numpy as np
import scipy
from jaxtyping import Float


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
    strong = scipy.sparse.csgraph.connected_components  # SciPy loads what is asked for
    count, label = strong(A.T > 0, directed=True, connection="strong")
    # A class is recurrent when no arrow leaves it; each one carries its own stationary law.
    leaves = [bool((A[np.ix_(label != c, label == c)] > 0).any()) for c in range(count)]
    recurrent = count - sum(leaves)
    if recurrent != 1:
        raise ValueError(
            f"the chain has {recurrent} recurrent classes; its stationary law is not unique"
        )
    members = np.flatnonzero(label == leaves.index(False))
    law = np.zeros(n)
    law[members] = _irreducible_law(A[np.ix_(members, members)])
    return law


def _irreducible_law(A: Float[np.ndarray, "H H"]) -> Float[np.ndarray, " H"]:
    """The stationary law of one class by the elimination of Grassmann, Taksar and Heyman.

    States are taken out from the last to the second, their mass passed on to where they leave for.
    Nothing is subtracted, so every entry is right to rounding however rarely the chain moves.
    """
    A = A.copy()
    for k in range(len(A) - 1, 0, -1):
        leaving = A[:k, k].sum()
        if leaving == 0:
            raise ValueError(f"the chain leaves state {k} too rarely for double precision")
        A[k, :k] /= leaving
        A[:k, :k] += np.outer(A[:k, k], A[k, :k])
    law = np.ones(1)
    for k in range(1, len(A)):
        law = np.append(law, A[k, :k] @ law)
    return law / law.sum()
