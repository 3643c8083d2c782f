"""Generated code: what a line says, and that hostile code does no harm."""

import os
import time

import pytest

from minicosm.text.code_runner import Case, Limits, read_case, run

QUICK = Limits(seconds=1.0, megabytes=200)


def test_a_line_is_read_without_running_it():
    line = "assert app([1, 2], 3) == [1, 2, 3]"
    assert read_case(line) == Case("app", ([1, 2], 3), [1, 2, 3])
    assert read_case("  assert f(-1, 'a', {2: (3,)}) == None  ") == Case(
        "f", (-1, "a", {2: (3,)}), None
    )


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
        "assert f(1) == 1\0",
        "x = 1",
    ],
)
def test_other_lines_are_no_test_cases(line):
    assert read_case(line) is None


def test_code_that_behaves():
    code = (
        "import math\ndef f(a, b):\n    return a + b\nassert f(1, 2) == 3\nprint(math.floor(2.5))"
    )
    outcome = run(code)
    assert (outcome.verdict, outcome.output) == ("passed", "2\n")
    assert run("assert 1 == 2").verdict == "wrong"
    assert run("1 / 0").detail == "ZeroDivisionError"
    assert run("def f(:").detail == "SyntaxError"
    assert run("raise SystemExit").verdict == "error"


@pytest.mark.parametrize(
    "code, verdicts",
    [
        ("while True: pass", {"time"}),
        ("x = 'a' * 10**10", {"memory"}),
        ("x = []\nwhile True: x.append('a' * 10**6)", {"memory"}),
        ("import os\nos.fork()", {"refused"}),
        ("import subprocess\nsubprocess.run(['true'])", {"refused"}),
        ("import socket\nsocket.create_connection(('127.0.0.1', 80))", {"refused"}),
        ("import ctypes", {"refused"}),
        ("print(open('/etc/passwd').read())", {"error", "refused"}),
        ("import io\nio.open('/etc/passwd')", {"refused"}),
        ("try:\n    import os\nexcept BaseException:\n    pass", {"refused"}),
        ("import threading", {"refused"}),
        ("f = lambda: f()\nf()", {"error"}),
        ("int('9' * 9000)\nprint(9**9**9)", {"time", "error", "memory"}),
    ],
)
def test_hostile_code(code, verdicts):
    begin = time.monotonic()
    assert run(code, QUICK).verdict in verdicts
    assert time.monotonic() - begin < 30


def test_doors_that_other_doors_lead_to(tmp_path):
    """Modules of the interpreter that are reached through other objects open no files."""
    target = tmp_path / "written"
    find = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0]"
    code = f"{find}.__init__.__globals__['open']({str(target)!r}, 'w').write('x')"
    assert run(code, QUICK).verdict in {"refused", "error"}
    code = f"{find}.__init__.__globals__['system']('echo x > {target}')"
    assert run(code, QUICK).verdict in {"refused", "error"}
    loader = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'FileLoader'][0]"
    assert run(f"print({loader}('a', '/etc/passwd').get_data('/etc/passwd'))", QUICK).output == ""
    assert not target.exists() and os.listdir(tmp_path) == []


def test_much_output_is_cut():
    outcome = run("print('a' * 10**6)", Limits(seconds=2.0, output=100))
    assert outcome.verdict == "passed" and len(outcome.output) == 100


def test_bad_limits():
    with pytest.raises(ValueError, match=r"seconds is 0\.0; it must be a positive number"):
        Limits(seconds=0.0)
