"""The suites of groups and cascades at a small size: every statement holds, and printed forms fail."""

from dataclasses import replace

import numpy as np
import pytest

from minicosm.lab.figures import house_style
from minicosm.studies.automata import STUDY
from minicosm.studies.automata.figures.cascades import mathematics
from minicosm.studies.automata.suites import cascades, groups, named_groups
from minicosm.studies.automata.trials import Cascades, Groups

CLAIMS = {claim.id.removeprefix("automata/"): claim for claim in STUDY.claims}
OF_GROUPS = (
    "theorem-14", "lemma-17", "lemma-18", "lemma-19", "lemma-19-bias-as-printed", "theorem-16", "barrington",
)  # fmt: skip
OF_CASCADES = (
    "theorem-15", "definition-8", "lemma-20", "lemma-20-size-as-printed", "lemma-21", "lemma-21-as-printed",
    "theorem-11",
)  # fmt: skip


def kept(run, config):
    """The result of a suite with its configuration, as a check sees it."""
    found = run(config, lambda *_: None)
    return {"suite": replace(found, config=config)}


@pytest.fixture(scope="module")
def results():
    return {
        "groups": kept(groups.run, Groups(seed=3, words=4, series=3, length=5, long=2)),
        "cascades": kept(cascades.run, Cascades(seed=3, automata=4, long=2, lengths=(4, 8))),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", [*OF_GROUPS, *OF_CASCADES])
def test_a_claim_comes_out_as_registered_and_is_drawn(results, name):
    claim = CLAIMS[name]
    found = results["groups" if name in OF_GROUPS else "cascades"]
    assert claim.check(found).verdict == claim.expected
    if claim.figure is not None:
        with house_style():
            assert claim.figure(found).axes


@pytest.mark.long
def test_example_7_is_decided_by_sympy_or_not_at_all(results):
    verdict = CLAIMS["example-7"].check(results["groups"]).verdict
    try:
        import sympy  # noqa: F401
    except ImportError:
        assert verdict == "undecided"
    else:
        assert verdict == "holds"


def test_the_groups_of_the_suite_are_what_they_are_called():
    orders = {G.name: G.order for G in named_groups.solvable_groups()}
    assert orders["S_4"] == 24 and orders["A_4"] == 12 and orders["Q_8"] == 8
    assert orders["C_7 ⋊ C_3"] == 21 and orders["C_2 × C_2 × C_2"] == 8
    # How many abelian groups there are of orders 2, 3, ..., 16.
    wanted = [1, 1, 2, 1, 1, 1, 3, 2, 1, 1, 2, 1, 1, 1, 5]
    found = [int(np.prod(orders)) for orders in named_groups.abelian_orders(16)]
    assert [found.count(order) for order in range(2, 17)] == wanted
    for split in named_groups.splits():
        order = {"S_3": 6, "A_4": 12, "S_4": 24, "C_7 ⋊ C_3": 21}.get(split.name)
        order = int(split.name.removeprefix("D_")) if order is None else order
        assert split.N.order * split.H.order == order


def test_formulas_are_all_of_their_depth_once():
    listed = groups.formulas(2)
    assert len(listed) == len(set(listed)) == 6 + 2 * (48 * 49 // 2)
    rng = np.random.default_rng(0)
    from minicosm.theory.automata.barrington import and_depth

    assert {and_depth(groups.random_formula(rng, 3)) for _ in range(20)} == {3}


def test_names_are_typeset():
    assert mathematics("C_2") == "$C_{2}$"
    assert mathematics("Dyck_4,2") == r"$\mathrm{Dyck}_{4{,}2}$"
    assert mathematics("flip-flop") == "flip-flop"
