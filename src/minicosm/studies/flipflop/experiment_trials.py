"""Configurations of trained models, and how large each profile makes them; exact suites are in `trials`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from minicosm.lab import Trial, sized

from .sweeps import LAPTOP_SIZES, SOURCE_SIZES, SWEEP

Positions = Literal["learned", "sinusoidal", "alibi", "rotary", "none"]


@dataclass(frozen=True)
class Training:
    """One arm: `members` models with weights and strings of their own, trained as one ensemble."""

    seed: int = 0
    model: Literal["transformer", "lstm"] = "transformer"
    length: int = 128
    law: Literal["one", "mixture"] = "one"
    """FFL(.8), or each string from FFL(.9), FFL(.98) or FFL(.1)."""
    mode: Literal["clean", "generative"] = "clean"
    members: int = 8
    steps: int = 2500
    batch: int = 16
    rate: float = 1e-3
    lstm_rate: float = 3e-3
    warmup: int = 50
    weight_decay: float = 0.1
    layers: int = 2
    width: int = 64
    heads: int = 2
    hidden: int = 64
    """Of an LSTM, and of its embeddings."""
    positions: Positions = "learned"
    embedding_dropout: float = 0.0
    attention_dropout: float = 0.0
    mlp_dropout: float = 0.0
    gated: bool = False
    """Whether MLPs have gated units."""
    betas: tuple[float, float] = (0.9, 0.999)
    penalty: float = 0.0
    """Of the entropy of attention, rising linearly over the training."""
    penalty_kind: Literal["entropy", "l2", "max"] = "entropy"
    schedule: Literal["linear", "oscillating"] = "linear"
    penalty_start: int = 0
    """The step from which on the penalty counts."""
    crossed: bool = False
    """Whether members are pairs of a start and a stream of strings, each as many as the root of their
    number."""
    init_std: float = 0.07
    inside: int = 4000
    """Strings of the law of training on which models are judged."""
    sparse: int = 10_000
    dense: int = 2000
    block: int = 250
    """Strings that are judged at once."""
    evaluations: int = 1
    """Parts of the training after which a block of strings inside and of dense ones is judged."""
    attention: bool = False
    """Whether attention on a string with a wrong read is kept."""


@dataclass(frozen=True)
class Arms:
    """Sizes of trained models."""

    seed: int
    long: int = 128
    """Length of the strings on which claims about sparse strings rest."""
    short: int = 64
    members: int = 12
    """Of the baseline on long strings."""
    remedies: int = 8
    """Of every other arm with clean labels."""
    generative: int = 8
    sizes: int = 2
    """Of every other number of layers and width."""
    lstms: int = 8
    steps: int = 2500
    mixture_steps: int = 4000
    short_steps: int = 2000
    short_mixture_steps: int = 3000
    generative_steps: int = 6000
    more_steps: int = 6000
    lstm_steps: int = 500
    evaluations: int = 25
    further: bool = False
    """Whether that for which there is no time in an hour is trained as well: the generative mode, embedding
    dropout, sharpening, more steps, and what else the source varied."""
    size: Literal["tiny", "small", "source"] = "small"
    """Tiny: as small as models can be. Source: widths, rates and test sets of the source."""

    def __post_init__(self) -> None:
        for name in MEMBERS:
            if getattr(self, name) < 2:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; an interval needs at least 2 members"
                )
        for name in (*STEPS, "evaluations"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("long", "short"):
            if getattr(self, name) < 8 or getattr(self, name) % 2:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; it must be even, and at least 8"
                )


MEMBERS = ("members", "remedies", "generative", "sizes", "lstms")
STEPS = (
    "steps", "mixture_steps", "short_steps", "short_mixture_steps", "generative_steps", "more_steps",
    "lstm_steps",
)  # fmt: skip

LONG, LONG_MIXTURE, LONG_LSTM = "long", "long, mixture", "long, LSTM"
LONG_DROPOUT, LONG_SHARP = "long, embedding dropout", "long, sharpening"
SHORT, SHORT_MIXTURE, SHORT_LSTM = "short", "short, mixture", "short, LSTM"
SINUSOIDAL, ALIBI, ROTARY = "short, sinusoidal", "short, ALiBi", "short, rotary"
MORE_STEPS, GENERATIVE = "short, more steps", "short, generative"
CROSSED = "crossed seeds"
SIZES = {size: f"short, L {size[0]}, d {size[1]}" for size in LAPTOP_SIZES}
PAPER_SIZES = {size: "L {}, d {}, H {}".format(*size) for size in SOURCE_SIZES}
SWEPT = {f"short, {name}": fields for name, fields in SWEEP.items()}
BASELINE = {LONG: LONG, LONG_MIXTURE: LONG, LONG_DROPOUT: LONG, LONG_SHARP: LONG}
"""Every arm that a long baseline is compared with; the others have the short one."""
ALL_SIZES = (*SIZES.values(), *PAPER_SIZES.values())
INDIRECT = (
    LONG_DROPOUT, LONG_SHARP, SINUSOIDAL, ALIBI, ROTARY, MORE_STEPS, *SWEPT, *PAPER_SIZES.values(),
)  # fmt: skip
"""Remedies that leave the data as they are; sizes on a laptop have too few runs to say anything of them."""

_LONG: dict[str, Any] = {"length": "long", "members": "remedies", "steps": "steps"}
_SHORT: dict[str, Any] = {"length": "short", "members": "remedies", "steps": "short_steps"}
_LSTM: dict[str, Any] = {"model": "lstm", "members": "lstms", "steps": "lstm_steps"}
ARMS: dict[str, dict[str, Any]] = {
    LONG: _LONG | {"members": "members", "evaluations": "evaluations", "attention": True},
    LONG_MIXTURE: _LONG | {"law": "mixture", "steps": "mixture_steps"},
    LONG_DROPOUT: _LONG | {"embedding_dropout": 0.5},
    LONG_SHARP: _LONG | {"penalty": 0.01},
    LONG_LSTM: _LONG | _LSTM | {"hidden": 64},
    SHORT: _SHORT,
    SHORT_MIXTURE: _SHORT | {"law": "mixture", "steps": "short_mixture_steps"},
    SINUSOIDAL: _SHORT | {"positions": "sinusoidal"},
    ALIBI: _SHORT | {"positions": "alibi"},
    ROTARY: _SHORT | {"positions": "rotary"},
    MORE_STEPS: _SHORT | {"steps": "more_steps"},
    GENERATIVE: _SHORT
    | {"mode": "generative", "members": "generative", "steps": "generative_steps"},
    SHORT_LSTM: _SHORT | _LSTM | {"hidden": 32},
    CROSSED: _LONG | {"crossed": True},
}
ARMS |= {
    name: _SHORT | {"layers": L, "width": d, "heads": H, "members": "sizes"}
    for (L, d, H), name in (SIZES | PAPER_SIZES).items()
}
ARMS |= {name: _SHORT | fields for name, fields in SWEPT.items()}
FURTHER = (GENERATIVE, LONG_DROPOUT, LONG_SHARP, MORE_STEPS, CROSSED, *SWEPT)
"""Trained only with `further`."""

TINY: dict[str, Any] = {"width": 16, "layers": 1, "hidden": 8, "batch": 4} | dict.fromkeys(
    ("inside", "sparse", "dense", "block"), 50
)
SOURCE: dict[str, Any] = {
    "layers": 6, "width": 512, "heads": 8, "hidden": 128, "rate": 3e-4, "lstm_rate": 3e-4,
    "init_std": 0.02, "sparse": 100_000, "dense": 3000,
}  # fmt: skip


def arms(*names: str) -> Callable[..., Mapping[str, Trial]]:
    """The trials of these arms, in three sizes."""

    @sized(
        Arms,
        smoke=dict.fromkeys(MEMBERS, 2)
        | dict.fromkeys(STEPS, 30)
        | {"size": "tiny", "long": 16, "short": 16, "evaluations": 3},
        laptop={},
        paper=dict.fromkeys(MEMBERS, 25)
        | {
            "members": 500,
            "lstms": 100,
            "long": 512,
            "short": 512,
            "further": True,
            "size": "source",
        }
        | dict.fromkeys(STEPS, 10_000)
        | {"more_steps": 30_000, "lstm_steps": 500, "evaluations": 100},
    )
    def trials(config: Arms) -> dict[str, Trial]:
        source = config.size == "source"
        return {
            name: _trial(config, **ARMS[name])
            for name in names
            if (config.further or name not in FURTHER)
            and name not in (SIZES if source else PAPER_SIZES).values()
        }

    return trials


def _trial(config: Arms, **fields: Any) -> Trial:
    from .experiments import training

    choices: dict[str, dict[str, Any]] = {"tiny": TINY, "small": {}, "source": SOURCE}
    sizes, given = choices[config.size], dict(fields)
    for name in ("length", "members", "steps", "evaluations"):
        if isinstance(given.get(name), str):
            given[name] = getattr(config, given[name])
    kept = sizes if config.size != "source" else {k: v for k, v in sizes.items() if k not in given}
    return Trial(training.run, Training(**(given | kept), seed=config.seed))


# -- simulation of the automaton -----------------------------------------------------------------------


@dataclass(frozen=True)
class Simulated:
    """Models of the automaton, a state for every symbol; `members` of them trained as one ensemble."""

    seed: int = 0
    keep: float = 0.5
    """Probability of a symbol that keeps, in training."""
    penalty: float = 0.0
    """Of the entropy of attention, from the first step on."""
    first_layer: bool = False
    """Whether only the first layer has the penalty."""
    layers: int = 1
    heads: int = 1
    width: int = 32
    length: int = 100
    members: int = 8
    steps: int = 2000
    batch: int = 16
    rate: float = 3e-3
    weight_decay: float = 1e-4
    init_std: float = 0.1
    tests: int = 500
    probe: int = 801
    """Symbols of the probe: a setting, and then only symbols that keep."""


@dataclass(frozen=True)
class Simulations:
    """Sizes of the simulations."""

    seed: int
    length: int = 100
    steps: int = 2000
    members: int = 8
    many: int = 16
    """Of arms whose shares are counted."""
    width: int = 32
    batch: int = 16
    tests: int = 500
    probe: int = 801
    deep: tuple[int, int] = (2, 4)
    """Layers and heads of the larger models."""
    further: bool = False
    """Whether models with a penalty of the first layer alone are trained as well."""

    def __post_init__(self) -> None:
        for name in ("members", "many"):
            if getattr(self, name) < 2:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; an interval needs at least 2 members"
                )
        for name in ("length", "steps", "width", "batch", "tests"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.probe < 16:
            raise ValueError(f"probe is {self.probe}; it must have at least 16 symbols")


PLAIN, SHARP_01, SHARP_1 = "1 x 1", "1 x 1, penalty .01", "1 x 1, penalty .1"
SPARSE_1 = "1 x 1, penalty .1, p(keep) .9"
DEEP, DEEP_01, DEEP_FIRST = "deep", "deep, penalty .01", "deep, penalty .01 in layer 1"
_DEEP = {"layers": "deep", "heads": "deep"}
SIMULATED: dict[str, dict[str, Any]] = {
    PLAIN: {},
    SHARP_01: {"penalty": 0.01},
    SHARP_1: {"penalty": 0.1, "members": "many"},
    SPARSE_1: {"penalty": 0.1, "members": "many", "keep": 0.9},
    DEEP: _DEEP,
    DEEP_01: _DEEP | {"penalty": 0.01},
    DEEP_FIRST: _DEEP | {"penalty": 0.01, "first_layer": True},
}


def simulations(*names: str) -> Callable[..., Mapping[str, Trial]]:
    """The trials of these arms, in three sizes."""

    @sized(
        Simulations,
        smoke={
            "length": 16,
            "steps": 20,
            "members": 2,
            "many": 2,
            "width": 8,
            "batch": 4,
            "tests": 20,
        }
        | {"probe": 40, "deep": (1, 2)},
        laptop={},
        paper={"length": 500, "steps": 10_000, "members": 25, "many": 50, "width": 128}
        | {"deep": (6, 8), "further": True},
    )
    def trials(config: Simulations) -> dict[str, Trial]:
        from .experiments import simulation

        made = {}
        for name in names:
            if name == DEEP_FIRST and not config.further:
                continue
            given = dict(SIMULATED[name])
            if "layers" in given:
                given["layers"], given["heads"] = config.deep
            given["members"] = config.many if given.get("members") == "many" else config.members
            sizes = {
                field: getattr(config, field)
                for field in ("length", "steps", "width", "batch", "tests", "probe")
            }
            made[name] = Trial(simulation.run, Simulated(**(given | sizes), seed=config.seed))
        return made

    return trials


# -- models of natural language ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """One pretrained model, asked about the light."""

    seed: int
    model: str
    """A folder with a causal model and its tokenizer, or a name that can be downloaded."""
    lengths: tuple[int, ...] = (16, 64, 256)
    """Tokens of the flip-flop strings that are rendered."""
    strings: int = 500
    p_ignore: float = 0.8


@dataclass(frozen=True)
class Models:
    """The models that are asked; none unless a user names some."""

    seed: int
    models: tuple[str, ...] = ()
    lengths: tuple[int, ...] = (16, 64, 256)
    strings: int = 500

    def __post_init__(self) -> None:
        if len(self.lengths) < 2 or any(length < 4 or length % 2 for length in self.lengths):
            raise ValueError(f"lengths are {self.lengths}; there must be two, even and at least 4")
        if self.strings < 1:
            raise ValueError(f"strings is {self.strings}; it must be at least 1")


@sized(Models, smoke={"strings": 5}, laptop={"strings": 100}, paper={})
def language_models(config: Models) -> dict[str, Trial]:
    from .experiments import language_models

    return {
        name: Trial(language_models.run, Asked(config.seed, name, config.lengths, config.strings))
        for name in config.models
    }
