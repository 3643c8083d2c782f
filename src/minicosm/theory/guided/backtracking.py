"""Algorithm 1, tokenwise rejection with backtracking, exactly: all its states and their probabilities.

Every step appends one token, so mass moves from state to state until every string is complete.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from minicosm.adaptation.checks import check_choice, check_flag, check_real, check_whole
from minicosm.worlds import GuidedWorld, lagged_error
from minicosm.worlds.guided.world import check_tree

from ..checks import real, whole, wholes
from ..signatures import checked
from ..theorem import Theorem
from .closed_forms import lagged_outcome
from .conditions import largest
from .rules import MOST_BITS, log_table

String = tuple[int, ...]
REFILLS = ("argmax", "index", "none")


@dataclass(frozen=True)
class Backtracking:
    """The switches of Algorithm 1; the defaults are as printed.

    `refill`: "argmax" fills the erased places with the likeliest tokens, "none" draws there as everywhere,
    "index" takes the likeliest while fewer tokens stand after the prompt than were erased in all.
    `check_during_refill`: the verifier is asked about refilled tokens too, `check_prompt`: about the prompt.
    `erasable_prompt`: how many of the prompt's last tokens may be erased, None for all.
    `once_per_prefix`: no second backtrack at a prefix. `force_first`: begin with a backtrack.
    """

    quota: int
    stride: int
    threshold: float = 0.5
    refill: Literal["argmax", "index", "none"] = "argmax"
    check_during_refill: bool = False
    check_prompt: bool = False
    erasable_prompt: int | None = 0
    once_per_prefix: bool = False
    force_first: bool = False

    def __post_init__(self) -> None:
        check_whole("quota", self.quota, 0, 2**20)
        check_whole("stride", self.stride, 1)
        check_real("threshold", self.threshold, least=0)
        check_choice("refill", self.refill, REFILLS)
        if self.erasable_prompt is not None:
            check_whole("erasable_prompt", self.erasable_prompt)
        for name in ("check_during_refill", "check_prompt", "once_per_prefix", "force_first"):
            check_flag(name, getattr(self, name))


class BacktrackingOutput(NamedTuple):
    """The law of the string, expected counts, the law of the quota that is left, and the most calls that
    any string takes."""

    law: dict[String, float]
    calls: float
    verifier_calls: float
    backtracks: float
    quota_left: dict[int, float]
    most_calls: int


class _State(NamedTuple):
    string: String
    quota: int
    refill_to: int = 0
    erased: int = 0
    fired: frozenset[String] = frozenset()


@checked(
    log_table=log_table,
    prompt=wholes(lambda given: given["world"].vocab),
    end=lambda name, value, given: (
        None if value is None else check_whole(name, value, 0, given["world"].vocab - 1)
    ),
)
def backtracking(
    world: GuidedWorld,
    log_table: Float[np.ndarray, "levels S"],
    settings: Backtracking,
    *,
    prompt: String = (),
    end: int | None = None,
) -> BacktrackingOutput:
    """The law of the output and expected counts. A prefix is rejected if its score is below the threshold."""
    check_tree(world.vocab, world.horizon)
    prompt = tuple(int(token) for token in prompt)
    if len(prompt) > world.horizon:
        raise ValueError(f"prompt has {len(prompt)} tokens; strings have {world.horizon}")
    erasable = len(prompt) if settings.erasable_prompt is None else settings.erasable_prompt
    least = max(len(prompt) - erasable, 0)
    counts = {"calls": 0.0, "verifier_calls": 0.0, "backtracks": 0.0}

    def check(state: _State, mass: float, ask: bool, force: bool = False) -> _State:
        string = state.string
        ask = ask and not force and state.quota > 0
        counts["verifier_calls"] += mass * ask
        rejected = force
        if ask:
            score = np.exp(log_table[len(string), _automaton(world, string)])
            rejected = bool(score < settings.threshold) and string not in state.fired
        if not rejected:
            return state
        counts["backtracks"] += mass
        kept = min(max(len(string) - settings.stride, least), len(string))
        return _State(
            string[:kept],
            state.quota - 1,
            max(state.refill_to, len(string)),
            state.erased + len(string) - kept,
            state.fired | {string} if settings.once_per_prefix else state.fired,
        )

    law: dict[String, float] = defaultdict(float)
    left: dict[int, float] = defaultdict(float)
    first = check(
        _State(tuple(prompt), settings.quota), 1.0, settings.check_prompt, settings.force_first
    )
    now, rounds = {first: 1.0}, -1  # in the last round no string is left that takes a call
    while now:
        rounds += 1
        later: dict[_State, float] = defaultdict(float)
        for state, mass in now.items():
            string = state.string
            if len(string) >= world.horizon or (len(string) > len(prompt) and string[-1] == end):
                law[string] += mass
                left[state.quota] += mass
                continue
            counts["calls"] += mass
            refilling = {
                "argmax": len(string) < state.refill_to,
                "index": len(string) - len(prompt) < state.erased,
                "none": False,
            }[settings.refill]
            row = np.asarray(world.base)[len(string), _automaton(world, string)]
            row = np.eye(len(row))[int(np.argmax(row))] if refilling else row
            for token in np.flatnonzero(row):
                flow = mass * float(row[token])
                longer = state._replace(string=(*string, int(token)))
                ask = settings.check_during_refill or not refilling
                later[check(longer, flow, ask)] += flow
        now = later
    return BacktrackingOutput(dict(law), quota_left=dict(left), most_calls=rounds, **counts)


def _automaton(world: GuidedWorld, string: String) -> int:
    state = 0
    for h, token in enumerate(string):
        state = int(world.step[h, state, token])
    return state


@checked(log_table=log_table)
def query_count(
    world: GuidedWorld, log_table: Float[np.ndarray, "levels S"], settings: Backtracking
) -> Theorem:
    """No string takes more than `D + Q B` calls: one for each token, and for each that is erased."""
    most = backtracking(world, log_table, settings).most_calls
    bound = world.horizon + settings.quota * settings.stride
    details = {"most": most, "bound": bound}
    name = "calls of Algorithm 1"
    return Theorem.inequality(name, float(bound - most), within=0.0, details=details)


@checked(
    length=whole(1, MOST_BITS),
    position=lambda name, value, given: check_whole(name, value, 1, given["length"]),
    lag=whole(0, None),
    chance=real(least=0, below=0.5),
)
def lagged_errors(
    length: int, position: int, lag: int, chance: float, settings: Backtracking
) -> Theorem:
    """In the lagged-error world accuracy and expected calls of Algorithm 1 are those of `lagged_outcome`."""
    world, log_table = lagged_error(length, position, lag, chance)
    result = backtracking(world, log_table, settings)
    right = sum(mass for string, mass in result.law.items() if string[position - 1] == 0)
    wanted = lagged_outcome(
        length, position, lag, chance,
        quota=settings.quota, stride=settings.stride, refill=settings.refill,
    )  # fmt: skip
    off = 0.0 if wanted.calls is None else abs(result.calls - wanted.calls)
    error = largest(abs(right - wanted.accuracy), off)
    return Theorem.identity("lagged errors", error)
