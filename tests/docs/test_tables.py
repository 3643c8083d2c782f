"""Tables of the pages on studies are those that reference results and registrations make."""

import importlib.util
import re
from typing import Any

import pytest
from pages import ROOT

from minicosm.lab import Estimate, Outcome, Store, Study, Table, check
from minicosm.lab.reference import Reference, keep
from minicosm.studies import STUDIES

by_study = pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)


def tables() -> Any:
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def page(study: Study) -> str:
    return (ROOT / "docs" / "studies" / f"{study.name}.md").read_text()


@by_study
def test_a_page_is_what_is_generated(study):
    said = "the tables are not those of the reference results: run `python docs/tables.py`"
    assert tables().written(page(study), study, Reference()) == page(study), said


@by_study
def test_no_table_of_verdicts_or_errata_is_typed(study):
    outside = tables().MARKED.sub("", page(study))
    assert not re.findall(r"^\|[^\n]*\| (?:verdict|class) \|", outside, re.MULTILINE)


@by_study
def test_every_claim_stands_in_one_of_the_tables(study):
    marked = "".join(found[3] for found in tables().MARKED.finditer(page(study)))
    rows = re.findall(rf"^\| `({study.name}/[\w.-]+)`", marked, re.MULTILINE)
    assert sorted(rows) == sorted(claim.id for claim in study.claims)


@by_study
def test_the_page_says_how_many_claims_came_out_as_registered(study):
    """In words that the results of a later run turn."""
    kept = [Reference().recall(study, claim) for claim in study.claims]
    good, every = sum(each is not None and each.as_registered for each in kept), len(kept)
    said = f"All {every} claims" if good == every else f"{good} of {every} claims"
    assert f"{said} came out as registered" in " ".join(page(study).split())


# -- made-up results --------------------------------------------------------------------------------

STUDY = Study("made", "Made up", "nobody", "For tests.")
TABLE = Table("Of $|H|$", ("$|H|$", "share", "note"), ((4, Estimate(0.5, 0.4, 0.6, 9), None),))


def claim(name: str, verdict: str, expected: str = "holds") -> None:
    numbers = {
        "share, $|H| = 4$": Estimate(0.5, 0.4, 0.6, 9),
        "a|b": 3,
        "third": 1e-12,
        "fourth": 4,
    }
    STUDY.claim(
        id=f"made/{name}",
        title=f"Title of {name} with $|x|$",
        source="nowhere",
        statement="It holds.",
        criterion="It is said beforehand what comes out here.",
        trials=lambda profile, seed: {},
        check=lambda results: Outcome(verdict, numbers, (TABLE,)),
        expected=expected,
    )


claim("one", "holds")
claim("two", "undecided")
claim("three", "holds")

PAGE = """Before.

<!-- verdicts -->

| claim | what it says | verdict | numbers |
|---|---|---|---|
| `made/one` | old title | typed | 1 |
| `made/three` | old title | typed by hand | 3 \\| 4 |
| `made/two` | old title | typed | 2 |

<!-- end -->

Between.

<!-- table made/one: Of $|H|$ -->

| kept | as it is |
|---|---|
| 1 | 2 |

<!-- end -->
"""


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Two claims of three, each run at a commit of its own."""
    store = Store(tmp_path / "store")
    for number in (0, 1):
        monkeypatch.setattr("minicosm.lab.run.commit", lambda number=number: f"c{number}")
        part = [(STUDY, STUDY.claims[number])]
        check(part, "laptop", 7 + number, store)
        keep(part, "laptop", store, tmp_path / "reference")
    return Reference(tmp_path / "reference")


def test_without_reference_results_rows_and_tables_stay(tmp_path):
    made = tables().written(PAGE, STUDY, Reference(tmp_path))
    assert "typed by hand | 3 \\| 4 |" in made and "| kept | as it is |" in made
    assert "old title" not in made  # titles are as registered
    assert "Reference results" not in made


def test_rows_of_claims_with_reference_results_are_theirs_and_the_others_stay(kept):
    made = tables().written(PAGE, STUDY, kept)
    numbers = r"share, $\vert{}H\vert{} = 4$ 0.5000 [0.4000, 0.6000]; a\|b 3; third 1e−12"
    assert f"| `made/one` | Title of one with $\\vert{{}}x\\vert{{}}$ | holds | {numbers} |" in made
    assert f"| undecided (registered: holds) | {numbers} |" in made
    assert (
        "| `made/three` | Title of three with $\\vert{}x\\vert{}$ | typed by hand | 3 \\| 4 |"
        in made
    )
    runs = re.search(r"\*Reference results\. (.*)\.\*", made)[1].split("; ")
    assert len(runs) == 3 and runs[2] == "1 of 3 claims: an earlier run, by hand"
    for number in (0, 1):
        pattern = rf"1 of 3 claims: commit c{number}, \d{{4}}-\d\d-\d\d, laptop, seed {7 + number}"
        assert re.fullmatch(pattern, runs[number])
    assert made.startswith("Before.") and "\nBetween.\n" in made


def test_the_table_of_a_claim_is_the_one_of_its_title(kept):
    made = tables().written(PAGE, STUDY, kept)
    assert (
        "| $\\vert{}H\\vert{}$ | share | note |\n|---|---|---|\n| 4 | 0.5000 ± 0.100 |  |" in made
    )
    other = PAGE.replace("made/one: Of $|H|$", "made/one: Of nothing")
    with pytest.raises(ValueError, match="made/one has no table 'Of nothing'"):
        tables().written(other, STUDY, kept)


def test_writing_twice_is_writing_once(kept):
    once = tables().written(PAGE, STUDY, kept)
    assert tables().written(once, STUDY, kept) == once


def test_a_row_of_no_claim_is_a_sentence(kept):
    with pytest.raises(ValueError, match="`made/five` is no claim of made"):
        tables().written(PAGE.replace("made/three", "made/five"), STUDY, kept)


def test_mathematics_in_a_cell_can_be_typeset():
    from minicosm.lab.mathematics import unicode

    cell = tables().escaped(r"a | $\|x\|_1 + |y|$")
    assert cell == r"a \| $\Vert{}x\Vert{}_1 + \vert{}y\vert{}$"
    assert unicode(cell.split("$")[1]) == "‖x‖₁ + |y|"
