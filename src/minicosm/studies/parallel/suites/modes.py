"""Cliques with two modes: Propositions 4.3.3, 4.1.4, 4.1.5 and Corollary 4.1.1."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import parallel as theory
from minicosm.theory.parallel import bounds, hitting, lumped
from minicosm.worlds import CliqueIsing

from ..trials import Worlds


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i in range(config.worlds):
        progress(i, config.worlds, "random cliques")
        rng = np.random.default_rng([config.seed, i])
        world = _strong(rng)
        ledger.add(theory.proposition_4_3_3(world))
        k, delta = int(rng.integers(world.clique, world.length + 1)), float(rng.uniform(0.01, 0.5))
        ledger.add(theory.proposition_4_1_4(world, k, delta))
        _stuck(ledger, rng)
    _uneven(ledger, config)
    # two hardly coupled spins
    loose = CliqueIsing(2, 2, 0.001 + 2e-6, 1e-6)
    ledger.add(theory.proposition_4_1_5(loose, 0.74, as_printed=True))
    for budget, delta in ((10, 0.5), (100, 0.2), (1000, 0.1), (10**5, 0.05)):
        _separation(ledger, budget, delta)
    _separation(ledger, 10, 0.1, length=2184)  # the least length at which k may be less than it
    _growth(ledger)
    return ledger.result()


def _strong(rng: np.random.Generator) -> CliqueIsing:
    """A random clique that satisfies Assumption 4.1.5, with unequal fields."""
    N = int(rng.integers(2, 8))
    c = int(rng.integers(2, N + 1))
    h = rng.normal(size=N) * rng.uniform(0.05, 1)
    outside = np.abs(h[c:]).sum()
    h[:c] += (outside + rng.uniform(0.01, 1) - h[:c].sum()) / c
    J = np.abs(h).sum() + rng.uniform(0.01, 2)
    return CliqueIsing(N, c, J, h)


def _stuck(ledger: Ledger, rng: np.random.Generator) -> None:
    """Proposition 4.1.5 in large cliques of equal spins, from the worst start."""
    c = int(rng.integers(4, 81))
    h = float(rng.uniform(0, 1) / c)
    slack = float(np.arctanh(min(0.999, 2 / c * rng.uniform(1.01, c / 2))))
    world = CliqueIsing(c, c, c * h + slack, h)
    ledger.add(theory.proposition_4_1_5(world, float(rng.uniform(0.05, 0.9))))
    ledger.add(theory.equation_4_44(world))


def _uneven(ledger: Ledger, config: Worlds) -> None:
    """Unequal fields, by enumeration of ten spins."""
    for seed in range(1 if config.worlds < 50 else 4):
        rng = np.random.default_rng([config.seed, 5, seed])
        h = rng.uniform(0, 0.2, size=10)
        world = CliqueIsing(10, 10, h.sum() + rng.uniform(2, 3), h)
        ledger.add(theory.proposition_4_1_5(world, float(rng.uniform(0.1, 0.5))))


def _separation(ledger: Ledger, budget: int, delta: float, length: int | None = None) -> None:
    """Corollary 4.1.1 at the least sizes it allows, exactly; spins outside the clique have no field."""
    sizes = bounds.separation(budget, delta)
    c = sizes.clique
    N = c if length is None else length
    h = np.where(np.arange(N) < c, sizes.clique_field / c, 0)
    world = CliqueIsing(N, c, sizes.slack + sizes.clique_field, h)
    k = bounds.least_k(N, c, delta)
    found = theory.corollary_4_1_1(world, k, budget, delta)
    ledger.add(found, budget=budget, delta=delta, clique=c, length=N, k=k)


def _growth(ledger: Ledger) -> None:
    """Mean steps to R_1 from all spins - as the clique grows (J_0 = 0.5, h_G = 0.5, no other spins)."""
    for c in range(2, 13):
        state = CliqueIsing(c, c, 1.0, 0.5 / c).lumped()
        target = np.arange(c + 1) == c
        chains = {
            "independent": lumped.independent_parallel(state),
            "half": lumped.k_gibbs(state, c // 2),
            "together": lumped.k_gibbs(state, c),
        }
        steps = {name: float(hitting.expected_steps(P, target)[0]) for name, P in chains.items()}
        ledger.measure("growth", clique=c, **steps)
