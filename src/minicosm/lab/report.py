"""The lab book: one self-contained HTML file with every claim, its verdict, numbers and figure."""

from __future__ import annotations

import os
import re
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from minicosm.lab.catalogue import command
from minicosm.lab.claims import ERRATUM_CLASSES, VERDICTS, Claim, LabError, ProfileName, Study
from minicosm.lab.estimates import Estimate
from minicosm.lab.export import writable
from minicosm.lab.fingerprints import Fingerprints
from minicosm.lab.formatting import interval, number, seconds
from minicosm.lab.mathematics import html, inline
from minicosm.lab.run import Checked, recall
from minicosm.lab.store import Store, versions

TEMPLATE = "lab_book.html.j2"


@dataclass(frozen=True)
class Entry:
    """A claim in the book: its last verdict at the profile, if there is one.

    `stale` says that the study's code has changed since the verdict.
    """

    claim: Claim
    last: Checked | None
    stale: bool
    rerun: str

    @property
    def anchor(self) -> str:
        return anchor(self.claim.id)

    @property
    def state(self) -> str:
        """`holds`, `fails`, `undecided`, `error`, or `unchecked`."""
        if self.last is None:
            return "unchecked"
        return self.last.outcome.verdict if self.last.outcome else "error"

    @property
    def headline(self) -> list[tuple[str, Any]]:
        """The first two numbers, for the front table."""
        if self.last is None or self.last.outcome is None:
            return []
        return list(self.last.outcome.numbers.items())[:2]


def anchor(claim_id: str) -> str:
    return "claim-" + re.sub(r"[^A-Za-z0-9]+", "-", claim_id)


def write_report(
    store: Store, studies: Sequence[Study], profile: ProfileName, out: Path | str
) -> None:
    """Write the lab book of the last verdicts at a profile; it replaces `out` by one rename."""
    out = writable(out)
    page = render(store, studies, profile)
    new = out.with_name(f".new-{uuid.uuid4().hex}")
    try:
        new.write_text(page, encoding="utf-8")
        os.replace(new, out)
    except OSError as error:
        raise LabError(f"cannot write the lab book {out}: {error.strerror or error}.") from error
    finally:
        if new.exists():
            new.unlink()


def render(store: Store, studies: Sequence[Study], profile: ProfileName) -> str:
    """The HTML of the lab book."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    chapters = [(study, _entries(store, study, profile)) for study in studies]
    entries = [entry for _, chapter in chapters for entry in chapter]
    checked = [entry.last for entry in entries if entry.last is not None]
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "prose": html,
        "line": inline,
        "number": number,
        "interval": interval,
        "seconds": seconds,
    }
    environment.tests |= {
        "estimate": lambda value: isinstance(value, Estimate),
        "words": lambda value: isinstance(value, str),
    }
    return environment.get_template(TEMPLATE).render(
        chapters=chapters,
        errata={
            kind: found
            for kind in ERRATUM_CLASSES
            if (found := [e for e in entries if e.claim.erratum and e.claim.erratum.kind == kind])
        },
        misprints=[(study, study.misprints) for study in studies if study.misprints],
        by_id={entry.claim.id: entry for entry in entries},
        counts=Counter(entry.state for entry in entries),
        states=(*VERDICTS, "error", "unchecked"),
        total=len(entries),
        as_registered=sum(last.as_registered for last in checked),
        stale=sum(entry.stale for entry in entries),
        profile=profile,
        seeds=sorted({last.seed for last in checked}),
        environments=_environments(checked),
        versions=versions(),
        date=datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0"),
    )


def _entries(store: Store, study: Study, profile: ProfileName) -> list[Entry]:
    code = Fingerprints()
    entries = []
    for claim in study.claims:
        last = recall(store, study, claim, profile)
        rerun = command(
            study, claim, profile, last.seed if last else 0, last.options if last else {}
        )
        stale = last is not None and last.code_version != code.of_claim(claim)
        entries.append(Entry(claim, last, stale, rerun))
    return entries


def _environments(checked: Sequence[Checked]) -> list[tuple[dict[str, str], int]]:
    """The distinct sets of versions that verdicts were made with, and how many with each."""
    found = Counter(tuple(last.versions.items()) for last in checked)
    return [(dict(items), count) for items, count in found.most_common()]
