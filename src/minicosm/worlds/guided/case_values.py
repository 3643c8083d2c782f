"""The probability that a line of a test-case text ends correct, exactly; and the perfect verifier."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from ..arrays import AnyArray
from .case_states import CaseState, Slot
from .case_texts import AppendCases


class CaseReferee(eqx.Module):
    """The perfect process verifier: 1 while the line can become a correct one, then 0."""

    world: AppendCases

    def begin(self, room: int, source: PyTree) -> CaseState:
        return self.world.begin(room)

    def read(
        self, memory: CaseState, n: Int[Array, ""], token: Int[Array, ""], source: PyTree
    ) -> CaseState:
        return self.world.read(memory, n, token)

    def score(self, memory: CaseState, n: Int[Array, ""]) -> Float[Array, ""]:
        return self.world.viable(self.world.state(memory, n)).astype(float)


class CaseValue(CaseReferee):
    """`V*(u)`: the probability, under the world's law, that the line being written ends correct, or that
    the text ends with all its lines.

    After `==` one right-hand side is correct, so the value is its probability given u. Before it,
    the value is a mean over the lists that may come, from tables over the digits of the list so far:

    - `rest[n][e]` after the comma that follows n elements, `element[n][e]` after the n-th element,
      `closed[n][e]` after the bracket that closes the list.
    """

    rest: Float[AnyArray, "2 lists"]
    element: Float[AnyArray, "2 lists"]
    closed: Float[AnyArray, "2 lists"]
    first: Float[AnyArray, " 2"]

    def __init__(self, world: AppendCases):
        self.world = world
        found = [_tables(world, name) for name in (0, world.names)]
        self.rest, self.element, self.closed, self.first = (
            np.stack(each) for each in zip(*found, strict=True)
        )

    def value(self, state: CaseState) -> Float[Array, ""]:
        """`V*` of the text so far; 1 is not reached, and 0 means that no correct line can follow."""
        world = self.world
        right, slip = _chances(world)
        kind = (state.name >= world.first_name + world.names).astype(int)
        powers = world.digits ** np.arange(world.longest + 1)
        used = jnp.arange(world.longest + 1) < state.size
        at = jnp.asarray(_offsets(world))[state.size] + jnp.sum(
            jnp.where(used, state.digits * powers, 0)
        )
        # A line that has only begun has a fixed number of tokens before its list.
        begun = jnp.asarray(self.first)[kind] * right ** jnp.maximum(Slot.FIRST - state.slot, 0)
        late = (state.slot == Slot.LINE) & (state.line >= world.lines)
        begun = jnp.where(late, right + begun * slip / right, begun)
        # Before the name is known the two kinds of names are mixed.
        shares = np.asarray([world.names, world.misleading]) / (world.names + world.misleading)
        unknown = shares @ jnp.asarray(self.first) * right ** (Slot.FIRST - Slot.LINE)
        closed, element = jnp.asarray(self.closed)[kind, at], jnp.asarray(self.element)[kind, at]
        # Between the item and `==` the whole list is known.
        whole = self._right(state._replace(place=jnp.zeros((), jnp.int32)))
        values = [
            jnp.where(state.slot == slot, value, 0)
            for slot, value in [
                (Slot.ELEMENT, element),
                (Slot.DIGIT, jnp.asarray(self.rest)[kind, at]),
                (Slot.COMMA, closed),
                (Slot.ITEM, closed / right),
                (Slot.CLOSE, right**2 * whole),
                (Slot.EQUALS, right * whole),
                (Slot.RIGHT, self._right(state)),
            ]
        ]
        return jnp.select(
            [
                state.slot == Slot.DONE,
                state.slot < Slot.HEADER_BREAK,
                state.slot == Slot.HEADER_BREAK,
                state.slot <= Slot.FIRST,
            ],
            [
                1.0,
                unknown,
                jnp.asarray(self.first)[kind] * right ** (Slot.FIRST - Slot.LINE),
                begun,
            ],
            sum(values, jnp.zeros(())),
        )

    def score(self, memory: CaseState, n: Int[Array, ""]) -> Float[Array, ""]:
        return self.value(self.world.state(memory, n))

    def _right(self, state: CaseState) -> Float[Array, ""]:
        """The probability of what is left of the correct right-hand side:
        `sum_z P(z | u) prod_t P_z(w_t | u w_{<t})`."""
        world = self.world
        every = jnp.arange(2 * world.longest + 4, dtype=jnp.int32)
        meant, other = jax.vmap(lambda place: world._meant(state._replace(place=place)))(every)
        correct = meant[:, 0]
        agrees = ~other & (meant == correct[:, None])  # place, hypothesis
        places = every[:, None]
        ahead = (places >= state.place) & (places <= 2 * state.size + 3)
        met = jnp.cumprod(jnp.where(ahead, agrees, True), axis=0).astype(bool)
        living = state.alive & jnp.concatenate([jnp.ones((1, len(state.alive)), bool), met[:-1]])
        right, slip = _chances(world)
        over = correct[:, None] == world.mark("\n")
        # Off its road a hypothesis breaks the line off; one that has dissolved writes anything.
        chance = jnp.where(living, jnp.where(agrees, right, slip), jnp.where(over, right, slip))
        chance = jnp.where(state.junk, 1 / world.vocab, chance)
        return state.alive[0] * (state.weights @ jnp.prod(jnp.where(ahead, chance, 1), axis=0))


def _chances(world: AppendCases) -> tuple[Any, Any]:
    """The probability of the one token that is meant, and of any other one."""
    slip = world.noise / world.vocab
    return 1 - world.noise + slip, slip


def _offsets(world: AppendCases) -> Int[np.ndarray, " sizes"]:
    """Where lists of n elements begin in the tables."""
    sizes = world.digits ** np.arange(world.longest + 1)
    return np.concatenate([[0], np.cumsum(sizes)[:-1]])


def _tables(world: AppendCases, name: int) -> tuple[np.ndarray, ...]:
    """The tables of `CaseValue` for one kind of names, lists in the order of their first digit
    (fastest), and the value before the first element."""
    K, base = world.longest, world.digits
    right, slip = (float(x) for x in _chances(world))
    noise = float(world.noise)
    digit = (1 - noise) / base + slip
    rest, element, closed = ([np.zeros(base**n) for n in range(K + 1)] for _ in range(3))
    for n in range(K, -1, -1):
        whole = _correct(world, name, n).reshape(base, -1)  # item, list
        closed[n] = right**3 * digit * whole.sum(axis=0)
        more = (K - n) / (K - n + 1)
        element[n] = ((1 - noise) * (1 - more) + slip) * closed[n]
        if n < K:
            rest[n] = digit * element[n + 1].reshape(base, -1).sum(axis=0)
            element[n] += ((1 - noise) * more + slip) * rest[n]
    more = K / (K + 1)
    first = ((1 - noise) * (1 - more) + slip) * closed[0][0]
    if K > 0:
        first += ((1 - noise) * more / base + slip) * element[1].sum()
    return *(np.concatenate(each) for each in (rest, element, closed)), np.asarray(first)


def _correct(world: AppendCases, name: int, size: int) -> Float[np.ndarray, " lists"]:
    """The probability of the correct right-hand side after `==`, for every list of `size` elements
    with its item.

    A hypothesis that leaves the correct text before its token t has probability
    `right^t slip^(2k + 3 - t) right` (the break ends a line that has left its road too), one that never
    does `right^(2k + 4)`.
    """
    right, slip = (float(x) for x in _chances(world))
    prior = np.asarray(world.prior(np.asarray(world.first_name + name), np.asarray(size)), float)
    lists = np.stack(
        [g.reshape(-1) for g in np.meshgrid(*[np.arange(world.digits)] * (size + 1), indexing="ij")]
    )[::-1]  # the first digit fastest
    never = 2 * size + 3

    def chance(t: Any) -> Any:
        left = right**t * slip ** (never - t) * right
        return np.where(t == never, right ** (never + 1), left)

    def leaves(other: np.ndarray) -> np.ndarray:
        differs = other != lists
        return np.where(differs.any(axis=0), 2 * differs.argmax(axis=0) + 1, never)

    total = prior[0] * chance(np.full(lists.shape[1], never))
    total = total + prior[1] * chance(leaves(np.roll(lists, 1, axis=0)))
    total = total + prior[2] * chance(leaves(np.sort(lists, axis=0)))
    places = world.longest + 1
    total = total + sum(prior[3 + i] * chance(np.asarray(2 * i + 1)) for i in range(size + 1))
    return total + sum(prior[3 + places + t] * chance(np.asarray(t)) for t in range(2 * size + 3))
