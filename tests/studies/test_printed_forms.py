"""What the suite of printed constants finds, against enumeration and sampling that share no code."""

import itertools
import math

import numpy as np
import pytest

from minicosm.lab import silent
from minicosm.studies.parallel import STUDY
from minicosm.studies.parallel.claims import printed as claims
from minicosm.studies.parallel.suites import printed
from minicosm.studies.parallel.suites.worlds import Worlds
from minicosm.theory.parallel import bounds


@pytest.fixture(scope="module")
def found():
    return {"suite": printed.run(Worlds(0, 1), silent)}


def test_verdicts_are_as_registered(found):
    mine = [claim for claim in STUDY.claims if claim.trials is claims.printed]
    assert len(mine) == 7
    for claim in mine:
        assert claim.check(found).verdict == claim.expected, claim.id


def test_all_spins_up_by_enumeration(found):
    rows = found["suite"].numbers["reach"]
    for c, slack, exact in zip(rows["clique"], rows["slack"], rows["exact"], strict=True):
        field = {0.01: 0.001, 0.5: 0.05, 1.0: 0.5}[slack]
        weights = {}
        for x in itertools.product((-1, 1), repeat=c):
            pairs = sum(a * b for a, b in itertools.combinations(x, 2))
            weights[x] = math.exp((slack + c * field) * pairs + field * sum(x))
        assert exact == pytest.approx(weights[(1,) * c] / sum(weights.values()))


def test_the_binomial_chance_by_sampling(found):
    rows = found["suite"].numbers["chebyshev"]
    rng = np.random.default_rng(1)
    for p, n, epsilon, exact in zip(
        rows["p"], rows["examples"], rows["epsilon"], rows["exact"], strict=True
    ):
        far = np.abs(rng.binomial(n, p, size=4000) / n - p) >= epsilon - 1e-12
        assert abs(far.mean() - exact) <= 4 * math.sqrt(exact * (1 - exact) / 4000) + 1e-9


def test_the_corollary_by_hand():
    """N = 2, |Omega| = 2, m = 50, n = 200, delta = 0.1, beta = 1/e."""
    gap = math.sqrt(2**5 * 4 / 5) + math.sqrt(math.log(40) / 400)
    assert bounds.corollary_gap(2, 2, 1.0, 50, 200, 0.1) == pytest.approx(gap)
    e, t = bounds.corollary_choice(2, 2, 1.0, 50, 200, 0.1)
    assert 2 * math.exp(-2 * t**2 / 200) == pytest.approx(0.05)
    assert 4 / (e**2 * 50) == pytest.approx(0.05)  # 2^(N-2) |Omega|^N / (e^2 m)
