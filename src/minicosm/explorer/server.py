"""The explorer as a small web server on this machine."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from minicosm.lab import LabError
from minicosm.lab.child_processes import without_ctrl_c

from . import computing

APP = Path(__file__).parent / "app.py"
HOST = "127.0.0.1"
GRACE = 1  # second that open pages have once the server is told to stop


def check_installed() -> None:
    """Raise unless marimo is there."""
    if find_spec("marimo") is None:
        raise LabError("the explorer needs marimo: pip install 'minicosm[explore]'.")


def listen(port: int) -> socket.socket:
    """A socket on this port of this machine, 0 for any that is free."""
    if not 0 <= port < 2**16:
        raise LabError(f"port is {port}; it must be a number from 0 to {2**16 - 1}.")
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
        bound.listen()  # a browser that comes before the server runs waits; refused, it waits a second
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            why = "is in use; choose another one by --port, or --port 0 for any that is free"
        else:
            why = f"cannot be opened: {error.strerror or error}"
        raise LabError(f"port {port} {why}.") from error
    return bound


def serve(
    bound: socket.socket, *, open_browser: bool, say: Callable[[str], Any] = print
) -> NoReturn:
    """Serve the explorer until Ctrl-C, which ends the process.

    What panels need is imported and compiled in another process while the browser starts.
    """
    with without_ctrl_c():  # in the midst of an import it would come out as another exception
        computing.start()
        import marimo
        import uvicorn

    address = f"http://{HOST}:{bound.getsockname()[1]}"
    app: Any = marimo.create_asgi_app(quiet=True).with_app(path="", root=str(APP)).build()
    settings = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE)
    say(f"The explorer: {address} (Ctrl-C ends it)")
    if open_browser:
        threading.Timer(0.1, _open, [address, say]).start()
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(settings).run(sockets=[bound])
    computing.stop()
    sys.stdout.flush()
    os._exit(0)  # pages that are open have threads of marimo's, for which Python would wait


def _open(address: str, say: Callable[[str], Any]) -> None:
    if not webbrowser.open(address):
        say(f"No browser was found; open {address} in one.")
