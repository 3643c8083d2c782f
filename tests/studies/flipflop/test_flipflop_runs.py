"""The suites hold at their smallest, and tiny trainings give what claims and figures read."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from minicosm.lab import rows, silent
from minicosm.studies.flipflop import STUDY
from minicosm.studies.flipflop.experiment_trials import (
    ALL_SIZES,
    CROSSED,
    DEEP,
    GENERATIVE,
    LONG,
    LONG_SHARP,
    SHORT,
    SIZES,
    SWEPT,
    Training,
    arms,
    simulations,
)
from minicosm.studies.flipflop.experiments import simulation, training
from minicosm.studies.flipflop.suites import heads, networks
from minicosm.studies.flipflop.trials import Exact

SMALL = Exact(1, lengths=(6,), strings=5, longest=40, heads=15, pairs=50, horizon=8)


def test_exact_suites_hold():
    for run in (networks.run, heads.run):
        result = run(SMALL, silent)
        names = set(result.numbers) - {"pictures"}
        assert len(names) >= 7
        results = {"suite": result}
        decided = 0
        for name in names:
            held = [h for h in rows(results, name)["holds"] if h is not None]
            assert all(held), name
            decided += len(held)
        assert decided > 30


def test_arms_that_need_more_time_are_trained_at_paper_size_only():
    assert LONG_SHARP not in arms(LONG, LONG_SHARP)("laptop", 0)
    assert LONG_SHARP in arms(LONG, LONG_SHARP)("paper", 0)
    laptop = arms(LONG)("laptop", 0)[LONG].config
    assert (laptop.members, laptop.steps, laptop.length) == (12, 2500, 128)
    with pytest.raises(ValueError, match="it must be even"):
        arms(LONG)("laptop", 0, long=33)


def test_every_arm_of_the_sweep_is_unlike_the_baseline_in_what_it_says():
    trials = arms(SHORT, *SWEPT, *ALL_SIZES, CROSSED)("paper", 0)
    base = trials[SHORT].config
    for name, fields in SWEPT.items():
        config = trials[name].config
        assert replace(base, **fields) == config != base, name
    shapes = {(t.config.layers, t.config.width, t.config.heads) for t in trials.values()}
    assert {(6, 512, 8), (2, 512, 8), (6, 1024, 8), (6, 512, 16)} <= shapes
    assert trials[CROSSED].config.crossed and trials[CROSSED].config.members == 25
    laptop = arms(SHORT, *SWEPT, *ALL_SIZES)("laptop", 0)
    assert set(laptop) == {SHORT, *SIZES.values()}
    assert {(t.config.layers, t.config.width) for t in laptop.values()} == {
        (layers, width) for layers in (1, 2, 4) for width in (32, 64)
    }


def test_crossed_seeds_share_starts_and_strings():
    config = Training(members=6, crossed=True)
    key = jax.random.key(0)
    starts, strings = (
        jax.random.key_data(training._member_keys(config, key, what)).tolist()
        for what in ("start", "strings")
    )
    assert starts[0] == starts[2] == starts[4] != starts[1]
    assert strings[0] == strings[1] != strings[2]
    assert len({(str(a), str(b)) for a, b in zip(starts, strings, strict=True)}) == 6


def test_diversity_is_the_distance_of_two_heads():
    maps = np.random.default_rng(0).normal(size=(2, 3, 3, 4, 4))
    found = simulation.diversity(maps)
    for member, layer in np.ndindex(2, 3):
        a, b, c = maps[member, layer]
        wanted = np.mean([np.linalg.norm(x - y) for x, y in ((a, b), (a, c), (b, c))])
        assert found[member, layer] == pytest.approx(wanted)
    assert not simulation.diversity(maps[:, :, :1]).any()


def test_every_experiment_says_who_counts():
    for claim in STUDY.claims:
        if claim.kind == "experiment":
            assert "undecided" in claim.criterion or "fails" in claim.criterion


@pytest.mark.long
@pytest.mark.parametrize("name", [LONG, GENERATIVE, LONG_SHARP])
def test_a_tiny_training_counts_its_reads(name, tmp_path):
    trial = arms(name)("smoke", 0, further=True)[name]
    result = trial.run(trial.config, silent, tmp_path)
    for kind in ("inside", "sparse", "dense"):
        strings, count = result.arrays[f"strings_{kind}"], result.arrays[f"count_{kind}"]
        assert strings.shape == (2, 50) and (strings <= count).all()
        assert strings.sum(axis=1).tolist() == result.numbers[f"wrong_{kind}"]
        assert count.sum() == result.numbers[f"reads_{kind}"]
        assert (
            result.arrays[f"distances_{kind}"][:, 0].sum(axis=1).tolist()
            == strings.sum(axis=1).tolist()
        )


@pytest.mark.long
def test_a_tiny_simulation_looks_at_every_member(tmp_path):
    trial = simulations(DEEP)("smoke", 0)[DEEP]
    numbers = trial.run(trial.config, silent, tmp_path).numbers
    assert all(len(values) == 2 for values in numbers.values())
    assert all(0 <= value <= 1 for value in numbers["error"] + numbers["misled"])
    assert np.isfinite(numbers["norm"]).all()
