"""The tables of the pages on studies: `python docs/tables.py` writes them anew.

A table stands between marks, which say what it is:

    <!-- verdicts -->                  a row for every claim that has one there: title, verdict and numbers
    <!-- table CLAIM: TITLE -->        the table of this title that the claim's check made
    <!-- errata -->                    the printed statements of the study that are wrong
    <!-- misprints -->                 those that their context puts right
    <!-- end -->

Verdicts, numbers and tables are those of reference results, which `minicosm keep` keeps; a row or a
table without one stays as it is. Titles, errata and misprints are as registered. A test compares pages
with what this makes of them.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from minicosm.lab.claims import Claim, Study
from minicosm.lab.estimates import Estimate
from minicosm.lab.formatting import number
from minicosm.lab.reference import Reference
from minicosm.lab.run import Checked

PAGES = Path(__file__).parent / "studies"
MARKED = re.compile(
    r"(<!-- (verdicts|errata|misprints|table [^\n]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL
)
VERDICTS = ("claim", "what it says", "verdict", "numbers")
ERRATA = ("printed statement", "class", "what is wrong", "corrected by")
SHOWN = 3  # numbers of a claim


def written(text: str, study: Study, reference: Reference) -> str:
    """The text of a page with its tables written anew."""

    def block(found: re.Match[str]) -> str:
        kind, _, rest = found[2].partition(" ")
        if kind == "verdicts":
            made = verdicts(found[3], study, reference)
        elif kind == "errata":
            made = errata(study)
        elif kind == "misprints":
            made = "\n".join(f"- {line}" for line in study.misprints)
        else:
            claim, _, title = rest.partition(": ")
            made = of_claim(claim, title, study, reference) or found[3].strip()
        return f"{found[1]}\n{made}\n\n{found[4]}"

    return MARKED.sub(block, text)


def verdicts(before: str, study: Study, reference: Reference) -> str:
    """The rows of these claims, and where the numbers come from."""
    claims = {claim.id: claim for claim in study.claims}
    rows, used = [], []
    for cells in _rows(before)[1:]:
        name = re.fullmatch(r"`([^`]+)`", cells[0])
        if name is None or name[1] not in claims:
            raise ValueError(
                f"{cells[0]} is no claim of {study.name}; a row of verdicts begins with one"
            )
        claim = claims[name[1]]
        kept = reference.recall(study, claim)
        rest = [_verdict(claim, kept), _numbers(kept)] if kept is not None else cells[2:]
        rows.append([cells[0], escaped(claim.title), *rest])
        used += [kept] if kept is not None else []
    return "\n\n".join(part for part in (_table(VERDICTS, rows), _origin(used, len(rows))) if part)


def _verdict(claim: Claim, kept: Checked) -> str:
    verdict = kept.outcome.verdict if kept.outcome else "error"
    if kept.as_registered:
        return f"{verdict} as printed" if claim.erratum else verdict
    return f"{verdict} (registered: {claim.expected})"


def _numbers(kept: Checked) -> str:
    found = list(kept.outcome.numbers.items()) if kept.outcome else []
    return escaped("; ".join(f"{name} {number(value)}" for name, value in found[:SHOWN]))


def _origin(used: list[Checked], rows: int) -> str:
    """A line that says of which runs the numbers are."""
    if not used:
        return ""
    runs = Counter(
        f"commit {kept.reference['commit']}, {kept.date[:10]}, {kept.profile}, seed {kept.seed}"
        for kept in used
        if kept.reference
    )
    if rows == 1:
        return f"*Reference result: {next(iter(runs))}.*"
    said = [f"{count} of {rows} claims: {run}" for run, count in runs.items()]
    other = rows - len(used)
    said += [f"{other} of {rows} claims: an earlier run, by hand"] if other else []
    return f"*Reference results. {'; '.join(said)}.*"


def of_claim(name: str, title: str, study: Study, reference: Reference) -> str:
    """A table that the check of a claim made; nothing if there is no reference result."""
    claims = {claim.id: claim for claim in study.claims}
    if name not in claims:
        raise ValueError(f"{name} is no claim of {study.name}; a table is that of a claim")
    kept = reference.recall(study, claims[name])
    if kept is None or kept.outcome is None:
        return ""
    found = {table.title: table for table in kept.outcome.tables}
    if title not in found:
        raise ValueError(f"{name} has no table {title!r}; it has {', '.join(map(repr, found))}")
    table = found[title]
    rows = [[escaped(_cell(value, table.digits)) for value in row] for row in table.rows]
    return f"{_table([escaped(c) for c in table.columns], rows)}\n\n{_origin([kept], 1)}"


def _cell(value: object, digits: int) -> str:
    """An estimate as its value and half its interval, so that many columns have room."""
    if isinstance(value, Estimate):
        half = (value.high - value.low) / 2
        return f"{number(value.value, digits)} ± {number(half, max(2, digits - 1))}"
    return "" if value is None else number(value, digits)


def errata(study: Study) -> str:
    rows = [
        [
            f"`{claim.id}` ({claim.source})",
            claim.erratum.kind,
            claim.erratum.text,
            f"`{claim.erratum.corrected_by}`",
        ]
        for claim in study.claims
        if claim.erratum
    ]
    return _table(ERRATA, [[escaped(cell) for cell in row] for row in rows])


def escaped(text: str) -> str:
    """A cell: in one line, bars as what does not end it."""
    # `split()` would also take the no-break spaces between thousands for ends of words
    line = re.sub(r"[ \t\r\n]+", " ", text.strip())
    parts = re.split(r"((?<!\\)\$[^$]+(?<!\\)\$)", line)
    return "".join(
        part.replace(r"\|", r"\Vert{}").replace("|", r"\vert{}")
        if i % 2
        else part.replace("|", r"\|")
        for i, part in enumerate(parts)
    )


def _table(columns: tuple[str, ...] | list[str], rows: list[list[str]]) -> str:
    head, *body = (f"| {' | '.join(cells)} |" for cells in (columns, *rows))
    return "\n".join([head, f"|{'---|' * len(columns)}", *body])


def _rows(text: str) -> list[list[str]]:
    """The cells of a table, its line of dashes left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    split = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [cells for cells in split if not all(re.fullmatch(r":?-+:?", cell) for cell in cells)]


def main() -> None:
    from minicosm.studies import STUDIES

    for study in STUDIES:
        path = PAGES / f"{study.name}.md"
        before = path.read_text(encoding="utf-8")
        after = written(before, study, Reference())
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(f"{path} is new")


if __name__ == "__main__":
    sys.exit(main())
