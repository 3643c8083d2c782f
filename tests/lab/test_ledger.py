"""Rows of statements: what a suite writes down is what a claim reads, and nothing else holds."""

import math
from dataclasses import replace

import numpy as np
import pytest

from minicosm.lab import Ledger, holds, refuted, rows
from minicosm.theory import Condition, Theorem

pytestmark = pytest.mark.usefixtures("unchecked_types")  # what users meet, not beartype

NO = Condition("never", False, {"x": 1}, "it never does")


def results(*statements, **more):
    ledger = Ledger()
    for statement in statements:
        ledger.add(statement, **more)
    return {"suite": ledger.result()}


def identity(error, **fields):
    return Theorem.identity("S", error, **fields)


def test_a_statement_holds_iff_it_does_on_every_world():
    good = [identity(1e-12, cases=5), identity(0.0, cases=3)]
    outcome = holds("S")(results(*good))
    assert outcome.verdict == "holds"
    assert outcome.numbers == {"largest error": 1e-12, "worlds": 2, "cases": 8}
    for bad in (1e-3, math.nan, math.inf):
        assert holds("S")(results(*good, identity(bad))).verdict == "fails"
        assert holds("S")(results(identity(bad), *good)).verdict == "fails"
    for slack, verdict in ((0.1, "holds"), (-1e-12, "holds"), (-0.1, "fails"), (math.nan, "fails")):
        one = Theorem.inequality("S", slack)
        outcome = holds("S")(results(one))
        assert outcome.verdict == verdict and "least slack" in outcome.numbers


def test_worlds_out_of_scope_do_not_count_and_alone_decide_nothing():
    out = identity(5.0, conditions=(NO,))
    empty = identity(5.0, cases=0)
    assert out.holds is None and out.error is None and not out.applies
    assert empty.holds is None and empty.applies
    outcome = holds("S")(results(out, empty, identity(0.0)))
    assert outcome.verdict == "holds"
    assert outcome.numbers["worlds"] == 1 and outcome.numbers["worlds left out"] == 2
    outcome = holds("S")(results(out, empty))
    assert outcome.verdict == "undecided" and "No world meets" in outcome.remark


def test_a_stored_truth_value_does_not_outweigh_its_number():
    lying = replace(identity(0.0), error=math.nan)
    assert lying.holds and holds("S")(results(lying)).verdict == "fails"
    assert holds("S")(results(replace(lying, error=0.5))).verdict == "fails"
    slack = replace(Theorem.inequality("S", 1.0), slack=-1.0)
    assert slack.holds and holds("S")(results(slack)).verdict == "fails"
    missing = replace(identity(0.0), holds=None)
    assert holds("S")(results(missing)).verdict == "undecided"


def test_a_printed_form_is_refuted_by_a_number_and_never_by_nan():
    assert refuted("S")(results(identity(0.0), identity(0.5, within=1e-3))).verdict == "fails"
    assert refuted("S")(results(identity(0.0))).verdict == "holds"
    assert refuted("S")(results(identity(0.0), identity(math.nan))).verdict == "undecided"
    assert refuted("S")(results(identity(math.nan), identity(0.5))).verdict == "fails"
    assert refuted("S")(results(identity(5.0, conditions=(NO,)))).verdict == "undecided"


def test_several_statements_are_read_together():
    ledger = Ledger()
    ledger.add(identity(0.0), "A")
    ledger.add(Theorem.inequality("B", -1.0))
    outcome = holds("A", "B")({"suite": ledger.result()})
    assert outcome.verdict == "fails"
    assert outcome.numbers == {"largest error": 0, "least slack": -1, "statements": 2}
    (table,) = outcome.tables
    assert table.columns == ("statement", "largest error", "worlds", "least slack")
    assert table.rows == (("A", 0.0, 1, None), ("B", None, 1, -1.0))


def test_unknown_names_and_columns_list_the_known_ones():
    found = results(identity(0.0))
    with pytest.raises(LookupError, match=r"wrote nothing down as 'T'; it has S"):
        holds("T")(found)
    with pytest.raises(
        LookupError, match=r"'S' has no column 'slack'; it has applies, holds, error"
    ):
        rows(found, "S")["slack"]


def test_columns_stay_aligned_where_a_row_lacks_a_number():
    ledger = Ledger()
    ledger.measure("curve", x=1, y=2.0)
    ledger.measure("curve", x=2)
    ledger.measure("curve", x=3, y=np.float64(4), z=True)
    ledger.picture(image=np.eye(2))
    found = ledger.result()
    columns = rows({"suite": found}, "curve")
    assert columns.count == 3 and list(columns) == ["x", "y", "z"]
    assert columns["y"] == [2.0, None, 4.0] and columns["z"] == [None, None, True]
    assert found.arrays["image"].shape == (2, 2)


def test_a_theorem_says_what_came_out():
    assert str(identity(0.25, within=0.1, cases=4)) == "S fails: error 0.25, cases 4"
    assert str(Theorem.inequality("S", 2.0)) == "S holds: slack 2"
    assert str(identity(0.0, conditions=(NO,))) == "S does not apply: it never does"
    with pytest.raises(ValueError, match=r"S constructs nothing here \(never: it never does\)"):
        Theorem("S", (NO,)).certify()
