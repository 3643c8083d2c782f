"""Everything proved about VGB, on random trees with exact values and with errors."""

from dataclasses import dataclass

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.guided.analysis import analyse, plain_kl
from minicosm.theory.guided.closed_forms import needle_costs
from minicosm.theory.guided.distances import kl
from minicosm.theory.guided.lumped_tree import LumpedTree
from minicosm.theory.guided.prefix_tree import PrefixTree
from minicosm.worlds import (
    GuidedWorld,
    Knapsack,
    biased_coin,
    biased_coin_table,
    needle,
    noisy_table,
    random_tree,
    some_zero,
)

from ...common.ledger import Ledger


@dataclass(frozen=True)
class Trees:
    """Random trees of every shape up to this many nodes, `draws` of each, followed for `steps` steps."""

    seed: int
    draws: int
    nodes: int
    steps: int = 400


def run(config: Trees, progress: Progress) -> TrialResult:
    ledger = Ledger()
    shapes = [
        (K, H)
        for K in (1, 2, 3)
        for H in range(1, 12)
        if (H + 1 if K == 1 else (K ** (H + 1) - 1) // (K - 1)) <= config.nodes
    ]
    for i, (K, H) in enumerate(shapes):
        progress(i, len(shapes), "random trees")
        for draw in range(config.draws):
            rng = np.random.default_rng([config.seed, K, H, draw])
            zeros = 0.0 if K == 1 else 0.25
            world = random_tree(rng, K, H, zero_laws=zeros, zero_tilts=zeros)
            if world.log_partition() == -np.inf:
                continue
            _world(ledger, world, rng, config.steps)
    _binary(ledger)
    _stalls(ledger)
    _calibration(ledger)
    _holding(ledger, config)
    _period(ledger)
    return ledger.result()


def _world(ledger: Ledger, world: GuidedWorld, rng: np.random.Generator, steps: int) -> None:
    leaves = noisy_table(world, rng, kappa=2.0)
    leaves[-1] += rng.uniform(-1, 1, size=leaves.shape[1]) * np.log(2)
    tables = {
        "exact": None,
        "kappa 4": noisy_table(world, rng, kappa=4.0),
        "sigma 0.5": noisy_table(world, rng, sigma=0.5),
        "leaves too": leaves,
    }
    for kind, log_table in tables.items():
        for name, value in analyse(world, log_table, steps=steps)._asdict().items():
            if value is not None:
                ledger.add(name, error=value, slack=value, kind=kind)
        tree = PrefixTree(world, log_table)
        ledger.add(
            "plain-kl", error=abs(plain_kl(tree) - kl(tree.target(), tree.plain_law())), kind=kind
        )
        if kind == "exact":
            H = world.horizon
            levels = np.add.reduceat(tree.stationary(), tree.starts[:-1])
            wanted = np.full(H + 1, 1 / H)
            wanted[[0, -1]] = 1 / (2 * H)
            ledger.add("exact-levels", error=float(np.abs(levels - wanted).max()))
            ledger.add("exact-time", error=abs(tree.hitting_time() / H**2 - 1))
        else:
            # A factor per level changes neither law of leaves: 2^h here.
            base = tree.world.log_values() if log_table is None else log_table
            moved = PrefixTree(world, base + np.log(2) * np.arange(world.horizon + 1)[:, None])
            ledger.add(
                "rescaled-plain", error=float(np.abs(moved.plain_law() - tree.plain_law()).max())
            )
            ledger.add(
                "rescaled-leaf", error=float(np.abs(moved.leaf_law() - tree.leaf_law()).max())
            )


def _binary(ledger: Ledger) -> None:
    """D10: counts of accepted completions are the weights of edges."""
    for world in (Knapsack((1, 2, 3, 4, 5, 6), 9).world(), some_zero(5), needle(4)):
        tree = PrefixTree(world)
        counts = (tree.exact[tree.leaves] > 0).astype(float)
        error, total = 0.0, world.vocab**world.horizon
        for h in range(world.horizon, 0, -1):
            error = max(error, float(np.abs(tree.edge[tree.nodes(h)] - counts / total).max()))
            counts = counts.reshape(-1, world.vocab).sum(axis=1)
        ledger.add("counting", error=error)


def _stalls(ledger: Ledger) -> None:
    """D11: the needle with the feasibility verifier as value."""
    for D in range(1, 13):
        world, closed = needle(D), needle_costs(D)
        log_table = np.where(world.feasible(), 0.0, -np.inf)
        tree, lumped = PrefixTree(world, log_table), LumpedTree(world, log_table)
        times = [tree.hitting_time(), lumped.hitting_time()]
        masses = [tree.leaf_mass(), lumped.leaf_mass()]
        error = max(abs(time / closed.vgb - 1) for time in times)
        error = max(error, *(abs(mass / closed.leaf_mass - 1) for mass in masses))
        ledger.add("stalls", D=D, error=error, steps=times[0], tokenwise=closed.tokenwise)


def _calibration(ledger: Ledger) -> None:
    """`V = s^h V*` below the leaves, at H = 5: laws stay, leaf mass and time do not."""
    world = biased_coin(5)
    for scale in (0.5, 1.0, 2.0):
        log_table = world.log_values()
        log_table[:-1] += np.log(scale) * np.arange(5)[:, None]
        tree = PrefixTree(world, log_table)
        off = max(
            float(np.abs(law - tree.target()).max())
            for law in (tree.leaf_law(), tree.first_leaf_law())
        )
        ledger.add(
            "calibration",
            scale=scale,
            leaf_mass=tree.leaf_mass(),
            steps=tree.hitting_time(),
            error=off,
        )


def _holding(ledger: Ledger, config: Trees) -> None:
    """What rejected proposals do to the walk: holding with a constant envelope, and the right form."""
    for draw in range(max(config.draws, 4)):
        rng = np.random.default_rng([config.seed, 77, draw])
        world = random_tree(rng, 2, 4)
        tree = PrefixTree(world, noisy_table(world, rng, kappa=2.0))
        value = tree.value
        n, up, below = len(value), tree.parent[1:], np.arange(1, len(value))
        # Up or down with probability 1/2 each, the child from pi_ref, accepted with V / M, else stay.
        envelope = value.max()
        naive = np.zeros((n, n))
        naive[below, up] = value[below] / (2 * envelope)
        naive[up, below] = tree.steps_down[below] * value[below] / (2 * envelope)
        # Up with 1 / 2M, child a with pi_ref(a | u) V(ua) / (2 M V(u)).
        largest = max(1.0, float((value[below] / value[up]).max()))
        right = np.zeros((n, n))
        right[below, up] = 1 / (2 * largest)
        right[up, below] = tree.steps_down[below] * value[below] / (2 * largest * value[up])
        for name, kernel, law in (
            ("holding-naive", naive, tree.mass),
            ("holding-right", right, tree.mass * value),
        ):
            kernel[np.arange(n), np.arange(n)] = 1 - kernel.sum(axis=1)
            law = law / law.sum()
            given = law[tree.leaves] / law[tree.leaves].sum()
            ledger.add(
                name,
                error=float(np.abs(law @ kernel - law).max()),
                off_target=float(np.abs(given - tree.target()).sum() / 2),
            )


def _period(ledger: Ledger) -> None:
    """Footnote 12: without laziness the same law is stationary, but the walk does not converge to it."""
    for H in (2, 4, 6):
        world = biased_coin(H)
        tree = PrefixTree(world, biased_coin_table(world, 0.5))
        mu = tree.stationary()
        law = tree.after(400 * H, lazy=False)
        lazy = tree.after(400 * H)
        ledger.add(
            "period",
            H=H,
            stationary=float(np.abs(tree.advance(mu, lazy=False) - mu).max()),
            tv=float(np.abs(law - mu).sum() / 2),
            lazy_tv=float(np.abs(lazy - mu).sum() / 2),
        )
