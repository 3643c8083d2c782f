"""Cliques with two modes: Propositions 4.3.3, 4.1.4, 4.1.5 and Corollary 4.1.1."""

from math import exp

import numpy as np
from scipy.special import expit

from minicosm.lab import Progress, TrialResult
from minicosm.theory.parallel import bounds, hitting, kernels, lumped, theorems
from minicosm.theory.theorem import Relation
from minicosm.worlds import CliqueIsing, MaskLaw

from ...common.ledger import Ledger
from .worlds import Worlds


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i in range(config.worlds):
        progress(i, config.worlds, "random cliques")
        rng = np.random.default_rng([config.seed, i])
        world = _strong(rng)
        _order(ledger, world)
        _reach(ledger, rng, world)
        _stuck(ledger, rng)
    _equality(ledger)
    _small_stuck(ledger)
    _uneven(ledger, config)
    for budget, delta in ((10, 0.5), (100, 0.2), (1000, 0.1), (10**5, 0.05)):
        _separation(ledger, budget, delta)
    _separation(ledger, 10, 0.1, length=2184)  # the least length at which k may be less than it
    _growth(ledger)
    for c in range(2, 12):
        spins = 2 * np.array(np.unravel_index(np.arange(2**c), (2,) * c)) - 1
        share = float((spins.sum(axis=0) <= -2).mean())
        ledger.add("start", error=abs(share - bounds.stuck_at_start(c)))
    return ledger.result()


def _strong(rng) -> CliqueIsing:
    """A random clique that satisfies Assumption 4.1.5, with unequal fields."""
    N = int(rng.integers(2, 8))
    c = int(rng.integers(2, N + 1))
    h = rng.normal(size=N) * rng.uniform(0.05, 1)
    outside = np.abs(h[c:]).sum()
    h[:c] += (outside + rng.uniform(0.01, 1) - h[:c].sum()) / c
    J = np.abs(h).sum() + rng.uniform(0.01, 2)
    return CliqueIsing(N, c, J, h)


def _order(ledger: Ledger, world: CliqueIsing) -> None:
    """Proposition 4.3.3 in log probabilities, and the ratio under flipping the clique."""
    energy = np.log(world.ising().joint().probabilities)
    high, low = world.mode(1), world.mode(-1)
    other = ~(high | low)
    first = energy[high].min() - energy[low].max()
    second = energy[low].min() - energy[other].max() - 2 * world.slack if other.any() else 0.0
    flipped = np.arange(len(energy)) ^ ((2**world.clique - 1) << (world.length - world.clique))
    ratio = energy[high] - energy[flipped[high]]
    ledger.add(
        "modes",
        holds=bool(first > 0 and second >= -1e-9),
        strict=bool(second > 1e-9),
        error=float(np.abs(ratio - 2 * world.clique_field).max()),
    )


def _equality(ledger: Ledger) -> None:
    """Two spins, one without a field: p of the smaller mode is exactly e^(2 J_0) of another state's."""
    for field, slack in ((0.5, 0.3), (1.0, 1.0)):
        world = CliqueIsing(2, 2, field + slack, [0.0, field])
        energy = np.log(world.ising().joint().probabilities)
        ledger.add("modes-equal", excess=float(energy[0] - energy[1:3].max() - 2 * world.slack))


def _reach(ledger: Ledger, rng, world: CliqueIsing) -> None:
    """Proposition 4.1.4: the exact chance of entering R_1 from the worst state, and its steps."""
    k = int(rng.integers(world.clique, world.length + 1))
    found = theorems.proposition_4_1_4(world, k, float(rng.uniform(0.01, 0.5)))
    exact, bound = found.numbers["exact"], found.numbers["bound"]
    # the same chance without a dense kernel
    masks = MaskLaw.uniform(world.length, k)
    other = hitting.reach_in_one(world.ising().joint(), masks, world.mode(1)).min()
    same = abs(other - exact) <= 1e-12
    ledger.add("reach", holds=bool(found.holds and same), ratio=exact / bound)


def _stuck(ledger: Ledger, rng) -> None:
    """Proposition 4.1.5 in large cliques of equal spins, from the worst start."""
    c = int(rng.integers(4, 81))
    h = float(rng.uniform(0, 1) / c)
    slack = float(np.arctanh(min(0.999, 2 / c * rng.uniform(1.01, c / 2))))
    world = CliqueIsing(c, c, c * h + slack, h)
    found = theorems.proposition_4_1_5(world, float(rng.uniform(0.05, 0.9)))
    low = 2 * np.arange(c + 1) - c <= -2
    turn = expit(world.lumped().update_logits()[1][low].max())
    spin = bool(turn <= 1 / (1 + exp(2 * world.slack)) * (1 + 1e-12))
    _add_stuck(ledger, found, spin)


def _add_stuck(ledger: Ledger, found: Relation, spin: bool) -> None:
    ledger.add(
        "stuck", holds=bool(found.holds), applies=found.applies, steps=found.numbers["steps"],
        stays=found.numbers["stays"], spin=spin,
    )  # fmt: skip


def _small_stuck(ledger: Ledger) -> None:
    """Two hardly coupled spins: without r > 0 the formula promises what does not happen."""
    world = CliqueIsing(2, 2, 0.001 + 2e-6, 1e-6)
    found = bounds.stuck(world, 0.74)
    stays = float(kernels.independent_parallel(world.ising().joint())[0, 0])
    ledger.add(
        "stuck-printed", steps=found.steps, promised=1 - 0.74, stays=stays, r=found.r,
        holds=bool(stays >= 1 - 0.74),
    )  # fmt: skip


def _uneven(ledger: Ledger, config: Worlds) -> None:
    """Unequal fields, by enumeration of ten spins."""
    for seed in range(1 if config.worlds < 50 else 4):
        rng = np.random.default_rng([config.seed, 5, seed])
        h = rng.uniform(0, 0.2, size=10)
        world = CliqueIsing(10, 10, h.sum() + rng.uniform(2, 3), h)
        found = theorems.proposition_4_1_5(world, float(rng.uniform(0.1, 0.5)))
        _add_stuck(ledger, found, spin=True)


def _separation(ledger: Ledger, budget: int, delta: float, length: int | None = None) -> None:
    """Corollary 4.1.1 at the least sizes it allows, exactly; spins outside the clique have no field."""
    sizes = bounds.separation(budget, delta)
    c = sizes.clique
    N = c if length is None else length
    h = np.where(np.arange(N) < c, sizes.clique_field / c, 0)
    world = CliqueIsing(N, c, sizes.slack + sizes.clique_field, h)
    k = bounds.least_k(N, c, delta)
    found = theorems.corollary_4_1_1(world, k, budget, delta)
    ledger.add(
        "separation", budget=budget, delta=delta, clique=c, length=N, k=k, holds=bool(found.holds),
        reach=found.numbers["one step enters"], left=found.numbers["independent steps leave"],
    )  # fmt: skip


def _growth(ledger: Ledger) -> None:
    """Mean steps to R_1 from all spins - as the clique grows
    (J_0 = 0.5, h_G = 0.5, no other spins)."""
    for c in range(2, 13):
        world = CliqueIsing(c, c, 1.0, 0.5 / c)
        state = world.lumped()
        target = np.arange(c + 1) == c
        alone = lumped.independent_parallel(state)
        ledger.add(
            "growth",
            clique=c,
            independent=float(hitting.expected_steps(alone, target)[0]),
            half=float(hitting.expected_steps(lumped.k_gibbs(state, c // 2), target)[0]),
            together=float(hitting.expected_steps(lumped.k_gibbs(state, c), target)[0]),
        )
