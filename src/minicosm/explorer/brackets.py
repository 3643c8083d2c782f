"""Brackets to type: the exact law of the next one, and what constructed and trained models attend to.

All models have one layer of attention over brackets with their depths. One is constructed by Theorem 2.2.1
around a random attention matrix that is balanced, in float64. The others were trained, from two seeds
(`trained`), and are shipped with the package.
"""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.lab import PALETTE, figure
from minicosm.models import Transformer, load
from minicosm.theory.dyck import (
    of_model,
    pair_ids,
    project,
    stack_laws,
    theorem_2_2_1,
    token_depth_embedding,
)
from minicosm.worlds import Dyck
from minicosm.worlds.arrays import AnyArray

from .trained import SEEDS, WEIGHTS, WORLD

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 32
"""Brackets that may be typed; models always read so many places, so that one program is compiled."""
SIGNS = "()[]"


class Reading(NamedTuple):
    """What one model makes of a string: the law of the next bracket after 0..T brackets, and its
    attention map, the start token first."""

    name: str
    laws: Float[np.ndarray, "T+1 V"]
    attention: Float[np.ndarray, "T+1 T+1"]


def read_brackets(text: str, world: Dyck = WORLD) -> Int[np.ndarray, " T"]:
    """The tokens of a prefix of balanced brackets; spaces are left out."""
    signs = SIGNS[: world.vocab]
    string = "".join(text.split())
    if len(string) > MOST:
        raise ValueError(f"there are {len(string)} brackets; the explorer reads at most {MOST}")
    stack: list[str] = []
    for place, sign in enumerate(string, 1):
        if sign not in signs:
            raise ValueError(f"sign {place} is {sign!r}; it must be one of {' '.join(signs)}")
        kind = signs.index(sign)
        if kind % 2 == 0:
            stack.append(signs[kind + 1])
            if len(stack) > world.depth:
                raise ValueError(
                    f"sign {place}, {sign}, opens bracket {len(stack)} inside of others; "
                    f"at most {world.depth} may be open at once"
                )
        elif not stack:
            raise ValueError(f"sign {place}, {sign}, closes a bracket, but none is open there")
        elif stack.pop() != sign:
            opened = signs[signs.index(sign) ^ 1]
            other = next(s for s in signs[::2] if s != opened)
            raise ValueError(f"sign {place}, {sign}, cannot close {other}, which is open there")
    return np.array([signs.index(sign) for sign in string], int)


@cache
def constructed(seed: int) -> Transformer:
    """Theorem 2.2.1 around a random matrix, projected to be balanced."""
    E = token_depth_embedding(WORLD, "onehot")
    M = np.random.default_rng(seed).normal(size=(E.shape[1],) * 2)
    model: Transformer = theorem_2_2_1(WORLD, E, project(M, E, WORLD)).construction
    return model


@cache
def trained(seed: int) -> Transformer:
    """One of the models that are shipped."""
    model = load(WEIGHTS / f"brackets-{seed}.safetensors")
    assert isinstance(model, Transformer)
    return model


def readings(tokens: Int[np.ndarray, " T"], seed: int = 0) -> list[Reading]:
    """The constructed model with the attention of this seed, and the trained ones."""
    models = {"constructed, balanced": constructed(seed)}
    models |= {f"trained, seed {seed}": trained(seed) for seed in SEEDS}
    ids = np.full(MOST + 1, WORLD.pairs)
    if len(tokens):
        ids[1 : len(tokens) + 1] = pair_ids(WORLD, tokens)
    rows = slice(len(tokens) + 1)  # what stands after them is not seen by what comes before
    found = []
    with jax.enable_x64(True):
        for name, model in models.items():
            laws, attention = map(np.asarray, _read(model, ids))
            found.append(Reading(name, laws[rows], attention[rows, rows]))
    return found


@eqx.filter_jit
def _read(
    model: Transformer, ids: Int[AnyArray, " n"]
) -> tuple[Float[Array, "n V"], Float[Array, "n n"]]:
    return jax.nn.softmax(model.next_logits(ids)), model.trace(ids).attention[0, 0]


def exact_laws(tokens: Int[np.ndarray, " T"]) -> Float[np.ndarray, "T+1 V"]:
    """`P[X_{i+1} | X_{1:i}]` for i = 0..T, by the stack."""
    laws = stack_laws(WORLD)
    stack: list[int] = []
    rows = [laws[0, 0]]
    for token in tokens:
        if token % 2 == 0:
            stack.append(int(token) // 2)
        else:
            stack.pop()
        rows.append(laws[len(stack), stack[-1] if stack else 0])
    return np.array(rows)


def comparison(tokens: Int[np.ndarray, " T"], found: list[Reading]) -> list[list[str | float]]:
    """Rows of a table: for every model the law of the next bracket, its total variation from the exact
    one here and the largest after any beginning of the string, and its balance violation."""
    exact = exact_laws(tokens)
    rows: list[list[str | float]] = [["exact", *exact[-1].tolist(), "", "", ""]]
    for reading in found:
        off = np.abs(reading.laws - exact).sum(axis=1) / 2
        built = reading.name.startswith("constructed")
        tail = float(off[-1]), float(off.max()), 0.0 if built else violation(reading.name)
        rows.append([reading.name, *(round(float(p), 9) for p in reading.laws[-1]), *tail])
    return rows


@cache
def violation(name: str) -> float:
    """The mean balance violation of a trained model."""
    with jax.enable_x64(True):
        return float(_violation(trained(int(name.split()[-1]))))


@eqx.filter_jit
def _violation(model: Transformer) -> Float[Array, ""]:
    return of_model(model, WORLD).mean


def picture_of_laws(tokens: Int[np.ndarray, " T"], found: list[Reading]) -> "Figure":
    """The law of the next bracket as bars, exact and by model."""
    laws = {"exact": exact_laws(tokens)[-1], **{r.name: r.laws[-1] for r in found}}
    fig = figure(8.6, 2.4)
    ax = fig.subplots()
    width = 0.8 / len(laws)
    for i, (name, law) in enumerate(laws.items()):
        at = np.arange(WORLD.vocab) + (i - (len(laws) - 1) / 2) * width
        ax.bar(at, law, width * 0.92, color=("0.55", *PALETTE)[i], label=name)
    ax.set_xticks(range(WORLD.vocab), list(SIGNS), size=12)
    ax.set(ylim=(0, 1), ylabel="probability", title="the next bracket")
    ax.legend(ncols=len(laws), loc="upper center", bbox_to_anchor=(0.5, -0.12))
    return fig
