"""The process that computes what the explorer shows. The server imports neither JAX nor our worlds: it
answers the browser at once.

What every tab shows at first is shipped (`first_view.json.gz`), since a browser starts sooner than JAX. It is
computed again by `python -m minicosm.explorer.computing`; a test compares.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import multiprocessing as mp
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from minicosm.lab.child_processes import be_a_child, without_ctrl_c

from .page import sentence
from .settings import BRACKETS, SPINS, TEXTS, TREE, WORLD

FIRST = Path(__file__).parent / "first_view.json.gz"
TRIES = 2  # processes that may die of one question
LIMIT = 60.0  # seconds for an answer


class Computer(NamedTuple):
    """A process that answers one question after another, and our end of the pipe to it."""

    process: Any
    pipe: Any


_computers: list[Computer] = []  # the one that runs, if any
# Pages are threads, which end with them; a process ends with the thread that has started it.
_asker = ThreadPoolExecutor(1)


def start() -> None:
    """Start the process, unless it runs."""
    if _computers:
        return
    context = mp.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_answer_all, args=(theirs,), daemon=True)
    with without_ctrl_c():
        process.start()
    theirs.close()
    _computers.append(Computer(process, ours))


def stop() -> None:
    """End the process, whatever it computes."""
    while _computers:
        computer = _computers.pop()
        computer.pipe.close()
        computer.process.kill()


def compute(panel: str, *settings: Any) -> Any:
    """What the function of this name in `panels` answers."""
    known = first_view().get(_key(panel, settings))
    if known is not None:
        return known
    answer, wrong = _asker.submit(_ask, panel, settings).result()
    if not wrong:
        return answer
    said = sentence(RuntimeError(wrong))
    return (dict.fromkeys(TEXTS, ""), said) if panel == "texts_of_world" else said


def _ask(panel: str, settings: tuple[Any, ...]) -> tuple[Any, str]:
    """The answer of the process, or what went wrong."""
    for _ in range(TRIES):
        start()
        pipe = _computers[0].pipe
        try:
            pipe.send((panel, settings))
            if pipe.poll(LIMIT):
                answer, wrong = pipe.recv()
                return answer, wrong
        except (EOFError, OSError):
            stop()
            continue
        stop()
        return None, f"This takes more than {LIMIT:.0f} s; it was given up."
    return (
        None,
        f"The process that computes this has died, {TRIES} times; the terminal may say why.",
    )


def _answer_all(pipe: Any) -> None:
    """The life of the process: it compiles what is likely to be asked for, and answers what is asked."""
    be_a_child()
    with contextlib.suppress(EOFError, OSError):
        from . import panels

        for _ in panels.warm():
            while pipe.poll():
                _answer(pipe)
        while True:
            _answer(pipe)


def _answer(pipe: Any) -> None:
    from . import panels

    panel, settings = pipe.recv()
    try:
        found = getattr(panels, panel)(*settings), ""
    except Exception as error:
        traceback.print_exc()
        found = None, f"{type(error).__name__}: {error}"
    pipe.send(found)


# -- what is shown at first ---------------------------------------------------------------------------


@cache
def first_view() -> dict[str, Any]:
    """What panels answer to the settings that widgets hold at first, by `_key`."""
    try:
        found: dict[str, Any] = json.loads(gzip.decompress(FIRST.read_bytes()))
    except FileNotFoundError:
        return {}
    return found


def _key(panel: str, settings: tuple[Any, ...]) -> str:
    return json.dumps([panel, *settings])


def compute_first_view() -> dict[str, Any]:
    """The same, computed now."""
    from . import panels

    found: dict[str, Any] = {}

    def show(panel: str, *settings: Any) -> Any:
        found[_key(panel, settings)] = getattr(panels, panel)(*settings)
        return found[_key(panel, settings)]

    texts, _ = show("texts_of_world", *WORLD.values())
    matrices = texts["A"], texts["W"], texts["p0"]
    show("answers", *matrices, texts["tokens"])
    show("theorems", *matrices, texts["mu"])
    show("brackets", *BRACKETS.values())
    show("tree", *TREE.values())
    show("ising", *SPINS.values())
    return found


if __name__ == "__main__":
    made = json.dumps(compute_first_view(), ensure_ascii=False).encode()
    FIRST.write_bytes(gzip.compress(made, mtime=0))
    print(f"{FIRST}: {os.path.getsize(FIRST):,} bytes")
    sys.exit(0)
