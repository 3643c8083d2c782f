"""The holonomy decomposition: any automaton as a cascade of permutation-reset automata (Theorem 15).

The thesis cites the theorem; this is the construction of Zeiger and Eilenberg in the form that the module
says, and its counts of levels and states are its own. Sets of states are acted on from the right: `P s` is
the image of P under the word s.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int
from scipy.sparse.csgraph import connected_components

from minicosm.adaptation.checks import check_whole
from minicosm.worlds import Semiautomaton
from minicosm.worlds.arrays import check_tokens, short

from ..checks import COUNT, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .groups import Group, derived_series, group, perfect_name
from .semigroups import named

MOST_SETS = 2**12
"""How many image sets of an automaton are listed."""


@dataclass(frozen=True, eq=False)
class ImageSets:
    """The sets `Q s` of an automaton and its single states, the whole set first.

    `P <= R` iff `P` lies in some `R s`; sets that are below each other are one class. The height of a
    single state is 0, of another set one more than the largest of those strictly below it.
    """

    members: Bool[np.ndarray, "sets states"]
    images: Int[np.ndarray, "sets vocab"]
    """The number of `P s`."""
    classes: Int[np.ndarray, " sets"]
    heights: Int[np.ndarray, " sets"]

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def sizes(self) -> Int[np.ndarray, " sets"]:
        return self.members.sum(axis=1)


@checked(most=whole(1, 2**14))
def image_sets(world: Semiautomaton, most: int = MOST_SETS) -> ImageSets:
    """All image sets, their classes and heights."""
    delta, states = np.asarray(world.delta), world.states
    rows = [np.ones(states, bool)]
    numbers = {rows[0].tobytes(): 0}
    images: list[list[int]] = []

    def number(row: np.ndarray) -> int:
        if (key := row.tobytes()) not in numbers:
            if len(rows) == most:
                raise ValueError(
                    f"{named(world)} has more than {most} image sets; at most {most} are decomposed"
                )
            numbers[key] = len(rows)
            rows.append(row)
        return numbers[key]

    for q in range(states):
        number(np.arange(states) == q)
    at = 0
    while at < len(rows):
        where = np.flatnonzero(rows[at])
        moved = []
        for table in delta:
            row = np.zeros(states, bool)
            row[table[where]] = True
            moved.append(number(row))
        images.append(moved)
        at += 1
    members, arrows = np.array(rows), np.array(images)
    inside = members.astype(np.float32) @ ~members.T == 0  # [P, R]: P lies in R
    below = inside.T.copy()  # [R, P]
    below[np.arange(len(members))[:, None], arrows] = True
    _, classes = connected_components(below, directed=True, connection="strong")
    return ImageSets(members, arrows, classes, _heights(members, below, classes))


def _heights(
    members: Bool[np.ndarray, "sets states"],
    below: Bool[np.ndarray, "sets sets"],
    classes: Int[np.ndarray, " sets"],
) -> Int[np.ndarray, " sets"]:
    """Longest chains of classes that end in single states."""
    single = members.sum(axis=1) == 1
    heights = np.where(single, 0, 1)
    smaller = below & (classes[:, None] != classes)
    while True:
        one_more = np.where(single, 0, 1 + (smaller * heights).max(axis=1))
        of_class = np.zeros(classes.max() + 1, int)
        np.maximum.at(of_class, classes, one_more)
        found = np.where(single, 0, of_class[classes])
        if (found == heights).all():
            return found
        heights = found


@dataclass(frozen=True, eq=False)
class Component:
    """One automaton of the cascade: its states are the tiles of the class's representative, the largest
    image sets inside it, and every input permutes them or resets them to one."""

    height: int
    level: int
    """1 for the highest."""
    representative: tuple[int, ...]
    tiles: tuple[tuple[int, ...], ...]
    group: Group
    """The holonomy group: the permutations of the tiles."""


Action = tuple[int, ...]
"""Where an input of a component takes each tile."""


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A cascade that runs an automaton: `decode(step(encode(q), s)) = delta[s, q]`.

    Coordinates are one tile for every component, those of the highest level first. A component's input
    depends on the symbol and on the coordinates of higher levels before the step.
    """

    world: Semiautomaton
    sets: ImageSets
    components: tuple[Component, ...]
    _component: Int[np.ndarray, " sets"] = field(repr=False)
    """Of every set the component of its class; -1 for single states."""
    _tiles: tuple[Int[np.ndarray, " _"], ...] = field(repr=False)
    """Of every set the sets that its tiles are: those of the representative, carried along a word."""

    @property
    def levels(self) -> int:
        return max((part.level for part in self.components), default=0)

    def __repr__(self) -> str:
        sizes = [
            [len(c.tiles) for c in self.components if c.level == i + 1] for i in range(self.levels)
        ]
        return f"<{named(self.world)} in {self.levels} levels with {sizes} tiles>"

    def tiles_of(self, P: int) -> Int[np.ndarray, " _"]:
        """The image sets that are the tiles of the set with this number."""
        return self._tiles[check_whole("P", P, 0, len(self.sets) - 1)]

    def encode(self, state: int) -> tuple[int, ...]:
        """Coordinates of a state: follow tiles that hold it. Components that are not met have tile 0."""
        state = check_whole("state", state, 0, self.world.states - 1)
        found = [0] * len(self.components)
        P = 0
        while self._component[P] >= 0:
            tile = self._holding(P, self.sets.members[:, state])
            found[self._component[P]] = tile
            P = int(self._tiles[P][tile])
        return tuple(found)

    def decode(self, coordinates: tuple[int, ...]) -> int:
        """The state that coordinates stand for."""
        return int(np.argmax(self.sets.members[self._chain(coordinates)[-1]]))

    def actions(self, coordinates: tuple[int, ...], symbol: int) -> tuple[Action | None, ...]:
        """What a symbol does to every component; None where it does nothing."""
        chain = self._chain(coordinates)
        symbol = check_whole("symbol", symbol, 0, self.world.vocab - 1)
        heights, images = self.sets.heights, self.sets.images
        found: list[Action | None] = [None] * len(self.components)
        N = 0
        while (c := int(self._component[N])) >= 0:
            # The first set of the chain that is no higher than N; what it becomes lies in N.
            P = next(P for P in chain if heights[P] <= heights[N])
            tiles = self._tiles[N].tolist()
            if (image := int(images[P, symbol])) == N:
                action = tuple(tiles.index(int(images[tile, symbol])) for tile in self._tiles[P])
            else:
                inside = ~(self.sets.members[image] & ~self.sets.members).any(axis=1)
                action = (self._holding(N, inside),) * len(tiles)
            found[c] = action
            N = tiles[action[coordinates[c]]]
        return tuple(found)

    def step(self, coordinates: tuple[int, ...], symbol: int) -> tuple[int, ...]:
        """Coordinates after a symbol."""
        moved = self.actions(coordinates, symbol)
        return tuple(
            at if action is None else action[at]
            for at, action in zip(coordinates, moved, strict=True)
        )

    def run(self, inputs: Int[np.ndarray, " T"]) -> Int[np.ndarray, " T"]:
        """The states after each symbol, by way of coordinates."""
        symbols, _ = check_tokens(inputs, None, self.world.vocab)
        at, found = self.encode(int(self.world.start)), []
        for symbol in np.asarray(symbols).tolist():
            at = self.step(at, symbol)
            found.append(self.decode(at))
        return np.array(found)

    def reached(self, most: int = 2**14) -> list[tuple[int, ...]]:
        """The coordinates that words lead to from those of any state, at most `most`."""
        check_whole("most", most, 1, 2**20)
        found = dict.fromkeys(self.encode(q) for q in range(self.world.states))
        waiting = list(found)
        while waiting and len(found) < most:
            at = waiting.pop()
            for symbol in range(self.world.vocab):
                if (new := self.step(at, symbol)) not in found:
                    found[new] = None
                    waiting.append(new)
        return list(found)

    def cascade(self) -> tuple[list[Semiautomaton], list[np.ndarray]]:
        """Automata and wiring as `worlds.automata.cascade` takes them (Definition 6): of every component
        the actions that occur, and which of them follows from coordinates and symbol."""
        shape = [len(part.tiles) for part in self.components]
        listed: list[dict[Action, int]] = [{} for _ in shape]
        wires = [np.zeros((*shape[:i], self.world.vocab), int) for i in range(len(shape))]
        for at in np.ndindex(*shape):
            for symbol in range(self.world.vocab):
                for c, action in enumerate(self.actions(at, symbol)):
                    action = tuple(range(shape[c])) if action is None else action
                    wires[c][(*at[:c], symbol)] = listed[c].setdefault(action, len(listed[c]))
        start = self.encode(int(self.world.start))
        parts = [Semiautomaton(list(rows), q) for rows, q in zip(listed, start, strict=True)]
        if parts:  # the first component reads the symbols themselves
            parts[0] = Semiautomaton([list(listed[0])[i] for i in wires[0]], start[0])
        return parts, wires[1:]

    def _chain(self, coordinates: tuple[int, ...]) -> list[int]:
        """The sets that coordinates lead through, from all states to a single one."""
        sizes = [len(part.tiles) for part in self.components]
        fits = isinstance(coordinates, tuple) and len(coordinates) == len(sizes)
        if not fits or not all(
            isinstance(q, int) and 0 <= q < n for q, n in zip(coordinates, sizes, strict=True)
        ):
            raise ValueError(
                f"coordinates are {short(coordinates)}; they must be a tuple of tiles, fewer than {sizes}"
            )
        chain = [0]
        while (c := self._component[chain[-1]]) >= 0:
            chain.append(int(self._tiles[chain[-1]][coordinates[c]]))
        return chain

    def _holding(self, P: int, wanted: Bool[np.ndarray, " sets"]) -> int:
        """The first tile of P that is among the wanted sets."""
        return int(np.argmax(wanted[self._tiles[P]]))


@checked(most=whole(1, 2**14))
def holonomy(world: Semiautomaton, most: int = MOST_SETS) -> Decomposition:
    """The holonomy decomposition of an automaton with at most `most` image sets."""
    sets = image_sets(world, most)
    inside = sets.members.astype(np.float32) @ ~sets.members.T == 0
    big = np.flatnonzero(sets.sizes > 1)
    order = sorted({int(sets.classes[P]) for P in big}, key=lambda c: -_height(sets, c))
    component = np.full(len(sets), -1)
    tiles: list[np.ndarray] = [np.zeros(0, int)] * len(sets)
    found = []
    for number, c in enumerate(order):
        own = np.flatnonzero(sets.classes == c)
        first = int(own[0])
        component[own] = number
        smaller = np.flatnonzero(inside[:, first])
        smaller = smaller[smaller != first]
        largest = [P for P in smaller if inside[P, smaller].sum() == 1]
        tiles[first] = np.array(largest)
        generators = _carry(sets, first, tiles)
        found.append(
            Component(
                int(sets.heights[first]),
                int(sets.heights[0] - sets.heights[first]) + 1,
                tuple(np.flatnonzero(sets.members[first]).tolist()),
                tuple(tuple(np.flatnonzero(sets.members[P]).tolist()) for P in largest),
                group([np.arange(len(largest)), *generators]),
            )
        )
    return Decomposition(world, sets, tuple(found), component, tuple(tiles))


def _height(sets: ImageSets, c: int) -> int:
    return int(sets.heights[np.argmax(sets.classes == c)])


def _carry(sets: ImageSets, first: int, tiles: list[np.ndarray]) -> list[Action]:
    """Carry the tiles of the first set of a class to the others along words, and return how arrows inside
    the class permute them: Schreier's generators of the holonomy group."""
    waiting, arrows = [first], []
    while waiting:
        P = waiting.pop()
        for symbol in range(sets.images.shape[1]):
            N = int(sets.images[P, symbol])
            if sets.classes[N] != sets.classes[P]:
                continue
            moved = sets.images[tiles[P], symbol]
            if not len(tiles[N]):
                tiles[N] = moved
                waiting.append(N)
            arrows.append((N, moved))
    return list(
        dict.fromkeys(
            tuple(int(np.flatnonzero(tiles[N] == tile)[0]) for tile in moved) for N, moved in arrows
        )
    )


# -- solvable automata -------------------------------------------------------------------------------


@checked()
def solvable(world: Semiautomaton) -> Condition:
    """All permutation groups of the decomposition are solvable (Definition 8)."""
    found = holonomy(world)
    orders = [part.group.order for part in found.components]
    for part in found.components:
        last = derived_series(part.group)[-1]
        if last.order > 1:
            whole = (
                ""
                if last.order == part.group.order
                else f" inside a group of order {part.group.order}"
            )
            reason = f"{perfect_name(last.order)} is perfect{whole}, on level {part.level} of {named(world)}"
            return Condition(
                "solvable automaton", False, {"perfect": last.order, "orders": orders}, reason, last
            )
    return Condition("solvable automaton", True, {"orders": orders}, witness=found)


@checked()
def is_solvable(world: Semiautomaton) -> bool:
    """Whether all permutation groups of the decomposition are solvable (Definition 8)."""
    return solvable(world).holds


@checked(most=whole(1, 2**20))
def multiplied_back(found: Decomposition, most: int = 2**14) -> tuple[int, int]:
    """How many steps from reached coordinates decode to a wrong state, and how many there were."""
    delta = np.asarray(found.world.delta)
    wrong = cases = 0
    for at in found.reached(most):
        state = found.decode(at)
        for symbol in range(found.world.vocab):
            wrong += found.decode(found.step(at, symbol)) != delta[symbol, state]
            cases += 1
    return int(wrong), cases


@checked()
def definition_8(world: Semiautomaton) -> Theorem:
    """An automaton of at most four states is solvable: its groups are subgroups of S_4."""
    few = Condition(
        "at most 4 states",
        world.states <= 4,
        {"states": world.states},
        f"{named(world)} has {world.states} states",
    )
    found = solvable(world)
    return Theorem.identity(
        "Definition 8", int(not found.holds), within=0, cases=1, conditions=(few,)
    )


@checked(order=COUNT)
def refused(world: Semiautomaton, order: int) -> Theorem:
    """The automaton is not solvable, and the derived series of one of its groups stops at a group of this
    order."""
    found = solvable(world)
    stops = found.numbers.get("perfect", 1)
    return Theorem.identity(
        "refused",
        abs(stops - order) + int(found.holds),
        within=0,
        cases=1,
        details={"automaton": named(world), "perfect": stops, "reason": found.reason},
    )
