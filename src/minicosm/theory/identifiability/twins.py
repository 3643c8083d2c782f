"""Two worlds that a task cannot tell apart, or a certificate that there is no second one nearby."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from minicosm.worlds import HMM, GaussianHMM, MaskedTask, predictor
from minicosm.worlds.hmm.draws import generator

from ..checks import whole
from ..signatures import checked
from .arguments import WORLD, Tasks, a_chain, parsed, same_kind, some_tasks
from .distance import distance, matched_distance, parameters
from .unseen import System, Unseen, null_space

SAME = 1e-12  # how far predictors may be apart by rounding
APART = 1e-6  # parameters that differ by less are those of one world
CLOSE = 1e-14  # to which a path follows the set of equal predictors
STEP, SHORTEST, MOST_STEPS = 0.1, 2e-3, 60
MOST_ROOTS = 4096


class Twin(NamedTuple):
    """Two different worlds with one optimal predictor."""

    first: HMM | GaussianHMM
    second: HMM | GaussianHMM
    distance: float  # of their parameters, in the best relabelling
    error: float  # the largest difference of their predictors

    def __str__(self) -> str:
        return f"twins: parameters apart by {self.distance:.3g}, predictors by {self.error:.2g}"


class NoTwinNearby(NamedTuple):
    """A certificate: near the world no other one has the same predictors.

    The Jacobian of the predictors has full column rank, its least singular value is `least_kept` times the
    largest; so they determine the parameters locally. It says nothing about worlds far away, except that the
    reflected world and the other roots of the chain, where they apply, were tried. If `unseen` is not 0,
    there are directions that the tasks do not see, but all paths that were tried leave the simplex at once.
    """

    unseen: int
    least_kept: float
    singular_values: Float[np.ndarray, " p"]

    def __str__(self) -> str:
        if self.unseen:
            return (
                f"no twin found: {self.unseen} directions are not seen, but lead out of the simplex"
            )
        return f"no twin nearby: the least singular value is {self.least_kept:.2g} of the largest"


@checked(world=WORLD, tasks=some_tasks, tries=whole(1, 1000))
def twin(
    world: HMM | GaussianHMM,
    tasks: Tasks,
    key: PRNGKeyArray,
    *,
    tries: int = 4,
) -> Twin | NoTwinNearby:
    """Another world with the same optimal predictors for all the tasks, as far away as it is found, or a
    certificate that there is none nearby.

    Where the tasks do not see some directions (`unseen`), the set of worlds with equal predictors is followed
    along `tries` random ones of them, both ways, each step corrected by Newton's method, until an entry
    becomes negative. Where that leads nowhere, the isolated twins of a Gaussian world are tried: the
    reflected one of the middle task, and other roots of the chain for tasks across a gap.
    """
    wanted = parsed(tasks)
    system = System(world, wanted)
    seen = null_space(system, system.start)
    second = None
    if seen.dimension:
        theta = _farthest(system, generator(key), seen, tries)
        second = None if theta is None else system.world(theta)
    if second is None and isinstance(world, GaussianHMM):
        second = _isolated(world, wanted)
    if second is None:
        return NoTwinNearby(seen.dimension, seen.least_kept, seen.singular_values)
    return Twin(world, second, distance(world, second), apart(world, second, wanted))


@checked(first=WORLD, second=same_kind, tasks=some_tasks)
def apart(first: HMM | GaussianHMM, second: HMM | GaussianHMM, tasks: Tasks) -> float:
    """The largest difference of the optimal predictors, over the tasks; of Gaussian worlds at 200 points that
    are normal with deviation 2."""
    largest = 0.0
    for task in parsed(tasks):
        one, other = (_values(world, task) for world in (first, second))
        largest = max(largest, float(np.abs(one - other).max()))
    return largest


def _values(world: HMM | GaussianHMM, task: MaskedTask) -> np.ndarray:
    if isinstance(world, HMM):
        return predictor(world, task)
    rng = np.random.default_rng(2)
    return predictor(world, task)(
        *(2 * rng.normal(size=(200, world.dimension)) for _ in task.given)
    )


# -- along the set of equal predictors -----------------------------------------------------------


def _farthest(
    system: System, rng: np.random.Generator, seen: Unseen, tries: int
) -> np.ndarray | None:
    """The displacement of the farthest world on all paths; None if none is a world apart."""
    best, found = APART, None
    for _ in range(tries):
        v = rng.normal(size=system.size)
        for sign in (1.0, -1.0):
            for theta in _path(system, sign * v):
                O, T = system.unpack(theta)
                here = matched_distance(system.O, system.T, O, T)
                if here > best:
                    best, found = here, theta
    return found


def _path(system: System, v: np.ndarray) -> Iterator[np.ndarray]:
    """Displacements along which the predictors stay as they are, until one leaves the simplex."""
    theta, target, step = system.start, system.predictors(system.start), STEP
    J = system.jacobian(theta)
    for _ in range(MOST_STEPS):
        v = _along(J, v)
        length = np.linalg.norm(v)
        if length == 0:
            return
        v /= length
        moved = None
        while step >= SHORTEST and moved is None:
            moved = _corrected(system, theta + step * v, target, J)
            if moved is None:
                step /= 2
        if moved is None:
            return
        theta, J = moved, system.jacobian(moved)
        yield theta


def _along(J: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The part of v that the Jacobian does not see."""
    _, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    kept = Vt[sigma > 1e-7 * sigma[0]]
    return v - kept.T @ (kept @ v)


def _corrected(
    system: System, theta: np.ndarray, target: np.ndarray, J: np.ndarray
) -> np.ndarray | None:
    """The nearest displacement with the wanted predictors, by Newton steps of least norm; None if there is
    none or if it is outside the simplex."""
    for _ in range(8):
        residual = system.predictors(theta) - target
        if np.abs(residual).max() <= CLOSE:
            O, T = system.unpack(theta)
            inside = T.min() >= 0 and (system.gaussian or O.min() >= 0)
            return theta if inside else None
        theta = theta - np.linalg.pinv(J, rcond=1e-7) @ residual
        J = system.jacobian(theta)
    return None


# -- isolated twins of Gaussian worlds -----------------------------------------------------------


@checked()
def reflection(M: Float[np.ndarray, "d k"]) -> Float[np.ndarray, "d d"]:
    """`H = I - 2 v v^T` with v along `(M^+)^T 1`: the reflection of Lemma 7, which moves all means by one
    vector to the other side of the origin."""
    v = np.linalg.pinv(M).T @ np.ones(M.shape[1])
    v /= np.linalg.norm(v)
    return np.eye(len(M)) - 2 * np.outer(v, v)


def _isolated(world: GaussianHMM, tasks: tuple[MaskedTask, ...]) -> GaussianHMM | None:
    M, T = parameters(world)
    k = len(T)
    candidates = []
    other = 2 / k - T
    if other.min() >= 0:
        candidates.append(GaussianHMM(other, reflection(M) @ M))
    gaps = {b - a for t in tasks for a, b in zip(t.positions, t.positions[1:], strict=False)}
    for gap in sorted(gaps - {1}):
        candidates += [GaussianHMM(root, M) for root in other_roots(T, gap)]
    good = [
        (distance(world, candidate), candidate)
        for candidate in candidates
        if apart(world, candidate, tasks) <= SAME
    ]
    good = [(far, candidate) for far, candidate in good if far > APART]
    return max(good, key=lambda pair: pair[0])[1] if good else None


@checked(T=a_chain, power=whole(1, 64))
def other_roots(T: Float[np.ndarray, "k k"], power: int) -> list[Float[np.ndarray, "k k"]]:
    """Doubly stochastic matrices other than T with the same power, that share its eigenvectors: eigenvalues
    are turned by multiples of `2 pi / power`, complex pairs in opposite directions."""
    values, vectors = np.linalg.eig(T)
    if np.linalg.cond(vectors) > 1e8:
        return []
    inverse = np.linalg.inv(vectors)
    partner = [int(np.argmin(np.abs(values - value.conj()))) for value in values]
    leaders = [i for i, j in enumerate(partner) if i <= j and abs(values[i] - 1) > 1e-9]
    if power ** len(leaders) > MOST_ROOTS:
        return []
    found = []
    for turns in product(range(power), repeat=len(leaders)):
        turned = values.astype(complex)
        for i, m in zip(leaders, turns, strict=True):
            turned[i] *= np.exp(2j * np.pi * m / power)
            if partner[i] != i:
                turned[partner[i]] = turned[i].conj()
        root = (vectors * turned) @ inverse
        real = np.abs(root.imag).max() < 1e-10 and root.real.min() >= -1e-12
        if real and np.abs(root.real - T).max() > APART:
            found.append(np.maximum(root.real, 0))
    return found
