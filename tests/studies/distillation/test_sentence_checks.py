"""Checks of students of a grammar on results that are made up."""

import numpy as np
import pytest
from made_up_students import CLAIMS

from minicosm.lab import TrialResult
from minicosm.studies.distillation import trials

NAMES = ("grammar-ceiling", "grammar-phases", "reliance-rises-and-falls", "grammar-progressive",
         "grammar-gap-shrinks", "grammar-best-checkpoint", "grammar-features", "grammar-heads")  # fmt: skip
TOPS = {"labels": 0.70, "one-shot": 0.72, "progressive": 0.74, "at 1/16": 0.71, "at 1/8": 0.735,
        "at 1/4": 0.73, "at 1/2": 0.72, "at 3/4": 0.72}  # fmt: skip


def sentences(tops=None, later=0.003, loss=0.2, peak=0.15, bottom=0.05, slow=False, teacher=0.9,
              relies=0.1, probe=0.9, late=2.0):  # fmt: skip
    config = trials.sentences("laptop", 0)["sentences"].config
    steps = np.arange(config.chunk, config.teacher_steps + 1, config.chunk)
    share = steps / steps[-1]
    jitter = 0.002 * np.sin(np.arange(config.pairs))
    short = {arm: (top + jitter * (arm == "progressive")).tolist()
             for arm, top in (TOPS | (tops or {})).items()}  # fmt: skip
    gain = later + jitter / 2
    long = {"labels": [0.75] * config.pairs, "one-shot": [0.77] * config.pairs,
            "progressive": (0.77 + gain).tolist()}  # fmt: skip
    drop = share if slow else np.clip((share - 0.03) / 0.2, 0, 1)
    if slow:
        drop = np.where(share > 0.8, (share - 0.8) / 0.2, 0)
    losses = 1.09 - (1.09 - loss) * drop
    robust = bottom + 0.3 * np.exp(-(((share - peak) / 0.1) ** 2))
    count = config.teachers
    spread = 1 + 0.01 * np.arange(count)
    numbers = {
        "floor": 1.09, "bayes": 0.08, "ceiling": 0.958, "error": 0.002, "loss": [loss] * count,
        "teacher_accuracy": [teacher] * count,
        "accuracy": {str(config.horizons[0]): short, str(config.horizons[1]): long},
        "robust": {arm: [[r] * 4 for r in at + jitter]
                   for arm, at in (("labels", 0.3), ("one-shot", 0.2), ("progressive", relies))},
        "probe": {arm: [[p] * 2 for p in at + jitter]
                  for arm, at in (("labels", 0.7), ("one-shot", 0.8), ("progressive", probe))},
    }  # fmt: skip
    each = np.arange(25, config.horizons[0] + 1, 25)
    rise = 1 - np.exp(-each / 100)[:, None] * np.ones(config.pairs)
    tree = np.arange(3)[None] // np.array([[1], [3]]), np.array([[1, 1, 1], [0, 0, 1]], bool)
    arrays = {  # of a sentence with three tokens
        "head_steps": each,
        "head_top_large": 0.8 * rise,
        "head_top_small": 0.7 * (1 - np.exp(-each / (100 * late))[:, None] ** (1 + jitter)),
        "tree_tokens": np.array([0, 2, 1, 3]),
        "tree_symbols": np.pad(tree[0], ((0, 0), (0, 1))),
        "tree_boundaries": np.pad(tree[1], ((0, 0), (0, 1))),
        "tree_exact": np.full((4, 3), 1 / 3),
        "tree_said": np.full((5, 3, 4, 3), 1 / 3),
        "tree_steps": np.arange(1, 6),
        "steps": steps,
        "losses": losses[:, None] * np.ones(count),
        "top": np.ones((len(steps), count)),
        "robust": (robust[:, None] * spread)[:, :, None] * np.ones(4),
        "close": np.ones((len(steps), count, 4)),
    }
    return {"sentences": TrialResult(numbers, arrays, config)}


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_holds_where_all_goes_as_the_source_says(name):
    results = sentences()
    assert CLAIMS[name].check(results).verdict == "holds"
    assert CLAIMS[name].figure(results) is not None


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("grammar-ceiling", {"teacher": 0.97}),
        ("grammar-phases", {"slow": True}),
        ("reliance-rises-and-falls", {"peak": 1.0}),
        ("reliance-rises-and-falls", {"peak": 0.6}),
        ("grammar-progressive", {"tops": {"progressive": 0.72}}),
        ("grammar-gap-shrinks", {"later": 0.04}),
        ("grammar-best-checkpoint", {"tops": {"at 3/4": 0.8}}),
        ("grammar-features", {"relies": 0.25}),
        ("grammar-features", {"probe": 0.75}),
        ("grammar-heads", {"late": 0.3}),
    ],
)
def test_a_claim_fails_on_its_contrary(name, changed):
    assert CLAIMS[name].check(sentences(**changed)).verdict == "fails"


@pytest.mark.parametrize("name", NAMES[1:-1])
def test_a_claim_waits_where_teachers_have_not_learned(name):
    results = sentences(loss=0.6)
    outcome = CLAIMS[name].check(results)
    assert outcome.verdict == "undecided" and "Fewer than four" in outcome.remark
    assert CLAIMS[name].figure(results) is not None


def test_a_small_gain_is_undecided_and_a_missing_number_never_holds():
    claim = CLAIMS["grammar-progressive"]
    wide = np.linspace(0.70, 0.76, 8)
    assert claim.check(sentences(tops={"progressive": wide})).verdict == "undecided"
    assert claim.check(sentences(tops={"progressive": np.nan})).verdict != "holds"
    results = sentences()
    steps = results["sentences"].arrays["steps"]
    for i in range(0, len(steps), 9):
        results["sentences"].arrays["steps"] = np.where(np.arange(len(steps)) == i, np.nan, steps)
        assert CLAIMS["grammar-phases"].check(results).verdict != "holds"


def test_printed_lengths_are_compared():
    from minicosm.lab import silent
    from minicosm.studies.distillation.suites import grammars

    trial = trials.lengths("smoke", 0)["suite"]
    found = grammars.run(trial.config, silent)
    assert CLAIMS["grammar-lengths"].check({"suite": found}).verdict == "holds"
    found.numbers["Lengths"]["exact"][3] += 5
    assert CLAIMS["grammar-lengths"].check({"suite": found}).verdict == "fails"
