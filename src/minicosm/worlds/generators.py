"""Random worlds that satisfy an assumption of Wei, Xie and Ma (2021), with a task where it has one.

Every generator draws in float64 from a JAX key, always returns exactly the sizes it was asked for
(so that worlds can be stacked), and redraws until the assumption holds and the matrix that the
theorem inverts is well conditioned. `violations` holds the worlds in which an assumption fails.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from .arrays import check_count, check_positive
from .hmm import HMM
from .markov import is_primitive, stationary_law
from .memory import MemoryHMM

MAX_DRAWS = 1000
RANK_TOLERANCE = 1e-10


class CoveredWorld(NamedTuple):
    """A world of Assumption 3.5: `star` is the union of `supp(A[:, b])` over b in `sources`."""

    world: HMM
    mu: Float[np.ndarray, " H"]  # supp(mu) lies in star
    star: tuple[int, ...]  # H*, sorted
    sources: tuple[int, ...]  # B, sorted


class RecoverableWorld(NamedTuple):
    """A memory world whose recoverable states are H* = {cell} x star_syntax."""

    world: MemoryHMM
    mu: Float[np.ndarray, " M"]  # the task reads P[M_cell | x]
    cell: int  # j*
    star_syntax: tuple[int, ...]  # S*, sorted


# -- worlds without memory --------------------------------------------------------------------


def full_rank_world(
    key: PRNGKeyArray,
    *,
    hidden: int = 4,
    vocab: int = 6,
    sparse: bool = True,
    max_cond: float = 1e4,
) -> HMM:
    """Assumptions 3.1 and 3.2: independent emission columns, a primitive sparse A, `p0 > 0`.

    A is a random Hamiltonian cycle with up to two more targets per state; the columns of W are
    Dirichlet(1) on random token subsets (all tokens if not `sparse`) and use every token. Redrawn
    until `cond(W) max(p0 / p1) <= max_cond`, the factor by which Theorem 3.3 magnifies rounding.
    """
    check_sizes(hidden=hidden, vocab=vocab)
    check_positive("max_cond", max_cond)
    if vocab < hidden:
        raise ValueError(
            f"vocab is {vocab}; independent emissions of {hidden} states need at least {hidden} tokens"
        )

    def draw(rng: np.random.Generator) -> HMM | None:
        A = sparse_transition(rng, cycle(rng, hidden))
        W = token_laws(rng, vocab, hidden, sparse=sparse)
        p0 = rng.dirichlet(np.ones(hidden))
        if not is_primitive(A) or condition(W) * np.max(p0 / (A @ p0)) > max_cond:
            return None
        return HMM(A, W, p0)

    return redraw(key, draw, f"world of Assumption 3.1 with cond at most {max_cond:g}")


def covered_world(
    key: PRNGKeyArray,
    *,
    hidden: int = 8,
    vocab: int = 4,
    star: int = 3,
    sources: int = 1,
    max_cond: float = 1e4,
) -> CoveredWorld:
    """Assumptions 3.2 and 3.5, usually with more states than tokens.

    `sources` states B are drawn on a Hamiltonian cycle; H* (`star` states) contains their
    successors, is split among them, and each b in B moves to its share or to its successor only.
    The columns of W in H* are independent; outside, with probability .3, two columns are equal.
    mu is normal on a random nonempty subset of H*, with both signs if it has two elements.
    """
    check_sizes(hidden=hidden, vocab=vocab, star=star, sources=sources)
    check_positive("max_cond", max_cond)
    if not sources <= star <= min(vocab, hidden):
        raise ValueError(
            f"star is {star}; it must lie between sources = {sources} and "
            f"min(vocab, hidden) = {min(vocab, hidden)}"
        )

    def draw(rng: np.random.Generator) -> CoveredWorld | None:
        successor = cycle(rng, hidden)
        B = sorted(rng.choice(hidden, sources, replace=False).tolist())
        entered = [int(successor[b]) for b in B]
        others = np.setdiff1d(np.arange(hidden), entered)
        H_star = sorted([*entered, *rng.choice(others, star - sources, replace=False).tolist()])
        share = rng.integers(sources, size=star)
        only = {
            b: {h for h, i in zip(H_star, share, strict=True) if i == k} | {entered[k]}
            for k, b in enumerate(B)
        }
        A = sparse_transition(rng, successor, only)
        W = token_laws(rng, vocab, hidden, sparse=bool(rng.random() < 0.5))
        outside = np.setdiff1d(np.arange(hidden), H_star)
        if len(outside) >= 2 and rng.random() < 0.3:
            copy, original = rng.choice(outside, 2, replace=False)
            W[:, copy] = W[:, original]
        p0 = rng.dirichlet(np.ones(hidden))
        reached = A[:, B] @ (A @ p0)[B]  # A (1_B * p1), positive exactly on H*
        grows = np.max(p0[H_star] / reached[H_star])
        if not is_primitive(A) or not W.any(axis=1).all():
            return None
        if condition(W[:, H_star]) * grows > max_cond:
            return None
        mu = np.zeros(hidden)
        support = rng.choice(H_star, rng.integers(1, star + 1), replace=False)
        mu[support] = signed_normals(rng, len(support))
        return CoveredWorld(HMM(A, W, p0), mu, tuple(H_star), tuple(B))

    return redraw(key, draw, f"world of Assumption 3.5 with cond at most {max_cond:g}")


# -- worlds with memory -----------------------------------------------------------------------


def recoverable_memory_world(
    key: PRNGKeyArray,
    *,
    values: int = 2,
    cells: int = 1,
    syntax: int = 2,
    star: int = 1,
    vocab: int | None = None,
    exclusive: bool = False,
    max_cond: float = 1e4,
) -> RecoverableWorld:
    """Assumptions 4.2 and 3.2, with sequences in R: see `memory_parts` for the construction.

    `vocab` defaults to the least possible, `values * star` tokens for the recoverable states and one
    marker for each other state. With `exclusive` markers only their own state emits them, and more
    sequences lie in R. `pM` is Dirichlet(1) over all configurations, one of them set to zero with
    probability .3; mu is normal on all values, with both signs.
    """
    check_sizes(values=values, cells=cells, syntax=syntax, star=star)
    check_positive("max_cond", max_cond)
    least = values * star + cells * syntax - star
    vocab = _check_memory_sizes(syntax, star, vocab, least)

    def draw(rng: np.random.Generator) -> RecoverableWorld | None:
        parts = memory_parts(rng, values, cells, syntax, star, vocab, exclusive=exclusive)
        if parts is None or _recovery(parts, range(values)) > max_cond:
            return None
        world = MemoryHMM(
            parts.A, parts.W, _memory_law(rng, values**cells), rng.dirichlet(np.ones(cells * syntax))
        )
        return RecoverableWorld(world, signed_normals(rng, values), parts.cell, parts.star_syntax)

    return redraw(key, draw, f"world of Assumption 4.2 with cond at most {max_cond:g}")


def prompt_memory_world(
    key: PRNGKeyArray,
    *,
    values: int = 3,
    cells: int = 1,
    syntax: int = 2,
    star: int = 1,
    relevant: int = 2,
    exclusive: bool = False,
    max_cond: float = 1e4,
) -> RecoverableWorld:
    """Assumptions 4.4 and D.5 (4.5 for one cell) hold, 4.2 fails for every choice of S*.

    As `recoverable_memory_world`, but mu is nonzero on `relevant < values` values only and there are
    just `relevant * star` tokens besides the markers: too few for all values to be independent,
    enough for M* = supp(mu). `p0` is the stationary law.
    """
    check_sizes(values=values, cells=cells, syntax=syntax, star=star, relevant=relevant)
    check_positive("max_cond", max_cond)
    if relevant >= values:
        raise ValueError(
            f"relevant is {relevant}; it must be less than values = {values}, or 4.2 holds"
        )
    least = relevant * star + cells * syntax - star
    vocab = _check_memory_sizes(syntax, star, None, least)

    def draw(rng: np.random.Generator) -> RecoverableWorld | None:
        M_star = sorted(rng.choice(values, relevant, replace=False).tolist())
        parts = memory_parts(
            rng, values, cells, syntax, star, vocab, matched=M_star, exclusive=exclusive
        )
        if parts is None or _recovery(parts, M_star) > max_cond:
            return None
        flat = parts.W.reshape(vocab, -1)
        column = np.arange(flat.shape[1]).reshape(values, cells, syntax)
        for s in range(syntax):  # 4.2 holds for some S* iff one s has only coloops
            own = column[:, parts.cell, s]
            rest = np.delete(flat, own, axis=1)
            if np.isfinite(condition(flat[:, own], modulo=rest)):
                return None
        mu = np.zeros(values)
        mu[M_star] = signed_normals(rng, relevant)
        world = MemoryHMM(
            parts.A, parts.W, _memory_law(rng, values**cells), stationary_law(parts.A)
        )
        return RecoverableWorld(world, mu, parts.cell, parts.star_syntax)

    return redraw(key, draw, f"world of Assumption D.5 with cond at most {max_cond:g}")


def harder_memory_world(
    key: PRNGKeyArray,
    *,
    values: int = 3,
    hidden: int = 6,
    uninformative: int = 4,
    vocab: int = 10,
    emission_temperature: float = 0.2,
    transition_temperature: float = 0.01,
) -> MemoryHMM:
    """A one-cell world like `MemoryHMM.random` whose memory is hard to read from few tokens.

    Emissions are softer (temperatures of .1 to .3), and the last `uninformative` of the `hidden`
    states emit one law whatever the memory holds.
    """
    check_sizes(values=values, hidden=hidden)
    check_count("uninformative", uninformative, least=0)
    if uninformative >= hidden:
        raise ValueError(
            f"uninformative is {uninformative}; it must be less than hidden = {hidden}"
        )
    world = MemoryHMM.random(
        key,
        hidden=hidden,
        memory=values,
        vocab=vocab,
        emission_temperature=emission_temperature,
        transition_temperature=transition_temperature,
    )
    W = np.array(world.W)
    blind = slice(hidden - uninformative, hidden)
    W[:, :, :, blind] = W[:, :1, :, blind]
    return MemoryHMM(world.A, W, world.pM, world.p0)


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
    cell = int(rng.integers(cells))
    star_syntax = tuple(sorted(rng.choice(syntax, star, replace=False).tolist()))
    H_star = {cell * syntax + s for s in star_syntax}
    rest = [h for h in range(hidden) if h not in H_star]

    successor = cycle(rng, hidden)
    gates = [h for h in rest if int(successor[h]) in H_star]
    only = {
        g: {h for h in H_star if rng.random() < 0.5} | {int(successor[g])} for g in gates
    }
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


def _check_memory_sizes(syntax: int, star: int, vocab: int | None, least: int) -> int:
    if star > syntax:
        raise ValueError(f"star is {star}; it must be at most syntax = {syntax}")
    if vocab is None:
        return least
    check_count("vocab", vocab)
    if vocab < least:
        raise ValueError(f"vocab is {vocab}; these sizes need at least {least} tokens")
    return vocab


def _recovery(parts: MemoryParts, relevant: Sequence[int]) -> float:
    """The condition number of what Theorems 4.3 and D.6 invert, with memory values `relevant`."""
    vocab, values, cells, syntax = parts.W.shape
    wanted = np.zeros((values, cells, syntax), bool)
    wanted[np.ix_(relevant, [parts.cell], parts.star_syntax)] = True
    rest = np.ones((values, cells, syntax), bool)
    rest[:, parts.cell] = False
    rest[np.ix_(relevant, [parts.cell], range(syntax))] = True
    rest &= ~wanted
    return condition(parts.W[:, wanted], modulo=parts.W[:, rest])


def _memory_law(rng: np.random.Generator, configurations: int) -> Float[np.ndarray, " C"]:
    law = rng.dirichlet(np.ones(configurations))
    if configurations > 1 and rng.random() < 0.3:
        law[rng.integers(configurations)] = 0
        law /= law.sum()
    return law


# -- tasks whose two classes are equally likely -----------------------------------------------


def balance_dense(
    mu: Float[np.ndarray, " K"], posteriors: Float[np.ndarray, "n K"]
) -> Float[np.ndarray, " K"]:
    """`mu - median_x(mu . P_x)`, which moves every score by the same number since `1 . P_x = 1`."""
    mu, posteriors = np.asarray(mu, np.float64), _posteriors(posteriors)
    if mu.shape != posteriors.shape[1:]:
        raise ValueError(f"mu has shape {mu.shape}; the posteriors need {posteriors.shape[1:]}")
    return mu - np.median(posteriors @ mu)


def balance_contrast(
    plus: int, minus: int, posteriors: Float[np.ndarray, "n K"]
) -> Float[np.ndarray, " K"]:
    """`e_plus - kappa e_minus` with kappa the median of `P_plus / P_minus` over the rows."""
    posteriors = _posteriors(posteriors)
    size = posteriors.shape[1]
    for name, index in (("plus", plus), ("minus", minus)):
        if not 0 <= index < size:
            raise ValueError(f"{name} is {index}; it must lie in 0..{size - 1}")
    if plus == minus:
        raise ValueError(f"plus and minus are both {plus}; a contrast needs two values")
    above, below = posteriors[:, plus], posteriors[:, minus]
    told = (above > 0) | (below > 0)
    with np.errstate(divide="ignore"):
        kappa = np.median(above[told] / below[told]) if told.any() else np.nan
    if not (np.isfinite(kappa) and kappa > 0):
        raise ValueError(
            f"the median of P[{plus}] / P[{minus}] is {kappa:g}; no contrast of the two is balanced"
        )
    mu = np.zeros(size)
    mu[plus], mu[minus] = 1, -kappa
    return mu


def _posteriors(posteriors: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "n K"]:
    posteriors = np.asarray(posteriors, np.float64)
    if posteriors.ndim != 2 or 0 in posteriors.shape:
        raise ValueError(f"posteriors have shape {posteriors.shape}; they must have shape (n, K)")
    return posteriors


# -- the pieces -------------------------------------------------------------------------------


def generator(key: PRNGKeyArray) -> np.random.Generator:
    """NumPy's generator seeded by a JAX key."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())


def redraw[World](
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
    """Raise unless every named size is a positive whole number."""
    for name, size in sizes.items():
        check_count(name, size)


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
