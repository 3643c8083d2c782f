"""Configurations, how large each profile makes them, and the trials of claims."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from minicosm.lab import Trial, sized

# -- suites -----------------------------------------------------------------------------------------


WORLDS = (
    (2, 4, 0.5), (3, 2, 0.4), (1, 3, 0.5), (2, 1, 0.5), (2, 2, 0.4), (3, 4, 0.4), (1, 1, 0.5), (1, 2, 0.4),
)  # fmt: skip
"""Types, depth and opening probability; the first is the default of the source."""


@dataclass(frozen=True)
class Exact:
    """Random weights `draws` times, `strings` per length, lengths up to `longest`, in the first `worlds` of
    `WORLDS` (every size compiles anew)."""

    seed: int
    draws: int
    strings: int
    longest: int
    worlds: int = len(WORLDS)


SIZES: dict[str, dict[str, Any]] = {
    "smoke": {"draws": 2, "strings": 2, "longest": 60, "worlds": 2},
    "laptop": {"draws": 10, "strings": 12, "longest": 3000},
    "paper": {"draws": 40, "strings": 40, "longest": 3000},
}


@sized(Exact, **SIZES)
def balance(config: Exact) -> dict[str, Trial]:
    from .suites import balance

    return {"suite": Trial(balance.run, config)}


@sized(Exact, **SIZES)
def necessity(config: Exact) -> dict[str, Trial]:
    from .suites import necessity

    return {"suite": Trial(necessity.run, config)}


@sized(Exact, **SIZES)
def constructions(config: Exact) -> dict[str, Trial]:
    from .suites import constructions

    return {"suite": Trial(constructions.run, config)}


@sized(Exact, **SIZES)
def lemmas(config: Exact) -> dict[str, Trial]:
    from .suites import lemmas

    return {"suite": Trial(lemmas.run, config)}


@dataclass(frozen=True)
class Optima:
    """How often `models` exact models with random attention are drawn for every spread of it."""

    seed: int
    draws: int
    models: int = 40


@sized(Optima, smoke={"draws": 2, "models": 4}, laptop={"draws": 10}, paper={"draws": 40})
def optima(config: Optima) -> dict[str, Trial]:
    from .suites import optima

    return {"suite": Trial(optima.run, config)}


@dataclass(frozen=True)
class Approximate:
    """How many sets of parameters are tried, and how many triples of vectors for Lemma 2.2.1."""

    seed: int
    sets: int
    triples: int


@sized(
    Approximate,
    smoke={"sets": 15, "triples": 300},
    laptop={"sets": 200, "triples": 20_000},
    paper={"sets": 2000, "triples": 100_000},
)
def approximate(config: Approximate) -> dict[str, Trial]:
    from .suites import approximate

    return {"suite": Trial(approximate.run, config)}


@dataclass(frozen=True)
class Pruning:
    """How many pairs of a target and a large model are drawn, with how many values per subset sum,
    and on how many inputs of 8 positions each pruned model is compared with its target."""

    seed: int
    draws: int
    sizes: tuple[int, ...] = (16, 20, 24, 28)
    deep: int = 1
    """Draws with targets of two layers."""
    inputs: int = 100
    widths: int = 2000
    """Value matrices for Lemma 2.2.9."""


@sized(
    Pruning,
    smoke={"draws": 2, "sizes": (16, 24), "deep": 0, "inputs": 30, "widths": 200},
    laptop={"draws": 8},
    paper={
        "draws": 50, "sizes": (16, 20, 24, 28, 32), "deep": 5, "inputs": 1000, "widths": 20_000,
    },
)  # fmt: skip
def pruning(config: Pruning) -> dict[str, Trial]:
    from .suites import pruning

    return {"suite": Trial(pruning.run, config)}


@dataclass(frozen=True)
class Sharing:
    """How many large models two targets are pruned from, with how many values per subset sum; every
    matrix of these layers is shared in turn."""

    seed: int
    draws: int
    size: int = 24
    layers: tuple[int, ...] = tuple(range(8))


@sized(
    Sharing, smoke={"draws": 1, "size": 20, "layers": (2,)}, laptop={"draws": 1}, paper={"draws": 5}
)
def sharing(config: Sharing) -> dict[str, Trial]:
    from .suites import pruning

    return {"suite": Trial(pruning.share, config)}


@dataclass(frozen=True)
class Inequalities:
    """How many random inputs each inequality is tried on, and how many MLPs are pruned."""

    seed: int
    trials: int
    mlps: int


@sized(
    Inequalities,
    smoke={"trials": 200, "mlps": 2},
    laptop={"trials": 5000, "mlps": 20},
    paper={"trials": 100_000, "mlps": 200},
)
def inequalities(config: Inequalities) -> dict[str, Trial]:
    from .suites import lipschitz

    return {"suite": Trial(lipschitz.run, config)}


@dataclass(frozen=True)
class Planted:
    """How many random models get a layer planted, and on how many strings patterns are read, in
    worlds of these types and depths (in pairs)."""

    seed: int
    models: int
    strings: int
    types: tuple[int, ...] = (2, 3)
    depths: tuple[int, ...] = (4, 3)


@sized(
    Planted,
    smoke={"models": 3, "strings": 4, "types": (2,)},
    laptop={"models": 30, "strings": 100},
    paper={"models": 200, "strings": 1000},
)
def planted(config: Planted) -> dict[str, Trial]:
    from .suites import planted

    return {"suite": Trial(planted.run, config)}


# -- trained models -----------------------------------------------------------------------------------

ModelName = Literal["minimal", "inside", "attention", "bare", "gpt", "gpt-residual", "uniform"]
Embedding = Literal["onehot", "sum", "yao", "learned"]


@dataclass(frozen=True)
class Training:
    """One configuration; `seeds` models are trained on it, each on its own strings.

    Arms that differ in the loss alone start from the same weights and see the same strings, seed by
    seed.
    """

    model: ModelName = "minimal"
    embedding: Embedding = "onehot"
    data: Literal["complete", "prefix"] = "complete"
    task: Literal["next", "copy"] = "next"
    types: int = 2
    depth: int = 4
    open_probability: float = 0.5
    length: int = 26
    """Complete strings have the even lengths up to it, prefixes just this one."""
    width: int = 50
    layers: int = 2
    positions: Literal["none", "linear"] = "none"
    rate: float = 3e-3
    batch: int = 64
    steps: int = 3000
    contrast: float = 0.0
    decay: float = 0.0
    """Factor of `|theta|^2 / 2` in the loss."""
    seeds: int = 8
    seed: int = 0
    queries: int = 1000
    lengths: tuple[int, ...] = (50, 100, 200)
    """Further lengths at which closing queries are asked."""
    long: tuple[int, int] = (400, 500)
    """The lengths of the long closing queries."""
    sentences: int = 40
    """Prefixes of length 19 on which attention is compared between seeds."""
    stack_strings: int = 200
    """Prefixes on which attention is compared with the stack."""


@dataclass(frozen=True)
class Arms:
    """Seeds and steps of trained models. How many seeds a claim needs is on the study's page."""

    seed: int
    seeds: int = 8
    complete: int = 60
    """Seeds of the pair with and without the contrastive term, on complete strings."""
    prefix: int = 80
    """The same on prefixes."""
    few: int = 5
    copying: int = 40
    """Seeds of one-layer models that copy."""
    steps: int = 3000
    long_steps: int = 5000
    """Of the models of Table 2.6."""
    short_steps: int = 1500
    """Of copying and of training with decay."""
    size: Literal["tiny", "small", "source"] = "small"
    """Tiny: a few arms, as small as they can be. Source: widths and rates of the source, all of
    Table 2.6."""

    def __post_init__(self) -> None:
        for name in SEEDS + STEPS:
            if getattr(self, name) < 2:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 2")


SEEDS = ("seeds", "complete", "prefix", "few", "copying")
STEPS = ("steps", "long_steps", "short_steps")

CONTRAST = 0.3
FACTORS = (0.1, 1.0, 3.0)
MINIMAL, MINIMAL_CONTRAST = "minimal", "minimal, contrast"
PREFIXES, PREFIXES_CONTRAST = "minimal, prefixes", "minimal, prefixes, contrast"
BARE, MINIMAL_SUM, MINIMAL_YAO = "bare, E1", "minimal, E2", "minimal, E3"
INSIDE, ATTENTION = "residual inside", "attention alone"
GPT, GPT_LINEAR, GPT_UNIFORM = "gpt", "gpt, linear positions", "gpt, uniform attention"
GPT_PREFIXES, GPT_PREFIXES_LINEAR = "gpt, prefixes", "gpt, prefixes, linear positions"
COPY_SHALLOW, COPY_DEEP = "copy, 1 layer", "copy, 4 layers"

ARMS: dict[str, dict[str, Any]] = {
    MINIMAL: {"seeds": "complete"},
    MINIMAL_CONTRAST: {"contrast": CONTRAST, "seeds": "complete"},
    PREFIXES: {"data": "prefix", "seeds": "prefix"},
    PREFIXES_CONTRAST: {"data": "prefix", "contrast": CONTRAST, "seeds": "prefix"},
    BARE: {"model": "bare", "rate": 1e-2},
    MINIMAL_SUM: {"embedding": "sum"},
    MINIMAL_YAO: {"embedding": "yao"},
    INSIDE: {"model": "inside", "embedding": "learned", "seeds": "few"},
    ATTENTION: {"model": "attention", "seeds": "few"},
    GPT: {"model": "gpt"},
    GPT_LINEAR: {"model": "gpt", "positions": "linear"},
    GPT_UNIFORM: {"model": "uniform", "seeds": "few"},
    GPT_PREFIXES: {"model": "gpt", "data": "prefix"},
    GPT_PREFIXES_LINEAR: {"model": "gpt", "data": "prefix", "positions": "linear"},
    COPY_SHALLOW: {
        "model": "gpt", "task": "copy", "layers": 1, "steps": "short_steps", "seeds": "copying",
    },
    COPY_DEEP: {"model": "gpt", "task": "copy", "layers": 4, "steps": "short_steps"},
}  # fmt: skip
"""What an arm changes of `Training`; the number of its seeds and steps is the field of `Arms` named."""

SWEEP = {f"minimal, contrast {factor:g}": {"contrast": factor} for factor in FACTORS}

TABLE = {
    f"{types} types, depth {depth}, {layers} layers": {
        "model": "gpt-residual", "types": types, "depth": depth, "layers": layers,
        "steps": "long_steps", "lengths": (),
    }
    for types in (2, 3)
    for depth in (4, 8)
    for layers in (2, 3)
}  # fmt: skip
"""The rows of Table 2.6."""
TWO_LAYERS, THREE_LAYERS = list(TABLE)[:2]

DECAYS = {
    f"length {length}, decay {decay:g}": {
        "data": "prefix", "length": length, "decay": decay, "steps": "short_steps",
        "batch": 32, "queries": 200, "lengths": (),
    }
    for decay in (0.0, 1e-5, 1e-4)
    for length in (28, 56, 112)
}  # fmt: skip
ALL_ARMS = ARMS | SWEEP | TABLE | DECAYS

SOURCE_ONLY = tuple(TABLE)[2:]
"""Rows of Table 2.6 that are too long for a laptop."""
LOOKUPS = (MINIMAL, MINIMAL_CONTRAST, PREFIXES, PREFIXES_CONTRAST, BARE, MINIMAL_SUM, MINIMAL_YAO)
SOURCE: dict[str, dict[str, Any]] = {
    **{name: {"width": 500} for name in (*LOOKUPS, *SWEEP)},
    GPT: {"width": 200, "rate": 3e-4},
}
"""What the source's sizes change."""

TINY: dict[str, Any] = {
    "width": 8, "batch": 4, "queries": 40, "lengths": (), "long": (40, 50), "sentences": 4,
    "stack_strings": 8,
}  # fmt: skip
TINY_ARMS = (
    MINIMAL, MINIMAL_CONTRAST, PREFIXES, PREFIXES_CONTRAST, GPT, GPT_UNIFORM, GPT_PREFIXES,
    COPY_SHALLOW, "minimal, contrast 1", TWO_LAYERS, "length 28, decay 0", "length 112, decay 0",
)  # fmt: skip
"""The arms of the smallest profile: at least one of every claim."""


def arms(*names: str) -> Callable[..., Mapping[str, Trial]]:
    """The trials of these arms, by name; see `ALL_ARMS`."""

    @sized(
        Arms,
        smoke=dict.fromkeys(SEEDS, 3) | dict.fromkeys(STEPS, 10) | {"size": "tiny"},
        laptop={},
        paper=dict.fromkeys(("seeds", "few", "copying"), 40)
        | {"complete": 80}
        | dict.fromkeys(STEPS, 10_000)
        | {"size": "source"},
    )
    def trials(config: Arms) -> dict[str, Trial]:
        from .experiments import training

        made = {}
        for name in names:
            if config.size == "tiny" and name not in TINY_ARMS:
                continue
            if config.size == "small" and name in SOURCE_ONLY:
                continue
            fields = {"steps": "steps", "seeds": "seeds"} | ALL_ARMS[name]
            for count in ("steps", "seeds"):
                fields[count] = getattr(config, fields[count])
            if config.size == "source":
                fields |= SOURCE.get(name, {})
            elif config.size == "tiny":
                fields |= TINY
            made[name] = Trial(training.run, Training(**fields, seed=config.seed))
        return made

    return trials
