"""The parameters of a discrete HMM from its optimal predictor of two masked tokens (Theorem 7, made
constructive)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from minicosm.worlds import HMM, MaskedTask, predictor
from minicosm.worlds.hmm.doubly_stochastic import sinkhorn
from minicosm.worlds.markov import stationary_law

from ..checks import real, reals, whole
from ..signatures import checked
from .tensors import jennrich

FLOOR = 1e-12  # a chain is scaled to be doubly stochastic with no entry below this


class Recovered(NamedTuple):
    """What a predictor says about its world.

    `O` and `T` are read off as they come; `world` is the stationary world with the negative entries that
    noise or rounding leaves set to zero and T scaled to be doubly stochastic.
    """

    world: HMM
    O: Float[np.ndarray, "d k"]
    T: Float[np.ndarray, "k k"]
    residual: float  # the largest difference between the table and the predictor of `world`
    condition: float  # by how much the decomposition magnifies errors of the table, in order


@checked(
    table=reals((None, None, None)),
    hidden=whole(1, 64),
    within=real(least=0, infinite=True),
    seed=whole(0, 2**62),
)
def recover(
    table: Float[np.ndarray, "d d d"],
    task: str,
    *,
    hidden: int,
    within: float = 1e-6,
    seed: int = 0,
) -> Recovered:
    """The stationary HMM with `hidden` states whose optimal predictor for the task is `table`.

    The tasks are those of three adjacent tokens: two from one (`"x2,x3|x1"`, `"x1,x3|x2"`, `"x1,x2|x3"`;
    Theorem 7) and the next from two (`"x3|x1,x2"`). Axes of the table are those of `predictor`. It raises if
    the residual is above `within`, so that no world is made up for a table that none has; for an estimated
    table set `within` to what its error may be, or to infinity. `seed` is that of `jennrich`.
    """
    wanted = MaskedTask.parse(task)
    d = table.shape[0]
    if table.shape != (d, d, d):
        raise ValueError(f"table has shape {table.shape}; its axes must have the same size")
    if hidden > d:
        raise ValueError(
            f"hidden is {hidden}; {d} tokens determine at most {d} states, whose Kruskal ranks must be full"
        )
    before = min(wanted.positions) - 1
    shifted = MaskedTask(*(tuple(t - before for t in side) for side in wanted))
    O, T, condition = _read(_ordered(table, shifted), shifted, hidden, seed)
    world = _nearest(O, T)
    residual = float(np.abs(predictor(world, wanted) - table).max())
    if not residual <= within:
        raise ValueError(
            f"table differs by {residual:.2g} from the predictor of the nearest stationary world with "
            f"hidden = {hidden} states; it must be that of a world to {within:g}"
        )
    return Recovered(world, O, T, residual, condition)


def _ordered(table: np.ndarray, task: MaskedTask) -> np.ndarray:
    """The table with the targets in the order of their positions, and so what is given."""
    axes = [*np.argsort(task.given), *(len(task.given) + np.argsort(task.targets))]
    return np.transpose(table, axes)


def _read(
    table: np.ndarray, task: MaskedTask, k: int, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    targets, given = (tuple(sorted(side)) for side in task)
    if (targets, given) == ((2, 3), (1,)):
        return forward(table, k, seed)
    if (targets, given) == ((1, 2), (3,)):  # the same, of the chain read backwards
        O, T, condition = forward(np.transpose(table, (0, 2, 1)), k, seed)
        return O, T.T, condition
    if (targets, given) == ((1, 3), (2,)):
        return middle(table, k, seed)
    if (targets, given) == ((3,), (1, 2)):
        return forward(two_tokens_of_next(table), k, seed)
    raise ValueError(
        f'task is "{task}"; a discrete HMM is recovered from "x2,x3|x1", "x1,x3|x2", "x1,x2|x3" or "x3|x1,x2"'
    )


def forward(
    W: Float[np.ndarray, "d d d"], k: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, float]:
    """O and T from `W[a, b, c] = P(x2 = b, x3 = c | x1 = a) = sum_i (.)[a, i] O[b, i] (O T)[c, i]`, whose
    columns sum to one: `T = O^+ (O T)`. The chain need not be stationary, nor doubly stochastic."""
    factors = jennrich(W, k, seed=seed)
    O, OT = _laws(factors.B), _laws(factors.C)
    return O, np.linalg.pinv(O) @ OT, factors.condition


def middle(
    W: Float[np.ndarray, "d d d"], k: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, float]:
    """O and T from `W[a, b, c] = P(x1 = b, x3 = c | x2 = a) = sum_i (D^-1 O)[a, i] (O T')[b, i] (O T)[c, i]`,
    where `D = diag(O 1) = diag(O T 1)` since T is doubly stochastic."""
    factors = jennrich(W, k, seed=seed)
    scale = factors.B.sum(axis=0) * factors.C.sum(axis=0)
    OT = _laws(factors.C)
    O = OT.sum(axis=1)[:, None] * factors.A * scale
    return O, np.linalg.pinv(O) @ OT, factors.condition


def two_tokens_of_next(table: Float[np.ndarray, "d d d"]) -> Float[np.ndarray, "d d d"]:
    """`P(x2, x3 | x1)` from `P(x3 | x1, x2)`: the law of two neighbours is that of which the chain of pairs
    `(x1, x2) -> (x2, x3)` is stationary."""
    d = len(table)
    pairs = np.einsum("abc,be->ecab", table, np.eye(d)).reshape(d * d, d * d)
    if (table < -1e-9).any() or np.abs(pairs.sum(axis=0) - 1).max() > 1e-6:
        raise ValueError("table must hold laws of the third token, given the first two")
    law = stationary_law(np.maximum(pairs, 0)).reshape(d, d)
    return law[:, :, None] * table / law.sum(axis=1)[:, None, None]


def _laws(columns: np.ndarray) -> np.ndarray:
    """Columns scaled to sum to one."""
    sums = columns.sum(axis=0)
    if np.abs(sums).min() < 1e-12 * np.abs(columns).max():
        raise ValueError("table has a term whose entries sum to 0; those of a world sum to 1")
    return columns / sums


def _nearest(O: np.ndarray, T: np.ndarray) -> HMM:
    O = np.maximum(O, 0)
    if not O.any(axis=0).all():
        raise ValueError(
            "table gives a state that emits no token; every state of a world emits one"
        )
    k = len(T)
    return HMM(sinkhorn(np.maximum(T, FLOOR)), O / O.sum(axis=0), np.full(k, 1 / k))
