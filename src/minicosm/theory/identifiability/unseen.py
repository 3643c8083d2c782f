"""What masked tasks cannot see of a world: directions in which its parameters move and no predictor does.

Parameters are the emissions and the chain of a stationary world whose chain stays doubly stochastic: of an
HMM with d tokens and k states `(d - 1) k + (k - 1)^2` numbers, of a Gaussian one `d k + (k - 1)^2`. The
Jacobian of the predictors is computed by complex steps, `Im f(theta + i h v) / h`, which are exact to
rounding.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from minicosm.worlds import HMM, GaussianHMM, MaskedTask
from minicosm.worlds.arrays import check_size
from minicosm.worlds.hmm.masked_tasks import conditional_table, gaussian_expectation

from ..signatures import checked
from .arguments import WORLD, Tasks, parsed, some_tasks
from .distance import parameters

NULL = 1e-7  # singular values below this share of the largest count as zero
PROBES = 40
DOUBLY = 1e-8
MOST_ENTRIES = 2**24  # of a Jacobian


class Unseen(NamedTuple):
    """How many independent directions the tasks do not see, and the singular values that decided it.

    `directions` has them as changes of emissions and chain, an orthonormal set; `least_kept` is the smallest
    singular value that was not counted as zero, relative to the largest.
    """

    dimension: int
    directions: tuple[tuple[np.ndarray, np.ndarray], ...]
    singular_values: Float[np.ndarray, " p"]
    least_kept: float


@checked(world=WORLD, tasks=some_tasks)
def unseen(world: HMM | GaussianHMM, tasks: Tasks) -> Unseen:
    """The directions in the space of worlds along which no predictor of the tasks changes, to first order."""
    system = System(world, parsed(tasks))
    return null_space(system, system.start)


class System:
    """The predictors of some tasks as one function of the parameters of a stationary world."""

    def __init__(self, world: HMM | GaussianHMM, tasks: tuple[MaskedTask, ...]):
        self.tasks = tasks
        O, T = parameters(world)
        sums = np.abs(np.concatenate([T.sum(axis=0), T.sum(axis=1)]) - 1)
        start = np.abs(np.asarray(world.p0) - 1 / len(T))
        if max(sums.max(), start.max()) > DOUBLY:
            raise ValueError(
                f"world has a chain whose sums are off by {sums.max():.2g}, and a start law off by "
                f"{start.max():.2g}; it must be doubly stochastic and uniform"
            )
        self.gaussian = isinstance(world, GaussianHMM)
        self.O, self.T = O, T
        d, k = O.shape
        self.shape = (d if self.gaussian else d - 1, k)
        Z = np.eye(d) if self.gaussian else _orthogonal_to_ones(d)
        self.Z, self.Y = Z, _orthogonal_to_ones(k)
        self.size = self.shape[0] * k + (k - 1) ** 2
        rng = np.random.default_rng(0)
        self.points = {
            task: [rng.normal(size=(PROBES, d)) for _ in task.given] for task in self.tasks
        }
        entries = sum(
            PROBES * d ** len(t.targets) if self.gaussian else d ** len(t.positions)
            for t in self.tasks
        )
        check_size("the Jacobian of the predictors of world", entries * self.size, MOST_ENTRIES)

    @property
    def start(self) -> np.ndarray:
        return np.zeros(self.size)

    def unpack(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Emissions and chain at a displacement from the world."""
        cut = self.shape[0] * self.shape[1]
        k = self.shape[1]
        O = self.O + self.Z @ theta[:cut].reshape(self.shape)
        return O, self.T + self.Y @ theta[cut:].reshape(k - 1, k - 1) @ self.Y.T

    def direction(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        O, T = self.unpack(theta)
        return O - self.O, T - self.T

    def predictors(self, theta: np.ndarray) -> np.ndarray:
        """All predictors, in one row; theta may be complex."""
        O, T = self.unpack(theta)
        p0 = np.full(len(T), 1 / len(T))
        values = [
            gaussian_expectation(T, O, p0, task, self.points[task])
            if self.gaussian
            else conditional_table(T, O, p0, task)
            for task in self.tasks
        ]
        return np.concatenate([value.ravel() for value in values])

    def jacobian(self, theta: np.ndarray) -> Float[np.ndarray, "n p"]:
        step = 1e-30
        columns = [self.predictors(theta + 1j * step * e).imag / step for e in np.eye(self.size)]
        return np.stack(columns, axis=1)

    def world(self, theta: np.ndarray) -> HMM | GaussianHMM:
        O, T = self.unpack(theta)
        T = np.maximum(T, 0)
        if self.gaussian:
            return GaussianHMM(T, O)
        return HMM(T, np.maximum(O, 0), np.full(len(T), 1 / len(T)))


def null_space(system: System, theta: np.ndarray) -> Unseen:
    """`unseen` at a displacement."""
    if system.size == 0:
        return Unseen(0, (), np.zeros(0), 1.0)
    _, sigma, Vt = np.linalg.svd(system.jacobian(theta), full_matrices=True)
    sigma = np.concatenate([sigma, np.zeros(system.size - len(sigma))])
    seen = sigma > NULL * sigma[0] if sigma[0] > 0 else np.zeros(system.size, bool)
    directions = tuple(system.direction(v) for v in Vt[~seen])
    least = float(sigma[seen].min() / sigma[0]) if seen.any() else 0.0
    return Unseen(int((~seen).sum()), directions, sigma, least)


def _orthogonal_to_ones(n: int) -> Float[np.ndarray, "n n-1"]:
    """An orthonormal basis of the vectors whose entries sum to zero."""
    basis = np.linalg.qr(np.hstack([np.ones((n, 1)), np.eye(n)[:, : n - 1]]))[0]
    return basis[:, 1:]
