"""Random worlds that satisfy an assumption of Wei, Xie and Ma (2021), with a task where it has one.

Every generator draws in float64 from a JAX key, always returns exactly the sizes it was asked for
(so that worlds can be stacked), and redraws until the assumption holds and the matrix that the
theorem inverts is well conditioned. `violations` holds the worlds in which an assumption fails.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..arrays import check_count, check_flag, check_positive, check_reals, check_shape
from ..markov import is_primitive, stationary_law
from .configurations import check_configurations
from .draws import (
    check_sizes,
    condition,
    cycle,
    memory_law,
    memory_parts,
    recovery,
    redraw,
    signed_normals,
    sparse_transition,
    token_laws,
)
from .hmm import HMM
from .memory import MemoryHMM


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
    check_flag("sparse", sparse)
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
    check_configurations(values, cells)
    check_flag("exclusive", exclusive)
    check_positive("max_cond", max_cond)
    least = values * star + cells * syntax - star
    vocab = _check_memory_sizes(syntax, star, vocab, least)

    def draw(rng: np.random.Generator) -> RecoverableWorld | None:
        parts = memory_parts(rng, values, cells, syntax, star, vocab, exclusive=exclusive)
        if parts is None or recovery(parts, range(values)) > max_cond:
            return None
        world = MemoryHMM(
            parts.A, parts.W, memory_law(rng, values**cells), rng.dirichlet(np.ones(cells * syntax))
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
    check_configurations(values, cells)
    check_flag("exclusive", exclusive)
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
        if parts is None or recovery(parts, M_star) > max_cond:
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
        world = MemoryHMM(parts.A, parts.W, memory_law(rng, values**cells), stationary_law(parts.A))
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


def _check_memory_sizes(syntax: int, star: int, vocab: int | None, least: int) -> int:
    if star > syntax:
        raise ValueError(f"star is {star}; it must be at most syntax = {syntax}")
    if vocab is None:
        return least
    check_sizes(vocab=vocab)
    if vocab < least:
        raise ValueError(f"vocab is {vocab}; these sizes need at least {least} tokens")
    return vocab


# -- tasks whose two classes are equally likely -----------------------------------------------


def balance_dense(
    mu: Float[np.ndarray, " K"], posteriors: Float[np.ndarray, "n K"]
) -> Float[np.ndarray, " K"]:
    """`mu - median_x(mu . P_x)`, which moves every score by the same number since `1 . P_x = 1`."""
    mu, posteriors = np.asarray(check_reals("mu", mu), np.float64), _posteriors(posteriors)
    check_shape("mu", mu, posteriors.shape[1:])
    return mu - np.median(posteriors @ mu)


def balance_contrast(
    plus: int, minus: int, posteriors: Float[np.ndarray, "n K"]
) -> Float[np.ndarray, " K"]:
    """`e_plus - kappa e_minus` with kappa the median of `P_plus / P_minus` over the rows."""
    posteriors = _posteriors(posteriors)
    size = posteriors.shape[1]
    for name, index in (("plus", plus), ("minus", minus)):
        if check_count(name, index, least=0) >= size:
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
    posteriors = np.asarray(check_reals("posteriors", posteriors), np.float64)
    if posteriors.ndim != 2 or 0 in posteriors.shape:
        raise ValueError(f"posteriors have shape {posteriors.shape}; they must have shape (n, K)")
    if (posteriors < 0).any():
        raise ValueError(f"posteriors go down to {posteriors.min():g}; they must not be negative")
    return posteriors
