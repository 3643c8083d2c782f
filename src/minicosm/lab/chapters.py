"""What the lab book shows: claims with their last verdicts, in chapters, one for each study."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from minicosm.lab.catalogue import command
from minicosm.lab.claims import Claim, ProfileName, Study
from minicosm.lab.figures import lean
from minicosm.lab.fingerprints import Fingerprints
from minicosm.lab.mathematics import plain
from minicosm.lab.reference import Reference
from minicosm.lab.run import Checked, preferred, recall
from minicosm.lab.statement_map import Box, draw
from minicosm.lab.store import Store

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

    @property
    def said(self) -> str:
        """What the search looks through."""
        claim, outcome = self.claim, self.last.outcome if self.last else None
        said = [claim.statement, claim.criterion, claim.kind, STATES[self.state], claim.source]
        said += [claim.erratum.kind, claim.erratum.text] if claim.erratum else []
        said += [outcome.remark, *(table.title for table in outcome.tables)] if outcome else []
        return plain(" ".join(said))


@dataclass(frozen=True)
class Chapter:
    """A study in the book; `address` is where it begins."""

    study: Study
    entries: Sequence[Entry]
    address: str

    @property
    def searched(self) -> list[dict[str, str]]:
        """What the search knows of its claims."""
        return [
            {
                "id": entry.claim.id,
                "title": plain(entry.claim.title),
                "text": f"{self.study.title} {entry.said}",
                "state": entry.state,
                "address": entry.address,
            }
            for entry in self.entries
        ]

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


def anchor(claim_id: str) -> str:
    return "claim-" + re.sub(r"[^A-Za-z0-9]+", "-", claim_id)


def entries_of(
    store: Store, study: Study, profile: ProfileName, reference: Reference, single: bool
) -> list[Entry]:
    """The claims of a study, each with its verdict at the profile, or else its reference result."""
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
