"""Pretrained models at their smallest: the promised numbers, continuation after a kill, and what a
prompt does to the exact model."""

from dataclasses import replace

import numpy as np
import pytest

from minicosm.lab import TrialResult, silent
from minicosm.studies.tuning import readings, trials
from minicosm.studies.tuning.experiments import trained

RECIPE = trials.Pretraining(width=8, heads=2, steps=6, warmup=1, checkpoints=3, batch=2, length=12)
TUNING = trials.Tuning(
    length=13, train=120, validation=20, test=60, head_steps=20, head_warmup=2, prompt_length=3,
    prompt_steps=4, prompt_warmup=1, prompt_batch=8,
)  # fmt: skip
VANILLA = trials.TrainedTuning(hidden=5, tasks=2, pretraining=RECIPE, tuning=TUNING)


@pytest.fixture(scope="module")
def vanilla(tmp_path_factory):
    return trained.run(VANILLA, silent, tmp_path_factory.mktemp("vanilla"))


@pytest.mark.long
def test_a_vanilla_trial_has_all_arms_of_every_task(vanilla):
    numbers = vanilla.numbers
    for name in (
        "majority", "trained_head", "trained_best", "trained_prompt",
        "exact_head", "exact_best", "exact_prompt", "first_tokens", "histogram",
        "posterior", "prompt_change", "prompt_misfit", "relevant_before", "relevant_after",
    ):  # fmt: skip
        assert np.shape(numbers[name]) == (2,), name
        assert np.isfinite(numbers[name]).all() and (np.array(numbers[name]) >= 0).all()
    assert (np.array(numbers["posterior"]) >= np.array(numbers["majority"]) - 0.05).all()
    assert "trained_prompt_1" not in numbers  # 5 states, 10 tokens
    assert 0 < numbers["mask_tv"] < 1 and numbers["held_out"] > 0
    assert vanilla.arrays["checkpoint_best"].shape == (3, 2)
    np.testing.assert_array_equal(vanilla.arrays["checkpoint_step"], [2, 4, 6])


@pytest.mark.long
def test_a_trial_continues_from_its_folder(vanilla, tmp_path):
    """Stopped in the middle of the tuning and started again, it comes to the same numbers."""

    class Killed(Exception):
        pass

    def until(done, total, note=""):
        if "task 2" in note:
            raise Killed

    with pytest.raises(Killed):
        trained.run(VANILLA, until, tmp_path)
    assert (tmp_path / "pretraining.npz").exists()
    again = trained.run(VANILLA, silent, tmp_path)
    assert again.numbers == vanilla.numbers


@pytest.mark.long
def test_a_masked_pass_for_every_position_of_an_attention_head(tmp_path):
    config = replace(VANILLA, hidden=3, memory=2, masked=3)
    numbers = trained.run(config, silent, tmp_path).numbers
    for name in ("trained_attention", "masked_attention", "shown_attention", "masked_mean"):
        assert np.shape(numbers[name]) == (2,), name
    assert 0 < numbers["masked_tv"] < 1 and 0 < numbers["shown_tv"] < 1


def test_options_choose_sizes_and_counts():
    found = trials.trained_left("laptop", 0, sizes=(4, 25), pretrainings=2, steps=7)
    assert list(found) == ["|H|=4 #1", "|H|=25 #1", "|H|=4 #2", "|H|=25 #2"]
    assert found["|H|=25 #1"].config.pretraining.steps == 7
    for bad in (
        {"sizes": (1,)},
        {"sizes": (8, 8)},
        {"pretrainings": 0},
        {"steps": 0},
        {"tasks": 0},
    ):
        with pytest.raises(ValueError, match=next(iter(bad))):
            trials.trained_left("laptop", 0, **bad)


def test_the_sizes_of_laptop_and_paper():
    paper = trials.trained_right("paper", 0)
    assert len(paper) == 160
    recipe = paper["|M|=2 #1"].config.pretraining
    assert (recipe.layers, recipe.width, recipe.documents, recipe.steps) == (6, 768, 5000, 37_500)
    laptop = trials.trained_left("laptop", 0)
    assert len(laptop) == 39 and "|H|=15 #14" in laptop and "|H|=25 #6" not in laptop
    assert laptop["|H|=30 #5"].config.pretraining == trials.Pretraining()
    exact = trials.exact_right("laptop", 0)
    alone = trials.OracleHeads(hidden=28, worlds=300, arms=("head",), controls=False)
    assert exact["|H|=28"].config == alone
    assert exact["|M|=7"].config == trials.OracleMemory(memory=7, worlds=40)
    many = trials.exact_many("laptop", 0, sizes=(4, 30))
    assert list(many) == ["|H|=4 #1", "|H|=4 #2", "|H|=4 #3", "|H|=4 #4", "|H|=30 #1", "|H|=30 #2"]


@pytest.mark.parametrize("panel", ["exact", "trained"])
def test_both_panels_share_the_trials_of_a_size(panel):
    left, right = (getattr(trials, f"{panel}_{side}")("laptop", 0) for side in ("left", "right"))
    name = "|H|=8" if panel == "exact" else "|H|=8 #1"
    assert left[name] == right[name]


def test_worlds_are_the_unit_of_an_interval():
    """Tasks of one world are averaged before worlds are compared."""
    vanilla, memory = trials.TrainedTuning(hidden=5), trials.TrainedTuning(hidden=4, memory=2)
    results = {
        "a": TrialResult({"trained_head": [0.5, 0.7, 0.9]}, config=vanilla),
        "b": TrialResult({"trained_head": [0.2, 0.4, 0.0]}, config=replace(vanilla, member=1)),
        "c": TrialResult({"trained_head": [1.0, 1.0]}, config=memory),
    }
    assert readings.vanilla(results, "trained_head") == {5: pytest.approx([0.7, 0.2])}
    assert readings.with_memory(results, "trained_head") == {2: [1.0]}
