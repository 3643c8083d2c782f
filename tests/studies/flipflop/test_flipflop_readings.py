"""Statistics of wrong reads on made-up results, against SciPy and by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, binomtest, ttest_ind

from minicosm.lab import TrialResult
from minicosm.studies.flipflop import readings
from minicosm.studies.flipflop.claims import glitches as claims
from minicosm.studies.flipflop.claims import language_models, remedies
from minicosm.studies.flipflop.experiment_trials import (
    GENERATIVE,
    LONG,
    LONG_LSTM,
    SHORT_LSTM,
    Asked,
    Training,
)
from minicosm.studies.flipflop.experiments.glitches import reads_of, record


def arm(dense, inside=None, sparse=None, **arrays):
    """A trained arm with so many wrong reads of 10,000 on each set."""
    count = len(dense)
    wrong = {
        "inside": [0] * count if inside is None else inside,
        "sparse": [0] * count if sparse is None else sparse,
        "dense": dense,
    }
    numbers = {f"wrong_{name}": values for name, values in wrong.items()}
    numbers |= {f"reads_{name}": 10_000 for name in wrong}
    return TrialResult(numbers, arrays, Training(members=count))


def test_who_has_learned():
    results = {"a": arm([5, 5, 5], inside=[0, 10, 11])}
    assert readings.learned(results, "a").tolist() == [0, 1]
    assert not len(readings.learned({"a": arm([5], inside=[float("nan")])}, "a"))
    assert not readings.enough(results, "a") and not readings.enough(results, "b")


def test_shares_have_exact_intervals():
    found = readings.share(12, 12)
    assert found.low == pytest.approx(beta.ppf(0.025, 12, 1)) and found.low > 0.7
    found = readings.share(3, 10)
    assert found.high == pytest.approx(beta.ppf(0.975, 4, 7))
    assert np.isnan(readings.share(float("nan"), 4).value) and np.isnan(readings.share(0, 0).value)


def test_error_rates_have_exact_limits():
    for hits, count in ((0, 5000), (1, 300), (7, 40), (40, 40)):
        wanted = binomtest(hits, count).proportion_ci(0.95, "exact")
        low, high = readings.interval(np.array([hits]), count)
        assert (low[0], high[0]) == pytest.approx((wanted.low, wanted.high))
        one_sided = binomtest(hits, count, alternative="less").proportion_ci(0.95, "exact")
        assert readings.upper_limit(hits, count) == pytest.approx(one_sided.high)
    assert readings.upper_limit(0, 1e6) == pytest.approx(3e-6, rel=0.01)


def test_wrong_reads_of_one_run_do_not_decide_where_runs_err():
    """Far reads go wrong in one run, or in all; near ones in all."""
    for far, verdict in (([3, 0, 0, 0, 0, 0, 0], "undecided"), ([3] * 7, "holds")):
        sparse, dense = np.zeros((7, 1, 60)), np.zeros((7, 1, 60))
        sparse[:, 0, 50], dense[:, 0, 0] = far, 90
        every = np.zeros((1, 60))
        every[0, :10] = 100
        made = arm([90] * 7, sparse=far, distances_sparse=sparse, distances_dense=dense,
                   all_distances_inside=every)  # fmt: skip
        outcome = claims.long_and_short({LONG: made})
        assert outcome.verdict == verdict
        share = outcome.numbers["share of wrong reads, distance above 10"]
        assert share.value == 1 and (share.low > 0) == (verdict == "holds")
        assert ("1 err on sparse strings and 7 on dense" in outcome.remark) == (verdict != "holds")


def test_differences_of_shares_are_those_of_newcombe():
    # Newcombe (1998), Table II, method 10: 56/70 - 48/80 and 9/10 - 3/10.
    found = readings.share_less((56, 70), (48, 80))
    assert (round(found.low, 4), round(found.high, 4)) == (0.0524, 0.3339)
    found = readings.share_less((9, 10), (3, 10))
    assert (round(found.low, 4), round(found.high, 4)) == (0.1705, 0.8090)


def test_orders_of_magnitude_have_the_interval_of_welch():
    few, many = [0, 1, 3, 0, 2, 9], [300, 500, 100, 800, 250, 400, 90]
    results = {"few": arm(few), "many": arm(many)}
    logs = [np.log10((np.array(w) + 0.5) / 10_001) for w in (few, many)]
    interval = ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    found = readings.less(results, "few", "many", "dense")
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.high < -1
    assert np.isnan(readings.less(results, "few", "missing", "dense").value)


def test_variance_between_seeds_against_that_of_strings():
    rng = np.random.default_rng(0)
    count = np.full(400, 10)
    same = rng.binomial(10, 0.05, (12, 400))
    other = np.stack([rng.binomial(10, p, 400) for p in np.linspace(0.01, 0.2, 12)])
    for strings, apart in ((same, False), (other, True)):
        results = {"a": arm(strings.sum(axis=1).tolist(), strings_dense=strings, count_dense=count)}
        found = readings.spread(results, "a")
        assert (found.low > 1) == apart and found.low < found.value < found.high


def test_rises_are_counted_after_the_error_inside_was_zero():
    quiet = np.zeros((4, 100))
    rise = quiet.copy()
    rise[3, :40] = 1
    early = quiet.copy()
    early[1, :40] = 1
    curves = np.stack([rise, early, quiet], axis=1)
    inside = np.array([[5, 5, 5], [0, 5, 5], [0, 0, 5], [0, 0, 5]])
    found = readings.rises({"a": arm([1, 1, 1], curve_dense=curves, curve_inside=inside)}, "a")
    assert found[0] > 3 and found[1] == 0 and np.isnan(found[2])


def test_a_claim_needs_six_runs_and_can_fail():
    good = arm([40] * 8, sparse=[3] * 8)
    assert claims.glitches({LONG: good}).verdict == "holds"
    assert claims.glitches({LONG: arm([0] * 8)}).verdict == "fails"
    assert claims.glitches({LONG: arm([40] * 5)}).verdict == "undecided"
    assert claims.glitches({LONG: arm([40] * 8, inside=[20] * 8)}).verdict == "undecided"
    clean = {SHORT_LSTM: arm([0] * 8), LONG_LSTM: arm([0] * 8)}
    assert claims.lstm(clean).verdict == "holds"
    one = claims.lstm(clean | {LONG_LSTM: arm([0] * 7 + [1])})
    assert one.verdict == "fails"
    limits = [one.numbers[f"upper limit of the error, {name}"] for name in ("sparse", "dense")]
    assert limits == pytest.approx([beta.ppf(0.95, 1, 160_000), beta.ppf(0.95, 2, 159_999)])
    few, many = arm([0, 1] * 4, sparse=[0] * 8), arm([900, 700] * 4, sparse=[90, 70] * 4)
    names = (remedies.LONG_MIXTURE, remedies.SHORT_MIXTURE, LONG, remedies.SHORT)
    results = dict(zip(names, (few, few, many, many), strict=True))
    assert remedies.mixture(results).verdict == "holds"
    assert remedies.mixture(results | {remedies.LONG_MIXTURE: many}).verdict == "fails"
    assert remedies.sharpening({LONG: many}).verdict == "undecided"
    short = {remedies.SHORT: many}
    assert claims.generative(short).verdict == "undecided"
    told = replace(many, numbers=many.numbers | {"loss": [1.01] * 8, "optimum": 1.0})
    assert claims.generative(short | {GENERATIVE: told}).verdict == "holds"
    told = replace(many, numbers=many.numbers | {"loss": [1.03] * 8, "optimum": 1.0})
    assert claims.generative(short | {GENERATIVE: told}).verdict == "undecided"


def test_sizes_are_layers_widths_and_heads():
    shapes = [(layers, width, heads) for layers in (2, 4) for width in (32, 64) for heads in (2, 4)]
    rng, results = np.random.default_rng(0), {}
    for layers, width, heads in shapes:
        made = arm(
            (10 * heads + rng.integers(0, 9, 30)).tolist(), sparse=rng.integers(1, 90, 30).tolist()
        )
        config = replace(made.config, layers=layers, width=width, heads=heads)
        results[str((layers, width, heads))] = replace(made, config=config)
    numbers = remedies.size(results).numbers
    assert numbers["correlation, heads, dense"].low > 0.3
    for name in (
        "layers, dense",
        "width, dense",
        "layers, sparse",
        "width, sparse",
        "heads, sparse",
    ):
        assert (
            -0.3 < numbers[f"correlation, {name}"].low < numbers[f"correlation, {name}"].high < 0.3
        )


def test_language_models_are_asked_for_and_compared():
    assert "--set models" in language_models.lengths({}).remark
    config = Asked(0, "a", (16, 256), 100)
    for right, verdict in (([90, 40], "holds"), ([40, 90], "fails"), ([50, 49], "undecided")):
        result = TrialResult({"right": right, "strings": 100}, {}, config)
        assert language_models.lengths({"a": result}).verdict == verdict


def test_what_is_known_of_a_wrong_read():
    # w1 i0 i0 r1 w0 r0 i1 r0
    tokens = np.array([[0, 4, 2, 3, 2, 3, 1, 4, 0, 3, 1, 3, 2, 4, 1, 3]])
    found = reads_of(tokens)
    assert found.reads[0].tolist() == [False, False, False, True, False, True, False, True]
    assert found.to_write[0, [3, 5, 7]].tolist() == [3, 1, 3]
    assert found.to_informative[0, [3, 5, 7]].tolist() == [3, 1, 2]
    assert found.writes[0, [3, 5, 7]].tolist() == [1, 2, 2]
    assert found.opposite[0, [3, 5, 7]].tolist() == [2, 0, 1]
    previous, first, writes, bits = found.rules[:, 0, 7].tolist()
    assert (previous, first, writes, bits) == (1, 1, -1, 0)
    wrong = np.zeros((2, 1, 8), bool)
    wrong[0, 0, [3, 7]] = True
    made = record(found, wrong, tokens)
    assert made["distances"][0, 0].tolist() == [0, 0, 2, 0, 0, 0, 0]
    assert made["distances"][0, 1].tolist() == [0, 1, 1, 0, 0, 0, 0]
    assert made["all_distances"][0].tolist() == [1, 0, 2, 0, 0, 0, 0]
    assert made["distractors"][0].tolist() == [[0, 1, 1, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0, 0]]
    assert made["all_distractors"].tolist() == [[0, 1, 2, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0]]
    # The read of pair 3 says 1; wrong is 0, as the previous bit and the majority of bits have it.
    assert made["rules"][0].tolist() == [2, 1, 0, 1] and not made["rules"][1].any()
