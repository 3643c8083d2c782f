"""A study of coins and rulers: small, fast, with claims of every sort, for tests of the lab."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minicosm.lab import (
    Erratum,
    Estimate,
    Outcome,
    Study,
    Table,
    Trial,
    TrialResult,
    figure,
)


@dataclass(frozen=True)
class Coin:
    """How many tosses; `log`, if given, is a folder that gets one file per computed trial."""

    tosses: int
    seed: int
    log: str = ""
    pause: float = 0.0


def toss(config: Coin, progress) -> TrialResult:
    """Toss a fair coin; say when, so that a test can tell computing from remembering."""
    rng = np.random.default_rng(config.seed)
    if config.log:
        (Path(config.log) / f"{config.seed}-{os.getpid()}-{time.monotonic_ns()}").touch()
    for step in range(4):
        progress(step, 4, "tossing")
        time.sleep(config.pause / 4)
    heads = rng.integers(0, 2, config.tosses)
    return TrialResult(
        {"mean": float(heads.mean()), "nothing": float("nan"), "least": -float("inf")},
        {"heads": heads.astype(np.float64)},
    )


def crash(config: Coin, progress) -> TrialResult:
    """Raise in the middle of a trial."""
    raise RuntimeError("the coin rolled away\nand nobody saw it")


def die(config: Coin, progress) -> TrialResult:
    """Take the process down."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def sit(config: Coin, progress) -> TrialResult:
    """Say which cores the process may use."""
    time.sleep(config.pause)
    return TrialResult({"cores": sorted(os.sched_getaffinity(0))})


@dataclass(frozen=True)
class Ladder:
    """Rungs to climb; whoever starts at the bottom falls off at rung 2, if `fall` says how."""

    rungs: int = 4
    fall: str = ""
    pause: float = 0.0


def climb(config: Ladder, progress, folder: Path) -> TrialResult:
    """Leave a file in the folder at every rung, and go on from the last one that is there."""
    start = len(list(folder.iterdir()))
    for rung in range(start, config.rungs):
        if config.fall and start == 0 and rung == 2:
            os.kill(os.getpid(), signal.SIGKILL) if config.fall == "die" else crash(config, None)
        (folder / str(rung)).touch()
        progress(rung, config.rungs)
        time.sleep(config.pause)
    return TrialResult({"start": start, "folder": str(folder)})


SIZES = {"smoke": (40, 3), "laptop": (400, 8), "paper": (4000, 20)}

STUDY = Study(
    name="coins",
    title="Coins and rulers",
    source="A. Nonymous, On Coins, 1905",
    about="What can be said of coins by tossing them. A toy, for tests of the lab itself.",
)


def tosses(profile, seed):
    count, trials = SIZES[profile]
    log, pause = os.environ.get("TOY_LOG", ""), float(os.environ.get("TOY_PAUSE", 0))
    return {
        f"coin-{i}": Trial(toss, Coin(count, 100 * seed + i, log, pause)) for i in range(trials)
    }


def draw_means(results):
    fig = figure(7.0, 3.2)
    left, right = fig.subplots(1, 2)
    for name, result in list(results.items())[:6]:
        heads = result.arrays["heads"]
        left.plot(np.cumsum(heads) / np.arange(1, len(heads) + 1), label=name)
    left.set(title="Share of heads", xlabel="tosses", ylabel="share", ylim=(0, 1))
    left.legend(ncols=2)
    means = [result.numbers["mean"] for result in results.values()]
    right.bar(range(len(means)), means)
    right.axhline(0.5, color="black", linestyle=":")
    right.set(title=r"Final share, $\hat p_i$", xlabel="coin")
    return fig


@STUDY.claim(
    id="coins/fair",
    title="A fair coin shows heads half of the time",
    source="On Coins, Theorem 1",
    statement="The expected share of heads, `E[mean]`, is **one half**: nothing in the toss "
    "prefers a side.\n\nThe share of *each* coin differs.",
    criterion="the 95 % interval of the mean share contains 0.5",
    trials=tosses,
    figure=draw_means,
)
def fair(results) -> Outcome:
    shares = [result.numbers["mean"] for result in results.values()]
    mean = Estimate.of(shares)
    rows = tuple(
        (name, len(r.arrays["heads"]), r.numbers["mean"], r.numbers["mean"] - 0.5)
        for name, r in results.items()
    )
    return Outcome(
        "holds" if mean.low <= 0.5 <= mean.high else "fails",
        {"share of heads": mean, "coins": len(shares), "largest deviation": 0.0000123456},
        (
            Table("Every coin", ("coin", "tosses", "share", "deviation"), rows, "Seeds count up."),
            Table(
                "A wide table",
                ("method", *(f"size {2**i}" for i in range(10))),
                tuple(
                    (method, *(Estimate(0.5 + i / 50, 0.4, 0.9, 20) for i in range(10)))
                    for method in ("head", "prompt of length 1", "prompt of length 20")
                ),
            ),
        ),
        "The coins agree with each other; more tosses narrow the interval.",
    )


@STUDY.claim(
    id="coins/always-heads",
    title="A coin always shows heads",
    source="On Coins, Lemma 2 (as printed)",
    statement="Every toss shows heads.",
    criterion="all recorded tosses are heads",
    trials=tosses,
    expected="fails",
    erratum=Erratum(
        "gap",
        "The proof tosses a coin with two heads. A fair coin is a counterexample.",
        "coins/fair",
    ),
    kind="lemma",
)
def always_heads(results) -> Outcome:
    tails = sum(int((r.arrays["heads"] == 0).sum()) for r in results.values())
    return Outcome("fails" if tails else "holds", {"tails seen": tails})


@STUDY.claim(
    id="coins/edge",
    title="A coin never lands on its edge",
    source="On Coins, Figure 3",
    statement="No toss ends on the edge.",
    criterion="an edge would refute it; our coins have no edge",
    trials=lambda profile, seed: {},
    expected="undecided",
    kind="experiment",
)
def edge(results) -> Outcome:
    return Outcome("undecided", {"edges": float("nan")}, remark="Our coins have no edge.")
