"""What is proved about the first leaf and about plain guidance, as functions that return a `Theorem`."""

import numpy as np
from jaxtyping import Float
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from minicosm.worlds import needle

from ..checks import whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from . import mixing
from .closed_forms import needle_costs
from .conditions import exact_leaves, exact_values, largest, same_support, where
from .distances import kl
from .lumped_tree import LumpedTree
from .prefix_tree import PrefixTree
from .rules import MOST_BITS


@checked()
def first_leaf(tree: PrefixTree) -> Theorem:
    """The first leaf has the law of plain guidance with the values W of `PrefixTree.first_leaf_values`, and
    takes `sum_{|u| < H} w(u) v(u)` expected steps: both against linear equations of the absorbed walk. The
    error of the time is relative."""
    nodes = np.flatnonzero(tree.alive)
    inner = tree.level[nodes] < tree.horizon
    reached = Condition("a leaf can be reached", not inner.all(), reason="every leaf is cut off")
    details: dict[str, float] = {}

    def error() -> float:
        kernel = tree.kernel(lazy=False)
        stay = csc_array((eye_array(int(inner.sum())) - kernel[inner][:, inner]).T)
        visits = splu(stay).solve(np.eye(1, stay.shape[0])[0])
        law = np.zeros(tree.vocab**tree.horizon)
        law[nodes[~inner] - tree.starts[tree.horizon]] = visits @ kernel[inner][:, ~inner]
        details["law"] = float(np.abs(law - tree.first_leaf_law()).max())
        details["time"] = abs(tree.hitting_time() / float(visits.sum()) - 1)
        return largest(*details.values())

    result = where((reached,), error)
    return Theorem.identity("first leaf", result, conditions=(reached,), details=details)


@checked()
def first_leaf_of_exact_values(tree: PrefixTree) -> Theorem:
    """With exact values the first leaf has the law `pi*` and takes `H^2` expected steps."""

    def error() -> float:
        law = float(np.abs(tree.first_leaf_law() - tree.target()).max())
        return largest(law, abs(tree.hitting_time() / tree.horizon**2 - 1))

    needs = exact_values(tree)
    return Theorem.identity("first leaf of exact values", where(needs, error), conditions=needs)


@checked()
def spread_of_the_first_leaf(tree: PrefixTree) -> Theorem:
    """With exact leaves and `1/kappa <= r <= kappa` the law q of the first leaf has
    `max_y (q / pi*) / min_y (q / pi*) <= prod_{k=1}^{H-1} (k + kappa^2) / (k + kappa^-2)`; the slack is that
    of the logarithms."""

    def slack() -> float:
        target = tree.target()
        q = np.log(tree.first_leaf_law()[target > 0] / target[target > 0])
        kappa, k = mixing.errors(tree).kappa, np.arange(1, tree.horizon)
        bound = float(np.sum(np.log((k + kappa**2) / (k + kappa**-2))))
        return bound - float(q.max() - q.min())

    needs = exact_leaves(tree)
    return Theorem.inequality("spread of the first leaf", where(needs, slack), conditions=needs)


@checked()
def plain_guidance(tree: PrefixTree) -> Theorem:
    """Value-guided sampling has `pi(y) / pi*(y) = prod_h r(y_{1:h}) / rbar(y_{1:h-1})`, `rbar(u)` the mean of
    r over the next token under `pi*`, and `KL(pi* || pi) = sum_h E_{pi*}[log rbar - log r]`."""
    details: dict[str, float] = {}

    def error() -> float:
        target, plain, product = tree.target(), tree.plain_law(), plain_product(tree)
        details["law"] = float(np.abs(plain - product).max())
        on = target > 0
        divergence = -float(np.sum(target[on] * np.log(product[on] / target[on])))
        details["kl"] = abs(divergence - kl(target, plain))
        return largest(*details.values())

    needs = (same_support(tree),)
    result = where(needs, error)
    return Theorem.identity("plain guidance", result, conditions=needs, details=details)


@checked()
def plain_product(tree: PrefixTree) -> Float[np.ndarray, " leaves"]:
    """`pi*(y) prod_h r(y_{1:h}) / rbar(y_{1:h-1})`, `rbar(u) = E_{a ~ pi*(.|u)} r(ua)`."""
    ratio, weights = mixing.errors(tree).ratio, tree.mass * tree.exact
    mean = np.divide(
        tree.over_children(weights * ratio), weights, out=np.ones_like(weights), where=weights > 0
    )
    factor = np.ones(1)
    for h in range(1, tree.horizon + 1):
        at = tree.nodes(h)
        factor = np.repeat(factor, tree.vocab) * ratio[at] / mean[tree.parent[at]]
    return tree.target() * factor


@checked(horizon=whole(1, MOST_BITS))
def feasibility_stalls(horizon: int) -> Theorem:
    """In the needle world with the feasibility verifier as value the first leaf takes `2^(D+2) - 4 - 3D`
    steps, and the leaves have mass `2^-D / (2 (1 - 2^-D))`; errors are relative."""
    world, closed = needle(horizon), needle_costs(horizon)
    table = np.where(world.feasible(), 0.0, -np.inf)
    walks = PrefixTree(world, table), LumpedTree(world, table)
    error = largest(
        *(abs(walk.hitting_time() / closed.vgb - 1) for walk in walks),
        *(abs(walk.leaf_mass() / closed.leaf_mass - 1) for walk in walks),
    )
    details = {"D": horizon, "steps": walks[0].hitting_time(), "tokenwise": closed.tokenwise}
    return Theorem.identity("feasibility stalls", error, details=details)
