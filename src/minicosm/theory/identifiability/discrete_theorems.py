"""Discrete HMMs: Theorems 4, 6 and 7 of Section 2.2 of Liu's thesis, Claim 1, Proposition 1, and what
surrounds them."""

import itertools

import jax
import numpy as np
from jaxtyping import Float

from minicosm.worlds import HMM, GaussianHMM, MaskedTask, predictor
from minicosm.worlds.hmm.doubly_stochastic import least_singular
from minicosm.worlds.markov import stationary_law

from ..checks import real, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .arguments import WORLD, Tasks, same_kind, some_tasks
from .assumptions import assumptions
from .atlas import PAIRS_ON_3, PAIRS_ON_8, TWO_TOKENS
from .distance import distance, parameters
from .examples import every_gap_fractions, powers_pair, printed_worlds
from .gauge import gauge
from .recovery import recover
from .tensors import jennrich, kruskal_condition
from .twins import SAME, apart
from .unseen import unseen

CLEAR = 1e-3  # sigma_min(O) sigma_min(T)^2 above which recovery is asked for


@checked(first=WORLD, second=same_kind, tasks=some_tasks, least=real(least=0))
def not_identified(
    name: str, first: HMM | GaussianHMM, second: HMM | GaussianHMM, tasks: Tasks, least: float = 0.1
) -> Theorem:
    """That the tasks do not identify: both worlds satisfy the assumptions, their predictors are equal to
    rounding and their parameters, in the best relabelling, further apart than `least`. The error is that of
    the predictors."""
    far, error = distance(first, second), apart(first, second, tasks)
    failed = [str(c) for world in (first, second) for c in assumptions(world) if not c.holds]
    details = {"distance": far, "violated": "; ".join(failed)}
    holds = error <= SAME and far > least and not failed
    return Theorem(name, holds=bool(holds), error=error, tolerance=SAME, details=details)


@checked()
def theorem_4(first: HMM, second: HMM, least: float = 0.1) -> Theorem:
    """Theorem 4 for t = 2: these worlds have the same predictor of x2 from x1."""
    return not_identified("Theorem 4", first, second, "x2|x1", least)


@checked(gap=whole(2, 1999))
def theorem_4_later(first: HMM, second: HMM, gap: int, least: float = 0.1) -> Theorem:
    """Theorem 4 for t = gap + 1: these worlds have the same predictor of the token `gap` steps later."""
    return not_identified("Theorem 4, later tokens", first, second, f"x{gap + 1}|x1", least)


@checked(gap=whole(2, 10_000))
def claim_1(gap: int) -> Theorem:
    """Claim 1: the matrices of `powers_pair` differ, are doubly stochastic of rank 3, and have equal
    powers."""
    T, other = powers_pair(gap)
    power = np.linalg.matrix_power
    error = float(np.abs(power(T, gap) - power(other, gap)).max())
    stochastic = max(
        float(np.abs(other.sum(axis=0) - 1).max()),
        float(np.abs(other.sum(axis=1) - 1).max()),
        -float(other.min()),
    )
    far = float(np.abs(T - other).max())
    rank = min(least_singular(T), least_singular(other))
    return Theorem(
        "Claim 1",
        holds=bool(error <= SAME and stochastic <= SAME and far > 1e-3 and rank > 1e-3),
        error=error,
        tolerance=SAME,
        details={"gap": gap, "distance": far, "stochastic to": stochastic, "least singular": rank},
    )


@checked()
def theorem_6(first: HMM, second: HMM, least: float = 0.1) -> Theorem:
    """Theorem 6: these worlds agree on all pairwise tasks on three tokens; here on eight as well."""
    return not_identified("Theorem 6", first, second, PAIRS_ON_3 + PAIRS_ON_8, least)


@checked(numerator=whole(1, 10**6), denominator=whole(2, 10**6), last=whole(2, 64))
def theorem_6_in_fractions(numerator: int, denominator: int, last: int = 8) -> Theorem:
    """Theorem 6 without rounding: how many entries differ between the predictors `O T^g Phi` of the two
    worlds of `every_gap_pair`, at all gaps up to `last - 1` in both directions. The chain is symmetric, so
    that both directions have one formula; the emissions differ."""
    from fractions import Fraction

    if numerator >= denominator:
        raise ValueError(
            f"numerator is {numerator}; it must be less than denominator = {denominator}"
        )
    O, other, T = every_gap_fractions(Fraction(numerator, denominator))
    wrong, cases, power = 0, 0, np.eye(3, dtype=int).astype(object)
    for _ in range(1, last):
        power = power @ T
        tables = [E @ power @ (E / E.sum(axis=1)[:, None]).T for E in (O, other)]
        wrong += int(np.sum(tables[0] != tables[1]))
        cases += tables[0].size
    wrong += int(np.all(other == O))
    return Theorem.identity("Theorem 6, in fractions", wrong, within=0, cases=cases)


def printed_pair() -> Theorem:
    """The pair of Equation 2.47: pairwise predictors up to seven steps apart agree in the digits that are
    printed, parameters are more than .05 apart, and each predictor of two tokens tells the worlds apart."""
    first, second = printed_worlds()
    far, error = distance(first, second), apart(first, second, PAIRS_ON_8)
    two = [apart(first, second, task) for task in TWO_TOKENS]
    failed = [str(c) for w in (first, second) for c in assumptions(w) if not c.holds]
    return Theorem(
        "The printed pair",
        holds=bool(error <= 1e-7 and far > 0.05 and np.min(two) > 1e-4 and not failed),
        error=error,
        tolerance=1e-7,
        details={"distance": far, "two tokens differ by": float(np.min(two))},
    )


@checked(within=real(least=0))
def gauge_joins(
    first: HMM, second: HMM, *, orthogonal: bool = False, within: float = 1e-8
) -> Theorem:
    """Two worlds with equal predictors of x2 from x1 are joined by an S whose rows and columns sum to one,
    `O = O' S` and `T' = S T S^T`; if they agree on all pairwise tasks, S is orthogonal."""
    g = gauge(first, second)
    parts = [g.emissions, g.chain, g.sums] + ([g.orthogonality] if orthogonal else [])
    return Theorem.identity(
        "Gauge, all pairs" if orthogonal else "Gauge, one step",
        float(np.max(parts)),
        within=within,
        details={
            "orthogonal to": g.orthogonality,
            "|S - I|": float(np.abs(g.S - np.eye(len(g.S))).max()),
        },
    )


@checked(world=WORLD, tasks=some_tasks, wanted=whole(0, 10_000))
def unseen_directions(name: str, world: HMM | GaussianHMM, tasks: Tasks, wanted: int) -> Theorem:
    """How many directions the tasks do not see is this number."""
    found = unseen(world, tasks)
    return Theorem.identity(
        name,
        abs(found.dimension - wanted),
        within=0,
        details={"unseen": found.dimension, "wanted": wanted, "least kept": found.least_kept},
    )


@checked()
def theorem_7(world: HMM, task: str) -> Theorem:
    """Theorem 7, constructively: simultaneous diagonalisation of the predictor of two tokens gives the
    parameters back, where `sigma_min(O) sigma_min(T)^2` is above 0.001."""
    O, T = parameters(world)
    clear = least_singular(O) * least_singular(T) ** 2
    conditions = (
        *assumptions(world),
        Condition(
            "well conditioned",
            clear > CLEAR,
            {"sigma_min(O) sigma_min(T)^2": clear},
            reason=f"sigma_min(O) sigma_min(T)^2 is {clear:.2g}, not above {CLEAR:g}",
        ),
    )
    name = f"Theorem 7, {MaskedTask.parse(task)}"
    if not all(c.holds for c in conditions):
        return Theorem(name, conditions)
    found = recover(predictor(world, task), task, hidden=world.hidden)
    return Theorem.identity(
        name,
        distance(world, found.world),
        within=1e-8,
        conditions=conditions,
        details={"condition": found.condition, "residual": found.residual, "clear": clear},
    )


@checked()
def proposition_1(
    A: Float[np.ndarray, "m r"], B: Float[np.ndarray, "n r"], C: Float[np.ndarray, "p r"]
) -> Theorem:
    """Proposition 1 (Kruskal): the terms of `sum_i A_i ⊗ B_i ⊗ C_i` are determined up to their order; here
    they are found again by simultaneous diagonalisation, which asks for independent columns of B and C
    besides."""
    kruskal = kruskal_condition(A, B, C)
    r = A.shape[1]
    least = min(least_singular(B), least_singular(C))
    independent = Condition(
        "independent columns",
        least > 1e-8,
        {"least singular value": least},
        reason=f"B or C has the least singular value {least:.2g}",
    )
    conditions = (kruskal, independent)
    if not all(c.holds for c in conditions):
        return Theorem("Proposition 1", conditions)
    found = jennrich(np.einsum("ai,bi,ci->abc", A, B, C), r)
    terms, again = (np.einsum("ai,bi,ci->iabc", *factors) for factors in ((A, B, C), found[:3]))
    cost = np.abs(terms[:, None] - again[None]).max(axis=(2, 3, 4))
    best = cost.argmin(axis=1)
    error = float(cost.min(axis=1).max()) if len(set(best)) == r else np.inf
    return Theorem.identity(
        "Proposition 1",
        error,
        within=1e-8,
        conditions=conditions,
        details={"condition": found.condition},
    )


@checked()
def refuses_degenerate(world: HMM, task: str) -> Theorem:
    """Where Assumption 7 fails (two states that emit alike, or a chain without memory) recovery says so, and
    returns no parameters. The error counts answers."""
    table = predictor(world, task)
    try:
        recover(table, task, hidden=world.hidden, within=np.inf)
    except ValueError as error:
        return Theorem.identity("Recovery refuses", 0, within=0, details={"said": str(error)})
    return Theorem.identity("Recovery refuses", 1, within=0)


@checked()
def marginals(world: HMM) -> Theorem:
    """The law of a token is the one of which the predictor of x2 from x1, read as a chain of tokens, is
    stationary."""
    O, T = parameters(world)
    law = stationary_law(predictor(world, "x2|x1").T)
    return Theorem.identity(
        "Marginals", np.abs(law - O.sum(axis=1) / len(T)).max(), conditions=assumptions(world)
    )


@checked(length=whole(3, 8))
def one_visible_token(first: HMM, second: HMM, length: int = 5) -> Theorem:
    """The law of a hidden token given one visible one, anywhere, is the same in both worlds; given two it
    differs by more than .05 somewhere. The error is the largest difference given one."""
    d = first.vocab
    largest = {1: 0.0, 2: 0.0}
    with jax.enable_x64(True):
        for count, off in largest.items():
            for seen in itertools.combinations(range(length), count):
                observed = np.isin(np.arange(length), seen)
                rows = np.zeros((d**count, length), int)
                rows[:, seen] = list(itertools.product(range(d), repeat=count))
                laws = [
                    np.asarray(jax.vmap(world.conditionals, (0, None))(rows, observed))
                    for world in (first, second)
                ]
                off = max(off, float(np.abs(laws[0] - laws[1])[:, ~observed].max()))
            largest[count] = off
    return Theorem(
        "One visible token",
        holds=bool(largest[1] <= SAME and largest[2] > 0.05),
        error=largest[1],
        tolerance=SAME,
        details={"given two": largest[2]},
    )
