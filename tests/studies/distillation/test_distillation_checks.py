"""Checks of trained students: they hold on what the source says, fail on its contrary, and wait where
teachers have not learned."""

import numpy as np
import pytest
from made_up_students import CLAIMS, hierarchy, parity

PARITY = ("as-fast-as-the-teacher", "before-labels", "one-checkpoint", "only-in-the-transition",
          "low-degree-spike", "degree-one-spike", "width", "temperature", "low-degree-alone")  # fmt: skip
TREE = ("tree-progressive", "blocks-in-order", "two-checkpoints", "no-single-checkpoint")


@pytest.mark.parametrize("name", [*PARITY, *TREE])
def test_a_claim_holds_where_all_goes_as_the_source_says(name):
    results = parity() if name in PARITY else hierarchy()
    assert CLAIMS[name].check(results).verdict == "holds"
    assert CLAIMS[name].figure(results) is not None


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("as-fast-as-the-teacher", {"progressive": 1.9}),
        ("before-labels", {"labels": 1.0, "progressive": np.inf}),
        ("one-checkpoint", {"middle": 2.0, "one-shot": 0.9}),
        ("only-in-the-transition", {"middle": 2.0, "end": 0.9}),
        ("width", {"labels": 0.5}),
        ("temperature", {"middle, tau 1": 0.3}),
        ("temperature", {"middle, tau .01": 1.5}),
        ("low-degree-alone", {"low degree alone": np.inf, "low degree removed": 0.6}),
    ],
)
def test_a_claim_about_times_fails_on_its_contrary(name, times):
    assert CLAIMS[name].check(parity(times=times)).verdict == "fails"


def test_spikes_fail_where_nothing_stands_out_and_where_it_stays():
    flat = parity()
    shape = flat["parity"].arrays["off"].shape
    noise = 1 + 0.01 * np.sin(np.arange(np.prod(shape))).reshape(shape)
    nothing = parity(on=0.004 * noise)
    assert CLAIMS["low-degree-spike"].check(nothing).verdict == "fails"
    assert CLAIMS["degree-one-spike"].check(nothing).verdict == "fails"
    always = parity(on=0.04 * noise)
    assert CLAIMS["low-degree-spike"].check(always).verdict == "fails"


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("tree-progressive", {"solved": {"labels": 1, "progressive": 0}}),
        ("blocks-in-order", {"root": [250_000.0 + i for i in range(16)]}),
        ("two-checkpoints", {"solved": {"two": 0, "root": 1}}),
        ("no-single-checkpoint", {"solved": {"child": np.arange(16) == 3}}),
    ],
)
def test_a_claim_about_trees_fails_on_its_contrary(name, changed):
    assert CLAIMS[name].check(hierarchy(**changed)).verdict == "fails"


@pytest.mark.parametrize("name", [*PARITY, *TREE])
def test_a_claim_waits_where_teachers_have_not_learned(name):
    few = [1.0, 0.99, 0.98] + [0.6] * 13
    results = parity(teacher=few[:12]) if name in PARITY else hierarchy(teacher=few)
    outcome = CLAIMS[name].check(results)
    assert outcome.verdict == "undecided" and "Fewer than four teachers" in outcome.remark
    assert CLAIMS[name].figure(results) is not None


def test_a_time_that_is_missing_decides_nothing():
    arrays = parity()["parity"].arrays
    broken = np.array(arrays["curve_progressive"])
    broken[3, 2] = np.nan
    outcome = CLAIMS["before-labels"].check(parity(curve_progressive=broken))
    assert outcome.verdict != "holds"
