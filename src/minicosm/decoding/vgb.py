"""VGB (Algorithm 2): a lazy random walk on the tree of prefixes, weighted by the verifier."""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.worlds.arrays import check_count, check_kind, check_size

from . import rows as r
from .settings import Draw, as_count, as_number, check_flags, check_text, traced
from .tokenwise import REDRAWS
from .trace import Status, Trace
from .truncation import choose, truncate

Output = Literal["last", "uniform", "first_leaf"]
OUTPUTS = get_args(Output)
Proposals = Literal["none", "repeat", "hold"]
PROPOSALS = get_args(Proposals)
UP, STAY, NOTHING, RESTART = -1, -2, -3, -4
FOREVER = 2**30


class Walk(NamedTuple):
    """Where the walk is in time."""

    time: Int[Array, ""]
    stop: Int[Array, ""]
    awake: Bool[Array, ""]
    """Proposals that are repeated: the walk has decided to move and looks for where to."""
    refused: Int[Array, ""]
    moves: Int[Array, ""]
    written: Int[Array, ""]
    """Entries of the path."""
    path: Int[Array, " record"]


@traced
@dataclass(frozen=True, kw_only=True)
class VGB(Draw):
    """From the prompt, `steps` times: stay with probability 1/2, or else move to a neighbour.

    The parent of u has the weight V(u) (none at the prompt), the child ua the weight O(a|u) V(ua)
    (none at a complete string, a "leaf"). `output` is "last", the string after T steps; "uniform",
    the string after a number of steps that is uniform on 1..T; or "first_leaf". A string that is no
    leaf is walked again from the prompt with `rerun`; else the row's status is INTERIOR. If no child
    of the prompt has a positive weight the row has FAILED.

    A step that moves costs one law and V scores, at a leaf nothing: scores of strings that were
    reached are known. With `proposals` the children are not enumerated, and a proposed child costs one
    law and one score. "repeat": parent or a child drawn from O(.|u), with probability 1/2 each, is
    accepted with probability V / `envelope`, and proposed anew until one is; the law is the same.
    "hold" is another walk, with the same law of leaves in the end: a step goes up with probability
    1 / 2M, to the child ua with probability `O(a|u) V(ua) / (2 M V(u))`, and else stays, where M is the
    `envelope`, at least 1 and at least every V(ua) / V(u). It needs the prompt's own score, positive.
    """

    output: Output = field(default="last", metadata={"texts": OUTPUTS})
    steps: int | None = None
    """T; for "first_leaf" None means as many as it takes."""
    rerun: bool = True
    lazy: bool = True
    """Without it the walk always moves: first leaves have the same law in half the steps. Nothing to
    "hold"."""
    proposals: Proposals = field(default="none", metadata={"fixed": True, "texts": PROPOSALS})
    envelope: float = 1.0
    redraws: int = REDRAWS
    """Proposals that are repeated: after this number of refused children of one string the row has
    FAILED."""
    record: int = field(default=0, metadata={"fixed": True})
    """How many moves of a row the trace keeps."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text(self, "output")
        check_text(self, "proposals")
        if self.steps is not None:
            as_count(self, "steps")
        elif self.output != "first_leaf":
            raise ValueError(f"steps is None; the output {self.output!r} needs a number of steps")
        as_number(self, "envelope", least=1 if self.proposals == "hold" else 0)
        as_count(self, "redraws")
        as_count(self, "record", least=0)
        check_flags(self, "rerun", "lazy")

    @property
    def needs_verifier(self) -> bool:
        return True

    def cost(self, row: r.Row, vocab: int) -> tuple[Any, Any]:
        first = row.steps == 0
        return 1, {"none": vocab, "repeat": 1, "hold": jnp.where(first, 2, 1)}[self.proposals]

    def start(self, task: r.Task, row: r.Row) -> Walk:
        zero = jnp.int32(0)
        check_size(f"a record of {self.record} moves", self.record)
        path = jnp.full(self.record, NOTHING, jnp.int32)
        return Walk(zero, zero, jnp.bool_(False), zero, zero, zero, path)

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        numbers = jax.random.uniform(key, (5,))
        walk: Walk = row.own
        steps = jnp.asarray(FOREVER if self.steps is None else self.steps, jnp.int32)
        drawn = 1 + jnp.floor(numbers[0] * steps).astype(jnp.int32)
        drawn = jnp.where((walk.time == 0) & ~walk.awake, drawn, walk.stop)
        stop = jnp.where(self.output == OUTPUTS.index("uniform"), drawn, steps)
        row = row._replace(own=walk._replace(stop=stop))
        goes = ~(self.lazy & ~walk.awake & (numbers[1] < 0.5))
        if self.proposals == "none":
            row = self._move(task, row, numbers[2:], goes)
        elif self.proposals == "repeat":
            row = self._propose(task, row, numbers[2:], goes)
        else:
            row = self._hold(task, row, numbers[2:])
        return self._output(task, row)

    def _move(
        self, task: r.Task, row: r.Row, numbers: Float[Array, " 3"], goes: Bool[Array, ""]
    ) -> r.Row:
        """Choose among all neighbours."""
        root, leaf = row.n <= task.prompt_length, r.is_full(task, row)
        here, row = r.score(task, row, False, probability=False)
        log_law, row = r.law(task, row, goes & ~leaf)
        values, row = r.children(task, row, goes & ~leaf)
        up = jnp.where(root, 0, here)
        down = jnp.where(leaf, 0, jnp.exp(truncate(log_law, self)) * values)
        weights = jnp.concatenate([up[None], down])
        stuck = goes & ~(jnp.sum(weights) > 0)
        choice = choose(numbers[0], weights)
        rises, falls = goes & ~stuck & (choice == 0), goes & ~stuck & (choice > 0)
        shorter = row.n - 1
        row = r.append(task, row, choice - 1, falls)
        row = r.finish(r.back(row, shorter, rises), Status.FAILED, stuck)
        return self._count(row, jnp.where(goes, choice - 1, STAY), jnp.bool_(True))

    def _propose(
        self, task: r.Task, row: r.Row, numbers: Float[Array, " 3"], goes: Bool[Array, ""]
    ) -> r.Row:
        """Propose one neighbour."""
        root, leaf = row.n <= task.prompt_length, r.is_full(task, row)
        here, row = r.score(task, row, False, probability=False)
        here = jnp.where(root, 0, here)
        # Parents that are refused cost nothing: this is the first proposal that is none. A leaf has but
        # a parent.
        up = goes & jnp.where(leaf, here > 0, numbers[1] * (self.envelope + here) < here)
        child = goes & ~up & ~leaf
        log_law, row = r.law(task, row, child)
        before, token = row.n, choose(numbers[0], jnp.exp(truncate(log_law, self)))
        row = r.append(task, row, token, child)
        there, row = r.score(task, row, child, probability=False)
        largest = jnp.where(child, jnp.maximum(here, there), here)
        row = r.note_fault(row, r.ABOVE_ENVELOPE, goes & (largest > self.envelope * r.ONE))
        accepted = up | (child & (numbers[2] * self.envelope < there))
        row = row._replace(n=jnp.where(accepted, row.n, before))
        row = r.back(row, before - 1, up)
        refused = jnp.where(goes & ~accepted, row.own.refused + 1, 0)
        awake = goes & ~accepted
        row = row._replace(own=row.own._replace(awake=awake, refused=refused))
        row = r.finish(row, Status.FAILED, refused >= self.redraws)
        return self._count(row, jnp.where(goes, jnp.where(up, UP, token), STAY), ~awake)

    def _hold(self, task: r.Task, row: r.Row, numbers: Float[Array, " 3"]) -> r.Row:
        """Propose one neighbour once."""
        root, leaf = row.n <= task.prompt_length, r.is_full(task, row)
        here, row = r.score(task, row, row.steps == 0, probability=False)
        lost = root & ~(here > 0)
        up = numbers[1] < 0.5
        child = ~up & ~leaf & ~lost
        log_law, row = r.law(task, row, child)
        before, token = row.n, choose(numbers[0], jnp.exp(truncate(log_law, self)))
        row = r.append(task, row, token, child)
        there, row = r.score(task, row, child, probability=False)
        bound = self.envelope * here
        row = r.note_fault(row, r.ABOVE_ENVELOPE, child & (there > bound * r.ONE))
        falls = child & (numbers[2] * bound < there)
        rises = up & ~root & (numbers[2] * self.envelope < 1)
        row = row._replace(n=jnp.where(falls, row.n, before))
        row = r.finish(r.back(row, before - 1, rises), Status.FAILED, lost)
        return self._count(row, jnp.where(rises, UP, jnp.where(falls, token, STAY)), ~lost)

    def _count(self, row: r.Row, move: Int[Array, ""], moved: Bool[Array, ""]) -> r.Row:
        walk = self._write(row.own, move, moved)
        return row._replace(own=walk._replace(time=walk.time + moved, moves=walk.moves + moved))

    def _write(self, walk: Walk, entry: Int[Array, ""] | int, when: Bool[Array, ""]) -> Walk:
        here = (jnp.arange(self.record) == walk.written) & when
        return walk._replace(
            path=jnp.where(here, entry, walk.path), written=walk.written + jnp.int32(when)
        )

    def _output(self, task: r.Task, row: r.Row) -> r.Row:
        """End the walk, or begin it again."""
        walk, leaf = row.own, r.is_full(task, row)
        over = (walk.time >= walk.stop) & ~walk.awake & (row.status == Status.RUNNING)
        first = self.output == OUTPUTS.index("first_leaf")
        row = r.finish(row, Status.DONE, (over | first) & leaf)
        row = r.finish(row, Status.INTERIOR, over & ~leaf & ~jnp.asarray(self.rerun))
        again = over & ~leaf & self.rerun
        walk = self._write(walk, RESTART, again)
        walk = walk._replace(time=jnp.where(again, 0, walk.time))
        return row._replace(own=walk, n=jnp.where(again, task.prompt_length, row.n))

    def report(self, rows: r.Row) -> dict[str, Any]:
        walk: Walk = rows.own
        return {"moves": walk.moves} | ({"path": walk.path} if self.record else {})


def distinct_prefixes(
    trace: Trace, *, length: int, end: int | None = None
) -> Int[np.ndarray, " n"]:
    """How many different unfinished strings the walk of each row moved away from: the prefixes whose laws
    VGB asks for if it remembers them. `length` and `end` as they were given to `sample`.

    The trace must have the whole walk: a `record` of at least the moves and reruns of every row.
    """
    check_kind("trace", trace, Trace, "a Trace")
    check_count("length", length)
    if end is not None:
        check_count("end", end, least=0)
    if trace.path is None or (trace.path[:, -1] != NOTHING).any():
        kept = 0 if trace.path is None else trace.path.shape[1]
        raise ValueError(f"the trace keeps {kept} moves of a walk; a larger record is needed")
    counts = np.zeros(len(trace), int)
    for row, moves in enumerate(trace.path):
        prompt = tuple(trace.tokens[row, : trace.prompt_lengths[row]].tolist())
        string, left = prompt, set()
        for move in moves[moves != NOTHING].tolist():
            if move == RESTART:
                string = prompt
            elif move != STAY:
                if len(string) < length and string[-1:] != (end,):
                    left.add(string)
                string = string[:-1] if move == UP else (*string, move)
        counts[row] = len(left)
    return counts
