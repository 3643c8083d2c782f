"""Configurations of the study, and their sizes for smoke, laptop and paper."""

from dataclasses import dataclass, replace
from typing import Any

from minicosm.lab import Trial, sized


@dataclass(frozen=True)
class Constraints:
    """How many random knapsacks are solved, and how many searches for a secret are simulated."""

    seed: int
    knapsacks: int
    searches: int


@sized(
    Constraints,
    smoke={"knapsacks": 10, "searches": 500},
    laptop={"knapsacks": 200, "searches": 20_000},
    paper={"knapsacks": 1000, "searches": 100_000},
)
def constraints(config: Constraints) -> dict[str, Trial]:
    from .suites.constraints import run

    return {"suite": Trial(run, config)}


@dataclass(frozen=True)
class Trees:
    """Random trees of every shape up to this many nodes, `draws` of each, followed for `steps` steps."""

    seed: int
    draws: int
    nodes: int
    steps: int = 400


@sized(
    Trees,
    smoke={"draws": 1, "nodes": 64, "steps": 100},
    laptop={"draws": 20, "nodes": 1200},
    paper={"draws": 50, "nodes": 4000},
)
def trees(config: Trees) -> dict[str, Trial]:
    from .suites.trees import run

    return {"suite": Trial(run, config)}


@dataclass(frozen=True)
class SandboxLaw:
    """Strings of brackets up to this length are enumerated."""

    seed: int
    longest: int


@sized(SandboxLaw, smoke={"longest": 6}, laptop={"longest": 10}, paper={"longest": 14})
def sandbox_law(config: SandboxLaw) -> dict[str, Trial]:
    from .suites.sandbox_law import run

    return {"suite": Trial(run, config)}


@dataclass(frozen=True)
class Amplify:
    """Random errors and Monte-Carlo values are drawn `draws` times; `walk` are the horizons at which the
    law of the walk after `T = 6 H^2` steps is followed over the whole tree."""

    seed: int
    draws: int
    walk: tuple[int, ...] = (4, 6, 8)
    brackets: tuple[int, ...] = (4, 6, 8, 10, 12)
    curve: int = 800
    """Steps of the curves of total variation."""


@sized(
    Amplify,
    smoke={"draws": 3, "walk": (4, 6), "brackets": (4, 6, 8)},
    laptop={
        "draws": 50,
        "walk": (4, 6, 8, 10),
        "brackets": (4, 6, 8, 10, 12, 14, 16),
        "curve": 1500,
    },
    paper={
        "draws": 200,
        "walk": (4, 6, 8, 10, 12),
        "brackets": tuple(range(4, 21, 2)),
        "curve": 3000,
    },
)
def amplify(config: Amplify) -> dict[str, Trial]:
    from .suites.amplification import run

    return {"suite": Trial(run, config)}


@dataclass(frozen=True)
class BracketGenerators:
    """How generators of brackets are made; `members` of them."""

    length: int = 32
    square: float = 0.2
    """How often an open bracket is square; in prompts, how often it is round."""
    opening: float = 0.5
    layers: int = 2
    width: int = 64
    heads: int = 4
    mlp_width: int = 256
    rate: float = 1e-3
    batch: int = 32
    steps: int = 4000
    """At most; training ends once every generator has been kept."""
    watch_every: int = 100
    """Steps."""
    kept_at: float = 0.05
    """A generator is kept at the first look at which its error out of distribution, at temperature 1
    and without truncation, is at most this."""
    watched: int = 600
    """Strings on which that is measured."""
    shortest: int = 25
    """The shortest prompt has this many brackets, the longest all but one; lengths are uniform."""
    members: int = 3
    """Generators that are trained together, in one trial."""
    ensembles: int = 1
    """Trials with other seeds."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("members", "ensembles", "steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")


def _ensembles(config: Any) -> list[Any]:
    """The same configuration with another seed for every ensemble. A trial does not know how many there
    are, so that more can be added to those that have run."""
    seeds = [config.seed + 1000 * i for i in range(config.ensembles)]
    return [replace(config, seed=seed, ensembles=1) for seed in seeds]


@dataclass(frozen=True)
class Sandbox(BracketGenerators):
    """Sizes of everything that is measured on the generators of brackets."""

    mistakes: int = 400
    """Wanted of each generator."""
    asked: int = 30_000
    """Prompts that are asked for them at most."""
    share: float = 0.6
    """Of the mistakes, for training the verifier; the others are held out."""
    repeats: int = 5
    """Splits on which verifiers are trained for their accuracy."""
    draws: int = 3
    """Completions of each held-out prompt."""
    forced: tuple[int, ...] = (1, 2, 4, 8)
    """Strides of the forced backtracks of Table 3.1."""
    quotas: tuple[int, ...] = (1, 2, 4)
    strides: tuple[int, ...] = (2, 4, 6)
    """Of Tables 3.2 and 3.4."""
    modes: tuple[str, ...] = ("printed", "prompt checked", "refill checked", "released")
    """Readings of Algorithm 1."""
    unseen: int = 2_400
    unseen_repeats: int = 1
    diverse: int = 100
    diverse_draws: int = 10
    rollouts: int = 4_800
    value_rows: int = 8_000
    """Completions, and prefixes of them, that the value is learned from."""
    blocks: tuple[int, ...] = (2, 4, 8)
    """Candidates of block best-of-n."""
    strings: int = 2_000
    """In distribution, for closing accuracy."""
    rows: int = 480
    """That are completed at once."""


@sized(
    Sandbox,
    # Wherever it can be, 40: every other number of strings is another program.
    smoke={
        "length": 8, "shortest": 5, "layers": 1, "width": 16, "heads": 2, "mlp_width": 32,
        "rate": 5e-3, "steps": 100, "watch_every": 50, "kept_at": 0.02, "watched": 40, "members": 2,
        "mistakes": 40, "asked": 12_000, "share": 0.5, "draws": 2, "unseen": 40, "diverse": 8,
        "diverse_draws": 5, "strings": 40, "repeats": 2, "rows": 40, "rollouts": 40,
        "value_rows": 60, "modes": ("printed", "refill checked"), "blocks": (),
    },
    # Twelve generators: see "How many generators" on the study's page.
    laptop={"members": 4, "ensembles": 3},
    paper={
        "layers": 6, "heads": 8, "width": 512, "mlp_width": 1024, "rate": 3e-4, "steps": 9375,
        "watched": 2000, "members": 5, "mistakes": 441, "asked": 100_000, "share": 0.9,
        "repeats": 10, "unseen": 10_000, "unseen_repeats": 5,
    },
)  # fmt: skip
def brackets(config: Sandbox) -> dict[str, Trial]:
    """Ensembles of bracket generators with everything that is measured on them; at smoke they have hardly
    learned, and no claim is judged."""
    from .experiments.dyck import run

    return {f"sandbox {i + 1}": Trial(run, part) for i, part in enumerate(_ensembles(config))}


@dataclass(frozen=True)
class CaseGenerators:
    """How generators of test cases are made; `members` of them.

    Training has two stages. The first reads only the beginnings of texts, which is where copying a
    list is learned at a third of the cost; the second reads whole texts.
    """

    lines: int = 4
    longest: int = 5
    names: int = 20
    misleading: int = 10
    room: int = 120
    """Tokens of a text, header included; longer ones are cut off."""
    beginning: int = 36
    """Tokens of a text in the first stage: the longest line with its header."""
    layers: int = 2
    width: int = 64
    heads: int = 4
    mlp_width: int = 256
    peak: float = 0.02
    """Muon's rate for the matrices of the layers in the first stage; half of it in the second."""
    rest: float = 2e-3
    """Adam's rate for everything else; half of it in the second stage."""
    batch_tokens: int = 1728
    """Of a batch: it has as many texts as there is room for."""
    first_steps: int = 1000
    """Of the first stage; 0 leaves it out."""
    steps: int = 700
    """Of the second stage."""
    corpus: int = 16_384
    """Texts of each member; a quarter of them in the second stage, as whole texts."""
    members: int = 4
    """Generators that are trained together, in one trial."""
    ensembles: int = 1
    """Trials with other seeds."""
    seed: int = 0


GRID = tuple(
    (p, t)
    for p in (1.0, 0.95, 0.9, 0.8, 0.7)
    for t in (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
    if (p, t) not in ((0.95, 1.0), (1.0, 1.0), (1.0, 1.2))
)
"""Baselines of Table 3.13, as (top_p, temperature), but for the three that are arms of their own."""


@dataclass(frozen=True)
class Cases(CaseGenerators):
    """Sizes of what is measured on the generators of test cases."""

    training_texts: int = 800
    """Texts, of the first half of the ordinary names, that verifiers are trained on."""
    examples: int = 400
    """That verifiers are trained on, wrong ones; as many right ones. Fewer if there are fewer."""
    texts: int = 10
    """Of each name."""
    tested_names: int = 10
    """Of the second half of the ordinary names, and as many misleading ones."""
    repetitions: int = 2
    layer: int = 2
    """That the verifier looks at, but for the ablation."""
    depths: tuple[int, ...] = (2, 4, 8)
    probe_width: int = 64
    """Of the hidden layers of deeper probes."""
    blocks: tuple[int, ...] = (2, 4, 8)
    grid: tuple[tuple[float, float], ...] = (
        (1.0, 0.8), (0.95, 0.8), (0.95, 1.2), (0.9, 1.0), (0.9, 1.2), (0.8, 1.2),
    )  # fmt: skip
    """Further baselines, as (top_p, temperature)."""

    def __post_init__(self) -> None:
        for name in ("members", "ensembles", "steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        most = min(self.names - self.names // 2, self.misleading)
        if not 1 <= self.tested_names <= most:
            raise ValueError(
                f"tested_names is {self.tested_names}; with {self.names} ordinary names, half of "
                f"them tested, and {self.misleading} misleading ones it must be in 1..{most}"
            )
        if not 1 <= self.layer <= self.layers:
            raise ValueError(f"layer is {self.layer}; the generators have 1..{self.layers}")


@sized(
    Cases,
    smoke={
        "lines": 1, "longest": 1, "names": 4, "misleading": 2, "room": 24, "layers": 1,
        "width": 16, "heads": 2, "mlp_width": 32, "batch_tokens": 384, "first_steps": 0,
        "steps": 50, "corpus": 2048, "members": 2, "training_texts": 60, "examples": 20,
        "texts": 3, "tested_names": 2, "repetitions": 1, "layer": 1, "depths": (), "blocks": (),
        "grid": (),
    },
    laptop={
        "lines": 8, "room": 224, "layers": 3, "first_steps": 1500, "steps": 1400, "members": 2,
        "ensembles": 4, "training_texts": 480, "repetitions": 1, "grid": GRID,
    },
    paper={
        "lines": 8, "room": 256, "layers": 4, "width": 256, "mlp_width": 1024,
        "batch_tokens": 16_384, "first_steps": 5000, "steps": 5000, "corpus": 65_536,
        "members": 5, "training_texts": 4000, "examples": 2000, "repetitions": 5, "layer": 3,
        "probe_width": 256, "grid": GRID,
    },
)  # fmt: skip
def cases(config: Cases) -> dict[str, Trial]:
    """Ensembles of generators of test cases with every arm; at smoke they have hardly learned, and no
    claim is judged."""
    from .experiments.cases import run

    return {f"cases {i + 1}": Trial(run, part) for i, part in enumerate(_ensembles(config))}


@dataclass(frozen=True)
class CodeTask:
    """Test cases from a pretrained code model; the defaults are the source's sizes."""

    model: str = ""
    """A folder, or a name of the Hugging Face hub; nothing is run without one."""
    device: str = ""
    """Empty: a GPU if there is one."""
    dtype: str = "bfloat16"
    names: int = 10
    texts: int = 10
    """Of each name."""
    seeds: int = 5
    new_tokens: int = 384
    layer: int = 27
    """That verifiers look at: the residual stream after this one of the layers 0, 1, ..."""
    training_names: int = 50
    training_texts: int = 10
    """Of each of these; no name is tested."""
    arms: tuple[str, ...] = ("baseline .95", "guided .95", "block best of 2")
    """Any of `experiments.code_model.ARMS`."""
    seed: int = 0


@sized(
    CodeTask,
    smoke={
        "names": 2, "texts": 1, "seeds": 2, "new_tokens": 32, "training_names": 8,
        "training_texts": 1,
    },
    laptop={"names": 4, "texts": 4, "seeds": 3, "training_names": 20, "training_texts": 4},
    paper={},
)  # fmt: skip
def code_model(config: CodeTask) -> dict[str, Trial]:
    """The arms of a model that the user names; without one there is no trial."""
    if not config.model:
        return {}
    from .experiments.code_model import check_arms, run

    check_arms(config.arms)
    return {"code": Trial(run, config)}
