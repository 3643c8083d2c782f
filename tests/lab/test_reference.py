"""Reference results: what a full run found, kept small, shown where nothing was run."""

import base64
import gzip
import io
import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from minicosm.lab import (
    Estimate,
    LabError,
    Outcome,
    Store,
    Study,
    Trial,
    TrialResult,
    check,
    figure,
)
from minicosm.lab.display import print_agreement
from minicosm.lab.figures import compact, house_style, to_svg
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


def test_keeping_some_claims_leaves_what_others_read_of_the_same_trials(kept, pairs, store):
    keep(pairs[1:2], "laptop", store, kept.folder)  # its check reads tosses, and not their mean
    again = Reference(kept.folder)
    study, claim = pairs[0]
    found = again.recall(study, claim)
    assert claim.check(again.results(found)).numbers == found.outcome.numbers


@dataclass(frozen=True)
class Size:
    seed: int


def measured(config, progress):
    values = np.random.default_rng(config.seed).normal(size=200) * 10.0 ** np.arange(-100, 100)
    steps = np.arange(200)
    return TrialResult({}, {"decides": values, "drawn": values, "steps": steps, "unread": values})


def draw(results):
    fig = figure(2, 2)
    arrays = results["one"].arrays
    fig.subplots().plot(arrays["steps"], arrays["drawn"])
    return fig


def test_arrays_that_are_only_drawn_have_three_digits(store, tmp_path):
    study = Study("rulers", "Rulers", "nobody", "For a test.")
    study.claim(
        id="rulers/one", title="One", source="nowhere", statement="It holds.", criterion="It is said.",
        trials=lambda profile, seed: {"one": Trial(measured, Size(seed))}, figure=draw,
        check=lambda results: Outcome("holds", {"sum": results["one"].arrays["decides"].sum()}),
    )  # fmt: skip
    pairs = [(study, claim) for claim in study.claims]
    check(pairs, "laptop", 0, store)
    keep(pairs, "laptop", store, tmp_path / "reference")
    kept = Reference(tmp_path / "reference")
    arrays = kept.results(kept.recall(*pairs[0]))["one"].arrays
    exact = measured(Size(0), None).arrays
    assert set(arrays) == {"decides", "drawn", "steps"}
    np.testing.assert_array_equal(arrays["decides"], exact["decides"])
    np.testing.assert_array_equal(arrays["steps"], exact["steps"])
    assert arrays["drawn"].dtype == np.float64
    error = np.abs(arrays["drawn"] / exact["drawn"] - 1)
    assert 1e-5 < error.max() < 1e-3


def test_figures_are_compact_and_their_images_unchanged(monkeypatch):
    def images(svg):
        for data in re.findall(r'base64,([^"]*)', svg):
            yield Image.open(io.BytesIO(base64.b64decode(data)))

    def drawn():
        fig = figure(2, 2)
        matrix = np.random.default_rng(0).normal(size=(60, 60))
        fig.subplots().imshow(matrix, interpolation="nearest")
        return to_svg(fig)

    small = drawn()
    monkeypatch.setattr("minicosm.lab.figures.compact", lambda svg: svg)
    large = drawn()
    assert len(small) < 0.7 * len(large) and compact(large) == small == compact(small)
    for one, other in zip(images(small), images(large), strict=True):
        assert (one.mode, other.mode) == ("P", "RGBA")
        np.testing.assert_array_equal(one.convert("RGBA"), other)
    ours, theirs = (
        [
            float(x)
            for path in re.findall(r' d="([^"]*)"', svg)
            for x in re.findall(r"-?[\d.]+", path)
        ]
        for svg in (small, large)
    )
    np.testing.assert_allclose(ours, theirs, atol=0.005001)


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


def renamed(claim):
    """The claim, of which the numbers have other names by now."""

    def check(results):
        outcome = claim.check(results)
        numbers = {f"new {name}": value for name, value in outcome.numbers.items()}
        return replace(outcome, numbers=numbers)

    return replace(claim, check=check)


def test_a_verdict_is_kept_as_the_present_check_says_it(pairs, store, tmp_path):
    """A number was given another name since the run, whose trials are in the store."""
    study, claim = pairs[0]
    before = check([(study, claim)], "laptop", 0, store)[0]
    sizes = keep([(study, renamed(claim))], "laptop", store, tmp_path / "reference")
    found = Reference(tmp_path / "reference").recall(study, claim)
    assert list(found.outcome.numbers) == [f"new {name}" for name in before.outcome.numbers]
    assert (found.date, found.seconds, found.svg) == (before.date, before.seconds, before.svg)
    assert (sizes["coins"].stored, sizes["coins"].again) == (1, 0)


def test_without_a_store_claims_are_judged_and_drawn_again_from_what_is_kept(kept, pairs, tmp_path):
    study, claim = pairs[0]
    before = kept.recall(study, claim)
    sizes = keep([(study, renamed(claim))], "laptop", Store(tmp_path / "empty"), kept.folder)
    again = Reference(kept.folder)
    found = again.recall(study, claim)
    assert list(found.outcome.numbers) == [f"new {name}" for name in before.outcome.numbers]
    assert (found.reference, found.date, found.svg) == (before.reference, before.date, before.svg)
    assert again.results(found) is not None and len(again._json("coins", "verdicts.json")) == 3
    assert (sizes["coins"].stored, sizes["coins"].again) == (0, 1)


def test_what_is_refused_changes_nothing(kept, pairs, store):
    study, claim = pairs[0]
    files = {path: path.read_bytes() for path in (kept.folder / "coins").iterdir()}

    def seen(results):  # it looks at an entry and does not read it, so that it is not kept
        return Outcome("holds", {"entries": len(next(iter(results.values())).numbers)})

    def raises(results):
        raise RuntimeError("no coin")

    for other, said in ((seen, "says something else of what is kept"), (raises, "no coin")):
        with pytest.raises(LabError, match=said):
            keep([(study, replace(claim, check=other))], "laptop", store, kept.folder)
    assert {path: path.read_bytes() for path in (kept.folder / "coins").iterdir()} == files
    assert [path.name for path in kept.folder.iterdir()] == ["coins"]
