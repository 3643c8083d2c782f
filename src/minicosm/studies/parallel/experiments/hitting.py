"""Figure 4.3: how many steps it takes to leave the smaller mode."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from minicosm.decoding.gibbs import CliqueGibbs, CliqueParallel, hitting_steps
from minicosm.lab import Progress, TrialResult
from minicosm.theory.parallel import hitting, lumped
from minicosm.theory.parallel.bounds import strongly_ferromagnetic
from minicosm.worlds import CliqueIsing

from ..trials import Hitting

LENGTH, CLIQUE, FIELD = 10, 4, 5.0


def run(config: Hitting, progress: Progress) -> TrialResult:
    """Steps of simulated chains, and the exact expectation of the same from the lumped chains."""
    shape = (len(config.couplings), LENGTH)
    exact, spread, alone = np.empty(shape), np.empty(shape), []
    target = np.arange(CLIQUE + 1) == CLIQUE
    for i, J in enumerate(config.couplings):
        world = CliqueIsing(LENGTH, CLIQUE, J, FIELD).lumped()
        start = lumped.at(world, 0)
        for k in range(1, LENGTH + 1):
            P = lumped.k_gibbs(world, k)
            exact[i, k - 1], spread[i, k - 1] = _moments(P, target, start, config.budget)
        P = lumped.independent_parallel(world)
        capped, deviation = _moments(P, target, start, config.budget)
        alone.append(
            {
                "hit": hitting.hit_probability(P, target, start, config.budget),
                "mean": float(hitting.expected_steps(P, target)[0]),
                "capped": capped,
                "deviation": deviation,
            }
        )
    fine = np.linspace(min(config.couplings), max(config.couplings), 60)
    curve = [
        hitting.hit_probability(lumped.independent_parallel(state), target, start, config.budget)
        for state in (CliqueIsing(LENGTH, CLIQUE, float(J), FIELD).lumped() for J in fine)
    ]
    progress(0, 2, "k-Gibbs chains")
    steps, parallel = _simulate(config, progress)
    return TrialResult(
        {
            "assumption": strongly_ferromagnetic(
                CliqueIsing(LENGTH, CLIQUE, max(config.couplings), FIELD)
            ).reason,
            **{name: [row[name] for row in alone] for name in alone[0]},
        },
        {
            "exact": exact,
            "deviation": spread,
            "steps": steps,
            "parallel": parallel,
            "curve": np.stack([fine, curve]),
        },
    )


def _moments(
    P: np.ndarray, target: np.ndarray, start: np.ndarray, budget: int
) -> tuple[float, float]:
    """Mean and standard deviation of `min(T, budget)`: its second moment is
    `sum_{t < budget} (2 t + 1) P(T > t)`."""
    survives = hitting.survival(P, target, start, budget)[:-1]
    mean = float(survives.sum())
    second = float((2 * np.arange(budget) + 1) @ survives)
    return mean, float(np.sqrt(max(second - mean**2, 0)))


def _simulate(config: Hitting, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
    """All couplings, all k and all runs as chains of one program each."""
    couplings = np.asarray(config.couplings, np.float32)
    J, k = (a.ravel() for a in np.meshgrid(couplings, np.arange(1, LENGTH + 1), indexing="ij"))
    start = -np.ones((config.runs, LENGTH), np.int32)
    first, second = jax.random.split(jax.random.key(config.seed))
    gibbs = CliqueGibbs(CliqueIsing(LENGTH, CLIQUE, 1.0, FIELD), 1)
    many = eqx.tree_at(
        lambda c: (c.coupling, c.k, c.field, c.outside),
        gibbs,
        (J, k.astype(np.int32), *_repeated((gibbs.field, gibbs.outside), len(J))),
    )
    steps = _all_steps(many, jax.random.split(first, len(J)), start, config.budget)
    progress(1, 2, "independent chains")
    plain = CliqueParallel(CliqueIsing(LENGTH, CLIQUE, 1.0, FIELD))
    many = eqx.tree_at(
        lambda c: (c.coupling, c.h), plain, (couplings, *_repeated((plain.h,), len(couplings)))
    )
    parallel = _all_steps(many, jax.random.split(second, len(couplings)), start, config.budget)
    return np.asarray(steps).reshape(len(couplings), LENGTH, -1), np.asarray(parallel)


def _repeated(leaves: tuple[Any, ...], count: int) -> list[np.ndarray]:
    return [np.broadcast_to(np.asarray(x, np.float32), (count, *np.shape(x))) for x in leaves]


@eqx.filter_jit
def _all_steps(chains: Any, keys: Any, start: Any, budget: int) -> Any:
    """A batch of chains each with its own parameters: [chain, run]."""
    return eqx.filter_vmap(
        lambda chain, key: hitting_steps(chain, key, start, _arrived, jnp.int32(budget))
    )(chains, keys)


def _arrived(spins: Any) -> Any:
    return jnp.all(spins[:CLIQUE] == 1)
