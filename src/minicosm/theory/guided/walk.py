"""What is proved about VGB's stationary law, as functions that return a `Theorem`."""

import numpy as np
from jaxtyping import Float

from minicosm.worlds import GuidedWorld

from ..checks import real, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from . import mixing
from .conditions import exact_leaves, exact_values, largest, same_support, where
from .prefix_tree import PrefixTree


@checked()
def stationary_law(tree: PrefixTree) -> Theorem:
    """`mu(u) = w(u) / (2 sum_h C_h)` is stationary, and every edge carries `c / 2M` in both directions."""
    kernel, inside = tree.kernel(), tree.stationary()[tree.alive]
    flow = (kernel * inside[:, None]).tocoo()
    off = flow.row != flow.col
    deeper = np.flatnonzero(tree.alive)[np.maximum(flow.row, flow.col)[off]]
    balance = float(np.abs(flow.data[off] - tree.edge[deeper] / (2 * tree.weight.sum())).max())
    moved = float(np.abs(inside @ kernel - inside).max())
    details = {"stationarity": moved, "balance": balance}
    return Theorem.identity("stationary law", largest(moved, balance), details=details)


@checked()
def law_of_the_leaves(tree: PrefixTree) -> Theorem:
    """Given a leaf, `mu` is in proportion to `pi* r`: `pi*` if the leaves are exact."""

    def error() -> float:
        wanted = tree.target() * mixing.errors(tree).ratio[tree.leaves]
        return float(np.abs(tree.leaf_law() - wanted / wanted.sum()).max())

    needs = (same_support(tree),)
    return Theorem.identity("law of the leaves", where(needs, error), conditions=needs)


@checked()
def mass_of_the_leaves(tree: PrefixTree) -> Theorem:
    """With exact leaves `mu(leaves) = 1 / (2 sum_h E_{pi*}[r(y_{1:h})])`."""

    def error() -> float:
        weights = tree.mass * tree.exact * mixing.errors(tree).ratio
        means = np.add.reduceat(weights, tree.starts[1:-1]) / (tree.mass[0] * tree.exact[0])
        return abs(tree.leaf_mass() - 1 / (2 * float(means.sum())))

    needs = exact_leaves(tree)
    return Theorem.identity("mass of the leaves", where(needs, error), conditions=needs)


@checked()
def least_mass_of_the_leaves(tree: PrefixTree) -> Theorem:
    """With exact leaves and `1/kappa <= r <= kappa`, `mu(leaves) >= 1 / (2 (1 + kappa (H - 1)))`."""
    bound = 1 / (2 * (1 + mixing.errors(tree).kappa * (tree.horizon - 1)))
    slack = tree.leaf_mass() - bound
    return Theorem.inequality("least mass of the leaves", slack, conditions=exact_leaves(tree))


@checked()
def masses_of_levels(tree: PrefixTree) -> Theorem:
    """With exact values every inner level has mass 1/H, the root and all leaves together 1/(2H) each."""
    H = tree.horizon
    wanted = np.full(H + 1, 1 / H)
    wanted[[0, -1]] = 1 / (2 * H)
    error = np.abs(np.add.reduceat(tree.stationary(), tree.starts[:-1]) - wanted).max()
    return Theorem.identity("masses of levels", float(error), conditions=exact_values(tree))


@checked()
def spectrum(tree: PrefixTree) -> Theorem:
    """With exact values the eigenvalues are those of `mixing.exact_spectrum`, and no others."""

    def error() -> float:
        return float(np.abs(tree.spectrum() - mixing.exact_spectrum(tree)).max())

    needs = exact_values(tree)
    return Theorem.identity("spectrum", where(needs, error), conditions=needs)


@checked(steps=whole(1))
def law_at_every_time(tree: PrefixTree, steps: int = 60) -> Theorem:
    """With exact values, from the root and given the level h, the node has the law `pi*(y_{1:h})` after
    any number of steps; `steps` are followed."""

    def error() -> float:
        wanted, worst, law = tree.mass * tree.exact / tree.exact[0], 0.0, tree.start()
        for _ in range(steps):
            law = tree._advance(law)
            levels = np.add.reduceat(law, tree.starts[:-1])
            worst = largest(worst, float(np.abs(law - wanted * levels[tree.level]).max()))
        return worst

    needs = exact_values(tree)
    return Theorem.identity("law at every time", where(needs, error), conditions=needs)


@checked()
def sinclair_jerrum(world: GuidedWorld) -> Theorem:
    """With uniform tokens, a constraint set A and exact values, `c(u)` is the share of strings that begin
    with u and lie in A."""
    tree = PrefixTree(world)
    uniform = bool(np.allclose(world.base, 1 / world.vocab, rtol=1e-12))
    binary = bool(np.isin(world.log_tilt, (0.0, -np.inf)).all())
    conditions = (
        Condition("tokens are uniform", uniform, reason="some token has another probability"),
        Condition("the tilt is 0 or 1", binary, reason="some tilt is another number"),
    )
    counts: Float[np.ndarray, " n"] = (tree.exact[tree.leaves] > 0).astype(float)
    error, total = 0.0, world.vocab**world.horizon
    for h in range(world.horizon, 0, -1):
        error = largest(error, float(np.abs(tree.edge[tree.nodes(h)] - counts / total).max()))
        counts = counts.reshape(-1, world.vocab).sum(axis=1)
    return Theorem.identity("Sinclair-Jerrum walk", error, conditions=conditions)


@checked()
def footnote_12_as_printed(tree: PrefixTree) -> Theorem:
    """Without laziness there is no stationary law. The slack is by how much one step changes `mu`, less
    the 1e-12 that rounding may leave."""
    mu = tree.stationary()
    change = float(np.abs(tree.advance(mu, lazy=False) - mu).max())
    return Theorem.inequality("Footnote 12 as printed", change - 1e-12, within=0.0)


@checked()
def no_convergence_without_laziness(tree: PrefixTree) -> Theorem:
    """Without laziness the walk from the root stays at total variation 1/2 or more from `mu`."""
    distance = _distance(tree, lazy=False)
    return Theorem.inequality("no convergence without laziness", distance - 0.5)


@checked()
def convergence_with_laziness(tree: PrefixTree) -> Theorem:
    """With laziness it comes to `mu`: total variation at most 1e-6 after 400 H steps."""
    distance = _distance(tree, lazy=True)
    return Theorem.identity("convergence with laziness", distance, within=1e-6)


def _distance(tree: PrefixTree, *, lazy: bool) -> float:
    """Total variation to `mu` after 400 H steps from the root."""
    law = tree.after(400 * tree.horizon, lazy=lazy)
    return float(np.abs(law - tree.stationary()).sum() / 2)


@checked(factor=real(above=0))
def scaled_levels(tree: PrefixTree, factor: float = 2.0) -> Theorem:
    """Values times `factor^h` on every level give the same law of plain guidance, and the same stationary
    law of the leaves."""
    table = np.log(factor) * np.arange(tree.horizon + 1)[:, None] + tree.table
    moved = PrefixTree(tree.world, table)
    plain = float(np.abs(moved.plain_law() - tree.plain_law()).max())
    leaves = float(np.abs(moved.leaf_law() - tree.leaf_law()).max())
    details = {"plain": plain, "leaves": leaves}
    return Theorem.identity("scaled levels", largest(plain, leaves), details=details)


@checked(scale=real(above=0))
def scaled_below_the_leaves(world: GuidedWorld, scale: float) -> Theorem:
    """`V = scale^h V*` below the leaves leaves the laws of the leaves and of the first leaf exact. What
    it moves, the mass of the leaves and the steps to the first one, are details."""
    table = world.log_values()
    table[:-1] += np.log(scale) * np.arange(world.horizon)[:, None]
    tree = PrefixTree(world, table)
    laws = tree.leaf_law(), tree.first_leaf_law()
    error = largest(*(float(np.abs(law - tree.target()).max()) for law in laws))
    details = {"scale": scale, "leaf_mass": tree.leaf_mass(), "steps": tree.hitting_time()}
    return Theorem.identity("values scaled below the leaves", error, details=details)
