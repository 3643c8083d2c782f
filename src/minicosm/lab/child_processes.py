"""Processes that this one starts: Ctrl-C is for us, which end them, and they end with us."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import multiprocessing.resource_tracker
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator


@contextlib.contextmanager
def without_ctrl_c() -> Iterator[None]:
    """A process that is started here meets no Ctrl-C until it says so; for this one it comes afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Started with the first process, it would take the block of Ctrl-C away from that one.
    multiprocessing.resource_tracker.ensure_running()
    both = (signal.SIGINT, signal.SIGTERM)
    came: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        # A signal that another thread takes is handled by this one, whatever it blocks.
        handlers = {
            each: signal.signal(each, lambda number, _: came.append(number)) for each in both
        }
    before = signal.pthread_sigmask(signal.SIG_BLOCK, both)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler or signal.SIG_DFL)
    if came:
        signal.raise_signal(came[0])


def be_a_child() -> None:
    """The first thing that a process does which was started `without_ctrl_c`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    if (above := mp.parent_process()) is not None and above.pid is not None:
        _end_with(above.pid)


def _end_with(parent: int) -> None:
    """Let this process die with its parent, at once and whatever it is doing."""
    if sys.platform == "linux":
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
