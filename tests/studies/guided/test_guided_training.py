"""The parts of the trained half of the guided-generation study, against referees of their own."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from minicosm.adaptation import probes
from minicosm.decoding import ProbeVerifier
from minicosm.lab import Estimate, TrialResult
from minicosm.lab.audit import audit_claim
from minicosm.studies.guided import STUDY, readings, trials
from minicosm.studies.guided.experiments import cases, dyck_tables
from minicosm.studies.guided.experiments.case_verifier import on_layer
from minicosm.studies.guided.experiments.dyck_generator import END, Kept, training_world
from minicosm.studies.guided.trials import BracketGenerators, Cases
from minicosm.training.averaging import Averaged, averaged
from minicosm.worlds.dyck.errors import DyckError, DyckReferee


def valid_strings(length):
    """All balanced strings of two types, by their grammar: S -> empty | ( S ) S."""
    if length == 0:
        return [()]
    found = []
    for inner in range(0, length - 1, 2):
        for t, a, b in product(range(2), valid_strings(inner), valid_strings(length - 2 - inner)):
            found.append((2 * t, *a, 2 * t + 1, *b))
    return found


def test_the_first_error_is_where_no_valid_string_begins_so():
    D = 4
    whole = {(*s, END) for s in valid_strings(D)}
    beginnings = {s[:n] for s in whole for n in range(D + 2)}
    texts = np.array(list(product(range(5), repeat=D + 1)))
    referee = DyckReferee(2, D // 2, D)
    at, error, ended = map(np.asarray, jax.jit(jax.vmap(referee.first_error))(texts))
    for text, where, kind, done in zip(map(tuple, texts.tolist()), at, error, ended, strict=True):
        first = next((n for n in range(D + 1) if text[: n + 1] not in beginnings), D + 1)
        assert where == first and (kind > 0) == (first <= D)
        assert done == (text in whole)
    kinds = {tuple(t): DyckError(e) for t, e in zip(texts.tolist(), error, strict=True)}
    assert kinds[0, 3, 0, 0, 0] == DyckError.WRONG_CLOSING_BRACKET
    assert kinds[0, 4, 0, 0, 0] == kinds[0, 1, 0, 1, 1] == DyckError.WRONG_END
    assert kinds[1, 0, 0, 0, 0] == kinds[4, 0, 0, 0, 0] == DyckError.WRONG_START
    assert kinds[0, 1, 3, 0, 0] == DyckError.UNDERFLOW
    assert kinds[0, 2, 0, 0, 0] == kinds[0, 1, 2, 2, 0] == DyckError.CANNOT_CLOSE
    shallow = DyckReferee(2, 1, 4).first_error(jnp.array([0, 2]))
    assert [int(x) for x in shallow[:2]] == [1, DyckError.TOO_DEEP]


def test_different_completions_of_ten_are_those_of_the_reference():
    """6.08, 4.85, ..., 1 for prompts of 25..31 of 32 brackets, 2.974 on average."""
    config = BracketGenerators()
    law = np.zeros(config.length + 1)
    law[0] = 1
    found = []
    for n in range(config.length):
        if n >= 25:
            each = [
                p * dyck_tables.expected_distinct(config, config.length - n, d, 10)
                for d, p in enumerate(law)
                if p > 0
            ]
            found.append(sum(each))
        new = np.zeros_like(law)
        for d, p in enumerate(law):
            if p > 0:
                opening = 1.0 if d == 0 else 0.0 if d == config.length - n else config.opening
                new[d + 1 if opening == 1 else d - 1] += p if opening in (0, 1) else 0
                if opening not in (0, 1):
                    new[d + 1] += p * opening
                    new[d - 1] += p * (1 - opening)
        law = new
    assert np.allclose(found, [6.08, 4.85, 3.67, 2.44, 1.66, 1.13, 1], atol=0.006)
    assert np.mean(found) == pytest.approx(2.974, abs=6e-4)


def test_completions_have_the_law_of_the_world():
    config = BracketGenerators(length=8, shortest=5)
    prefix = (0, 2)
    rest = [s[2:] for s in valid_strings(8) if s[:2] == prefix]
    score = jax.jit(jax.vmap(training_world(config).log_prob))
    exact = np.exp(np.asarray(score(jnp.array([prefix + s for s in rest])), np.float64))
    found = np.sort(dyck_tables.completion_law(config, 6, 2))
    assert np.allclose(np.sort(exact / exact.sum()), found, rtol=1e-4)
    assert len(found) == len(rest) and found.sum() == pytest.approx(1)


def test_the_average_follows_the_weights():
    target, rate = np.array([1.0, -2.0]), 0.1
    optimiser = averaged(optax.sgd(rate), power=0.5, least=0.3)
    pair = Averaged.start(jnp.zeros(2))
    state = optimiser.init(pair)
    theta = mean = np.zeros(2)
    for t in range(1, 21):
        gradient = Averaged(pair.live - target, jnp.zeros(2))
        moves, state = optimiser.update(gradient, state, pair)
        pair = optax.apply_updates(pair, moves)
        theta = theta - rate * (theta - target)
        mean = mean + max(t**-0.5, 0.3) * (theta - mean)
    assert np.allclose(pair.live, theta, atol=1e-6)
    assert np.allclose(pair.average, mean, atol=1e-6)


def test_each_member_keeps_its_first_offer(tmp_path):
    kept = Kept(tmp_path / "kept.eqx", jnp.zeros((3, 2)), 3)
    kept.offer(jnp.full((3, 2), 1.0), np.array([True, False, False]), 10)
    kept = Kept(tmp_path / "kept.eqx", jnp.zeros((3, 2)), 3)  # as after a kill
    kept.offer(jnp.full((3, 2), 2.0), np.array([True, True, False]), 20)
    assert kept.steps.tolist() == [10, 20, 0]
    assert np.asarray(kept.models)[:, 0].tolist() == [1, 2, 0]


def test_silhouettes_are_those_of_scikit_learn():
    from sklearn.metrics import silhouette_score

    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3)) + 3 * rng.integers(0, 2, (40, 1))
    clusters = rng.integers(0, 4, 40)
    clusters[0] = 7  # alone
    assert probes.silhouette(points, clusters) == pytest.approx(silhouette_score(points, clusters))
    assert probes.best_silhouette(points, 0) > probes.silhouette(points, clusters)


def test_the_principal_plane_is_that_of_scikit_learn():
    from sklearn.decomposition import PCA

    points = np.random.default_rng(1).normal(size=(30, 5)) * [3, 2, 1, 0.5, 0.1]
    plane = PCA(2).fit_transform(points)
    assert np.allclose(np.abs(probes.principal_plane(points)), np.abs(plane), atol=1e-9)


def test_a_probe_of_one_layer_reads_that_layer():
    rng = np.random.default_rng(2)
    probe = ProbeVerifier((rng.normal(size=(4, 1)),), (rng.normal(size=1),))
    streams = jnp.asarray(rng.normal(size=(3, 4)))
    for layer in (1, 2, 3):
        wide = on_layer(probe, layer, 3).probability(streams)
        assert float(wide) == pytest.approx(float(probe.probability(streams[layer - 1])), abs=1e-6)


def test_a_deep_probe_learns_what_no_linear_one_can():
    """Exclusive or, on features far from the origin and of different scales."""
    rng = np.random.default_rng(3)
    plain = rng.choice([-1.0, 1.0], (120, 2)) + 0.1 * rng.normal(size=(120, 2))
    labels = (plain[:, 0] * plain[:, 1] > 0).astype(int)
    features = plain * [100, 0.01] + [500, -2]
    deep = probes.deep_probe(features, labels, 2, jax.random.key(0), width=16, steps=200)
    assert probes.probe_accuracy(deep, features, labels) > 0.95
    assert probes.probe_accuracy(probes.linear_probe(features, labels), features, labels) < 0.75


def test_new_cases_are_counted_once_for_each_name():
    rng = np.random.default_rng(4)
    names, case = rng.integers(0, 3, 30), rng.integers(0, 12, (30, 5))
    correct = rng.random((30, 5)) < 0.6
    new = cases.new_cases(names, case, correct)
    triples = [(n, c) for n, row, ok in zip(names, case, correct, strict=True) for c in row[ok]]
    for k in range(30):
        upto = triples[: int(correct[: k + 1].sum())]
        assert new[: k + 1].sum() == len(set(upto))


def test_bad_sizes_of_test_cases_are_named():
    with pytest.raises(ValueError, match=r"tested_names is 11.*must be in 1..10"):
        Cases(tested_names=11)
    with pytest.raises(ValueError, match=r"layer is 3; the generators have 1..2"):
        Cases(layers=2, layer=3)


def fake_cases(means, excess=0.01, blocks=(2,)):
    """What three generators would have come to: every arm has this accuracy, with a small spread."""
    config = Cases(layers=2, depths=(2,), blocks=blocks)
    names = [*cases.arms(config), "layer 1", "depth 2", *(f"block best of {n}" for n in blocks)]
    spread = np.array([-0.001, 0.0, 0.001])
    arms = {
        name: {
            "accuracy": [[means.get(name, 0.5) + (s if name in means else 0)] for s in spread],
            "correct": [[0.5]] * 3,
            "calls": [[200.0 if name.startswith("block") else 100.0]] * 3,
            "backtracks": [[1.0]] * 3,
            "most_calls": [[133.0]] * 3,
        }
        for name in names
    }
    numbers = {
        "arms": arms, "excess": [excess] * 3, "exact_correct": [0.75, 0.55],
        "layer_accuracy": {"1": [0.9] * 3}, "depth_accuracy": {"2": [0.9] * 3}, "new_tokens": 117,
    }  # fmt: skip
    return {"cases 1": TrialResult(numbers, {}, config)}


CLAIMS = {claim.id.removeprefix("guided/cases-"): claim for claim in STUDY.claims}


def verdicts(results, *names):
    return [CLAIMS[name].check(results).verdict for name in names]


GUIDED = dict.fromkeys([f"guided {g}" for g in readings.GROUPS.values()], 0.6)


def test_verdicts_about_test_cases():
    good = fake_cases(GUIDED | {"layer 1": 0.6})
    holding = (
        "backtracking-beats-baseline",
        "verifier-must-know",
        "blocks-cost-more",
        "query-efficient",
    )
    assert set(verdicts(good, *holding)) == {"holds"}
    for name in holding[1:2] + holding[3:]:  # those without large tables
        assert audit_claim(STUDY, CLAIMS[name], good).findings == ()
    assert verdicts(good, "perfect-verifier") == ["fails"]
    one_down = fake_cases(GUIDED | {"guided 1": 0.4, "depth 2": 0.7})
    assert verdicts(one_down, "backtracking-beats-baseline", "depth-no-gain") == ["fails"] * 2
    even = fake_cases({})
    assert verdicts(even, "backtracking-beats-baseline", "refill-argmax") == ["undecided"] * 2
    assert verdicts(even, "depth-no-gain", "perfect-verifier") == ["holds"] * 2


def test_generators_that_have_not_learned_are_not_judged():
    names = [
        claim.id.removeprefix("guided/cases-") for claim in STUDY.claims if "/cases" in claim.id
    ]
    assert len(names) == 9
    unlearned = fake_cases({"guided .95": 0.9}, excess=0.2)
    assert set(verdicts(unlearned, *names)) == {"undecided"}
    assert verdicts(fake_cases({}, blocks=()), "blocks-cost-more") == ["undecided"]


def test_shares_have_wilson_intervals():
    from scipy.stats import binomtest

    wanted = binomtest(222, 225).proportion_ci(method="wilson")
    found = readings.share(222, 225)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-6)
    assert np.isnan(readings.share(0, 0).value)


def test_verdicts_of_orders():
    up = [np.array([0.1, 0.2, 0.3]) + k for k in range(3)]
    assert readings.rising("step", up).verdict == "holds"
    assert readings.rising("step", up[::-1]).verdict == "fails"
    wavering = [np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.5, 0.0])]
    assert readings.rising("step", wavering).verdict == "undecided"
    assert readings.rising("step", [np.array([0.0, np.nan]), np.ones(2)]).verdict == "undecided"
    near, far = Estimate(-0.1, -0.3, 0.1, 3), Estimate(0.2, 0.1, 0.3, 3)
    assert readings.lower("change", {"near": near}).verdict == "holds"
    assert readings.lower("change", {"near": near, "far": far}).verdict == "fails"
    assert readings.lower("change", {}).verdict == "undecided"


def test_means_against_standard_errors():
    clear, unclear, low = np.array([0.9, 1.0, 1.1]), np.array([-1.0, 0.1, 1.0]), -np.ones(3)
    for samples, exceeds in (
        (clear, "holds"), (unclear, "undecided"), (low, "fails"), (clear[:1], "undecided"),
    ):  # fmt: skip
        assert readings.exceeds("gain", {"": samples}).verdict == exceeds
    assert readings.exceeds("gain", {"": unclear}, errors=-1.0).verdict == "holds"


@pytest.mark.parametrize("plan", [trials.brackets, trials.cases])
def test_bad_options_are_named(plan):
    for name in ("members", "ensembles", "steps"):
        with pytest.raises(ValueError, match=f"{name} is 0; it must be at least 1"):
            plan("smoke", 0, **{name: 0})
    for profile in ("smoke", "laptop", "paper"):
        few, many = (plan(profile, 3, ensembles=n) for n in (2, 3))
        assert list(few.items()) == list(many.items())[:2] and len(many) == 3
