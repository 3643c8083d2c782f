"""The same laws and times for horizons in the thousands: prefixes in the same state are one node.

Everything is kept in logarithms, because values grow or shrink exponentially with the horizon.
"""

import numpy as np
from jaxtyping import Float

from minicosm.worlds import GuidedWorld
from minicosm.worlds.guided.world import log_sum

from ..signatures import checked
from .rules import log_table

Table = Float[np.ndarray, "levels S"]


class LumpedTree:
    """VGB and plain guidance with the values `exp(log_table[h, s])`, by default the exact ones."""

    @checked(log_table=log_table)
    def __init__(self, world: GuidedWorld, log_table: Table | None = None) -> None:
        self.world = world
        self.exact = world.log_values()
        self.table = self.exact if log_table is None else log_table
        self._rows = world.base.shape[1]  # states that have a next token

    def _down(self, h: int, table: Table) -> Float[np.ndarray, "rows K"]:
        """`log pi_ref(a | s) V(sa)`."""
        with np.errstate(divide="ignore"):
            return np.log(self.world.base[h]) + table[h + 1][self.world.step[h]]

    def _forward(self, log_keep: Table) -> Table:
        """`log sum pi_ref(u) prod keep` over the prefixes u of every state; keep of the prefix included."""
        total = np.full_like(self.table, -np.inf)
        total[0, 0] = log_keep[0, 0]
        for h in range(self.world.horizon):
            with np.errstate(divide="ignore"):
                flow = total[h, : self._rows, None] + np.log(self.world.base[h])
            np.logaddexp.at(total[h + 1], self.world.step[h], flow)
            total[h + 1] = total[h + 1] + log_keep[h + 1]
        return total

    def level_weights(self) -> Float[np.ndarray, " H"]:
        """`log C_h`, h = 1..H, over the prefixes that can be reached."""
        alive = np.where(self.table > -np.inf, 0.0, -np.inf)
        alive[0, 0] = 0
        return log_sum(self._forward(alive)[1:] + np.where(alive[1:] == 0, self.table[1:], 0))

    def leaf_mass(self) -> float:
        """`C_H / (2 sum_h C_h)`."""
        weights = self.level_weights()
        return float(np.exp(weights[-1] - log_sum(weights[None])[0]) / 2)

    def first_leaf_tables(self) -> tuple[Table, Table]:
        """`log W` and `log S` of the first leaf: `W = V S / (V + S)`, W = V at leaves."""
        W, S = self.table.copy(), np.full_like(self.table, -np.inf)
        for h in range(self.world.horizon - 1, -1, -1):
            S[h, : self._rows] = log_sum(self._down(h, W))
            both = np.logaddexp(W[h], S[h])
            W[h] = np.where(
                both > -np.inf, W[h] + S[h] - np.where(both > -np.inf, both, 0), -np.inf
            )
        return W, S

    @checked(table=log_table)
    def kl(self, table: Table) -> float:
        """`KL(pi* || guided sampling with these values)`, summed token by token under `pi*`."""
        base = self.world.tilted().base
        reach: Float[np.ndarray, " S"] = np.zeros(self.table.shape[1])
        reach[0], total = 1, 0.0
        for h in range(self.world.horizon):
            flow = reach[: self._rows, None] * base[h]
            terms = self._down(h, table)
            on = flow > 0
            if (terms[on] == -np.inf).any():
                return float("inf")
            log_q = terms - np.where(on.any(axis=1), log_sum(terms), 0)[:, None]
            total += float(np.sum(flow[on] * (np.log(base[h][on]) - log_q[on])))
            reach = np.bincount(
                self.world.step[h].reshape(-1), flow.reshape(-1), minlength=len(reach)
            )
        return total

    def kl_plain(self) -> float:
        """`KL(pi* || plain value-guided sampling)`."""
        return self.kl(self.table)

    def kl_first_leaf(self) -> float:
        """`KL(pi* || first leaf of VGB)`."""
        return self.kl(self.first_leaf_tables()[0])

    @checked()
    def hitting_time(self, *, lazy: bool = False) -> float:
        """Expected steps to the first leaf, `sum_{|u| < H} w(u) v(u)`."""
        _, S = self.first_leaf_tables()
        if S[0, 0] == -np.inf:
            raise ValueError("no leaf of positive value can be reached")
        both = np.logaddexp(self.table, S)
        on = self.table > -np.inf
        keep = np.where(on, np.where(on, self.table, 0) - np.where(on, both, 0), -np.inf)
        keep[0] = -S[0, 0]
        visits = self._forward(keep)
        total = 0.0
        for h in range(self.world.horizon):
            up = self.table[h, : self._rows] if h else np.full(self._rows, -np.inf)
            weight = np.logaddexp(up, log_sum(self._down(h, self.table)))
            total += float(np.exp(visits[h, : self._rows] + weight).sum())
        return total * (2 if lazy else 1)
