"""The configuration of Transformers whose number of heads varies and whose width does not, and how large each
profile makes it."""

from dataclasses import dataclass

from minicosm.lab import Trial, sized


@dataclass(frozen=True)
class Heads:
    """Transformers of one width, with few and with many heads, that read a sparse parity as tokens."""

    seed: int
    d: int = 16
    k: int = 3
    layers: int = 2
    few: int = 1
    """Heads of one of the two models of a seed."""
    many: int = 4
    """Heads of the other."""
    width: int = 32
    """Of both. Heads that are concatenated divide it, heads that are averaged have it each."""
    seeds: int = 18
    steps: int = 1500
    judged: int = 50
    """Steps between evaluations."""
    rate: float = 2e-3
    batch: int = 64
    init_std: float = 0.1
    tests: int = 1024
    """Inputs on which models are judged."""

    def __post_init__(self) -> None:
        if not 2 <= self.k < self.d:
            raise ValueError(f"k is {self.k} and d is {self.d}; k must be at least 2 and below d")
        if not 1 <= self.few < self.many:
            raise ValueError(
                f"few is {self.few} and many {self.many}; few must be at least 1 and below many"
            )
        for heads in (self.few, self.many):
            if self.width % heads:
                raise ValueError(
                    f"width is {self.width}; it must be a multiple of few, {self.few}, and of many, "
                    f"{self.many}"
                )
        if self.seeds < 2:
            raise ValueError(f"seeds is {self.seeds}; an interval needs at least 2")
        if self.judged < 1 or self.steps < self.judged or self.steps % self.judged:
            raise ValueError(
                f"steps is {self.steps}; it must be a multiple of judged, {self.judged}"
            )


SMOKE = {"d": 6, "k": 2, "layers": 1, "many": 2, "width": 8, "seeds": 2, "steps": 20, "judged": 5,
         "batch": 8, "tests": 64}  # fmt: skip
PAPER = {"d": 100, "k": 6, "few": 4, "many": 32, "width": 256, "seeds": 5, "steps": 250_000,
         "judged": 2_500, "rate": 3e-4, "batch": 32, "tests": 4096}  # fmt: skip


@sized(Heads, smoke=SMOKE, laptop={}, paper=PAPER)
def concatenated(config: Heads) -> dict[str, Trial]:
    from .experiments import heads as experiment

    return {"heads": Trial(experiment.concatenated, config)}


@sized(Heads, smoke=SMOKE, laptop={}, paper=PAPER)
def averaged(config: Heads) -> dict[str, Trial]:
    from .experiments import heads as experiment

    return {"heads": Trial(experiment.averaged, config)}
