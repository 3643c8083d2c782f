"""Generated code: what a line says, how a program ends, and whether its functions are right."""

import os

import pytest

from minicosm.text import code_guard, code_runner
from minicosm.text.code_runner import Case, Limits, judge, read_case, run

QUICK = Limits(seconds=1.0, megabytes=200)
walled = pytest.mark.skipif("seccomp" not in code_runner.walls(), reason="no seccomp here")


def test_a_line_is_read_without_running_it():
    line = "assert app([1, 2], 3) == [1, 2, 3]"
    assert read_case(line) == Case("app", ([1, 2], 3), [1, 2, 3])
    assert read_case("  assert f(-1, 'a', {2: (3,)}) == None  ") == Case(
        "f", (-1, "a", {2: (3,)}), None
    )
    assert read_case(r"assert f('\d', '\N{BULLET}') == 1") == Case("f", (r"\d", "•"), 1)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "assert",
        "assert f(1) == g(1)",
        "assert f(1) == [x for x in range(9)]",
        "assert __import__('os').system('true') == 0",
        "assert f(1) == 1; import os",
        "assert f(1) == 1, 'text'",
        "assert f(1) != 1",
        "assert f(*[1]) == 1",
        "assert f(x=1) == 1",
        "assert f(1) == 9 ** 9 ** 9",
        "assert f(1) == {[]: 1}",
        "assert f(" + "(" * 3000 + ") == 1",
        "assert f(" + "-" * 9000 + "1) == 1",
        "assert f(1) == 1\0",
        "assert f('\ud800') == 1",
        "x = 1",
    ],
)
def test_other_lines_are_no_test_cases(line):
    assert read_case(line) is None


@walled
def test_code_that_behaves():
    code = (
        "import math\ndef f(a, b):\n    return a + b\nassert f(1, 2) == 3\nprint(math.floor(2.5))"
    )
    outcome = run(code)
    assert (outcome.verdict, outcome.output) == ("ended", "2\n")
    assert run("1 / 0").detail == "ZeroDivisionError"
    assert run("def f(:").detail == "SyntaxError"
    assert run("assert 1 == 2\nprint(1)") == code_runner.Outcome("error", "AssertionError")


@walled
def test_valid_code_is_valid():
    """What a model writes for such tasks: letters beyond ASCII, annotations, modules of the library."""
    code = """from __future__ import annotations
from typing import List, Optional
from collections.abc import Sequence
from dataclasses import dataclass
import datetime, random, decimal, heapq, time
é = 1
@dataclass
class Point:
    x: int
def f(a: List[int], b: Optional[int] = None) -> Sequence[int]:
    return sorted(a)
print(é, Point(1), f([2, 1]), "\\N{BULLET}", "ä".encode("latin-1"), decimal.Decimal(1) / 8)
print(datetime.datetime.strptime("2020-01-02", "%Y-%m-%d"), random.random() < 1, heapq.nsmallest(1, [2]))
time.sleep(0.01)
"""
    outcome = run(code)
    wanted = "1 Point(x=1) [1, 2] • b'\\xe4' 0.125\n2020-01-02 00:00:00 True [2]\n"
    assert (outcome.verdict, outcome.output) == ("ended", wanted)


@walled
def test_answers_are_compared_by_the_parent():
    code = (
        "def f(a, b):\n    return a + b\ndef g():\n    return {1: {2.5, 'é'}, 'x': (None, b'y')}\n"
    )
    right = [
        Case("f", (1, 2), 3),
        Case("f", ([1], ["\n"]), [1, "\n"]),
        Case("g", (), {1: {2.5, "é"}, "x": (None, b"y")}),
    ]
    assert judge(code, right).verdict == "passed"
    outcome = judge(code, [*right, Case("f", (1, 2), 4)])
    assert (outcome.verdict, outcome.detail) == ("wrong", "f(*(1, 2)) is 3; it must be 4")
    outcome = judge(code, [*right, Case("f", (1, "a"), 4)])
    assert (outcome.verdict, outcome.detail) == ("error", "TypeError")
    assert judge(code, [Case("h", (), 4)]).detail == "NameError"
    assert judge("def f(): return set()", [Case("f", (), set())]).verdict == "passed"
    assert judge("def f(): return float('nan')", [Case("f", (), 0.0)]).verdict == "wrong"
    assert judge("def f(): return object()", [Case("f", (), 0)]).verdict == "wrong"


@walled
def test_much_output_is_cut():
    outcome = run("print('é' * 10**6)", Limits(seconds=2.0, output=100))
    assert outcome.verdict == "ended" and outcome.output == "é" * 100
    assert run("print('\\0\\ud800')").output == "\0\\ud800\n"


class Kernel:
    """What a filter of `seccomp` answers: its four operations, as the kernel's manual has them."""

    def __init__(self, machine: str) -> None:
        program = code_guard.system_call_filter(machine, process=77)
        steps = (program[i : i + 8] for i in range(0, len(program), 8))
        self.steps = [
            (int.from_bytes(s[:2], "little"), s[2], s[3], int.from_bytes(s[4:], "little"))
            for s in steps
        ]

    def answer(self, machine: int, number: int, *arguments: int) -> str:
        data = b"".join(
            [number.to_bytes(4, "little"), machine.to_bytes(4, "little"), bytes(8)]
            + [value.to_bytes(8, "little") for value in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
        )
        held, at = 0, 0
        while True:
            operation, yes, no, value = self.steps[at]
            at += 1
            match operation:
                case 0x20:  # load a word
                    held = int.from_bytes(data[value : value + 4], "little")
                case 0x15:  # jump if equal
                    at += yes if held == value else no
                case 0x45:  # jump if a bit is common
                    at += yes if held & value else no
                case 0x06:  # return
                    names = {0x7FFF0000: "allow", 0x0005000D: "denied", 0x80000000: "kill"}
                    return names[value]
                case _:
                    raise AssertionError(operation)


@pytest.mark.parametrize(
    "machine, code, calls",
    [
        ("x86_64", 0xC000003E,
         "write 1 mmap 9 mprotect 10 exit_group 231 open 2 openat 257 stat 4 readlink 89 kill 62 tgkill 234 "
         "fork 57 vfork 58 clone 56 clone3 435 execve 59 execveat 322 socket 41 connect 42 mknod 133 "
         "mknodat 259 mkdir 83 unlink 87 rename 82 ptrace 101 process_vm_writev 311 prctl 157 seccomp 317 "
         "prlimit64 302 io_uring_setup 425 bpf 321 memfd_create 319 userfaultfd 323 rt_sigaction 13 dup 32"),
        ("aarch64", 0xC00000B7,
         "write 64 mmap 222 mprotect 226 exit_group 94 openat 56 readlinkat 78 kill 129 tgkill 131 clone 220 "
         "clone3 435 execve 221 execveat 281 socket 198 connect 203 mknodat 33 mkdirat 34 unlinkat 35 "
         "renameat 38 ptrace 117 process_vm_writev 271 prctl 167 seccomp 277 prlimit64 261 "
         "io_uring_setup 425 bpf 280 memfd_create 279 userfaultfd 282 rt_sigaction 134 dup 23"),
    ],
)  # fmt: skip
def test_the_filter_of_system_calls(machine, code, calls):
    """On both machines, by the numbers of the kernel's tables; also on a machine of the other kind."""
    kernel = Kernel(machine)
    words = calls.split()
    number = {name: int(n) for name, n in zip(words[::2], words[1::2], strict=True)}
    assert kernel.answer(code, number.pop("write"), 1) == "allow"
    assert kernel.answer(code, number.pop("exit_group"), 0) == "allow"
    for name in ("mmap", "mprotect"):
        n = number.pop(name)
        assert [kernel.answer(code, n, 0, 4096, kind) for kind in (0, 3)] == ["allow"] * 2
        assert [kernel.answer(code, n, 0, 4096, kind) for kind in (4, 7)] == ["denied"] * 2
    n = number.pop("tgkill")
    assert [kernel.answer(code, n, process, 77, 6) for process in (77, 1)] == ["allow", "kill"]
    for name in ("open", "openat", "stat", "readlink", "readlinkat"):
        if name in number:
            assert kernel.answer(code, number.pop(name)) == "denied"
    assert len(number) > 15
    assert {kernel.answer(code, n) for n in number.values()} == {"kill"}
    other = {0xC000003E, 0xC00000B7, 0x40000003, 0x40000028} - {code}
    assert {kernel.answer(kind, n) for kind in other for n in range(500)} == {"kill"}
    assert {kernel.answer(code, 0x40000000 + n) for n in range(600)} == {"kill"}  # the x32 calls
    assert sum(kernel.answer(code, n) == "allow" for n in range(600)) <= 26


def test_without_walls_it_refuses(monkeypatch):
    monkeypatch.setattr(code_runner, "walls", lambda: ("landlock",))
    with pytest.raises(RuntimeError, match="this system cannot shut in code that may be hostile"):
        run("print(1)")
    with pytest.raises(RuntimeError, match="pass trusted=True on a POSIX system"):
        judge("def f(): return 1", [Case("f", (), 1)])
    assert run("print(1)", trusted=True).output == "1\n"
    monkeypatch.setattr(os, "name", "nt")
    with pytest.raises(RuntimeError, match="this system cannot shut in"):
        run("print(1)", trusted=True)


@pytest.mark.usefixtures("unchecked_types")
def test_mistakes_of_a_caller():
    for name, value in (("seconds", 0.0), ("seconds", float("inf")), ("seconds", float("nan"))):
        with pytest.raises(ValueError, match=f"{name} is {value}; it must be a positive number"):
            Limits(**{name: value})
    for name, value in (("megabytes", "1"), ("output", True), ("megabytes", 2**60)):
        with pytest.raises(ValueError, match=f"{name} is {value!r}; it must be a positive number"):
            Limits(**{name: value})
    with pytest.raises(TypeError, match="code is a bytes; it must be a text"):
        run(b"1")
    with pytest.raises(TypeError, match="limits is a float; it must be Limits"):
        run("1", 2.0)
    with pytest.raises(TypeError, match="trusted is a str; it must be True or False"):
        run("1", trusted="no")
    with pytest.raises(ValueError, match="cases is empty; there is nothing to judge"):
        judge("1", [])
    with pytest.raises(TypeError, match="cases holds a str; it must hold cases"):
        judge("1", ["assert f(1) == 1"])
    with pytest.raises(ValueError, match=r"a case has the name 'f\(\)'; it must be the name of a"):
        judge("1", [Case("f()", (), 1)])
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    for bad in ((object(),), (float("nan"),), ("a" * 20_000,), (deep,)):
        with pytest.raises(ValueError, match="a case of f has arguments or an expectation that"):
            judge("1", [Case("f", bad, 1)])
    with pytest.raises(TypeError, match=r"arguments is \[1\]; it must be a tuple of literals"):
        Case("f", [1], 1)
    if "seccomp" in code_runner.walls():
        assert run("x" * 20_000).verdict == "error" == run("\0").verdict
