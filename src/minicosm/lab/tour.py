"""The tour: the main findings of every study, the exact ones computed on the spot.

A finding is computed, at profile smoke, if all its trials are suites of exact statements or if the study
says that it decides at that size (`Study.live`). The others, whose trainings take longer than a tour, are
shown from reference results, and so is what that size leaves undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from minicosm.lab.claims import Claim, ProfileName, Study
from minicosm.lab.display import COLOURS, Display
from minicosm.lab.formatting import number
from minicosm.lab.mathematics import plain
from minicosm.lab.reference import Reference
from minicosm.lab.run import Checked, check, preferred
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
        Stop(study, claim, preferred(checked.get(claim.id), reference.recall(study, claim)))
        for study, claim in every
    ]


def print_tour(console: Console, stops: Sequence[Stop]) -> None:
    """The findings of each study, then a short table of counts, within 80 columns."""
    width = min(console.width, 100)
    studies = list(dict.fromkeys(stop.study for stop in stops))
    for study in studies:
        console.print(f"\n[bold]{escape(study.title)}[/]", width=width)
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True, width=STATE_WIDTH)
        grid.add_column(width=width - STATE_WIDTH - 2)
        for stop in stops:
            if stop.study is study:
                grid.add_row(*_row(stop, width - STATE_WIDTH - 4))
        console.print(grid)
    table = Table(box=None, padding=(0, 2, 0, 0), show_footer=True)
    table.add_column("study", "all")
    counted = [_counts([stop for stop in stops if stop.study is study]) for study in studies]
    for name in counted[0] if counted else ():
        total = sum(counts[name] for counts in counted)
        if total or name in SHOWN:
            table.add_column(name, str(total), justify="right")
    for study, counts in zip(studies, counted, strict=True):
        names = [str(column.header) for column in table.columns[1:]]
        table.add_row(study.name, *(str(counts[name] or "") for name in names))
    console.print()
    console.print(table)
    if any(stop.checked and stop.checked.reference for stop in stops):
        console.print(
            "\n* a reference result of a full run, kept with the package; "
            "minicosm reproduce CLAIM runs one again.",
            width=width,
        )


STATE_WIDTH = 10
SHOWN = ("findings", "computed now", "reference*")


def _counts(stops: Sequence[Stop]) -> dict[str, int]:
    """How many findings of a study came from where, and how many are not as registered."""
    found = [stop.checked for stop in stops if stop.checked]
    kept = sum(bool(checked.reference) for checked in found)
    return {
        "findings": len(stops),
        "computed now": len(found) - kept,
        "reference*": kept,
        "none yet": len(stops) - len(found),
        "not as registered": sum(not checked.as_registered for checked in found),
    }


def _row(stop: Stop, width: int) -> tuple[str, str]:
    """The state; the title and the first number, in one line if there is room."""
    checked, title = stop.checked, plain(stop.claim.title)
    if checked is None:
        return "[dim]none yet[/]", f"[dim]{escape(title)}[/]"
    state = checked.outcome.verdict if checked.outcome else "error"
    if checked.error is not None:
        sentence = escape(checked.error.sentence)
        return f"[{COLOURS[state]}]{state}[/]", f"{escape(title)}\n[dim]{sentence}[/]"
    star = "*" if checked.reference else ""
    if not checked.as_registered:
        title += f" (registered: {stop.claim.expected})"
    first = list(checked.outcome.numbers.items())[:1] if checked.outcome else []
    said = "".join(f"{plain(name)} {number(value)}" for name, value in first)
    gap = " · " if len(title) + 3 + len(said) <= width else "\n"
    return f"[{COLOURS[state]}]{state}{star}[/]", f"{escape(title)}[dim]{gap}{escape(said)}[/]"
