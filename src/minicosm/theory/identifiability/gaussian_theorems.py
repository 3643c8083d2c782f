"""Gaussian HMMs: Theorems 5, 8 and 9 of Section 2.2 of Liu's thesis, and Lemmas 7 and 8."""

import numpy as np
from jaxtyping import Float, Int

from minicosm.worlds import GaussianHMM, MaskedTask, predictor
from minicosm.worlds.hmm.doubly_stochastic import least_singular

from ..checks import whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .assumptions import assumption_9, assumptions
from .distance import distance, matched_distance, parameters
from .examples import middle_fractions, middle_pair
from .gaussian_recovery import recover_gaussian
from .twins import SAME, apart, reflection

RECOVERED = 1e-7
REFLECTS = 1e-9  # spread of M'M 1 up to which it counts as constant
POINTS = 400


def _solutions(world: GaussianHMM, task: str) -> tuple:
    return recover_gaussian(
        predictor(world, task), task, hidden=world.hidden, dimension=world.dimension
    )


@checked()
def theorem_5(world: GaussianHMM, *, any_norms: bool = False) -> Theorem:
    """Theorem 5, constructively: M and T from the predictor of x2 from x1; with `any_norms`, without
    Assumption 9."""
    conditions = assumptions(world, unit=not any_norms)
    name = "Theorem 5, any norms" if any_norms else "Theorem 5"
    if not all(c.holds for c in conditions):
        return Theorem(name, conditions)
    (found,) = _solutions(world, "x2|x1")
    assert found.world is not None
    return Theorem.identity(
        name,
        distance(world, found.world),
        within=RECOVERED,
        conditions=conditions,
        details={"residual": found.residual, "sigma_min(M)": least_singular(np.asarray(world.M))},
    )


@checked(gap=whole(2, 100))
def gaussian_gap(world: GaussianHMM, gap: int) -> Theorem:
    """Across a gap the predictor of one token from another gives M and `T^gap`."""
    conditions = assumptions(world)
    if not all(c.holds for c in conditions):
        return Theorem("Across a gap", conditions)
    (found,) = _solutions(world, f"x{gap + 1}|x1")
    M, T = parameters(world)
    power = np.linalg.matrix_power(T, gap)
    return Theorem.identity(
        "Across a gap",
        matched_distance(M, power, found.M, found.power),
        within=RECOVERED,
        conditions=conditions,
        details={"gap": gap},
    )


def posterior(M: Float[np.ndarray, "d k"], x: Float[np.ndarray, "n d"]) -> np.ndarray:
    """`phi(x)`: the law of the state of a stationary world, given one observation."""
    logits = x @ M - np.sum(M * M, axis=0) / 2
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _probes(d: int, *deviations: float) -> np.ndarray:
    """Normal points, as many of each deviation."""
    rng = np.random.default_rng(3)
    return np.vstack([s * rng.normal(size=(POINTS, d)) for s in deviations or (2.0,)])


@checked()
def lemma_7(M: Float[np.ndarray, "d k"]) -> Theorem:
    """Lemma 7 with the column space known: the unit vectors in `col(M)` that have the posterior of M are M
    and HM.

    The log odds of the posterior give the differences of the means, and the projection p of the first mean on
    their span; what is left is its height s over it, and length one leaves `s = ± sqrt(1 - |p|^2)`. The two
    solutions are compared with M and HM, and the posterior of HM with that of M.
    """
    world = GaussianHMM(np.eye(M.shape[1]), M)
    conditions = (assumption_9(world), _independent(M))
    if not all(c.holds for c in conditions):
        return Theorem("Lemma 7", conditions)
    apart_, base, v = _read_posterior(M)
    height = float(np.sqrt(max(1 - float(base @ base), 0.0)))
    solutions = [(base + s * v)[:, None] + apart_ for s in (height, -height)]
    wanted = [M, reflection(M) @ M]
    cost = np.array([[np.abs(a - b).max() for b in wanted] for a in solutions])
    error = max(
        min(float(cost.trace()), float(cost[::-1].trace())),
        float(np.abs(posterior(wanted[1], x := _probes(len(M))) - posterior(M, x)).max()),
    )
    return Theorem.identity(
        "Lemma 7", error, within=1e-9, conditions=conditions, details={"height": height}
    )


def _independent(M: np.ndarray) -> Condition:
    least = least_singular(M)
    return Condition(
        "Assumption 8", least > 1e-6, {"sigma_min(M)": least}, reason="the means are dependent"
    )


def _read_posterior(M: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences of the means, the projection of the first on their span, and the unit vector of `col(M)`
    that is orthogonal to them; the first two by probing the posterior of M, the third from its column
    space."""
    from .gaussian_recovery import _base, _log_odds, _normal

    apart_, intercepts = _log_odds(lambda x: posterior(M, x), M.shape[1], len(M))
    Q = np.linalg.qr(M)[0]
    return apart_, _base(apart_, intercepts), _normal(Q, apart_)


@checked()
def lemma_7_as_printed(M: Float[np.ndarray, "d k"], other: Float[np.ndarray, "d k"]) -> Theorem:
    """Lemma 7 as printed, for d >= k: equal posteriors make `other` M or HM. The error is the distance to the
    nearer."""
    x = _probes(len(M))
    same = float(np.abs(posterior(M, x) - posterior(other, x)).max())
    conditions = (
        assumption_9(GaussianHMM(np.eye(M.shape[1]), M)),
        assumption_9(GaussianHMM(np.eye(M.shape[1]), other)),
        _independent(M),
        _independent(other),
        Condition(
            "equal posteriors", same <= SAME, {"apart by": same}, reason=f"apart by {same:.2g}"
        ),
    )
    candidates = (M, reflection(M) @ M)
    error = min(float(np.abs(other - candidate).max()) for candidate in candidates)
    return Theorem.identity("Lemma 7 as printed", error, conditions=conditions)


@checked()
def turned_means(M: Float[np.ndarray, "d k"], angle: float) -> Float[np.ndarray, "d k"]:
    """Other unit vectors with the posterior of M, for d > k: the common height `h v` of the means over the
    span of their differences is turned by an angle out of `col(M)`."""
    d, k = M.shape
    if d <= k:
        raise ValueError(f"M has shape {M.shape}; there must be more dimensions than means")
    v = np.linalg.pinv(M).T @ np.ones(k)
    v /= np.linalg.norm(v)
    outside = np.linalg.svd(M.T)[2][-1]  # orthogonal to all means
    h = v @ M[:, 0]
    return M + h * ((np.cos(angle) - 1) * v + np.sin(angle) * outside)[:, None]


@checked()
def lemma_8(M: Float[np.ndarray, "d k"], other: Float[np.ndarray, "d k"]) -> Theorem:
    """Lemma 8 from the other side: for means that are not the same up to order and reflection no linear map R
    takes one posterior to the other. By least squares over points near the means and far out, where
    posteriors are sharp, the best R misses by more than .05 somewhere; the slack is what it misses beyond."""
    x = _probes(len(M), 2.0, 20.0)
    phi, wanted = posterior(M, x), posterior(other, x)
    R = np.linalg.lstsq(phi, wanted, rcond=None)[0]
    residual = float(np.abs(phi @ R - wanted).max())
    return Theorem.inequality("Lemma 8", residual - 0.05, within=0, details={"residual": residual})


@checked()
def lemma_8_permutation(M: Float[np.ndarray, "d k"], order: Int[np.ndarray, " k"]) -> Theorem:
    """Lemma 8: between the posterior of M and that of the same means in another order the best linear map is
    the permutation."""
    if sorted(order) != list(range(M.shape[1])):
        raise ValueError(
            f"order is {order.tolist()}; it must be an order of the {M.shape[1]} means"
        )
    x = _probes(len(M))
    R = np.linalg.lstsq(posterior(M, x), posterior(M[:, order], x), rcond=None)[0]
    wanted = np.eye(M.shape[1])[:, order]
    return Theorem.identity("Lemma 8, permutation", np.abs(R - wanted).max(), within=1e-8)


# -- Theorem 8 ---------------------------------------------------------------------------------


@checked()
def theorem_8(world: GaussianHMM, task: str) -> Theorem:
    """Theorem 8 as it can be proved. The tasks `x2 ⊗ x3 | x1` and `x1 ⊗ x2 | x3` identify. The task `x1 ⊗ x3
    | x2` has a second solution, `(HM, (2/k) 1 1^T - T)`, iff `M^T M 1` is proportional to 1 and no entry of T
    exceeds 2/k. The error counts: another number of solutions, and solutions that are not the predicted ones
    to 1e-6."""
    conditions = assumptions(world)
    middle = MaskedTask.parse(task).given == (2,)
    name = "Theorem 8, middle" if middle else "Theorem 8, ends"
    if not all(c.holds for c in conditions):
        return Theorem(name, conditions)
    M, T = parameters(world)
    k = len(T)
    wanted = [(M, T)]
    spread = float(np.ptp(M.T @ M @ np.ones(k)))
    twins = middle and spread <= REFLECTS and T.max() <= 2 / k
    if twins:
        wanted.append((reflection(M) @ M, 2 / k - T))
    found = [(s.M, s.power) for s in _solutions(world, task)]
    missed = sum(
        min((matched_distance(*w, *f) for f in found), default=np.inf) > 1e-6 for w in wanted
    )
    return Theorem.identity(
        name,
        abs(len(found) - len(wanted)) + missed,
        within=0,
        conditions=conditions,
        details={
            "solutions": len(found),
            "predicted": len(wanted),
            "spread": spread,
            "max T k/2": float(T.max() * k / 2),
        },
    )


@checked(number=whole(0, 2))
def theorem_8_as_printed(number: int) -> Theorem:
    """Theorem 8 as printed, on a pair with rational entries: equal predictors of `x1 ⊗ x3 | x2` make the
    worlds equal.

    That the predictors are equal is decided without rounding. Equal differences and equal lengths of the
    means make the posteriors equal; `M' T' = -M T` and `M' T'^T = -M T^T` do the rest. The error is the
    distance.
    """
    M, T, other_M, other_T = middle_fractions()[number]
    k = len(T)
    wrong = sum(
        int(np.sum(a != b))
        for a, b in (
            (M - M[:, :1], other_M - other_M[:, :1]),
            ((M * M).sum(axis=0), (other_M * other_M).sum(axis=0)),
            ((M * M).sum(axis=0), np.array([1] * k, object)),
            (other_M @ other_T, -(M @ T)),
            (other_M @ other_T.T, -(M @ T.T)),
            (other_T.sum(axis=0), np.array([1] * k, object)),
            (other_T.sum(axis=1), np.array([1] * k, object)),
        )
    ) + int(np.sum(other_T < 0))
    first, second = middle_pair(number)
    conditions = (
        *assumptions(first),
        *assumptions(second),
        Condition(
            "equal predictors", wrong == 0, {"entries that differ": wrong}, reason="they differ"
        ),
    )
    return Theorem.identity(
        "Theorem 8 as printed",
        distance(first, second),
        conditions=conditions,
        details={"predictors, in floats": apart(first, second, "x1,x3|x2")},
    )


@checked()
def two_states(world: GaussianHMM) -> Theorem:
    """With two states, `x2 | x1` has one solution and `x1 ⊗ x3 | x2` two, of which `x1 | x2` rules one out:
    its predictor has the opposite sign in the twin. The error counts what is otherwise."""
    conditions = (
        *assumptions(world),
        Condition("two states", world.hidden == 2, {"k": world.hidden}, reason="there are more"),
    )
    if not all(c.holds for c in conditions):
        return Theorem("Two states", conditions)
    one, two = (_solutions(world, task) for task in ("x2|x1", "x1,x3|x2"))
    twin = max(two, key=lambda s: distance(world, s.world))
    x = _probes(world.dimension)
    here, there = (np.asarray(predictor(w, "x1|x2")(x)) for w in (world, twin.world))
    opposite = float(np.abs(here + there).max())
    wrong = [len(one) != 1, len(two) != 2, opposite > 1e-8, distance(world, twin.world) < 0.1]
    return Theorem.identity(
        "Two states",
        int(np.sum(wrong)),
        within=0,
        conditions=conditions,
        details={"opposite to": opposite, "distance": distance(world, twin.world)},
    )


@checked()
def theorem_9(world: GaussianHMM) -> Theorem:
    """Theorem 9 once the means are known: T from the conditional density of x2 given x1 at k points, since
    `(2 pi)^{-d/2} Psi^T T Phi` has Psi and Phi of full rank (here at the means)."""
    conditions = assumptions(world, unit=False)
    if not all(c.holds for c in conditions):
        return Theorem("Theorem 9", conditions)
    M, T = parameters(world)
    d = len(M)
    squares = np.sum((M[:, :, None] - M[:, None, :]) ** 2, axis=0)
    likelihoods = np.exp(-squares / 2) / (2 * np.pi) ** (d / 2)  # [state, point]
    phi = likelihoods / likelihoods.sum(axis=0)
    densities = _density(world, M.T)
    found = np.linalg.solve(likelihoods.T, densities) @ np.linalg.inv(phi)
    return Theorem.identity(
        "Theorem 9",
        np.abs(found - T).max(),
        conditions=conditions,
        details={"condition": float(np.linalg.cond(likelihoods) * np.linalg.cond(phi))},
    )


def _density(world: GaussianHMM, points: np.ndarray) -> np.ndarray:
    """`p(x2 = points[i] | x1 = points[j])`, from the joint densities that the world computes."""
    import jax

    with jax.enable_x64(True):
        pairs = np.array([[[b, a] for b in points] for a in points])  # [i, j]: x1 = j, x2 = i
        joint = jax.vmap(jax.vmap(world.log_density))(pairs)
        first = jax.vmap(lambda x: world.log_density(x[None]))(points)
        return np.exp(np.asarray(joint) - np.asarray(first)[None])
