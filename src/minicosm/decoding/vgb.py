"""VGB (Algorithm 2): a lazy random walk on the tree of prefixes, weighted by the verifier."""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.worlds.arrays import check_count

from . import rows as r
from .settings import Draw, as_number, check_text, traced
from .tokenwise import REDRAWS
from .trace import Status
from .truncation import choose, truncate

Output = Literal["last", "uniform", "first_leaf"]
OUTPUTS = get_args(Output)
UP, STAY, NOTHING = -1, -2, -3
FOREVER = 2**30


class Walk(NamedTuple):
    """Where the walk is in time."""

    time: Int[Array, ""]
    stop: Int[Array, ""]
    awake: Bool[Array, ""]
    """Proposals: the walk has decided to move and looks for where to."""
    refused: Int[Array, ""]
    moves: Int[Array, ""]
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
    reached are known. With `proposals` the children are not enumerated: parent or a child drawn from
    O(.|u), with probability 1/2 each, is accepted with probability V / `envelope`, and proposed anew
    until one is. The law is the same; a proposed child costs one law and one score.
    """

    output: Output = field(default="last", metadata={"texts": OUTPUTS})
    steps: int | None = None
    """T; for "first_leaf" None means as many as it takes."""
    rerun: bool = True
    lazy: bool = True
    """Without it the walk always moves: first leaves have the same law in half the steps."""
    proposals: bool = field(default=False, metadata={"fixed": True})
    envelope: float = 1.0
    redraws: int = REDRAWS
    """Proposals: after so many refusals at one string the row has FAILED."""
    record: int = field(default=0, metadata={"fixed": True})
    """How many moves of a row the trace keeps."""

    def __post_init__(self):
        super().__post_init__()
        check_text(self, "output")
        if self.steps is not None:
            check_count("steps", self.steps)
        elif self.output != "first_leaf":
            raise ValueError(f"steps is None; the output {self.output!r} needs a number of steps")
        as_number(self, "envelope", least=0)
        check_count("redraws", self.redraws)
        check_count("record", self.record, least=0)

    @property
    def needs_verifier(self) -> bool:
        return True

    def cost(self, vocab: int) -> tuple[int, int]:
        return 1, 1 if self.proposals else vocab

    def start(self, task: r.Task, row: r.Row) -> Walk:
        zero = jnp.int32(0)
        path = jnp.full(self.record, NOTHING, jnp.int32)
        return Walk(zero, zero, jnp.bool_(False), zero, zero, path)

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        numbers = jax.random.uniform(key, (5,))
        walk: Walk = row.own
        steps = jnp.asarray(FOREVER if self.steps is None else self.steps, jnp.int32)
        drawn = 1 + jnp.floor(numbers[0] * steps).astype(jnp.int32)
        drawn = jnp.where((walk.time == 0) & ~walk.awake, drawn, walk.stop)
        stop = jnp.where(self.output == OUTPUTS.index("uniform"), drawn, steps)
        row = row._replace(own=walk._replace(stop=stop))
        rests = self.lazy & ~walk.awake & (numbers[1] < 0.5)
        row = (self._propose if self.proposals else self._move)(task, row, numbers[2:], ~rests)
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
        up = numbers[1] < 0.5
        child = goes & ~up & ~leaf
        here, row = r.score(task, row, False, probability=False)
        log_law, row = r.law(task, row, child)
        before, token = row.n, choose(numbers[0], jnp.exp(truncate(log_law, self)))
        row = r.append(task, row, token, child)
        there, row = r.score(task, row, child, probability=False)
        weight = jnp.where(up, jnp.where(root, 0, here), jnp.where(leaf, 0, there))
        row = r.blame(row, r.ABOVE_ENVELOPE, goes & (weight > self.envelope * r.ONE))
        accepted = goes & (numbers[2] * self.envelope < weight)
        row = row._replace(n=jnp.where(accepted, row.n, before))
        row = r.back(row, before - 1, accepted & up)
        refused = jnp.where(goes & ~accepted, row.own.refused + 1, 0)
        awake = goes & ~accepted
        row = row._replace(own=row.own._replace(awake=awake, refused=refused))
        row = r.finish(row, Status.FAILED, refused >= self.redraws)
        return self._count(row, jnp.where(goes, jnp.where(up, UP, token), STAY), ~awake)

    def _count(self, row: r.Row, move: Int[Array, ""], moved: Bool[Array, ""]) -> r.Row:
        walk: Walk = row.own
        here = (jnp.arange(self.record) == walk.moves) & moved
        path = jnp.where(here, move, walk.path)
        walk = walk._replace(time=walk.time + moved, moves=walk.moves + moved, path=path)
        return row._replace(own=walk)

    def _output(self, task: r.Task, row: r.Row) -> r.Row:
        """End the walk, or begin it again."""
        walk, leaf = row.own, r.is_full(task, row)
        over = (walk.time >= walk.stop) & ~walk.awake & (row.status == Status.RUNNING)
        first = self.output == OUTPUTS.index("first_leaf")
        row = r.finish(row, Status.DONE, (over | first) & leaf)
        row = r.finish(row, Status.INTERIOR, over & ~leaf & ~jnp.asarray(self.rerun))
        again = over & ~leaf & self.rerun
        walk = walk._replace(time=jnp.where(again, 0, walk.time))
        return row._replace(own=walk, n=jnp.where(again, task.prompt_length, row.n))

    def report(self, own: Walk) -> dict[str, Any]:
        return {"moves": own.moves} | ({"path": own.path} if self.record else {})
