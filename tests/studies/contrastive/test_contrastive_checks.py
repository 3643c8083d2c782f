"""What the claims about samples and networks say of made-up results: good ones hold, each can come out
otherwise, and nothing holds on nothing."""

import numpy as np
import pytest

from minicosm.lab import TrialResult
from minicosm.lab.audit import audit_claim
from minicosm.studies.contrastive import STUDY, readings
from minicosm.studies.contrastive.trials import Ensemble, Gap, PlugIn

CLAIMS = {claim.id.removeprefix("contrastive/"): claim for claim in STUDY.claims}
RNG = np.random.default_rng(0)
PRICES = (9.1, 10.6, 15.5, 23.3, 39.7, 97.2, 344.0)


def noise(*shape):
    return np.exp(0.05 * RNG.normal(size=shape))


def gaps(rate=-0.5):
    config = Gap(0)
    values = 0.02 * (np.array(config.lengths) / 50) ** rate * noise(50, len(config.lengths))
    return {"gap": TrialResult({}, {"gaps": values}, config=config)}


def plug_in(cost=9.1, rate=-1.0, dependent=1.0, prices=PRICES):
    config = PlugIn(0)
    at = cost * config.gap / config.length
    curve = at * (np.array(config.curve) / config.length) ** rate
    arrays = {
        "path": dependent * at * noise(100),
        "independent": at * noise(100),
        "curve": curve * noise(50, len(config.curve)),
    }
    shifted = np.array(prices) * config.gap / config.shift_length * noise(100, len(PRICES))
    return {
        "length": TrialResult({"price": 9.107}, arrays, config=config),
        "shift": TrialResult({"prices": list(PRICES)}, {"divergences": shifted}, config=config),
    }


def ensemble(gap, contrast, divergence, excess=1e-3, euler=0.3):
    config = Ensemble(0, 10, 3000, 256, 3e-3, 64, 2000, gap, contrast)
    numbers = {
        "divergence": (divergence * noise(10)).tolist(),
        "excess": [excess] * 10,
        "off": [0.1] * 10,
        "euler": euler,
    }
    return TrialResult(numbers, config=config)


def networks(divergence=0.02, **other):
    return {f"gap {g:g}, local": ensemble(g, "local", divergence, **other) for g in (0.1, 1.0)}


def two(far=0.009, near=0.002, **other):
    return {
        "local": ensemble(0.05, "local", near, **other),
        "stationary": ensemble(0.05, "stationary", far, **other),
    }


def with_plane(line, plane):
    return line | {f"plane, {name}": result for name, result in plane.items()}


CASES = [
    ("generalisation-gap", gaps(), "holds"),
    ("generalisation-gap", gaps(-0.25), "fails"),
    ("length", plug_in(), "holds"),
    ("length", plug_in(cost=14.0), "fails"),
    ("length", plug_in(rate=-0.3), "fails"),
    ("dependence-is-free", plug_in(), "holds"),
    ("dependence-is-free", plug_in(dependent=1.5), "fails"),
    ("closer-q", plug_in(), "holds"),
    ("closer-q", plug_in(prices=(9.1,) * 7), "fails"),
    ("learns-the-kernel", networks(), "holds"),
    ("learns-the-kernel", networks(divergence=0.6), "fails"),
    ("learns-the-kernel", networks(excess=0.02), "undecided"),
    ("learns-the-kernel", networks(excess=float("nan")), "undecided"),
    ("learns-the-kernel", with_plane(networks(), networks()), "holds"),
    ("learns-the-kernel", with_plane(networks(), networks(divergence=0.6)), "fails"),
    ("local-q-learned", two(), "holds"),
    ("local-q-learned", two(far=0.001), "fails"),
    ("local-q-learned", two(far=0.002), "undecided"),
    ("local-q-learned", two(excess=0.02), "undecided"),
    ("local-q-learned", with_plane(two(), two()), "holds"),
    ("local-q-learned", with_plane(two(), two(far=0.001)), "fails"),
]


@pytest.mark.parametrize(("name", "results", "verdict"), CASES)
def test_made_up_results(name, results, verdict):
    assert CLAIMS[name].check(results).verdict == verdict


@pytest.mark.parametrize(
    ("name", "results"), [(name, results) for name, results, verdict in CASES if verdict == "holds"]
)
def test_corruption_of_good_results_is_seen(name, results):
    assert audit_claim(STUDY, CLAIMS[name], results).findings == ()


def test_slopes_and_ratios():
    sizes = np.array([10.0, 100.0, 1000.0])
    found = readings.slopes([3 * sizes**-0.5, 2 * sizes**-0.7], sizes)
    assert found.value == pytest.approx(-0.6)
    ratio = readings.ratio_of_means(2 + noise(4000), 1 + noise(4000))
    assert ratio.low < 3 / 2 < ratio.high and ratio.high - ratio.low < 0.01
    difference = readings.log_difference(3 * noise(400), noise(400))
    assert difference.low < np.log(3) < difference.high


def test_a_divergence_of_the_plug_in_family_is_that_of_two_normal_laws():
    """`E_pi KL` of the fits, by the mean over anchors of the closed form for two normal laws."""
    import jax

    from minicosm.studies.contrastive.experiments import plug_in as experiment

    keys = jax.random.split(jax.random.key(0), 3)
    found = experiment.divergences(0.5, 0.0, 400, keys)
    with jax.enable_x64(True):
        theta = np.asarray(experiment._fits(0.5, 400, False)(keys, np.float64(0.0)))
    u, weights = np.polynomial.hermite_e.hermegauss(20)
    a, v = np.exp(-0.5), 1 - np.exp(-1.0)
    for (slope, log_variance), value in zip(theta, found, strict=True):
        w = np.exp(log_variance)
        each = (np.log(w / v) + (v + (a - slope) ** 2 * u**2) / w - 1) / 2
        assert value == pytest.approx(weights @ each / np.sqrt(2 * np.pi))
        assert abs(slope - a) < 0.3 and value < 0.1
