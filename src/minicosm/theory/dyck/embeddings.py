"""Embeddings of brackets with their depths: what a minimal first layer puts out (Definition 2.2.2).

Rows are indexed by the pair id that `Dyck.token_depths` gives, and the start token is the last row.
The pair at level s = 1..D of type t is the open bracket of depth s and the closed one of depth s -
1, the two ends of a matched pair.
"""

from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from minicosm.adaptation.checks import as_numbers
from minicosm.worlds import Dyck
from minicosm.worlds.arrays import AnyArray, check_size

from ..checks import whole
from ..signatures import checked

Kind = Literal["onehot", "sum", "yao", "random"]


@checked()
def open_ids(world: Dyck) -> Int[np.ndarray, "types depth"]:
    """`[t, s - 1]`: the id of the open bracket of type t at depth s = 1..D."""
    types, levels = np.arange(world.types)[:, None], np.arange(world.depth)
    return 2 * types * world.depth + levels


@checked()
def closed_ids(world: Dyck) -> Int[np.ndarray, "types depth"]:
    """`[t, s - 1]`: the id of the closed bracket of type t at depth s - 1, which matches `open_ids`."""
    return open_ids(world) + world.depth


@checked()
def query_ids(world: Dyck) -> Int[np.ndarray, " queries"]:
    """Closed brackets of depth 1..D-1: the only last tokens after which memory is needed."""
    return closed_ids(world)[:, 1:].ravel()


@checked()
def tokens_and_depths(world: Dyck) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
    """The token and the depth of every pair id."""
    tokens, levels = np.divmod(np.arange(world.pairs), world.depth)
    return tokens, levels + (tokens % 2 == 0)


@checked()
def pair_ids(world: Dyck, tokens: Int[AnyArray, " T"]) -> Int[np.ndarray, " T"]:
    """`world.token_depths` of known tokens, without compiling anything."""
    tokens = check_strings("tokens", tokens, world)
    opens = tokens % 2 == 0
    return tokens * world.depth + np.cumsum(np.where(opens, 1, -1)) - opens


def check_strings(name: str, tokens: Any, world: Dyck) -> Int[np.ndarray, "*n T"]:
    """One string of the world, or a row for each: tokens of a prefix of the language."""
    rows = np.asarray(as_numbers(name, tokens, "iu")).astype(np.int64)
    if rows.ndim not in (1, 2) or not rows.size:
        raise ValueError(f"{name} has shape {rows.shape}; it must hold at least one token")
    opens = rows % 2 == 0
    depths = np.cumsum(np.where(opens, 1, -1), axis=-1)
    wrong = (rows < 0) | (rows >= world.vocab) | (depths < 0) | (depths > world.depth)
    # Brackets of one level open and close in turn: before a closed one comes the one that it closes.
    string = np.arange(rows.size) // rows.shape[-1]
    level = (depths + ~opens).ravel() + string * (2 * rows.shape[-1] + 4)
    order = np.argsort(level, kind="stable")
    here, flat = rows.ravel()[order], wrong.ravel()
    flat[order] |= (here % 2 == 1) & (np.roll(here, 1) != here - 1)
    if flat.any():
        where = tuple(int(i) for i in np.argwhere(flat.reshape(rows.shape))[0])
        raise ValueError(
            f"{name}{list(where)} is {rows[where]}, a token that cannot stand there; it must be a prefix of "
            f"balanced brackets of {world.types} types, at most {world.depth} deep"
        )
    return rows


@checked(seed=whole(0, None))
def token_depth_embedding(
    world: Dyck, kind: Kind = "onehot", *, seed: int | None = None
) -> Float[np.ndarray, "inputs m"]:
    """One row for every bracket with its depth, and one for the start token.

    - "onehot" (Eq. 2.55): one-hot vectors of all pair ids and the start token.
    - "sum" (Eq. 2.56): one-hot token and one-hot depth 0..D.
    - "yao" (Eq. 2.57): one-hot token and `(cos a_d, sin a_d)`, `a_d = arctan(d / (D + 2 - d))`.
    - "random": orthonormal rows drawn with `seed`.

    In "sum" and "yao" the start token has a slot of its own next to the tokens' and no depth.
    """
    inputs = world.pairs + 1
    check_size(f"embeddings of the {inputs} inputs of the world", inputs**2)
    if kind == "onehot":
        return np.eye(inputs)
    if kind == "random":
        if seed is None:
            raise ValueError("a random embedding needs a seed")
        rows = np.random.default_rng(seed).normal(size=(inputs, inputs))
        q, r = np.linalg.qr(rows)
        return q * np.sign(np.diag(r))
    tokens, depths = tokens_and_depths(world)
    slots = np.eye(world.vocab + 1)[np.append(tokens, world.vocab)]
    if kind == "sum":
        levels = np.eye(world.depth + 1)[depths]
    else:
        angles = np.arctan(depths / (world.depth + 2 - depths))
        levels = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.hstack([slots, np.vstack([levels, np.zeros(levels.shape[1])])])


def printed_onehot(world: Dyck) -> Float[np.ndarray, "pairs m"]:
    """Eq. 2.55 as printed: pair (t, d) is the one-hot vector number (t - 1) D + d, t = 1..2k, in 2kD
    dimensions. A closed bracket of depth 0 gets the vector of the open one of its type at depth D."""
    tokens, depths = tokens_and_depths(world)
    return np.eye(world.pairs)[tokens * world.depth + depths - 1]
