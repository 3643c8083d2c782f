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
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from minicosm.lab.chapters import STATES, Chapter, entries_of
from minicosm.lab.claims import ERRATUM_CLASSES, LabError, ProfileName, Study
from minicosm.lab.estimates import Estimate
from minicosm.lab.export import writable
from minicosm.lab.formatting import interval, number, seconds
from minicosm.lab.mathematics import html, inline, plain
from minicosm.lab.reference import Reference
from minicosm.lab.run import Checked
from minicosm.lab.store import Store, versions

PAGES = Path(__file__).parent / "book"


def _opening(text: str) -> str:
    """The first two sentences."""
    return " ".join(re.split(r"(?<=[.?]) (?=[A-Z])", text)[:2])


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
            entries_of(store, study, profile, reference or Reference(), single),
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
    searched = [claim for chapter in chapters for claim in chapter.searched]
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
