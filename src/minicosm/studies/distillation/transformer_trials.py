"""Configurations of Transformers on a parity, on next tokens of a grammar and on a user's text, and how large
each profile makes them."""

from dataclasses import dataclass, replace

from minicosm.lab import Trial, sized

from .trials import Sentences


@dataclass(frozen=True)
class Attention:
    """Transformers that read a sparse parity as a sequence of tokens."""

    seed: int
    d: int = 16
    k: int = 3
    layers: int = 2
    teacher_heads: int = 4
    student_heads: int = 1
    """Heads of 8 dimensions each."""
    seeds: int = 24
    teacher_steps: int = 2000
    steps: int = 3000
    """Of students."""
    chunk: int = 25
    """Steps between checkpoints."""
    judged: int = 100
    """Steps between evaluations of students."""
    every: int = 200
    """Steps between the checkpoints of progressive distillation, and how long each is followed."""
    shot: int = 400
    """How long a single checkpoint is followed."""
    rate: float = 2e-3
    batch: int = 64
    init_std: float = 0.1
    tests: int = 4096
    """Inputs on which models are judged and correlations measured; all there are, if they are no more."""
    traces: int = 1024
    """Inputs on which attention is measured."""

    def __post_init__(self) -> None:
        if not 2 <= self.k < self.d:
            raise ValueError(f"k is {self.k} and d is {self.d}; k must be at least 2 and below d")
        if self.seeds < 2:
            raise ValueError(f"seeds is {self.seeds}; an interval needs at least 2")
        if self.steps % self.judged:
            raise ValueError(
                f"steps is {self.steps}; it must be a multiple of judged, {self.judged}"
            )
        for name in ("teacher_steps", "steps", "every", "shot"):
            if getattr(self, name) < self.chunk or getattr(self, name) % self.chunk:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; it must be a multiple of chunk, {self.chunk}"
                )


@dataclass(frozen=True)
class NextTokens:
    """GPT-like teachers and students of a grammar, trained on the tokens that end a node of some height."""

    seed: int
    grammar: str = "cfg3f"
    below: int = 15
    """The symbol that is the root."""
    heights: tuple[int, ...] = (2, 4)
    """Of the nodes; terminals have height 1."""
    layers: int = 2
    teacher_heads: int = 8
    student_heads: int = 4
    """Heads of 8 dimensions each."""
    teachers: int = 3
    pairs: int = 6
    """Students in every arm; student i has teacher i mod teachers."""
    teacher_steps: int = 4000
    steps: int = 1000
    """Of students."""
    checkpoints: int = 20
    """Of a teacher, at equal distances."""
    kappa: float = 0.5
    """The share of the teacher's steps in which a student would follow all of them."""
    teacher_rate: float = 3e-3
    student_rate: float = 5e-3
    batch: int = 32
    init_std: float = 0.05
    tests: int = 4096

    def __post_init__(self) -> None:
        if self.pairs < 2 or self.teachers < 1 or len(self.heights) < 2:
            raise ValueError(
                f"pairs is {self.pairs}, teachers {self.teachers} and heights {self.heights}; there must "
                "be 2 pairs, a teacher and 2 heights"
            )
        if self.checkpoints < 1 or self.teacher_steps % self.checkpoints:
            raise ValueError(
                f"teacher_steps is {self.teacher_steps}; it must be a multiple of checkpoints, "
                f"{self.checkpoints}"
            )
        if not 0 < self.kappa <= 1:
            raise ValueError(f"kappa is {self.kappa}; it must lie in (0, 1]")


@dataclass(frozen=True)
class Text(Sentences):
    """BERT-like teachers and students of a user's text. Without one nothing is run."""

    text: str = ""
    """A .txt file, or a folder of them."""
    words: int = 2000
    """The vocabulary: the most frequent words but one, and one for all others."""
    window: int = 32
    """Words of a window of text."""
    content: str = ""
    """A hash of the files, which is filled in: a changed text is another trial."""


@sized(
    Attention,
    smoke={"d": 6, "k": 2, "layers": 1, "teacher_heads": 1, "student_heads": 1, "seeds": 2,
           "teacher_steps": 20, "steps": 20, "chunk": 5, "judged": 5, "every": 10, "shot": 10, "batch": 8,
           "tests": 64, "traces": 16},
    laptop={},
    paper={"d": 100, "k": 6, "teacher_heads": 32, "student_heads": 4, "seeds": 5,
           "teacher_steps": 250_000, "steps": 250_000, "chunk": 2_500, "judged": 2_500,
           "every": 10_000, "shot": 10_000, "rate": 3e-4, "batch": 32},
)  # fmt: skip
def attention(config: Attention) -> dict[str, Trial]:
    from .experiments import attention as experiment

    return {"attention": Trial(experiment.run, config)}


@sized(
    NextTokens,
    smoke={"below": 10, "heights": (2, 3), "layers": 1, "teacher_heads": 2, "student_heads": 2,
           "teachers": 2, "pairs": 2, "teacher_steps": 8, "steps": 4, "checkpoints": 4, "batch": 4,
           "tests": 64},
    laptop={},
    paper={"below": 22, "heights": (2, 3, 4), "layers": 4, "teacher_heads": 32,
           "student_heads": 8, "teacher_steps": 8000, "steps": 2000, "batch": 512,
           "teacher_rate": 2.5e-3},
)  # fmt: skip
def next_tokens(config: NextTokens) -> dict[str, Trial]:
    from .experiments import next_tokens as experiment

    return {"next tokens": Trial(experiment.run, config)}


@sized(
    Text,
    smoke={"layers": 1, "teacher_heads": 2, "student_heads": 2, "teachers": 2, "pairs": 2, "window": 12,
           "teacher_steps": 48, "horizons": (48,), "chunk": 1, "shot": 2, "batch": 4, "tests": 16,
           "probes": 16, "words": 50},
    laptop={},
    paper={"layers": 12, "teacher_heads": 96, "student_heads": 32, "teachers": 1, "words": 30_000,
           "window": 512, "teacher_steps": 96_000, "horizons": (12_000,), "chunk": 1000, "shot": 4000,
           "teacher_rate": 1e-4, "student_rate": 1e-4, "batch": 512, "mask": 0.15},
)  # fmt: skip
def text(config: Text) -> dict[str, Trial]:
    """A run on the user's text; no trial without one."""
    if not config.text:
        return {}
    from .experiments import text

    return {"sentences": Trial(text.run, replace(config, content=text.content(config.text)))}
