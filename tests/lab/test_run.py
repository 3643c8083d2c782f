"""Running: shared trials once, only the missing ones, and failures that stay where they are."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import toy_study

from minicosm.lab import Claim, LabError, Outcome, Trial, TrialResult, check, executors, recall

pytestmark = pytest.mark.usefixtures("unchecked_types")  # what users meet, not beartype


def claim(name, trials, judge=None, **fields):
    """A claim of the toy study over the given trials."""
    return Claim(
        id=f"coins/{name}",
        title=name,
        source="",
        statement="",
        criterion="",
        trials=lambda profile, seed: trials,
        check=judge or (lambda results: Outcome("holds", {"trials": len(results)})),
        **fields,
    )


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Counts the trials that were computed, in whatever process."""
    folder = tmp_path / "log"
    folder.mkdir()
    monkeypatch.setenv("TOY_LOG", str(folder))
    return lambda: len(list(folder.iterdir()))


@pytest.mark.parametrize("jobs", [1, 2])
def test_shared_trials_run_once_and_stored_ones_not_at_all(store, pairs, log, jobs):
    first = check(pairs, "smoke", 0, store, jobs=jobs)
    assert log() == 3  # two claims share the same three trials
    again = check(pairs, "smoke", 0, store, jobs=jobs)
    assert log() == 3
    assert [c.outcome.verdict for c in first] == ["holds", "fails", "undecided"]
    assert all(c.as_registered for c in first)
    for one, other in zip(first, again, strict=True):
        assert repr(one.outcome) == repr(other.outcome)
        assert one.trials == other.trials
    check(pairs, "smoke", 1, store, jobs=jobs)
    assert log() == 6
    check(pairs, "smoke", 0, store, jobs=jobs, force=True)
    assert log() == 9


@pytest.mark.parametrize("part", ["trials", "check", "figure"])
def test_a_claim_that_ends_the_program_is_an_error_of_its_own(store, part):
    """An exit code of 0 with nothing decided would be a false green."""

    def ends(*_):
        raise SystemExit(0)

    def holds(results):
        return Outcome("holds", {})

    ending = {
        "trials": lambda: replace(claim("one", {}), trials=ends),
        "check": lambda: claim("one", {}, ends),
        "figure": lambda: claim("one", {}, holds, figure=ends),
    }[part]()
    after = claim("two", {}, holds)
    first, second = check([(toy_study.STUDY, ending), (toy_study.STUDY, after)], "smoke", 0, store)
    assert first.outcome is None and "SystemExit: 0" in first.error.sentence
    assert second.outcome.verdict == "holds"


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (None, "its list of trials: TypeError: it is None; it must be a dict"),
        ({"one": 3}, "its list of trials: TypeError: its entry 'one' is 3; it must be a Trial"),
    ],
)
def test_what_is_no_list_of_trials_is_said(store, made, sentence):
    (checked,) = check([(toy_study.STUDY, claim("one", made))], "smoke", 0, store)
    assert checked.outcome is None and sentence in checked.error.sentence


@pytest.fixture
def two_cores():
    """This process may use all cores, at least two, until the end of the test."""
    if not hasattr(os, "sched_setaffinity") or (os.cpu_count() or 1) < 2:
        pytest.skip("needs two cores that a process can be kept on")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count()))
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.usefixtures("two_cores")
def test_workers_have_cores_of_their_own_and_one_that_dies_leaves_its_cores(store, study):
    trials = {str(i): Trial(toy_study.sit, toy_study.Coin(1, i, pause=0.5)) for i in range(6)}
    fatal = {"fatal": Trial(toy_study.die, toy_study.Coin(1, 0))}
    seen = []

    def judge(results):
        seen.extend(frozenset(result.numbers["cores"]) for result in results.values())
        return Outcome("holds", {})

    pairs = [(study, claim("fatal", fatal)), (study, claim("cores", trials, judge))]
    check(pairs, "smoke", 0, store, jobs=2)
    one, other = set(seen)
    assert not one & other and one | other == os.sched_getaffinity(0)


def test_a_process_above_its_limit_forgets_compiled_programs():
    import jax

    @jax.jit
    def double(x):
        return 2 * x

    double(1.0)
    assert double._cache_size() == 1
    executors._forget(1 << 60)
    assert double._cache_size() == 1
    executors._forget(0)
    assert double._cache_size() == 0 or not Path("/proc/self/statm").exists()


def test_workers_and_this_process_compute_the_same(tmp_path, pairs, store):
    from minicosm.lab import Store

    alone = check(pairs, "smoke", 3, store, jobs=1)
    workers = check(pairs, "smoke", 3, Store(tmp_path / "other"), jobs=2)
    assert repr([c.outcome for c in alone]) == repr([c.outcome for c in workers])


def test_a_verdict_is_recalled_as_it_was(store, pairs):
    (checked,) = check(pairs[:1], "smoke", 0, store)
    assert repr(recall(store, *pairs[0], "smoke")) == repr(checked)
    assert checked.svg.startswith("<svg")
    assert recall(store, *pairs[0], "paper") is None


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_trial_that_raises_costs_only_its_own_claims(store, study, jobs):
    coin = Trial(toy_study.toss, toy_study.Coin(5, 0))
    crash = Trial(toy_study.crash, toy_study.Coin(5, 0))
    claims = [
        claim("bad", {"good": coin, "crash": crash}),
        claim("good", {"good": coin, "other": Trial(toy_study.toss, toy_study.Coin(5, 1))}),
    ]
    bad, good = check([(study, c) for c in claims], "smoke", 0, store, jobs=jobs)
    assert bad.outcome is None and not bad.as_registered
    assert bad.error.sentence == "trial 'coins/bad crash': RuntimeError: the coin rolled away"
    assert "toy_study.py" in bad.error.trace
    assert good.outcome.verdict == "holds"
    last = recall(store, study, claims[0], "smoke")
    assert last.outcome is None and last.error.sentence == bad.error.sentence


def test_a_worker_that_dies_is_named_and_replaced(store, study):
    trials = {str(i): Trial(toy_study.toss, toy_study.Coin(5, i)) for i in range(4)}
    dying = claim("dying", {"victim": Trial(toy_study.die, toy_study.Coin(5, 0))})
    dead, good = check([(study, dying), (study, claim("good", trials))], "smoke", 0, store, jobs=2)
    assert "'coins/dying victim'" in dead.error.sentence
    assert "killed by SIGKILL" in dead.error.sentence
    assert dead.error.sentence.endswith("twice")
    assert good.outcome.numbers == {"trials": 4}


def test_a_check_that_raises_loses_no_trial(store, study, log):
    def broken(results):
        raise ZeroDivisionError("no coins")

    trials = toy_study.tosses("smoke", 0)
    (bad,) = check([(study, claim("bad", trials, broken))], "smoke", 0, store)
    assert bad.error.sentence == "its check: ZeroDivisionError: no coins"
    assert log() == 3
    (good,) = check([(study, claim("bad", trials))], "smoke", 0, store)
    assert good.outcome.verdict == "holds"
    assert log() == 3


@pytest.mark.parametrize(
    "judge", [lambda results: None, lambda results: Outcome("holds", {"x": {1}})]
)
def test_a_check_that_returns_nonsense_gives_no_verdict(store, study, judge):
    (bad,) = check([(study, claim("bad", {}, judge))], "smoke", 0, store)
    assert bad.outcome is None
    assert bad.error.sentence.startswith("its check: TypeError")


def test_a_figure_that_raises_is_an_error_and_no_verdict(store, study):
    def broken(results):
        raise ValueError("no ink")

    (item,) = check([(study, claim("plain", {}, figure=broken))], "smoke", 0, store)
    assert item.outcome is None
    assert item.error.sentence == "its figure: no ink"
    assert not item.as_registered
    last = recall(store, study, item.claim, "smoke")
    assert last.outcome is None and last.error.sentence == "its figure: no ink"


def test_checks_and_figures_see_the_configurations_of_their_trials(store, study):
    seen = []

    def judge(results):
        seen.append([result.config.tosses for result in results.values()])
        return Outcome("holds", {})

    def draw(results):
        judge(results)
        return toy_study.figure(2, 2)

    trials = {str(n): Trial(toy_study.toss, toy_study.Coin(n, 0)) for n in (2, 3)}
    check([(study, claim("seen", trials, judge, figure=draw))], "smoke", 0, store)
    assert seen == [[2, 3], [2, 3]]


def test_a_list_of_trials_that_raises_is_reported(store, study):
    broken = replace(claim("bad", {}), trials=lambda profile, seed: 1 / 0)
    (bad,) = check([(study, broken)], "smoke", 0, store)
    assert bad.error.sentence == "its list of trials: ZeroDivisionError: division by zero"


def test_a_trial_that_returns_something_else_is_an_error(store, study):
    (bad,) = check([(study, claim("bad", {"odd": Trial(odd, None)}))], "smoke", 0, store)
    assert "numbers['set'] is a set" in bad.error.sentence


def odd(config, progress):
    return TrialResult({"set": {1, 2}})


def test_jobs_must_be_positive(store, pairs):
    with pytest.raises(LabError, match="jobs is 0"):
        check(pairs, "smoke", 0, store, jobs=0)


def test_ray_runs_the_same_trials_into_the_same_store(store, study, pairs, log):
    pytest.importorskip("ray")
    crash = claim("crash", {"crash": Trial(toy_study.crash, toy_study.Coin(5, 0))})
    die = claim("die", {"victim": Trial(toy_study.die, toy_study.Coin(5, 0))})
    ladder = Trial(toy_study.climb, toy_study.Ladder(fall="raise"))
    climb = claim("climb", {"ladder": ladder}, lambda r: Outcome("holds", r["ladder"].numbers))
    selection = [*pairs, (study, crash), (study, die), (study, climb)]
    *checked, bad, dead, fallen = check(selection, "smoke", 0, store, executor="ray", jobs=2)
    assert [c.outcome.verdict for c in checked] == ["holds", "fails", "undecided"]
    assert bad.error.sentence == "trial 'coins/crash crash': RuntimeError: the coin rolled away"
    assert dead.error.sentence == "trial 'coins/die victim': its worker on Ray died, twice"
    assert log() == 3
    assert fallen.error.sentence.endswith("the coin rolled away")
    (risen,) = check([(study, climb)], "smoke", 0, store, executor="ray")
    assert risen.outcome.numbers["start"] == 2
    assert not list((store.path / "work").iterdir())
    assert all(c.as_registered for c in check(pairs, "smoke", 0, store))
    assert log() == 3


def test_a_trial_whose_worker_on_ray_died_is_tried_again_where_it_was(store, study):
    pytest.importorskip("ray")
    ladder = Trial(toy_study.climb, toy_study.Ladder(fall="die"))
    climb = claim("climb", {"ladder": ladder}, lambda r: Outcome("holds", r["ladder"].numbers))
    (item,) = check([(study, climb)], "smoke", 0, store, executor="ray", jobs=1)
    assert item.error is None and item.outcome.numbers["start"] == 2
