"""Find claims by name, and print studies and claims for people and for programs."""

from __future__ import annotations

import difflib
import importlib
import json
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table as Grid

from minicosm.lab.claims import Claim, LabError, ProfileName, Study, Table
from minicosm.lab.display import COLOURS, shortened, width_of
from minicosm.lab.encoding import for_readers
from minicosm.lab.fingerprints import Fingerprints
from minicosm.lab.formatting import number, seconds
from minicosm.lab.mathematics import plain
from minicosm.lab.options import options_of
from minicosm.lab.reference import Reference
from minicosm.lab.run import recall
from minicosm.lab.store import Store


def select(studies: Sequence[Study], names: Iterable[str]) -> list[tuple[Study, Claim]]:
    """The claims that the names mean, each once, in order; without names, all of them.

    A name is a study, a claim's id, or the end of an id (from a `/` on) that only one claim has;
    or a file with a study of one's own, `FILE.py`, or one claim of it, `FILE.py::CLAIM`.
    """
    every = [(study, claim) for study in studies for claim in study.claims]
    if len({claim.id for _, claim in every}) < len(every):
        raise LabError("two studies have a claim of the same id; ids must be unique.")
    names = list(names)
    if not names:
        return every
    chosen: dict[str, tuple[Study, Claim]] = {}
    for name in names:
        file, _, within = name.partition("::")
        if file.endswith(".py"):
            found = select([load_study(Path(file))], [within] if within else [])
        else:
            found = _named(name, studies, every)
        chosen |= {claim.id: (study, claim) for study, claim in found}
    return list(chosen.values())


def _named(
    name: str, studies: Sequence[Study], every: list[tuple[Study, Claim]]
) -> list[tuple[Study, Claim]]:
    found = [pair for pair in every if name in (*pair[0].names, pair[1].id)]
    if found or any(name in study.names for study in studies):
        return found
    found = [pair for pair in every if pair[1].id.endswith(f"/{name}")]
    if not found:
        raise LabError(_unknown(name, studies, [claim.id for _, claim in every]))
    if len(found) > 1:
        ids = ", ".join(claim.id for _, claim in found)
        raise LabError(f"{name!r} may mean any of {ids}; give the whole id.")
    return found


def select_studies(studies: Sequence[Study], names: Iterable[str]) -> list[Study]:
    """The studies of these names or files; without names, all of them."""
    chosen = []
    for name in names:
        found = [study for study in studies if name in study.names]
        if not found and not name.endswith(".py"):
            raise LabError(_unknown(name, studies, ()))
        chosen.append(found[0] if found else load_study(Path(name)))
    return chosen or list(studies)


def load_study(path: Path) -> Study:
    """The `STUDY` of a file, imported as a module so that worker processes find it as well."""
    if not path.is_file():
        raise LabError(f"there is no file {path}.")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(path.stem)
    except (Exception, SystemExit) as error:
        raise LabError(f"cannot import {path}: {type(error).__name__}: {error}.") from error
    if not (module.__file__ and path.samefile(module.__file__)):
        raise LabError(f"{path} has the name of another module; give the file another name.")
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study):
        raise LabError(f"{path} has no variable STUDY that is a minicosm.lab.Study.")
    study.file = str(path)
    return study


def _unknown(name: str, studies: Sequence[Study], ids: Sequence[str]) -> str:
    known = {name: study.name for study in studies for name in study.names}
    known |= {name: name for name in ids}
    for full in ids:
        known.setdefault(full.rpartition("/")[2], full)
    near = difflib.get_close_matches(name, known, n=6, cutoff=0.55)
    suggestions = list(dict.fromkeys(known[match] for match in near))[:3]
    if suggestions:
        return f"there is no study or claim {name!r}; did you mean {' or '.join(suggestions)}?"
    return f"there is no study or claim {name!r}; see all of them by: minicosm list"


def print_json(document: Any) -> None:
    """One JSON document; NaN and infinities are the strings NaN, Infinity and -Infinity."""
    print(json.dumps(for_readers(document), indent=2, ensure_ascii=False, allow_nan=False))


Errors = Mapping[str, Mapping[ProfileName, str]]


def print_list(studies: Sequence[Study], as_json: bool, errors: Errors) -> None:
    """The studies with their claims; `errors` are those of their last checks, by claim and profile."""
    if as_json:
        print_json([_study_record(study, errors) for study in studies])
        return
    console = Console(highlight=False)
    for study in studies:
        console.print(f"[bold]{escape(study.name)}[/]  {escape(study.title)}")
        console.print(escape(study.source), style="dim")
        section, width = None, 0
        for claim in study.claims:
            if claim.section != section:
                section = claim.section
                ids = [each.id for each in study.claims if each.section == section]
                width = width_of(ids, console.width)
                console.print(f"\n[dim]{escape(plain(section))}[/]" if section else "")
            _print_line(console, claim, width)
            for profile, sentence in errors.get(claim.id, {}).items():
                text = escape(f"{profile}: {sentence}")
                console.print(Padding(f"[{COLOURS['error']}]error[/] {text}", (0, 0, 0, 4)))
        console.print()
    console.print(
        "Registered: ✓ holds, ✕ fails (an erratum), ? undecided. One claim: minicosm show CLAIM",
        style="dim",
    )


def _print_line(console: Console, claim: Claim, width: int) -> None:
    """One line: the registered verdict, the id, and as much of the title as there is room for."""
    mark = {"holds": "✓", "fails": "✕", "undecided": "?"}[claim.expected]
    name = f"[{COLOURS[claim.expected]}]{mark}[/] {escape(claim.id):{width}}"
    room = console.width - width - 6
    if room < 12 or len(claim.id) > width:
        console.print(name, overflow="fold")
        console.print(Padding(escape(plain(claim.title)), (0, 0, 0, 4)))
        return
    console.print(f"{name}  {escape(shortened(plain(claim.title), room))}", soft_wrap=True)


def _study_record(study: Study, errors: Errors) -> dict[str, Any]:
    return {
        "name": study.name,
        "title": study.title,
        "source": study.source,
        "about": study.about,
        "headlines": study.headlines,
        "misprints": study.misprints,
        "claims": [
            {**_claim_record(claim), "errors": dict(errors.get(claim.id, {}))}
            for claim in study.claims
        ],
    }


def _claim_record(claim: Claim) -> dict[str, Any]:
    names = ("id", "title", "kind", "source", "statement", "criterion")
    return {
        **{name: getattr(claim, name) for name in names},
        "erratum": asdict(claim.erratum) if claim.erratum else None,
        "registered": claim.expected,
        "options": {name: option.default_text for name, option in options_of(claim).items()},
    }


def command(
    study: Study,
    claim: Claim,
    profile: ProfileName,
    seed: int,
    options: Mapping[str, str] = {},
) -> str:
    """The command that checks the claim again."""
    name = f"{study.file}::{claim.id}" if study.file else claim.id
    given = (f" --set {shlex.quote(f'{option}={text}')}" for option, text in options.items())
    return f"minicosm check {name} --profile {profile} --seed {seed}{''.join(given)}"


def print_claim(
    store: Store,
    study: Study,
    claim: Claim,
    profile: ProfileName,
    as_json: bool,
    reference: Reference | None = None,
) -> None:
    """A claim and its last verdict at a profile, or else its reference result."""
    last = recall(store, study, claim, profile) or (reference or Reference()).recall(study, claim)
    current = last is not None and last.code_version == Fingerprints().of_claim(claim)
    where = (last.profile, last.seed, last.options) if last else (profile, 0, {})
    rerun = command(study, claim, *where)
    if as_json:
        verdict = {**last.record(), "code_is_current": current} if last else None
        if last and verdict and last.reference:
            verdict["reference"] = dict(last.reference)
        print_json({**_claim_record(claim), "study": study.name, "last": verdict, "rerun": rerun})
        return
    console = Console(highlight=False)
    console.print(f"[bold]{escape(claim.id)}[/]  {escape(plain(claim.title))}")
    console.print(f"{claim.kind} · {escape(plain(claim.source))}\n", style="dim")
    console.print(f"{plain(claim.statement)}\n", markup=False)
    console.print(f"Decided by: {plain(claim.criterion)}", markup=False)
    console.print(f"Registered: {claim.expected}\n")
    if options := options_of(claim):
        those = "" if profile == "laptop" else "; defaults are those of laptop"
        console.print(f"Options, each given by --set NAME=VALUE{those}:")
        for option in options.values():
            needs = option.needs or "not to be set"
            default = option.default_text or "none"
            console.print(f"  {option.name}: {needs} (default: {default})", markup=False)
        console.print()
    if claim.erratum:
        console.print(f"Erratum ({claim.erratum.kind}): {plain(claim.erratum.text)}", markup=False)
        console.print(f"Corrected by: {claim.erratum.corrected_by}\n", markup=False)
    if last is None:
        console.print(f"Not checked yet at profile {profile}.")
    elif last.outcome is None:
        found = last.error.sentence if last.error else ""
        console.print(f"error: {found}", style=COLOURS["error"], markup=False)
        console.print(f"No verdict ({profile}, seed {last.seed}, {last.date}).")
        if last.note:
            console.print(f"It was run {last.note}.", markup=False)
        if not current:
            console.print("The code has changed since.", style="yellow")
    else:
        colour = COLOURS[last.outcome.verdict]
        kind = "Reference result" if last.reference else "Last verdict"
        console.print(
            f"{kind}: [{colour}]{last.outcome.verdict}[/] "
            f"({last.profile}, seed {last.seed}, {last.date}, {seconds(last.seconds)})"
        )
        if last.reference:
            console.print(
                f"Kept with the package: commit {last.reference['commit']}, "
                f"{last.reference['machine']}.",
                markup=False,
            )
        if last.note:
            console.print(f"It was made {last.note}.", markup=False)
        if not current:
            console.print("The code has changed since.", style="yellow")
        for name, value in last.outcome.numbers.items():
            console.print(f"  {plain(name)}: {number(value)}", markup=False)
        for table in last.outcome.tables:
            _print_table(console, table)
        if last.outcome.remark:
            console.print(f"\n{plain(last.outcome.remark)}", markup=False)
    console.print(f"\nRun it again: {rerun}", markup=False, soft_wrap=True)


def _print_table(console: Console, table: Table) -> None:
    """As a grid if it fits the width, else row by row."""
    console.print(f"\n{plain(table.title)}", style="bold", markup=False)
    cells = [[plain(number(cell, table.digits)) for cell in row] for row in table.rows]
    names = [plain(name) for name in table.columns]
    columns = list(zip(names, *cells, strict=True))
    if sum(2 + max(map(len, column)) for column in columns) <= console.width:
        grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for i, name in enumerate(names):
            words = any(isinstance(row[i], str) for row in table.rows)
            grid.add_column(escape(name), justify="left" if words else "right")
        for row in cells:
            grid.add_row(*map(escape, row))
        console.print(grid)
    else:
        for row in cells:
            console.print(f"{names[0]}: {row[0]}", markup=False)
            for name, cell in zip(names[1:], row[1:], strict=True):
                console.print(f"  {name}: {cell}", markup=False)
    if table.note:
        console.print(plain(table.note), style="dim", markup=False)
