"""The explorer as a small web server on this machine."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from minicosm.lab import LabError

APP = Path(__file__).parent / "app.py"
HOST = "127.0.0.1"
GRACE = 1  # second that open pages have once the server is told to stop
AFTER = 3.0  # seconds in which the first page has the processor to itself


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

    What the first tab needs is imported and compiled while the browser starts, the other tabs
    after it.
    """
    import marimo
    import uvicorn

    address = f"http://{HOST}:{bound.getsockname()[1]}"
    warming = threading.Thread(target=_warm, daemon=True)
    app: Any = marimo.create_asgi_app(quiet=True).with_app(path="", root=str(APP)).build()
    settings = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE)
    say(f"The explorer: {address} (Ctrl-C ends it)")
    warming.start()
    if open_browser:
        threading.Timer(0.1, _open, [address, say]).start()
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(settings).run(sockets=[bound])
    sys.stdout.flush()
    os._exit(0)  # pages that are open have threads of marimo's, for which Python would wait


def _open(address: str, say: Callable[[str], Any]) -> None:
    if not webbrowser.open(address):
        say(f"No browser was found; open {address} in one.")


def _warm() -> None:
    from .panels import warm

    warm("markov")
    time.sleep(AFTER)
    warm("brackets", "tree", "spins")
