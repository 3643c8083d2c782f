"""Configurations of the exact suites and how large each profile makes them; trainings are in
`experiment_trials`."""

from dataclasses import dataclass

from minicosm.lab import Trial, sized


@dataclass(frozen=True)
class Exact:
    """Strings and random heads of the exact statements."""

    seed: int
    lengths: tuple[int, ...] = (4, 6, 8, 10, 12, 64, 256, 512)
    """Of the strings that networks read: all of them up to 12, samples beyond."""
    strings: int = 200
    longest: int = 4000
    """Of the strings that the recurrent network reads."""
    heads: int = 1000
    pairs: int = 100_000
    """Additions of two numbers of 20 digits."""
    horizon: int = 64

    def __post_init__(self) -> None:
        if not self.lengths or any(length < 4 or length % 2 for length in self.lengths):
            raise ValueError(f"lengths are {self.lengths}; each must be even and at least 4")
        if self.longest < 4 or self.longest % 2 or self.horizon < 4:
            raise ValueError(
                f"longest is {self.longest} and horizon {self.horizon}; both must be at least 4, and "
                "longest even"
            )


@sized(
    Exact,
    smoke={"lengths": (8, 32, 128), "strings": 20, "longest": 200, "heads": 30, "pairs": 1000}
    | {"horizon": 16},
    laptop={},
    paper={"strings": 2000, "heads": 3000},
)
def networks(config: Exact) -> dict[str, Trial]:
    from .suites import networks

    return {"suite": Trial(networks.run, config)}


@sized(
    Exact,
    smoke={"lengths": (4, 8), "strings": 20, "longest": 200, "heads": 30, "pairs": 1000}
    | {"horizon": 16},
    laptop={},
    paper={"strings": 2000, "heads": 3000},
)
def heads(config: Exact) -> dict[str, Trial]:
    from .suites import heads

    return {"suite": Trial(heads.run, config)}
