"""Configurations, how large each profile makes them, and the trials of claims."""

from dataclasses import dataclass

from minicosm.lab import Trial, sized

PAIRWISE = ("x2|x1", "x3|x1", "pairs on 3", "pairs on 8")
TWO_TOKENS = ("x2,x3|x1", "x1,x3|x2", "x1,x2|x3")
OURS = ("x3|x1,x2", "x2|x1,x3")
TASKS = (*PAIRWISE, *TWO_TOKENS, *OURS)


@dataclass(frozen=True)
class Worlds:
    """How many random worlds a suite looks at."""

    seed: int
    worlds: int

    def __post_init__(self) -> None:
        if self.worlds < 1:
            raise ValueError(f"worlds is {self.worlds}; it must be at least 1")


SMOKE, LAPTOP, PAPER = ({"worlds": worlds} for worlds in (4, 200, 1000))


@sized(Worlds, smoke=SMOKE, laptop=LAPTOP, paper=PAPER)
def pairwise(config: Worlds) -> dict[str, Trial]:
    from .suites import pairwise

    return {"suite": Trial(pairwise.run, config)}


@sized(Worlds, smoke=SMOKE, laptop=LAPTOP, paper=PAPER)
def two_tokens(config: Worlds) -> dict[str, Trial]:
    from .suites import two_tokens

    return {"suite": Trial(two_tokens.run, config)}


@sized(Worlds, smoke=SMOKE, laptop=LAPTOP, paper=PAPER)
def gaussian(config: Worlds) -> dict[str, Trial]:
    from .suites import gaussian

    return {"suite": Trial(gaussian.run, config)}


@sized(Worlds, smoke={"worlds": 1}, laptop={"worlds": 3}, paper={"worlds": 10})
def atlas(config: Worlds) -> dict[str, Trial]:
    from .suites import atlas

    return {"suite": Trial(atlas.run, config)}


# -- students -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitting:
    """How students of the right form are fitted to exact predictors, and in how many worlds."""

    seed: int
    starts: int = 100
    steps: int = 400
    others: int = 4
    """Random worlds beside the named one."""
    tasks: tuple[str, ...] = TASKS

    def __post_init__(self) -> None:
        unknown = [task for task in self.tasks if task not in TASKS]
        if unknown or not self.tasks:
            raise ValueError(f"tasks are {self.tasks}; known are {', '.join(TASKS)}")
        for name, least in (("starts", 1), ("steps", 1), ("others", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least {least}")


@dataclass(frozen=True)
class Students:
    """Students of one world: number 0 of three states is the named one, the others are random."""

    seed: int
    number: int
    vocab: int
    hidden: int
    starts: int
    steps: int
    tasks: tuple[str, ...]


def _students(config: Fitting) -> dict[str, Trial]:
    from .experiments import students

    sizes = {"starts": config.starts, "steps": config.steps}
    return {
        f"world {number}": Trial(
            students.run,
            Students(config.seed, number, 4, 3, **sizes, tasks=config.tasks),
        )
        for number in range(config.others + 1)
    }


SMALL_FIT = {"starts": 8, "steps": 100, "others": 0, "tasks": ("x2|x1", "x2,x3|x1")}


@sized(Fitting, smoke=SMALL_FIT, laptop={}, paper={"starts": 200, "others": 19})
def students(config: Fitting) -> dict[str, Trial]:
    return _students(config)


@dataclass(frozen=True)
class FittingAndWorlds(Fitting):
    """Students, and the random worlds of a suite beside them."""

    worlds: int = 200


@sized(
    FittingAndWorlds,
    smoke={**SMALL_FIT, **SMOKE},
    laptop=LAPTOP,
    paper={"starts": 200, "others": 19, **PAPER},
)
def students_and_two_tokens(config: FittingAndWorlds) -> dict[str, Trial]:
    from .suites import two_tokens as suite

    return {"suite": Trial(suite.run, Worlds(config.seed, config.worlds)), **_students(config)}


@sized(
    FittingAndWorlds,
    smoke={**SMALL_FIT, "worlds": 1},
    laptop={"worlds": 3},
    paper={"starts": 200, "others": 19, "worlds": 10},
)
def students_and_atlas(config: FittingAndWorlds) -> dict[str, Trial]:
    """Students in worlds with two states, and the table of unseen directions."""
    from .experiments import students
    from .suites import atlas as suite

    sizes = {"starts": config.starts, "steps": config.steps}
    few = tuple(task for task in ("x2|x1", "pairs on 3") if task in config.tasks)
    return {
        "suite": Trial(suite.run, Worlds(config.seed, config.worlds)),
        **{
            f"two states, world {number}": Trial(
                students.run, Students(config.seed, number, 3, 2, **sizes, tasks=few)
            )
            for number in range(1, config.others + 2)
        },
    }


# -- samples --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TwinData:
    """Data sets of triples from one of two worlds that no pairs tell apart."""

    seed: int
    sets: int = 2000
    triples: int = 1000
    persistence: float = 0.7


@sized(TwinData, smoke={"sets": 200}, laptop={}, paper={"sets": 10_000})
def twin_data(config: TwinData) -> dict[str, Trial]:
    from .experiments import samples

    return {"data": Trial(samples.twins, config)}


@dataclass(frozen=True)
class Counting:
    """Predictors estimated by counting, and what is recovered from them."""

    seed: int
    sets: int = 40
    sizes: tuple[int, ...] = (1000, 10_000, 100_000, 1_000_000, 10_000_000)


@sized(
    Counting, smoke={"sets": 6, "sizes": (1000, 10_000, 100_000)}, laptop={}, paper={"sets": 200}
)
def counting(config: Counting) -> dict[str, Trial]:
    from .experiments import samples

    return {"counting": Trial(samples.counted, config)}


# -- language models ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """Language models that are trained in worlds of three states, and read by tensor decomposition."""

    seed: int
    others: int = 9
    """Random worlds beside the named one."""
    steps: int = 600
    batch: int = 32
    exact: bool = True
    layers: int = 2
    width: int = 32
    length: int = 8
    vocab: int = 4
    hidden: int = 3
    least: float = 0.3
    """Least singular value of chain and emissions of the random worlds."""


SMALL_MODEL = {"others": 0, "steps": 20, "layers": 1, "width": 16}
LARGE_WORLD = {"vocab": 20, "hidden": 5, "length": 32, "width": 128, "least": 0.1}


@sized(Reading, smoke=SMALL_MODEL, laptop={}, paper={**LARGE_WORLD, "steps": 4000})
def language_model(config: Reading) -> dict[str, Trial]:
    from .experiments import language_model

    return {"models": Trial(language_model.run, config)}


SAMPLED = {"steps": 1200, "batch": 128, "exact": False}


@sized(
    Reading,
    smoke={**SAMPLED, **SMALL_MODEL, "batch": 32},
    laptop=SAMPLED,
    paper={**LARGE_WORLD, **SAMPLED, "steps": 8000},
)
def language_model_samples(config: Reading) -> dict[str, Trial]:
    from .experiments import language_model

    return {"models": Trial(language_model.run, config)}


# -- Gaussian worlds ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Blind:
    """Fits to exact predictors of Gaussian worlds from random starts."""

    seed: int
    each: int = 6
    """Worlds of every size."""
    starts: int = 40
    steps: int = 400
    points: int = 60
    sizes: tuple[int, ...] = (22, 32, 33)
    """Dimension and states, written as one number: 32 is three dimensions and two states."""


@dataclass(frozen=True)
class BlindSize:
    """Fits of all tasks in worlds of one size."""

    seed: int
    dimension: int
    hidden: int
    each: int
    starts: int
    steps: int
    points: int


def _blind(config: Blind) -> dict[str, Trial]:
    from .experiments import gaussian_fits

    names = ("seed", "each", "starts", "steps", "points")
    shared = {name: getattr(config, name) for name in names}
    return {
        f"fits, {size}": Trial(
            gaussian_fits.blind, BlindSize(dimension=size // 10, hidden=size % 10, **shared)
        )
        for size in config.sizes
    }


SMALL_BLIND = {"each": 1, "starts": 8, "steps": 60, "sizes": (22,)}


@dataclass(frozen=True)
class BlindAndWorlds(Blind):
    """Fits, and the random worlds of the suite beside them."""

    worlds: int = 200


@sized(
    BlindAndWorlds,
    smoke={**SMALL_BLIND, **SMOKE},
    laptop=LAPTOP,
    paper={"each": 20, "starts": 80, **PAPER},
)
def blind_and_gaussian(config: BlindAndWorlds) -> dict[str, Trial]:
    from .suites import gaussian as suite

    return {"suite": Trial(suite.run, Worlds(config.seed, config.worlds)), **_blind(config)}


@dataclass(frozen=True)
class Drawn:
    """Parametric least squares on drawn triples of a Gaussian world."""

    seed: int
    sets: int = 10
    triples: int = 20_000
    lengths: tuple[float, ...] = (1.0, 3.0)
    """Common lengths of the orthogonal means."""
    starts: int = 32
    screen: int = 2000
    """The first triples, to which all starts are fitted by a few steps."""
    polish: int = 4
    """How many of these fits go on with all triples."""

    def __post_init__(self) -> None:
        if self.sets < 2:
            raise ValueError(f"sets is {self.sets}; an interval needs at least 2")
        for name in ("triples", "starts", "screen", "polish"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")


SMALL_DRAWN = {
    "sets": 2,
    "triples": 4000,
    "lengths": (3.0,),
    "starts": 8,
    "screen": 500,
    "polish": 2,
}


@sized(Drawn, smoke=SMALL_DRAWN, laptop={}, paper={"sets": 40})
def drawn(config: Drawn) -> dict[str, Trial]:
    from .experiments import gaussian_samples

    return {"drawn": Trial(gaussian_samples.drawn, config)}
