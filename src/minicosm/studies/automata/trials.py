"""Configurations of the exact suites and how large each profile makes them; trainings are in
`experiment_trials`."""

from dataclasses import dataclass

from minicosm.lab import Trial, sized


def _check_lengths(lengths: tuple[int, ...]) -> None:
    if not lengths or any(not 1 <= length <= 4096 for length in lengths):
        raise ValueError(f"lengths are {lengths}; each must be in 1..4096, and there must be one")


# -- gadgets: Lemmas 10 to 14, Proposition 2 -----------------------------------------------------------


@dataclass(frozen=True)
class Gadgets:
    """Random tables for each lookup, and random score vectors."""

    seed: int
    tables: int
    scores: int


@sized(
    Gadgets,
    smoke={"tables": 3, "scores": 50},
    laptop={"tables": 200, "scores": 2000},
    paper={"tables": 1000, "scores": 10_000},
)
def gadgets(config: Gadgets) -> dict[str, Trial]:
    from .suites import gadgets

    return {"suite": Trial(gadgets.run, config)}


# -- shortcuts: Theorem 10, Lemmas 15 and 16, Definition 3 ---------------------------------------------


@dataclass(frozen=True)
class Shortcuts:
    """Random automata beside those of the source, which of these by their states, strings of each where there
    are too many for all, lengths, and the longest strings for which depths are compared."""

    seed: int
    automata: int
    most_states: int = 120
    strings: int = 200
    lengths: tuple[int, ...] = (1, 2, 7, 16, 33, 64)
    longest: int = 1024

    def __post_init__(self) -> None:
        _check_lengths(self.lengths)
        if self.longest < 2:
            raise ValueError(f"longest is {self.longest}; it must be at least 2")


@sized(
    Shortcuts,
    smoke={"automata": 3, "most_states": 5, "strings": 20, "lengths": (1, 2, 7), "longest": 8},
    laptop={"automata": 100},
    paper={"automata": 500, "strings": 1000},
)
def shortcuts(config: Shortcuts) -> dict[str, Trial]:
    from .suites import shortcuts

    return {"suite": Trial(shortcuts.run, config)}


# -- gridworlds: Algorithm 1, Lemmas 22 and 23, Theorem 12 ---------------------------------------------


@dataclass(frozen=True)
class Gridworlds:
    """Random sequences of every gridworld, sizes S (its places are 0..S), and lengths."""

    seed: int
    sequences: int
    sizes: tuple[int, ...] = (1, 2, 3, 8)
    lengths: tuple[int, ...] = (8, 64, 200)

    def __post_init__(self) -> None:
        _check_lengths(self.lengths)
        if not self.sizes or any(not 1 <= size <= 63 for size in self.sizes):
            raise ValueError(
                f"sizes are {self.sizes}; each must be in 1..63, and there must be one"
            )


@sized(
    Gridworlds,
    smoke={"sequences": 10, "sizes": (1, 3), "lengths": (6,)},
    laptop={"sequences": 200},
    paper={"sequences": 2000},
)
def gridworlds(config: Gridworlds) -> dict[str, Trial]:
    from .suites import gridworld

    return {"suite": Trial(gridworld.run, config)}


# -- groups: Lemmas 17 to 19, Theorems 14 and 16, Example 7, Barrington's theorem ----------------------


@dataclass(frozen=True)
class Groups:
    """Random words for each group, composition series drawn for each, and the length of words."""

    seed: int
    words: int
    series: int
    length: int
    long: int
    """Words of 128 symbols, of one group for each construction."""


@sized(
    Groups,
    smoke={"words": 5, "series": 5, "length": 6, "long": 2},
    laptop={"words": 200, "series": 200, "length": 32, "long": 10_000},
    paper={"words": 1000, "series": 1000, "length": 64, "long": 10_000},
)
def groups(config: Groups) -> dict[str, Trial]:
    from .suites import groups

    return {"suite": Trial(groups.run, config)}


# -- cascades: Lemmas 20 and 21, Theorems 11 and 15, Definition 8 --------------------------------------


@dataclass(frozen=True)
class Cascades:
    """Random automata, and lengths of the compiled ones."""

    seed: int
    automata: int
    long: int
    """Words of 128 symbols, of one automaton for each construction."""
    lengths: tuple[int, ...] = (8, 16, 32, 64)


@sized(
    Cascades,
    smoke={"automata": 3, "lengths": (4, 8), "long": 2},
    laptop={"automata": 200, "long": 10_000},
    paper={"automata": 1000, "long": 10_000},
)
def cascades(config: Cascades) -> dict[str, Trial]:
    from .suites import cascades

    return {"suite": Trial(cascades.run, config)}
