"""Theorem 2.2.2: models that are nearly optimal are nearly balanced.

A model reads tokens with their depth, by the rows of `E` (pairs as `Dyck.token_depths` numbers them,
the start token last). A key a contributes to the attention output of a query b, before softmax and
norm are divided out,

    u(a; b) = exp(e_a^T M e_b) P W_V e_a,    P = I - 11^T / m.

Queries are closed brackets of type j and depth d - 1, d = 2..D. A matched pair of type i and depth d'
contributes `S[j, d, i, d'] = u(close; b) + u(open; b)`, and the start token, opens of types t and a
pair of type j contribute `Q(j, d, t)`. The theorem bounds |S| by `P[j, d]`, the least |Q| over strings t
whose last type differs from that of the least of all, times `(4 + 16 D) R / N`.

Types and depths are counted from 0 and 1 as in `Dyck`; arrays over depths start at the least depth.
"""

from itertools import product
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.adaptation.checks import check_whole, unshared
from minicosm.worlds import Dyck
from minicosm.worlds.arrays import AnyArray, check_size

from ..checks import COUNT, INSIDE, real
from ..signatures import checked
from ..theorem import IDENTITY, Theorem
from .merging import merging_ratio

PRINTED = 1e-3
"""How far off a printed form has to be to count as wrong."""


@checked(types=COUNT, depth=COUNT)
class Parameters(NamedTuple):
    """What the second layer does before its MLP, for brackets of `types` and at most `depth`."""

    E: Float[np.ndarray, "rows m"]
    M: Float[np.ndarray, "m m"]  # W_K^T W_Q
    W_V: Float[np.ndarray, "m m"]
    types: int
    depth: int

    def check(self) -> None:
        """Raise unless E has the rows of so many brackets with their depths."""
        rows = 2 * self.types * self.depth + 1
        if len(self.E) != rows:
            raise ValueError(
                f"E has {len(self.E)} rows; {self.types} types and depth {self.depth} need {rows}"
            )

    def open(self, kind: int, depth: int) -> int:
        """The row of the open bracket of a type at depth 1..D."""
        check_whole("kind", kind, 0, self.types - 1)
        check_whole("depth", depth, 1, self.depth)
        return 2 * kind * self.depth + depth - 1

    def closed(self, kind: int, depth: int) -> int:
        """The row of the closed bracket of a type at depth 0..D-1."""
        check_whole("kind", kind, 0, self.types - 1)
        check_whole("depth", depth, 0, self.depth - 1)
        return (2 * kind + 1) * self.depth + depth


def contributions(given: Parameters, query: int) -> Float[np.ndarray, "rows m"]:
    """`u(a; b)` for all keys a, up to one positive factor that makes the largest weight 1."""
    logits = given.E @ given.M @ given.E[query]
    values = given.E @ given.W_V.T
    centred = values - values.mean(axis=1, keepdims=True)
    return np.exp(logits - logits.max())[:, None] * centred


def pair_effects(given: Parameters, u: Float[np.ndarray, "rows m"]) -> Float[np.ndarray, "k D m"]:
    """`S[i, d' - 1] = u(closed i at d' - 1) + u(open i at d')` for the query that u belongs to."""
    k, D = given.types, given.depth
    return u[:-1].reshape(k, 2, D, -1).sum(axis=1)


class Least(NamedTuple):
    """The two strings of open brackets that the proof compares, and their outputs."""

    first: tuple[int, ...]  # t*, with the least |Q|
    second: tuple[int, ...]  # t', the least among those that differ from t* in their last type
    first_output: Float[np.ndarray, " m"]
    second_output: Float[np.ndarray, " m"]

    @property
    def size(self) -> float:
        """P_{d,j} = |Q(j, d, t')|."""
        return float(np.linalg.norm(self.second_output))


def least_outputs(
    given: Parameters, kind: int, depth: int, u: Float[np.ndarray, "rows m"]
) -> Least:
    """`Q(j, d, t) = u(start) + sum_{s<d} u(open t_s at s) + u(open j at d) + u(closed j at d - 1)`
    for all t, and the two of them that matter."""
    count = given.types ** (depth - 1)
    check_size(f"the sums of {count} strings of open brackets", count * u.shape[1])
    strings = np.array(list(product(range(given.types), repeat=depth - 1)))
    opens = u[2 * strings * given.depth + np.arange(depth - 1)]  # of type t_s at depth s
    fixed = u[-1] + u[given.open(kind, depth)] + u[given.closed(kind, depth - 1)]
    outputs = opens.sum(axis=1) + fixed
    sizes = np.linalg.norm(outputs, axis=1)
    first = int(sizes.argmin())
    other = strings[:, -1] != strings[first, -1]
    second = int(np.where(other, sizes, np.inf).argmin())
    one, two = (tuple(map(int, strings[at])) for at in (first, second))
    return Least(one, two, outputs[first], outputs[second])


def check_query(given: Parameters, N: int, kind: int, depth: int, inner: int) -> None:
    """Raise unless there are strings of N tokens for the query (j, d) and pairs of type i."""
    if given.types < 2 or given.depth < 2:
        raise ValueError(
            f"given has {given.types} types and depth {given.depth}; at least 2 of each are needed"
        )
    if not 8 * given.depth < N <= 2**53:
        raise ValueError(
            f"N is {N}; it must be greater than 8 D = {8 * given.depth} and at most 2^53"
        )
    for name, value, least, most in (
        ("kind", kind, 0, given.types - 1),
        ("depth", depth, 2, given.depth),
        ("inner", inner, 0, given.types - 1),
    ):
        check_whole(name, value, least, most)


def pair_count(N: int, depth: int, outer: int) -> int:
    """`floor(N / 2) - d' - d - 1`: how often the string repeats its pair at depth d' + 1."""
    return N // 2 - outer - depth - 1


def string(
    N: int, depth: int, outer: int, inner: int, kind: int, opens: tuple[int, ...]
) -> Int[np.ndarray, " T"]:
    """d' opens of type i, pairs of type i at depth d' + 1, d' closes; then `opens`, then a pair of
    type j: at most N tokens (d' = `outer`, i = `inner`, j = `kind`)."""
    pair = [2 * inner, 2 * inner + 1]
    tokens = [pair[0]] * outer + pair * pair_count(N, depth, outer) + [pair[1]] * outer
    return np.array([*tokens, *(2 * t for t in opens), 2 * kind, 2 * kind + 1])


def prefix_outputs(
    S: Float[np.ndarray, "k D m"], N: int, depth: int, printed: bool = False
) -> Float[np.ndarray, "k D m"]:
    """`A_{d'} = sum_{1<=s<=d'} S_s + n_{d'} S_{d'+1}`, d' = 0..D-1, for every type i.

    As printed the sum stops before d', and one pair more is counted.
    """
    D = S.shape[1]
    counts = np.array([pair_count(N, depth, outer) for outer in range(D)]) + printed
    before = np.cumsum(S, axis=1) - S  # entry d' holds S_1 + ... + S_{d'}
    if printed:
        before = np.concatenate([np.zeros_like(before[:, :1]), before[:, :-1]], axis=1)
    return before + counts[:, None] * S


def read_output(
    given: Parameters, tokens: Int[np.ndarray, " T"], u: Float[np.ndarray, "rows m"]
) -> Float[np.ndarray, " m"]:
    """What a string with the start token before it sums to, read off its tokens and depths."""
    opens = tokens % 2 == 0
    depths = np.cumsum(np.where(opens, 1, -1))
    counts = np.bincount(tokens * given.depth + depths - opens, minlength=len(u))
    return counts @ u + u[-1]


class Balance(NamedTuple):
    """One query, one type of pair: the theorem's two sides for every d' = 1..D, and its steps."""

    scaled: Float[np.ndarray, " D"]  # |S_{d'}| N / (P R)
    distance: float  # eta: the least distance of the normalised outputs over d' = 0..D-1
    prefix: float  # max over d' of |A_{d'}| / (R P), at most 1
    steps: float  # max over d' of |S_{d'+1} - S_{d'}| N / (P R), at most 16


@checked()
def approximate_balance(given: Parameters, N: int, kind: int, depth: int, inner: int) -> Balance:
    """Theorem 2.2.2 with explicit constants, for the query (j, d) and pairs of type i.

    If g is gamma-Lipschitz and errs by at most sqrt(eps) on every prefix, the normalised outputs of
    two strings that differ in the last open bracket are at least
    `eta = (sqrt(2) (1 - q) - 2 sqrt(eps)) / gamma` apart. Here eta is what the distance really is, for
    strings of N tokens, N > 8D, and R = 4/eta + 1. Then |A_{d'}| <= R P for every d', and by
    `A_{d'} - A_{d'-1} = n_{d'} (S_{d'+1} - S_{d'})` with n_{d'} >= N/8, n_0 >= N/4:
    `|S_{d'}| <= (4 + 16 (d' - 1)) R P / N`.
    """
    check_query(given, N, kind, depth, inner)
    u = contributions(given, given.closed(kind, depth - 1))
    S = pair_effects(given, u)
    least = least_outputs(given, kind, depth, u)
    A = prefix_outputs(S, N, depth)[inner]
    one, two = A + least.first_output, A + least.second_output
    one, two = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (one, two))
    eta = float(np.linalg.norm(one - two, axis=1).min())
    unit = least.size * merging_ratio(eta)
    return Balance(
        np.linalg.norm(S[inner], axis=1) * N / unit,
        eta,
        float(np.linalg.norm(A, axis=1).max() / unit),
        float(np.linalg.norm(np.diff(S[inner], axis=0), axis=1).max() * N / unit),
    )


@checked()
def theorem_2_2_2(given: Parameters, N: int) -> Theorem:
    """Theorem 2.2.2 with explicit constants over all queries, types of pairs and d', with eta as it is.

    The bound is `|S| <= (4 + 16 D) R P / N`; its steps are `|A_{d'}| <= R P`, `|S_{d'+1} - S_{d'}|
    <= 16 R P / N` and `|S_{d'}| <= (4 + 16 (d' - 1)) R P / N`. The slack is 1 less the largest
    share of a bound that is used.
    """
    check_query(given, N, 0, 2, 0)
    k, D = given.types, given.depth
    each = [
        approximate_balance(given, N, kind, depth, inner)
        for kind in range(k)
        for depth in range(2, D + 1)
        for inner in range(k)
    ]
    scaled = np.array([balance.scaled for balance in each])
    shares = {
        "bound": float(scaled.max() / (4 + 16 * D)),
        "refined bound": float((scaled / (4 + 16 * np.arange(D))).max()),
        "prefix": float(np.max([balance.prefix for balance in each])),
        "steps": float(np.max([balance.steps for balance in each]) / 16),
    }
    return Theorem.inequality(
        "Theorem 2.2.2",
        1 - float(np.max(list(shares.values()))),
        cases=len(each),
        details={
            **{f"share of {name}": share for name, share in shares.items()},
            "scaled": float(scaled.max()),
            "length": N,
            "distance": min(balance.distance for balance in each),
        },
    )


@checked()
class Strings(NamedTuple):
    """The strings of Theorem 2.2.2 for the query (j, d) = (`kind`, `depth`) and pairs of type i =
    `inner`."""

    given: Parameters
    N: int
    kind: int
    depth: int
    inner: int

    def check(self) -> None:
        """Raise unless there are such strings, and not too long to be written down."""
        check_query(*self)
        check_whole("N", self.N, most=2**24)

    def parts(self) -> tuple[Float[np.ndarray, "rows m"], Float[np.ndarray, "D m"], Least]:
        """`u`, `S` of pairs of type i, and the two strings that are compared."""
        u = contributions(self.given, self.given.closed(self.kind, self.depth - 1))
        least = least_outputs(self.given, self.kind, self.depth, u)
        return u, pair_effects(self.given, u)[self.inner], least


@checked()
def equation_2_73(strings: Strings, *, printed: bool = False) -> Theorem:
    """`A_{d'} + Q` is what the explicit string sums to, for d' = 0..D-1; as printed the innermost
    of the d' pairs is left out of the sum and there is one pair too many at depth d' + 1.

    Errors are relative to the largest contribution, and to N times that unless `printed`.
    """
    given, N, kind, depth, inner = strings
    u, S, least = strings.parts()
    A = prefix_outputs(S[None], N, depth, printed)[0]
    gaps, fits = [], []
    for outer in range(given.depth):
        tokens = string(N, depth, outer, inner, kind, least.first)
        gaps.append(np.linalg.norm(A[outer] + least.first_output - read_output(given, tokens, u)))
        fits.append(len(tokens) <= N)
    scale = float(np.abs(u).max()) * (1 if printed else N)
    return Theorem.identity(
        "Eq. 2.73 as printed" if printed else "Eq. 2.73",
        float(np.max(gaps)) / scale + (not all(fits)),
        cases=len(gaps),
        within=PRINTED if printed else IDENTITY,
    )


@checked()
def telescope(strings: Strings) -> Theorem:
    """`A_{d'} - A_{d'-1} = n_{d'} (S_{d'+1} - S_{d'})` for d' = 1..D-1, relative to N times the largest
    contribution."""
    given, N, _, depth, _ = strings
    u, S, _ = strings.parts()
    A = prefix_outputs(S[None], N, depth)[0]
    counts = np.array([pair_count(N, depth, outer) for outer in range(1, given.depth)])[:, None]
    gap = np.abs(np.diff(A, axis=0) - counts * np.diff(S, axis=0)).max()
    return Theorem.identity("telescope", float(gap) / (float(np.abs(u).max()) * N))


@checked(q=INSIDE)
def equation_2_72(strings: Strings, world: Dyck, q: float) -> Theorem:
    """The next-token laws of the world after the two strings differ by exactly `sqrt(2) (1 - q)` in
    2-norm, for every d'; the error is relative."""
    given, N, kind, depth, inner = strings
    if (world.types, world.depth) != (given.types, given.depth):
        raise ValueError(
            f"the world has {world.types} types and depth {world.depth}, the parameters of the strings "
            f"{given.types} and {given.depth}; they must agree"
        )
    _, _, least = strings.parts()
    room = 64 * (N // 64 + 1)  # few shapes, few compilations
    wanted, gaps = 2**0.5 * (1 - q), []
    for outer in range(given.depth):
        pair = [string(N, depth, outer, inner, kind, t) for t in (least.first, least.second)]
        padded = np.array(
            [np.pad(s, (0, room - len(s)), constant_values=world.vocab) for s in pair]
        )
        with jax.enable_x64(True):
            laws = np.exp(np.asarray(_next_logits(unshared(world), padded))[:, len(pair[0]) - 1])
        gaps.append(abs(float(np.linalg.norm(laws[0] - laws[1])) - wanted) / wanted)
    return Theorem.identity("Eq. 2.72", float(np.max(gaps)), cases=len(gaps))


@eqx.filter_jit
def _next_logits(world: Dyck, tokens: Int[AnyArray, "n T"]) -> Float[Array, "n T V"]:
    return jax.vmap(world.next_logits)(tokens)


@checked(
    types=COUNT,
    depth=COUNT,
    scale=real(least=0, most=100),
    noise=real(least=0),
)
def random_parameters(
    rng: np.random.Generator,
    types: int,
    depth: int,
    *,
    scale: float = 1.0,
    noise: float | None = None,
) -> Parameters:
    """Gaussian logits (deviation `scale`) and values on orthonormal E; with `noise`, nearly balanced.

    Nearly balanced: closed brackets have the open ones' logits minus a_{i,d'} and their values times
    `-exp(a_{i,d'})`, so that S = 0, and then Gaussian noise is added to both. Scales are at most 100, as
    the exponential of far larger ones is infinite.
    """
    pairs = 2 * types * depth
    check_size(f"parameters of {types} types and depth {depth}", (pairs + 1) ** 2)
    E = np.linalg.qr(rng.normal(size=(pairs + 1, pairs + 1)))[0]
    logits = scale * rng.normal(size=(pairs + 1, pairs + 1))  # [key, query]
    values = rng.normal(size=(pairs + 1, pairs + 1))
    if noise is not None:
        a = scale * rng.normal(size=(types, depth, 1))
        for table, factor, shift in ((logits, 1, -a), (values, -np.exp(a), 0)):
            brackets = table[:-1].reshape(types, 2, depth, pairs + 1)
            brackets[:, 1] = factor * brackets[:, 0] + shift
            table += noise * rng.normal(size=table.shape)
    return Parameters(E, E.T @ logits @ E, (E.T @ values).T, types, depth)
