"""Configurations, and how large each profile makes them."""

from dataclasses import dataclass

from minicosm.lab import Trial, sized

PLACES = {"at 1/16": 1 / 16, "at 1/8": 1 / 8, "at 1/4": 1 / 4, "at 1/2": 1 / 2, "at 3/4": 3 / 4}
"""Checkpoints of a grammar's teacher that are followed alone, as shares of its steps."""
SINGLES = ("early", "root", "between", "child", "late")
"""The five checkpoints of a tree's teacher that are tried alone: at 0.8 times the root's peak, at it,
half-way to the child's peak, at that, and at 1.1 times it."""


@dataclass(frozen=True)
class FirstStage:
    """Exact statements about the first step, in small cubes."""

    seed: int
    sizes: tuple[tuple[int, int], ...] = ((11, 4), (13, 6))
    """Pairs (d, k)."""
    widths: tuple[int, ...] = (32, 128, 512, 2048, 8192)
    starts: int = 20
    batches: tuple[int, ...] = (1000, 4000, 16000, 64000)
    neurons: int = 8
    """Of Lemma 66, at d = 16 and k = 6."""

    def __post_init__(self) -> None:
        if self.starts < 2 or len(self.widths) < 2 or len(self.batches) < 2:
            raise ValueError(
                f"starts is {self.starts}, widths are {self.widths} and batches {self.batches}; "
                "slopes and spreads need at least two of each"
            )
        for d, k in self.sizes:
            if k % 2 or d % 2 == 0 or not k < d <= 15:
                raise ValueError(f"sizes has ({d}, {k}); k must be even, d odd, and k < d <= 15")


@dataclass(frozen=True)
class SecondStage:
    """What second stages fit: linear programs, and regressions in their place."""

    seed: int
    teachers: int = 20
    widths: tuple[int, ...] = (64, 512)
    """Of the one-step teachers whose students are asked by linear programs."""
    sizes: tuple[tuple[int, int], ...] = ((13, 4), (13, 6))
    dims: tuple[int, ...] = (21, 51)
    """Of regressions, with k = 4."""
    runs: int = 15
    """Students by regression in each dimension."""
    wide: int = 512
    narrow: int = 128
    fits: int = 6
    """Teachers by regression, of each width and dimension."""
    batch: int = 20_000

    def __post_init__(self) -> None:
        for name in ("teachers", "runs", "fits", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for d, k in self.sizes:
            if k % 2 or d % 2 == 0 or not k < d <= 19:
                raise ValueError(f"sizes has ({d}, {k}); k must be even, d odd, and k < d <= 19")
        for d in self.dims:
            if d % 2 == 0 or d <= 4:
                raise ValueError(f"dims has {d}; it must be odd and above 4")


@dataclass(frozen=True)
class Batches:
    """How many samples reveal the support of a parity of four variables."""

    seed: int
    seeds: int = 30
    width: int = 64
    teacher_dims: tuple[int, ...] = (25, 51, 101, 201)
    teacher_batches: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000)
    label_dims: tuple[int, ...] = (15, 21, 31)
    label_batches: tuple[int, ...] = (1000, 3000, 10_000, 30_000, 100_000, 300_000)
    leaks: tuple[float, ...] = (0.4, 0.2, 0.1, 0.05)
    leak_batches: tuple[int, ...] = (30, 100, 300, 1000, 3000, 10_000, 30_000)
    leak_dim: int = 51

    def __post_init__(self) -> None:
        if self.seeds < 2 or self.width % 2:
            raise ValueError(
                f"seeds is {self.seeds} and width {self.width}; there must be at least 2 seeds and an "
                "even width"
            )
        for d in (*self.teacher_dims, *self.label_dims, self.leak_dim):
            if d % 2 == 0 or d <= 4:
                raise ValueError(f"a dimension is {d}; dimensions must be odd and above 4")


@dataclass(frozen=True)
class Parity:
    """Teachers and students of one sparse parity, trained with batches of one."""

    seed: int
    d: int = 40
    k: int = 4
    teacher: int = 512
    student: int = 16
    wide: int = 256
    """Width of the students that the narrow ones are compared with."""
    seeds: int = 12
    steps: int = 100_000
    chunk: int = 2_000
    """Steps between checkpoints."""
    every: int = 4_000
    """Steps between the checkpoints of progressive distillation, and how long each is followed."""
    shot: int = 10_000
    """How long a single checkpoint is followed."""
    later: int = 20_000
    """How long after the end of the transition the late checkpoint is."""
    rate: float = 0.01
    tests: int = 4096
    probes: int = 20_000
    """Inputs on which correlations are measured."""

    def __post_init__(self) -> None:
        if not 2 <= self.k < self.d:
            raise ValueError(f"k is {self.k} and d is {self.d}; k must be at least 2 and below d")
        if self.seeds < 2:
            raise ValueError(f"seeds is {self.seeds}; an interval needs at least 2")
        for name in ("steps", "every", "shot", "later"):
            if getattr(self, name) < self.chunk or getattr(self, name) % self.chunk:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; it must be a multiple of chunk, {self.chunk}"
                )


@dataclass(frozen=True)
class Hierarchy:
    """Teachers and students of a decision tree of parities."""

    seed: int
    d: int = 40
    k: int = 4
    depth: int = 2
    teacher: int = 512
    student: int = 30
    seeds: int = 16
    teacher_steps: int = 300_000
    steps: int = 400_000
    chunk: int = 5_000
    shot: int = 40_000
    """How long each checkpoint of a schedule with one or two of them is followed."""
    rate: float = 0.01
    tests: int = 4096
    probes: int = 20_000

    def __post_init__(self) -> None:
        nodes = 2**self.depth - 1
        if self.k < 2 or nodes * self.k > self.d:
            raise ValueError(
                f"k is {self.k}, depth {self.depth} and d {self.d}; {nodes} blocks of at least 2 must fit"
            )
        if self.seeds < 2:
            raise ValueError(f"seeds is {self.seeds}; an interval needs at least 2")
        for name in ("teacher_steps", "steps", "shot"):
            if getattr(self, name) < self.chunk or getattr(self, name) % self.chunk:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; it must be a multiple of chunk, {self.chunk}"
                )


@dataclass(frozen=True)
class Lengths:
    """The grammars whose lengths are compared with the printed ones."""

    seed: int
    grammars: tuple[str, ...] = ("cfg3b", "cfg3i", "cfg3h", "cfg3g", "cfg3f")


@dataclass(frozen=True)
class Sentences:
    """BERT-like teachers and students of a grammar."""

    seed: int
    grammar: str = "cfg3b"
    below: int = 15
    """The symbol that is the root."""
    layers: int = 2
    teacher_heads: int = 8
    student_heads: int = 4
    """Heads of 8 dimensions each."""
    teachers: int = 4
    pairs: int = 8
    """Students in every arm; student i has teacher i mod teachers."""
    teacher_steps: int = 8000
    horizons: tuple[int, ...] = (750, 1500)
    """Of students; each is a run of its own."""
    chunk: int = 125
    shot: int = 250
    """How long a single checkpoint is followed."""
    teacher_rate: float = 3e-3
    student_rate: float = 5e-3
    batch: int = 32
    mask: float = 0.3
    init_std: float = 0.05
    tests: int = 4096
    probes: int = 256
    """Sentences on which teachers are judged after every chunk, and reliance on neighbours is measured."""
    probe_steps: int = 300
    """Of the probes of non-terminals."""

    def __post_init__(self) -> None:
        if self.pairs < 2 or self.teachers < 1 or not self.horizons:
            raise ValueError(
                f"pairs is {self.pairs}, teachers {self.teachers} and horizons {self.horizons}; there must "
                "be 2 pairs, a teacher and a horizon"
            )
        if self.teacher_steps % (16 * self.chunk) or self.shot % self.chunk:
            raise ValueError(
                f"teacher_steps is {self.teacher_steps} and shot {self.shot}; they must be multiples of "
                f"{16 * self.chunk} and {self.chunk}"
            )
        for steps in self.horizons:
            if steps % (6 * self.chunk) or steps <= self.shot:
                raise ValueError(
                    f"a horizon is {steps}; it must be a multiple of {6 * self.chunk} and above {self.shot}"
                )


@sized(
    FirstStage,
    smoke={
        "sizes": ((11, 4),),
        "widths": (32, 512, 8192),
        "starts": 6,
        "batches": (500, 2000),
        "neurons": 1,
    },
    laptop={},
    paper={"starts": 100},
)
def first_stage(config: FirstStage) -> dict[str, Trial]:
    from .suites import first_stage as suite

    return {"suite": Trial(suite.run, config)}


@sized(
    SecondStage,
    smoke={"teachers": 3, "widths": (64,), "sizes": ((9, 4),), "dims": (21,), "runs": 2, "fits": 2,
           "narrow": 64, "batch": 2000},
    laptop={},
    paper={"teachers": 100, "runs": 50},
)  # fmt: skip
def second_stage(config: SecondStage) -> dict[str, Trial]:
    from .suites import second_stage as suite

    return {"suite": Trial(suite.run, config)}


@sized(
    Batches,
    smoke={"seeds": 3, "width": 16, "teacher_dims": (9, 15), "teacher_batches": (30, 300),
           "label_dims": (9, 11), "label_batches": (300, 3000), "leaks": (0.4, 0.2),
           "leak_batches": (30, 300), "leak_dim": 15},
    laptop={},
    paper={"seeds": 200},
)  # fmt: skip
def batches(config: Batches) -> dict[str, Trial]:
    from .suites import batches as suite

    return {"suite": Trial(suite.run, config)}


@sized(
    Parity,
    smoke={"d": 16, "k": 2, "teacher": 64, "student": 8, "wide": 64, "seeds": 2, "steps": 2000,
           "chunk": 200, "every": 400, "shot": 400, "later": 400, "tests": 512, "probes": 1000},
    laptop={},
    paper={"d": 100, "k": 6, "teacher": 50_000, "student": 100, "wide": 1000, "seeds": 3,
           "steps": 20_000_000, "chunk": 100_000, "every": 100_000, "shot": 1_000_000,
           "later": 1_000_000, "rate": 0.005, "probes": 100_000},
)  # fmt: skip
def parity(config: Parity) -> dict[str, Trial]:
    from .experiments import parity as experiment

    return {"parity": Trial(experiment.run, config)}


@sized(
    Hierarchy,
    smoke={"d": 16, "k": 2, "teacher": 64, "student": 8, "seeds": 2, "teacher_steps": 1000, "steps": 1000,
           "chunk": 100, "shot": 200, "tests": 512, "probes": 1000},
    laptop={},
    paper={"d": 100, "k": 5, "depth": 3, "teacher": 50_000, "student": 1000, "seeds": 3,
           "teacher_steps": 20_000_000, "steps": 20_000_000, "chunk": 100_000, "shot": 2_000_000},
)  # fmt: skip
def hierarchy(config: Hierarchy) -> dict[str, Trial]:
    from .experiments import hierarchy as experiment

    return {"hierarchy": Trial(experiment.run, config)}


@sized(Lengths, smoke={}, laptop={}, paper={})
def lengths(config: Lengths) -> dict[str, Trial]:
    from .suites import grammars as suite

    return {"suite": Trial(suite.run, config)}


@sized(
    Sentences,
    smoke={"below": 10, "layers": 1, "teacher_heads": 2, "student_heads": 2, "teachers": 2, "pairs": 2,
           "teacher_steps": 48, "horizons": (48,), "chunk": 1, "shot": 2, "teacher_rate": 5e-3, "batch": 4,
           "tests": 16, "probes": 16, "probe_steps": 10},
    laptop={},
    paper={"below": 22, "layers": 4, "teacher_heads": 32, "student_heads": 8, "teachers": 3, "pairs": 6,
           "teacher_steps": 8000, "horizons": (1500, 3000, 7500, 15_000), "chunk": 125, "batch": 512,
           "shot": 1000, "teacher_rate": 2.5e-3},
)  # fmt: skip
def sentences(config: Sentences) -> dict[str, Trial]:
    from .experiments import sentences as experiment

    return {"sentences": Trial(experiment.run, config)}
