"""What a training run says while it runs, and how Ctrl-C reaches it."""

import inspect
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

Reporter = Callable[[int, int], None] | Callable[[int, int, str], None]


class Stopped(KeyboardInterrupt):
    """Ctrl-C ended training after a whole chunk: `params` and `history` are as they were there.

    A KeyboardInterrupt, so that a half-trained model is never taken for a result unless asked for.
    """

    def __init__(self, params: Any, history: dict[str, np.ndarray], done: int, steps: int):
        super().__init__(f"stopped after {done} of {steps} steps")
        self.params, self.history = params, history


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
