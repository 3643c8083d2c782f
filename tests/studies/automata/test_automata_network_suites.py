"""The suites of gadgets, shortcuts and gridworlds at their smallest: claims come out as registered, figures
are drawn, and numbers are those of an independent count."""

from dataclasses import replace

import numpy as np
import pytest

from minicosm.lab import rows
from minicosm.lab.figures import house_style
from minicosm.studies.automata import STUDY
from minicosm.studies.automata.readings import depth_lines, wrong_strings
from minicosm.studies.automata.suites import gadgets, gridworld, shortcuts
from minicosm.studies.automata.trials import Gadgets, Gridworlds, Shortcuts

SIZES = {
    "gadgets": (gadgets.run, Gadgets(3, 2, 20)),
    "shortcuts": (
        shortcuts.run,
        Shortcuts(3, 2, most_states=3, strings=8, lengths=(1, 2, 4), longest=8),
    ),
    "gridworlds": (gridworld.run, Gridworlds(3, 5, sizes=(1, 2), lengths=(5,))),
}
CLAIMS = [claim for claim in STUDY.claims if claim.trials.__name__ in SIZES]


@pytest.fixture(scope="module")
def results():
    """Of every suite, what its claims read."""
    return {
        name: {"suite": replace(run(config, lambda *_: None), config=config)}
        for name, (run, config) in SIZES.items()
    }


def test_there_are_twenty_of_them():
    assert len(CLAIMS) == 20


@pytest.mark.long
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claims_come_out_as_registered(claim, results):
    own = results[claim.trials.__name__]
    assert claim.check(own).verdict == claim.expected
    if claim.figure is not None:
        with house_style():
            assert claim.figure(own).axes


@pytest.mark.long
def test_depths_are_read_with_whether_they_were_run(results):
    lines = depth_lines(results["shortcuts"])
    assert list(lines) == ["one step a layer", "Theorem 10", "Theorem 11", "Theorem 12"]
    assert lines["one step a layer"] == [(2**i, 2**i, True) for i in range(4)]
    assert [depth for _, depth, _ in lines["Theorem 10"]] == [0, 1, 2, 3]
    assert len({depth for _, depth, _ in lines["Theorem 11"]}) == 1


@pytest.mark.long
def test_wrong_strings_are_added_up(results):
    part, wrong, strings, states, cases = wrong_strings(results["gridworlds"], "output")
    assert part == "output"
    found = rows(results["gridworlds"], "Theorem 12, output as printed")
    assert 0 < wrong <= strings == sum(found["strings"])
    assert wrong <= states <= cases == 5 * strings  # five moves each


@pytest.mark.long
def test_the_picture_of_a_scan_is_composition(results):
    arrays = results["shortcuts"]["suite"].arrays
    functions, word = arrays["scan"], arrays["word"]
    left, right = np.maximum(np.arange(4) - 1, 0), np.minimum(np.arange(4) + 1, 3)
    for level, row in enumerate(functions):
        for t, function in enumerate(row):
            first = t - 2**level + 1
            value = np.arange(4) if first >= 0 else np.zeros(4, int)  # pads lead to the start
            for symbol in word[max(first, 0) : t + 1]:
                value = (left, right)[symbol][value]
            assert (function == value).all()


def test_sizes_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match=r"lengths are \(0,\); each must be in 1\.\.4096"):
        Shortcuts(0, 3, lengths=(0,))
    with pytest.raises(ValueError, match="longest is 1"):
        Shortcuts(0, 3, longest=1)
    with pytest.raises(ValueError, match=r"sizes are \(\); each must be in 1\.\.63"):
        Gridworlds(0, 3, sizes=())
