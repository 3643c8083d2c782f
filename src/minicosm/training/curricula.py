"""Which teacher a student follows at which step: one, or the checkpoints of a teacher's training in turn."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from minicosm.models.checks import check_count, check_number
from minicosm.worlds.arrays import AnyArray, check_whole_numbers

LABELS = -1
"""In the place of a checkpoint: the student follows the labels."""
NEVER = 2**31 - 1
MOST = 2**20
"""Segments of a curriculum, and checkpoints."""


class Curriculum(eqx.Module):
    """Checkpoint `which[s]` (or `LABELS`) up to step `until[s]`, s = 0, 1, ...; the last one to the end.

    Numbers count the checkpoints of a trajectory from 0.
    """

    which: Int[AnyArray, "*stack segments"]
    until: Int[AnyArray, "*stack segments"]

    def __init__(self, which: Sequence[int], durations: Sequence[int] = ()):
        """`durations` has a number of steps for each but the last."""
        numbers = np.asarray(check_whole_numbers("which", which, LABELS, NEVER - 1, (None,)))
        if not len(numbers):
            raise ValueError("which is empty; a student follows at least one checkpoint")
        steps = check_whole_numbers("durations", durations, 1, NEVER - 1, (len(numbers) - 1,))
        self.which = numbers.astype(np.int32)
        ends = np.cumsum(np.asarray(steps), dtype=np.int64)
        if len(ends) and ends[-1] >= NEVER:
            raise ValueError(f"durations sum to {ends[-1]}; they must sum to less than 2^31")
        self.until = np.append(ends, NEVER).astype(np.int32)

    def at(self, step: Int[AnyArray, "*n"] | int) -> Int[Array, "*n"]:
        """The checkpoint that is followed at a step."""
        step = jnp.asarray(check_whole_numbers("step", step, 0, NEVER - 1))
        segment = jnp.searchsorted(jnp.asarray(self.until), step, side="right")
        return jnp.asarray(self.which)[segment]

    @property
    def used(self) -> tuple[int, ...]:
        """The checkpoints that are followed, in order, without the labels."""
        return tuple(sorted({int(i) for i in np.ravel(self.which)} - {LABELS}))

    def among(self, used: Sequence[int], segments: int) -> "Curriculum":
        """The same curriculum with checkpoints numbered by their place in `used`, and with `segments`
        segments, the last repeated: so curricula of many students have one shape."""
        numbers = np.asarray(check_whole_numbers("used", used, 0, NEVER - 1, (None,))).tolist()
        places = {i: place for place, i in enumerate(numbers)} | {LABELS: LABELS}
        missing = [int(i) for i in self.which if int(i) not in places]
        if missing:
            raise ValueError(f"used is {numbers}; it lacks the checkpoint {missing[0]}")
        if not len(self.which) <= check_count("segments", segments) <= MOST:
            raise ValueError(
                f"segments is {segments}; it must be in {len(self.which)}..{MOST}, as this curriculum has "
                f"{len(self.which)}"
            )
        more = segments - len(self.which)
        which = np.pad([places[int(i)] for i in self.which], (0, more), mode="edge")
        until = np.pad(np.asarray(self.until), (0, more), constant_values=NEVER)
        return eqx.tree_at(
            lambda c: (c.which, c.until), self, (which.astype(np.int32), until.astype(np.int32))
        )


def labels_only() -> Curriculum:
    """No teacher."""
    return Curriculum([LABELS])


def one_shot(checkpoints: int) -> Curriculum:
    """The last of so many checkpoints, always."""
    if check_count("checkpoints", checkpoints) > MOST:
        raise ValueError(f"checkpoints is {checkpoints}; it must be at most {MOST}")
    return Curriculum([checkpoints - 1])


def two_shot(checkpoint: int, steps: int, final: int) -> Curriculum:
    """One intermediate checkpoint for `steps` steps, then the final one (or `LABELS`): schedule (2, T)."""
    return Curriculum(
        [_number("checkpoint", checkpoint), _number("final", final)], [_duration("steps", steps)]
    )


def progressive(checkpoints: Sequence[int], steps: int) -> Curriculum:
    """These checkpoints in turn, each for `steps` steps, and the last to the end: Definition 22."""
    chosen = _numbers(checkpoints)
    return Curriculum(chosen, [_duration("steps", steps)] * (len(chosen) - 1))


def equal_split(checkpoints: Sequence[int], horizon: int) -> Curriculum:
    """These N checkpoints in turn, each for `horizon // N` steps, the last to the end."""
    chosen = _numbers(checkpoints)
    if _duration("horizon", horizon) < len(chosen):
        raise ValueError(f"horizon is {horizon}; {len(chosen)} checkpoints need a step each")
    return progressive(chosen, horizon // len(chosen))


def kappa_split(
    checkpoints: Sequence[int], kappa: float, teacher_steps: int, horizon: int
) -> Curriculum:
    """These N checkpoints in turn, each for `kappa T0 / N` steps, with T0 the teacher's own; those that do
    not leave the last one a step of the horizon are skipped, and the last is followed to the end. With kappa
    to 0 one-shot."""
    chosen = _numbers(checkpoints)
    check_number("kappa", kappa, above=0)
    each = int(kappa * _duration("teacher_steps", teacher_steps) / len(chosen))
    _duration("horizon", horizon)
    if each < 1:
        return Curriculum(chosen[-1:])
    fit = min(len(chosen) - 1, (horizon - 1) // each)
    return Curriculum([*chosen[:fit], chosen[-1]], [each] * fit)


def _duration(name: str, steps: int) -> int:
    """A number of steps."""
    if check_count(name, steps) >= NEVER:
        raise ValueError(f"{name} is {steps}; it must be less than 2^31")
    return int(steps)


def _number(name: str, value: int) -> int:
    return int(np.asarray(check_whole_numbers(name, value, LABELS, NEVER - 1, ())))


def _numbers(checkpoints: Sequence[int]) -> list[int]:
    """Numbers of at least one checkpoint."""
    found = check_whole_numbers("checkpoints", checkpoints, LABELS, NEVER - 1, (None,))
    if not len(found):
        raise ValueError("checkpoints is empty; a student follows at least one checkpoint")
    return np.asarray(found).tolist()
