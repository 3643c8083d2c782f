"""Generated Python, judged in a process of its own.

Nothing that a model wrote is evaluated here. `read_case` reads one `assert` line as a syntax tree of
literals; `run` executes code by another interpreter (`-I -S`, no environment, an empty folder):

- under limits of the operating system: seconds, bytes of memory, no new files or sockets (no file
  descriptors), no bytes written, no new processes; if we are root, as the user "nobody". At the deadline
  its whole process group is ended.
- with an audit hook that refuses, before it happens, to open, to connect, to start programs and to
  import what is not in `ALLOWED`, so that the verdict can say so.

It stops what models write by accident and what is in the tests. Code that is written to look for its
judge in the interpreter's memory may still forge its own verdict.
"""

import ast
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["passed", "wrong", "error", "refused", "time", "memory", "killed"]

ALLOWED = ("math", "itertools", "functools", "collections", "re", "string", "operator", "bisect")
LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.USub, ast.Load)
LONGEST = 10_000  # characters of code that are looked at


@dataclass(frozen=True)
class Limits:
    """What a run may use."""

    seconds: float = 2.0
    """Of processor time; of the clock ten times as many, because the machine may be busy."""
    megabytes: int = 256
    output: int = 10_000
    """Characters of output that are kept."""

    def __post_init__(self) -> None:
        for name in ("seconds", "megabytes", "output"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ValueError(f"{name} is {value!r}; it must be a positive number")


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and what it printed."""

    verdict: Verdict
    """"passed": to the end; "wrong": an assertion failed; "error": another exception; "refused": it
    asked for something forbidden; "time", "memory": it used too much; "killed": ended otherwise."""
    detail: str = ""
    output: str = ""


@dataclass(frozen=True)
class Case:
    """The test case `assert name(*arguments) == expected`, all literals."""

    name: str
    arguments: tuple[Any, ...]
    expected: Any


def read_case(line: str) -> Case | None:
    """The test case that a line states, or None if it is not exactly one of that form.

    The line is parsed, never evaluated; arguments and expectation must be literals (numbers, texts,
    lists, tuples, sets, dicts).
    """
    if len(line) > LONGEST or "\0" in line:
        return None
    try:
        body = ast.parse(line.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if len(body) != 1 or not isinstance(body[0], ast.Assert) or body[0].msg is not None:
        return None
    match body[0].test:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]),
            ops=[ast.Eq()],
            comparators=[expected],
        ) if all(map(_is_literal, [*arguments, expected])):
            try:
                values = tuple(ast.literal_eval(argument) for argument in arguments)
                return Case(name, values, ast.literal_eval(expected))
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                return None
    return None


def _is_literal(tree: ast.expr) -> bool:
    return all(isinstance(node, LITERALS) for node in ast.walk(tree))


def run(code: str, limits: Limits | None = None) -> Outcome:
    """Execute `code` in a process of its own; see the top of this file."""
    limits = Limits() if limits is None else limits
    if "\0" in code or len(code) > LONGEST:
        return Outcome("error", f"the code has a null byte or more than {LONGEST} characters")
    with tempfile.TemporaryDirectory(prefix="minicosm-") as folder:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", _GUARD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={"PYTHONHASHSEED": "0"},
            close_fds=True,
            start_new_session=True,  # so that its whole group can be ended
        )
        settings = {
            "code": code,
            "seconds": limits.seconds,
            "bytes": int(limits.megabytes * 2**20),
            "output": int(limits.output),
            "allowed": ALLOWED,
        }
        try:
            answer, _ = process.communicate(json.dumps(settings).encode(), 10 * limits.seconds)
        except subprocess.TimeoutExpired:
            return Outcome("time", f"it ran for more than {10 * limits.seconds:g} s")
        finally:
            _end(process)
    if process.returncode == -signal.SIGXCPU:
        return Outcome("time", f"it used more than {limits.seconds:g} s")
    try:
        found = json.loads(answer.decode().splitlines()[-1])
        return Outcome(found["verdict"], str(found["detail"]), str(found["output"]))
    except (ValueError, KeyError, IndexError, TypeError):
        return Outcome("killed", f"the process ended with code {process.returncode}")


def _end(process: subprocess.Popen) -> None:
    """End the process and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    process.wait()


# What the other interpreter runs. It prints one line of JSON.
_GUARD = r"""
import sys, json, resource, io, os, builtins, importlib
settings = json.loads(sys.stdin.buffer.read())
for name in settings["allowed"]:
    importlib.import_module(name)
forbidden = {"os", "posix", "resource", "subprocess", "signal", "importlib", "sys", "io", "_io"}
known = frozenset(sys.modules) - forbidden
seconds = max(1, int(-(-settings["seconds"] // 1)))

def limit(what, value, more=0):
    try:
        resource.setrlimit(what, (value, value + more))
    except (ValueError, OSError):
        pass

limit(resource.RLIMIT_CPU, seconds, 1)
limit(resource.RLIMIT_AS, settings["bytes"])
limit(resource.RLIMIT_FSIZE, 0)
limit(resource.RLIMIT_CORE, 0)
limit(resource.RLIMIT_NPROC, 0)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
limit(resource.RLIMIT_NOFILE, 0)

class Refused(BaseException):
    pass

refused = []
REFUSE = ("open", "os.", "socket.", "subprocess.", "shutil.", "tempfile.", "ctypes.", "mmap.",
          "pty.", "fcntl.", "signal.", "resource.", "urllib.", "http.", "ftplib.", "smtplib.",
          "sqlite3.", "webbrowser.", "gc.", "cpython.", "pickle.", "marshal.", "code.__new__",
          "function.__new__", "object.__setattr__", "object.__delattr__", "sys._getframe",
          "sys.addaudithook", "sys.settrace", "sys.setprofile", "_thread.", "glob.", "pathlib.")

def guard(event, arguments, known=known, refuse=REFUSE, say=refused.append, error=Refused, text=str):
    if event == "import":
        if arguments[0] in known:
            return
        event = "import " + text(arguments[0])
    elif not event.startswith(refuse):
        return
    say(event)
    raise error(event)

real, dump, leave = sys.stdout, json.dumps, os._exit
sys.stdout = printed = io.StringIO()
sys.stdin = sys.__stdin__ = sys.__stdout__ = sys.stderr = sys.__stderr__ = None
for name in forbidden:
    if name != "sys":
        sys.modules.pop(name, None)
space = {"__name__": "__main__", "__builtins__": dict(vars(builtins))}
for name in ("open", "input", "breakpoint", "help", "exit", "quit"):
    space["__builtins__"].pop(name, None)
del os, io, resource, importlib, sys.modules["sys"]
verdict, detail = "passed", ""
try:
    program = compile(settings["code"], "<generated>", "exec")
    hook = sys.addaudithook
    hook(guard)
    del guard, hook, sys
    exec(program, space)
except AssertionError:
    verdict, detail = "wrong", "AssertionError"
except MemoryError:
    verdict, detail = "memory", "MemoryError"
except Refused as error:
    verdict, detail = "refused", str(error)
except BaseException as error:
    verdict, detail = "error", type(error).__name__
if refused:
    verdict, detail = "refused", str(refused[0])
space.clear()
try:
    text = printed.getvalue()[: settings["output"]]
except BaseException:
    text = ""
real.buffer.write(dump({"verdict": verdict, "detail": detail[:200], "output": text}).encode())
real.buffer.flush()
leave(0)
"""
