"""Where heads of models of a gridworld look: at the last visit to a wall, before it, evenly.

Position j of a string holds the symbol that leads to the state `q_j`; it is a visit to a wall if `q_j` is
that wall. In the row of position t, the latest earlier visit is the last one before t.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.models import Placement
from minicosm.worlds.arrays import AnyArray

FIRST_ROW = 6  # from which on the entropy of a row says something


@eqx.filter_jit
def attention(
    model: Any, placement: Placement | None, symbols: Int[AnyArray, "n T"]
) -> Float[Array, "n layers H T T"]:
    """All attention maps of one model."""
    read = jax.vmap(lambda s: model.trace(s, placement=placement).attention)
    return read(jnp.asarray(symbols))


def latest_visit(at_wall: Bool[np.ndarray, "n T"]) -> Int[np.ndarray, "n T"]:
    """`[n, t]`: the latest earlier visit, -1 where there is none."""
    where = np.where(at_wall, np.arange(at_wall.shape[1]), -1)
    before = np.maximum.accumulate(where, axis=1)
    return np.concatenate([np.full((len(where), 1), -1), before[:, :-1]], axis=1)


def on_visits(
    maps: Float[np.ndarray, "n H T T"], visit: Int[np.ndarray, "n T"], away: Bool[np.ndarray, "n T"]
) -> tuple[Float[np.ndarray, " H"], Float[np.ndarray, " H"]]:
    """Mean attention on the latest earlier visit, and on positions away from all walls that stand in the
    same row and as far back: the mean over the rows that have a visit of `A[t, visit]`, and of the mean of
    `A[t, visit]` over the strings that are away from the walls there. Rows without such a string are left
    out."""
    n, t = np.nonzero(visit >= 0)
    j = visit[n, t]
    others = away.sum(axis=0)
    control = np.einsum("nhtj,nj->htj", maps, away, optimize=True) / np.maximum(others, 1)
    kept = others[j] > 0
    n, t, j = n[kept], t[kept], j[kept]
    if not len(n):
        nothing = np.full(maps.shape[1], np.nan)
        return nothing, nothing
    return maps[n, :, t, j].mean(axis=0), control[:, t, j].mean(axis=1)


def before_visits(
    maps: Float[np.ndarray, "n H T T"], visit: Int[np.ndarray, "n T"]
) -> tuple[Float[np.ndarray, " H"], float]:
    """Mean attention on all that stands before the latest earlier visit, over the rows where something does;
    and what it would be if every row were even."""
    n, t = np.nonzero(visit > 0)
    if not len(n):
        return np.full(maps.shape[1], np.nan), float("nan")
    j = visit[n, t]
    up_to = np.cumsum(maps, axis=-1)
    return up_to[n, :, t, j - 1].mean(axis=0), float(np.mean(j / (t + 1)))


def evenness(maps: Float[np.ndarray, "n H T T"]) -> Float[np.ndarray, " H"]:
    """The mean over the rows t = 6, 7, ... (counted from 1) of their entropy over `log t`."""
    length = maps.shape[-1]
    if length < FIRST_ROW:
        return np.full(maps.shape[1], np.nan)
    logs = np.log(np.where(maps > 0, maps, 1))
    entropy = -(maps * logs).sum(axis=-1)[:, :, FIRST_ROW - 1 :]
    return (entropy / np.log(np.arange(FIRST_ROW, length + 1))).mean(axis=(0, 2))


def look(
    maps: Float[AnyArray, "n layers H T T"], states: Int[AnyArray, "n T"], walls: tuple[int, int]
) -> dict[str, Float[np.ndarray, "..."]]:
    """Of the last layer, on the first and on the second half of the strings: attention `[half, head, wall]`
    on the latest visit to a wall ("on"), its control ("control"), and on what is before it ("before",
    "before_even"); of the first layer, `[half, head]`: "even"."""
    maps, states = np.asarray(maps, np.float64), np.asarray(states)
    halves = np.array_split(np.arange(len(maps)), 2)
    away = ~np.isin(states, walls)
    found: dict[str, list[np.ndarray]] = {}
    for half in halves:
        last = maps[half, -1]
        at_walls: dict[str, list[np.ndarray]] = {}
        for wall in walls:
            visit = latest_visit(states[half] == wall)
            on, control = on_visits(last, visit, away[half])
            before, even = before_visits(last, visit)
            values = {"on": on, "control": control, "before": before}
            for name, value in (values | {"before_even": np.full(len(on), even)}).items():
                at_walls.setdefault(name, []).append(value)
        for name, of_walls in at_walls.items():
            found.setdefault(name, []).append(np.stack(of_walls, axis=-1))
        found.setdefault("even", []).append(evenness(maps[half, 0]))
    return {name: np.stack(of_halves) for name, of_halves in found.items()}


def telling(states: Int[AnyArray, "n T"], walls: tuple[int, int]) -> int:
    """The string that changes walls most often, to look at."""
    visits = [row[np.isin(row, walls)] for row in np.asarray(states)]
    return int(np.argmax([(np.diff(row) != 0).sum() for row in visits]))
