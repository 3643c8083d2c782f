"""The tour: findings that are computed now, and findings of full runs."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from minicosm.lab import Outcome, Store, Study, check
from minicosm.lab.reference import Reference, keep
from minicosm.lab.run import preferred
from minicosm.lab.tour import is_live, print_tour, tour
from minicosm.studies import STUDIES


@pytest.fixture
def toured(study, pairs, store, tmp_path):
    """The toy study with two findings, of which one is live, and the reference result of the other."""
    named = Study(
        "coins", study.title, study.source, study.about,
        headlines=("coins/fair", "coins/edge"), live=("coins/fair",),
    )  # fmt: skip
    for claim in study.claims:
        named.add(claim if claim.id != "coins/edge" else replace(claim, trials=pairs[0][1].trials))
    pairs = [(named, claim) for claim in named.claims]
    check(pairs, "laptop", 0, store)
    keep(pairs, "laptop", store, tmp_path / "reference")
    return named, Reference(tmp_path / "reference")


def test_what_is_live_is_computed_and_the_rest_is_kept(toured, tmp_path):
    named, reference = toured
    console = Console(file=io.StringIO(), width=80)
    stops = tour([named], Store(tmp_path / "new"), reference)
    print_tour(console, stops)
    out = console.file.getvalue()
    assert [bool(stop.checked.reference) for stop in stops] == [False, True]
    assert [stop.checked.profile for stop in stops] == ["smoke", "laptop"]
    assert out.split("all ")[1].split()[:3] == ["2", "1", "1"] and "undecided*" in out
    assert "none yet" not in out and "* a reference result of a full run" in out
    assert max(map(len, out.splitlines())) <= 80


def test_titles_are_never_cut(toured, tmp_path):
    named, reference = toured
    title = "A coin that is tossed long enough shows about as many heads as tails, and no edge " * 2
    console = Console(file=io.StringIO(), width=80)
    first, second = tour([named], Store(tmp_path / "new"), reference)
    print_tour(console, [first._replace(claim=replace(first.claim, title=title)), second])
    assert title.strip() in " ".join(console.file.getvalue().split())


def test_what_the_small_size_leaves_undecided_is_shown_from_a_full_run(toured, tmp_path):
    named, reference = toured
    store, fair = Store(tmp_path / "new"), named.claims[0]
    unsure = replace(fair, check=lambda results: Outcome("undecided", {"tosses": 10}))
    (own,) = check([(named, unsure)], "smoke", 0, store)
    kept = reference.recall(named, fair)
    assert own.outcome.verdict == "undecided" and kept.outcome.verdict == "holds"
    assert preferred(own, kept) is kept and preferred(own, None) is own
    assert preferred(None, kept) is kept
    assert preferred(replace(own, profile="laptop"), kept) is not kept  # of the same size
    edge = reference.recall(named, named.claims[2])  # undecided in the full run, too
    assert preferred(own, edge) is own


def test_a_finding_without_a_result_says_so(toured, tmp_path):
    named, _ = toured
    console = Console(file=io.StringIO(), width=80)
    print_tour(console, tour([named], Store(tmp_path / "new"), Reference(tmp_path / "nowhere")))
    out = console.file.getvalue()
    assert "none yet    " in out and out.split("all ")[1].split()[:4] == ["2", "1", "0", "1"]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_study_has_findings_that_are_computed_on_the_spot(study):
    claims = [claim for claim in study.claims if claim.id in study.headlines]
    assert sum(is_live(study, claim) for claim in claims) >= 3
    assert set(study.live) <= set(study.headlines)
