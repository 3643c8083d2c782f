"""Checks of the study of topics on made-up results: what they call learned, doubled, larger and later."""

import dataclasses

import numpy as np
import pytest

from minicosm.lab import TrialResult
from minicosm.studies.topics import STUDY
from minicosm.studies.topics.readings import at_step, doubled, limit_of
from minicosm.studies.topics.recipes import ARMS, CELLS, TABLE_2_1, TABLE_2_2, cell
from minicosm.studies.topics.trials import SMOKE, Common, Deep, Text, arm

CHECKS = {claim.id.partition("/")[2]: claim.check for claim in STUDY.claims}
USUAL = Common(seed=0)


def result(name, numbers, arrays=None):
    return TrialResult(numbers, arrays or {}, config=arm(USUAL, name))


def test_a_recipe_gives_way_to_what_is_set():
    assert arm(USUAL, "stage 1").documents == 20_000 and arm(USUAL, "stage 1").rate == 10
    assert arm(USUAL, "Table 2.2, Adam 0.01").seeds == 10
    small = Common(seed=0, **SMOKE)
    for name in ARMS:
        made = arm(small, name)
        assert (made.seeds, made.steps, made.documents) == (2, 60, 200)
        assert made.every in (0, 4)
    assert arm(small, "stage 1").rate == pytest.approx(1.6)  # of 16 words


def test_what_counts_as_learned_is_what_the_criteria_say():
    assert limit_of(arm(USUAL, "Figure 2.5, cross-entropy, Adam")) == pytest.approx(3.5)
    assert limit_of(arm(USUAL, "Figure 2.2, cross-entropy, Adam")) == pytest.approx(4.2)
    assert limit_of(arm(USUAL, TABLE_2_1[0]), "table 2.1") == pytest.approx(3.4)
    assert limit_of(arm(USUAL, "stage 1")) == pytest.approx(0.955)


def test_when_norms_have_doubled():
    steps = [0, 10, 20, 30]
    norms = np.array([[1.0, 1.0], [1.5, 1.0], [2.0, 1.1], [5.0, 1.2]])
    np.testing.assert_array_equal(doubled(steps, norms), [20, np.inf])
    found = at_step(steps, norms, np.array([20.0, 25.0]))
    np.testing.assert_array_equal(found, [2.0, 1.1])
    assert np.isnan(at_step(steps, norms, np.array([np.inf, 0.0]))[0])


def attending(arms, word, topic, other, loss=3.2, diagonal=6.0):
    """Results in which every run attends so, with some spread."""
    spread = np.linspace(0.99, 1.01, 5)
    return {
        name: result(
            name,
            {
                "attention": {
                    "same word": (word * spread).tolist(),
                    "same topic": (topic * spread).tolist(),
                    "different topic": (other * spread).tolist(),
                },
                "held out": {"cross_entropy": [loss] * 5, "squared": [0.9] * 5},
                "end": {"value diagonal over rest": [diagonal] * 5},
            },
        )
        for name in arms
    }


@pytest.mark.parametrize(
    ("claim", "arms", "weights", "verdict"),
    [
        ("table-2.1", TABLE_2_1, (0.01, 0.02, 0.008), "holds"),
        ("table-2.1", TABLE_2_1, (0.01, 0.006, 0.008), "fails"),
        ("table-2.1", TABLE_2_1, (0.01, np.nan, 0.008), "undecided"),
        ("table-2.1-same-word", TABLE_2_1, (0.03, 0.02, 0.008), "holds"),
        ("table-2.1-same-word", TABLE_2_1, (0.01, 0.02, 0.008), "fails"),
        ("table-2.1-same-word", TABLE_2_1, (0.02, 0.02, 0.008), "undecided"),
        ("table-2.2", TABLE_2_2, (0.09, 0.002, 0.003), "holds"),
        ("table-2.2", TABLE_2_2, (0.09, 0.004, 0.003), "fails"),
    ],
)
def test_orders_of_attention(claim, arms, weights, verdict):
    assert CHECKS[claim](attending(arms, *weights)).verdict == verdict


def test_models_that_have_not_learned_decide_nothing():
    assert CHECKS["table-2.1"](attending(TABLE_2_1, 1, 2, 1, loss=3.45)).verdict == "undecided"
    few = attending(TABLE_2_2, 0.09, 0.002, 0.003, diagonal=2.0)
    assert CHECKS["table-2.2"](few).verdict == "undecided"


def blocks(arms, contrast, z=20.0, nats=3.3, squared=0.94):
    spread = contrast * np.linspace(0.9, 1.1, 5)
    return {
        name: result(
            name,
            {
                "end": {
                    "block": spread.tolist(), "different": [-0.001] * 5, "contrast": spread.tolist(),
                    "z": [z] * 5,
                },
                "held out": {"cross_entropy": [nats] * 5, "squared": [squared] * 5},
            },
        )
        for name in arms
    }  # fmt: skip


@pytest.mark.parametrize("figure", ["2.2", "2.5", "2.6"])
def test_blocks_need_contrast_and_significance(figure):
    arms = [cell(figure, name) for name in CELLS]
    check = CHECKS[f"figure-{figure}"]
    assert check(blocks(arms, 0.1)).verdict == "holds"
    assert check(blocks(arms, 0.1, z=2.0)).verdict == "fails"
    assert check(blocks(arms, -0.1)).verdict == "fails"
    assert check(blocks(arms, 0.1, squared=0.96)).verdict == "undecided"


def norms(value, key, query, name="two stages, squared"):
    steps = list(range(0, 1501, 10))
    t = np.array(steps, float)[:, None] * np.ones(5)
    arrays = {
        n: f(t).astype(np.float32) for n, f in (("value", value), ("key", key), ("query", query))
    }
    return {name: result(name, {"steps": steps}, arrays)}


def late(start):
    """Norms that stay at one, then grow."""
    return lambda t: np.where(t < start, 1.0, 1 + (t - start) / 50)


def test_two_stages_are_a_delay_and_a_plateau():
    def early(t):
        return 0.1 + 5 * (1 - np.exp(-t / 20))

    assert CHECKS["figure-2.4"](norms(early, late(250), late(280))).verdict == "holds"
    at_once = norms(early, late(0), late(0))
    assert CHECKS["figure-2.4"](at_once).verdict == "fails"

    def growing(t):
        return 0.1 + t / 10

    assert CHECKS["figure-2.4"](norms(growing, late(250), late(280))).verdict == "fails"
    never = norms(early, lambda t: 1 + 0 * t, late(280))
    assert CHECKS["figure-2.4"](never).verdict == "fails"
    other = "two stages, cross-entropy"
    assert (
        CHECKS["two-stage-cross-entropy"](norms(growing, late(250), late(250), other)).verdict
        == "holds"
    )
    assert (
        CHECKS["two-stage-cross-entropy"](norms(early, late(250), late(250), other)).verdict
        == "fails"
    )


def test_values_of_deep_models_come_first():
    steps = list(range(0, 2001, 10))
    t = np.array(steps, float)[:, None, None] * np.ones((3, 4))
    value, slow = 1 + t / 5, np.where(t < 800, 1.0, 1 + (t - 800) / 100)
    slow[:, :, 0] = 1.0  # a layer that never moves
    arrays = {"value": value, "key": slow, "query": slow, "turned": np.full((200, 3, 4), 0.01)}
    config = Deep(seed=0, layers=4, width=32, steps=2000)
    made = {"deep": TrialResult({"steps": steps}, arrays, config=config)}
    assert CHECKS["figure-2.9-first"](made).verdict == "holds"
    assert CHECKS["figure-2.9-later"](made).verdict == "holds"
    swapped = {
        "deep": dataclasses.replace(made["deep"], arrays=arrays | {"value": slow, "key": value})
    }
    assert CHECKS["figure-2.9-first"](swapped).verdict == "fails"
    still = {"deep": dataclasses.replace(made["deep"], arrays=arrays | {"key": np.ones_like(slow)})}
    assert CHECKS["figure-2.9-later"](still).verdict == "fails"


def texts(same=0.5, ratio=1.2, several=1.1, loss=4.3):
    rng = np.random.default_rng(0)

    def pair(cosine, attention):
        noise = 1 + 0.005 * rng.normal()
        return {"cosine": cosine * noise, "inner": cosine * noise, "attention": attention * noise}

    def model(same, ratio, several):
        return {
            str(size): {
                "same": pair(same, 0.01 * ratio), "different": pair(0.0, 0.01),
                "several, same": pair(same / 2, 0.01 * several), "several, different": pair(0.0, 0.01),
                "together": pair(0.3, 0.008),
            }
            for size in (4, 8, 16)
        }  # fmt: skip

    return {
        f"seed {i}": TrialResult(
            {
                "loss": loss, "unigram entropy": 5.0, "topics found": 0.8,
                "trained": model(same, ratio, several), "untrained": model(0.0, 1.0, 1.0),
                "nine words": {"within": 0.6, "across": 0.0, "words": [[0] * 3] * 3},
                "uniform": {"raw": [1.02, 1.03, 1.01 + 0.001 * i], "debiased": [1.0] * 3},
            },
            config=Text(seed=i),
        )
        for i in range(5)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "fields", "verdict"),
    [
        ("table-2.3-embeddings", {}, "holds"),
        ("table-2.3-embeddings", {"same": -0.5}, "fails"),
        ("table-2.3-embeddings", {"loss": 4.7}, "undecided"),
        ("table-2.3-attention", {}, "holds"),
        ("table-2.3-attention", {"ratio": 0.8}, "fails"),
        ("table-2.3-untrained", {}, "holds"),
        ("table-2.4", {}, "holds"),
        ("table-2.4", {"several": 1.4}, "fails"),
        ("figure-2.3", {}, "holds"),
        ("table-2.5-cosine", {}, "holds"),
        ("table-2.5-cosine", {"same": 0.1}, "fails"),
        ("table-2.5-attention", {}, "fails"),
        ("table-2.5-attention", {"ratio": 0.5}, "holds"),
        ("debiasing", {}, "holds"),
    ],
)
def test_pairs_of_words(claim, fields, verdict):
    assert CHECKS[claim](texts(**fields)).verdict == verdict


def test_without_scikit_learn_or_a_corpus_the_reason_is_told(monkeypatch):
    from minicosm.studies.topics import trials

    monkeypatch.setattr(trials, "find_spec", lambda name: None)
    assert trials.texts("smoke", 0) == {} and trials.corpus("smoke", 0) == {}
    for claim, words in (
        ("table-2.3-attention", "scikit-learn"),
        ("own-corpus-attention", "topics.txt"),
    ):
        found = CHECKS[claim]({})
        assert found.verdict == "undecided" and words in found.remark


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Common(0, topics=1), "topics is 1; it must be at least 2"),
        (lambda: Common(0, longest=50), "longest is 50; it must be at least shortest, 100"),
        (lambda: Common(0, dirichlet=0.0), "dirichlet is 0.0; it must be positive"),
        (lambda: Text(0, width=30), "must be a multiple of heads"),
        (lambda: Text(0, sizes=(1,)), "it needs numbers from 2"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
