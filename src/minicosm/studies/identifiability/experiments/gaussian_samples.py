"""Gaussian worlds fitted to drawn triples."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.optimize import nnls

from minicosm.lab import Progress, TrialResult
from minicosm.theory.identifiability import distance
from minicosm.theory.identifiability.students import GaussianStudent, mixtures
from minicosm.training import least_squares
from minicosm.worlds import GaussianHMM, MaskedTask

from ..suites.worlds import key_of
from ..trials import Drawn

TASK = MaskedTask.parse("x2,x3|x1")
CHAIN = ((0.7, 0.2, 0.1), (0.1, 0.7, 0.2), (0.2, 0.1, 0.7))
SCREENING, STEPS = 20, 60  # steps of fits to some of the triples, and to all


class PairStudent(GaussianStudent):
    """`GaussianStudent` of `x2,x3|x1`, whose predictions `sum_j phi_j(x1) sum_i T_ij mu_i ⊗ (MT)_i` are one
    product of matrices; points are the last axis, which makes a step five times as fast."""

    def __call__(self, theta: Any) -> Array:
        M, T = self.unpack(theta)
        values = jnp.einsum("ij,ai,bi->abj", T, M, M @ T).reshape(-1, self.hidden)
        logits = M.T @ self.points.T - jnp.sum(M * M, axis=0)[:, None] / 2
        found = values @ jax.nn.softmax(logits, axis=0)
        return (found - self.target.reshape(len(self.points), -1).T).ravel()


def drawn(config: Drawn, progress: Progress) -> TrialResult:
    """By length of the means and set of triples: the distance of the world fitted to `x2 ⊗ x3` at drawn x1,
    its sum of squares, and the one that the fit from the true world reaches."""
    found: dict[str, list[float]] = {"distances": [], "squares": [], "from truth": []}
    for i, length in enumerate(config.lengths):
        world = GaussianHMM(CHAIN, length * np.eye(3))
        for s in range(config.sets):
            progress(i * config.sets + s, len(config.lengths) * config.sets)
            draw_key, start_key = jax.random.split(key_of(config, 72, i, s))
            with jax.enable_x64(True):
                keys = jax.random.split(draw_key, config.triples)
                student = _student(jax.vmap(lambda k, w=world: w.sample(k, 3).observations)(keys))
                screened = _screened(config, student, start_key)
                starts = np.stack([*screened, _parameters(world)])
                thetas = least_squares(student, starts, steps=STEPS).parameters
                *squares, reached = np.asarray(_squares(student, thetas)).tolist()
                best = int(np.argmin(squares))
                found["distances"].append(distance(world, student.world(thetas[best])))
            found["squares"].append(squares[best])
            found["from truth"].append(reached)
    shape = (len(config.lengths), -1)
    return TrialResult({}, {name: np.reshape(values, shape) for name, values in found.items()})


def _student(x: Float[Array, "triples 3 d"]) -> PairStudent:
    return PairStudent(x[:, 1, :, None] * x[:, 2, None, :], x[:, 0], TASK, 3, unit=False)


def _screened(
    config: Drawn, student: PairStudent, key: PRNGKeyArray
) -> list[Float[np.ndarray, " p"]]:
    """Of many short fits to the first triples, from means at observed points, those with the least sums of
    squares."""
    means_key, chain_key = jax.random.split(key)
    x = student.points
    means = x[jax.random.randint(means_key, (config.starts, 3), 0, len(x))]
    chains = jax.random.normal(chain_key, (config.starts, len(mixtures(3))), x.dtype)
    starts = jnp.concatenate([jnp.swapaxes(means, 1, 2).reshape(config.starts, -1), chains], axis=1)
    some = PairStudent(student.target[: config.screen], x[: config.screen], TASK, 3, unit=False)
    thetas = least_squares(some, starts, steps=SCREENING).parameters
    return list(np.asarray(thetas)[np.argsort(_squares(some, thetas))[: config.polish]])


@eqx.filter_jit
def _squares(student: PairStudent, thetas: Float[Array, "starts p"]) -> Float[Array, " starts"]:
    return jax.vmap(lambda theta: jnp.sum(student(theta) ** 2))(thetas)


def _parameters(world: GaussianHMM) -> Float[np.ndarray, " p"]:
    """Parameters of a student near the world: means, and logarithms of the weights of permutations."""
    perms = mixtures(3)
    weights, _ = nnls(perms.reshape(len(perms), -1).T, np.asarray(world.A, np.float64).ravel())
    return np.concatenate([np.asarray(world.M, np.float64).ravel(), np.log(weights + 1e-3)])
