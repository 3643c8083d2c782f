"""Reducers: a NaN or a missing number never holds, and without numbers nothing is decided."""

import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from minicosm.lab import (
    Estimate,
    Outcome,
    Table,
    above,
    agrees,
    all_above,
    all_below,
    all_of,
    all_true,
    all_within,
    at_least,
    at_most,
    below,
    counterexample,
    finite,
    least,
    only_if,
    paired,
    percent,
    unpaired,
    worst,
)

pytestmark = pytest.mark.usefixtures("unchecked_types")  # what users meet, not beartype

NAN = math.nan
numbers = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=8)
LIMITED = {at_most: operator.le, at_least: operator.ge, below: operator.lt, above: operator.gt}


@given(numbers, st.floats(-1e9, 1e9), st.sampled_from(list(LIMITED)))
def test_a_limit_holds_iff_every_value_keeps_it(values, limit, reducer):
    kept = all(LIMITED[reducer](value, limit) for value in values)
    assert reducer("x", values, limit).verdict == ("holds" if kept else "fails")


@given(numbers, st.integers(0, 7), st.sampled_from([NAN, None]), st.sampled_from(list(LIMITED)))
def test_one_nan_or_missing_number_fails_wherever_it_stands(values, place, hole, reducer):
    values.insert(place, hole)
    outcome = reducer("x", values, math.inf if reducer in (at_most, below) else -math.inf)
    assert outcome.verdict == "fails" and math.isnan(outcome.numbers["x"])


@pytest.mark.parametrize("nothing", [[], (), np.zeros(0), [[], []], {}])
def test_nothing_is_undecided(nothing):
    for reducer in LIMITED:
        assert reducer("x", nothing, 0).verdict == "undecided"
    assert agrees("x", nothing, nothing, 1).verdict == "undecided"
    assert counterexample("x", nothing, 0).verdict == "undecided"
    assert all_true("x", []).verdict == all_of().verdict == "undecided"
    for interval in (all_above, all_below):
        assert interval("x", {}, 0).verdict == "undecided"
    assert all_within("x", {}, 1).verdict == "undecided"
    assert math.isnan(worst(nothing)) and math.isnan(least(nothing)) and not finite(nothing)


def test_arrays_nested_lists_mappings_and_single_numbers_are_values():
    assert worst(np.array([[1, 5], [2, 3]])) == 5 and least([[4, [2]], 3]) == 2
    assert worst(7) == 7 and least({"a": 1, "b": -2}) == -2
    assert finite([1, 2.5]) and not finite([1, math.inf]) and not finite([None])
    with pytest.raises(TypeError, match="'abc' is no number"):
        worst(["abc"])


def test_agreement_is_with_every_wanted_number():
    assert agrees("x", [1.0, 2.0], (1.05, 2.0), 0.1).verdict == "holds"
    assert agrees("x", [1.0, 2.2], (1.05, 2.0), 0.1).verdict == "fails"
    assert agrees("x", [1.0, NAN], (1.0, 2.0), 0.1).verdict == "fails"
    with pytest.raises(ValueError, match="1 values are compared with 2"):
        agrees("x", [1.0], (1.0, 2.0), 0.1)


def test_truth_values_must_all_be_as_wanted():
    assert all_true("x", [True, np.bool_(True)]).verdict == "holds"
    assert all_true("x", [True, False]).numbers == {"x": 1, "x, of": 2}
    assert all_true("x", [False], wanted=False).verdict == "holds"
    for hole in (None, NAN):
        assert all_true("x", [True, hole]).verdict == "fails"
        assert all_true("x", [False, hole], wanted=False).verdict == "fails"


def test_a_printed_statement_is_refuted_by_a_number_and_never_by_nan():
    assert counterexample("x", [0.0, 0.2, NAN], 1e-3).verdict == "fails"
    assert counterexample("x", [0.0, 1e-6], 1e-3).verdict == "holds"
    assert counterexample("x", [0.0, NAN], 1e-3).verdict == "undecided"
    assert counterexample("x", [NAN], 1e-3).verdict == "undecided"


def estimate(low, high):
    return Estimate((low + high) / 2, float(low), float(high), 9)


def test_intervals_decide():
    verdict = {
        (1, 2): ("holds", "fails", "fails"),
        (-2, -1): ("fails", "holds", "fails"),
        (-0.5, 0.5): ("undecided", "undecided", "holds"),
        (-0.5, 3): ("undecided", "undecided", "undecided"),
        (NAN, NAN): ("undecided", "undecided", "undecided"),
    }
    for ends, wanted in verdict.items():
        one = {"a": estimate(*ends)}
        assert all_above("x", one).verdict == wanted[0]
        assert all_below("x", one).verdict == wanted[1]
        assert all_within("x", one, 0.9).verdict == wanted[2]
        assert all_above("x", {"good": estimate(1, 2), **one}).verdict == wanted[0]
    assert all_within("x", estimate(4.5, 5.5), 1, around=5).verdict == "holds"
    assert all_above("lead", {4: estimate(1, 2)}).numbers == {"lead, 4": estimate(1, 2)}


def test_estimates_of_too_little_decide_nothing():
    for samples in ([], [1.0], [1.0, NAN]):
        one = Estimate.of(samples)
        for outcome in (all_above("x", one), all_below("x", one), all_within("x", one, 1e9)):
            assert outcome.verdict == "undecided"
    assert Estimate.of([]).count == 0
    for pair in (([], [1.0, 2.0]), ([1.0], [1.0, 2.0])):
        assert all_above("x", unpaired(*pair)).verdict == "undecided"


def test_differences_are_those_of_scipy():
    a, b = [0.1, 0.5, 0.3, 0.8], [0.2, 0.1, 0.3]
    welch = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    ours = unpaired(a, b)
    assert (ours.low, ours.high) == pytest.approx((100 * welch.low, 100 * welch.high))
    pairs = stats.ttest_rel(a[:3], b).confidence_interval(0.95)
    ours = paired(a[:3], b)
    assert (ours.low, ours.high) == pytest.approx((100 * pairs.low, 100 * pairs.high))
    assert percent([0.25, 0.75]).value == 50
    assert unpaired([1.0, 1.0], [0.5, 0.5]) == Estimate(50.0, 50.0, 50.0, 4)


@given(st.lists(st.sampled_from(["holds", "fails", "undecided"]), min_size=1, max_size=4))
def test_parts_hold_together_only_if_each_does(verdicts):
    outcome = all_of(*(Outcome(verdict, {}) for verdict in verdicts))
    wanted = "fails" if "fails" in verdicts else "undecided" if "undecided" in verdicts else "holds"
    assert outcome.verdict == wanted


def test_parts_keep_their_numbers_tables_and_remarks():
    table = Table("t", ("a",), ((1,),))
    parts = [at_most("error", [1.0], 2), at_most("error", [3.0], 4), at_most("error", [3.0], 5)]
    outcome = all_of(*parts, numbers={"worlds": 2}, tables=(table,), remark="Said.")
    assert outcome.numbers == {"error": 1.0, "error (2)": 3.0, "worlds": 2}
    assert outcome.tables == (table,) and outcome.remark == "Said."


def test_a_condition_that_is_not_met_leaves_it_undecided():
    outcome = at_most("error", [3.0], 2)
    assert only_if(True, "Not learned.", outcome) is outcome
    guarded = only_if(False, "Not learned.", outcome)
    assert guarded.verdict == "undecided" and guarded.remark == "Not learned."
    assert guarded.numbers == outcome.numbers


@pytest.mark.parametrize(
    ("check", "estimates", "said"),
    [
        (all_above, {"a": Estimate(1, -1, 3, 10)}, "x, a: about 40 samples, not 10,"),
        (all_below, {"a": Estimate(1, -1, 3, 10)}, "x, a: about 40 samples, not 10,"),
        (all_above, {"a": Estimate(0.3, -1, 1.6, 8)}, "x, a: about 160 samples, not 8,"),
        # of an interval that is not symmetric the side towards the limit counts
        (all_above, {"a": Estimate(1, -2, 1.5, 10)}, "x, a: about 90 samples, not 10,"),
        (all_below, {"a": Estimate(1, -2, 1.5, 10)}, "x, a: about 90 samples, not 10,"),
        (all_above, {"a": Estimate(-1, -1.5, 2, 10)}, "x, a: about 90 samples, not 10,"),
        # to hold, both; to fail, one
        (all_above, {"a": Estimate(1, -1, 3, 10), "b": Estimate(1, -2, 4, 10)}, "x, b: about 90"),
        (all_above, {"a": Estimate(1, -2, 4, 10), "b": Estimate(-1, -3, 1, 10)}, "x, b: about 40"),
        (lambda name, e: all_within(name, e, 2), {"a": Estimate(1.5, 0.5, 2.5, 9)}, "about 36 "),
        (lambda name, e: all_within(name, e, 2), {"a": Estimate(3, 0, 6, 9)}, "about 81 "),
        (all_above, {"a": Estimate(0.0, -1, 1, 10)}, None),
        (all_above, {"a": Estimate(1.0, -math.inf, math.inf, 1)}, None),
        (all_above, {"a": Estimate(NAN, -math.inf, math.inf, 0)}, None),
        (all_above, {}, None),
    ],
)
def test_what_intervals_leave_open_says_what_it_takes(check, estimates, said):
    outcome = check("x", estimates)
    assert outcome.verdict == "undecided"
    assert said in outcome.remark if said else outcome.remark == ""


@given(st.integers(4, 40), st.integers(0, 2**32 - 1))
def test_as_many_samples_as_are_said_to_be_needed_decide(count, seed):
    """The same sample again and again has the mean and nearly the spread that it has."""
    sample = np.random.default_rng(seed).normal(0.3, 1, count)
    outcome = all_above("x", Estimate.of(sample))
    if outcome.remark:
        needed = int(outcome.remark.split()[2])
        more = np.tile(sample, 2 * math.ceil(needed / count))
        assert all_above("x", Estimate.of(more)).verdict in ("holds", "fails")
