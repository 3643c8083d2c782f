"""Experiments on exact models beyond Figure 3, and their sizes at each profile.

They are the second half of `trials.py`, which would be longer than a module may be.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

from minicosm.lab import Trial, sized


@dataclass(frozen=True)
class RankCurve:
    """The same worlds at every rank of W."""

    size: int = 6  # states and tokens
    ranks: tuple[int, ...] = (6, 5, 4, 3, 2)
    worlds: int = 60
    seed: int = 0
    length: int = 12
    train: int = 10_000
    test: int = 5_000


@sized(
    RankCurve,
    smoke={"ranks": (6, 4, 2), "worlds": 12, "train": 1000, "test": 500},
    laptop={},
    paper={},
)
def rank(config: RankCurve) -> dict[str, Trial]:
    from .experiments import rank_curve

    return {"rank": Trial(rank_curve.run, config)}


@dataclass(frozen=True)
class PromptGap:
    """Worlds in which Assumption 3.5 holds, and as many in which it fails."""

    hidden: int = 10
    vocab: int = 4
    star: int = 3
    worlds: int = 20
    seed: int = 0
    length: int = 12
    train: int = 10_000
    test: int = 5_000
    starts: int = 3
    start_scale: float = 1.0
    steps: int = 2000
    warmup: int = 100
    batch: int = 256
    head_rate: float = 0.05
    prompt_rate: float = 0.1


@sized(
    PromptGap,
    smoke={"worlds": 6, "train": 800, "test": 300, "steps": 200, "batch": 64, "starts": 2},
    laptop={},
    paper={},
)
def gap(config: PromptGap) -> dict[str, Trial]:
    from .experiments import prompt_gap

    return {"gap": Trial(prompt_gap.run, config)}


@dataclass(frozen=True)
class Temperature:
    """The same worlds at every emission temperature."""

    temperatures: tuple[float, ...] = (0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.0)
    hidden: int = 8
    vocab: int = 10
    worlds: int = 60
    seed: int = 0
    length: int = 65
    train: int = 5000
    validation: int = 500
    test: int = 1000


@sized(
    Temperature,
    smoke={
        "temperatures": (0.01, 0.15), "worlds": 12, "length": 17, "train": 600, "validation": 50,
        "test": 300,
    },
    laptop={},
    paper={},
)  # fmt: skip
def temperature(config: Temperature) -> dict[str, Trial]:
    from .experiments import temperature

    return {"heat": Trial(temperature.run, config)}


@dataclass(frozen=True)
class Sharpness:
    """The constructed attention heads at every sharpness lambda."""

    lambdas: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3)
    values: int = 3
    syntax: int = 4
    star: int = 2
    worlds: int = 20
    seed: int = 0
    length: int = 12
    sequences: int = 1000


@sized(Sharpness, smoke={"worlds": 4, "sequences": 100, "length": 8}, laptop={}, paper={})
def sharpness(config: Sharpness) -> dict[str, Trial]:
    from .experiments import sharpness

    return {"suite": Trial(sharpness.run, config)}


@dataclass(frozen=True)
class HarderWorlds:
    """How much is drawn and trained on worlds in which attention has something to do."""

    seed: int = 0
    temperatures: tuple[float, ...] = (0.1, 0.2, 0.3)
    worlds: int = 20
    train: int = 5000
    test: int = 1000
    steps: int = 2000
    warmup: int = 250


@dataclass(frozen=True)
class HarderMemory(HarderWorlds):
    """One length of sequences; the gated family has a single group (its emissions are not softmaxes)."""

    family: Literal["random", "gated"] = "random"
    length: int = 12
    values: int = 3
    hidden: int = 6
    uninformative: int = 4
    vocab: int = 10
    batch: int = 128
    rate: float = 0.1
    heads: bool = True
    """Whether attention heads are trained, which takes most of the time."""


@dataclass(frozen=True)
class HarderLengths(HarderWorlds):
    """Both families at every length; `gated` worlds of the second."""

    gated: int = 20
    lengths: tuple[int, ...] = (8, 12, 16)


_SHORT: dict[str, Any] = {
    "lengths": (8,), "temperatures": (0.2,), "worlds": 3, "gated": 3, "train": 300,
    "test": 100, "steps": 64, "warmup": 10,
}  # fmt: skip


@sized(HarderLengths, smoke=_SHORT, laptop={"worlds": 40, "gated": 40}, paper={"worlds": 40})
def harder(config: HarderLengths) -> dict[str, Trial]:
    return _harder(config, heads=True)


@sized(HarderLengths, smoke=_SHORT, laptop={"gated": 100}, paper={"gated": 100})
def harder_counts(config: HarderLengths) -> dict[str, Trial]:
    return _harder(config, heads=False)


def _harder(config: HarderLengths, heads: bool) -> dict[str, Trial]:
    from .experiments import harder_memory

    common: dict[str, Any] = {f.name: getattr(config, f.name) for f in fields(HarderWorlds)}
    families: dict[Literal["random", "gated"], int] = {
        "random": config.worlds, "gated": config.gated,
    }  # fmt: skip
    return {
        f"{family}, T={length}": Trial(
            harder_memory.run,
            HarderMemory(
                **common | {"family": family, "length": length, "worlds": worlds, "heads": heads}
            ),
        )
        for family, worlds in families.items()
        for length in config.lengths
    }
