"""Configurations, how large each profile makes them, and the trials of claims."""

from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal

from minicosm.lab import Trial, sized

from .recipes import ARMS

FOLD = 2023
"""Folded into every key: recipes were chosen with the keys themselves."""


def _at_least(config: Any, least: float, *names: str) -> None:
    """Raise unless these fields have at least this value."""
    for name in names:
        if not (value := getattr(config, name)) >= least:
            raise ValueError(f"{name} is {value}; it must be at least {least:g}")


def _positive(config: Any, *names: str) -> None:
    for name in names:
        if not (value := getattr(config, name)) > 0:
            raise ValueError(f"{name} is {value}; it must be positive")


# -- exact suites ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Worlds:
    """How many random worlds a suite looks at."""

    seed: int
    worlds: int

    def __post_init__(self) -> None:
        _at_least(self, 1, "worlds")


def _suite(name: str, smoke: int, laptop: int, paper: int) -> Any:
    @sized(Worlds, smoke={"worlds": smoke}, laptop={"worlds": laptop}, paper={"worlds": paper})
    def trials(config: Worlds) -> dict[str, Trial]:
        from .suites import attention, embeddings, finite, optima, stage1

        runs = {
            "stage1": stage1.run,
            "embeddings": embeddings.run,
            "attention": attention.run,
            "optima": optima.run,
            "finite": finite.run,
        }
        return {"suite": Trial(runs[name], config)}

    return trials


stage1 = _suite("stage1", 5, 40, 200)
embeddings = _suite("embeddings", 2, 8, 20)
attention = _suite("attention", 2, 20, 100)
optima = _suite("optima", 5, 200, 1000)
finite = _suite("finite", 5, 40, 200)


@dataclass(frozen=True)
class Landscape:
    """The grid of Figures 2.7 and 2.8: places of alpha and of beta between 1e-4 and 1e7."""

    seed: int
    grid: int
    topics: int = 100
    words: int = 300
    per_document: tuple[int, ...] = (20, 40, 60, 80)

    def __post_init__(self) -> None:
        _at_least(self, 2, "grid", "topics")
        if len(self.per_document) < 2 or not all(0 < n < self.topics for n in self.per_document):
            raise ValueError(
                f"per_document is {self.per_document}; at least two numbers from 1 to {self.topics - 1} "
                "are needed"
            )


@sized(Landscape, smoke={"grid": 30}, laptop={"grid": 200}, paper={"grid": 400})
def landscapes(config: Landscape) -> dict[str, Trial]:
    from .suites import landscapes

    return {"landscapes": Trial(landscapes.run, replace(config, seed=0))}


# -- one layer, trained on documents of disjoint topics ----------------------------------------------

Loss = Literal["cross-entropy", "squared"]
Optimiser = Literal["Adam", "SGD"]


@dataclass(frozen=True)
class Common:
    """What all arms share: the world, its documents, and how many models are trained."""

    seed: int
    seeds: int = 5
    topics: int = 10
    words: int = 10
    dirichlet: float = 0.1
    shortest: int = 100
    longest: int = 150
    documents: int = 10_000
    """Training documents of each seed; some recipes ask for twice as many."""
    held_out: int = 1500
    batch: int = 40
    steps: int = 0
    """0: as many as the recipe of each arm says."""

    def __post_init__(self) -> None:
        _at_least(self, 2, "seeds", "topics")
        _at_least(self, 1, "words", "shortest", "documents", "held_out", "batch")
        _at_least(self, 0, "steps")
        _positive(self, "dirichlet")
        if self.longest < self.shortest:
            raise ValueError(
                f"longest is {self.longest}; it must be at least shortest, {self.shortest}"
            )


@dataclass(frozen=True)
class Training(Common):
    """One arm: a recipe, and all seeds of it."""

    one_hot: bool = True
    """Embeddings are one-hot and not trained."""
    loss: Loss = "cross-entropy"
    optimiser: Optimiser = "Adam"
    rate: float = 0.01
    penalty: float = 0.0
    start: float = 0.02
    """Deviation of the entries that matrices start from."""
    uniform: bool = False
    """Attention stays uniform: keys and queries are zero and not trained."""
    identity: bool = False
    """Embeddings alone are trained: the value matrix is the identity, biases are those of Theorem 2.1.1."""
    output_biases: bool = True
    """Whether the biases of values and outputs are trained."""
    every: int = 0
    """Norms are measured every so many steps; 0: at the end only."""


SMOKE: dict[str, Any] = {
    "seeds": 2, "topics": 4, "words": 4, "shortest": 20, "longest": 30, "documents": 200,
    "held_out": 50, "batch": 20, "steps": 60,
}  # fmt: skip


def trained(*arms: str, bayes: bool = False) -> Any:
    """The trials of these arms, each of which trains all its seeds as one ensemble, and with `bayes` one that
    estimates the least losses of the world."""

    @sized(Common, smoke=SMOKE, laptop={}, paper={"seeds": 10, "steps": 20_000})
    def trials(config: Common) -> dict[str, Trial]:
        from .experiments import bayes as least
        from .experiments import training

        found = {name: Trial(training.run, arm(config, name)) for name in arms}
        if bayes:
            found["Bayes"] = Trial(least.run, config)
        return found

    return trials


def arm(config: Common, name: str) -> Training:
    """The configuration of one arm: a recipe's own number of seeds, documents or steps gives way to one that
    is set to another value than usual."""
    recipe, given = dict(ARMS[name]), asdict(config)
    default = {f: getattr(Common(0), f) for f in ("seeds", "documents")}
    for field, usual in default.items():
        if given[field] != usual:
            recipe.pop(field, None)
    if (
        recipe.get("optimiser") == "SGD"
    ):  # curvature falls with the number of words; rates are for 100
        recipe["rate"] *= config.topics * config.words / 100
    if given["steps"]:
        recipe.pop("steps", None)
        if recipe.get("every"):
            recipe["every"] = max(1, given["steps"] // 15)
    return Training(**(given | recipe))


@dataclass(frozen=True)
class Gradients:
    """Gradients at random starts of several sizes."""

    seed: int
    seeds: int = 3
    topics: int = 10
    words: int = 10
    documents: int = 200
    sizes: tuple[float, ...] = (1e-1, 1e-2, 1e-3, 1e-4)

    def __post_init__(self) -> None:
        if len(self.sizes) < 2 or min(self.sizes) <= 0:
            raise ValueError(f"sizes is {self.sizes}; at least two positive numbers are needed")
        _at_least(self, 1, "seeds", "documents", "words")
        _at_least(self, 2, "topics")


@sized(
    Gradients,
    smoke={"topics": 4, "words": 4, "documents": 50, "seeds": 2},
    laptop={},
    paper={"seeds": 10},
)
def gradients(config: Gradients) -> dict[str, Trial]:
    from .experiments import gradients

    return {"gradients": Trial(gradients.run, config)}


# -- deeper models on overlapping topics ---------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A Transformer on text, and how it is trained."""

    seed: int
    width: int = 64
    layers: int = 2
    heads: int = 4
    mlp_width: int = 128
    window: int = 64
    batch: int = 16
    steps: int = 600
    rate: float = 3e-3
    evaluated: int = 300
    """Documents on which attention is measured."""

    def __post_init__(self) -> None:
        _at_least(
            self,
            1,
            "width",
            "layers",
            "heads",
            "mlp_width",
            "window",
            "batch",
            "steps",
            "evaluated",
        )
        _positive(self, "rate")
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}; it must be a multiple of heads, {self.heads}")


@dataclass(frozen=True)
class Text(Shape):
    """A world of overlapping topics, a model, and topics fitted to the same documents by LDA."""

    topics: int = 20
    words: int = 350
    stop_words: int = 50
    documents: int = 3000
    passes: int = 8
    """Passes of LDA over the documents."""
    sizes: tuple[int, ...] = (4, 8, 16)
    """How many words a topic owns: the most likely ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least(self, 2, "topics", "words", "stop_words", "documents", "passes")
        if not self.sizes or min(self.sizes) < 2 or max(self.sizes) > self.words:
            raise ValueError(
                f"sizes is {self.sizes}; it needs numbers from 2 to words, {self.words}"
            )


@dataclass(frozen=True)
class Texts(Text):
    """Several of them."""

    seeds: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least(self, 2, "seeds")


SMALL_TEXT: dict[str, Any] = {
    "width": 16, "heads": 2, "mlp_width": 32, "window": 32, "batch": 8, "steps": 30, "evaluated": 40,
}  # fmt: skip


@sized(
    Texts,
    smoke=SMALL_TEXT | {
        "seeds": 2, "topics": 4, "words": 60, "stop_words": 10, "documents": 200, "passes": 2,
        "sizes": (3, 4, 6),
    },
    laptop={},
    paper={"topics": 100, "words": 1900, "stop_words": 100, "documents": 50_000, "width": 256,
           "mlp_width": 1024, "steps": 20_000, "sizes": (10, 20, 40)},
)  # fmt: skip
def texts(config: Texts) -> dict[str, Trial]:
    """A trial for each seed; none where scikit-learn, which fits the topics, is not installed."""
    if find_spec("sklearn") is None:
        return {}
    from .experiments import texts

    fields = asdict(config)
    seed, seeds = fields.pop("seed"), fields.pop("seeds")
    return {
        f"seed {i + 1}": Trial(texts.run, Text(seed=1000 * seed + i, **fields))
        for i in range(seeds)
    }


@dataclass(frozen=True)
class Deep(Shape):
    """A deeper model whose keys, queries and values start near zero."""

    seeds: int = 3
    topics: int = 20
    words: int = 350
    stop_words: int = 50
    documents: int = 3000
    start: float = 1e-3
    every: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least(self, 2, "seeds", "topics", "words", "stop_words", "documents")
        _at_least(self, 1, "every")
        _positive(self, "start")


@sized(
    Deep,
    smoke=SMALL_TEXT | {
        "seeds": 2, "topics": 4, "words": 60, "stop_words": 10, "documents": 200, "rate": 0.1,
        "evaluated": 1,
    },
    laptop={"layers": 4, "width": 32, "mlp_width": 64, "window": 32, "rate": 2.0, "steps": 2000},
    paper={"layers": 4, "width": 256, "mlp_width": 1024, "window": 64, "rate": 2.0, "steps": 20_000},
)  # fmt: skip
def deep(config: Deep) -> dict[str, Trial]:
    from .experiments import deep

    return {"deep": Trial(deep.run, config)}


# -- a user's own corpus -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Corpus(Shape):
    """A user's corpus with topics (`minicosm.text.read_topic_corpus`). Without one nothing is run."""

    corpus: str = ""
    """A folder of .txt files with topics.txt, or a Parquet file with tokens and topics."""
    others: str = "refuse"
    """Words in no topic: "refuse", or "leave" as stop words."""
    seeds: int = 3
    content: str = ""
    """A hash of the files, which is filled in: a changed corpus is another trial."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.others not in ("refuse", "leave"):
            raise ValueError(f"others is {self.others!r}; it must be 'refuse' or 'leave'")
        _at_least(self, 2, "seeds")


@sized(Corpus, smoke=SMALL_TEXT | {"seeds": 2}, laptop={}, paper={"width": 256, "steps": 20_000})
def corpus(config: Corpus) -> dict[str, Trial]:
    """A run on the user's corpus; no trial without one."""
    if not config.corpus:
        return {}
    from .experiments import corpus

    return {"corpus": Trial(corpus.run, replace(config, content=corpus.content(config.corpus)))}
