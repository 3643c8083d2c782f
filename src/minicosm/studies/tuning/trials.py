"""What the claims run, and how much of it at each profile: options are the fields of configurations."""

from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import Any, Literal

from minicosm.lab import Trial, sized
from minicosm.lab.profiles import Trials

SIZES = (4, 8, 10, 15, 25, 30)  # hidden states in Figure 3, left
MEMORY = (2, 3, 5, 7)  # memory values in Figure 3, right
TOKENS = 10
STATES = 4  # of a world with memory


def _different(name: str, values: tuple[int, ...]) -> None:
    if not values or min(values) < 2 or len(set(values)) < len(values):
        given = ",".join(map(str, values))
        raise ValueError(f"{name} is {given}; it must be different whole numbers of at least 2")


# -- suites: statements on random worlds ------------------------------------------------------


@dataclass(frozen=True)
class Suite:
    """How much a suite runs: random worlds of the first `shapes` sizes it knows (every size compiles
    anew), and for each also `samples` sequences of `long` tokens."""

    seed: int
    worlds: int
    shapes: int = 2
    long: int = 64
    samples: int = 128


def _suite(room: str, function: str = "run", factor: int = 1) -> Trials:
    """The trial of a suite; the room is imported when the trial is made."""

    @sized(
        Suite,
        smoke={"worlds": 4 * factor, "shapes": 1},
        laptop={"worlds": 200 * factor},
        paper={"worlds": 1000 * factor},
    )
    def trials(config: Suite) -> dict[str, Trial]:
        module = import_module(f".suites.{room}", __package__)
        return {"suite": Trial(getattr(module, function), config)}

    return trials


head, without = _suite("head"), _suite("head", "without")
prompt, covering_search = _suite("prompt"), _suite("search", "covering_sets", 2)
memory, recoverable_search = _suite("memory"), _suite("search", "recoverable_sets", 3)
prompted = _suite("prompted", factor=2)


@dataclass(frozen=True)
class SimulatedWorlds:
    """Worlds and tasks of Appendix E, of every size."""

    seed: int
    sizes: tuple[int, ...] = SIZES
    worlds: int = 400

    def __post_init__(self) -> None:
        _different("sizes", self.sizes)


@sized(SimulatedWorlds, smoke={"sizes": (4, 25), "worlds": 20}, laptop={}, paper={})
def simulations(config: SimulatedWorlds) -> dict[str, Trial]:
    from .suites import simulations

    return {"suite": Trial(simulations.run, config)}


# -- Figure 3 on exact models -----------------------------------------------------------------


@dataclass(frozen=True)
class Simulation:
    """How much is drawn and how long heads and prompts are trained in the worlds of one size."""

    seed: int = 0
    worlds: int = 20
    length: int = 129
    train: int = 5000
    validation: int = 500
    test: int = 1000
    steps: int = 4000
    warmup: int = 500


ARMS = ("head", "prompt_1", "prompt_20", "hot")


@dataclass(frozen=True)
class OracleHeads(Simulation):
    """One size of world, and what is trained there. Without `controls` there are no regressions, which
    take most of the time; `part` tells batches of worlds of one size apart."""

    hidden: int = 8
    part: int = 0
    arms: tuple[str, ...] = ARMS
    controls: bool = True
    shown: int = 0
    """How many tokens heads and prompts see; 0: all. Labels depend on all of them."""
    vocab: int = TOKENS
    batch: int = 128
    rate: float = 0.01
    hot_rates: tuple[float, float] = (0.05, 0.3)
    prompt_length: int = 20


@dataclass(frozen=True)
class OracleMemory(Simulation):
    """One size of memory."""

    memory: int = 2
    hidden: int = STATES
    vocab: int = TOKENS
    batch: int = 128
    rates: tuple[float, float, float] = (0.01, 0.1, 0.1)


@dataclass(frozen=True)
class ExactLeft(Simulation):
    """Figure 3, left: vanilla worlds of every size; `shown` is that of `OracleHeads`."""

    sizes: tuple[int, ...] = SIZES
    shown: int = 0

    def __post_init__(self) -> None:
        _different("sizes", self.sizes)
        if not 0 <= self.shown < self.length:
            raise ValueError(f"shown is {self.shown}; it must lie in 0..{self.length - 1}")


@dataclass(frozen=True)
class ExactMany(ExactLeft):
    """More worlds, `batches` of `worlds` at every size (`more` with at most 10 states), in which only a
    head and a prompt of 20 rows are trained."""

    worlds: int = 100
    batches: int = 2
    more: int = 4


@dataclass(frozen=True)
class ExactRight(ExactLeft):
    """Figure 3, right: worlds with memory, and vanilla worlds with as many states in total: the trials of
    the left figure where the size is among `sizes`, else `comparators` worlds with heads alone."""

    memory: tuple[int, ...] = MEMORY
    memory_worlds: int = 40
    comparators: int = 300

    def __post_init__(self) -> None:
        super().__post_init__()
        _different("memory", self.memory)
        if self.shown:
            raise ValueError(
                f"shown is {self.shown}; attention heads see all tokens, so it must be 0"
            )


def _exact(config: ExactLeft) -> dict[str, Any]:
    return {f.name: getattr(config, f.name) for f in fields(Simulation)}


_FEW: dict[str, Any] = {
    "sizes": (12,), "worlds": 3, "length": 17, "train": 500, "validation": 50, "test": 200,
    "steps": 200, "warmup": 20,
}  # fmt: skip


def _heads(config: ExactLeft, hidden: int, **more: Any) -> Trial:
    from .experiments import oracle_heads

    given = {"shown": config.shown, **_exact(config), **more}
    return Trial(oracle_heads.run, OracleHeads(hidden=hidden, **given))


@sized(ExactLeft, smoke=_FEW, laptop={}, paper={})
def exact_left(config: ExactLeft) -> dict[str, Trial]:
    return {f"|H|={hidden}": _heads(config, hidden) for hidden in config.sizes}


@sized(ExactMany, smoke={**_FEW, "batches": 1, "more": 1}, laptop={}, paper={})
def exact_many(config: ExactMany) -> dict[str, Trial]:
    return {
        f"|H|={hidden} #{part + 1}": _heads(
            config, hidden, part=part + 1, arms=("head", "prompt_20"), controls=False
        )
        for hidden in config.sizes
        for part in range(config.more if hidden <= TOKENS else config.batches)
    }


@sized(
    ExactRight,
    smoke={**_FEW, "memory": (3,), "memory_worlds": 3, "comparators": 3},
    laptop={},
    paper={},
)
def exact_right(config: ExactRight) -> dict[str, Trial]:
    from .experiments import oracle_memory

    found = {}
    common = {**_exact(config), "worlds": config.memory_worlds}
    alone = {"arms": ("head",), "controls": False, "worlds": config.comparators}
    for memory in config.memory:
        found[f"|M|={memory}"] = Trial(oracle_memory.run, OracleMemory(memory=memory, **common))
        total = STATES * memory
        more = {} if total in config.sizes else alone
        found[f"|H|={total}"] = _heads(config, total, **more)
    return found


# -- Figure 3 on pretrained models ------------------------------------------------------------


@dataclass(frozen=True)
class Pretraining:
    """One recipe for all worlds, chosen by its excess loss alone; see docs/pretraining-recipes.md."""

    layers: int = 2
    width: int = 64
    heads: int = 4
    norm: Literal["pre", "post"] = "pre"
    positions: Literal["rotary", "learned"] = "rotary"
    rotary_base: float = 100.0
    max_length: int = 512
    dropout: float = 0.0
    rate: float = 0.3
    corruption: Literal["mask", "bert"] = "mask"
    first: bool = True
    """Whether the first position, which tasks mask, is always among the masked ones."""
    exact: bool = True
    steps: int = 3000
    batch: int = 8
    length: int = 128
    optimiser: Literal["adamw", "muon"] = "muon"
    peak: float = 0.02
    rest: float = 5e-3
    """Muon's rate for what is no matrix of a layer."""
    warmup: int = 100
    decay: Literal["linear", "cosine"] = "cosine"
    documents: int = 0
    """Documents of a fixed corpus; 0: every sequence is new."""
    document_length: int = 10_240
    checkpoints: int = 6
    """How many times the model is measured on the way."""


PAPER_RATE = 0.05
# The paper's own sizes; BERT-base with 6 layers.
PAPER_RECIPE = Pretraining(
    layers=6, width=768, heads=12, norm="post", positions="learned", dropout=0.1, rate=PAPER_RATE,
    corruption="bert", first=False, exact=False, steps=37_500, batch=8, length=512, optimiser="adamw",
    peak=1e-5, warmup=500, decay="linear", documents=5000, checkpoints=50,
)  # fmt: skip


@dataclass(frozen=True)
class Tuning:
    """How heads and prompts are trained, and on how many examples."""

    length: int = 129
    train: int = 5000
    validation: int = 500
    test: int = 1000
    head_steps: int = 4000
    head_warmup: int = 500
    head_batch: int = 128
    head_rate: float = 0.01
    prompt_length: int = 20
    prompt_steps: int = 1000
    prompt_warmup: int = 100
    prompt_batch: int = 16
    prompt_rate: float = 0.01


@dataclass(frozen=True)
class TrainedTuning:
    """One world, its pretrained model and `tasks` tasks. With `memory` the world has a memory of that
    many values and heads attend to all positions; otherwise `prompts` says whether to tune prompts as
    well. `member` counts the worlds of one size."""

    hidden: int = 8
    memory: int = 0
    vocab: int = TOKENS
    member: int = 0
    seed: int = 0
    tasks: int = 2
    prompts: bool = True
    masked: int = 0
    """Positions at which attention also reads laws from masked passes of their own (with memory)."""
    pretraining: Pretraining = field(default_factory=Pretraining)
    tuning: Tuning = field(default_factory=Tuning)


@dataclass(frozen=True)
class TrainedLeft:
    """Figure 3, left: `pretrainings` vanilla worlds of every size, and `more` of the sizes `at`, where the
    differences are small. `steps` are those of pretraining."""

    seed: int
    sizes: tuple[int, ...] = SIZES
    pretrainings: int = 5
    at: tuple[int, ...] = (15,)
    more: int = 14
    tasks: int = 2
    steps: int = 3000
    recipe: Pretraining = field(default_factory=Pretraining)
    tuning: Tuning = field(default_factory=Tuning)

    def __post_init__(self) -> None:
        _different("sizes", self.sizes)
        for name in ("pretrainings", "more", "tasks", "steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")


@dataclass(frozen=True)
class TrainedRight(TrainedLeft):
    """Figure 3, right: worlds with memory, and vanilla worlds with as many states in total. Those whose
    size is among `sizes` are the trials of the left figure. `masked` is that of `TrainedTuning`."""

    memory: tuple[int, ...] = MEMORY
    masked: int = 0


_BRIEF: dict[str, Any] = {
    "sizes": (12,), "pretrainings": 1, "at": (), "tasks": 1, "steps": 20,
    "recipe": Pretraining(
        layers=1, width=16, heads=2, checkpoints=2, length=16, optimiser="adamw", peak=3e-3, warmup=2,
    ),
    "tuning": Tuning(
        length=17, train=300, validation=50, test=100, head_steps=48, head_warmup=5,
        prompt_length=4, prompt_steps=10, prompt_warmup=1,
    ),
}  # fmt: skip
_PRINTED: dict[str, Any] = {
    "pretrainings": 20, "at": (), "tasks": 1, "steps": 37_500, "recipe": PAPER_RECIPE,
    "tuning": Tuning(prompt_steps=4000, prompt_warmup=500, prompt_batch=128),
}  # fmt: skip


def _world(config: TrainedLeft, hidden: int, member: int, **more: Any) -> Trial:
    from .experiments import trained

    checkpoints = min(config.recipe.checkpoints, config.steps)
    return Trial(
        trained.run,
        TrainedTuning(
            hidden=hidden,
            member=member,
            seed=config.seed,
            tasks=config.tasks,
            pretraining=replace(config.recipe, steps=config.steps, checkpoints=checkpoints),
            tuning=config.tuning,
            **more,
        ),
    )


@sized(TrainedLeft, smoke=_BRIEF, laptop={}, paper=_PRINTED)
def trained_left(config: TrainedLeft) -> dict[str, Trial]:
    """Trials are listed world by world, not size by size: programs of one size are compiled once, by
    the first of them, and kept in the store."""
    counts = {h: config.more if h in config.at else config.pretrainings for h in config.sizes}
    return {
        f"|H|={hidden} #{member + 1}": _world(config, hidden, member)
        for member in range(max(counts.values()))
        for hidden in config.sizes
        if member < counts[hidden]
    }


@sized(TrainedRight, smoke={**_BRIEF, "memory": (3,)}, laptop={"pretrainings": 4}, paper=_PRINTED)
def trained_right(config: TrainedRight) -> dict[str, Trial]:
    _different("memory", config.memory)
    found = {}
    for member in range(config.pretrainings):
        for memory in config.memory:
            found[f"|M|={memory} #{member + 1}"] = _world(
                config, STATES, member, memory=memory, masked=config.masked
            )
            hidden = STATES * memory
            found[f"|H|={hidden} #{member + 1}"] = _world(
                config, hidden, member, prompts=hidden in config.sizes
            )
    return found
