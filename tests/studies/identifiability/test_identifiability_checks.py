"""What the claims about students, samples and language models say of made-up results: good ones hold, each
can come out otherwise, and nothing holds on nothing."""

import numpy as np
import pytest

from minicosm.lab import TrialResult
from minicosm.lab.audit import audit_claim
from minicosm.studies.identifiability import STUDY, readings
from minicosm.studies.identifiability.trials import (
    PAIRWISE,
    TASKS,
    BlindSize,
    Counting,
    Drawn,
    Reading,
    Students,
    TwinData,
)

CLAIMS = {claim.id.removeprefix("identifiability/"): claim for claim in STUDY.claims}
RNG = np.random.default_rng(0)


def students(far=0.1, near=1e-14, solved=40):
    """Forty students with zero loss for every task, those of pairs far from the world."""

    def fits(task):
        away = far if task in PAIRWISE else near
        joined = {"error": [1e-14] * solved, "orthogonality": [1e-14] * solved}
        return {
            "residual": [1e-12] * solved + [0.1] * 5,
            "distance": (away * np.exp(0.1 * RNG.normal(size=solved + 5))).tolist(),
            "gauge": joined,
        }

    config = Students(0, 0, 4, 3, solved + 5, 400, TASKS)
    return {"world 0": TrialResult({task: fits(task) for task in TASKS}, config=config)}


def counting(rate=-0.5):
    sizes = Counting(0).sizes
    noise = np.exp(0.1 * RNG.normal(size=(2, 40, len(sizes))))
    distances = 0.01 * (np.array(sizes) / 1e7) ** rate * noise
    tasks = ["x2,x3|x1", "x1,x3|x2"]
    return {"counting": TrialResult({"tasks": tasks}, {"distances": distances}, config=Counting(0))}


def models(distance=1e-3, excess=1e-6):
    found = {
        "distance": (distance * np.exp(0.1 * RNG.normal(size=10))).tolist(),
        "excess": [excess] * 10,
    }
    return {"models": TrialResult(found, config=Reading(0))}


def twin_data(right=1995, pairs=1e-13):
    return {"data": TrialResult({"right": [right] * 2, "pairs": [pairs] * 2}, config=TwinData(0))}


def drawn(distance=0.05, above=0.0):
    distances = distance * np.exp(0.1 * RNG.normal(size=(2, 10)))
    squares = np.ones((2, 10))
    arrays = {"distances": distances, "squares": squares + above, "from truth": squares}
    return {"drawn": TrialResult({}, arrays, config=Drawn(0))}


CASES = [
    ("zero-loss-students", students(), "holds"),
    ("zero-loss-students", students(far=1e-3), "fails"),
    ("zero-loss-students", students(near=1e-3), "fails"),
    ("zero-loss-students", students(near=1e-5), "undecided"),  # between the two limits
    ("zero-loss-students", students(solved=20), "undecided"),
    ("gauge", students(), "holds"),
    ("gauge", students(solved=20), "undecided"),
    ("sample-recovery", counting(), "holds"),
    ("sample-recovery", counting(rate=-0.1), "fails"),
    ("language-model", models(), "holds"),
    ("language-model", models(distance=0.1), "fails"),
    ("language-model", models(excess=1e-4), "undecided"),
    ("language-model-samples", models(distance=0.05), "holds"),
    ("language-model-samples", models(distance=0.5), "fails"),
    ("language-model-samples", models(excess=float("nan")), "undecided"),
    ("twins-in-data", twin_data(), "holds"),
    ("twins-in-data", twin_data(right=1500), "fails"),
    ("twins-in-data", twin_data(pairs=1e-3), "fails"),
    ("gaussian-samples", drawn(), "holds"),
    ("gaussian-samples", drawn(distance=0.5), "fails"),
]


@pytest.mark.parametrize(("name", "results", "verdict"), CASES)
def test_made_up_results(name, results, verdict):
    assert CLAIMS[name].check(results).verdict == verdict


@pytest.mark.parametrize(
    ("name", "results"), [(name, results) for name, results, verdict in CASES if verdict == "holds"]
)
def test_corruption_of_good_results_is_seen(name, results):
    assert audit_claim(STUDY, CLAIMS[name], results).findings == ()


def blind(solutions, exact, hidden=2):
    tasks = list(readings.BLIND)
    fits = {"task": tasks, "solutions": solutions, "exact": exact}
    config = BlindSize(0, hidden, hidden, each=1, starts=8, steps=60, points=60)
    return {"fits": TrialResult({"fits": fits}, config=config)}


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        (blind([1, 1, 2], [5, 5, 5]), "holds"),
        (blind([1, 1, 1], [5, 5, 5], hidden=3), "holds"),
        (blind([1, 1, 1], [5, 5, 5]), "fails"),  # the twin of two states is missing
        (blind([1, 1, 2], [5, 2, 5]), "undecided"),
        ({}, "undecided"),
    ],
)
def test_blind_fits_are_counted(results, verdict):
    assert readings.blind_fits(results, readings.BLIND).verdict == verdict


def test_fits_in_local_minima_are_counted():
    assert readings.stuck(drawn()["drawn"]) == 0
    assert readings.stuck(drawn(above=-0.1)["drawn"]) == 0  # better than from the truth
    assert readings.stuck(drawn(above=1e-3)["drawn"]) == 20
    assert readings.stuck(drawn(above=np.nan)["drawn"]) == 20


def test_wilson_interval_is_that_of_scipy():
    from scipy.stats import binomtest

    for right, of in ((0, 10), (7, 10), (1995, 2000)):
        found = readings.share(right, of)
        wanted = binomtest(right, of).proportion_ci(0.95, method="wilson")
        np.testing.assert_allclose((found.low, found.high), (wanted.low, wanted.high), atol=1e-12)
    assert readings.share(0, 0).low == -np.inf
