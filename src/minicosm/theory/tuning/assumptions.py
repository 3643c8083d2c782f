"""The assumptions of Section 3 of Wei, Xie and Ma (2021), each as a predicate with its numbers."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from minicosm.adaptation.checks import (
    check_indices,
    check_kind,
    check_real,
    check_reals,
    check_whole,
)
from minicosm.worlds import HMM, MemoryHMM, PosteriorTask
from minicosm.worlds.markov import is_primitive

from ..checks import Given, Rule
from ..linear_algebra import RANK_TOLERANCE, independent_columns, rank_test
from ..theorem import Condition

SEARCH_BUDGET = 200_000
NUMERIC_ARROW = 0.01  # transitions below this are dropped by the numeric variant of 3.5
NUMERIC_RANK = 1e-3


def start_weights(world: HMM, task: PosteriorTask) -> Float[np.ndarray, "rows H"]:
    """The rows of mu, checked to be a task on `P[H_0 | x_1..x_T]` in a world without memory."""
    if not isinstance(world, HMM):
        raise ValueError(
            f"the world is a {type(world).__name__}; the theorems of Section 3 need an HMM "
            "(a world with memory has one: world.as_hmm())"
        )
    check_kind("task", task, PosteriorTask)
    if task.latent != "start" or task.mask_first:
        raise ValueError(
            f"the task reads {task.latent!r} (mask_first={task.mask_first}); "
            "the theorems of Section 3 need latent='start' and no masked token"
        )
    mu = np.atleast_2d(np.asarray(task.mu, np.float64))
    return check_weights(world, mu)


def check_world(world: Any, *kinds: type) -> None:
    """Raise unless `world` is one world of these kinds (an HMM by default), not a stack."""
    check_kind("world", world, kinds or (HMM,))
    if np.ndim(world.A) != 2:
        raise ValueError("the world is a stack; give one world at a time")


def one(*kinds: type) -> Rule:
    """One world of these kinds, as a rule for `checked`."""

    def rule(name: str, value: Any, given: Given) -> Any:
        check_world(value, *kinds)
        return value

    return rule


def check_weights(world: HMM, mu: Any) -> Float[np.ndarray, "rows H"]:
    check_world(world)
    mu = np.atleast_2d(np.asarray(check_reals("mu", mu), np.float64))
    if mu.ndim != 2 or mu.shape[1] != world.hidden or not len(mu):
        raise ValueError(
            f"mu has shape {np.squeeze(mu).shape}; the world has {world.hidden} hidden states"
        )
    if not np.isfinite(mu).all():
        raise ValueError("mu must be finite")
    return mu


def nondegenerate(world: HMM, tolerance: float = RANK_TOLERANCE) -> Condition:
    """Assumption 3.1: the columns of W are linearly independent, `rank W = |H|`."""
    check_world(world)
    test = rank_test(np.asarray(world.W), tolerance)
    holds = test.rank == world.hidden
    return Condition(
        "Assumption 3.1 (independent emissions)",
        holds,
        {
            "rank": test.rank,
            "states": world.hidden,
            "tokens": world.vocab,
            "singular_values": test.singular_values.tolist(),
            "condition": test.condition,
            "numerically_degenerate": test.degenerate,
            "tolerance": tolerance,
        },
        "" if holds else f"W has rank {test.rank} and {world.hidden} columns",
    )


def regular(world: HMM | MemoryHMM) -> Condition:
    """Assumption 3.2: A is primitive (ergodic chain) and p0 is positive everywhere."""
    check_world(world, HMM, MemoryHMM)
    primitive = is_primitive(np.asarray(world.A))
    zero = np.flatnonzero(np.asarray(world.p0) == 0).tolist()
    reasons = [] if primitive else ["no power of A is positive everywhere"]
    reasons += [f"p0[{zero[0]}] is 0"] if zero else []
    return Condition(
        "Assumption 3.2 (regularity)",
        primitive and not zero,
        {
            "primitive": primitive,
            "smallest_start": float(np.min(world.p0)),
            "states_without_start": zero,
        },
        "; ".join(reasons),
    )


def start_recurs(world: HMM | MemoryHMM) -> Condition:
    """`supp(p0) ⊆ supp(p1)`: all that Theorem 3.3 needs of Assumption 3.2, and Theorem D.6 of 4.4.

    A state possible at time 0 and impossible at time 1 leaves no trace in `P[X_1 | x_2..]`.
    `numbers["kappa"]` is the largest factor with `kappa p0 / p1 <= 1`.
    """
    check_world(world, HMM, MemoryHMM)
    p0, ratio = np.asarray(world.p0), start_ratio(world)
    lost = np.flatnonzero((p0 > 0) & (ratio == 0)).tolist()
    return Condition(
        "supp(p0) within supp(p1)",
        not lost,
        {
            "lost_states": lost,
            "lost_mass": float(p0[lost].sum()),
            "kappa": float(1 / ratio.max()) if ratio.any() else 0.0,
        },
        f"state {lost[0]} is possible at time 0 and impossible at time 1" if lost else "",
    )


def first_law(world: HMM | MemoryHMM) -> Float[np.ndarray, " H"]:
    """`p1 = A p0` in float64."""
    return np.asarray(world.A, np.float64) @ np.asarray(world.p0, np.float64)


def start_ratio(world: HMM | MemoryHMM) -> Float[np.ndarray, " H"]:
    """`p0 / p1`, zero where p1 is."""
    p0, p1 = np.asarray(world.p0, np.float64), first_law(world)
    return np.divide(p0, p1, out=np.zeros_like(p0), where=p1 > 0)


class Cover(NamedTuple):
    """The witness of Assumption 3.5."""

    sources: tuple[int, ...]  # B
    star: tuple[int, ...]  # H*, the union of supp(A[:, b]) over b in B


def covering(
    world: HMM,
    mu: Any,
    *,
    sources: Iterable[int] | None = None,
    arrow: float = 0.0,
    tolerance: float = RANK_TOLERANCE,
    budget: int = SEARCH_BUDGET,
) -> Condition:
    """Assumption 3.5: some B has `H* = ∪_{b in B} supp(A[:, b]) ⊇ supp(mu)`, `W[:, H*]` independent.

    Several rows of mu must be covered together. Without `sources` a witness is searched for by
    backtracking, which is exact: a subset of independent columns is independent, so a branch whose
    union is dependent holds no solution (also at a relative tolerance, since the singular values of
    a subset interlace). If the search meets its `budget` of nodes the answer is undecided: `holds`
    is False, `numbers["exact"]` is False and the reason says so. With `sources`, only that B is tested.

    `arrow` drops transitions below it. The strict assumption has `arrow=0`; `covering_numeric` is
    the variant in which transitions and singular values that nobody can measure do not count.
    """
    needed = (check_weights(world, mu) != 0).any(axis=0)
    if sources is not None:
        sources = check_indices("sources", sources, world.hidden)
    check_real("arrow", arrow, least=0)
    check_real("tolerance", tolerance, least=0)
    check_whole("budget", budget, 1)
    A = np.asarray(world.A)
    support = (A > 0) & (arrow <= A)
    W = np.asarray(world.W, np.float64)
    if sources is not None:
        cover, why = _given(support, W, needed, tuple(sources), tolerance)
        nodes, exact = 1, True
    else:
        cover, nodes, exact, why = _search(support, W, needed, tolerance, budget)
    numbers: dict[str, Any] = {
        "relevant_states": np.flatnonzero(needed).tolist(),
        "nodes": nodes,
        "exact": exact,
        "tolerance": tolerance,
        "arrow": arrow,
    }
    if cover is not None and cover.star:
        test = rank_test(W[:, cover.star], tolerance)
        numbers |= {
            "sources": list(cover.sources),
            "star": list(cover.star),
            "singular_values": test.singular_values.tolist(),
            "condition": test.condition,
        }
    return Condition("Assumption 3.5 (covering)", cover is not None, numbers, why, cover)


def covering_numeric(world: HMM, mu: Any, *, budget: int = SEARCH_BUDGET) -> Condition:
    """Assumption 3.5 with transitions below .01 dropped and relative rank tolerance 1e-3.

    Worlds with softmax transitions have full supports in theory and sparse ones in practice.
    """
    return covering(world, mu, arrow=NUMERIC_ARROW, tolerance=NUMERIC_RANK, budget=budget)


def _given(
    support: Bool[np.ndarray, "H H"],
    W: Float[np.ndarray, "V H"],
    needed: Bool[np.ndarray, " H"],
    sources: tuple[int, ...],
    tolerance: float,
) -> tuple[Cover | None, str]:
    if any(not 0 <= b < len(needed) for b in sources):
        raise ValueError(f"sources are {sources}; they must lie in 0..{len(needed) - 1}")
    star = support[:, list(sources)].any(axis=1)
    missed = np.flatnonzero(needed & ~star)
    if missed.size:
        return None, f"state {missed[0]} is in supp(mu) and no source moves to it"
    if not independent_columns(W[:, star], tolerance):
        return None, f"the {int(star.sum())} emission columns that the sources reach are dependent"
    return Cover(tuple(sorted(sources)), tuple(np.flatnonzero(star).tolist())), ""


def _search(
    support: Bool[np.ndarray, "H H"],
    W: Float[np.ndarray, "V H"],
    needed: Bool[np.ndarray, " H"],
    tolerance: float,
    budget: int,
) -> tuple[Cover | None, int, bool, str]:
    """Backtracking for a cover; returns (witness, nodes visited, whether exact, why there is none)."""
    candidates = [
        h
        for h in range(len(needed))
        if (support[:, h] & needed).any() and independent_columns(W[:, support[:, h]], tolerance)
    ]
    options = {e: [h for h in candidates if support[e, h]] for e in np.flatnonzero(needed).tolist()}
    for e, able in options.items():
        if not able:
            reason = f"no column of A with independent emissions reaches state {e} of supp(mu)"
            return None, 0, True, reason

    nodes = 0
    seen: set[bytes] = set()

    def extend(star: Bool[np.ndarray, " H"], sources: tuple[int, ...]) -> Cover | None:
        nonlocal nodes
        nodes += 1
        open_states = [e for e in options if not star[e]]
        if not open_states:
            return Cover(tuple(sorted(sources)), tuple(np.flatnonzero(star).tolist()))
        hardest = min(open_states, key=lambda e: len(options[e]))
        grown = [(star | support[:, h], h) for h in options[hardest]]
        for union, h in sorted(grown, key=lambda pair: int(pair[0].sum())):
            if nodes >= budget:
                return None
            if union.tobytes() in seen:
                continue
            seen.add(union.tobytes())
            if union.sum() > len(W) or not independent_columns(W[:, union], tolerance):
                continue
            found = extend(union, (*sources, h))
            if found is not None:
                return found
        return None

    found = extend(np.zeros(len(needed), bool), ())
    if found is not None:
        return found, nodes, True, ""
    if nodes >= budget:
        return None, nodes, False, f"undecided: the search stopped at its budget of {budget} nodes"
    reason = "every union of columns of A that covers supp(mu) has dependent emission columns"
    return None, nodes, True, reason
