"""Checks of Transformers on parities, next tokens and text, on results that are made up."""

import numpy as np
import pytest
from made_up_students import CLAIMS
from made_up_transformers import attention, heads, leaks, next_tokens, text

MADE = {
    "more-heads": attention, "attention-one-checkpoint": attention, "attention-leak": leaks,
    "attention-on-support": attention, "more-heads-fixed-width": heads, "more-heads-averaged": heads,
    "next-token-progressive": next_tokens,
    "next-token-gap-grows": next_tokens, "next-token-ceiling": next_tokens, "natural-text": text,
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_a_claim_holds_where_all_goes_as_the_source_says(name):
    results = MADE[name]()
    assert CLAIMS[name].check(results).verdict == "holds"
    assert CLAIMS[name].figure(results) is not None


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("more-heads", {"times": {"labels": 200}}),
        ("more-heads-fixed-width", {"few": 300, "many": 800}),
        ("more-heads-averaged", {"few": 300, "many": 800}),
        ("more-heads-averaged", {"few": 300, "learned": 4}),
        ("attention-one-checkpoint", {"times": {"labels": 300}}),
        ("attention-one-checkpoint", {"times": {"one-shot, warm": 300}}),
        ("attention-leak", {"leak": 0.006}),
        ("attention-on-support", {"tight": False}),
        ("next-token-progressive", {"low": -1.0}),
        ("next-token-progressive", {"low": 0.0, "high": 0.1}),
        ("next-token-gap-grows", {"low": 3.0, "high": 1.0}),
        ("next-token-ceiling", {"top": 0.98}),
        ("natural-text", {"gain": -1.0}),
        ("natural-text", {"fall": -0.01}),
    ],
)
def test_a_claim_fails_on_its_contrary(name, changed):
    results = MADE[name](**changed)
    if "fall" in changed:  # a peak that is no peak: the last is the largest
        results["sentences"].arrays["robust"][-1] += 0.1
        assert CLAIMS[name].check(results).verdict != "holds"
    else:
        assert CLAIMS[name].check(results).verdict == "fails"


@pytest.mark.parametrize("name", sorted(set(MADE) - {"next-token-ceiling"}))
def test_a_claim_waits_where_teachers_have_not_learned(name):
    few = {
        attention: {"teacher": [1.0] * 3 + [0.5] * 21},
        leaks: {"teacher": [1.0] * 3 + [0.5] * 21},
        heads: {"learned": 3},
        next_tokens: {"loss": 0.9},
        text: {"loss": 4.9},
    }
    results = MADE[name](**few[MADE[name]])
    outcome = CLAIMS[name].check(results)
    assert outcome.verdict == "undecided" and "Fewer than four" in outcome.remark
    assert CLAIMS[name].figure(results) is not None


def test_a_missing_number_never_holds():
    results = attention()
    results["attention"].arrays["curve_middle"][4, 2] = np.nan
    assert CLAIMS["attention-one-checkpoint"].check(results).verdict != "holds"
    results = leaks()
    results["leaks"].arrays["on"][1, 2] = np.nan
    assert CLAIMS["attention-leak"].check(results).verdict != "holds"
    for arm in ("few", "many"):
        results = heads()
        results["heads"].arrays[arm][4, 2] = np.nan
        assert CLAIMS["more-heads-averaged"].check(results).verdict != "holds"
    results = next_tokens()
    results["next tokens"].numbers["2"]["accuracy"]["progressive"][1] = np.nan
    assert CLAIMS["next-token-progressive"].check(results).verdict != "holds"


@pytest.mark.parametrize("name", ["next-token-progressive", "next-token-gap-grows"])
def test_at_the_ceiling_there_is_nothing_to_gain(name):
    results = next_tokens(low=0.0, high=0.0)
    for numbers in results["next tokens"].numbers.values():
        numbers["ceiling"] = 0.703
    outcome = CLAIMS[name].check(results)
    assert outcome.verdict == "undecided" and "nothing to gain" in outcome.remark


def test_without_a_text_the_claim_waits_and_says_for_what():
    outcome = CLAIMS["natural-text"].check({})
    assert outcome.verdict == "undecided" and "--set text=PATH" in outcome.remark
    assert CLAIMS["natural-text"].figure({}) is not None
