"""What a training run says while it runs, and how Ctrl-C reaches it."""

import inspect
import os
import signal
import threading
from typing import Any

import numpy as np
from jaxtyping import Int

from .settings import Reporter

LEAST = 1e-6  # seconds of a chunk: clocks may stand still


class Stopped(KeyboardInterrupt):
    """Ctrl-C ended training after a whole chunk: `params` and `history` are as they were there.

    A KeyboardInterrupt, so that a half-trained model is never taken for a result unless asked for.
    """

    def __init__(self, params: Any, history: dict[str, np.ndarray], done: int, steps: int):
        super().__init__(f"stopped after {done} of {steps} steps")
        self.params, self.history = params, history


class Diverged(ArithmeticError):
    """The loss was NaN or infinite: `step` is the first such step (counted from 0), `history` ends with
    the chunk that holds it, `members` are those of an ensemble (None: it is no ensemble)."""

    def __init__(self, bad: Int[np.ndarray, "*members"], done: int, history: dict[str, np.ndarray]):
        self.step, self.history = int(bad[bad >= 0].min()), history
        self.members = [int(m) for m in np.flatnonzero(bad >= 0)] if bad.ndim else None
        whose = ""
        if self.members:
            more = ", ..." if len(self.members) > 5 else ""
            which = ", ".join(map(str, self.members[:5])) + more
            whose = f" of {len(self.members)} of {len(bad)} members ({which})"
        super().__init__(
            f"the loss{whose} is NaN or infinite, first at step {self.step}: "
            "lower the rate, or give finite=False to go on"
        )


class CtrlC:
    """While active, the first Ctrl-C sets `pressed` and the second interrupts at once.

    Only where Ctrl-C has Python's default meaning: in the main thread, with no other handler set.
    """

    pressed = False

    def __enter__(self) -> "CtrlC":
        main = threading.current_thread() is threading.main_thread()
        self.ours = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self.ours:
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if self.ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _press(self, *_: object) -> None:
        self.pressed = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # print() may be what was interrupted, and cannot be entered twice.
        os.write(2, b"\nstopping at the end of this chunk; Ctrl-C again stops at once\n")


def tell(
    report: Reporter, done: int, steps: int, length: int, seconds: float, row: dict[str, np.ndarray]
) -> None:
    """Call `report(done, steps)`, with the note on the last chunk if it takes a third argument."""
    try:
        inspect.signature(report).bind(done, steps, "")
    except TypeError:
        report(done, steps)  # type: ignore[call-arg]
        return
    except ValueError:  # a builtin without a signature
        pass
    report(done, steps, note(row, length, seconds, steps - done))  # type: ignore[call-arg]


def note(row: dict[str, np.ndarray], length: int, seconds: float, left: int) -> str:
    """Means over the members of a chunk of `length` steps that took `seconds` seconds:
    `loss 1.2345, excess 0.0312, 52,000 tokens/s, 3 min 20 s left`."""
    seconds = max(seconds, LEAST)
    parts = [f"{name} {np.mean(row[name]):.4f}" for name in ("loss", "excess") if name in row]
    if "tokens" in row:
        parts.append(f"{np.sum(row['tokens']) * length / seconds:,.0f} tokens/s")
    else:
        parts.append(f"{length / seconds:,.0f} steps/s")
    return ", ".join([*parts, f"{_duration(seconds / length * left)} left"])


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
