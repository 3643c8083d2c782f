"""Claims and estimates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from minicosm.lab import Claim, Estimate, Outcome, Study, Table
from minicosm.lab.encoding import canonical, decode, encode
from minicosm.lab.formatting import number, seconds
from minicosm.lab.mathematics import html

pytestmark = pytest.mark.usefixtures("unchecked_types")  # what users meet, not beartype


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.floats(0.5, 0.999))
def test_estimate_is_the_t_interval_of_scipy(samples, level):
    ours = Estimate.of(samples, level)
    spread = stats.sem(samples)
    if spread == 0:
        assert ours.low == ours.value == ours.high
        return
    low, high = stats.t.interval(level, len(samples) - 1, np.mean(samples), spread)
    scale = max(1.0, float(np.abs(samples).max()))
    assert ours.low == pytest.approx(low, abs=1e-9 * scale)
    assert ours.high == pytest.approx(high, abs=1e-9 * scale)
    assert ours.count == len(samples)


def test_one_sample_says_nothing_about_the_spread():
    one = Estimate.of([0.25])
    assert (one.value, one.low, one.high, one.count) == (0.25, -np.inf, np.inf, 1)


@pytest.mark.parametrize("samples", [[[1.0, 2.0]], 3.0])
def test_an_estimate_needs_a_sample(samples):
    with pytest.raises(ValueError, match="1-D sample"):
        Estimate.of(samples)


def test_a_study_refuses_a_second_claim_of_the_same_id(study):
    with pytest.raises(ValueError, match="coins/fair"):
        study.add(study.claims[0])


def test_the_decorator_registers_and_leaves_the_check_callable():
    study = Study("s", "S", "nobody", "nothing")

    @study.claim(
        id="s/a", title="", source="", statement="", criterion="", trials=lambda profile, seed: {}
    )
    def check(results):
        return Outcome("holds", {})

    assert isinstance(study.claims[0], Claim)
    assert study.claims[0].check is check
    assert check({}).verdict == "holds"


def test_malformed_outcomes_and_tables_are_refused():
    with pytest.raises(ValueError, match="maybe"):
        Outcome("maybe", {})
    with pytest.raises(ValueError, match="row 1"):
        Table("t", ("a", "b"), ((1, 2), (3,)))


def estimate(value, one, other, count):
    return Estimate(value, *((other, one) if one > other else (one, other)), count)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.builds(estimate, st.floats(), st.floats(), st.floats(), st.integers(0, 2**40)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text().filter(lambda key: not key.startswith("$")), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(values)
def test_encoding_is_lossless_for_every_value_including_nan_and_infinities(value):
    import json

    again = decode(json.loads(canonical(encode(value))))
    assert repr(again) == repr(value) or canonical(encode(again)) == canonical(encode(value))


@pytest.mark.parametrize("value", [{1: 2}, {"$float": 3}, object(), {"x": {1, 2}}, np.array(1j)])
def test_what_json_cannot_hold_is_refused_by_name(value):
    with pytest.raises(TypeError, match="numbers"):
        encode(value, "numbers")


def test_numpy_numbers_become_plain_ones():
    found = encode({"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True), "d": np.eye(2)})
    assert found == {"a": 0.5, "b": 3, "c": True, "d": [[1.0, 0.0], [0.0, 1.0]]}
    assert type(found["c"]) is bool


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.51472, "0.5147"),
        (0.0000123456, "1.235e−5"),
        (12345.678, "12346"),
        (-3.0, "−3"),
        (True, "yes"),
        (1234567, "1\u202f234\u202f567"),
        (float("nan"), "undefined"),
        (-float("inf"), "−∞"),
        (None, "–"),
        (Estimate(0.5, 0.25, 0.75, 9), "0.5000 [0.2500, 0.7500]"),
    ],
)
def test_numbers_are_written_with_four_significant_digits(value, text):
    assert number(value) == text


def test_a_table_says_how_many_digits_it_needs():
    assert [number(28.26149, digits) for digits in (3, 4, 5)] == ["28.3", "28.26", "28.261"]
    assert number(1.23456e-9, 5) == "1.2346e−9" and number(0.5, 6) == "0.500000"
    assert number(Estimate(0.5, 0.25, 0.75, 9), 2) == "0.50 [0.25, 0.75]"
    with pytest.raises(ValueError, match=r"'t' has digits 0; 1..17"):
        Table("t", ("a",), ((1.0,),), digits=0)


def test_durations_are_written_for_people():
    assert [seconds(x) for x in (0.26, 59.4, 185, 7830)] == [
        "0.3 s",
        "59 s",
        "3 min 5 s",
        "2 h 10 min",
    ]


def test_prose_marks_up_and_escapes():
    page = str(html("a `x*y*z` *b* **c** <script>\n\n2 * 3 * 4"))
    assert page == (
        "<p>a <code>x*y*z</code> <em>b</em> <strong>c</strong> &lt;script&gt;</p><p>2 * 3 * 4</p>"
    )
