"""Options of claims: read by their annotations, given to whom they belong, kept with verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Optional

import pytest
import toy_study
from hypothesis import given
from hypothesis import strategies as st

from minicosm.lab import Claim, LabError, Outcome, Trial, check, recall
from minicosm.lab.catalogue import command
from minicosm.lab.options import assign, options_of, split

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.usefixtures("unchecked_types")  # what users meet, not beartype


def claim(name, trials):
    return Claim(
        id=f"coins/{name}",
        title=name,
        source="",
        statement="",
        criterion="",
        trials=trials,
        check=lambda results: Outcome("holds", {"trials": len(results)}),
    )


def every(
    profile,
    seed,
    *,
    whole: int = 3,
    rate: float | None = None,
    fast: bool = False,
    name: str = "a",
    sizes: tuple[int, ...] | None = None,
    rates: tuple[float, ...] = (0.5, 1.0),
    names: Optional[tuple[str, ...]] = None,  # noqa: UP045
    odd: tuple[int, str] = (1, "a"),
    either: int | str = 1,
    lost: Lost = None,
    bare=None,
) -> Mapping[str, Trial]:
    return {}


def coins(profile, seed, *, tosses: int = 5, seeds: tuple[int, ...] = (0,)):
    if tosses < 1:
        raise ValueError(f"tosses is {tosses}; it must be at least 1\nand more")
    if tosses > 1000:
        raise KeyError(tosses)
    return {str(s): Trial(toy_study.toss, toy_study.Coin(tosses, s)) for s in seeds}


def plain(profile, seed):
    return {"coin": Trial(toy_study.toss, toy_study.Coin(5, 0))}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("whole", "-4", -4),
        ("rate", "1e-3", 0.001),
        ("fast", "Yes", True),
        ("fast", "0", False),
        ("name", "a=b, c", "a=b, c"),
        ("name", "", ""),
        ("sizes", "4,15,30", (4, 15, 30)),
        ("sizes", "4", (4,)),
        ("rates", "0.1, 2", (0.1, 2.0)),
        ("names", "a,b", ("a", "b")),
    ],
)
def test_a_text_is_read_by_the_annotation(name, text, value):
    (found,) = assign([claim("a", every)], {name: text})
    assert found == {name: value}
    assert type(found[name]) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "needs"),
    [
        ("whole", "4.5", "must be a whole number"),
        ("whole", "", "must be a whole number"),
        ("rate", "fast", "must be a number"),
        ("fast", "2", "must be yes or no"),
        ("sizes", "4,,5", "must be whole numbers separated by commas"),
        ("sizes", "", "must be whole numbers separated by commas"),
        ("rates", "a", "must be numbers separated by commas"),
        ("odd", "1,a", r"its annotation is tuple\[int, str\]"),
        ("either", "1", r"its annotation is int \| str"),
        ("lost", "1", "its annotation is Lost"),
        ("bare", "1", "its annotation is missing"),
    ],
)
def test_a_text_that_cannot_be_read_is_a_sentence(name, text, needs):
    with pytest.raises(LabError, match=needs) as error:
        assign([claim("a", every)], {name: text})
    assert f"option {name!r}" in str(error.value)


@given(st.text(max_size=12), st.sampled_from(["whole", "rate", "fast", "sizes", "rates", "names"]))
def test_any_text_is_a_value_or_one_sentence(text, name):
    try:
        assign([claim("a", every)], {name: text})
    except LabError as error:
        assert len(str(error).splitlines()) == 1


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), st.text()))
def test_words_are_split_at_the_first_equals_sign(options):
    assert split([f"{name}={text}" for name, text in options.items()]) == options


def test_only_keyword_only_parameters_with_defaults_are_options():
    def trials(profile, seed, extra=1, *, needed, size: int = 2, **more):
        return {}

    assert list(options_of(claim("a", trials))) == ["size"]
    assert options_of(claim("a", plain)) == {}
    texts = {name: option.default_text for name, option in options_of(claim("a", every)).items()}
    assert (texts["whole"], texts["fast"], texts["rates"]) == ("3", "no", "0.5,1.0")
    assert texts["sizes"] is None


def test_options_reach_the_claims_that_have_them_and_stay_with_the_verdict(store, study):
    claims = [(study, claim("has", coins)), (study, claim("has-not", plain))]
    given = {"seeds": "1,2,3"}
    has, has_not = check(claims, "smoke", 0, store, options=given)
    assert has.outcome.numbers == {"trials": 3} and has_not.outcome.numbers == {"trials": 1}
    assert has.record()["options"] == given and has.note == "with seeds=1,2,3"
    assert has_not.record()["options"] == {} and has_not.note == ""
    last = recall(store, *claims[0], "smoke")
    assert repr(last) == repr(has)
    assert command(*claims[0], "smoke", 0, last.options).endswith("--seed 0 --set seeds=1,2,3")
    (again,) = check(claims[:1], "smoke", 0, store)
    assert again.record()["options"] == {} and set(again.trials) == {"0"}


def test_a_record_from_before_there_were_options_is_recalled(store, study):
    (checked,) = check([(study, claim("has", coins))], "smoke", 0, store)
    record = checked.record()
    del record["options"]
    store.save_verdict("smoke", checked.claim.id, record, None)
    assert recall(store, study, checked.claim, "smoke").options == {}
    assert store.warnings == []


def test_an_unknown_option_names_those_that_there_are(store, study):
    claims = [(study, claim("has", coins)), (study, claim("has-not", plain))]
    with pytest.raises(LabError, match="an option 'toss'; they have seeds, tosses"):
        check(claims, "smoke", 0, store, options={"toss": "3"})
    with pytest.raises(LabError, match="they have no options"):
        check(claims[1:], "smoke", 0, store, options={"tosses": "3"})


def test_a_value_that_trials_refuse_is_a_sentence_and_other_errors_cost_their_claim(store, study):
    claims = [(study, claim("has", coins)), (study, claim("has-not", plain))]
    with pytest.raises(LabError) as error:
        check(claims, "smoke", 0, store, options={"tosses": "0"})
    assert str(error.value) == "coins/has: tosses is 0; it must be at least 1."
    bad, good = check(claims, "smoke", 0, store, options={"tosses": "1001"})
    assert bad.error.sentence == "its list of trials: KeyError: 1001"
    assert good.outcome.verdict == "holds"
    refusing = replace(claims[1][1], trials=lambda profile, seed: int("x"))
    _, bad = check([claims[0], (study, refusing)], "smoke", 0, store, options={"tosses": "2"})
    assert bad.error.sentence.startswith("its list of trials: invalid literal for int()")
