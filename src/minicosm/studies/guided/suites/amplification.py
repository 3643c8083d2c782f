"""How errors of a verifier grow with the horizon: plain guidance, the first leaf of VGB, and `y^(T)`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.guided import constrained, mixing
from minicosm.theory.guided.closed_forms import biased_coin_errors, delayed_errors
from minicosm.theory.guided.distances import kl, tv
from minicosm.theory.guided.lumped_tree import LumpedTree
from minicosm.theory.guided.prefix_tree import PrefixTree
from minicosm.worlds import (
    GuidedWorld,
    biased_coin,
    biased_coin_table,
    coin_flip_tree,
    delayed_table,
    delayed_value,
    monte_carlo_table,
    needle,
    noisy_dyck,
    noisy_table,
    some_zero,
)

from ...common.ledger import Ledger

BIAS, WEIGHT, SIGMA = 0.5, 3.0, 0.5
LONG = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


@dataclass(frozen=True)
class Amplify:
    """Random errors and Monte-Carlo values are drawn `draws` times; `walk` are the horizons at which the
    law of the walk after `T = 6 H^2` steps is followed over the whole tree."""

    seed: int
    draws: int
    walk: tuple[int, ...] = (4, 6, 8)
    dyck: tuple[int, ...] = (4, 6, 8, 10, 12)
    lumped: int = 64  # the longest horizon at which automaton states are compared with closed forms
    curve: int = 800


class Case(NamedTuple):
    """One world of a family with a verifier that errs."""

    family: str
    horizon: int
    world: GuidedWorld
    log_table: np.ndarray


def run(config: Amplify, progress: Progress) -> TrialResult:
    ledger = Ledger()
    parts: tuple[Callable[[Amplify, Ledger], None], ...] = (
        _closed, _random, _monte_carlo, _dyck, _walk, _curves, _costs, _some_zero,
    )  # fmt: skip
    for i, part in enumerate(parts):
        progress(i, len(parts), part.__name__.strip("_"))
        part(config, ledger)
    return ledger.result()


def _closed(config: Amplify, ledger: Ledger) -> None:
    """Biased coin and delayed value: closed forms for every horizon, automaton states up to `lumped`, and
    enumerated trees up to 10."""
    for H in LONG:
        for name, closed in (
            ("biased coin", biased_coin_errors(H, BIAS)),
            ("biased coin 0.2", biased_coin_errors(H, 0.2)),
            ("delayed", delayed_errors(H, WEIGHT)),
        ):
            ledger.add(
                name,
                H=H,
                plain=closed.kl_plain,
                first=closed.kl_first_leaf,
                time=closed.hitting_time,
            )
    for H in (4, 6, 8, 10):
        case = next(c for c in _families(config, H) if c.family == "biased coin")
        tree = PrefixTree(case.world, case.log_table)
        found = tree.amplification()
        ledger.add(
            "biased coin table",
            H=H,
            **found._asdict(),
            leaf_mass=tree.leaf_mass(),
            time=tree.hitting_time(),
        )
    for H in [h for h in (2, 3, 5, 10, *LONG) if h <= config.lumped]:
        for case, closed in (
            (_coin(H), biased_coin_errors(H, BIAS)),
            (_late(H), delayed_errors(H, WEIGHT)),
        ):
            lumped = LumpedTree(case.world, case.log_table)
            pairs = [
                (lumped.kl_plain(), closed.kl_plain),
                (lumped.kl_first_leaf(), closed.kl_first_leaf),
                (lumped.hitting_time(), closed.hitting_time),
                (lumped.leaf_mass(), closed.leaf_mass),
            ]
            if H <= 10:
                tree = PrefixTree(case.world, case.log_table)
                found = tree.amplification()
                pairs += [
                    (found.kl_plain, closed.kl_plain),
                    (found.kl_first_leaf, closed.kl_first_leaf),
                    (tree.hitting_time(), closed.hitting_time),
                    (tree.leaf_mass(), closed.leaf_mass),
                ]
            ledger.add("closed-forms", error=max(abs(a - b) / b for a, b in pairs))


def _coin(H: int) -> Case:
    world = biased_coin(H)
    return Case("biased coin", H, world, biased_coin_table(world, BIAS))


def _late(H: int) -> Case:
    world = delayed_value(H, WEIGHT)
    return Case("delayed", H, world, delayed_table(world, WEIGHT))


def _families(config: Amplify, H: int) -> Iterator[Case]:
    """One case of every family at a horizon that can be enumerated."""
    yield _coin(H)
    yield _late(H)
    rng = np.random.default_rng([config.seed, H])
    world = coin_flip_tree(rng, H)
    yield Case("independent errors", H, world, noisy_table(world, rng, sigma=SIGMA))
    world = delayed_value(H, 2.0).unfolded()
    yield Case("Monte-Carlo values", H, world, monte_carlo_table(world, rng, 500))
    if H % 2 == 0 and H <= 8:
        world = noisy_dyck(H)
        yield Case("noisy Dyck", H, world, np.where(world.feasible(), 0.0, -np.inf))


def _random(config: Amplify, ledger: Ledger) -> None:
    for H in (4, 8, 12, 16):
        for draw in range(config.draws):
            rng = np.random.default_rng([config.seed, 1, H, draw])
            world = coin_flip_tree(rng, H)
            found = PrefixTree(world, noisy_table(world, rng, sigma=SIGMA)).amplification()
            ledger.add("independent errors", H=H, plain=found.kl_plain, first=found.kl_first_leaf)


def _monte_carlo(config: Amplify, ledger: Ledger) -> None:
    for H in (6, 8, 10):
        world = delayed_value(H, 2.0).unfolded()
        for N in (500, 10_000):
            for draw in range(config.draws):
                rng = np.random.default_rng([config.seed, 2, H, N, draw])
                found = PrefixTree(world, monte_carlo_table(world, rng, N)).amplification()
                ledger.add(
                    "Monte-Carlo values", H=H, N=N, plain=found.kl_plain, first=found.kl_first_leaf
                )


def _dyck(config: Amplify, ledger: Ledger) -> None:
    for D in config.dyck:
        world = noisy_dyck(D)
        lumped = LumpedTree(world, np.where(world.feasible(), 0.0, -np.inf))
        ledger.add(
            "noisy Dyck",
            H=D,
            plain=lumped.kl_plain(),
            first=lumped.kl_first_leaf(),
            time=lumped.hitting_time(),
            leaf_mass=lumped.leaf_mass(),
        )
    world = noisy_dyck(6)
    tree = PrefixTree(world, np.where(world.feasible(), 0.0, -np.inf))
    exact, found = PrefixTree(world), tree.amplification()
    ledger.add(
        "noisy Dyck table",
        Z=float(np.exp(world.log_partition())),
        square=float(world.tilted().base[0, 0, 0]),
        tv_plain=found.tv_plain,
        tv_first=found.tv_first_leaf,
        tv_stationary=tv(tree.leaf_law(), tree.target()),
        leaf_mass=tree.leaf_mass(),
        time=tree.hitting_time(),
        exact_mass=exact.leaf_mass(),
        exact_time=exact.hitting_time(),
    )


def _walk(config: Amplify, ledger: Ledger) -> None:
    """`y^(T)` given a leaf, T = 6 H^2, and the stationary law given a leaf."""
    for H in config.walk:
        for case in _families(config, H):
            tree = PrefixTree(case.world, case.log_table)
            target = tree.target()
            law = tree.given_leaf(tree.after(6 * H * H))
            ledger.add(
                "walk",
                family=case.family,
                H=H,
                tv=tv(law, target),
                kl=kl(target, law),
                stationary=tv(tree.leaf_law(), target),
                plain=tree.amplification().tv_plain,
                first=tree.amplification().tv_first_leaf,
            )


def _curves(config: Amplify, ledger: Ledger) -> None:
    """Total variation against the number of steps, beside the bounds from the root."""
    for H in (4, 6, 8):
        case = _coin(H)
        tree = PrefixTree(case.world, case.log_table)
        nodes, leaves = mixing.tv_curve(tree, config.curve)
        gaps, root = mixing.gap_bounds(tree), float(tree.stationary()[0])
        curves = [nodes, leaves] + [
            mixing.tv_bound(root, gap, config.curve)
            for gap in (gaps.gap, gaps.canonical, gaps.closed)
        ]
        ledger.picture(**{f"curve {H}": np.stack(curves)})
        below = np.flatnonzero(np.nan_to_num(leaves, nan=1.0) <= 0.05)
        enough = mixing.sufficient_steps(H, 1 / (1 - BIAS), 0.05)
        then = tv(tree.given_leaf(tree.after(enough)), tree.target())
        at = [float(leaves[t]) for t in (64, 128, 256, 384)]
        slack = [float((curve - nodes).min()) for curve in curves[2:]]
        ledger.add(
            "curves", H=H, first=int(below[0]), enough=enough, then=then, at=at, slack=min(slack)
        )
    world = biased_coin(4)
    tree = PrefixTree(world, biased_coin_table(world, BIAS))
    ledger.picture(mu=tree.stationary(), edge=tree.edge, parent=tree.parent, level=tree.level)


def _costs(config: Amplify, ledger: Ledger) -> None:
    """Expected calls of every sampler, and distinct prefixes that VGB asks about before its first leaf."""
    cases = list(_families(config, 8))
    cases += [
        Case(name, 8, world, np.where(world.feasible(), 0.0, -np.inf))
        for name, world in (("needle", needle(8)), ("some zero", some_zero(8)))
    ]
    for case in cases:
        tree = PrefixTree(case.world, case.log_table)
        seen = tree.visits()
        ledger.add(
            "costs",
            world=case.family,
            H=case.horizon,
            rejection=constrained.rejection_calls(case.world),
            tokenwise=constrained.tokenwise_rejection(case.world, case.world.feasible()).calls,
            guided=case.horizon,
            steps=tree.hitting_time(),
            prefixes=float(seen[tree.inner].sum()),
            leaf_mass=tree.leaf_mass(),
            kl_plain=tree.amplification().kl_plain,
            kl_first=tree.amplification().kl_first_leaf,
        )


def _some_zero(config: Amplify, ledger: Ledger) -> None:
    for D in (2, 3, 6):
        world = some_zero(D)
        tree = PrefixTree(world, np.where(world.feasible(), 0.0, -np.inf))
        found = tree.amplification()
        stationary = tv(tree.leaf_law(), tree.target())
        ledger.add(
            "some zero", D=D, plain=found.tv_plain, first=found.tv_first_leaf, stationary=stationary
        )
