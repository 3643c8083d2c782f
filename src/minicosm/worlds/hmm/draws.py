"""The pieces that random worlds are drawn from: chains, emission laws, tasks, and redrawing."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..arrays import check_key, check_length, check_size
from ..markov import is_primitive

MAX_DRAWS = 1000
MAX_SIZE = 4096  # of one set of states, tokens or values in a random world
RANK_TOLERANCE = 1e-10

World = TypeVar("World")


def generator(key: PRNGKeyArray) -> np.random.Generator:
    """NumPy's generator seeded by a JAX key."""
    return np.random.default_rng(np.asarray(jax.random.key_data(check_key(key))).tolist())


def redraw(
    key: PRNGKeyArray, draw: Callable[[np.random.Generator], World | None], what: str
) -> World:
    """The first accepted draw of at most MAX_DRAWS."""
    rng = generator(key)
    for _ in range(MAX_DRAWS):
        drawn = draw(rng)
        if drawn is not None:
            return drawn
    raise ValueError(f"{MAX_DRAWS} draws gave no {what}")


def check_sizes(**sizes: int) -> None:
    """Raise unless every named size is a positive whole number that can be meant."""
    for name, size in sizes.items():
        check_length(size, MAX_SIZE, name)


def cycle(rng: np.random.Generator, size: int) -> np.ndarray:
    """The successor of every state on a random Hamiltonian cycle."""
    order = rng.permutation(size)
    successor = np.empty(size, int)
    successor[order] = np.roll(order, -1)
    return successor


def sparse_transition(
    rng: np.random.Generator, successor: np.ndarray, only: dict[int, set[int]] | None = None
) -> Float[np.ndarray, "H H"]:
    """Dirichlet(1) columns on `only[h]` where given, else on the successor and up to two more."""
    size = len(successor)
    A = np.zeros((size, size))
    for h in range(size):
        if only is not None and h in only:
            targets = sorted(only[h])
        else:
            extra = rng.choice(size, min(size, int(rng.integers(3))), replace=False)
            targets = sorted({int(successor[h]), *extra.tolist()})
        A[targets, h] = rng.dirichlet(np.ones(len(targets)))
    return A


def token_laws(
    rng: np.random.Generator, vocab: int, columns: int, *, sparse: bool
) -> Float[np.ndarray, "V K"]:
    """Dirichlet(1) columns that use every token.

    If sparse, column k has one token of a random order of them (its own, for k < vocab), each
    other token with probability 1/3, and the tokens that no column has are dealt out at random.
    """
    if not sparse:
        return rng.dirichlet(np.ones(vocab), size=columns).T
    support = rng.random((vocab, columns)) < 1 / 3
    order = rng.permutation(vocab)
    support[order[np.arange(columns) % vocab], np.arange(columns)] = True
    for unused in np.flatnonzero(~support.any(axis=1)):
        support[unused, rng.integers(columns)] = True
    W = np.zeros((vocab, columns))
    for k in range(columns):
        W[support[:, k], k] = rng.dirichlet(np.ones(support[:, k].sum()))
    return W


def signed_normals(rng: np.random.Generator, size: int) -> Float[np.ndarray, " K"]:
    """Normal numbers; if there are two or more, not all of one sign."""
    drawn = rng.normal(size=size)
    if size > 1 and (np.all(drawn > 0) or np.all(drawn < 0)):
        drawn[rng.integers(size)] *= -1
    return drawn


def condition(
    columns: Float[np.ndarray, "V K"], modulo: Float[np.ndarray, "V L"] | None = None
) -> float:
    """The condition number of the columns, beside an orthonormal basis of the span of `modulo`.

    Infinite if they are dependent, or dependent modulo that span (relative tolerance 1e-10).
    """
    if modulo is not None and modulo.shape[1] > 0:
        U, sigma, _ = np.linalg.svd(modulo, full_matrices=False)
        columns = np.hstack([columns, U[:, sigma > RANK_TOLERANCE * sigma[0]]])
    if columns.shape[1] > columns.shape[0]:
        return np.inf
    sigma = np.linalg.svd(columns, compute_uv=False)
    return float(sigma[0] / sigma[-1]) if sigma[-1] > RANK_TOLERANCE * sigma[0] else np.inf


class MemoryParts(NamedTuple):
    """Transitions and emissions of a memory world, and where its structure sits."""

    A: Float[np.ndarray, "H H"]
    W: Float[np.ndarray, "V M N S"]
    cell: int
    star_syntax: tuple[int, ...]
    gate: int | None  # a state outside H* that a token of its own gives away; None if H* is all


def memory_parts(
    rng: np.random.Generator,
    values: int,
    cells: int,
    syntax: int,
    star: int,
    vocab: int,
    *,
    matched: Sequence[int] | None = None,
    exclusive: bool = False,
) -> MemoryParts | None:
    """Gates and markers around recoverable states H* = {j*} x S*; None if A is not primitive.

    Each state outside H* has a marker token, with mass .3 to .7, and puts the rest on the marker of
    one other such state; in the cell j* these laws are the same for every value, in other cells the
    two masses depend on the value. The columns of H* are sparse on the remaining tokens, one token
    of its own for each value in `matched` (default: all), and half of them put .3 on a marker.
    A is a cycle with extra targets in which a state outside H* whose successor lies in H* (a gate)
    moves into H* only. One gate's marker is emitted by no other state, so whatever follows that
    token is surely in H*. With `exclusive`, this is so for every marker.
    """
    hidden = cells * syntax
    check_size(f"transitions of cells = {cells} times syntax = {syntax} states", hidden**2)
    check_size(f"emissions of vocab = {vocab} tokens", vocab * values * hidden)
    cell = int(rng.integers(cells))
    star_syntax = tuple(sorted(rng.choice(syntax, star, replace=False).tolist()))
    H_star = {cell * syntax + s for s in star_syntax}
    rest = [h for h in range(hidden) if h not in H_star]

    successor = cycle(rng, hidden)
    gates = [h for h in rest if int(successor[h]) in H_star]
    only = {g: {h for h in H_star if rng.random() < 0.5} | {int(successor[g])} for g in gates}
    A = sparse_transition(rng, successor, only)
    if not is_primitive(A):
        return None

    W = np.zeros((vocab, values, cells, syntax))
    marker = {h: z for z, h in enumerate(rest)}
    gate = int(rng.choice(gates)) if gates else None
    shared = [] if exclusive else [marker[h] for h in rest if h != gate]
    for h in rest:
        j, s = divmod(h, syntax)
        others = [z for z in shared if z != marker[h]]
        if not others:
            W[marker[h], :, j, s] = 1
            continue
        own = rng.uniform(0.3, 0.7, size=values)
        own = own[0] if j == cell else own
        W[marker[h], :, j, s] = own
        W[rng.choice(others), :, j, s] = 1 - own

    columns = [(m, s) for m in (range(values) if matched is None else matched) for s in star_syntax]
    columns += [(m, s) for m in range(values) for s in star_syntax if (m, s) not in columns]
    laws = token_laws(rng, vocab - len(rest), len(columns), sparse=True)
    for (m, s), law in zip(columns, laws.T, strict=True):
        leak = 0.3 if shared and rng.random() < 0.5 else 0.0
        W[len(rest) :, m, cell, s] = (1 - leak) * law
        if leak:
            W[rng.choice(shared), m, cell, s] = leak
    return MemoryParts(A, W, cell, star_syntax, gate)


def recovery(parts: MemoryParts, relevant: Sequence[int]) -> float:
    """The condition number of what Theorems 4.3 and D.6 invert, with memory values `relevant`."""
    _, values, cells, syntax = parts.W.shape
    wanted = np.zeros((values, cells, syntax), bool)
    wanted[np.ix_(relevant, [parts.cell], parts.star_syntax)] = True
    rest = np.ones((values, cells, syntax), bool)
    rest[:, parts.cell] = False
    rest[np.ix_(relevant, [parts.cell], range(syntax))] = True
    rest &= ~wanted
    return condition(parts.W[:, wanted], modulo=parts.W[:, rest])


def memory_law(rng: np.random.Generator, configurations: int) -> Float[np.ndarray, " C"]:
    """Dirichlet(1) over the configurations, one of them set to zero with probability .3."""
    law = rng.dirichlet(np.ones(configurations))
    if configurations > 1 and rng.random() < 0.3:
        law[rng.integers(configurations)] = 0
        law /= law.sum()
    return law
