"""Where the command `minicosm` starts: a Ctrl-C while modules are still imported is no traceback.

What is imported before Ctrl-C is caught is loaded in every interpreter; `signal` is not.
"""

import _signal
import os
import sys


def main() -> None:
    """Run the command line; always ends by `SystemExit`."""
    # An exception in the midst of an import may come out as another one: the process ends instead.
    try:
        before = _signal.signal(_signal.SIGINT, _stopped)
    except ValueError:  # in another thread than the main one, which Ctrl-C does not reach
        from minicosm.cli import main as run

        run()
        return
    from minicosm.cli import main as run

    _signal.signal(_signal.SIGINT, before)
    run()


def _stopped(number: int, frame: object) -> None:
    sys.stderr.write("minicosm: stopped.\n")
    sys.stderr.flush()
    os._exit(130)
