"""How errors of a verifier grow with the horizon: plain guidance, the first leaf of VGB, and `y^(T)`."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory.guided import (
    LumpedTree,
    PrefixTree,
    biased_coin_errors,
    constrained,
    delayed_errors,
    kl,
    mixing,
    tv,
)
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

from ..trials import Amplify

BIAS, WEIGHT, SIGMA = 0.5, 3.0, 0.5
LONG = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
CURVES = (4, 6, 8)
DISTANCE = 0.05  # to the wanted law, that curves are to come below


class Case(NamedTuple):
    """One world of a family with a verifier that errs."""

    family: str
    world: GuidedWorld
    log_table: Float[np.ndarray, "levels S"]

    def tree(self) -> PrefixTree:
        return PrefixTree(self.world, self.log_table)


def run(config: Amplify, progress: Progress) -> TrialResult:
    ledger = Ledger()
    parts: tuple[Callable[[Amplify, Ledger], None], ...] = (
        _closed, _random, _monte_carlo, _brackets, _walk, _curves, _costs,
    )  # fmt: skip
    for i, part in enumerate(parts):
        progress(i, len(parts), part.__name__.strip("_"))
        part(config, ledger)
    return ledger.result()


def _keys(config: Amplify, *path: int) -> Key[Array, " draws"]:
    """One key for every draw at a place of the suite."""
    key = jax.random.key(config.seed)
    for number in path:
        key = jax.random.fold_in(key, number)
    return jax.random.split(key, config.draws)


def _closed(config: Amplify, ledger: Ledger) -> None:
    """Biased coin and delayed value: closed forms for every horizon."""
    for H in LONG:
        for name, closed in (
            ("biased coin", biased_coin_errors(H, BIAS)),
            ("delayed", delayed_errors(H, WEIGHT)),
        ):
            ledger.measure(
                name,
                H=H,
                plain=closed.kl_plain,
                first=closed.kl_first_leaf,
                time=closed.hitting_time,
            )


def _coin(H: int) -> Case:
    world = biased_coin(H)
    return Case("biased coin", world, biased_coin_table(world, BIAS))


def _feasible(name: str, world: GuidedWorld) -> Case:
    """With the feasibility verifier as value."""
    return Case(name, world, np.where(world.feasible(), 0.0, -np.inf))


def _families(config: Amplify, H: int) -> Iterator[Case]:
    """One case of every family at a horizon that can be enumerated."""
    yield _coin(H)
    world = delayed_value(H, WEIGHT)
    yield Case("delayed", world, delayed_table(world, WEIGHT))
    keys = jax.random.split(_keys(config, 0, H)[0], 3)
    world = coin_flip_tree(keys[0], H)
    yield Case("independent errors", world, noisy_table(world, keys[1], sigma=SIGMA))
    world = delayed_value(H, 2.0).unfolded()
    yield Case("Monte-Carlo values", world, monte_carlo_table(world, keys[2], 500))
    if H % 2 == 0 and H <= 8:
        yield _feasible("noisy Dyck", noisy_dyck(H))


def _random(config: Amplify, ledger: Ledger) -> None:
    for H in (4, 8, 12, 16):
        for key in _keys(config, 1, H):
            world_key, value_key = jax.random.split(key)
            world = coin_flip_tree(world_key, H)
            amplified = PrefixTree(
                world, noisy_table(world, value_key, sigma=SIGMA)
            ).amplification()
            ledger.measure(
                "independent errors", H=H, plain=amplified.kl_plain, first=amplified.kl_first_leaf
            )


def _monte_carlo(config: Amplify, ledger: Ledger) -> None:
    for H in (6, 8, 10):
        world = delayed_value(H, 2.0).unfolded()
        for N in (500, 10_000):
            for key in _keys(config, 2, H, N):
                amplified = PrefixTree(world, monte_carlo_table(world, key, N)).amplification()
                ledger.measure(
                    "Monte-Carlo values",
                    H=H,
                    N=N,
                    plain=amplified.kl_plain,
                    first=amplified.kl_first_leaf,
                )


def _brackets(config: Amplify, ledger: Ledger) -> None:
    for D in config.brackets:
        case = _feasible("noisy Dyck", noisy_dyck(D))
        lumped = LumpedTree(case.world, case.log_table)
        ledger.measure("noisy Dyck", H=D, plain=lumped.kl_plain(), first=lumped.kl_first_leaf())


def _walk(config: Amplify, ledger: Ledger) -> None:
    """`y^(T)` given a leaf, T = 6 H^2, and the stationary law given a leaf."""
    for H in config.walk:
        for case in _families(config, H):
            tree = case.tree()
            target, law = tree.target(), tree.given_leaf(tree.after(6 * H * H))
            ledger.measure(
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
    """Total variation against the number of steps, and the bounds from the root."""
    for H in CURVES:
        tree = _coin(H).tree()
        nodes, leaves = mixing.tv_curve(tree, config.curve)
        gaps, root = mixing.gap_bounds(tree), float(tree.stationary()[0])
        bounds = [mixing.tv_bound(root, gap, config.curve) for gap in gaps]
        ledger.picture(**{f"curve {H}": np.stack([nodes, leaves, *bounds])})
        enough = mixing.sufficient_steps(H, 1 / (1 - BIAS), DISTANCE)
        ledger.measure(
            "curves",
            H=H,
            first=int(np.flatnonzero(np.nan_to_num(leaves, nan=1.0) <= DISTANCE)[0]),
            enough=enough,
            then=tv(tree.given_leaf(tree.after(enough)), tree.target()),
            slack=float(np.min([bound - nodes for bound in bounds])),
        )
    tree = _coin(4).tree()
    ledger.picture(mu=tree.stationary(), edge=tree.edge, parent=tree.parent, level=tree.level)


def _costs(config: Amplify, ledger: Ledger) -> None:
    """Expected calls of every sampler, and distinct prefixes that VGB asks about before its first leaf."""
    cases = (_feasible("needle", needle(8)), _feasible("some zero", some_zero(8)))
    for case in (*_families(config, 8), *cases):
        tree = case.tree()
        tokenwise = constrained.tokenwise_rejection(case.world, case.world.feasible())
        ledger.measure(
            "costs",
            world=case.family,
            rejection=constrained.rejection_calls(case.world),
            tokenwise=tokenwise.calls,
            guided=case.world.horizon,
            steps=tree.hitting_time(),
            prefixes=float(tree.visits()[tree.inner].sum()),
            leaf_mass=tree.leaf_mass(),
        )
