"""VGB on its tree: where the walk is, what it has visited, and the laws of what it puts out.

A random base law and tilt on strings of bits, and a verifier whose values are off by random factors. The
walk that is watched is that of the sampler (`decoding.VGB`); the laws are exact (`PrefixTree`).
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from minicosm.decoding import VGB, sample
from minicosm.lab import figure
from minicosm.lab.figures import BLUE, GREEN, INK, ORANGE, PURPLE
from minicosm.theory.guided import PrefixTree, tv
from minicosm.worlds import noisy_table, random_tree

from .settings import WALK_STEPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {
    "wanted": "wanted", "guided": "value-guided", "first leaf": "first leaf", "now": "walk now",
}  # fmt: skip


class Walked(NamedTuple):
    """A tree, the nodes of a walk on it after 0..WALK_STEPS lazy steps, numbered as in `PrefixTree`, and how
    far the law of the walk, given a leaf, is from the wanted one after as many."""

    tree: PrefixTree
    path: Int[np.ndarray, " times"]
    distances: Float[np.ndarray, " times"]


def walk(bits: int, noise: float, seed: int, walk_seed: int = 0) -> Walked:
    """A world and a verifier by `seed`, whose log-values are off by normal errors of deviation `noise`,
    and a walk by `walk_seed`."""
    world_key, table_key = jax.random.split(jax.random.key(seed))
    world = random_tree(world_key, 2, bits)
    table = noisy_table(world, table_key, sigma=noise)
    settings = VGB(output="last", steps=WALK_STEPS, rerun=False, record=WALK_STEPS)
    trace = sample(
        settings, world, world.verifier(table), np.zeros((1, 0), int), jax.random.key(walk_seed),
        length=bits, chunk=1, segment=WALK_STEPS,
    )  # fmt: skip
    assert trace.path is not None  # it was asked for
    tree = PrefixTree(world, table)
    return Walked(tree, nodes_of(trace.path[0]), distances(tree))


def distances(tree: PrefixTree, steps: int = WALK_STEPS) -> Float[np.ndarray, " times"]:
    """Total variation of the walk's law, given a leaf, from the wanted one after 0..steps steps; NaN as
    long as it can be at no leaf."""
    P, leaf = tree.kernel(), tree.level[tree.alive] == tree.horizon
    wanted, law = tree.target(), np.eye(1, P.shape[0])[0]
    reached = tree.alive[tree.leaves]
    found = []
    for _ in range(steps + 1):
        total = law[leaf].sum()
        gap = np.abs(law[leaf] / total - wanted[reached]).sum() if total > 0 else np.nan
        found.append((gap + wanted[~reached].sum()) / 2)
        law = law @ P
    return np.array(found)


def nodes_of(moves: Int[np.ndarray, " steps"]) -> Int[np.ndarray, " steps+1"]:
    """The nodes of a walk over bits: a move is a bit, -1 to the parent, or -2 to stay."""
    path = [0]
    for move in moves.tolist():
        now = path[-1]
        path.append(2 * now + 1 + move if move >= 0 else (now - 1) // 2 if move == -1 else now)
    return np.array(path)


def name(tree: PrefixTree, node: int) -> str:
    """The bits of a prefix; ∅ for the root."""
    level = int(tree.level[node])
    return format(node - int(tree.starts[level]), f"0{level}b") if level else "∅"


def laws(tree: PrefixTree, step: int) -> dict[str, Float[np.ndarray, " leaves"]]:
    """Laws of complete strings: wanted (`pi*`), value-guided sampling without backtracking, the first
    leaf of the walk, and where it is after so many steps if that is a leaf."""
    found = {
        "wanted": tree.target(),
        "guided": tree.plain_law(),
        "first leaf": tree.first_leaf_law(),
    }
    law = tree.after(step)
    if law[tree.leaves].sum() > 0:
        found["now"] = tree.given_leaf(law)
    return found


def numbers(tree: PrefixTree, step: int) -> list[list[Any]]:
    """Rows of a table: the law, its total variation from the wanted one, and what it costs."""
    found = laws(tree, step)
    wanted = found["wanted"]
    costs = {
        "guided": f"{tree.horizon} laws",
        "first leaf": f"{tree.hitting_time(lazy=True):.1f} steps expected",
        "now": f"{step} steps; a leaf with probability {tree.after(step)[tree.leaves].sum():.3f}",
    }
    names = {
        "guided": "value-guided, no way back", "first leaf": "first leaf of the walk",
        "now": "walk now, given a leaf",
    }  # fmt: skip
    return [[names[key], tv(wanted, found[key]), costs[key]] for key in names if key in found]


# -- pictures -----------------------------------------------------------------------------------------


def places(tree: PrefixTree) -> Float[np.ndarray, "nodes 2"]:
    """The root on top, leaves below in order."""
    across = np.concatenate([(np.arange(2**h) + 0.5) / 2**h for h in range(tree.horizon + 1)])
    return np.column_stack([across, -tree.level.astype(float)])


def picture_of_tree(walked: Walked, step: int) -> "Figure":
    """The tree: edges as wide as their weights, nodes filled by how often they were visited up to now,
    the node where the walk is with a ring."""
    tree, path = walked.tree, walked.path
    at = places(tree)
    visits = np.bincount(path[: step + 1], minlength=len(at))
    fig = figure(8.6, 0.9 + 0.72 * tree.horizon)
    ax = fig.subplots()
    widest = tree.edge.max()
    for node in range(1, len(at)):
        if tree.edge[node] > 0:
            ends = at[[tree.parent[node], node]].T
            ax.plot(*ends, color=INK, alpha=0.35, lw=0.6 + 6 * tree.edge[node] / widest, ls="-")
    size = 330 / (1 + tree.horizon / 3)
    shade = np.sqrt(visits / max(visits.max(), 1))
    across, down = at.T
    ax.scatter(across, down, size, color="white", edgecolors=INK, zorder=3)
    ax.scatter(across, down, size, color=BLUE, alpha=shade, edgecolors="none", zorder=4)
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": ORANGE, "lw": 2.6, "zorder": 5}
    ax.scatter(across[path[step]], down[path[step]], 3.2 * size, **ring)
    for node in range(tree.leaves.start, tree.leaves.stop):
        word = name(tree, node)
        ax.text(across[node], down[node] - 0.34, word, ha="center", va="top", size=8)
    ax.text(0.5, 0.3, "∅", ha="center", va="bottom")
    ax.set_ylim(-tree.horizon - 0.75, 0.65)
    ax.set_axis_off()
    ax.set_title(f"after {step} steps at {name(tree, int(path[step]))}")
    return fig


def picture_of_distance(walked: Walked, step: int) -> "Figure":
    """Total variation from the wanted law by the number of steps, and where the walk is now."""
    tree, wanted = walked.tree, walked.tree.target()
    fig = figure(8.6, 2.3)
    ax = fig.subplots()
    ax.plot(walked.distances, color=BLUE, label="walk, given a leaf")
    flat = {"value-guided, no way back": (tree.plain_law(), ORANGE),
            "first leaf": (tree.first_leaf_law(), GREEN)}  # fmt: skip
    for label, (end, colour) in flat.items():
        ax.axhline(tv(wanted, end), color=colour, ls="--", lw=1.4, label=label)
    ax.axvline(step, color=PURPLE, lw=1.2)
    ax.set(
        ylim=(0, 1.3 * ax.get_ylim()[1]),
        xlim=(0, WALK_STEPS),
        xlabel="steps",
        ylabel="total variation from wanted",
    )
    ax.legend(ncols=3, loc="upper right")
    return fig
