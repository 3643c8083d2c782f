"""The audit finds claims that cannot fail, that a NaN passes, or that stand on nothing."""

import math

import numpy as np
import pytest
import toy_study

from minicosm.lab import (
    Claim,
    LabError,
    Ledger,
    Outcome,
    Study,
    TrialResult,
    all_above,
    at_most,
    check,
    counterexample,
    holds,
    percent,
    recall,
)
from minicosm.lab.audit import audit, audit_claim
from minicosm.theory import Theorem

pytestmark = pytest.mark.usefixtures("unchecked_types")  # what users meet, not beartype

ERRORS = {"t": TrialResult({"s": {"error": [0.1, 0.3, 0.2], "shown": [7.0]}, "n": 3})}


def of(judge, results=ERRORS, expected="holds"):
    claim = Claim("s/c", "", "", "", "", lambda profile, seed: {}, judge, expected)
    return audit_claim(Study("s", "S", "", ""), claim, results)


def column(results):
    return results["t"].numbers["s"]["error"]


def test_a_sound_check_has_no_finding_and_says_what_turned_it():
    found = of(lambda r: at_most("error", column(r), 1))
    assert found.verdict == "holds" and not found.findings
    assert found.turned["NaN"] == found.tried["NaN"] > 3
    assert found.turned["shift"] > 0 and found.turned["empty"] == found.tried["empty"]
    assert set(found.reached) == {"holds", "fails", "undecided"}


def test_what_only_is_shown_is_no_finding():
    def judge(results):
        at_most("error", column(results), 1)
        shown = results["t"].numbers["s"]["shown"]
        return Outcome(
            at_most("e", column(results), 1).verdict, {"shown": shown[0] if shown else 0}
        )

    assert not of(judge).findings


def test_a_check_that_cannot_fail_is_named():
    found = of(lambda r: Outcome("holds", {"e": column(r)[0] if column(r) else 0.0}))
    assert found.findings[0].startswith("cannot fail") and not sum(found.turned.values())
    assert of(lambda r: Outcome("holds", {})).findings == (
        "cannot fail: no corruption turns its verdict",
    )


@pytest.mark.parametrize(
    "judge",
    [
        lambda r: Outcome("holds" if max(column(r) or [0]) <= 1 else "fails", {}),
        lambda r: Outcome("fails" if any(e > 1 for e in column(r)) else "holds", {}),
        lambda r: Outcome("holds" if not np.nanmax([*column(r), 0]) > 1 else "fails", {}),
    ],
)
def test_a_nan_that_passes_is_named(judge):
    findings = " ".join(of(judge).findings)
    assert "a NaN passes in s.error" in findings or "if all it reads is NaN" in findings


def test_a_nan_that_passes_at_one_entry_is_named_whatever_the_others_do():
    for passed, caught in ((0, 1), (1, 0)):

        def judge(results, passed=passed, caught=caught):
            errors = [*column(results), 0, 0, 0]
            broken = errors[passed] > 5 or math.isnan(errors[caught])
            return Outcome("fails" if broken else "holds", {})

        assert "a NaN passes in s.error" in of(judge).findings


def test_what_stands_on_nothing_is_named():
    def judge(results):
        proper = all(e <= 1 for e in column(results))  # true of nothing
        return Outcome("holds" if proper else "fails", {})

    assert "it holds if all it reads is nothing" in of(judge).findings


def test_a_printed_error_that_nan_confirms_is_named():
    wrong = {"t": TrialResult({"s": {"error": [0.5, 0.4]}})}
    naive = of(lambda r: Outcome("holds" if max(column(r) or [9]) < 0.1 else "fails", {}), wrong)
    assert naive.verdict == "fails" and "it fails if all it reads is NaN" in naive.findings
    assert not of(lambda r: counterexample("e", column(r), 0.1), wrong).findings


def test_statements_and_intervals_are_sound():
    ledger = Ledger()
    for error in (0.0, 1e-12, 1e-11):
        ledger.add(Theorem.identity("T", error, cases=2))
    assert not of(holds("T"), {"suite": ledger.result()}).findings
    shares = {"t": TrialResult({"s": {"error": [0.6, 0.7, 0.65, 0.62]}}, {"a": np.arange(3.0)})}
    assert not of(lambda r: all_above("share", percent(column(r)), 50), shares).findings


def test_a_check_that_raises_is_counted_and_no_verdict():
    def judge(results):
        if any(math.isnan(e) for e in column(results)):
            raise ZeroDivisionError
        return at_most("error", column(results), 1)

    found = of(judge)
    assert found.raised >= 3 and not found.findings


def test_stored_results_are_audited_and_the_lab_book_knows(store, study, pairs):
    with pytest.raises(LabError, match="check them first, by minicosm check with --profile smoke"):
        audit(pairs, "smoke", 0, store)
    check(pairs, "smoke", 0, store)
    audited = audit(pairs, "smoke", 0, store)
    assert [item.claim.id for item in audited] == ["coins/fair", "coins/always-heads"]
    kept = recall(store, *pairs[0], "smoke")
    assert kept is not None and kept.audit == audited[0].record()
    from minicosm.lab.report import render

    pages = render(store, [toy_study.STUDY], "smoke")
    assert "corruptions of its results turn the verdict" in pages["coins.html"]
