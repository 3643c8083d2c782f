"""Recoverable states of a memory world: Assumptions 4.2, 4.4, 4.5 and D.5.

A column of a matrix is a coloop when it lies outside the span of all the others. A set
H* = {j*} x S* satisfies Assumption 4.2 exactly when every column (m, j*, s) with s in S* is a coloop
of all emission columns. So no search is needed: there is a largest S*, made of the s all of whose
columns are coloops, and the admissible sets are its nonempty subsets. The same holds for 4.5 and D.5
on the columns {(m, j*, s): m in M*} and {(m, j, s): j != j*}, M* = supp(mu).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from minicosm.adaptation.checks import check_indices, check_real, check_reals, check_whole
from minicosm.worlds import MemoryHMM, PosteriorTask

from ..checks import Given
from ..linear_algebra import RANK_TOLERANCE, rank_test
from ..theorem import Condition
from .assumptions import regular

COLOOP = 1e-9
STATIONARY = 1e-12


class Columns(NamedTuple):
    """Which emission columns (m, j, s) an assumption speaks about."""

    kept: Bool[np.ndarray, "M N S"]  # all of them
    own: Bool[np.ndarray, "M S"]  # those of the cell j* that must be recovered


def columns(world: MemoryHMM, cell: int, mu: Any = None) -> Columns:
    """All columns (4.2), or without mu's irrelevant values in the cell j* (4.5, D.5)."""
    check_cell(world, cell)
    values, cells, syntax = world.W.shape[1:]
    relevant = np.ones(values, bool) if mu is None else relevant_values(world, mu)
    kept = np.ones((values, cells, syntax), bool)
    kept[~relevant, cell] = False
    return Columns(kept, np.repeat(relevant[:, None], syntax, axis=1))


def recoverable_states(
    world: MemoryHMM,
    cell: int,
    *,
    star: Sequence[int] | None = None,
    tolerance: float = RANK_TOLERANCE,
    coloop: float = COLOOP,
) -> Condition:
    """Assumption 4.2 for the cell j*; the witness is the largest S*, or `star` if that is admissible.

    `numbers["residuals"][m][s]` is `(I - C^+ C)_kk` at the column k = (m, j*, s) of the matrix C of
    all columns, zero exactly for coloops; C^+ is cut at `tolerance` times its largest singular value.
    """
    which = columns(world, cell)
    return _recoverable(
        world, cell, which, "Assumption 4.2 (recoverable states)", star, tolerance, coloop
    )


def recoverable_for(
    world: MemoryHMM,
    mu: Any,
    cell: int,
    *,
    star: Sequence[int] | None = None,
    tolerance: float = RANK_TOLERANCE,
    coloop: float = COLOOP,
) -> Condition:
    """Assumption D.5 (4.5 if there is one cell): as 4.2, with only the values M* = supp(mu) of j*.

    For several classes M* is the union of the rows' supports. The residuals have a row per value in
    M* (`numbers["values"]`), since the other columns of j* play no part.
    """
    check_cell(world, cell)
    relevant_values(world, mu)
    number = "4.5" if world.cells == 1 else "D.5"
    name = f"Assumption {number} (recoverable states for the task)"
    which = columns(world, cell, mu)
    return _recoverable(world, cell, which, name, star, tolerance, coloop)


def _recoverable(
    world: MemoryHMM,
    cell: int,
    which: Columns,
    name: str,
    star: Sequence[int] | None,
    tolerance: float,
    coloop: float,
) -> Condition:
    check_real("tolerance", tolerance, least=0)
    check_real("coloop", coloop, least=0)
    matrix = np.asarray(world.W, np.float64)[:, which.kept]
    _, sigma, right = np.linalg.svd(matrix, full_matrices=False)
    rank = int((sigma > tolerance * sigma[0]).sum()) if sigma.size else 0
    flat = 1 - (right[:rank] ** 2).sum(axis=0)
    residuals = np.full(which.kept.shape, np.nan)
    residuals[which.kept] = flat
    residuals = residuals[:, cell]
    free = np.abs(residuals) < coloop
    largest = tuple(np.flatnonzero((free | ~which.own).all(axis=0)).tolist())
    chosen = largest if star is None else check_indices("star", star, world.W.shape[-1])
    star_states(world, cell, chosen)  # raises for syntax states that do not exist
    numbers = {
        "columns": matrix.shape[1],
        "rank": rank,
        "singular_values": sigma.tolist(),
        "values": np.flatnonzero(which.own[:, 0]).tolist(),
        "residuals": residuals[which.own[:, 0]].tolist(),
        "largest": largest,
    }
    if chosen and set(chosen) <= set(largest):
        numbers["condition"] = recovery(world, cell, chosen, which).condition
        return Condition(name, True, numbers, "", chosen)
    if largest:
        return Condition(
            name,
            False,
            numbers,
            f"S* = {chosen} is not admissible: it must be a nonempty subset of {largest}",
        )
    tied = which.own & ~free
    spread = ", ".join(str(count) for count in tied.sum(axis=0))
    m, s = np.unravel_index(np.argmax(np.where(tied, residuals, -1)), tied.shape)
    return Condition(
        name,
        False,
        numbers,
        f"every syntax state of cell {cell} has columns in the span of the others (for s = 0, 1, ..: "
        f"{spread} of {int(which.own[:, 0].sum())}; largest residual {residuals[m, s]:.3g} at "
        f"m = {m}, s = {s}); {matrix.shape[1]} columns have rank {rank}",
    )


class Recovery(NamedTuple):
    """The linear map that reads recoverable states off an output of the model.

    `theta[m, s] . G_i = Pr(M_{j*} = m, H_i = (j*, s) | x_-i)` for s in S* and relevant m (zero rows
    elsewhere), and `complement . G_i = Pr(H_i not in H* | x_-i)`.
    """

    theta: Float[np.ndarray, "M S V"]
    complement: Float[np.ndarray, " V"]
    condition: float


def recovery(
    world: MemoryHMM,
    cell: int,
    star: Sequence[int],
    which: Columns,
    tolerance: float = RANK_TOLERANCE,
) -> Recovery:
    """`Q = [C* U]^+`: C* the columns (m, j*, s) with s in S*, U an orthonormal basis of the others.

    The rows of Q over C* are theta; `complement = 1^T U Q_U`.
    """
    W = np.asarray(world.W, np.float64)
    values, syntax = which.own.shape
    starred = which.own & np.isin(np.arange(syntax), list(star))
    wanted = np.zeros(which.kept.shape, bool)
    wanted[:, cell] = starred
    others = W[:, which.kept & ~wanted]
    left, sigma, _ = np.linalg.svd(others, full_matrices=False)
    U = left[:, sigma > tolerance * sigma[0]] if sigma.size else left
    own = W[:, wanted]
    both = np.hstack([own, U])
    Q = np.linalg.pinv(both, rcond=tolerance)
    theta = np.zeros((values, syntax, world.vocab))
    theta[starred] = Q[: own.shape[1]]
    complement = U.sum(axis=0) @ Q[own.shape[1] :]
    return Recovery(theta, complement, rank_test(both, tolerance).condition)


def stationary(world: MemoryHMM, *, tolerance: float = STATIONARY) -> Condition:
    """Assumption 4.4: `||A p0 - p0||_1 < tolerance`, A primitive and p0 > 0."""
    check_real("tolerance", tolerance, least=0)
    base = regular(world)
    A, p0 = np.asarray(world.A, np.float64), np.asarray(world.p0, np.float64)
    off = float(np.abs(A @ p0 - p0).sum())
    numbers = {"drift": off, **base.numbers}
    reason = "" if off < tolerance else f"||A p0 - p0||_1 is {off:.3g}; it must be zero"
    return Condition(
        "Assumption 4.4 (stationary start)",
        base.holds and not reason,
        numbers,
        reason or base.reason,
    )


# -- what the functions here are given --------------------------------------------------------


def check_cell(world: MemoryHMM, cell: int) -> None:
    if not isinstance(world, MemoryHMM):
        raise ValueError(f"the world is a {type(world).__name__}; this needs a MemoryHMM")
    if world.W.ndim != 4:
        raise ValueError("the world is a stack; give one world at a time")
    check_whole("cell", cell)
    if not 0 <= cell < world.cells:
        raise ValueError(f"the cell is {cell}; this world has cells 0..{world.cells - 1}")


def check_task(world: MemoryHMM, task: PosteriorTask) -> tuple[Float[np.ndarray, "*rows M"], int]:
    """`mu` in float64 and `j*` of a task on a memory cell."""
    if not isinstance(task, PosteriorTask) or task.latent != "cell":
        latent = getattr(task, "latent", type(task).__name__)
        raise ValueError(f"the task reads {latent!r}; this theorem is about a memory cell ('cell')")
    check_cell(world, task.cell)
    mu = np.asarray(task.mu, np.float64)
    relevant_values(world, mu)
    return mu, task.cell


def relevant_values(world: MemoryHMM, mu: Any) -> Bool[np.ndarray, " M"]:
    """M* = supp(mu), over all rows."""
    mu = np.asarray(check_reals("mu", mu), np.float64)
    if mu.ndim not in (1, 2) or mu.shape[-1] != world.values or 0 in mu.shape:
        raise ValueError(f"mu has shape {mu.shape}; a cell has {world.values} values")
    return (mu != 0).reshape(-1, world.values).any(axis=0)


def star_states(world: MemoryHMM, cell: int, star: Sequence[int]) -> Bool[np.ndarray, " H"]:
    """H* = {cell} x S* as a mask over the states `h = j S + s`."""
    check_cell(world, cell)
    mask = np.zeros((world.cells, world.W.shape[-1]), bool)
    mask[cell, list(check_indices("star", star, world.W.shape[-1]))] = True
    return mask.reshape(-1)


def some_states(name: str, value: Any, given: Given) -> tuple[int, ...]:
    """A set S* that is not empty, as a rule for `checked`."""
    check_cell(given["world"], given.get("cell", 0))
    found = check_indices(name, value, given["world"].W.shape[-1])
    if not found:
        raise ValueError(f"{name} is empty; it must hold a syntax state")
    return found
