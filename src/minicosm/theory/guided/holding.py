"""VGB by proposals that need not enumerate children: what they cost, and the walk that holds on reject.

Repeating a proposal until one is accepted gives the walk of `PrefixTree`. Holding instead is another walk,

    P(u, parent) = 1 / 2M,    P(u, ua) = pi_ref(a | u) V(ua) / (2 M V(u)),    else it stays,

with any M that is at least 1 and at least every `V(ua) / V(u)`. Since
`pi_ref(u) V(u) P(u, ua) = pi_ref(ua) V(ua) / 2M = pi_ref(ua) V(ua) P(ua, u)` its stationary law is
proportional to `pi_ref(u) V(u)` on all nodes, the root's value included; given a leaf it is `pi*` if the
values of leaves are exact.
"""

import numpy as np
from jaxtyping import Float

from ..checks import Given, probabilities, real, whole
from ..signatures import checked
from ..theorem import Theorem
from .conditions import exact_leaves, largest
from .distances import tv
from .prefix_tree import PrefixTree


def _per_node(given: Given) -> tuple[int]:
    return (len(given["self"].tree.mass),)


class HoldingWalk:
    """The walk that holds on reject, on the nodes of a tree that can be reached."""

    @checked(bound=real(above=0))
    def __init__(self, tree: PrefixTree, bound: float | None = None) -> None:
        """`bound` is M; the least one by default."""
        if not tree.value[0] > 0:
            raise ValueError(
                f"the root has the value {tree.value[0]:g}; the walk that holds needs a positive one"
            )
        self.tree = tree
        below = np.flatnonzero(tree.alive)[1:]
        ratios = tree.value[below] / tree.value[tree.parent[below]]
        least = max(1.0, float(ratios.max(initial=0)))
        self.bound = least if bound is None else bound
        if not self.bound >= least * (1 - 1e-12):
            raise ValueError(f"the bound is {self.bound:g}; it must be at least {least:g}")

    def stationary(self) -> Float[np.ndarray, " n"]:
        """`pi_ref(u) V(u)`, normalised."""
        weights = np.where(self.tree.alive, self.tree.mass * self.tree.value, 0)
        return weights / weights.sum()

    @checked(law=probabilities(_per_node))
    def advance(self, law: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The law over nodes after one more step."""
        return self._advance(law)

    def _advance(self, law: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        tree, half = self.tree, 1 / (2 * self.bound)
        value = np.where(tree.alive, tree.value, 1)
        up = np.where(tree.alive, law * half, 0)
        up[0] = 0
        down = np.where(tree.alive, tree.steps_down * tree.value, 0) * half
        down *= (law / value)[tree.parent]
        down[0] = 0
        leaves = up + tree._over_children(down)
        return law - leaves + down + tree._over_children(up)

    @checked(steps=whole())
    def after(self, steps: int) -> Float[np.ndarray, " n"]:
        """The law of `y^(T)` over nodes, T = `steps`, from the root."""
        law = self.tree.start()
        for _ in range(steps):
            law = self._advance(law)
        return law

    @checked(steps=whole())
    def calls(self, steps: int) -> float:
        """Expected laws that are asked for in T steps from the root: one for each proposed child, half of
        the steps that do not begin at a leaf."""
        law, total = self.tree.start(), 0.0
        for _ in range(steps):
            total += float(law[self.tree.inner].sum()) / 2
            law = self._advance(law)
        return total


@checked(envelope=real(above=0))
def repeated_proposals(tree: PrefixTree, envelope: float) -> Float[np.ndarray, " n"]:
    """Expected children that are proposed until a move from each node is accepted, each with probability
    V / `envelope`: `envelope / (V(u) + N(u))`, `N(u) = sum_a pi_ref(a | u) V(ua)`, without V(u) at the
    root; none at leaves, infinitely many where no move is ever accepted."""
    if not envelope >= tree.value[tree.alive][1:].max(initial=0) * (1 - 1e-12):
        highest = tree.value[tree.alive][1:].max()
        raise ValueError(f"the envelope is {envelope:g}; the largest value is {highest:g}")
    here = np.where(tree.alive, tree.value, 0)
    here[0] = 0
    weight = here + tree.over_children(np.where(tree.alive, tree.steps_down * tree.value, 0))
    proposed = np.divide(envelope, weight, out=np.full(len(weight), np.inf), where=weight > 0)
    proposed[tree.leaves] = 0
    return proposed


@checked()
def holding_with_an_envelope(tree: PrefixTree) -> Theorem:
    """Parent or child (drawn from `pi_ref`) proposed with probability 1/2 each, accepted with probability
    V / M for a constant M, otherwise the walk stays: its stationary law is `pi_ref`, not `pi_ref V`. How far
    its law of the leaves is from `pi*`, in total variation, is the detail `off_target`."""
    below, envelope = np.arange(1, len(tree.value)), 2 * float(tree.value.max())
    up = tree.parent[below]
    kernel = np.zeros((len(tree.value),) * 2)
    kernel[below, up] = tree.value[below] / envelope
    kernel[up, below] = tree.steps_down[below] * tree.value[below] / envelope
    kernel[np.diag_indices(len(kernel))] = 1 - kernel.sum(axis=1)
    law = tree.mass / tree.mass.sum()
    stays = float(np.abs(law @ kernel - law).max())
    off = tv(tree.given_leaf(law), tree.target())
    details = {"off_target": off}
    return Theorem.identity("holding with a constant envelope", stays, details=details)


@checked()
def holding_on_rejection(tree: PrefixTree) -> Theorem:
    """The walk of `HoldingWalk` has the stationary law `pi_ref V`; with exact leaves it is `pi*` there."""
    walk = HoldingWalk(tree)
    mu = walk.stationary()
    stays = float(np.abs(walk.advance(mu) - mu).max())
    off = tv(tree.given_leaf(mu), tree.target())
    details = {"off_target": off}
    return Theorem.identity(
        "holding on rejection", largest(stays, off), conditions=exact_leaves(tree), details=details
    )
