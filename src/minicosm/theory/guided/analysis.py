"""Everything that is proved about VGB on one tree, as errors of identities and slacks of inequalities."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from minicosm.worlds import GuidedWorld

from . import mixing
from .prefix_tree import PrefixTree


class Analysis(NamedTuple):
    """Errors are absolute and zero if the identity is exact; slacks are not negative if the bound holds.

    None: the statement does not apply (values that are zero elsewhere than `V*`, leaves that are not
    exact, values that are not exact for the spectrum, or a tree above `largest`).
    """

    stationarity: float
    detailed_balance: float  # both flows against c / 2M
    leaf_law: float  # against pi* r_leaf, normalised
    leaf_mass: float | None
    leaf_mass_bound: float | None  # slack
    spectrum: float | None
    level_law: float | None  # exact values: given the level, pi* of prefixes at every time
    canonical_gap: float | None  # slack, relative
    closed_gap: float | None  # slack, relative
    tv_decay: float | None  # slack
    root_time: float | None  # relative
    coverage: float | None  # slack
    first_leaf: float | None
    hitting_time: float | None  # relative
    first_leaf_spread: float | None  # slack of logarithms
    plain: float | None  # the product formula


def analyse(
    world: GuidedWorld,
    log_table: Float[np.ndarray, "levels S"] | None = None,
    *,
    steps: int = 400,
    largest: int = 4000,
) -> Analysis:
    """Run every statement; `steps` of the walk are followed, spectra are computed up to `largest` nodes."""
    tree = PrefixTree(world, log_table)
    mu, kernel, alive = tree.stationary(), tree.kernel(), tree.alive
    inside = mu[alive]
    flow = (kernel * inside[:, None]).tocoo()
    off = flow.row != flow.col
    deeper = np.flatnonzero(alive)[np.maximum(flow.row, flow.col)[off]]
    half = tree.edge[deeper] / (2 * tree.weight.sum())

    target = tree.target()
    on = tree.mass * tree.exact > 0
    errors = mixing.errors(tree)
    at = tree.leaves
    leaf = target * errors.ratio[at]
    matches = bool((on == (tree.mass * tree.value > 0))[1:].all())
    exact_leaves = matches and bool(np.allclose(errors.ratio[at], 1, rtol=1e-12))
    exact = matches and bool(np.allclose(errors.ratio[1:], 1, rtol=1e-12))
    small = int(alive.sum()) <= largest
    first = first_leaf_errors(tree)
    found = Analysis(
        stationarity=float(np.abs(inside @ kernel - inside).max()),
        detailed_balance=float(np.abs(flow.data[off] - half).max()),
        leaf_law=float(np.abs(tree.leaf_law() - leaf / leaf.sum()).max()) if matches else np.nan,
        leaf_mass=None,
        leaf_mass_bound=None,
        spectrum=_spectrum(tree) if exact and small else None,
        level_law=_level_law(tree, min(steps, 60)) if exact else None,
        canonical_gap=None,
        closed_gap=None,
        tv_decay=None,
        root_time=None,
        coverage=None,
        first_leaf=first[0],
        hitting_time=first[1],
        first_leaf_spread=None,
        plain=None,
    )
    if not matches:
        return found._replace(leaf_law=float(np.abs(tree.leaf_law() - _reached(tree)).max()))
    share, bound = mixing.coverage(tree, steps)
    found = found._replace(
        root_time=_root_time(tree, kernel, target),
        coverage=float((share - bound).min()),
        plain=float(np.abs(tree.plain_law() - plain_product(tree)).max()),
    )
    if exact_leaves:
        prefix = tree.mass * tree.exact * errors.ratio / (tree.mass[0] * tree.exact[0])
        means = np.add.reduceat(prefix, tree.starts[1:-1])
        q = np.log(tree.first_leaf_law()[target > 0] / target[target > 0])
        spread = np.log(mixing.first_leaf_spread_bound(tree.horizon, errors.kappa))
        found = found._replace(
            leaf_mass=abs(tree.leaf_mass() - 1 / (2 * float(means.sum()))),
            leaf_mass_bound=tree.leaf_mass() - mixing.leaf_mass_bound(tree.horizon, errors.kappa),
            first_leaf_spread=float(spread - (q.max() - q.min())),
        )
    if small:
        gaps = mixing.gap_bounds(tree)
        curve = mixing.tv_curve(tree, steps)[0]
        found = found._replace(
            canonical_gap=gaps.gap / gaps.canonical - 1,
            closed_gap=gaps.canonical / gaps.closed - 1,
            tv_decay=float((mixing.tv_bound(float(mu[0]), gaps.gap, steps) - curve).min()),
        )
    return found


def _reached(tree: PrefixTree) -> Float[np.ndarray, " leaves"]:
    """`pi_ref V` over the leaves that can be reached, normalised."""
    weights = np.where(tree.alive, tree.mass * tree.value, 0)[tree.leaves]
    return weights / weights.sum()


def _spectrum(tree: PrefixTree) -> float:
    return float(np.abs(tree.spectrum() - mixing.exact_spectrum(tree)).max())


def _level_law(tree: PrefixTree, steps: int) -> float:
    wanted, worst, law = tree.mass * tree.exact / tree.exact[0], 0.0, tree.start()
    for _ in range(steps):
        law = tree.advance(law)
        levels = np.add.reduceat(law, tree.starts[:-1])
        worst = max(worst, float(np.abs(law - wanted * levels[tree.level]).max()))
    return worst


def first_leaf_errors(tree: PrefixTree) -> tuple[float | None, float | None]:
    """Law and expected time of the first leaf against linear equations of the absorbed walk."""
    kernel, nodes = tree.kernel(lazy=False), np.flatnonzero(tree.alive)
    inner = tree.level[nodes] < tree.horizon
    if inner.all():
        return None, None
    moves = csc_array(kernel[inner][:, inner])
    visits = splu(csc_array((eye_array(moves.shape[0]) - moves).T)).solve(
        np.eye(1, moves.shape[0])[0]
    )
    law = np.zeros(tree.vocab**tree.horizon)
    law[nodes[~inner] - tree.starts[tree.horizon]] = visits @ kernel[inner][:, ~inner]
    time = float(visits.sum())
    return (
        float(np.abs(law - tree.first_leaf_law()).max()),
        abs(tree.hitting_time() / time - 1),
    )


def _root_time(tree: PrefixTree, kernel, target: Float[np.ndarray, " leaves"]) -> float:
    """Relative error of the formula against `(1 - P) t = 1` off the root."""
    times = splu(csc_array((eye_array(kernel.shape[0]) - kernel)[1:, 1:])).solve(
        np.ones(kernel.shape[0] - 1)
    )
    whole = np.zeros(len(tree.mass))
    whole[np.flatnonzero(tree.alive)[1:]] = times
    return abs(mixing.root_time(tree) / float(target @ whole[tree.leaves]) - 1)


def plain_product(tree: PrefixTree) -> Float[np.ndarray, " leaves"]:
    """`pi*(y) prod_h r(y_{1:h}) / rbar(y_{1:h-1})`, `rbar(u) = E_{a ~ pi*(.|u)} r(ua)`."""
    ratio, weights = mixing.errors(tree).ratio, tree.mass * tree.exact
    mean = np.divide(
        tree.over_children(weights * ratio), weights, out=np.ones_like(weights), where=weights > 0
    )
    factor = np.ones(1)
    for h in range(1, tree.horizon + 1):
        at = tree.nodes(h)
        up = np.repeat(factor, tree.vocab)
        factor = up * ratio[at] / mean[tree.parent[at]]
    return tree.target() * factor


def plain_kl(tree: PrefixTree) -> float:
    """`KL(pi* || plain) = sum_h E_{pi*}[log rbar - log r]`."""
    factor = plain_product(tree)
    target = tree.target()
    on = target > 0
    return float(-np.sum(target[on] * np.log(factor[on] / target[on])))
