"""The lab book: a small site of static pages, or one file, with every claim's verdict and figure.

    index.html          what this is, counts of verdicts, the headline figure of every study
    <study>.html        findings, the map of statements, and all claims with filters
    errata.html         by class; and misprints
    versions.html       versions and seeds
    book.css, book.js, claims.js (what is searched)

It needs no network and no server.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from minicosm.lab.catalogue import command
from minicosm.lab.claims import ERRATUM_CLASSES, Claim, LabError, ProfileName, Study
from minicosm.lab.estimates import Estimate
from minicosm.lab.export import writable
from minicosm.lab.figures import lean
from minicosm.lab.fingerprints import Fingerprints
from minicosm.lab.formatting import interval, number, seconds
from minicosm.lab.mathematics import html, inline, plain
from minicosm.lab.reference import Reference
from minicosm.lab.run import Checked, preferred, recall
from minicosm.lab.statement_map import Box, draw
from minicosm.lab.store import Store, versions

PAGES = Path(__file__).parent / "book"
STATES = {
    "holds": "holds",
    "fails": "fails",
    "refuted": "fails as printed",
    "undecided": "undecided",
    "error": "error",
    "unchecked": "not checked",
}


@dataclass(frozen=True)
class Entry:
    """A claim in the book: its last verdict at the profile, or else its reference result, if any.

    `stale` says that the claim's code has changed since the verdict; `serves` are the ids of the
    claims that stand on it; `address` is where it is in the book.
    """

    claim: Claim
    last: Checked | None
    stale: bool
    rerun: str
    address: str
    serves: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        return anchor(self.claim.id)

    @property
    def state(self) -> str:
        """One of `STATES`; a printed statement that fails as registered is `refuted`."""
        if self.last is None:
            return "unchecked"
        if self.last.outcome is None:
            return "error"
        expected = self.claim.erratum is not None and self.last.as_registered
        return "refuted" if expected else self.last.outcome.verdict

    @property
    def differs(self) -> bool:
        """Whether it came out otherwise than registered."""
        return (
            self.last is not None and self.last.outcome is not None and not self.last.as_registered
        )

    def figure(self, prefix: str = "", again: bool = False) -> str:
        """Its figure, named for who does not see it. With a prefix its ids are its own; with `again` it is
        a reference to the one that the page has already, which saves a third of the page."""
        name = f"{prefix}f{zlib.crc32(self.claim.id.encode()):x}"
        svg = lean((self.last and self.last.svg) or "", name)
        if again and f' id="{name}"' in svg:
            svg = f'{svg[: svg.index(">") + 1]}<use href="#{name}"/></svg>'
        svg = re.sub(r"max-width: (\d+)px", _least, svg, count=1)
        return svg.replace(
            'role="img"', f'role="img" aria-label="{escape(plain(self.claim.title))}"', 1
        )

    @property
    def numbers(self) -> list[tuple[str, Any]]:
        if self.last is None or self.last.outcome is None:
            return []
        return list(self.last.outcome.numbers.items())


@dataclass(frozen=True)
class Chapter:
    """A study in the book; `address` is where it begins."""

    study: Study
    entries: Sequence[Entry]
    address: str

    @property
    def counts(self) -> Counter[str]:
        return Counter(entry.state for entry in self.entries)

    @property
    def as_registered(self) -> int:
        return sum(entry.last.as_registered for entry in self.entries if entry.last)

    @property
    def findings(self) -> list[Entry]:
        of = {entry.claim.id: entry for entry in self.entries}
        return [of[claim] for claim in self.study.headlines if claim in of]

    @property
    def cover(self) -> Entry | None:
        """The first finding that is a figure of the source, or else finding, or else claim, that has a
        figure: what is drawn for a theorem is mostly how small its errors are."""
        drawn = [e for e in (*self.findings, *self.entries) if e.last and e.last.svg]
        findings = [entry for entry in drawn if entry.claim.id in self.study.headlines]
        shown = [entry for entry in findings if entry.claim.kind == "figure"] or findings or drawn
        return shown[0] if shown else None

    @property
    def drawn(self) -> dict[str, Entry]:
        """For every finding with a figure the first one that has the same: it is shown there."""
        first: dict[str, Entry] = {}
        return {
            entry.claim.id: first.setdefault(_picture(entry.last.svg), entry)
            for entry in self.findings
            if entry.last and entry.last.svg
        }

    @property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(entry.claim.kind for entry in self.entries))

    @property
    def sections(self) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.claim.section, []).append(entry)
        return found

    @property
    def map(self) -> str:
        boxes = [
            Box(e.claim.id, plain(e.claim.title), f"#{e.anchor}", e.state, STATES[e.state])
            for e in self.entries
        ]
        return draw(boxes, {e.claim.id: e.claim.uses for e in self.entries if e.claim.uses})

    @property
    def mapped(self) -> set[str]:
        """The states of the statements on the map."""
        return {entry.state for entry in self.entries if entry.claim.uses or entry.serves}

    @property
    def runs(self) -> list[tuple[str, str, str, int, str, int]]:
        """(commit, machine, profile, seed, days) of what was run, and how many verdicts are from there."""
        found: dict[tuple[str, str, str, int], list[str]] = {}
        for last in (entry.last for entry in self.entries if entry.last):
            kept = last.reference or {"commit": "your own", "machine": "this store"}
            run = (kept["commit"], kept["machine"], last.profile, last.seed)
            found.setdefault(run, []).append(last.date[:10])
        return [
            (*run, " to ".join(sorted({min(days), max(days)})), len(days))
            for run, days in found.items()
        ]


def _picture(svg: str) -> str:
    """The figure with ids numbered, so that equal ones are equal."""
    ids: dict[str, int] = {}
    return re.sub(
        r'(\bid="|href="#|url\(#)([^")]+)',
        lambda found: f"{found[1]}{ids.setdefault(found[2], len(ids))}",
        svg,
    )


SMALLEST = 0.7  # of its size: below, the numbers at the axes of a figure cannot be read


def _least(width: re.Match[str]) -> str:
    """Its largest width and its least one; in a narrower window the figure scrolls."""
    return f"{width[0]}; --least: {SMALLEST * int(width[1]):.0f}px"


def _opening(text: str) -> str:
    """The first two sentences."""
    return " ".join(re.split(r"(?<=[.?]) (?=[A-Z])", text)[:2])


def anchor(claim_id: str) -> str:
    return "claim-" + re.sub(r"[^A-Za-z0-9]+", "-", claim_id)


def write_report(
    store: Store,
    studies: Sequence[Study],
    profile: ProfileName,
    out: Path | str,
    reference: Reference | None = None,
) -> Path:
    """Write the lab book: one file if `out` ends in `.html`, else a folder of pages; the path to open.

    Where the store has no verdict at the profile the reference result stands in, marked. A file is
    replaced by one rename, and so is every page of a folder.
    """
    out = Path(out)
    if out.suffix == ".html":
        out = writable(out)
        pages = render(store, studies, profile, reference, single=True)
        _write(out, pages["single.html"])
        return out
    if out.exists() and not out.is_dir():
        raise LabError(f"{out} is no folder; the lab book is one, or a file that ends in .html.")
    pages = render(store, studies, profile, reference)
    assets = ("book.css", "book.js")
    try:
        out.mkdir(parents=True, exist_ok=True)
        files = {name: writable(out / name) for name in (*assets, *pages)}  # all, before any
        for asset in assets:
            shutil.copyfile(PAGES / asset, files[asset])
    except OSError as error:
        raise LabError(f"cannot write the lab book {out}: {error.strerror or error}.") from error
    for name, text in pages.items():
        _write(files[name], text)
    return out / "index.html"


def render(
    store: Store,
    studies: Sequence[Study],
    profile: ProfileName,
    reference: Reference | None = None,
    single: bool = False,
) -> dict[str, str]:
    """The pages of the lab book by their names; with `single` one page, `single.html`."""
    chapters = [
        Chapter(
            study,
            _entries(store, study, profile, reference or Reference(), single),
            f"#study-{study.name}" if single else f"{study.name}.html",
        )
        for study in studies
    ]
    entries = [entry for chapter in chapters for entry in chapter.entries]
    checked = [entry.last for entry in entries if entry.last is not None]
    errata = {
        kind: found
        for kind in ERRATUM_CLASSES
        if (found := [e for e in entries if e.claim.erratum and e.claim.erratum.kind == kind])
    }
    misprints = [(study, study.misprints) for study in studies if study.misprints]
    pages = [(chapter.study.name, chapter.address) for chapter in chapters]
    if errata or misprints:
        pages.append(("errata", "#errata" if single else "errata.html"))
    pages.append(("versions", "#versions" if single else "versions.html"))
    searched = [
        _searched(chapter.study, entry) for chapter in chapters for entry in chapter.entries
    ]
    search = json.dumps(searched, ensure_ascii=False)
    search = search.replace("<", "\\u003c").replace("\u2028", "\\u2028")  # it stands in a script
    known: dict[str, Any] = {
        "chapters": chapters,
        "errata": errata,
        "misprints": misprints,
        "by_id": {entry.claim.id: entry for entry in entries},
        "counts": Counter(entry.state for entry in entries),
        "states": tuple(STATES),
        "names": STATES,
        "total": len(entries),
        "as_registered": sum(last.as_registered for last in checked),
        "deviations": [entry for entry in entries if entry.differs],
        "referenced": sum(last.reference is not None for last in checked),
        "stale": Counter(
            entry.last.reference is not None for entry in entries if entry.stale and entry.last
        ),
        "profile": profile,
        "seeds": sorted({last.seed for last in checked}),
        "environments": _environments(checked),
        "versions": versions(),
        "date": datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0"),
        "pages": pages,
        "home": "#top" if single else "index.html",
        "single": single,
        "search": search,
    }
    page = _templates()
    if single:
        return {"single.html": page("single", known)}
    made = {"index.html": page("index", {**known, "here": ""})}
    for chapter in chapters:
        here = {**known, "chapter": chapter, "here": chapter.study.name}
        made[f"{chapter.study.name}.html"] = page("study", here)
    if errata or misprints:
        made["errata.html"] = page("errata", {**known, "here": "errata"})
    made["versions.html"] = page("versions", {**known, "here": "versions"})
    made["claims.js"] = f"const CLAIMS = {search};\n"
    return made


def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(PAGES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["here"] = ""
    environment.filters |= {
        "prose": html,
        "line": inline,
        "opening": _opening,
        "plain": plain,
        "number": number,
        "interval": interval,
        "seconds": seconds,
    }
    environment.tests |= {
        "estimate": lambda value: isinstance(value, Estimate),
        "words": lambda value: isinstance(value, str),
    }

    def page(name: str, known: Mapping[str, Any]) -> str:
        return environment.get_template(f"{name}.html.j2").render(**known).lstrip()

    return page


def _searched(study: Study, entry: Entry) -> dict[str, str]:
    """What the search knows of a claim."""
    claim, outcome = entry.claim, entry.last.outcome if entry.last else None
    said = [study.title, claim.statement, claim.criterion, claim.kind]
    said += [claim.erratum.kind, claim.erratum.text] if claim.erratum else []
    said += [outcome.remark, *(table.title for table in outcome.tables)] if outcome else []
    return {
        "id": claim.id,
        "title": plain(claim.title),
        "text": plain(" ".join([*said, STATES[entry.state]])),
        "source": plain(claim.source),
        "state": entry.state,
        "address": entry.address,
    }


def _entries(
    store: Store, study: Study, profile: ProfileName, reference: Reference, single: bool
) -> list[Entry]:
    code = Fingerprints()
    serves: dict[str, list[str]] = {}
    for claim in study.claims:
        for below in claim.uses:
            serves.setdefault(below, []).append(claim.id)
    entries = []
    for claim in study.claims:
        last = preferred(recall(store, study, claim, profile), reference.recall(study, claim))
        where = (last.profile, last.seed, last.options) if last else (profile, 0, {})
        stale = last is not None and last.code_version != code.of_claim(claim)
        page = "" if single else f"{study.name}.html"
        entries.append(
            Entry(
                claim,
                last,
                stale,
                command(study, claim, *where),
                f"{page}#{anchor(claim.id)}",
                tuple(serves.get(claim.id, ())),
            )
        )
    return entries


def _write(out: Path, text: str) -> None:
    new = out.with_name(f".new-{uuid.uuid4().hex}")
    try:
        new.write_text(text, encoding="utf-8")
        os.replace(new, out)
    except OSError as error:
        raise LabError(f"cannot write the lab book {out}: {error.strerror or error}.") from error
    finally:
        if new.exists():
            new.unlink()


def _environments(checked: Sequence[Checked]) -> list[tuple[dict[str, str], int]]:
    """The distinct sets of versions that verdicts were made with, and how many with each."""
    found = Counter(tuple(last.versions.items()) for last in checked)
    return [(dict(items), count) for items, count in found.most_common()]
