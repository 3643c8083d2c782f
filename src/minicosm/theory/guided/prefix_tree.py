"""VGB on the tree of all prefixes: a random walk on a weighted tree, solved by passing over its levels.

Nodes are numbered level by level; on level h the K^h prefixes stand in the order of the alphabet, so the
children of a node are K neighbours. `c(u) = pi_ref(u) V(u)` is the weight of the edge from u to its
parent; at u the walk goes up with weight `c(u)` and down to `ua` with weight `c(ua)`, in sum `w(u)`.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import csr_array, eye_array

from minicosm.adaptation.checks import check_whole
from minicosm.worlds import GuidedWorld

from ..checks import Given, probabilities, reals, whole
from ..signatures import checked
from .distances import kl, tv
from .rules import MOST_LOG, value_table

DENSE = 5000  # nodes of the largest chain whose spectrum is computed


def _per_node(given: Given) -> tuple[int]:
    return (len(given["self"].mass),)


class Amplification(NamedTuple):
    """How far a sampler's law is from `pi*`: `KL(pi* || law)` and total variation, of both rules."""

    kl_plain: float
    kl_first_leaf: float
    tv_plain: float
    tv_first_leaf: float


class PrefixTree:
    """The walk of VGB with the values `exp(log_table)`, by default the exact ones.

    Nodes with `c = 0` on their way to the root cannot be reached: they have `alive` False and `edge` zero.
    The root's own value is never used.
    """

    @checked(log_table=value_table)
    def __init__(
        self, world: GuidedWorld, log_table: Float[np.ndarray, "levels S"] | None = None
    ) -> None:
        states = world.prefix_states()
        exact = world.log_values()
        if exact.max() > MOST_LOG:
            raise ValueError(
                f"the world has the value e^{exact.max():g}; beyond e^{MOST_LOG:g} use a `LumpedTree`"
            )
        table = exact if log_table is None else log_table
        self.world, self.horizon, self.vocab = world, world.horizon, world.vocab
        self.table = table
        sizes = [len(at) for at in states]
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        base = [np.asarray(world.base[h])[at] for h, at in enumerate(states[:-1])]
        mass = [np.ones(1)]
        for law in base:
            mass.append((mass[-1][:, None] * law).reshape(-1))
        self.steps_down = np.concatenate([np.ones(1), *(law.reshape(-1) for law in base)])
        self.mass = np.concatenate(mass)
        self.level = np.repeat(np.arange(self.horizon + 1), sizes)
        self.exact = np.exp(np.concatenate([exact[h, at] for h, at in enumerate(states)]))
        self.value = np.exp(np.concatenate([table[h, at] for h, at in enumerate(states)]))
        nodes = np.arange(len(self.mass))
        self.parent = np.where(nodes > 0, (nodes - 1) // self.vocab, 0)
        self.alive = self._alive()
        self.edge = np.where(self.alive, self.mass * self.value, 0)
        self.edge[0] = 0
        self.weight = self.edge + self.over_children(self.edge)

    def _alive(self) -> Bool[np.ndarray, " n"]:
        alive = self.mass * self.value > 0
        alive[0] = True
        for h in range(1, self.horizon + 1):
            at = self.nodes(h)
            alive[at] &= alive[self.parent[at]]
        return alive

    def nodes(self, level: int) -> slice:
        """Those on a level, 0..H."""
        level = check_whole("level", level, 0, self.horizon)
        return slice(int(self.starts[level]), int(self.starts[level + 1]))

    @property
    def leaves(self) -> slice:
        return self.nodes(self.horizon)

    @property
    def inner(self) -> slice:
        """All nodes but the leaves."""
        return slice(0, int(self.starts[self.horizon]))

    @checked(values=reals(_per_node))
    def over_children(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The sum of `values` over the children of every node; zero at leaves."""
        return self._over_children(values)

    def _over_children(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        total = np.zeros(len(values))
        total[self.inner] = values[1:].reshape(-1, self.vocab).sum(axis=1)
        return total

    # -- the chain -----------------------------------------------------------------------------

    def level_weights(self) -> Float[np.ndarray, " H"]:
        """`C_h = sum_{|u| = h} c(u)` for h = 1..H."""
        return np.add.reduceat(self.edge, self.starts[1:-1])

    def stationary(self) -> Float[np.ndarray, " n"]:
        """`mu(u) = w(u) / (2 sum_h C_h)` of the nodes that can be reached."""
        self._check_moves()
        return self.weight / self.weight.sum()

    def leaf_mass(self) -> float:
        """`mu(leaves) = C_H / (2 sum_h C_h)`."""
        return float(self.stationary()[self.leaves].sum())

    def leaf_law(self) -> Float[np.ndarray, " leaves"]:
        """The stationary law given that the node is a leaf: `pi*` if the values of leaves are exact."""
        return self.given_leaf(self.stationary())

    @checked(law=probabilities(_per_node, lacking=True))
    def given_leaf(self, law: Float[np.ndarray, " n"]) -> Float[np.ndarray, " leaves"]:
        """A law over nodes, given that the node is a leaf."""
        leaves = law[self.leaves]
        if leaves.sum() <= 0:
            raise ValueError("no leaf has positive probability; there is no law given a leaf")
        return leaves / leaves.sum()

    def start(self) -> Float[np.ndarray, " n"]:
        """The law of the walk before its first step: all mass at the root."""
        law = np.zeros(len(self.mass))
        law[0] = 1
        return law

    @checked(law=probabilities(_per_node, lacking=True))
    def advance(
        self, law: Float[np.ndarray, " n"], *, lazy: bool = True
    ) -> Float[np.ndarray, " n"]:
        """The law over nodes after one more step."""
        return self._advance(law, lazy=lazy)

    def _advance(
        self, law: Float[np.ndarray, " n"], *, lazy: bool = True
    ) -> Float[np.ndarray, " n"]:
        rate = np.divide(law, self.weight, out=np.zeros_like(law), where=self.weight > 0)
        moved = self._over_children(rate * self.edge)
        moved[1:] += (rate[self.parent] * self.edge)[1:]
        return (law + moved) / 2 if lazy else moved

    @checked(steps=whole())
    def after(self, steps: int, *, lazy: bool = True) -> Float[np.ndarray, " n"]:
        """The law of `y^(T)` over nodes, T = `steps`, from the root."""
        self._check_moves()
        law = self.start()
        for _ in range(steps):
            law = self._advance(law, lazy=lazy)
        return law

    @checked(steps=whole(1))
    def at_uniform_time(self, steps: int) -> Float[np.ndarray, " n"]:
        """The law of `y^(i)` with i uniform in 1..T."""
        self._check_moves()
        law, total = self.start(), np.zeros(len(self.mass))
        for _ in range(steps):
            law = self._advance(law)
            total += law
        return total / steps

    @checked(steps=whole())
    def reached_by(self, steps: int) -> tuple[Float[np.ndarray, " leaves"], float]:
        """`P(the first leaf is y, within T lazy steps)`, what is missing to one has reached none; and the
        expected number of moves until then."""
        self._check_moves()
        law, result, moves = self.start(), np.zeros(self.vocab**self.horizon), 0.0
        for _ in range(steps):
            moves += float(law.sum()) / 2
            law = self._advance(law)
            result += law[self.leaves]
            law[self.leaves] = 0
        return result, moves

    @checked()
    def kernel(self, *, lazy: bool = True) -> csr_array:
        """The transition matrix over the nodes that can be reached, in order; rows sum to one."""
        self._check_moves()
        at = np.flatnonzero(self.alive)
        place = np.zeros(len(self.mass), int)
        place[at] = np.arange(len(at))
        below = at[1:]
        child, parent = place[below], place[self.parent[below]]
        up = self.edge[below] / self.weight[below]
        down = self.edge[below] / self.weight[self.parent[below]]
        rows, columns = np.concatenate([child, parent]), np.concatenate([parent, child])
        moves = csr_array((np.concatenate([up, down]), (rows, columns)), (len(at), len(at)))
        return csr_array(0.5 * (moves + eye_array(len(at)))) if lazy else moves

    @checked()
    def spectrum(self, *, lazy: bool = True) -> Float[np.ndarray, " m"]:
        """Eigenvalues of the kernel, which is symmetric in the scalar product of `mu`; increasing."""
        return self._eigenvalues / 2 + 0.5 if lazy else self._eigenvalues

    @cached_property
    def _eigenvalues(self) -> Float[np.ndarray, " m"]:
        """Those of the walk that is not lazy."""
        root = np.sqrt(self.stationary()[self.alive])
        if len(root) > DENSE:
            raise ValueError(f"the chain has {len(root)} nodes; spectra are computed up to {DENSE}")
        return np.linalg.eigvalsh(root[:, None] * self.kernel(lazy=False).toarray() / root)

    def gap(self) -> float:
        """`1 - lambda_2` of the lazy chain, whose eigenvalues are not negative."""
        return float(1 - self.spectrum()[-2])

    # -- laws of leaves ------------------------------------------------------------------------

    def target(self) -> Float[np.ndarray, " leaves"]:
        """`pi*`."""
        weights = (self.mass * self.exact)[self.leaves]
        if weights.sum() == 0:
            raise ValueError(
                "no string of positive probability has a positive tilt; pi* is undefined"
            )
        return weights / weights.sum()

    def lost_mass(self) -> float:
        """The mass under `pi*` of strings that the walk cannot reach: a value on their way is zero."""
        return float(self.target()[~self.alive[self.leaves]].sum())

    @checked(value=reals(_per_node, least=0))
    def guided_law(self, value: Float[np.ndarray, " n"]) -> Float[np.ndarray, " leaves"]:
        """Value-guided sampling: `q(a | u)` proportional to `pi_ref(a | u) value(ua)`. Where all weights are
        zero the sampler fails: what is missing to one."""
        weights = self.steps_down * value
        total = self.over_children(weights)
        law = np.ones(1)
        for h in range(self.horizon):
            here, below = total[self.nodes(h)], weights[self.nodes(h + 1)].reshape(-1, self.vocab)
            share = np.divide(law, here, out=np.zeros_like(law), where=here > 0)
            law = (share[:, None] * below).reshape(-1)
        return law

    def plain_law(self) -> Float[np.ndarray, " leaves"]:
        """Value-guided sampling with the values as they are."""
        return self.guided_law(self.value)

    def first_leaf_values(self) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """The values W with which plain guidance has the law of the first leaf, and
        `S(u) = sum_a pi_ref(a | u) W(ua)`: `W(u) = V(u) S(u) / (V(u) + S(u))`, W = V at leaves."""
        W = np.where(self.alive, self.value, 0.0)
        S = np.zeros(len(W))
        for h in range(self.horizon - 1, -1, -1):
            at, below = self.nodes(h), self.nodes(h + 1)
            S[at] = (self.steps_down[below] * W[below]).reshape(-1, self.vocab).sum(axis=1)
            both = W[at] + S[at]
            W[at] = np.divide(W[at] * S[at], both, out=np.zeros_like(both), where=both > 0)
        return W, S

    def first_leaf_law(self) -> Float[np.ndarray, " leaves"]:
        """The law of the first leaf that the walk reaches."""
        self._check_reaches()
        return self.guided_law(self.first_leaf_values()[0])

    @checked()
    def hitting_time(self, *, lazy: bool = False) -> float:
        """Expected steps to the first leaf: `sum_{|u| < H} w(u) v(u)`, where v is the probability to come
        back to u rather than leave, `v(root) = 1 / S(root)`, `v(u) = v(parent) V(u) / (V(u) + S(u))`."""
        self._check_reaches()
        _, S = self.first_leaf_values()
        v = np.zeros(len(S))
        v[0] = 1 / S[0]
        for h in range(1, self.horizon):
            at = self.nodes(h)
            both = np.where(self.alive[at], self.value[at] + S[at], 1)
            v[at] = np.where(self.alive[at], v[self.parent[at]] * self.value[at] / both, 0)
        return float(self.weight[self.inner] @ v[self.inner]) * (2 if lazy else 1)

    def visits(self) -> Float[np.ndarray, " n"]:
        """The probability that a node is visited before or as the first leaf; the sum over inner nodes is the
        expected number of distinct prefixes that the first-leaf rule asks the generator about.

        From the parent of u the walk ever steps to u with probability `c(u) / (c(u) + G(u))`; G(u) is the
        conductance from the parent to the leaves past u's branch: that of the siblings' branches, `pi_ref W`,
        and `1 / (1/c(parent) + 1/G(parent))` upwards.
        """
        self._check_reaches()
        branch = self.mass * self.first_leaf_values()[0]
        total, past, seen = self.over_children(branch), np.zeros(len(branch)), np.zeros(len(branch))
        seen[0] = 1
        for h in range(1, self.horizon + 1):
            at = self.nodes(h)
            up = self.parent[at]
            both = self.edge[up] + past[up]
            above = np.divide(self.edge[up] * past[up], both, out=np.zeros(len(up)), where=both > 0)
            past[at] = np.maximum(total[up] - branch[at], 0) + above
            share = self.edge[at] + past[at]
            seen[at] = seen[up] * np.divide(
                self.edge[at], share, out=np.zeros(len(up)), where=share > 0
            )
        return seen

    def amplification(self) -> Amplification:
        """Distances of plain guidance and of the first leaf to `pi*`."""
        target, plain, first = self.target(), self.plain_law(), self.first_leaf_law()
        return Amplification(
            kl(target, plain), kl(target, first), tv(target, plain), tv(target, first)
        )

    def _check_moves(self) -> None:
        if self.weight[0] == 0:
            raise ValueError("every child of the root has the value zero; the walk cannot move")

    def _check_reaches(self) -> None:
        self._check_moves()
        if not self.alive[self.leaves].any():
            raise ValueError(
                "every leaf that can be reached has the value zero; no leaf is ever reached"
            )
