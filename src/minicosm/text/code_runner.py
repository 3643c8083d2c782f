"""Generated Python, run and judged in a process of its own that the kernel shuts in.

`run` says how a program ends; `judge` says whether its functions return what they should.

**Who can do what.** The code runs in another interpreter (`code_guard` says behind which walls): no
files, no network, no processes, no signals to others, so many seconds and bytes. The walls are the
kernel's and hold for the whole process; what the code does to its own interpreter, by `ctypes` or by
writing into its memory, does not move them. Where the kernel has no seccomp both functions refuse,
unless the caller says that the code is `trusted`.

**Who decides.** Code can tell any lie about itself, since it shares its process with whatever would
watch it. So nothing that it says is taken for a verdict:

- `judge` sends the calls, without what is expected, and compares the answers here. An answer is text,
  read with a limit and a deadline and accepted only as a Python literal; a lie helps only if it is the
  right answer.
- `run` promises less: "ended" and "error" are what the process says of its end, and a program that
  wants to can say either (or skip its own assertions). Use it for what a program prints.
- "time", "refused" and "killed" come from the clock and from how the process ended.

**What remains.** Bugs of the kernel in the few calls that are left, side channels of the processor, and
bugs of Python's parser, which reads the answers here. With `trusted=True` on a system without seccomp
there are only limits (on macOS none on memory). All cases of one `judge` meet the same process, so an
answer may depend on the calls before it.
"""

import ast
import contextlib
import functools
import json
import math
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from minicosm.text.checks import shown
from minicosm.text.code_cases import LONGEST, UNREADABLE, Case, read_case

__all__ = ["Case", "Limits", "Outcome", "Verdict", "judge", "read_case", "run", "walls"]

Verdict = Literal["passed", "wrong", "ended", "error", "refused", "time", "memory", "killed"]

MODULES = (
    "__future__", "abc", "array", "bisect", "cmath", "collections", "contextlib", "copy", "dataclasses",
    "datetime", "decimal", "enum", "fractions", "functools", "heapq", "itertools", "json", "math", "numbers",
    "operator", "random", "re", "statistics", "string", "struct", "textwrap", "time", "types", "typing",
)  # fmt: skip
"""What code may import, besides what an interpreter has loaded when it starts; it must be named in the
code, because it is loaded before the code runs."""
ALWAYS = ("unicodedata", "encodings.ascii", "encodings.latin_1")  # letters beyond ASCII need them
REPORT = 100_000  # bytes of all answers together
FORM = re.compile(r"((?:= [ -~]*\n)*)(?:(\.)|! ([A-Za-z_][A-Za-z0-9_]{0,99}))\n")
GUARD = Path(__file__).with_name("code_guard.py")


@dataclass(frozen=True)
class Limits:
    """What a run may use."""

    seconds: float = 2.0
    """Of processor time, rounded up; of the clock ten times as many, because the machine may be busy."""
    megabytes: int = 256
    """Of addresses; the interpreter itself takes about 20."""
    output: int = 10_000
    """Characters of output that are kept."""

    def __post_init__(self) -> None:
        for name, most in (("seconds", 86_400), ("megabytes", 2**20), ("output", 10**8)):
            value = getattr(self, name)
            good = isinstance(value, int | float) and not isinstance(value, bool)
            if not good or not 0 < value <= most:
                raise ValueError(
                    f"{name} is {shown(value)}; it must be a positive number up to {most}"
                )


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and what it printed."""

    verdict: Verdict
    """"passed", "wrong": of `judge`, all answers are right or one is not; "ended": of `run`, to the end;
    "error": it says that it raised an exception; "refused": it asked the system for something forbidden;
    "time", "memory": it used too much; "killed": ended otherwise."""
    detail: str = ""
    output: str = ""


def run(code: str, limits: Limits | None = None, *, trusted: bool = False) -> Outcome:
    """Execute a program in a process of its own and say how it ends; see the top of this file.

    `trusted` lets code run where the kernel cannot shut it in.
    """
    return _execute(code, (), limits, trusted)[0]


def judge(
    code: str, cases: Sequence[Case], limits: Limits | None = None, *, trusted: bool = False
) -> Outcome:
    """Whether the functions that `code` defines answer every case as expected.

    "passed" if the code runs and for every case `name(*arguments) == expected`, where the value on the
    left has travelled as its `ascii`: only literals arrive (no NaN or infinity, no objects of own
    classes). "wrong", with the first other answer, if one differs; what `run` says if the code or a call
    does not end.
    """
    if not isinstance(cases, list | tuple):
        raise TypeError(f"cases is a {type(cases).__name__}; it must be a list of cases")
    if not cases:
        raise ValueError("cases is empty; there is nothing to judge")
    calls = tuple(_call(case) for case in cases)
    outcome, answers = _execute(code, calls, limits, trusted)
    if outcome.verdict != "ended":
        return outcome
    for case, call, answer in zip(cases, calls, answers, strict=True):
        if not _says(answer, case.expected):
            detail = f"{call} is {answer}; it must be {case.expected!r}"
            return replace(outcome, verdict="wrong", detail=detail[:1000])
    return replace(outcome, verdict="passed")


@functools.cache
def walls() -> tuple[str, ...]:
    """The walls that the kernel of this machine puts around judged code: "landlock", "seccomp"."""
    if os.name != "posix":
        return ()
    orders = {"code": None, "modules": ALWAYS, "seconds": 10, "bytes": 2**28}
    ended = _process(orders, 60.0, 1)
    report = ended.report.decode("ascii", "replace") if ended.status == 0 else ""
    return tuple(wall for wall in ("landlock", "seccomp") if wall in report.split())


def _call(case: Case) -> str:
    if not isinstance(case, Case):
        raise TypeError(f"cases holds a {type(case).__name__}; it must hold cases")
    if not (isinstance(case.name, str) and case.name.isidentifier()):
        raise ValueError(f"a case has the name {case.name!r}; it must be the name of a function")
    values = case.arguments, case.expected
    try:
        good = isinstance(case.arguments, tuple) and _says(repr(values), values)
        text = f"{case.name}(*{case.arguments!r})"
    except RecursionError:
        good, text = False, ""
    if not good or len(text) > LONGEST:
        raise ValueError(
            f"a case of {case.name} has arguments or an expectation that cannot be sent; they must be "
            f"literals of at most {LONGEST} characters"
        )
    return text


def _says(text: str, expected: Any) -> bool:
    """Whether a text is a literal of this value."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(ast.literal_eval(text) == expected)
    except UNREADABLE:
        return False


def _execute(
    code: str, calls: tuple[str, ...], limits: Limits | None, trusted: bool
) -> tuple[Outcome, list[str]]:
    """How it ended, and if it came to its end the answer to each call."""
    limits = Limits() if limits is None else limits
    if not isinstance(code, str):
        raise TypeError(f"code is a {type(code).__name__}; it must be a text")
    if not isinstance(limits, Limits):
        raise TypeError(f"limits is a {type(limits).__name__}; it must be Limits")
    if not isinstance(trusted, bool):
        raise TypeError(f"trusted is a {type(trusted).__name__}; it must be True or False")
    if os.name != "posix" or (not trusted and "seccomp" not in walls()):
        raise RuntimeError(
            "this system cannot shut in code that may be hostile (that takes Linux with seccomp, on x86_64 "
            "or aarch64); pass trusted=True on a POSIX system for code that you would run yourself"
        )
    if "\0" in code or len(code) > LONGEST:
        return Outcome("error", f"the code has a null byte or more than {LONGEST} characters"), []
    named = [name for name in MODULES if re.search(rf"\b{name}\b", code)]
    orders = {
        "code": code,
        "calls": calls,
        "modules": (*ALWAYS, *named, *(["_strptime"] if "datetime" in named else [])),
        "seconds": math.ceil(limits.seconds),
        "bytes": int(limits.megabytes * 2**20),
        "trusted": trusted,
    }
    ended = _process(orders, 10 * limits.seconds, int(4 * limits.output))
    text = ended.output.decode("utf-8", "replace")[: int(limits.output)]
    verdict, detail, answers = _read(ended, len(calls), limits)
    return Outcome(verdict, detail, text), answers


def _read(ended: "_Ended", calls: int, limits: Limits) -> tuple[Verdict, str, list[str]]:
    """The verdict on an end. A report counts only in its one form, from a process that ended by itself."""
    status = ended.status
    if status is None:
        return "time", f"it ran for more than {10 * limits.seconds:g} s", []
    if status == -signal.SIGXCPU:
        return "time", f"it used more than {math.ceil(limits.seconds)} s", []
    if status == -getattr(signal, "SIGSYS", 0):
        return "refused", "it asked the system for something that is not allowed", []
    found = FORM.fullmatch(ended.report.decode("latin-1")) if status == 0 else None
    answers = [line[2:] for line in found[1].splitlines()] if found else []
    if found and found[2] and len(answers) == calls:
        return "ended", "", answers
    if found and found[3] and len(answers) <= calls:
        return ("memory" if found[3] == "MemoryError" else "error"), found[3], []
    how = f"by signal {-status}" if status < 0 else f"with status {status}"
    return "killed", f"the process ended {how} and without a report", []


@dataclass(frozen=True)
class _Ended:
    """What the parent knows of a process: how it ended (None: it had to be ended) and what it wrote."""

    status: int | None
    output: bytes
    report: bytes


def _process(orders: dict[str, Any], seconds: float, output: int) -> _Ended:
    """Start the guard with its orders, keep the first bytes that it writes, and end it at the deadline."""
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(orders | {"parent": os.getpid()}).encode())
        file.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-W", "ignore", str(GUARD)],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env={"PYTHONHASHSEED": "0"},
            start_new_session=True,  # so that its whole group can be ended
        )
    kept = bytearray(), bytearray()
    try:
        with selectors.DefaultSelector() as selector:
            for stream, room in ((process.stdout, output), (process.stderr, REPORT)):
                selector.register(stream, selectors.EVENT_READ, room)  # type: ignore[arg-type]
            while selector.get_map() and (left := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    chunk = os.read(key.fd, 2**16)
                    own = kept[key.fileobj is process.stderr]
                    own += chunk[: key.data - len(own)]  # the rest is read and forgotten
                    if not chunk:
                        selector.unregister(key.fileobj)
        status: int | None = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        status = None
    finally:
        _end(process)
    return _Ended(status, bytes(kept[0]), bytes(kept[1]))


def _end(process: subprocess.Popen) -> None:
    """End the process and all that it started."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait()
