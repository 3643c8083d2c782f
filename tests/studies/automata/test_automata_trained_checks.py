"""Checks of the claims about trained models on made-up results: they come out in all ways, and every verdict
depends on what was measured."""

import made_up_training as made_up
import numpy as np
import pytest
from made_up_training import CLAIMS, near, results_of

from minicosm.lab import Estimate
from minicosm.lab.audit import audit_claim
from minicosm.studies.automata import STUDY
from minicosm.studies.automata import experiment_readings as readings
from minicosm.studies.automata import experiment_trials as trials
from minicosm.studies.automata.experiment_trials import cell

TRAINED = [
    name for name, claim in CLAIMS.items() if "members" in claim.trials.__signature__.parameters
]
DECIDED = [name for name in TRAINED if name != "instability"]


def verdict(name, **changes):
    return CLAIMS[name].check(results_of(name, **changes)).verdict


def test_there_are_24_claims():
    assert len(TRAINED) == 24
    assert all(CLAIMS[name].expected == "holds" for name in TRAINED)


@pytest.mark.parametrize("name", DECIDED)
def test_good_results_hold(name):
    outcome = CLAIMS[name].check(results_of(name))
    assert outcome.verdict == "holds", (outcome.remark, outcome.numbers)


@pytest.mark.long
@pytest.mark.parametrize("name", DECIDED)
def test_corruption_of_good_results_is_seen(name):
    assert audit_claim(STUDY, CLAIMS[name], results_of(name)).findings == ()


def not_learned(name):
    return {
        arm: made_up.result(arm, one.config, accuracy=[0.3] * one.config.members)
        for arm, one in results_of(name, "smoke").items()
    }


@pytest.mark.parametrize("name", TRAINED)
def test_models_that_have_learned_nothing_decide_nothing(name):
    assert CLAIMS[name].check(not_learned(name)).verdict == "undecided"


@pytest.mark.parametrize(
    "name", [TRAINED[0], *(pytest.param(name, marks=pytest.mark.long) for name in TRAINED[1:])]
)
def test_models_that_have_learned_nothing_can_be_drawn(name):
    assert CLAIMS[name].figure(not_learned(name)).axes


@pytest.mark.parametrize("name", TRAINED)
def test_nothing_holds_where_all_is_nan(name):
    made = results_of(name)
    for one in made.values():
        for key, value in one.numbers.items():
            one.numbers[key] = (np.asarray(value, float) * np.nan).tolist()
        for key, array in one.arrays.items():
            one.arrays[key] = array * np.nan
    assert CLAIMS[name].check(made).verdict == "undecided"


# -- one claim after another ---------------------------------------------------------------------------


def low(value, members=3):
    return {"accuracy": near(value, members)}


def test_shortcuts_are_learned_or_not():
    deep = cell("D_8", 3)
    assert verdict("learns-shortcuts", **{deep: low(0.96)}) == "fails"
    assert verdict("learns-shortcuts", **{deep: low(0.98)}) == "undecided"
    one = {"accuracy": [0.5, 0.5, 0.999]}  # the best member decides
    assert verdict("learns-shortcuts", **{deep: one}) == "holds"
    assert verdict("learns-shortcuts", **{cell("Grid_4", 2): low(0.97)}) == "undecided"


def test_differences_of_the_depth_table():
    assert verdict("depth-helps", **{cell("D_6", 2): low(0.99)}) == "fails"
    wide = {"accuracy": [0.5, 0.7, 0.9]}
    assert verdict("depth-helps", **{cell("D_6", 2): wide}) == "undecided"
    assert verdict("depth-helps", options={"depths": (1, 2)}) == "undecided"
    assert verdict("gridworld-first", **{cell("C_2", 1): low(0.999)}) == "fails"
    assert verdict("gridworld-first", **{cell("Grid_4", 2): low(0.98)}) == "undecided"
    assert verdict("gridworld-first", **{cell("Q_8", 1): low(0.17)}) == "undecided"  # at its floor
    assert verdict("d8-before-d6", **{cell("D_8", 2): low(0.6)}) == "fails"
    assert verdict("q8-after-d8", **{cell("Q_8", 2): low(0.95)}) == "fails"
    stay = cell(trials.STAY["D_6"], 2)
    assert verdict("d8-before-d6-no-leak", **{stay: low(0.9)}) == "fails"
    assert verdict("d8-before-d6-no-leak", **{stay: {"accuracy": [0.4, 0.7, 0.9]}}) == "undecided"


def test_instability_needs_many_members_and_long_strings():
    arm = cell("C_2", 2)
    assert verdict("instability") == "undecided"
    spread = {"accuracy": [0.6] * 15 + [0.99] * 5}
    assert verdict("instability", profile="paper", **{arm: spread}) == "holds"
    assert verdict("instability", profile="paper", **{arm: {"accuracy": [0.99] * 20}}) == "fails"
    short = {"options": {"short": 30}, "profile": "paper"}
    assert verdict("instability", **short, **{arm: spread}) == "undecided"


def changed(name, **arrays):
    """Results of the gridworld with other heads: functions of the made-up arrays."""
    made = results_of(name)
    for key, change in arrays.items():
        made[trials.GRID].arrays[key] = change(made[trials.GRID].arrays[key].copy())
    return CLAIMS[name].check(made).verdict


def test_heads_are_chosen_on_one_half_and_measured_on_the_other():
    def only_on_the_first_half(on):
        on[:, 1] = 0.1
        return on

    assert changed("wall-heads", heads_on=only_on_the_first_half) == "fails"
    assert changed("wall-heads", heads_control=lambda c: c + 0.3) == "fails"  # the ratio is 1.25
    assert changed("wall-heads", heads_control=lambda c: c + 0.5) == "fails"  # below
    assert changed("reset-heads", heads_before=lambda b: b + 0.3) == "fails"
    spread = np.linspace(0, 0.1, 6)[:, None, None, None]
    assert changed("reset-heads", heads_before=lambda b: b + spread) == "undecided"
    assert changed("prefix-sum-head", heads_even=lambda e: e - 0.1) == "fails"
    assert changed("prefix-sum-head", heads_even=lambda e: e - spread[..., 0]) == "undecided"
    assert verdict("wall-heads", **{trials.GRID: low(0.97, 6)}) == "undecided"


def test_members_that_have_not_learned_are_left_out():
    """Two of six have not learned, and look elsewhere; with three of six too few are left."""
    made = results_of("reset-heads")[trials.GRID]
    made.numbers["accuracy"][:2] = [0.9, 0.9]
    made.arrays["heads_before"][:2] = 0.9
    assert CLAIMS["reset-heads"].check({trials.GRID: made}).verdict == "holds"
    made.numbers["accuracy"][2] = 0.9
    assert CLAIMS["reset-heads"].check({trials.GRID: made}).verdict == "undecided"
    assert len(readings.learned({trials.GRID: made}, trials.GRID)) == 3


def test_indirect_and_sparse_labels():
    zero, floor = trials.ZERO, 0.75
    name = "indirect-supervision"
    assert verdict(name, **{zero: low(0.96)}) == "undecided"  # 84% of its gap
    assert verdict(name, **{zero: low(0.9)}) == "fails"  # 60%
    assert verdict(name, **{zero: low(floor)}) == "undecided"  # nothing learned
    assert verdict("sparse-labels", **{trials.SPARSE: low(0.9)}) == "fails"
    assert verdict("sparse-labels", **{trials.LSTM_SPARSE: low(0.9)}) == "fails"
    assert verdict("sparse-labels", **{trials.SPARSE: low(0.2)}) == "undecided"
    assert verdict("sparse-labels-parity", **{trials.PARITY_SPARSE: low(0.9)}) == "fails"
    wide = {"accuracy": [0.95, 0.98, 1.0]}
    assert verdict("sparse-labels-parity", **{trials.PARITY_SPARSE: wide}) == "undecided"


def test_shifts():
    parity, recency = trials.PARITY, trials.PARITY_RECENCY
    near_half = {"chances": {0.05: 0.97, 0.95: 0.97}}
    assert verdict("shift-transformer", **{parity: near_half}) == "fails"
    assert verdict("shift-transformer", **{parity: low(0.95, 6)}) == "undecided"
    off = {"chances": {0.05: 0.99, 0.95: 1.0}}
    assert verdict("shift-recurrent", **{recency: off}) == "fails"
    assert verdict("shift-recurrent", **{recency: low(0.99, 4)}) == "undecided"
    assert verdict("shift-counts", **{parity: {"rare": 0.9}}) == "fails"
    high = {"chances": {0.05: 0.95, 0.95: 0.75}}
    assert verdict("shift-low-counts", **{parity: high}) == "fails"
    same = {"chances": {0.05: 0.8, 0.95: 0.8}}
    assert verdict("shift-low-counts", **{parity: same}) == "undecided"


def test_lengths():
    parity, pad = trials.PARITY, trials.PARITY_PAD
    assert verdict("length-transformer", **{parity: {"beyond": 0.7}}) == "fails"
    assert verdict("length-transformer", **{parity: {"beyond": 0.57}}) == "undecided"
    recency = {"beyond": 0.99}
    assert verdict("length-recurrent", **{trials.PARITY_RECENCY: recency}) == "fails"
    assert verdict("length-scratchpad-alone", **{pad: {"beyond": 0.7}}) == "fails"
    assert verdict("length-scratchpad-alone", **{pad: low(0.98, 4)}) == "undecided"
    for name, arm in (("shift", trials.DYCK_SHIFT), ("none", trials.DYCK_NONE)):
        assert verdict(f"length-{name}", **{arm: {"beyond": 0.6}}) == "fails"
        assert verdict(f"length-{name}", **{arm: {"beyond": 1.0}}) == "fails"  # perfect
        assert verdict(f"length-{name}", **{arm: low(0.97, 4)}) == "undecided"
    assert verdict("length-dyck", **{trials.DYCK: {"beyond": 0.95}}) == "fails"
    assert verdict("length-dyck", **{trials.DYCK_LSTM: {"beyond": 0.99}}) == "fails"
    assert verdict("linear-positions", **{trials.GRID_LINEAR: {"beyond": 0.54}}) == "fails"


def test_parity_counts_where_its_variants_were_trained_and_learn():
    options = {"parity_positions": True}
    arm = trials.PARITY_SHIFT
    better, worse = {arm: {"beyond": 0.8}}, {arm: {"beyond": 0.4}}
    assert verdict("length-shift", options=options, **better) == "holds"
    assert verdict("length-shift", options=options, **worse) == "fails"
    not_learned = {arm: {"beyond": 0.4, "accuracy": [0.6] * 6}}
    assert verdict("length-shift", options=options, **not_learned) == "holds"


# -- readings ------------------------------------------------------------------------------------------


def test_spans_are_positions_of_members_that_have_learned():
    made = results_of("length-transformer")
    one = made[trials.PARITY]
    one.numbers["accuracy"][0] = 0.5
    one.arrays["positions"][:] = np.arange(1, 41)
    assert readings.span(made, trials.PARITY, 1, 1.5).tolist() == [25.5] * 5  # 21..30
    assert readings.span(made, trials.PARITY, 1, 2).tolist() == [30.5] * 5
    expected = Estimate.of([3050.0] * 5)
    assert readings.span_mean(made, trials.PARITY, 1, 2) == expected


def test_cells_without_a_test_string_do_not_count():
    made = results_of("shift-counts")
    arrays = made[trials.PARITY].arrays
    assert np.isnan(arrays["cells"]).any()
    rare = (arrays["cells_seen"] > 0) & (arrays["expected"] < 3)
    assert rare.sum() == 14  # no ones or all from t = 15 on, and one or 19 of 20
    arrays["cells_seen"] = np.where(rare, 0, arrays["cells_seen"])
    assert np.isnan(readings.often_less_rare(made, trials.PARITY)).all()


def test_the_depth_of_the_theory():
    assert readings.theory_depth("C_2", 12) == (1, "Lemma 15")
    assert readings.theory_depth("C_2^3", 100) == (1, "Lemma 17")
    assert readings.theory_depth("Grid_4", 12) == (2, "Theorem 12")
    assert readings.theory_depth("D_6 with a no-op", 12)[0] == 4
    assert readings.theory_depth("Q_8", 12) == (4, "Theorem 10")
    assert readings.theory_depth("Q_8", 1000) == (7, "Theorem 16")
    assert readings.theory_depth("S_5", 100) == (7, "Theorem 10")


# -- trials --------------------------------------------------------------------------------------------


def test_sizes_of_arms_in_every_profile():
    every = trials.arms(*trials.ARMS, table=True)
    laptop, smoke, paper = (every(profile, 0) for profile in ("laptop", "smoke", "paper"))
    assert len(laptop) == 17 + len(trials.ARMS) - 2
    assert set(paper) >= set(trials.ARMS) and cell("S_5", 16) in paper
    parity = trials.Training(members=6, counts=64, chances=trials.CHANCES)
    assert laptop[trials.PARITY].config == parity
    assert trials.CHANCES[0] == 0.05 and trials.CHANCES[-1] == 0.95 and 0.5 in trials.CHANCES
    sparse = trials.Training(task="D_6", layers=3, length=12, reveal=0.03)
    assert laptop[trials.SPARSE].config == sparse
    brackets = laptop[trials.DYCK].config
    assert (brackets.states, brackets.depth, brackets.members) == (32, 4, 4)
    steps = {arm: trial.config.steps for arm, trial in laptop.items()}
    assert (steps[trials.GRID], steps[trials.PARITY_PAD], steps[trials.LSTM]) == (1200, 1000, 1500)
    assert {(t.config.steps, t.config.members, t.config.length) for t in smoke.values()} == {
        (10, 2, 8)
    }
    assert paper[cell("D_6", 5)].config.length == 100 and paper[trials.DYCK].config.length == 40
    assert paper[trials.PARITY_LSTM].config.batch == 64 and paper[trials.PARITY].config.batch == 16


def test_the_smallest_profile_has_five_shapes():
    """Arms share compiled programs: what is static in training takes few values."""
    every = trials.arms(*trials.ARMS, table=True)("smoke", 0, parity_positions=True)
    shapes = {
        (t.config.model, t.config.layers if t.config.model != "lstm" else 0,
         t.config.positions == "linear", t.config.members, t.config.states, t.config.symbols)
        for t in every.values()
    }  # fmt: skip
    assert len(shapes) == 5


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("members", 1, "members is 1; an interval needs at least 2 members"),
        ("steps", 0, "steps is 0; it must be at least 1"),
        ("tasks", ("C_2", "D_7"), "tasks has 'D_7'; there are"),
        ("depths", (), r"depths are \(\)"),
        ("depths", (0,), "depths of at least 1"),
    ],
)
def test_bad_options_are_refused(option, value, sentence):
    with pytest.raises(ValueError, match=sentence):
        trials.arms(trials.PARITY, table=True)("laptop", 0, **{option: value})
