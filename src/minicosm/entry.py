"""Where the command `minicosm` starts: a Ctrl-C while modules are still imported is no traceback."""

import os
import signal
import sys
import threading
from typing import Any


def main() -> None:
    """Run the command line; always ends by `SystemExit`."""
    if threading.current_thread() is not threading.main_thread():
        from minicosm.cli import main as run

        run()
        return
    # An exception in the midst of an import may come out as another one: the process ends instead.
    before = signal.signal(signal.SIGINT, _stopped)
    from minicosm.cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


def _stopped(number: int, frame: Any) -> None:
    sys.stderr.write("minicosm: stopped.\n")
    sys.stderr.flush()
    os._exit(130)
