"""Workers and whole runs killed at random moments, alone and with a second run on the same store.

Nothing hangs, no process stays behind, no stored trial is lost, and the results are those of an undisturbed
run, bit by bit.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
SECONDS = 60.0  # after which something that should have ended hangs
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


class Run:
    """`minicosm check` of the storm, with two workers, as the first process of a session."""

    def __init__(self, home: Path, seed: int) -> None:
        words = ("check", str(HERE / "storm_study.py"), "--jobs", "2", "--profile", "smoke")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "minicosm", *words, "--seed", str(seed), "--json"],
            env={**os.environ, "MINICOSM_HOME": str(home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def session(self) -> list[int]:
        """The living processes of the session, the parent and its workers among them."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(fields[3]) == self.process.pid and fields[0] != "Z":
                    found.append(int(folder.name))
        return found

    def workers(self) -> list[int]:
        """Those processes of the session that run trials."""
        found = []
        for pid in self.session():
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if pid != self.process.pid and b"spawn_main" in line:
                found.append(pid)
        return found

    def end(self) -> tuple[int, str, str]:
        """Wait until it has ended and none of its processes is left."""
        out, err = self.process.communicate(timeout=SECONDS)  # a hang is an exception
        limit = time.monotonic() + 10
        while left := self.session():
            assert time.monotonic() < limit, f"{len(left)} orphans"
            time.sleep(0.01)
        return self.process.returncode, out, err


def stored(home: Path) -> dict[str, object]:
    """What the store holds of every trial, but for the time that it took and the versions."""
    found = {}
    folders = home / "trials"
    for folder in folders.iterdir() if folders.exists() else ():
        if not folder.name.startswith("."):
            record = json.loads((folder / "result.json").read_text())["record"]
            kept = {name: record[name] for name in ("address", "config", "numbers", "arrays")}
            found[folder.name] = kept, (folder / "arrays.npz").read_bytes()
    return found


def undisturbed(folder: Path, seed: int) -> dict[str, object]:
    run = Run(folder / f"calm-{seed}", seed)
    code, _, err = run.end()
    assert code == 0, err
    return stored(folder / f"calm-{seed}")


def send(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def storm(folder: Path, kills: int, seed: int) -> tuple[Counter[str], Counter[int]]:
    """Kill so often, each store until its trials are all there. How often what was killed, and exit codes.

    Three of four runs are killed once they have lived for a part of the time that one takes which is left
    alone; workers of one in five are shot at meanwhile, up to three times. Every fourth time two
    runs share the store.
    """
    draw = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    codes: Counter[int] = Counter()
    began = time.monotonic()
    calm = undisturbed(folder, 0)
    stores, length = 0, time.monotonic() - began
    while counts.total() < kills:
        stores += 1
        home = folder / f"home-{stores}"
        before: dict[str, object] = {}
        alone, whole = True, False
        while not whole:
            runs = [Run(home, 0) for _ in range(1 + (draw.random() < 0.25))]
            alone &= len(runs) == 1
            which = "" if len(runs) == 1 else ", of two"
            end = time.monotonic() + draw.uniform(0, length)
            aim = draw.choice(["parent", "workers", "nobody"], p=[0.75, 0.2, 0.05])
            shots = 3 if aim == "workers" else 0
            while shots and time.monotonic() < end and counts.total() < kills:
                time.sleep(draw.uniform(0, length / 3))
                number = SIGNALS[draw.integers(3)]
                workers = [pid for run in runs for pid in run.workers()]
                if workers and send(int(draw.choice(workers)), number):
                    counts[f"worker {number.name}{which}"] += 1
                    shots -= 1
            if aim == "parent" and counts.total() < kills:
                time.sleep(max(0, end - time.monotonic()))
                number = SIGNALS[draw.integers(3)]
                victim = runs[draw.integers(len(runs))].process
                if victim.poll() is None and send(victim.pid, number):
                    counts[f"parent {number.name}{which}"] += 1
            for run in runs:
                code, _, err = run.end()
                codes[code] += 1
                early = "KeyboardInterrupt" in err or (
                    code == -signal.SIGKILL and "EOFError" in err
                )
                if early and "minicosm" not in err:
                    continue  # Python or a worker's was still starting: none of our lines has run
                whole |= code == 0
                assert code in (0, 3, 130, *(-number for number in SIGNALS)), err
                assert "Traceback" not in err, err
                assert code != 3 or "twice" in err, err  # the worker of one trial died twice
            now = stored(home)
            assert all(now.get(name) == kept for name, kept in before.items()), "a trial was lost"
            assert all(calm[name] == kept for name, kept in now.items()), "other numbers"
            assert not list(home.glob("corrupt/*"))
            before = now
        assert now == calm
        assert not alone or not list(home.glob("work/*")), "checkpoints of a stored trial are left"
        print(stores, "stores,", counts.total(), "kills:", dict(counts), "exit codes:", dict(codes))
    return counts, codes


def test_three_kills_lose_nothing(tmp_path):
    counts, _ = storm(tmp_path, kills=3, seed=1)
    assert counts.total() == 3


@pytest.mark.long
def test_two_hundred_kills_lose_nothing(tmp_path):
    counts, _ = storm(tmp_path, kills=200, seed=0)
    assert counts.total() == 200
