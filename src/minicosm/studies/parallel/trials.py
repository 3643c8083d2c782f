"""Configurations, how large each profile makes them, and the trials of claims."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any, Literal

from minicosm.lab import Trial, sized
from minicosm.text.bleu_score import TOKENIZERS


@dataclass(frozen=True)
class Worlds:
    """How many random worlds a suite looks at."""

    seed: int
    worlds: int


@dataclass(frozen=True)
class MaskedWorlds(Worlds):
    """Random worlds, and the lengths of larger random graphs."""

    lengths: tuple[int, ...] = (8, 10, 12)


SMOKE, LAPTOP, PAPER = ({"worlds": worlds} for worlds in (6, 200, 1000))


@sized(
    MaskedWorlds,
    smoke={**SMOKE, "lengths": (6, 8)},
    laptop=LAPTOP,
    paper={**PAPER, "lengths": (10, 12, 14)},
)
def masking(config: MaskedWorlds) -> dict[str, Trial]:
    from .suites import masking

    return {"suite": Trial(masking.run, config)}


@sized(Worlds, smoke=SMOKE, laptop=LAPTOP, paper=PAPER)
def chains(config: Worlds) -> dict[str, Trial]:
    from .suites import chains

    return {"suite": Trial(chains.run, config)}


@sized(Worlds, smoke=SMOKE, laptop=LAPTOP, paper=PAPER)
def steps(config: Worlds) -> dict[str, Trial]:
    from .suites import steps

    return {"suite": Trial(steps.run, config)}


@sized(Worlds, smoke={"worlds": 20}, laptop={"worlds": 1000}, paper={"worlds": 2000})
def modes(config: Worlds) -> dict[str, Trial]:
    from .suites import modes

    return {"suite": Trial(modes.run, config)}


@dataclass(frozen=True)
class OtherWorlds:
    """Bracket strings and translations, of which there is one world each."""

    seed: int


@sized(OtherWorlds, smoke={}, laptop={}, paper={})
def other_worlds(config: OtherWorlds) -> dict[str, Trial]:
    from .suites import other_worlds

    return {"suite": Trial(other_worlds.run, OtherWorlds(seed=0))}


# -- fits and chains that are simulated --------------------------------------------------------------


@dataclass(frozen=True)
class Fitting:
    """How often a world is fitted, and from how many examples."""

    seed: int
    repeats: int
    examples: tuple[int, ...] = (200, 1000, 5000)


@dataclass(frozen=True)
class Fits(Fitting):
    """The world: four spins in a clique without fields."""

    coupling: float = 0.3


def _fits(*couplings: float) -> Any:
    @sized(Fitting, smoke={"repeats": 40}, laptop={"repeats": 500}, paper={"repeats": 2000})
    def trials(config: Fitting) -> dict[str, Trial]:
        from .experiments import estimation

        each = {J: Fits(**asdict(config), coupling=J) for J in couplings}
        return {f"J = {J:g}": Trial(estimation.run, fits) for J, fits in each.items()}

    return trials


COUPLINGS = {"4.1": 0.05, "4.2": 0.3}  # by figure
figure_4_1, figure_4_2 = (_fits(J) for J in COUPLINGS.values())
both_fits = _fits(*COUPLINGS.values())


@dataclass(frozen=True)
class Hitting:
    """Couplings, runs for each coupling and k, and how many steps a run may take."""

    seed: int
    couplings: tuple[float, ...] = (1.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0)
    runs: int = 200
    budget: int = 1000


@sized(
    Hitting,
    smoke={"couplings": (1.0, 2.5, 5.0, 7.0), "runs": 40},
    laptop={},
    paper={"runs": 1000},
)
def hitting(config: Hitting) -> dict[str, Trial]:
    from .experiments import hitting

    return {"hitting": Trial(hitting.run, config)}


# -- translators of the fertility world --------------------------------------------------------------

Data = Literal["distilled", "peaked", "undistilled"]
"""Which targets:

- "undistilled": those of a world in which a phrase has one or two tokens, each with probability 1/2;
- "distilled": of the same world, with the phrases' lengths replaced by the most likely ones of the same
  sum. All are equally likely there, and of equals the shortest phrases come first: given source and
  length, nothing is left to guess;
- "peaked": of a world in which a phrase has one token with probability .9.
"""


@dataclass(frozen=True)
class Training:
    """How translators are trained and measured; `seeds` models are trained at once."""

    seed: int
    seeds: int = 8
    steps: int = 3000
    batch: int = 64
    stages: int = 2
    remask: bool = True
    positional: bool = True
    """Positional attention in the decoder."""
    width: int = 64
    layers: int = 2
    heads: int = 4
    mlp_width: int = 128
    dropout: float = 0.0
    rate: float = 3e-3
    factored: bool = False
    """Adafactor, in place of Adam."""
    warmup: int = 200
    tests: int = 500
    """Sources that are translated."""
    candidates: int = 5
    """Lengths that are tried, or beams."""
    rejecters: tuple[str, ...] = ("none", "linear", "constant", "learned")
    """What is rejected between passes, in place of repeats."""

    def __post_init__(self) -> None:
        for name in ("seeds", "steps"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 2")


@dataclass(frozen=True)
class Arms(Training):
    """What all arms have in common."""

    easy_seeds: int = 3
    """Models of an arm whose seeds come out alike: peaked targets, or decoding token by token."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.easy_seeds <= self.seeds:
            raise ValueError(
                f"easy_seeds is {self.easy_seeds}; it must be at least 2 and at most seeds, {self.seeds}"
            )


@dataclass(frozen=True)
class Refining(Training):
    """One arm."""

    data: Data = "distilled"
    causal: bool = False
    """Token by token, in place of all positions at once."""
    keep: float = 0.15
    """Share of target tokens that the noise of training leaves."""


@dataclass(frozen=True)
class Exact:
    """An exact decoder; `keep` is the share of tokens that it thinks its input has right, 0: it ignores
    the input."""

    seed: int
    data: Data
    keep: float
    seeds: int = 3
    """Noises that refinement starts from."""
    tests: int = 500
    candidates: int = 5


DATA: tuple[Data, ...] = ("distilled", "peaked", "undistilled")
OPEN: tuple[Data, ...] = ("peaked", "undistilled")  # the length leaves the target open
CAUSAL = {data: f"{data}, token by token" for data in DATA}
EXACT = {data: f"exact, {data}" for data in OPEN}
MARGINALS = {data: f"exact, {data}, input ignored" for data in OPEN}
KEPT = "distilled, 85% kept"
PLAIN = "undistilled, no positional attention"
ONE_STAGE = "undistilled, one stage"

ARMS: dict[str, dict[str, Any]] = {
    **{data: {"data": data} for data in DATA},
    **{CAUSAL[data]: {"data": data, "causal": True} for data in DATA},
    KEPT: {"keep": 0.85},
    ONE_STAGE: {"data": "undistilled", "stages": 1},
    PLAIN: {"data": "undistilled", "positional": False},
}
# Seeds of these differ much, or they are compared with one whose seeds do: all of them are needed.
ALL_SEEDS = ("undistilled", ONE_STAGE, PLAIN, "distilled", KEPT)


def _translators(*arms: str, exact: Iterable[Data] = ()) -> Any:
    """The trials of these arms, and the exact decoders of the worlds of these data. A trial trains all seeds
    of one arm. Seed i of every arm starts from the same key and is measured on the same sources, so that
    arms of one data are compared in pairs: as many as both have."""

    # Compiling is nearly all that the smallest profile costs: its arms are two programs.
    @sized(
        Arms,
        smoke={
            "steps": 30, "batch": 8, "tests": 30, "seeds": 2, "easy_seeds": 2, "width": 16, "heads": 2,
            "mlp_width": 32, "layers": 1, "warmup": 5, "rejecters": (), "candidates": 1, "stages": 1,
            "positional": False,
        },
        laptop={},
        paper={
            "steps": 500_000, "batch": 2048, "tests": 3000, "width": 512, "heads": 8,
            "mlp_width": 2048, "layers": 6, "warmup": 10_000, "dropout": 0.1, "factored": True,
        },
    )  # fmt: skip
    def trials(config: Arms) -> dict[str, Trial]:
        from .experiments import exact as references
        from .experiments import training

        given = asdict(config)
        few = {"seeds": given.pop("easy_seeds")}
        found = {
            name: Trial(
                training.run,
                Refining(**(given | ({} if name in ALL_SEEDS else few) | ARMS[name])),
            )
            for name in arms
        }
        sizes = {name: given[name] for name in ("seed", "seeds", "tests", "candidates")}
        for data in exact:
            for name, keep in ((EXACT[data], 0.15), (MARGINALS[data], 0.0)):
                reference = Exact(data=data, keep=keep, **sizes)
                found[name] = Trial(references.run, reference)
        return found

    return trials


every_translator = _translators(*DATA, *CAUSAL.values(), exact=OPEN)
refining = _translators(*DATA)
refining_and_exact = _translators(*DATA, exact=OPEN)
open_and_exact = _translators(*OPEN, exact=OPEN)
one_stage_and_two = _translators("undistilled", ONE_STAGE, exact=("undistilled",))
more_noise_and_less = _translators("distilled", KEPT)
with_and_without_positions = _translators("undistilled", PLAIN)


# -- a user's text -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextRun:
    """Four files and the sizes of the source's Section 4.2.3; line i of a target translates line i of its
    source. Without files nothing is run."""

    seed: int
    source: str = ""
    target: str = ""
    test_source: str = ""
    test_target: str = ""
    tokenizer: str = ""
    """A SentencePiece .model or a .json of `tokenizers`; empty: SentencePiece, from the training text."""
    vocab: int = 32_000
    """Pieces of a vocabulary that is learned from the text."""
    coverage: float = 1.0
    tokenize: str = "13a"
    """How sacreBLEU finds words."""
    longest: int = 128
    """Tokens of a side; longer pairs are not trained on, and longer sources of the test text are cut."""
    layers: int = 6
    heads: int = 8
    width: int = 512
    mlp_width: int = 2048
    dropout: float = 0.1
    positions: str = "relative"
    """As in the release; "learned" adds a vector for every position, which small models need."""
    steps: int = 500_000
    warmup: int = 10_000
    rate: float = 3e-3
    floor: float = 1e-5
    batch: int = 2048
    pieces: int = 16
    """Parts in which the gradient of a batch is computed."""
    stages: int = 2
    keep: float = 0.15
    hypotheses: int = 5
    passes: tuple[int, ...] = (4, 10)
    together: int = 64
    """Sentences that are translated at once."""
    distill: bool = True
    """Whether both models learn the translations of an autoregressive teacher in place of the text's."""
    outputs: str = ""
    """A folder for the translations of the test text, a line for every pair that is not skipped; empty:
    they are not kept."""
    contents: tuple[str, ...] = ()
    """Hashes of the files, which are filled in: a changed file is another trial."""

    def __post_init__(self) -> None:
        counts = (
            "vocab", "longest", "layers", "heads", "width", "mlp_width", "steps", "batch", "pieces",
            "stages", "hypotheses", "together",
        )  # fmt: skip
        for name in counts:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.batch % self.pieces:
            raise ValueError(
                f"batch is {self.batch}; it must be a multiple of pieces, {self.pieces}"
            )
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}; it must be a multiple of heads, {self.heads}")
        for name, known in (("positions", ("relative", "learned")), ("tokenize", TOKENIZERS)):
            if (value := getattr(self, name)) not in known:
                raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(known)}")
        if not self.passes or min(self.passes) < 1:
            raise ValueError(f"passes is {self.passes}; it needs numbers of at least 1")
        if not 0 <= self.warmup < self.steps:
            raise ValueError(f"warmup is {self.warmup}; it must be less than steps, {self.steps}")
        if not 0 < self.rate < inf:
            raise ValueError(f"rate is {self.rate}; it must be positive")
        for name, least, most in (("keep", 0, 1), ("coverage", 0.98, 1), ("dropout", 0, 0.99)):
            if not least <= (value := getattr(self, name)) <= most:
                raise ValueError(f"{name} is {value}; it must be from {least} to {most}")
        if self.tokenizer and self.coverage != 1:
            raise ValueError(f"coverage is {self.coverage}; a given tokenizer has its own pieces")


FILES = ("source", "target", "test_source", "test_target")


@sized(
    TextRun,
    smoke={
        "vocab": 200, "longest": 32, "layers": 1, "heads": 2, "width": 32, "mlp_width": 64,
        "steps": 20, "warmup": 5, "batch": 16, "pieces": 1, "dropout": 0.0, "positions": "learned",
    },
    laptop={
        "vocab": 4000, "longest": 64, "layers": 2, "heads": 4, "width": 128, "mlp_width": 512,
        "steps": 10_000, "warmup": 500, "batch": 64, "pieces": 2, "positions": "learned",
    },
    paper={},
)  # fmt: skip
def text(config: TextRun) -> dict[str, Trial]:
    """A run on the user's files; no trial without them."""
    missing = [name for name in FILES if not getattr(config, name)]
    if len(missing) == len(FILES):
        return {}
    if missing:
        raise ValueError(
            f"{missing[0]} is not set; {', '.join(FILES[:3])} and {FILES[3]} go together"
        )
    from .experiments import text_run

    given = [getattr(config, name) for name in (*FILES, "tokenizer") if getattr(config, name)]
    contents = tuple(text_run.content(path) for path in given)
    return {"text": Trial(text_run.run, replace(config, contents=contents))}
