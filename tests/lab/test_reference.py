"""Reference results: what a full run found, kept small, shown where nothing was run."""

import gzip
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from minicosm.lab import Estimate, LabError, Outcome, check
from minicosm.lab.display import print_agreement
from minicosm.lab.figures import house_style, to_svg
from minicosm.lab.reference import Reference, keep
from minicosm.lab.reproduce import agreement, reproduce


@pytest.fixture
def kept(pairs, store, tmp_path):
    check(pairs, "laptop", 0, store)
    keep(pairs, "laptop", store, tmp_path / "reference")
    return Reference(tmp_path / "reference")


def test_a_kept_verdict_is_the_stored_one(kept, pairs, store):
    study, claim = pairs[0]
    stored = check([(study, claim)], "laptop", 0, store)[0]
    found = kept.recall(study, claim)
    assert found.outcome.numbers == stored.outcome.numbers
    assert found.outcome.tables[0].rows == stored.outcome.tables[0].rows
    assert (found.profile, found.seed, found.trials) == ("laptop", 0, stored.trials)
    assert set(found.reference) == {"commit", "machine"}


def test_only_what_checks_and_figures_read_is_kept(kept):
    trials = json.loads(gzip.decompress((kept.folder / "coins" / "trials.json.gz").read_bytes()))
    assert trials and all(set(trial["numbers"]) == {"mean"} for trial in trials.values())
    assert all(trial["arrays"] == ["heads"] for trial in trials.values())


def test_checks_and_figures_run_on_what_is_kept(kept, pairs, store):
    study, claim = pairs[0]
    found = kept.recall(study, claim)
    assert claim.check(kept.results(found)).numbers == found.outcome.numbers
    drawn = check([(study, claim)], "laptop", 0, store)[0].svg
    assert found.svg == drawn
    with house_style():
        assert to_svg(claim.figure(kept.results(found)), name=claim.id) == drawn


def test_keeping_some_claims_leaves_the_others(kept, pairs, store):
    keep(pairs[:1], "laptop", store, kept.folder)
    again = Reference(kept.folder)
    assert all(again.recall(study, claim) is not None for study, claim in pairs)


def test_trials_that_are_configured_otherwise_by_now_have_no_results(kept, pairs):
    study, claim = pairs[0]

    def fewer(profile, seed):
        trials = dict(claim.trials(profile, seed))
        return {name: replace(t, config=replace(t.config, tosses=7)) for name, t in trials.items()}

    found = kept.recall(study, replace(claim, trials=fewer))
    assert found is not None and kept.results(found) is None


def test_what_was_not_checked_or_checked_with_options_is_refused(pairs, store, tmp_path):
    with pytest.raises(LabError, match="coins/fair has no verdict at profile laptop"):
        keep(pairs, "laptop", store, tmp_path / "reference")


@pytest.mark.parametrize("damage", ["", "[]", '{"coins/fair": {}}'])
def test_damaged_files_are_a_sentence(kept, pairs, damage):
    (kept.folder / "coins" / "verdicts.json").write_text(damage)
    with pytest.raises(LabError, match=r"cannot be read|of another version"):
        Reference(kept.folder).recall(*pairs[0])


def test_an_empty_folder_has_nothing(tmp_path, pairs):
    assert Reference(tmp_path).recall(*pairs[0]) is None


def test_numbers_agree_within_their_intervals():
    def outcome(**numbers):
        return Outcome("holds", numbers)

    one = outcome(gain=Estimate(1.0, 0.5, 1.5, 9), error=1e-15, count=3, nothing=np.nan)
    near = outcome(gain=Estimate(1.6, 1.1, 2.1, 9), error=4e-15, count=3, nothing=np.nan)
    far = Outcome("fails", {"gain": Estimate(1.9, 1.4, 2.4, 9), "error": 1e-3, "count": 4})
    assert [same for *_, same in agreement(near, one)] == [True] * 5
    assert [same for *_, same in agreement(far, one)] == [False] * 4


def test_a_claim_is_reproduced_and_what_differs_is_said(kept, pairs, store, tmp_path):
    def printed(seed):
        console = Console(file=io.StringIO(), width=80)
        code = print_agreement(console, reproduce(pairs, kept, store, seed))
        return code, console.file.getvalue()

    code, text = printed(None)
    assert code == 0 and "coins/fair: 4 of 4 numbers agree" in text
    code, text = printed(1)  # other coins: the share agrees within its interval, the tails do not
    assert code == 1 and "coins/fair: 4 of 4" in text and "tails seen: " in text
    with pytest.raises(LabError, match="coins/fair and 2 more have no reference result"):
        reproduce(pairs, Reference(tmp_path / "nowhere"), store)


def test_every_claim_has_the_commit_date_and_seed_of_its_own_run(
    pairs, store, tmp_path, monkeypatch
):
    for number, part in enumerate((pairs[:1], pairs[1:])):
        monkeypatch.setattr("minicosm.lab.run.commit", lambda number=number: f"commit {number}")
        check(part, "laptop", number, store)
        keep(part, "laptop", store, tmp_path / "reference")
    kept = Reference(tmp_path / "reference")
    found = [kept.recall(study, claim) for study, claim in pairs]
    assert [f.reference["commit"] for f in found] == ["commit 0", "commit 1", "commit 1"]
    assert [f.seed for f in found] == [0, 1, 1] and all(f.date for f in found)


def test_a_verdict_of_an_older_lab_has_the_commit_of_its_code(pairs, store, tmp_path, monkeypatch):
    monkeypatch.setattr("minicosm.lab.run.commit", lambda: "")  # it was not noted
    monkeypatch.setattr("minicosm.lab.reference.commit", lambda: "now")
    check(pairs, "laptop", 0, store)
    keep(pairs, "laptop", store, tmp_path / "one")
    assert Reference(tmp_path / "one").recall(*pairs[0]).reference["commit"] == "now"
    monkeypatch.setattr("minicosm.lab.reference.Fingerprints.of_claim", lambda self, claim: "other")
    keep(pairs, "laptop", store, tmp_path / "two")
    assert Reference(tmp_path / "two").recall(*pairs[0]).reference["commit"] == "before now"


def test_the_commit_is_that_of_this_repository_or_unknown():
    import re

    from minicosm.lab.store import commit

    assert re.fullmatch(r"[0-9a-f]{12}(, changed)?|unknown", commit())
