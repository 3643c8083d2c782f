"""Exact sums over all memory configurations and hidden paths: the referee of message passing.

Nothing here passes messages. The cost is |M|^N |H|^L per sequence of L positions, so it is for
short sequences only.
"""

import numpy as np
from jaxtyping import Float, Int

from minicosm.worlds import MemoryHMM

from ..certify import all_sequences
from ..checks import check_sequences

MAX_PATHS = 200_000
CHUNK = 2_000_000


def token_rows(world: MemoryHMM, sequences: Int[np.ndarray, "n T"]) -> Float[np.ndarray, "n T C H"]:
    """`P[X_i = x_i | M = c, H_i = h]`, looked up in W one (configuration, state) at a time."""
    W, memory = np.asarray(world.W, np.float64), world.cell_values()
    cell, syntax = np.divmod(np.arange(world.hidden), W.shape[-1])
    lifted = W[:, memory[:, cell], cell, syntax]  # (V, C, H)
    return lifted[check_sequences(world, sequences)[0]]


def others_joint(
    world: MemoryHMM, rows: Float[np.ndarray, "n L C H"]
) -> Float[np.ndarray, "n L C H"]:
    """`P[M = c, H_i = h, all rows but the i-th]` for every i, `H_1 ~ A p0`:

    the sum of `pM[c] P(path) prod_{k != i} rows[k, c, path_k]` over the paths with `path_i = h`.
    """
    n, length, count, hidden = rows.shape
    paths, law = _paths(world, length)
    at = np.eye(hidden)[paths]  # (P, L, H)
    pM = np.asarray(world.pM, np.float64)[:, None]
    size = max(1, CHUNK // (count * len(paths)))
    result = np.empty(rows.shape)
    for start in range(0, n, size):
        part = rows[start : start + size]
        factors = [part[:, k][..., paths[:, k]] for k in range(length)]  # each (n, C, P)
        for i in range(length):
            product = pM * law
            for k in range(length):
                if k != i:
                    product = product * factors[k]
            result[start : start + size, i] = product @ at[:, i]
    return result


def shifted_joint(
    world: MemoryHMM, sequences: Int[np.ndarray, "n t"], shift: int
) -> Float[np.ndarray, "n C H"]:
    """`P[M = c, H_i = h, X_{i+1:i+t} = x]` for i = `shift`, the sum over all paths h_0..h_{i+t}."""
    length = sequences.shape[1]
    paths, law = _paths(world, shift + length + 1, start=True)
    rows = token_rows(world, sequences)
    product: np.ndarray = np.asarray(world.pM, np.float64)[:, None] * law
    for k in range(length):
        product = product * rows[:, k][..., paths[:, shift + 1 + k]]
    return product @ np.eye(world.hidden)[paths[:, shift]]


def cell_joint(
    world: MemoryHMM, joint: Float[np.ndarray, "*batch C H"]
) -> Float[np.ndarray, "*batch M N S"]:
    """`Pr(M_j = m, H = (j, s), ..)` from `Pr(M = c, H = h, ..)`: the configurations with `m_j = m`."""
    values, cells, syntax = world.W.shape[1:]
    joint = joint.reshape(*joint.shape[:-1], cells, syntax)
    member = np.eye(values)[world.cell_values()]  # (C, N, M)
    return np.einsum("...cjs,cjm->...mjs", joint, member)


def _paths(
    world: MemoryHMM, length: int, *, start: bool = False
) -> tuple[Int[np.ndarray, "P L"], Float[np.ndarray, " P"]]:
    """All hidden paths and their probabilities, from H_0 if `start`, else from H_1."""
    if length > MAX_PATHS or world.hidden**length > MAX_PATHS:
        raise ValueError(
            f"{world.hidden} states make too many paths of length {length}; "
            f"at most {MAX_PATHS} are summed"
        )
    A, p0 = np.asarray(world.A, np.float64), np.asarray(world.p0, np.float64)
    paths = all_sequences(world.hidden, length)
    law = (p0 if start else A @ p0)[paths[:, 0]]
    for k in range(1, length):
        law = law * A[paths[:, k], paths[:, k - 1]]
    return paths, law
