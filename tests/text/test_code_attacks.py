"""Hostile code does no harm: as root (where the code becomes "nobody") and as an ordinary user."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import attacks
import pytest

from minicosm.text import code_guard, code_runner
from minicosm.text.code_runner import Case, Limits, judge, run

pytestmark = pytest.mark.skipif("seccomp" not in code_runner.walls(), reason="no seccomp here")

LIMITS = Limits(seconds=1.0, megabytes=200)


@pytest.fixture
def folder(tmp_path):
    """Anybody may do anything in it; and this process must not hear SIGUSR1."""
    tmp_path.chmod(0o777)
    file = tmp_path / "file"
    file.write_text("untouched")
    file.chmod(0o666)
    heard = []
    before = signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
    yield tmp_path
    signal.signal(signal.SIGUSR1, before)
    assert not heard
    assert os.listdir(tmp_path) == ["file"] and file.read_text() == "untouched"
    assert file.stat().st_mode & 0o777 == 0o666


def filled(code: str, folder: Path, parent: int) -> str:
    code = code.replace("FOLDER", str(folder)).replace("FILE", str(folder / "file"))
    return code.replace("PARENT", str(parent))


@pytest.mark.parametrize("name", attacks.QUICK)
def test_an_attack(name, folder):
    code, ends = attacks.QUICK[name]
    outcome = run(filled(code, folder, os.getpid()), LIMITS)
    assert outcome.verdict in ends, outcome
    assert "HARM" not in outcome.output and "root:" not in outcome.output


@pytest.mark.long
@pytest.mark.parametrize("name", attacks.SLOW)
def test_an_attack_that_takes_its_time(name, folder):
    code, ends = attacks.SLOW[name]
    outcome = run(filled(code, folder, os.getpid()), Limits(seconds=0.5, megabytes=200))
    assert outcome.verdict in ends, outcome


def test_the_clock_and_the_processor_end_it():
    """One each of the slow ones, as short as may be."""
    short = Limits(seconds=0.1)
    assert run("import time\ntime.sleep(10**6)", short).verdict == "time"
    assert run("while True: pass", short).verdict == "time"


@pytest.mark.parametrize("name", attacks.FORGED)
def test_a_verdict_cannot_be_forged(name):
    assert judge(attacks.FORGED[name], [Case("f", (1,), 5)], LIMITS).verdict in {"wrong", "killed"}


def test_what_is_expected_does_not_reach_the_code(monkeypatch):
    """Whatever reaches the other process, in its orders, its arguments and its environment."""
    real, seen = subprocess.Popen, []

    def popen(*arguments, **options):
        seen.append(options["stdin"].read().decode() + repr(arguments) + repr(options))
        options["stdin"].seek(0)
        return real(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", popen)
    assert judge("def f(a): return a + 1", [Case("f", (70019422,), 70019423)]).verdict == "passed"
    assert "70019422" in seen[0] and "70019423" not in seen[0]


ORDINARY = """
import json, os, resource, sys
from minicosm.text.code_runner import Limits, run, walls
assert os.geteuid() != 0
walls()
begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = {}
for name, code in json.load(sys.stdin).items():
    outcome = run(code.replace("PARENT", str(os.getpid())), Limits(seconds=1.0, megabytes=200))
    found[name] = [outcome.verdict, outcome.output[:100]]
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin
print(json.dumps({"walls": walls(), "found": found, "kilobytes": grown}))
"""


def ordinary_interpreter() -> str:
    """One that the user "nobody" can start; ours, if we are not root ourselves."""
    if os.geteuid() != 0:
        return sys.executable
    for path in (sys.executable, shutil.which("python3", path="/usr/local/bin:/usr/bin") or ""):
        test = [path, "-c", "import sys, ctypes; sys.exit(sys.version_info < (3, 11))"]
        try:
            if subprocess.run(test, user=65534, group=65534, extra_groups=[]).returncode == 0:
                return path
        except OSError:
            continue
    pytest.skip("no interpreter that an ordinary user can start")


def test_all_attacks_on_an_ordinary_user(folder):
    """Here the code runs as the same user as its parent, who owns the file. In a small process, whose
    memory must not grow by what 400 MB on the pipe would take."""
    interpreter = ordinary_interpreter()
    root = Path(code_guard.__file__).parents[2]
    if os.geteuid() == 0:
        os.chown(folder / "file", 65534, 65534)
        for path in (folder, *folder.parents):  # pytest's folders are closed to others
            if path.stat().st_uid == 0 and not path.stat().st_mode & 0o001:
                path.chmod(0o711)
    codes = {name: filled(code, folder, 0).replace("(0, 10)", "(PARENT, 10)")
             for name, (code, _) in attacks.QUICK.items()}  # fmt: skip
    ids = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    ended = subprocess.run(
        [interpreter, "-c", ORDINARY], input=json.dumps(codes), text=True, capture_output=True,
        env={"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}, cwd="/", **ids,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    assert "seccomp" in answer["walls"]
    assert answer["kilobytes"] < 20_000
    for name, (verdict, output) in answer["found"].items():
        assert verdict in attacks.QUICK[name][1], (name, verdict, output)
        assert "HARM" not in output and "root:" not in output


@pytest.mark.skipif("landlock" not in code_runner.walls(), reason="no Landlock here")
def test_landlock_alone(folder):
    """The second wall, without the first: files cannot be opened, made or removed."""
    code = f"""
import importlib.util, os, socket
spec = importlib.util.spec_from_file_location("guard", {code_guard.__file__!r})
guard = importlib.util.module_from_spec(spec)
spec.loader.exec_module(guard)
guard._prctl(38, 1)
assert guard.landlock()
folder = {str(folder)!r}
for attempt in (
    lambda: open("/etc/passwd"), lambda: open(folder + "/new", "w"), lambda: os.unlink(folder + "/file"),
    lambda: os.mkdir(folder + "/new"), lambda: os.mkfifo(folder + "/new"), lambda: os.listdir("/"),
    lambda: os.execv("/bin/true", ["true"]),
):
    try:
        attempt()
    except PermissionError:
        print("no")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout == "no\n" * 7, ended.stderr


def test_the_child_dies_with_its_parent():
    code = (
        "from minicosm.text import code_runner as r\n"
        "import sys, os, subprocess\n"
        "real = subprocess.Popen\n"
        "def popen(*a, **k):\n    p = real(*a, **k)\n    print(p.pid, flush=True)\n    return p\n"
        "r.walls(); r.subprocess.Popen = popen\n"
        "r.run('import time\\ntime.sleep(1000)')\n"
    )
    root = Path(code_guard.__file__).parents[2]
    environment = {"PYTHONPATH": str(root)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment
    ) as p:
        child = int(p.stdout.readline())
        p.kill()
    for _ in range(500):
        try:
            state = Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        signal.sigtimedwait([], 0.01)
    raise AssertionError("the child lives on")
