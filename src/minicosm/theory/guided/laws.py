"""The exact law of every sampler's output on a small world, over all K^H strings in alphabetical order.

What is missing to one is the probability that the sampler fails. Scores of a verifier are given as
tables `log_table[h, s]` over the states of the world.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from minicosm.worlds import GuidedWorld
from minicosm.worlds.arrays import check_size
from minicosm.worlds.guided.world import check_tree

from ..checks import real, whole
from ..signatures import checked
from .backtracking import Backtracking
from .backtracking import backtracking as algorithm_1
from .prefix_tree import PrefixTree
from .rules import log_table, value_table

Law = Float[np.ndarray, " strings"]
Table = Float[np.ndarray, "levels S"]


class Output(NamedTuple):
    """The law of the output and the expected number of calls to the generator, one per token drawn."""

    law: Law
    calls: float


@checked()
def strings(world: GuidedWorld) -> Int[np.ndarray, "strings H"]:
    """All strings, in the order of the laws."""
    check_tree(world.vocab, world.horizon)
    codes = np.arange(world.vocab**world.horizon)[:, None]
    return codes // world.vocab ** np.arange(world.horizon - 1, -1, -1) % world.vocab


@checked()
def ancestral(world: GuidedWorld) -> Output:
    """`pi_ref`."""
    tree = PrefixTree(world)
    return Output(tree.mass[tree.leaves], world.horizon)


@checked(
    temperature=real(least=0),
    top_k=whole(1, None),
    top_p=real(least=0, most=1),
)
def truncated(
    world: GuidedWorld, temperature: float = 1.0, top_k: int | None = None, top_p: float = 1.0
) -> GuidedWorld:
    """The world whose next-token laws are heated or cooled, then cut to the `top_k` likeliest tokens, then
    to the smallest head whose mass reaches `top_p` (always the likeliest token). Among equals the lowest id
    comes first; temperature 0 is argmax."""
    base = np.array(world.base, np.float64)
    rows = base.reshape(-1, world.vocab)
    for i, row in enumerate(rows):
        order = sorted(range(len(row)), key=lambda a: (-row[a], a))
        if temperature == 0:
            kept, heated = order[:1], row
        else:
            heated = np.where(row > 0, (row / row.max()) ** (1 / temperature), 0)
            heated = heated / heated.sum()
            kept = [a for a in order[:top_k] if heated[a] > 0]
            total, mass = sum(heated[a] for a in kept), 0.0
            for count, a in enumerate(kept, 1):
                mass += heated[a] / total
                if mass >= top_p - 1e-12:
                    kept = kept[:count]
                    break
        new = np.zeros_like(row)
        new[kept] = heated[kept]
        rows[i] = new / new.sum()
    return GuidedWorld(world.step, rows.reshape(base.shape), world.log_tilt)


@checked(attempts=whole(1, None))
def rejection(world: GuidedWorld, attempts: int | None = None) -> Output:
    """Whole strings until one is accepted, with probability `tau / max tau`: `pi*`, in
    `D (1 - (1 - P)^n) / P` calls for at most n attempts of acceptance P."""
    tree = PrefixTree(world)
    accepted = tree.mass[tree.leaves] * tree.exact[tree.leaves] / np.exp(world.log_tilt.max())
    chance = float(accepted.sum())
    if chance == 0:
        raise ValueError("the world accepts no string of positive probability; pi* is undefined")
    if attempts is None:
        return Output(accepted / chance, world.horizon / chance)
    result = 1 - (1 - chance) ** attempts
    return Output(accepted / chance * result, world.horizon * result / chance)


@checked(log_table=value_table, n=whole(1, None))
def best_of_n(world: GuidedWorld, log_table: Table, n: int) -> Output:
    """n whole strings; the one of the largest score, the first among equals."""
    return block_best_of_n(world, log_table, n, world.horizon)


@checked(log_table=value_table, n=whole(1, None), block=whole(1, None))
def block_best_of_n(world: GuidedWorld, log_table: Table, n: int, block: int) -> Output:
    """Block by block: n continuations of `block` tokens (the last block may be shorter), of which the one of
    the largest score is kept: `P(block) = pi(block) / (F - G) (F^n - G^n)`, where F and G are the masses of
    scores up to and below its own."""
    tree = PrefixTree(world, log_table)
    law, at = np.ones(1), 0
    while at < world.horizon:
        size = min(block, world.horizon - at)
        blocks = tree.mass[tree.nodes(at + size)].reshape(len(law), -1)
        check_size(f"comparing all blocks of {size} tokens", blocks.size * blocks.shape[1])
        here = tree.mass[tree.nodes(at)][:, None]
        blocks = np.divide(blocks, here, out=np.zeros_like(blocks), where=here > 0)
        scores = tree.value[tree.nodes(at + size)].reshape(len(law), -1)
        same = scores[:, :, None] == scores[:, None, :]
        below = scores[:, :, None] > scores[:, None, :]
        mine, less = (np.sum(which * blocks[:, None, :], axis=2) for which in (same, below))
        chance = (mine + less) ** n - less**n
        share = np.divide(blocks * chance, mine, out=np.zeros_like(blocks), where=mine > 0)
        law = (law[:, None] * share).reshape(-1)
        at += size
    return Output(law, n * world.horizon)


@checked(log_table=value_table)
def value_guided(world: GuidedWorld, log_table: Table) -> Output:
    """`a ~ pi_ref(a | u) V(ua)`, normalised; also tokenwise rejection, where V is zero or one. H laws."""
    return Output(PrefixTree(world, log_table).plain_law(), world.horizon)


@checked(log_table=log_table)
def tokenwise_rejection(world: GuidedWorld, log_table: Table) -> Output:
    """Tokens are drawn again until the score is positive; `1 / alpha(u)` calls each. Infinite if it can
    come to a prefix where no token is accepted."""
    return action_rejection(world, np.where(log_table > -np.inf, 0.0, -np.inf), envelope=1.0)


@checked(log_table=value_table, envelope=real(above=0))
def action_rejection(world: GuidedWorld, log_table: Table, envelope: float) -> Output:
    """Tokens are drawn again until accepted, with probability `V(ua) / envelope`: the law of value-guided
    sampling, in `envelope / N(u)` draws after u, `N(u) = sum_a pi_ref(a | u) V(ua)`."""
    tree = PrefixTree(world, log_table)
    highest = float(tree.value[tree.alive][1:].max(initial=0))
    if not envelope >= highest * (1 - 1e-12):
        raise ValueError(
            f"envelope is {envelope:g}; log_table has the value {highest:g}, which is above"
        )
    law = tree.plain_law()
    if law.sum() < 1 - 1e-12:
        return Output(law, float("inf"))
    total, reach, calls = tree.over_children(tree.steps_down * tree.value), law, 0.0
    for h in range(world.horizon - 1, -1, -1):
        reach = reach.reshape(-1, world.vocab).sum(axis=1)
        here = total[tree.nodes(h)]
        calls += float(np.sum(reach[reach > 0] * envelope / here[reach > 0]))
    return Output(law, calls)


@checked(log_table=log_table)
def backtracking(world: GuidedWorld, log_table: Table, settings: Backtracking) -> Output:
    """Algorithm 1, from the empty prompt."""
    result = algorithm_1(world, log_table, settings)
    law = np.zeros(world.vocab**world.horizon)
    for string, mass in result.law.items():
        law[int(np.dot(string, world.vocab ** np.arange(world.horizon - 1, -1, -1)))] = mass
    return Output(law, result.calls)


@checked(log_table=value_table, steps=whole())
def vgb_first_leaf(world: GuidedWorld, log_table: Table, steps: int | None = None) -> Output:
    """The first leaf of VGB, within `steps` lazy steps if given. A law is asked for at every move."""
    tree = PrefixTree(world, log_table)
    if steps is None:
        return Output(tree.first_leaf_law(), tree.hitting_time())
    return Output(*tree.reached_by(steps))


@checked(log_table=value_table, steps=whole(1))
def vgb_stationary(
    world: GuidedWorld,
    log_table: Table,
    steps: int,
    *,
    uniform_time: bool = False,
    rerun: bool = True,
) -> Output:
    """`y^(T)`, or `y^(i)` with i uniform in 1..T; run again until it is a leaf, or once. A law is asked for
    at every move that does not start at a leaf."""
    tree = PrefixTree(world, log_table)
    law, total, calls = tree.start(), np.zeros(len(tree.mass)), 0.0
    for t in range(steps):
        # With a uniform time the step after t is made if i > t.
        calls += float(law[tree.inner].sum()) / 2 * ((steps - t) / steps if uniform_time else 1)
        law = tree._advance(law)
        total += law
    law = total / steps if uniform_time else law
    leaves = law[tree.leaves]
    if not rerun:
        return Output(leaves, calls)
    return Output(tree.given_leaf(law), calls / float(leaves.sum()))
