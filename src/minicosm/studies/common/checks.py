"""How executed statements are judged: errors, truth values and violations over worlds.

A suite is a trial that runs one or more statements on many worlds and keeps its numbers in a `Ledger`;
claims about it have one trial, named "suite".
"""

from collections.abc import Callable, Mapping
from math import inf, isnan
from typing import Any

from minicosm.lab import Outcome, TrialResult, Verdict

Results = Mapping[str, TrialResult]
Check = Callable[[Results], Outcome]

TOLERANCE = 1e-9
EXACT = f"The largest error over all worlds and sequences is at most {TOLERANCE:g}."
COUNTED = "No violation on any world, decided on truth values."


def identity(statement: str, *, tolerance: float = TOLERANCE, column: str = "error") -> Check:
    """Holds iff no world has an error above the tolerance or a label that differs."""

    def check(results: Results) -> Outcome:
        rows = results["suite"].numbers[statement]
        worst = max(rows[column], key=lambda error: inf if isnan(error) else error)
        wrong = sum(rows.get("disagreements", [0]))
        cases = sum(rows.get("sequences", [1] * len(rows[column])))
        verdict: Verdict = "holds" if worst <= tolerance and wrong == 0 else "fails"
        numbers: dict[str, Any] = {"largest error" if tolerance else "violations": worst}
        if "disagreements" in rows:
            numbers["labels that differ"] = wrong
        numbers |= {"worlds": len(rows[column]), "cases": cases}
        if "compared" in rows:
            numbers["labels compared"] = sum(rows["compared"])
            numbers["smallest margin compared"] = min(rows["margin"])
        if rows.get("condition"):
            numbers["largest condition number"] = max(rows["condition"])
        return Outcome(verdict if cases else "undecided", numbers)

    return check


def always(statement: str, column: str = "holds", wanted: bool = True) -> Check:
    """Holds iff a truth value is as wanted on every world."""

    def check(results: Results) -> Outcome:
        values = results["suite"].numbers[statement][column]
        right = sum(value == wanted for value in values)
        return Outcome(
            "holds" if right == len(values) else "fails",
            {"worlds": len(values), "as stated": right},
        )

    return check


def never_close(statement: str, column: str, gap: float = 1e-3) -> Check:
    """A printed identity: it fails as soon as one world is off by more than `gap`."""

    def check(results: Results) -> Outcome:
        values = results["suite"].numbers[statement][column]
        off = sum(value > gap for value in values)
        verdict: Verdict = "fails" if off else "holds"
        return Outcome(
            verdict,
            {"largest error": max(values), "worlds off": off, "worlds": len(values)},
        )

    return check


def both(first: Check, second: Check) -> Check:
    """Holds iff both hold; the numbers of both."""

    def check(results: Results) -> Outcome:
        outcomes = [first(results), second(results)]
        verdicts = [outcome.verdict for outcome in outcomes]
        verdict: Verdict = "fails" if "fails" in verdicts else verdicts[0]
        if "undecided" in verdicts and verdict != "fails":
            verdict = "undecided"
        merged: dict[str, Any] = {}
        for outcome in outcomes:
            for name, value in outcome.numbers.items():
                merged[name if name not in merged else f"{name} (second part)"] = value
        return Outcome(verdict, merged)

    return check
