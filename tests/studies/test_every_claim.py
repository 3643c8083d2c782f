"""Every study has the same rooms, and every claim runs, can be drawn and can fail, at its smallest."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minicosm.lab.mathematics import inline, plain
from minicosm.lab.statement_map import ranks
from minicosm.studies import STUDIES

REDUCERS = {"at_most", "at_least", "below", "above", "agrees", "all_true", "counterexample", "all_above",
            "all_below", "all_within"}  # fmt: skip

CLAIMS = {claim.id: (study, claim) for study in STUDIES for claim in study.claims}
SOURCES = Path(__file__).parents[2] / "src" / "minicosm"
by_study = pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)


def rooms(study):
    return SOURCES / "studies" / study.name


@pytest.mark.first
@pytest.mark.long
@by_study
def test_every_claim_runs_and_can_fail(study, tmp_path):
    """Through the command line, as a user runs it: no trial, check or figure raises, no claim that is
    registered to hold is refuted for being small, and no verdict outlives corrupted results."""
    checked = minicosm("check", study.name, home=tmp_path)
    assert [item["claim"] for item in checked] == [claim.id for claim in study.claims]
    assert not [item["error"] for item in checked if item["error"]]
    registered = [item for item in checked if item["registered"] == "holds"]
    assert not [item["claim"] for item in registered if item["verdict"] == "fails"]
    audited = minicosm("audit", study.name, home=tmp_path)
    assert not {item["claim"]: item["findings"] for item in audited if item["findings"]}
    given = {claim.id for claim in study.claims if claim.trials("smoke", 0)}
    assert {
        item["claim"] for item in audited
    } == given  # the others wait for a user's model or text


def minicosm(*words, home):
    """What a command at its smallest prints as JSON, in a process whose annotations are not checked."""
    run = subprocess.run(
        [sys.executable, "-m", "minicosm", *words, "--profile", "smoke", "--json"],
        env=os.environ | {"MINICOSM_HOME": str(home)},
        capture_output=True,
        text=True,
    )
    assert run.returncode in (0, 1), run.stderr[-3000:]
    return json.loads(run.stdout)


@by_study
def test_a_study_is_of_a_size_that_one_can_read(study):
    assert 25 <= len(study.claims) <= 60
    assert 3 <= len(study.headlines) <= 6
    assert set(study.headlines) <= {claim.id for claim in study.claims}


@by_study
def test_every_study_has_the_same_rooms(study):
    for room in (
        "study.py",
        "trials.py",
        "readings.py",
        "claims",
        "suites",
        "experiments",
        "figures",
    ):
        assert (rooms(study) / room).exists(), room


def imports_of(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), {alias.name for alias in node.names}


@by_study
def test_figures_readings_suites_and_experiments_know_no_claims(study):
    for room in ("figures", "suites", "experiments", "readings.py", "trials.py"):
        place = rooms(study) / room
        for file in [place] if place.is_file() else place.rglob("*.py"):
            for module, names in imports_of(file):
                assert "claims" not in module.split(".") and "claims" not in names, file


@by_study
def test_claims_reduce_results_only_by_the_reducers(study):
    bare = re.compile(r"(?<![.\w])(max|min|all|any)\(")
    for file in (rooms(study) / "claims").rglob("*.py"):
        lines = file.read_text().splitlines()
        assert not [(file.name, line) for line in lines if bare.search(line)]


def test_no_module_is_longer_than_one_reads_in_one_sitting():
    long = [p for p in SOURCES.rglob("*.py") if len(p.read_text().splitlines()) > 400]
    assert not long


def test_every_claim_says_what_decides_it():
    for claim_id, (_, claim) in CLAIMS.items():
        assert claim.statement.endswith((".", "$")), claim_id
        assert len(claim.criterion) > 20 and claim.source and claim.title, claim_id


def test_every_erratum_has_a_class_and_names_its_correction():
    for claim_id, (_, claim) in CLAIMS.items():
        if claim.erratum:
            assert claim.expected == "fails", claim_id
            assert CLAIMS[claim.erratum.corrected_by][1].expected == "holds", claim_id


def test_claims_without_trials_wait_for_something_that_a_user_gives():
    for claim_id, (_, claim) in CLAIMS.items():
        for profile in ("smoke", "laptop", "paper"):
            if not claim.trials(profile, 0):
                found = claim.check({})
                assert found.verdict == "undecided", claim_id
                assert "--set" in found.remark or "set " in found.remark, claim_id


@pytest.mark.parametrize(
    "name",
    [
        *("theorem-3.3", "proposition-3.4", "claim-b.1", "lemma-c.1", "lemma-c.2", "theorem-3.6"),
        *("proposition-d.1", "lemma-d.2", "claim-d.3", "lemma-d.4", "theorem-4.3", "theorem-4.6"),
        *("theorem-d.6", "lemma-d.7", "proposition-d.8", "lemma-d.9", "claim-d.10"),
        *("proposition-d.11", "claim-d.12", "lemma-d.13", "claim-d.14", "claim-d.15"),
    ],
)
def test_every_numbered_statement_of_the_paper_on_tuning_is_claimed(name):
    """By its id, or by its name in the source or statement of a claim that takes several together."""
    number = re.compile(rf"\b{re.escape(name.split('-')[1].upper())}\b")
    texts = [f"{c.source} {c.statement}" for i, (_, c) in CLAIMS.items() if i.startswith("tuning/")]
    assert f"tuning/{name}" in CLAIMS or list(filter(number.search, texts))


def test_imports_go_through_front_doors():
    """From outside a package no name is imported past its `__init__` where that has the name."""
    doors = {}
    for file in SOURCES.rglob("__init__.py"):
        package = ".".join(("minicosm", *file.parent.relative_to(SOURCES).parts))
        lists = [n.value for n in ast.parse(file.read_text()).body if isinstance(n, ast.Assign)]
        names = [each.value for v in lists if isinstance(v, ast.List) for each in v.elts]
        doors[package] = set(names)
    past = []
    for file in SOURCES.rglob("*/*.py"):
        here = ".".join(("minicosm", *file.relative_to(SOURCES).with_suffix("").parts))
        for module, names in imports_of(file):
            parts = module.split(".")
            for door in (".".join(parts[:k]) for k in range(2, len(parts))):
                if not here.startswith(f"{door}."):
                    past += [(here, module, name) for name in names & doors.get(door, set())]
    assert not past


def texts_in(file):
    """The texts of a module, with 1 in the place of what an f-string puts in."""
    nodes = list(ast.walk(ast.parse(file.read_text())))
    within = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(p.value if isinstance(p, ast.Constant) else "1" for p in node.values)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in within
        ):
            yield node.value


@by_study
def test_names_of_numbers_and_tables_can_be_typeset(study):
    """Also those that only a run at another size would show."""
    found = 0
    for file in [*(rooms(study) / "claims").rglob("*.py"), rooms(study) / "readings.py"]:
        for text in texts_in(file):
            if "$" in text:
                assert inline(text) and "$" not in plain(text), f"{file.name}: {text}"
                found += 1
    assert found


@by_study
def test_names_of_numbers_have_no_formulas_of_plain_letters(study):
    """Formulas stand between dollars, where the lab book and the terminal typeset them."""
    plain_formula = re.compile(r"\|[A-Z]\| ?[=<>]|\b[A-Za-z]\^\(|[<>]= ?\d|\b[A-Z] = \d")
    for file in (rooms(study) / "claims").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in REDUCERS:
                continue
            name = ast.get_source_segment(file.read_text(), node.args[0]) if node.args else ""
            assert not plain_formula.search(re.sub(r"\$[^$]*\$", "", name or "")), (file.name, name)


@by_study
def test_every_claim_can_be_typeset_and_stands_on_claims_that_exist(study):
    for claim in study.claims:
        texts = [claim.title, claim.source, claim.statement, claim.criterion, claim.section]
        texts += [claim.erratum.text] if claim.erratum else []
        for text in texts:
            assert inline(text) and "$" not in plain(text), claim.id
    uses = {claim.id: claim.uses for claim in study.claims if claim.uses}
    assert {below for ids in uses.values() for below in ids} <= set(CLAIMS)
    ranks(uses)  # raises if one stands on itself
    for line in study.misprints:
        assert "$" not in plain(line)
