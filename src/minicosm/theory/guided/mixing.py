"""How fast VGB mixes: its spectrum for exact values, and bounds for values with errors."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import real, whole
from ..signatures import checked
from .prefix_tree import PrefixTree


@checked()
def exact_spectrum(tree: PrefixTree) -> Float[np.ndarray, " m"]:
    """Eigenvalues of the lazy walk with exact values, increasing: `1/2 + lambda/2` of

    `cos(pi j / H)`, j = 0..H, and for each node at depth h < H with m >= 1 children of positive value
    m - 1 copies of `cos((2j - 1) pi / (2 (H - h)))`, j = 1..H-h.
    """
    H = tree.horizon
    values = [np.cos(np.pi * np.arange(H + 1) / H)]
    children = tree.over_children(tree.alive.astype(float)).astype(int)
    for h in range(H):
        branches = children[tree.nodes(h)][tree.alive[tree.nodes(h)]]
        copies = int((branches - 1).sum())
        j = np.arange(1, H - h + 1)
        values += [np.cos((2 * j - 1) * np.pi / (2 * (H - h)))] * copies
    return np.sort(np.concatenate(values)) / 2 + 0.5


@checked()
def exact_gap(tree: PrefixTree) -> float:
    """`1/2 (1 - cos(pi / max(H, 2 (H - h_0))))`, h_0 the depth of the first node that branches (H if none);
    a single edge (H = 1, one leaf) has the gap one."""
    H = tree.horizon
    children = tree.over_children(tree.alive.astype(float))
    branching = tree.level[(children > 1) & tree.alive]
    first = int(branching.min()) if len(branching) else H
    return float(0.5 * (1 - np.cos(np.pi / max(H, 2 * (H - first)))))


class Errors(NamedTuple):
    """`r = V / V*` where `V* > 0`, below the root; `kappa` is the least number with 1/kappa <= r <= kappa."""

    ratio: Float[np.ndarray, " n"]  # one elsewhere
    kappa: float


@checked()
def errors(tree: PrefixTree) -> Errors:
    on = (tree.mass > 0) & (tree.exact > 0) & (tree.level > 0)
    ratio = np.ones(len(on))
    ratio[on] = tree.value[on] / tree.exact[on]
    least = float(ratio[on].min(initial=1))
    top = max(float(ratio[on].max(initial=1)), 1 / least if least > 0 else float("inf"))
    return Errors(ratio, top)


class GapBounds(NamedTuple):
    """`gap >= canonical >= closed`."""

    gap: float
    canonical: float
    closed: float


@checked()
def gap_bounds(tree: PrefixTree) -> GapBounds:
    """`canonical = min_w [c(w) / 2M] / [2H mu(T_w) (1 - mu(T_w))]`, T_w the subtree of w, and
    `closed = 1 / (4H (1 + 2 kappa^2 (H - 1)))`. Values must be positive exactly where `V*` is."""
    H, M = tree.horizon, tree.weight.sum()
    below = subtree_mass(tree)
    on = tree.alive & (tree.level > 0)
    canonical = (tree.edge / (2 * M))[on] / (2 * H * (below * (1 - below))[on])
    kappa = errors(tree).kappa
    return GapBounds(tree.gap(), float(canonical.min()), 1 / (4 * H * (1 + 2 * kappa**2 * (H - 1))))


@checked()
def subtree_mass(tree: PrefixTree) -> Float[np.ndarray, " n"]:
    """`mu(T_w)`."""
    total = tree.stationary().copy()
    for h in range(tree.horizon - 1, -1, -1):
        children = total[tree.nodes(h + 1)].reshape(-1, tree.vocab)
        total[tree.nodes(h)] += children.sum(axis=1)
    return total


@checked(steps=whole())
def tv_curve(
    tree: PrefixTree, steps: int
) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """Total variation to `mu` over nodes, and of the leaf given a leaf to `pi*` (NaN before one can be
    reached), after 0..steps steps from the root."""
    mu, target = tree.stationary(), tree.target()
    nodes, leaves = np.zeros(steps + 1), np.full(steps + 1, np.nan)
    law = tree.start()
    for t in range(steps + 1):
        nodes[t] = np.abs(law - mu).sum() / 2
        if law[tree.leaves].sum() > 0:
            leaves[t] = np.abs(tree.given_leaf(law) - target).sum() / 2
        law = tree._advance(law)
    return nodes, leaves


@checked(root_mass=real(above=0, most=1), gap=real(least=0, most=1), steps=whole())
def tv_bound(root_mass: float, gap: float, steps: int) -> Float[np.ndarray, " t"]:
    """`1/2 sqrt((1 - mu_0) / mu_0) (1 - gap)^t` for t = 0..steps."""
    return 0.5 * np.sqrt((1 - root_mass) / root_mass) * (1 - gap) ** np.arange(steps + 1)


@checked(horizon=whole(1, None), kappa=real(least=1), delta=real(above=0, most=1))
def sufficient_steps(horizon: int, kappa: float, delta: float) -> int:
    """T that ensures a leaf-conditional total variation of at most delta, from the closed bounds:
    `ln(1 / (sqrt(mu_0) delta m)) / gap`, `mu_0 = 1 / (2 kappa (1 + kappa (H - 1)))`,
    `m = 1 / (2 (1 + kappa (H - 1)))`."""
    spread = 1 + kappa * (horizon - 1)
    gap = 1 / (4 * horizon * (1 + 2 * kappa**2 * (horizon - 1)))
    return int(np.ceil(np.log(np.sqrt(2 * kappa * spread) * 2 * spread / delta) / gap))


@checked()
def root_time(tree: PrefixTree) -> float:
    """Expected lazy steps from a leaf drawn from `pi*` to the root:
    `2H + 4 sum_{1 <= h < k <= H} E_{pi*}[r(y_{1:k}) / r(y_{1:h})]`. Needs positive values where V* is."""
    ratio, _ = errors(tree)
    weights = tree.mass * tree.exact
    inverse = np.zeros(len(ratio))  # sum of 1/r over the nodes strictly between u and the root
    total = 0.0
    for h in range(2, tree.horizon + 1):
        at = tree.nodes(h)
        up = tree.parent[at]
        inverse[at] = inverse[up] + 1 / ratio[up]
        total += float(np.sum(weights[at] / weights[0] * ratio[at] * inverse[at]))
    return 2 * tree.horizon + 4 * total


@checked(steps=whole(1))
def coverage(
    tree: PrefixTree, steps: int
) -> tuple[Float[np.ndarray, " leaves"], Float[np.ndarray, " leaves"]]:
    """For every leaf that can be reached: `nu_T(y) / mu(y)`, `nu_T = 1/T sum_{t < T} P^t(root, .)`, and its
    lower bound `1/2 P_y(the root is hit within T/2 steps)`."""
    law, total = tree.start(), np.zeros(len(tree.mass))
    for _ in range(steps):
        total += law
        law = tree._advance(law)
    at = tree.leaves
    mu, alive = tree.stationary()[at], tree.alive[at]
    hit = np.zeros(len(tree.mass))
    hit[0] = 1
    safe = np.where(tree.weight > 0, tree.weight, 1)
    for _ in range(steps // 2):
        up = tree.edge * hit[tree.parent]
        down = tree._over_children(tree.edge * hit)
        new = (hit + (up + down) / safe) / 2
        new[0] = 1
        hit = new
    return total[at][alive] / steps / mu[alive], hit[at][alive] / 2
