"""Verdicts about trained bracket generators, on made-up results in which every claim holds."""

import copy

import numpy as np
import pytest

from minicosm.lab import TrialResult
from minicosm.lab.audit import audit_claim
from minicosm.studies.guided import STUDY
from minicosm.studies.guided.trials import Sandbox

CLAIMS = {c.id.removeprefix("guided/dyck-"): c for c in STUDY.claims if "/dyck-" in c.id}
SPREAD = np.array([-0.002, 0.001, 0.001])


def each(mean):
    return (mean + SPREAD).tolist()


def by_quota(cell):
    """One table of three quotas by three strides for every generator."""
    table = np.array([[cell(q, b) for b in (2, 4, 6)] for q in (1, 2, 4)])
    return (table + SPREAD[:, None, None]).tolist()


def mistakes(exhausted):
    kinds = {"WRONG_CLOSING_BRACKET": [40] * 3, "WRONG_END": [0] * 3}
    rows = [[["WRONG_CLOSING_BRACKET", "[", ")", 0.6, ")", 0.6, 0]]] * 3
    count = {"count": [40] * 3, "exhausted": [exhausted] * 3, "argmax": [39] * 3}
    return count | {"kinds": kinds, "rows": rows}


def ensemble(seed=0):
    """Three generators with everything as the source has it."""
    config = Sandbox(members=3, ensembles=2, seed=seed)
    modes = {
        "printed": lambda q, b: 0.4 + 0.04 * b,
        "prompt checked": lambda q, b: 0.41 + 0.04 * b,
        "refill checked": lambda q, b: 0.3 + 0.05 * b + 0.05 * q,
        "released": lambda q, b: 0.3 + 0.05 * b + 0.05 * q,
    }
    errors = {
        "baseline": 0.05, "guided": 0.02, "guided, released": 0.02, "no refill": 0.03,
        "guided, all strings judged": 0.02, "perfect": 0.012, "perfect, erasable": 0.03,
        "perfect, erasable, no refill": 0.01,
    }  # fmt: skip
    samplers = {"VGB, first leaf, exact leaves": 0.99, "VGB, first leaf": 0.98, "none": 0.95}
    samplers |= {"value-guided": 0.97, "value-guided, exact leaves": 0.97, "Algorithm 1": 0.98}
    numbers = {
        "kept_step": [1600] * 3, "kept_ood": each(0.04), "closing": [0.9995] * 3,
        "asked": [20_000] * 3, "wrong": [400] * 3, "mistakes": [400] * 3, "ood": each(0.03),
        "error": {"in": each(0.01), "out": each(0.04)}, "probe": [[0.9, 0.91]] * 3,
        "silhouette": {"errors": each(0.6), "shuffled": each(0.5)},
        "forced": {
            name: each(mean)
            for name, mean in (("nucleus", 0.33), ("argmax", 0.33), ("1", 0.36), ("2", 0.43),
                               ("4", 0.59), ("8", 0.79))
        },
        "quota": {
            "accuracy": {name: by_quota(cell) for name, cell in modes.items()}
            | {"perfect, printed": by_quota(lambda q, b: 0.6)},
            "fired": by_quota(lambda q, b: 100 * q),
            "unguided": {n: by_quota(lambda q, b: 0.3) for n in ("nucleus", "argmax")},
            "baseline": {n: each(0.33) for n in ("nucleus", "argmax")},
        },
        "unseen": {n: {"0.9": each(m), "1": each(m)} for n, m in errors.items()},
        "remaining": mistakes(30), "remaining_other": mistakes(38),
        "remaining_judged": mistakes(36),
        "where": {"mistakes": [[0, 3]] * 3, "fired": [[0, 5]] * 3},
        "diversity": {
            "guided": each(2.8), "nucleus 1": each(3.0), "nucleus 0.9": each(2.9),
            "ideal": each(3.0),
        },
        "trade_off": {
            name: {
                "accuracy": each(mean), "distinct": each(3.0), "calls": each(9.0),
                "verifier_calls": each(9.0), "unfinished": each(0.01),
            }
            for name, mean in samplers.items()
        },
    }  # fmt: skip
    return TrialResult(numbers, {"history_loss": np.full((2, 3), 0.73)}, config)


def results():
    return {"sandbox 1": ensemble(), "sandbox 2": ensemble(1000)}


def verdict(name, change=lambda numbers: None):
    changed = copy.deepcopy(results())
    change(changed["sandbox 2"].numbers)
    return CLAIMS[name].check(changed).verdict


def test_all_hold_on_results_like_those_of_the_source():
    assert len(CLAIMS) == 15
    assert {name: verdict(name) for name in CLAIMS} == dict.fromkeys(CLAIMS, "holds")


def test_every_ensemble_counts():
    """What the second ensemble says decides too."""

    def replaced(value, *path):
        def change(numbers):
            for name in path[:-1]:
                numbers = numbers[name]
            numbers[path[-1]] = value

        return change

    assert verdict("generators", replaced([0.99] * 3, "closing")) == "fails"
    assert verdict("generators", replaced([0.9] * 3, "error", "in")) == "undecided"
    assert verdict("fewer-errors", replaced([0.2] * 3, "kept_ood")) == "undecided"  # not learned
    assert verdict("fewer-errors", replaced([0.04, 0.04, float("nan")], "kept_ood")) == "undecided"
    assert verdict("diversity-kept", replaced([1.0] * 3, "diversity", "guided")) == "undecided"
    assert verdict("remaining-mistakes", replaced([0] * 3, "remaining", "exhausted")) == "fails"
    worse = ("trade_off", "VGB, first leaf, exact leaves", "accuracy")
    assert verdict("learned-value", replaced([0.5] * 3, *worse)) == "undecided"


@pytest.mark.parametrize(
    "name",
    [
        name if name == "diversity-kept" else pytest.param(name, marks=pytest.mark.long)
        for name in CLAIMS
    ],
)  # fmt: skip
def test_nothing_holds_whatever_is_done_to_its_results(name):
    assert audit_claim(STUDY, CLAIMS[name], results()).findings == ()


def test_a_generator_that_has_not_learned_is_left_out() -> None:
    def one_unlearned(numbers):
        numbers["kept_ood"] = [0.04, 0.04, 0.2]
        numbers["closing"] = [0.9995, 0.9995, 0.5]

    assert verdict("generators", one_unlearned) == "holds"
