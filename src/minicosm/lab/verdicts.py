"""How numbers become verdicts: the only place where results are reduced.

Each function looks at all values and returns an `Outcome` with the number that decided. NaN and a
missing number (None) are worse than every limit, so that they never hold; without any value the
outcome is undecided. `all_of` puts outcomes together: one that fails decides, then one that is undecided.
The number that decided stands first. Where intervals leave a matter open the remark says how many samples
would decide it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, floor, inf, isfinite, isnan, log10, nan
from typing import Any

from minicosm.lab.checking import (
    as_number,
    check_flag,
    check_kind,
    check_mapping,
    check_number,
    check_text,
    finite_number,
    shown,
)
from minicosm.lab.claims import Outcome, Table, Verdict, check_tables
from minicosm.lab.estimates import Estimate

Estimates = Estimate | Mapping[Any, Estimate]


def _numbers(values: Any, name: str = "values") -> list[float]:
    """All values as floats, nested lists and arrays flattened; None is NaN."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if values is None:
        return [nan]
    if isinstance(values, Mapping):
        values = values.values()
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        return [number for value in values for number in _numbers(value, name)]
    number = as_number(values)
    if number is None:
        raise TypeError(f"{shown(values)} is no number; {name} must be numbers, or lists of them")
    return [number]


def worst(values: Any) -> float:
    """The largest value; NaN if one is NaN or missing, or if there is none."""
    numbers = _numbers(values)
    return nan if not numbers or any(map(isnan, numbers)) else max(numbers)


def least(values: Any) -> float:
    """The smallest value; NaN if one is NaN or missing, or if there is none."""
    return -worst([-number for number in _numbers(values)])


def _asked(name: Any, values: Any, limit: Any, what: str = "limit") -> tuple[list[float], float]:
    check_text("name", name)
    return _numbers(values), check_number(what, limit, lambda x: not isnan(x), "a number")


def _compared(name: str, number: float, empty: bool, holds: bool) -> Outcome:
    return Outcome("undecided" if empty else "holds" if holds else "fails", {name: number})


def at_most(name: str, values: Any, limit: float) -> Outcome:
    """Holds iff every value is at most the limit; the number is the largest."""
    values, limit = _asked(name, values, limit)
    number = worst(values)
    return _compared(name, number, not values, number <= limit)


def at_least(name: str, values: Any, limit: float) -> Outcome:
    """Holds iff every value is at least the limit; the number is the smallest."""
    values, limit = _asked(name, values, limit)
    number = least(values)
    return _compared(name, number, not values, number >= limit)


def below(name: str, values: Any, limit: float) -> Outcome:
    """Holds iff every value is below the limit; the number is the largest."""
    values, limit = _asked(name, values, limit)
    number = worst(values)
    return _compared(name, number, not values, number < limit)


def above(name: str, values: Any, limit: float) -> Outcome:
    """Holds iff every value is above the limit; the number is the smallest."""
    values, limit = _asked(name, values, limit)
    number = least(values)
    return _compared(name, number, not values, number > limit)


def agrees(name: str, values: Any, wanted: Any, within: float) -> Outcome:
    """Holds iff every value is within `within` of its wanted one; the number is the largest distance."""
    check_text("name", name)
    found, stated = _numbers(values), _numbers(wanted, "wanted")
    check_number("within", within, lambda x: 0 <= x < inf, "a finite number of at least 0")
    if len(found) != len(stated):
        raise ValueError(f"{name}: {len(found)} values are compared with {len(stated)} wanted ones")
    return at_most(name, [abs(a - b) for a, b in zip(found, stated, strict=True)], within)


def all_true(name: str, values: Iterable[Any], wanted: bool = True) -> Outcome:
    """Holds iff every truth value is as wanted; the numbers are how many are, and of how many."""
    check_text("name", name)
    check_flag("wanted", wanted)
    values = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"values are {shown(values)}; they must be a list of truth values")
    truths = list(values)
    for value in truths:
        if value is not None and as_number(value) is None:
            raise TypeError(f"values hold {shown(value)}; they must be True, False or None")
    right = sum(value is not None and value == wanted for value in truths)
    verdict: Verdict = "holds" if right == len(truths) else "fails"
    return Outcome(verdict if truths else "undecided", {name: right, f"{name}, of": len(truths)})


def counterexample(name: str, values: Any, beyond: float) -> Outcome:
    """Of a printed statement: fails iff a value lies beyond the limit. NaN is no counterexample: where
    there is no better one it leaves the statement undecided."""
    numbers, beyond = _asked(name, values, beyond, "beyond")
    proper = [number for number in numbers if not isnan(number)]
    if any(number > beyond for number in proper):
        return Outcome(
            "fails", {name: max(proper), "counterexamples": sum(n > beyond for n in proper)}
        )
    whole = numbers and len(proper) == len(numbers)
    return Outcome("holds" if whole else "undecided", {name: worst(numbers)})


def all_above(name: str, estimates: Estimates, least: float = 0.0) -> Outcome:
    """Holds iff every interval lies above `least`; fails if one lies below; otherwise undecided."""
    return _on_one_side(_named(name, estimates), finite_number("least", least), inf)


def all_below(name: str, estimates: Estimates, most: float = 0.0) -> Outcome:
    """Holds iff every interval lies below `most`; fails if one lies above; otherwise undecided."""
    return _on_one_side(_named(name, estimates), -inf, finite_number("most", most))


def all_within(name: str, estimates: Estimates, margin: float, around: float = 0.0) -> Outcome:
    """Equivalent within a margin: holds iff every interval lies inside `around` ± margin; fails if one
    lies outside; otherwise undecided."""
    named = _named(name, estimates)
    check_number("margin", margin, lambda x: 0 < x < inf, "a positive finite number")
    around = finite_number("around", around)
    return _on_one_side(named, around - margin, around + margin)


def _on_one_side(named: dict[str, Estimate], low: float, high: float) -> Outcome:
    """Whether the intervals lie between two limits, of which one may be infinite."""
    outside = {name: e for name, e in named.items() if e.low > high or e.high < low}
    if outside:
        return Outcome("fails", outside | named)
    inside = {name: _inside(e, low, high) for name, e in named.items()}
    if named and all(inside.values()):
        return Outcome("holds", named)
    left_open = {name: e for name, e in named.items() if not inside[name]}
    return Outcome("undecided", left_open | named, remark=_what_it_takes(left_open, low, high))


def _inside(e: Estimate, low: float, high: float) -> bool:
    return (low == -inf or low < e.low) and (high == inf or e.high < high)


def _what_it_takes(estimates: Mapping[str, Estimate], low: float, high: float) -> str:
    """How many samples decide, if means and spreads stay: where n samples have an interval of half-width
    h and the mean is a distance d from the limit it is `n (h / d)^2`. One mean beyond a limit is enough
    to fail; to hold, all intervals have to be narrow."""
    beyond: list[tuple[int, int, str]] = []
    before: list[tuple[int, int, str]] = []
    for name, e in estimates.items():
        limit = min(low, high, key=lambda end: abs(e.value - end))
        gap = abs(e.value - limit)
        reach = e.value - e.low if e.value > limit else e.high - e.value  # towards the limit
        if not (isfinite(reach) and gap > 0 and e.count):
            return ""
        needed = max(e.count + 1, ceil(e.count * (reach / gap) ** 2))
        (before if low < e.value < high else beyond).append((needed, e.count, name))
    if not estimates:
        return ""
    needed, count, name = min(beyond) if beyond else max(before)
    unit = 10 ** max(0, floor(log10(needed)) - 1)
    rounded = ceil(needed / unit) * unit
    return f"{name}: about {rounded} samples, not {count}, would decide if mean and spread stay."


def _named(name: str, estimates: Estimates) -> dict[str, Estimate]:
    check_text("name", name)
    if isinstance(estimates, Estimate):
        return {name: estimates}
    check_kind("estimates", estimates, Mapping, "an Estimate, or a dict of them")
    for estimate in estimates.values():
        check_kind("one of the estimates", estimate, Estimate, "an Estimate")
    return {f"{name}, {key}": estimate for key, estimate in estimates.items()}


def all_of(
    *parts: Outcome,
    numbers: Mapping[str, Any] | None = None,
    tables: tuple[Table, ...] = (),
    remark: str = "",
) -> Outcome:
    """Holds iff all parts hold; fails if one fails; otherwise, and without any part, undecided.

    What decides a failure, or leaves the outcome open, is the first of the numbers. `numbers` and `tables`
    are shown beside those of the parts and decide nothing.
    """
    for part in parts:
        check_kind("one of the parts", part, Outcome, "an Outcome")
    if numbers is not None:
        check_mapping("numbers", numbers)
    tables = check_tables(tables)
    check_text("remark", remark)
    verdicts = [part.verdict for part in parts]
    verdict: Verdict = "holds" if verdicts and set(verdicts) == {"holds"} else "undecided"
    if "fails" in verdicts:
        verdict = "fails"
    merged: dict[str, Any] = {}
    decisive: list[str] = []
    for part in parts:
        for name, value in part.numbers.items():
            same, count = name, 2
            while name in merged and merged[name] != value:
                name, count = f"{same} ({count})", count + 1
            merged[name] = value
            decisive += [name] if part.verdict == verdict != "holds" else []
    merged = {name: merged[name] for name in dict.fromkeys([*decisive, *merged])}
    remarks = [text for text in (*(part.remark for part in parts), remark) if text]
    inner = tuple(table for part in parts for table in part.tables)
    return Outcome(verdict, merged | dict(numbers or {}), inner + tables, " ".join(remarks))


def only_if(condition: bool, otherwise: str, outcome: Outcome) -> Outcome:
    """The outcome, or undecided with the remark `otherwise` where its condition is not met."""
    check_text("otherwise", otherwise)
    check_kind("outcome", outcome, Outcome, "an Outcome")
    if check_flag("condition", condition):
        return outcome
    remark = f"{otherwise} {outcome.remark}".strip()
    return Outcome("undecided", outcome.numbers, outcome.tables, remark)


def finite(values: Any) -> bool:
    """Whether there are values and all are finite numbers."""
    numbers = _numbers(values)
    return bool(numbers) and all(map(isfinite, numbers))
