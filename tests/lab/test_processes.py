"""Killing, interrupting and racing real processes on one store."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest


def wait_for(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def finished(folder):
    trials = folder / "home" / "trials"
    return [p for p in trials.iterdir() if not p.name.startswith(".")] if trials.exists() else []


def test_a_killed_run_continues_and_recomputes_only_what_is_missing(start, tmp_path):
    log = tmp_path / "log"
    log.mkdir()
    slow = {"TOY_LOG": str(log), "TOY_PAUSE": "0.2"}
    first = start("check", "always-heads", "--profile", "laptop", **slow)
    wait_for(lambda: len(finished(tmp_path)) >= 2)
    first.kill()
    first.wait()
    kept = len(finished(tmp_path))
    begun = len(list(log.iterdir()))
    assert 2 <= kept < 8
    second = start("check", "always-heads", "--profile", "laptop", "--json", **slow)
    out, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    assert f"{kept} of 8 trials are in the store already" in err
    assert len(list(log.iterdir())) - begun == 8 - kept
    assert [item["verdict"] for item in json.loads(out)] == ["fails"]


def test_ctrl_c_says_what_is_kept_and_how_to_go_on(start, tmp_path):
    for jobs in ("1", "2"):
        pause = {"TOY_PAUSE": f"0.{jobs}"}
        process = start("check", "always-heads", "--profile", "laptop", "--jobs", jobs, **pause)
        before = len(finished(tmp_path))
        wait_for(lambda before=before: len(finished(tmp_path)) > before)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert "the same command continues" in err
        assert "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_of_a_killed_run_end_too(start, tmp_path, number):
    """Also those that never say how far they are."""
    log = tmp_path / "log"
    log.mkdir()
    slow = {"TOY_LOG": str(log), "TOY_PAUSE": "400"}
    process = start("check", "always-heads", "--profile", "laptop", "--jobs", "2", **slow)
    wait_for(lambda: len(list(log.iterdir())) >= 2)
    workers = {int(p.name.split("-")[1]) for p in log.iterdir()}
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert "Traceback" not in err
    if number == signal.SIGTERM:
        assert process.returncode == 130 and "the same command continues" in err

    def gone(pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True

    assert os.getpid() not in workers
    wait_for(lambda: all(map(gone, workers)))


def test_two_processes_on_one_store_agree(start, tmp_path):
    processes = [
        start("check", "always-heads", "--profile", "laptop", "--json", TOY_PAUSE="0.1")
        for _ in range(2)
    ]
    outcomes = []
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        outcomes.append([(item["claim"], item["numbers"]) for item in json.loads(out)])
    assert outcomes[0] == outcomes[1]
    assert len(finished(tmp_path)) == 8
    assert not (tmp_path / "home" / "corrupt").exists()
    assert not list((tmp_path / "home").rglob(".new-*"))


COMPILING = """
import jax

from minicosm.lab import Outcome, Study, Trial, TrialResult

STUDY = Study("compiling", "Compiling", "me", "Mine.")


def compute(config, progress):
    return TrialResult({"sum": float(jax.jit(lambda x: (x @ x).sum())(jax.numpy.ones((3, 3))))})


@STUDY.claim(
    id="compiling/once", title="", source="", statement="", criterion="",
    trials=lambda profile, seed: {"one": Trial(compute, None)},
)
def check(results):
    return Outcome("holds", results["one"].numbers)
"""


@pytest.mark.long
def test_a_store_that_was_moved_compiles_nothing_again(start, tmp_path):
    file = tmp_path / "compiling.py"
    file.write_text(COMPILING)
    here, there = tmp_path / "here", tmp_path / "elsewhere" / "there"
    there.parent.mkdir()
    words = ("check", str(file), "--profile", "smoke", "--force")
    keep = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}

    def run(home):
        process = start(*words, MINICOSM_HOME=str(home), **keep)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return {path.name for path in (home / "compiled").glob("*-cache")}

    first = run(here)
    assert any(name.startswith("jit__lambda") for name in first)
    here.rename(there)
    assert run(there) == first


STOPPED = """
import os
import signal

import jax
import jax.numpy as jnp

from minicosm.lab import Outcome, Study, Trial, TrialResult

STUDY = Study("stopped", "Stopped", "me", "Mine.")


@jax.jit
def days(x):
    return jax.lax.fori_loop(0, 10**9, lambda i, y: jnp.sin(y) @ y, x)


def compute(config, progress):
    days(jnp.ones((8, 8)))
    os.kill(os.getpid(), signal.SIGTERM)
    return TrialResult({})


@STUDY.claim(
    id="stopped/once", title="", source="", statement="", criterion="",
    trials=lambda profile, seed: {"one": Trial(compute, None)},
)
def check(results):
    return Outcome("holds", {})
"""


def test_a_stopped_run_does_not_wait_for_a_compiled_program(tmp_path):
    file = tmp_path / "stopped.py"
    file.write_text(STOPPED)
    words = [sys.executable, "-m", "minicosm", "check", str(file), "--profile", "smoke"]
    home = {**os.environ, "MINICOSM_HOME": str(tmp_path / "home")}
    done = subprocess.run(words, env=home, capture_output=True, text=True, timeout=120)
    assert done.returncode == 130 and "the same command continues" in done.stderr


def test_a_closed_pipe_is_quiet(start):
    process = start("list")
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
