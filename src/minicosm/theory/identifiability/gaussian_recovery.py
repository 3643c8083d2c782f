"""The parameters of a Gaussian HMM from its optimal predictors, used as functions only (Theorems 5 and 8,
made constructive).

Two facts carry everything. Far out in a direction u the posterior of the state picks the mean with the
largest `u . mu_i`; and the log odds of two states are affine, `log phi_i(x) / phi_1(x) = (mu_i - mu_1) . x -
(|mu_i|^2 - |mu_1|^2) / 2`, so that near 0 they give all differences of the means, and all means up to a
common shift along the one direction of their span that is orthogonal to the differences.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from minicosm.worlds import GaussianHMM, MaskedTask, predictor
from minicosm.worlds.arrays import check_reals
from minicosm.worlds.hmm.doubly_stochastic import least_singular, sinkhorn

from ..checks import real, whole
from ..signatures import checked
from .recovery import FLOOR
from .tensors import jennrich

Predictor = Callable[[Float[np.ndarray, "n d"]], Float[np.ndarray, "n *targets"]]

FAR = 1e4
DIRECTIONS = 4000
STEP = 0.5
PROBES = 40  # points whose slices are decomposed
NEGATIVE = 1e-6  # an entry of a chain below minus this is none of a chain


class GaussianRecovered(NamedTuple):
    """One solution. `power` is `A^gap`, which is all that a task across a gap tells; `world` has the chain
    itself where the gap is 1, and None otherwise."""

    world: GaussianHMM | None
    M: Float[np.ndarray, "d k"]
    power: Float[np.ndarray, "k k"]
    residual: float  # largest difference of the predictors at points that were not used


@checked(hidden=whole(1, 16), dimension=whole(1, 64), within=real(least=0, infinite=True))
def recover_gaussian(
    function: Callable[..., Any], task: str, *, hidden: int, dimension: int, within: float = 1e-5
) -> tuple[GaussianRecovered, ...]:
    """All stationary Gaussian HMMs, with a doubly stochastic chain and independent means, whose optimal
    predictor for the task is this function of (n, d) points.

    - One token from another, `"x2|x1"` or across a gap, `"x4|x1"`: one solution, whatever the lengths of the
      means (for a gap, of the means and the power of the chain).
    - `"x2,x3|x1"` and `"x1,x2|x3"`, for means of length one: one solution.
    - `"x1,x3|x2"`: one or two, both returned.

    It raises if no such world has this predictor to `within`.
    """
    wanted = MaskedTask.parse(task)
    before = min(wanted.positions) - 1
    if hidden > dimension:
        raise ValueError(
            f"hidden is {hidden}; independent means in dimension = {dimension} are at most {dimension}"
        )
    if hidden == 1:
        raise ValueError(
            "hidden is 1; the predictor of a world of one state is constant, and its value is the mean"
        )
    targets, given = (tuple(t - before for t in side) for side in wanted)
    f = _Values(function, dimension, len(targets))
    if len(targets) == len(given) == 1:
        gap = targets[0] - given[0]
        found = [_from_one(f, hidden)]
        found = [(M, G if gap > 0 else G.T) for M, G in found]
        gap = abs(gap)
    elif (tuple(sorted(targets)), given) in (((2, 3), (1,)), ((1, 2), (3,)), ((1, 3), (2,))):
        gap = 1
        swapped = targets[0] > targets[1]
        g = _Values(function, dimension, 2, swapped)
        if given == (2,):
            found = _from_the_middle(g, hidden)
        elif given == (1,):
            found = [_from_the_first(g, hidden)]
        else:
            reverse = _Values(function, dimension, 2, not swapped)
            M, G = _from_the_first(reverse, hidden)
            found = [(M, G.T)]
    else:
        raise ValueError(
            f'task is "{task}"; a Gaussian HMM is recovered from one token given one, or from two adjacent '
            'ones given one, as "x2,x3|x1"'
        )
    solutions = tuple(_solution(f, wanted, M, G, gap) for M, G in found)
    residual = max((s.residual for s in solutions), default=np.inf)
    if not residual <= within:
        raise ValueError(
            f"function differs by {residual:.2g} from the predictor of the nearest world with hidden = "
            f"{hidden} states; it must be that of a world to {within:g}"
        )
    return solutions


class _Values:
    """The function with its values checked; with `swapped`, the two targets change places."""

    def __init__(self, function: Any, dimension: int, targets: int, swapped: bool = False):
        self.function, self.d, self.targets, self.swapped = function, dimension, targets, swapped

    def __call__(self, x: np.ndarray) -> np.ndarray:
        try:
            answer = self.function(x)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"function raised {type(error).__name__} at points of shape {x.shape}; it must take (n, "
                f"{self.d}) points"
            ) from error
        shape = (len(x), *(self.d,) * self.targets)
        values = np.asarray(check_reals("what function returns", answer, shape), np.float64)
        return np.swapaxes(values, 1, 2) if self.swapped else values


def _solution(f: _Values, task: Any, M: np.ndarray, G: np.ndarray, gap: int) -> GaussianRecovered:
    """The solution, with its residual at fresh points."""
    probes = np.random.default_rng(1).normal(size=(PROBES, f.d))
    chain = sinkhorn(np.maximum(G, FLOOR))
    world = GaussianHMM(chain, M)
    near = MaskedTask.parse("x2|x1") if gap > 1 else task
    if gap > 1 and task.targets[0] < task.given[0]:
        world = GaussianHMM(chain.T, M)
    values = np.asarray(predictor(world, near)(probes))
    residual = float(np.abs(values - f(probes)).max())
    return GaussianRecovered(GaussianHMM(chain, M) if gap == 1 else None, M, G, residual)


# -- one token from one --------------------------------------------------------------------------


def _from_one(f: _Values, k: int) -> tuple[np.ndarray, np.ndarray]:
    """M and G from `f(x) = M G phi(x)`, without an assumption on the lengths of the means.

    `v . mu_i` is the same number for all i, for the unit vector v of the span that is orthogonal to the
    differences; and since columns of G sum to one it is also `v . (M G)_i`, which fixes the common shift.
    """
    N = _far_values(f, k)
    apart, intercepts = _log_odds(lambda x: f(x) @ np.linalg.pinv(N).T, k, f.d)
    base, v = _base(apart, intercepts), _normal(N, apart)
    mu = base + (v @ N[:, 0]) * v
    M = mu[:, None] + apart
    return M, np.linalg.pinv(M) @ N


def _far_values(f: _Values, k: int) -> np.ndarray:
    """The columns of `M G`: the k values that f takes most often far out (others are near ties)."""
    u = np.random.default_rng(0).normal(size=(DIRECTIONS, f.d))
    values = f(FAR * u / np.linalg.norm(u, axis=1, keepdims=True))
    scale = max(float(np.abs(values).max()), 1e-300)
    _, cluster, counts = np.unique(
        np.round(values / scale, 7), axis=0, return_inverse=True, return_counts=True
    )
    often = np.argsort(-counts)[:k]
    if len(counts) < k or counts[often].min() < 2:
        raise ValueError(
            f"function takes {int((counts > 1).sum())} values far from 0; the predictor of a world with "
            f"hidden = {k} states takes {k}"
        )
    # The median: among the members of a cluster there may be near ties, off by as much as was rounded.
    N = np.stack([np.median(values[cluster.ravel() == i], axis=0) for i in often], axis=1)
    if least_singular(N) < 1e-10 * scale:
        raise ValueError(
            f"function takes {k} dependent values far from 0; those of a world whose chain and means have "
            f"full "
            "rank are independent"
        )
    return N


def _log_odds(phi: Any, k: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """`mu_i - mu_1` as columns and `-(|mu_i|^2 - |mu_1|^2) / 2`, from the posterior as a function."""
    at = np.vstack([np.zeros(d), STEP * np.eye(d)])
    values = phi(at)
    if not (values > 1e-12).all():
        raise ValueError(
            f"function asks for a posterior of {values.min():.2g} near 0; those of a world are positive"
        )
    logs = np.log(values)
    odds = logs - logs[:, :1]
    return (odds[1:] - odds[0]) / STEP, odds[0]


def _base(apart: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    """The projection of mu_1 on the span of the differences: `delta_i . mu_1 = -b_i - |delta_i|^2 / 2`."""
    wanted = -intercepts[1:] - np.sum(apart[:, 1:] ** 2, axis=0) / 2
    return np.linalg.lstsq(apart[:, 1:].T, wanted, rcond=None)[0]


def _normal(N: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """The unit vector in the span of N that is orthogonal to all differences."""
    Q = np.linalg.qr(N)[0]
    _, _, Vt = np.linalg.svd(apart[:, 1:].T @ Q)
    return Q @ Vt[-1]


# -- two tokens from one -------------------------------------------------------------------------


def _decomposed(f: _Values, k: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """B and C with `f(x) = B diag(w(x)) C^T`, and the weights w as a function, which sum to one.

    That fixes the product of the scales of B_i and C_i; the columns of B have length one here.
    """
    at = np.random.default_rng(0).normal(size=(PROBES, f.d))
    factors = jennrich(f(at), k)
    alpha = np.linalg.lstsq(factors.A, np.ones(len(at)), rcond=None)[0]
    if np.abs(alpha).min() < 1e-12:
        raise ValueError("function has weights that cannot be scaled to sum to one")
    B, C = factors.B, factors.C / alpha
    left, right = np.linalg.pinv(B), np.linalg.pinv(C)
    return B, C, lambda x: np.einsum("ib,nbc,ic->ni", left, f(x), right)


def _from_the_first(f: _Values, k: int) -> tuple[np.ndarray, np.ndarray]:
    """M and T from `E[x2 ⊗ x3 | x1] = M diag(T phi) (M T)^T`, for means of length one: B has them up to
    signs, of which T does not depend, and the differences of the means, known from the posterior, fix the
    signs."""
    B, C, weights = _decomposed(f, k)
    T = np.abs(np.linalg.pinv(B) @ C)
    apart, _ = _log_odds(lambda x: np.linalg.solve(T, weights(x).T).T, k, f.d)
    coordinates = np.linalg.pinv(B) @ apart  # mu_i - mu_1 = s_i B_i - s_1 B_1
    signs = np.sign(np.diag(coordinates))
    signs[0] = -np.sign(coordinates[0, 1])
    return B * signs, T


def _from_the_middle(f: _Values, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """All M and T with `E[x1 ⊗ x3 | x2] = (M T^T) diag(phi) (M T)^T`.

    The posterior fixes the means up to the shift s along v. Since `v . (M T)_i = v . (M T^T)_i = s`, the
    products of scales say `s^2 = (v . B_i)(v . C_i)`, and the sign of s is left: the second solution is a
    world iff its T is a chain.
    """
    B, C, weights = _decomposed(f, k)
    apart, intercepts = _log_odds(weights, k, f.d)
    base, v = _base(apart, intercepts), _normal(C, apart)
    squares = (v @ B) * (v @ C)
    if not (squares > 0).all() or np.ptp(squares) > 1e-5 * squares.max():
        raise ValueError(
            f"function has scales {np.array2string(squares, precision=3)}; those of a world are positive "
            f"and equal"
        )
    found = []
    for s in (np.sqrt(squares.mean()), -np.sqrt(squares.mean())):
        M = (base + s * v)[:, None] + apart
        T = np.linalg.pinv(M) @ (C * s / (v @ C))
        backwards = M @ T.T - B * s / (v @ B)
        sums = np.abs(np.concatenate([T.sum(axis=0), T.sum(axis=1)]) - 1)
        if T.min() >= -NEGATIVE and sums.max() < 1e-5 and np.abs(backwards).max() < 1e-5:
            found.append((M, T))
    if not found:
        raise ValueError("function is the predictor of no world: neither solution has a chain")
    return found
