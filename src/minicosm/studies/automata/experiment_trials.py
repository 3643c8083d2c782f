"""Configurations of trained models, and how large each profile makes them; exact suites are in `trials`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from minicosm.lab import Trial, sized

ModelName = Literal["transformer", "scratchpad", "lstm"]
Positions = Literal["sinusoidal", "linear", "none", "shift", "recency"]


@dataclass(frozen=True)
class Training:
    """One arm: `members` models with weights and strings of their own, trained as one ensemble."""

    seed: int = 0
    task: str = "C_2"
    """What is simulated and what is seen of it; see `experiments.tasks`."""
    model: ModelName = "transformer"
    layers: int = 2
    positions: Positions = "sinusoidal"
    """"shift": sinusoidal from a whole number that is drawn for every batch from 0..2 length on;
    "recency": none, and ALiBi's slopes on the attention logits."""
    reveal: float = 1.0
    """The probability that a label is given."""
    length: int = 20
    members: int = 3
    steps: int = 1500
    batch: int = 64
    rate: float = 1e-3
    lstm_rate: float = 3e-3
    width: int = 64
    mlp_width: int = 256
    heads: int = 4
    init_std: float = 0.1
    hidden: int = 64
    """Of an LSTM, whose embeddings have `embedding` entries."""
    embedding: int = 64
    symbols: int = 4
    states: int = 8
    """Tables are padded to this many symbols and states, so that arms share a compiled program."""
    depth: int = 4
    """Of the brackets."""
    tests: int = 512
    """Strings of twice the length on which every member is judged."""
    chances: tuple[float, ...] = ()
    """Of a one, at which parity is tested besides."""
    counts: int = 0
    """Strings with m ones, for each m = 0..length, on which parity is tested besides."""
    attention: bool = False
    """Whether heads are looked at."""
    windows: tuple[int, ...] = ()
    """Numbers of last symbols for which the best accuracy is computed."""


TASKS = ("C_2", "Grid_4", "D_6", "D_8", "Q_8")
"""The tasks of the depth table at laptop size, easiest first."""
SOURCE_TASKS = (
    "Dyck_4,2", "Grid_4", "Grid_9", "C_2", "C_3", "C_4", "C_5", "C_6", "C_7", "C_8", "C_2^2", "C_2^3", "D_6",
    "D_8", "Q_8", "A_4", "A_5", "S_4", "S_5",
)  # fmt: skip
CHANCES = tuple(round(0.05 * i, 2) for i in range(1, 20))


@dataclass(frozen=True)
class Arms:
    """Sizes of trained models. How many members a claim needs is on the study's page."""

    seed: int
    tasks: tuple[str, ...] = TASKS
    """Rows of the depth table."""
    depths: tuple[int, ...] = (1, 2, 3)
    """Its columns."""
    short: int = 12
    """Length of its strings, and of those with sparse labels of D_6."""
    length: int = 20
    """Length of all others."""
    layers: int = 2
    """Layers of all others, but for the sparse labels of D_6, which have `deep`."""
    deep: int = 3
    members: int = 3
    """Of the depth table, of labels that are indirect or sparse, and of brackets with a scratchpad."""
    lengths_members: int = 4
    """Of what is judged at longer lengths."""
    many: int = 6
    """Of plain models of parity, and of the gridworlds."""
    steps: int = 1500
    grid_steps: int = 1200
    scratchpad_steps: int = 1000
    lstm_steps: int = 1000
    """Of an LSTM; one with sparse labels has `steps`."""
    parity_positions: bool = False
    """Whether parity is also trained with shifted positions and without any; at laptop size neither
    learns."""
    size: Literal["tiny", "small", "source"] = "small"
    """Tiny: as small as models can be. Source: widths, rates and batches of the source."""

    def __post_init__(self) -> None:
        for name in MEMBERS:
            if getattr(self, name) < 2:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; an interval needs at least 2 members"
                )
        for name in (*STEPS, "short", "length", "layers", "deep"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for task in self.tasks:
            if task not in (*TASKS, *SOURCE_TASKS, *STAY.values()):
                known = ", ".join(SOURCE_TASKS)
                raise ValueError(f"tasks has {task!r}; there are {known}")
        if not self.tasks or not self.depths or not all(depth >= 1 for depth in self.depths):
            raise ValueError(
                f"depths are {self.depths} and tasks {self.tasks}; there must be one of each at least, "
                "and depths of at least 1"
            )


MEMBERS = ("members", "lengths_members", "many")
STEPS = ("steps", "grid_steps", "scratchpad_steps", "lstm_steps")
STAY = {"D_6": "D_6 with a no-op", "D_8": "D_8 with a no-op"}

PARITY, PARITY_SHIFT, PARITY_NONE = "parity", "parity, shifted positions", "parity, no positions"
PARITY_PAD, PARITY_RECENCY = "parity, scratchpad", "parity, scratchpad and recency"
PARITY_LSTM, PARITY_SPARSE = "parity, LSTM", "parity, 10% of labels"
GRID, GRID_LINEAR = "Grid_4", "Grid_4, linear positions"
DYCK, DYCK_SHIFT, DYCK_NONE = "Dyck", "Dyck, shifted positions", "Dyck, no positions"
DYCK_RECENCY, DYCK_LSTM = "Dyck, scratchpad and recency", "Dyck, LSTM"
SPARSE, LSTM, LSTM_SPARSE = "D_6, 3% of labels", "D_6, LSTM", "D_6, LSTM, 3% of labels"
BOUNDARY, ABAB, ZERO = "Grid_4, boundary", "(abab)*, accepted", "C_4, zero"

_PAD = {"model": "scratchpad", "steps": "scratchpad_steps", "members": "lengths_members"}
_RECURRENT = {"model": "lstm", "steps": "lstm_steps", "members": "lengths_members"}
_PLAIN = {"members": "many", "counts": 64, "chances": CHANCES}
_BRACKETS = {"task": "Dyck", "members": "lengths_members", "states": 32}
_SPARSE = {"task": "D_6", "length": "short"}
ARMS: dict[str, dict[str, Any]] = {
    PARITY: _PLAIN,
    PARITY_SHIFT: _PLAIN | {"positions": "shift"},
    PARITY_NONE: _PLAIN | {"positions": "none"},
    PARITY_PAD: _PAD,
    PARITY_RECENCY: _PAD | {"positions": "recency", "chances": CHANCES},
    PARITY_LSTM: _RECURRENT | {"chances": CHANCES},
    PARITY_SPARSE: {"reveal": 0.1},
    GRID: {"task": "Grid_4", "members": "many", "steps": "grid_steps", "attention": True},
    GRID_LINEAR: {
        "task": "Grid_4", "members": "many", "steps": "grid_steps", "attention": True, "positions": "linear",
    },
    DYCK: _BRACKETS,
    DYCK_SHIFT: _BRACKETS | {"positions": "shift"},
    DYCK_NONE: _BRACKETS | {"positions": "none"},
    DYCK_RECENCY: _BRACKETS | _PAD | {"positions": "recency", "members": "members"},
    DYCK_LSTM: _BRACKETS | _RECURRENT,
    SPARSE: _SPARSE | {"layers": "deep", "reveal": 0.03},
    LSTM: _SPARSE | {"model": "lstm"},
    LSTM_SPARSE: _SPARSE | {"model": "lstm", "reveal": 0.03},
    BOUNDARY: {"task": BOUNDARY},
    ABAB: {"task": ABAB},
    ZERO: {"task": ZERO},
}  # fmt: skip
"""What an arm changes of `Training`; members, steps, length and layers are the fields of `Arms` named."""

TINY: dict[str, Any] = {
    "width": 16, "mlp_width": 16, "heads": 2, "hidden": 8, "embedding": 8, "batch": 4, "tests": 32,
    "depth": 2, "states": 8,
}  # fmt: skip
SOURCE: dict[str, Any] = {
    "width": 512, "mlp_width": 512, "heads": 8, "batch": 16, "rate": 1e-4, "init_std": 0.02, "hidden": 128,
    "tests": 2048, "states": 128, "symbols": 8,
}  # fmt: skip


def cell(task: str, depth: int) -> str:
    """The name of a cell of the depth table."""
    return f"{task}, {depth} {'layer' if depth == 1 else 'layers'}"


def arms(
    *names: str, cells: tuple[tuple[str, int | str], ...] = (), table: bool = False
) -> Callable[..., Mapping[str, Trial]]:
    """The trials of these arms, by name (see `ARMS`), and of cells of the depth table: those given, if
    their depth is trained (a depth may be a field of `Arms`), or with `table` all. With cells there is always
    the gridworld at two layers, which says whether the recipe works."""

    @sized(
        Arms,
        smoke=dict.fromkeys(MEMBERS, 2)
        | dict.fromkeys(STEPS, 10)
        | {"size": "tiny", "short": 8, "length": 8, "deep": 2, "depths": (1, 2)},
        laptop={},
        paper={"tasks": SOURCE_TASKS, "depths": tuple(range(1, 17)), "short": 100, "length": 40}
        | {"layers": 8, "deep": 8, "parity_positions": True, "size": "source"}
        | dict.fromkeys(MEMBERS, 20)
        | dict.fromkeys(STEPS, 60_000),
    )
    def trials(config: Arms) -> dict[str, Trial]:
        wanted = [
            (task, getattr(config, depth) if isinstance(depth, str) else depth)
            for task, depth in cells
            if isinstance(depth, str) or depth in config.depths
        ]
        if table:
            wanted += [(task, depth) for depth in config.depths for task in config.tasks]
            wanted += [(STAY[task], 2) for task in STAY if task in config.tasks]
        if wanted or cells:
            wanted.append(("Grid_4", 2))
        made = {
            cell(task, depth): _trial(
                config, task=task, layers=depth, length="short", windows=(4, 6, 8)
            )
            for task, depth in wanted
        }
        for name in names:
            if config.parity_positions or name not in (PARITY_SHIFT, PARITY_NONE):
                made[name] = _trial(config, **ARMS[name])
        return made

    return trials


def _trial(config: Arms, **fields: Any) -> Trial:
    from .experiments import training

    given = {name: name for name in ("members", "steps", "length", "layers")} | fields
    sizes = {"tiny": TINY, "small": {}, "source": SOURCE}[config.size]
    if config.size == "tiny" and "chances" in given:
        given["chances"] = (0.05, 0.5, 0.95)
    if config.size == "tiny" and "counts" in given:
        given["counts"] = 4
    if given.get("model") == "lstm":  # one size of batch in the source
        sizes = {name: value for name, value in sizes.items() if name != "batch"}
    for name in ("members", "steps", "length", "layers"):
        if isinstance(given[name], str):
            given[name] = getattr(config, given[name])
    return Trial(training.run, Training(**(given | sizes), seed=config.seed))
