"""The registry is whole, its checks can come out false, and cheap claims run end to end."""

import json
import os
import subprocess
import sys

import pytest

from minicosm.lab import Estimate, TrialResult
from minicosm.studies import STUDIES
from minicosm.studies.common import checks, statistics

CLAIMS = {claim.id: claim for study in STUDIES for claim in study.claims}


def test_every_erratum_names_its_correction():
    for claim in CLAIMS.values():
        assert bool(claim.erratum) == bool(claim.corrected_by), claim.id
        if claim.erratum:
            assert claim.expected == "fails"
            assert CLAIMS[claim.corrected_by].expected == "holds"


@pytest.mark.parametrize(
    "name",
    [
        *("theorem-3.3", "proposition-3.4", "claim-b.1", "lemma-c.1", "lemma-c.2", "theorem-3.6"),
        *("proposition-d.1", "lemma-d.2", "claim-d.3", "lemma-d.4", "theorem-4.3", "theorem-4.6"),
        *("theorem-d.6", "lemma-d.7", "proposition-d.8", "lemma-d.9", "claim-d.10"),
        *("proposition-d.11", "claim-d.12", "lemma-d.13", "claim-d.14", "claim-d.15"),
    ],
)
def test_every_numbered_statement_is_a_claim(name):
    assert [identity for identity in CLAIMS if identity.endswith(f"/{name}")]


def test_every_claim_says_what_decides_it_and_names_its_trials():
    for claim in CLAIMS.values():
        assert claim.statement.endswith(".") and len(claim.criterion) > 20, claim.id
        for profile in ("smoke", "laptop", "paper"):
            if not claim.trials(profile, 0):  # it is about something that a user must give
                found = claim.check({})
                assert found.verdict == claim.expected == "undecided", claim.id
                assert "was given: set" in found.remark, claim.id


def results(**columns):
    return {"suite": TrialResult({"s": columns})}


def test_an_identity_fails_by_one_error_or_one_label():
    check = checks.identity("s")
    good = {"error": [1e-12, 0.0], "disagreements": [0, 0], "sequences": [5, 5]}
    assert check(results(**good)).verdict == "holds"
    assert check(results(**good | {"error": [1e-12, 2e-9]})).verdict == "fails"
    assert check(results(**good | {"error": [float("inf"), 0.0]})).verdict == "fails"
    assert check(results(**good | {"disagreements": [0, 1]})).verdict == "fails"
    assert check(results(**good | {"sequences": [0, 0]})).verdict == "undecided"


def test_an_identity_that_is_nan_does_not_hold():
    assert checks.identity("s")(results(error=[0.0, float("nan")])).verdict == "fails"
    assert checks.identity("s")(results(error=[float("nan"), 0.0])).verdict == "fails"


def test_a_printed_error_must_show_itself():
    check = checks.never_close("s", "gap")
    assert check(results(gap=[0.0, 0.2])).verdict == "fails"
    assert check(results(gap=[0.0, 1e-6])).verdict == "holds"


def test_truth_values_must_all_be_true():
    assert checks.always("s")(results(holds=[True, True])).verdict == "holds"
    assert checks.always("s")(results(holds=[True, False])).verdict == "fails"


def estimate(low, high):
    return Estimate((low + high) / 2, float(low), float(high), 9)


def test_intervals_decide():
    assert statistics.all_above([estimate(1, 2), estimate(0.1, 3)]) == "holds"
    assert statistics.all_above([estimate(1, 2), estimate(-0.1, 3)]) == "undecided"
    assert statistics.all_above([estimate(1, 2), estimate(-2, -1)]) == "fails"
    assert statistics.all_within([estimate(-1, 1)], 2.0) == "holds"
    assert statistics.all_within([estimate(-3, 1)], 2.0) == "undecided"
    assert statistics.all_within([estimate(2.5, 3)], 2.0) == "fails"


def test_welch_agrees_with_scipy():
    from scipy import stats

    a, b = [0.1, 0.5, 0.3, 0.8], [0.2, 0.1, 0.3]
    ours = statistics.unpaired(a, b)
    found = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert ours.low == pytest.approx(100 * found.low)
    assert ours.high == pytest.approx(100 * found.high)


def test_cheap_claims_come_out_as_registered(tmp_path):
    """Through the command line, as a user runs them."""
    cheap = [
        "prompt-tuning/search",
        "prompt-tuning/separable",
        "prompt-tuning/equation-c.1",
        "prompt-tuning/equation-c.1-as-printed",
        "head-tuning/row-rank-as-printed",
        "memory/largest-set",
        "memory/theorem-d.6-as-printed",
    ]
    run = subprocess.run(
        [sys.executable, "-m", "minicosm.cli", "check", *cheap, "--profile", "smoke", "--json"],
        env=os.environ | {"MINICOSM_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    verdicts = {item["claim"]: item["verdict"] for item in json.loads(run.stdout)}
    assert verdicts == {name: CLAIMS[name].expected for name in cheap}
