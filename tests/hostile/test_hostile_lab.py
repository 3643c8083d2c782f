"""Every public callable of `minicosm.lab` meets hostile arguments with one sentence."""

import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import pytest

from hostile import VALUES, Call, count, faults, flag, number, report, thing
from minicosm import lab

pytestmark = pytest.mark.usefixtures("unchecked_types")

TEXT = "'abc'"
BIG = ("2**40", "2**70")
EMPTY = ("[]", "[[]]", "{}", "array without entries")
ANY = tuple(VALUES)
ONE = ("-1", "0", "2.5", *BIG, "True", "inf", "-inf")  # one number
ROWS = ("tokens far outside", "tokens below zero")
# What a reducer looks at: numbers in lists of any shape. NaN and None are values that never hold.
VALUED = (
    "None", "nan", *ONE, *EMPTY, "ragged", "array of objects", "array of nan", "array of four axes", *ROWS,
)  # fmt: skip
NAN = ("None", "nan", *EMPTY, "array of objects", "array of nan")


@dataclasses.dataclass(frozen=True)
class Die:
    sides: int = 6
    seed: int = 0


def roll(config, progress):
    return lab.TrialResult({"n": 1})


def trials(profile, seed):
    return {}


def judge(results):
    return lab.Outcome("holds", {})


def plan(config):
    return {}


@dataclasses.dataclass(frozen=True)
class Stated:
    name: str = "Lemma 1"
    applies: bool = True
    holds: bool | None = True
    error: float | None = 0.0
    slack: float | None = None
    tolerance: float = 1e-9
    details: dict = dataclasses.field(default_factory=dict)


TRIAL = lab.Trial(roll, Die())
RESULT = lab.TrialResult({"n": 1}, {"a": np.ones(2)})
OUTCOME = lab.Outcome("holds", {"n": 1})
ESTIMATE = lab.Estimate(0.5, 0.4, 0.6, 3)
TABLE = lab.Table("T", ("a",), ((1,),))
CLAIM = lab.Claim("s/c", "", "", "", "", trials, judge)
STUDY = lab.Study("s", "S", "", "")
LEDGER = lab.Ledger()
LEDGER.add(Stated())
RESULTS = {"suite": LEDGER.result()}
FOLDER = Path(tempfile.mkdtemp())
STORE = lab.Store(FOLDER / "store", warn=lambda sentence: None)
STORE.prepare()
ADDRESS = "0123456789abcdef-roll"
KEPT = "fedcba9876543210-roll"
STORE.save(KEPT, TRIAL, RESULT, 1.0)
DRAWN = lab.figure()
NAME = {"name": thing("n", allows=TEXT)}
VALUES_OF = {"values": thing([1.0, 2.0], allows=VALUED)}
LIMIT = number(2.0, allows=("inf", "-inf"))
FINITE = number(2.0)
SAMPLE = (*EMPTY[:1], "array of nan", "array of objects", *ROWS)
ESTIMATES = {"estimates": thing({"a": ESTIMATE}, allows="{}")}
WORDS = {name: thing("text", allows=TEXT) for name in ("title", "source", "statement", "criterion")}
CLAIMED = WORDS | {
    "trials": thing(trials, allows="a function"),
    "check": thing(judge, allows="a function"),
    "expected": thing("holds"),
    "figure": thing(None, allows=("None", "a function")),
    "erratum": thing(lab.Erratum("gap", "t", "s/d"), allows="None"),
    "kind": thing("lemma"),
}
NUMBER = thing(0.5, allows=("nan", "0", "inf", "-inf", "-1", "2.5", "True", *BIG))


def fresh_study():
    return lab.Study("s", "S", "", "")


def holds(name, trial):
    return lab.holds(name, trial=trial)(RESULTS)


def refuted(name, trial):
    return lab.refuted(name, trial=trial)(RESULTS)


def columns(column):
    return lab.Rows("n", {"a": [1]})[column]


CALLS = [
    *[Call(f, **NAME, **VALUES_OF, limit=LIMIT) for f in (lab.at_most, lab.at_least, lab.above, lab.below)],
    *[Call(f, values=thing([1.0, 2.0], allows=VALUED, nan=NAN)) for f in (lab.worst, lab.least)],
    Call(lab.finite, **VALUES_OF),
    Call(lab.agrees, **NAME, values=thing([1.0, 2.0], allows=("array of objects", *ROWS)),
         wanted=thing([1.0, 2.0], allows=("array of objects", *ROWS)),
         within=thing(0.1, allows=("0", "2.5", *BIG, "True"))),
    Call(lab.all_true, **NAME, values=thing([True, False], allows=("[]", "array of objects", "array of nan",
         "array without entries", *ROWS)), wanted=flag(True)),
    Call(lab.counterexample, **NAME, **VALUES_OF, beyond=LIMIT),
    Call(lab.all_above, **NAME, **ESTIMATES, least=FINITE),
    Call(lab.all_below, **NAME, **ESTIMATES, most=FINITE),
    Call(lab.all_within, **NAME, **ESTIMATES, margin=thing(0.1, allows=("2.5", "True", *BIG)), around=FINITE),
    Call.of(lab.all_of, lambda parts, **more: lab.all_of(parts, **more), parts=thing(OUTCOME),
            numbers=thing({"n": 1}, allows=("None", "{}")), tables=thing((TABLE,), allows="[]"),
            remark=thing("r", allows=TEXT)),
    Call(lab.only_if, condition=flag(True), otherwise=thing("o", allows=TEXT), outcome=thing(OUTCOME)),
    Call(lab.Estimate, value=NUMBER, low=thing(0.4, allows=("nan", "0", "-inf", "-1")),
         high=thing(0.6, allows=("nan", "inf", "2.5", "True", *BIG)), count=count(3, allows=("0", "2**40"))),
    Call(lab.Estimate.of, samples=thing([0.1, 0.2], allows=SAMPLE), level=thing(0.9)),
    Call(lab.percent, values=thing([0.1, 0.2], allows=SAMPLE)),
    Call(lab.paired, first=thing([0.1, 0.2], allows=(*ROWS, "array of objects")),
         second=thing([0.1, 0.2], allows=(*ROWS, "array of objects"))),
    Call(lab.unpaired, first=thing([0.1, 0.2], allows=SAMPLE), second=thing([0.1, 0.2], allows=SAMPLE)),
    Call(lab.TrialResult, numbers=thing({"n": 1}, allows="{}"), arrays=thing({"a": np.ones(2)}, allows="{}"),
         config=thing(Die(), allows=ANY)),
    Call(lab.Trial, run=thing(roll, allows="a function"), config=thing(Die(), allows=ANY)),
    Call(lab.Table, title=thing("T", allows=TEXT), columns=thing(("a",), names="per column"),
         rows=thing(((1,),), allows="[]", names="row "),
         note=thing("", allows=TEXT), digits=count(3)),
    Call(lab.Outcome, verdict=thing("holds"), numbers=thing({"n": 1}, allows="{}"),
         tables=thing((TABLE,), allows="[]"), remark=thing("", allows=TEXT)),
    Call(lab.Erratum, kind=thing("gap"), text=thing("t", allows=TEXT),
         corrected_by=thing("s/d", allows=TEXT)),
    Call(lab.Claim, id=thing("s/c", allows=TEXT), **CLAIMED),
    Call(lab.Study, **{name: thing("s", allows=TEXT) for name in ("name", "title", "source", "about")},
         **{name: thing(("a",), allows="[]") for name in ("headlines", "misprints", "aliases")}),
    Call.of(STUDY.add, lambda claim: fresh_study().add(claim), claim=thing(CLAIM)),
    Call.of(STUDY.claim, lambda **given: fresh_study().claim(**given), id=thing("s/c"),
            **CLAIMED | {"check": thing(judge, allows=("None", "a function"))}),
    Call(LEDGER.add, statement=thing(Stated()), name=thing("", allows=TEXT)),
    Call.of(LEDGER.measure, lambda what: LEDGER.measure(what, n=1), what=thing("what", allows=TEXT)),
    Call.of(LEDGER.picture, lambda arrays: LEDGER.picture(arrays=arrays), arrays=thing(np.ones(2), allows=[
        value for value in VALUES if value.startswith("array") or value in ROWS])),
    Call(lab.Rows, name=thing("n", allows=TEXT), columns=thing({"a": [1]}, allows="{}")),
    Call.of(lab.Rows.__getitem__, columns, column=thing("a")),
    Call(lab.rows, results=thing(RESULTS, names="results"), name=thing("Lemma 1", names="wrote nothing"),
         trial=thing("suite")),
    Call.of(lab.holds, holds, name=thing("Lemma 1", names="wrote nothing"), trial=thing("suite")),
    Call.of(lab.refuted, refuted, name=thing("Lemma 1", names="wrote nothing"), trial=thing("suite")),
    Call(lab.sized, config=thing(Die), smoke=thing({"sides": 1}, allows="{}"),
         laptop=thing({"sides": 1}, allows="{}"), paper=thing({"sides": 1}, allows="{}")),
    Call(lab.figure, width=thing(3.0, allows=("2.5", "True")), height=thing(3.0, allows=("2.5", "True"))),
    Call(lab.to_svg, fig=thing(DRAWN), name=thing("n", allows=TEXT)),
    Call(lab.Store, path=thing(FOLDER, allows=TEXT), warn=thing(print, allows="a function")),
    Call(STORE.load, trial_address=thing(ADDRESS)),
    Call(STORE.work, trial_address=thing(ADDRESS)),
    Call(STORE.record, trial_address=thing(KEPT)),
    Call(STORE.discard_work, trial_address=thing(ADDRESS)),
    Call(STUDY.section, text=thing("Lemmas. More.", allows=("None", TEXT))),
    Call(STORE.save, trial_address=thing(ADDRESS), trial=thing(TRIAL), result=thing(RESULT),
         seconds=thing(1.0, allows=("0", "2.5", "True", *BIG)), replace=flag(True)),
    Call(STORE.save_verdict, profile=thing("smoke"), claim=thing("s/c", allows=TEXT),
         record=thing({"n": 1}, allows="{}"), svg=thing("<svg/>", allows=("None", TEXT))),
    Call(STORE.load_verdict, profile=thing("smoke"), claim=thing("s/c", allows=TEXT)),
    Call(lab.recall, store=thing(STORE), study=thing(STUDY), claim=thing(CLAIM), profile=thing("smoke")),
    Call(lab.check, selection=thing([(STUDY, CLAIM)], allows="[]"), profile=thing("smoke"),
         seed=count(0, allows=("0", "2**40")), store=thing(STORE), jobs=count(1, allows=("None", "2**40")),
         executor=thing("local"), display=thing(None, allows="None"), force=flag(False),
         options=thing({}, allows="{}")),
]  # fmt: skip
# A verdict or an estimate carries what it was decided on: NaN never holds, nothing is undecided.
for call in CALLS:
    for name, argument in call.arguments.items():
        call.arguments[name] = argument._replace(nan=argument.nan | (argument.allows & set(NAN)))


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_hostile(call):
    found = faults(call)
    assert not found, report(found)
