"""What a run shows: progress on standard error, and the table of verdicts.

Every trial that ends leaves a line. On a terminal there is a live bar for the whole below these, and one
for every trial that runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from minicosm.lab.formatting import number, seconds
from minicosm.lab.mathematics import plain

if TYPE_CHECKING:
    from minicosm.lab.audit import Audited
    from minicosm.lab.claims import Outcome
    from minicosm.lab.executors import Failure
    from minicosm.lab.run import Checked

COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow", "error": "magenta"}


class Display:
    """Progress of a run, on standard error; `quiet` shows nothing."""

    def __init__(self, quiet: bool = False) -> None:
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self._live: Any = None
        self._whole: Any = None
        self._bars: dict[str, Any] = {}  # of the trials that run
        self._done = 0
        self._total = 0

    @contextmanager
    def trials(self, missing: int, stored: int) -> Iterator[None]:
        """Around the running of trials."""
        self._done, self._total = 0, missing
        if stored:
            self.console.print(f"{stored} of {stored + missing} trials are in the store already.")
        if not missing or not self.console.is_terminal or self.console.quiet:
            yield
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=18),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
        ) as live:
            self._live = live
            self._whole = live.add_task("trials", total=missing, count=f"0/{missing}")
            try:
                yield
            finally:
                self._live = None
                self._bars.clear()

    @contextmanager
    def claims(self, count: int) -> Iterator[None]:
        """Around the judging of claims, which is fast but draws figures."""
        if self.console.is_terminal and not self.console.quiet:
            with self.console.status(f"judging {count} claims"):
                yield
        else:
            yield

    def progress(self, name: str, done: int, total: int, note: str = "") -> None:
        """A trial says how far it is."""
        if self._live is not None:
            if name not in self._bars:
                self._bars[name] = self._live.add_task("", total=None, count="")
            text = f"{name}: {note}" if note else name
            self._live.update(
                self._bars[name],
                description=escape(shortened(text, max(20, self.console.width - 45))),
                completed=done,
                total=total or None,
                count=f"{done}/{total}" if total else "",
            )

    def ended(self, name: str, took: float, failure: Failure | None) -> None:
        """A trial ended."""
        self._done += 1
        if self._live is not None:
            if (bar := self._bars.pop(name, None)) is not None:
                self._live.remove_task(bar)
            self._live.update(
                self._whole, completed=self._done, count=f"{self._done}/{self._total}"
            )
        if failure is not None:
            self.console.print(f"error in {escape(failure.sentence)}", style="magenta")
        else:
            line = f"trial {self._done}/{self._total}  {name}  ({seconds(took)})"
            self.console.print(escape(line), soft_wrap=True)


def shortened(text: str, width: int) -> str:
    """The text, cut to a width by an ellipsis."""
    return text if len(text) <= width else text[: width - 1] + "…"


def width_of(ids: Sequence[str], width: int) -> int:
    """Columns for the ids of claims: all that they need, if 34 of `width` are left for the rest."""
    return min(max(map(len, ids), default=1), max(width - 34, 20))


def _remark(item: Checked, outcome: Outcome) -> str:
    """What is to be said of a verdict below the table."""
    remark = plain(outcome.remark) if outcome.verdict != "holds" else ""
    if item.as_registered:
        return remark
    found = f"{outcome.verdict}, registered as {item.claim.expected} (!)."
    return f"{found} {remark}".strip()


MANY = 12  # claims; of more, only those that came out otherwise than registered are listed


def print_verdicts(console: Console, checked: Sequence[Checked], every: bool = False) -> None:
    """The table of verdicts within 80 columns: first those that came out otherwise than registered, then,
    of a few claims or with `every`, the others. Below it what is remarked of claims that do not hold, what
    went wrong, and a count."""
    whole = every or len(checked) <= MANY
    shown = [item for item in checked if whole or not item.as_registered]
    shown.sort(key=lambda item: item.as_registered)
    if shown:
        _print_table(console, shown)
    said: dict[str, list[str]] = {}  # of what is the same for many claims, once
    for item in shown:
        if item.error is not None:
            console.print(f"{item.claim.id}: {item.error.sentence}", style="magenta", markup=False)
        elif item.outcome is not None and (text := _remark(item, item.outcome)):
            said.setdefault(text, []).append(item.claim.id)
    for text, ids in said.items():
        more = f" and {len(ids) - 2} more" if len(ids) > 3 else ""
        names = ", ".join(ids[:2] if more else ids) + more
        console.print(f"{names}: {text}", markup=False, highlight=False)
    agreed = [item for item in checked if item.as_registered]
    claims = "claim" if len(checked) == 1 else "claims"
    kinds = Counter(item.outcome.verdict for item in agreed if item.outcome)
    parts = ", ".join(f"{count} {verdict}" for verdict, count in kinds.items())
    line = f"{len(agreed)} of {len(checked)} {claims} came out as registered"
    console.print(f"{line}{f' ({parts})' if parts and not whole else ''}.", highlight=False)


def _print_table(console: Console, checked: Sequence[Checked]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    first = [text for item in checked for text in (item.claim.id, item.note[:40])]
    table.add_column("claim", overflow="fold", width=width_of(first, console.width))
    table.add_column("verdict", no_wrap=True)
    table.add_column("first number", overflow="fold")
    for item in checked:
        state = item.outcome.verdict if item.outcome else "error"
        mark = "" if item.as_registered or state == "error" else " (!)"
        numbers = list(item.outcome.numbers.items())[:1] if item.outcome else []
        note = f"\n[dim]{escape(item.note)}[/]" if item.note else ""
        table.add_row(
            escape(item.claim.id) + note,
            f"[{COLOURS[state]}]{state}{mark}[/]",
            escape("\n".join(f"{plain(name)} {number(value)}" for name, value in numbers)),
        )
    console.print(table)
    console.print()


def print_audit(console: Console, audited: Sequence[Audited]) -> None:
    """For every claim how many corruptions turned its verdict, of how many; below, what was found."""
    from rich.table import Table

    from minicosm.lab.audit import CORRUPTIONS

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("claim", overflow="fold", width=width_of([a.claim.id for a in audited], 68))
    table.add_column("verdict", no_wrap=True)
    for kind in CORRUPTIONS:
        table.add_column(kind, justify="right", no_wrap=True)
    for item in audited:
        cells = [
            f"{item.turned.get(kind, 0)}/{item.tried[kind]}" if item.tried.get(kind) else "–"
            for kind in CORRUPTIONS
        ]
        mark = " (!)" if item.findings else ""
        table.add_row(
            escape(item.claim.id), f"[{COLOURS[item.verdict]}]{item.verdict}{mark}[/]", *cells
        )
    console.print(table)
    console.print()
    for item in audited:
        for finding in item.findings:
            console.print(f"{item.claim.id}: {finding}", markup=False)
    found = sum(bool(item.findings) for item in audited)
    console.print(
        f"{len(audited)} claims audited; {found} with a finding; verdicts turned by "
        f"{sum(sum(a.turned.values()) for a in audited)} of {sum(sum(a.tried.values()) for a in audited)} "
        "corruptions."
    )


def print_agreement(console: Console, pairs: Sequence[tuple[Checked, Checked]]) -> int:
    """For every claim the numbers that agree with its reference result, and those that do not; the
    exit code: 0 if all agree, 1 if one does not, 3 if a claim has no verdict now."""
    from minicosm.lab.reproduce import agreement

    code = 0
    for kept, new in pairs:
        if new.outcome is None or kept.outcome is None:
            sentence = new.error.sentence if new.error else "no verdict"
            console.print(f"{new.claim.id}: {sentence}", style="magenta", markup=False)
            code = 3
            continue
        compared = agreement(new.outcome, kept.outcome)
        same = sum(agrees for *_, agrees in compared)
        colour = "green" if same == len(compared) else "red"
        console.print(
            f"{escape(new.claim.id)}: [{colour}]{same} of {len(compared)} numbers agree[/] "
            f"with {escape(kept.date)} ({seconds(new.seconds)}, then {seconds(kept.seconds)})"
        )
        for name, before, now, agrees in compared:
            if not agrees:
                console.print(
                    f"  {plain(name)}: {number(now)}; it was {number(before)}",
                    markup=False,
                    style="red",
                )
                code = max(code, 1)
    return code
