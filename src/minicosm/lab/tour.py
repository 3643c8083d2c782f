"""The tour: the main findings of every study, the exact ones computed on the spot.

A finding is computed, at profile smoke, if all its trials are suites of exact statements or if the study
says that it decides at that size (`Study.live`). The others, whose trainings take longer than a tour, are
shown from reference results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from minicosm.lab.claims import Claim, ProfileName, Study
from minicosm.lab.display import COLOURS, Display, shortened
from minicosm.lab.formatting import number
from minicosm.lab.mathematics import plain
from minicosm.lab.reference import Reference
from minicosm.lab.run import Checked, check
from minicosm.lab.store import Store

PROFILE: ProfileName = "smoke"


class Stop(NamedTuple):
    """A finding on the tour: what came out, now or when its reference result was made."""

    study: Study
    claim: Claim
    checked: Checked | None


def is_live(study: Study, claim: Claim) -> bool:
    """Whether the tour computes it."""
    if claim.id in study.live:
        return True
    trials = claim.trials(PROFILE, 0).values()
    return bool(trials) and all(".suites." in trial.run.__module__ for trial in trials)


def tour(
    studies: Sequence[Study],
    store: Store,
    reference: Reference,
    jobs: int | None = None,
    display: Display | None = None,
) -> list[Stop]:
    """The findings of the studies, in order."""
    every = [(s, c) for s in studies for c in s.claims if c.id in s.headlines]
    live = [(study, claim) for study, claim in every if is_live(study, claim)]
    checked = {c.claim.id: c for c in check(live, PROFILE, 0, store, jobs=jobs, display=display)}
    return [
        Stop(study, claim, checked.get(claim.id) or reference.recall(study, claim))
        for study, claim in every
    ]


def print_tour(console: Console, stops: Sequence[Stop]) -> None:
    """A table for each study, a line for each finding, within 80 columns."""
    for study in dict.fromkeys(stop.study for stop in stops):
        console.print(f"\n[bold]{escape(study.title)}[/]")
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True, width=max(30, min(console.width, 100) - 38))
        grid.add_column(no_wrap=True, width=24)
        for stop in stops:
            if stop.study is study:
                grid.add_row(*_row(stop, max(30, min(console.width, 100) - 38)))
        console.print(grid)
    now = sum(bool(stop.checked and not stop.checked.reference) for stop in stops)
    kept = sum(bool(stop.checked and stop.checked.reference) for stop in stops)
    missing = len(stops) - now - kept
    console.print(
        f"\n{now} findings were computed now, {kept} are reference results of full runs (*)"
        + (f"; {missing} have none yet (–)." if missing else "."),
        highlight=False,
    )


def _row(stop: Stop, width: int) -> tuple[str, str, str]:
    checked = stop.checked
    if checked is None:
        return "[dim]–[/]", escape(shortened(plain(stop.claim.title), width)), ""
    state = checked.outcome.verdict if checked.outcome else "error"
    star = "*" if checked.reference else ""
    differs = "" if checked.as_registered else " (!)"
    first = list(checked.outcome.numbers.items())[:1] if checked.outcome else []
    said = "".join(f"{plain(name)} {number(value)}" for name, value in first)
    return (
        f"[{COLOURS[state]}]{state}{star}{differs}[/]",
        escape(shortened(plain(stop.claim.title), width)),
        f"[dim]{escape(shortened(said, 24))}[/]",
    )
