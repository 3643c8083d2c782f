"""Where the command `minicosm` starts: a Ctrl-C while modules are still imported is no traceback."""

import sys


def main() -> None:
    """Run the command line; always ends by `SystemExit`."""
    try:
        from minicosm.cli import main as run
    except KeyboardInterrupt:
        print("minicosm: stopped.", file=sys.stderr)
        raise SystemExit(130) from None
    run()
