"""The folder of a long trial: there when it starts, there after a fall, gone once it is stored."""

import json
import signal
import time
from pathlib import Path

import pytest
import toy_study

from minicosm.lab import Claim, Outcome, Store, Trial, TrialResult, check

pytestmark = pytest.mark.usefixtures("unchecked_types")  # what users meet, not beartype


def ladder(study, trial):
    """A claim whose numbers are those of its one trial, selected."""
    return [
        (
            study,
            Claim(
                id="coins/ladder",
                title="",
                source="",
                statement="",
                criterion="",
                trials=lambda profile, seed: {"ladder": trial},
                check=lambda results: Outcome("holds", results["ladder"].numbers),
            ),
        )
    ]


def left(store):
    """The files of all work folders."""
    work = store.path / "work"
    return sorted(path.name for path in work.rglob("*") if path.is_file())


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_trial_has_its_own_folder_until_it_is_stored(store, study, jobs):
    selection = ladder(study, Trial(toy_study.climb, toy_study.Ladder()))
    (item,) = check(selection, "smoke", 0, store, jobs=jobs)
    folder = Path(item.outcome.numbers["folder"])
    assert folder == store.path / "work" / item.trials["ladder"]
    assert folder.is_absolute()
    assert list(folder.parent.iterdir()) == []


@pytest.mark.parametrize(("fall", "jobs"), [("raise", 1), ("raise", 2)])
def test_a_trial_that_fell_goes_on_where_it_was(store, study, fall, jobs):
    selection = ladder(study, Trial(toy_study.climb, toy_study.Ladder(fall=fall)))
    (item,) = check(selection, "smoke", 0, store, jobs=jobs)
    assert item.error is not None
    assert left(store) == ["0", "1"]
    (item,) = check(selection, "smoke", 0, store, jobs=jobs)
    assert item.outcome.numbers["start"] == 2
    assert left(store) == []


def test_a_trial_whose_worker_died_is_tried_again_where_it_was(store, study):
    selection = ladder(study, Trial(toy_study.climb, toy_study.Ladder(fall="die")))
    (item,) = check(selection, "smoke", 0, store, jobs=2)
    assert item.error is None and item.outcome.numbers["start"] == 2
    assert left(store) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_force_begins_with_an_empty_folder(store, study, jobs):
    selection = ladder(study, Trial(toy_study.climb, toy_study.Ladder()))
    (first,) = check(selection, "smoke", 0, store)
    folder = Path(first.outcome.numbers["folder"])
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").touch()
    (item,) = check(selection, "smoke", 0, store, jobs=jobs, force=True)
    assert item.outcome.numbers["start"] == 0
    assert list(folder.parent.iterdir()) == []


def test_the_folder_is_absolute_in_a_relative_store(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trial = Trial(toy_study.climb, toy_study.Ladder())
    (item,) = check(ladder(study, trial), "smoke", 0, Store("here"))
    assert Path(item.outcome.numbers["folder"]).parent == tmp_path / "here" / "work"


def test_trials_of_two_parameters_have_no_folder(store, pairs):
    assert all(item.as_registered for item in check(pairs, "smoke", 0, store))
    assert not (store.path / "work").exists()


def test_the_third_positional_parameter_makes_the_difference():
    def keyword(config, progress, *, folder=None): ...
    def many(config, progress, *more, **named): ...
    def default(config, progress, folder=None): ...

    functions = (toy_study.toss, toy_study.climb, keyword, many, default)
    taken = [Trial(function, None).takes_folder for function in functions]
    assert taken == [False, True, False, False, True]


def test_a_folder_that_cannot_be_made_is_a_sentence(store, study):
    (store.path / "work").write_text("in the way")
    selection = ladder(study, Trial(toy_study.climb, toy_study.Ladder()))
    (item,) = check(selection, "smoke", 0, store)
    assert item.error.sentence.startswith("trial 'coins/ladder ladder': NotADirectoryError")
    assert len(item.error.sentence.splitlines()) == 1


def overtaken(config, progress, folder):
    """Another process stores the same trial, which removes the folder, before we write to it."""
    other = Store(folder.parents[1])
    other.save(folder.name, Trial(overtaken, config), TrialResult({"by": "another"}), 1.0)
    (folder / "checkpoint").touch()
    raise AssertionError("the folder is still there")


def test_who_loses_a_race_takes_the_result_of_who_won(store, study):
    selection = ladder(study, Trial(overtaken, None))
    (item,) = check(selection, "smoke", 0, store)
    assert item.outcome.numbers == {"by": "another"}
    (item,) = check(selection, "smoke", 0, store, force=True)  # but not an older one
    assert "FileNotFoundError" in item.error.sentence


STUDY = """
from toy_study import Ladder, climb

from minicosm.lab import Outcome, Study, Trial

STUDY = Study("ladders", "Ladders", "me", "Mine.")


@STUDY.claim(
    id="ladders/up", title="", source="", statement="", criterion="",
    trials=lambda profile, seed: {"ladder": Trial(climb, Ladder(rungs=12, pause=0.08))},
)
def check(results):
    return Outcome("holds", results["ladder"].numbers)
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_command_continues_inside_the_trial(start, tmp_path, number, jobs):
    file = tmp_path / "ladders.py"
    file.write_text(STUDY)
    store = Store(tmp_path / "home")
    words = ("check", str(file), "--profile", "smoke", "--jobs", jobs, "--json")
    process = start(*words)
    end = time.monotonic() + 30
    while len(left(store)) < 3:
        assert time.monotonic() < end, "it never climbed"
        time.sleep(0.01)
    process.send_signal(number)
    process.wait(timeout=20)
    climbed = len(left(store))
    assert 3 <= climbed < 12
    out, err = start(*words).communicate(timeout=60)
    (record,) = json.loads(out)
    assert record["numbers"]["start"] >= climbed, err
    assert left(store) == []
