"""The theorems as functions: where they apply, what they find, and why they do not apply."""

import numpy as np
import pytest

from minicosm.theory.parallel import kernels, theorems
from minicosm.worlds import CliqueIsing, Joint, MaskLaw

WORLD = CliqueIsing(4, 4, 0.3, 0.0).ising()
JOINT, T = WORLD.joint(), WORLD.statistics()
ISLANDS = Joint([0.7, 0, 0, 0.3], 2, 2)
STRONG = CliqueIsing(5, 3, 2.0, [0.2, 0.1, 0.3, 0.1, -0.1])


def test_masking_more_teaches_more():
    found = theorems.theorem_4_1_1(JOINT, T, 1)
    assert found.holds and found.numbers["trace at k"] == pytest.approx(43.7325, abs=1e-4)
    assert found.numbers["trace at k + 1"] == pytest.approx(23.462, abs=1e-3)
    assert "holds" in str(found)


def test_the_covariance_is_bounded_by_the_poincare_constant():
    found = theorems.theorem_4_1_2(JOINT, T, MaskLaw.uniform(4, 1))
    assert found.holds and found.numbers["C"] == pytest.approx(14.6987, abs=1e-4)
    assert found.slack == pytest.approx(1 - 14.6777 / 14.6987, abs=1e-5)
    sharp = theorems.theorem_4_1_2(JOINT, T, MaskLaw.uniform(4, 2))
    assert sharp.holds and abs(sharp.slack) < 1e-9


def test_masks_that_look_give_the_other_theorem():
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(2), size=16)
    masks = MaskLaw.adaptive([[0, 1], [2, 3]], table, 4)
    found = theorems.theorem_4_1_2(JOINT, T, masks)
    assert found.name == "Theorem 4.1.3" and (found.holds or not found.applies)


def test_islands_are_said_to_be_islands():
    masks = MaskLaw.uniform(2, 1)
    found = theorems.theorem_4_1_2(ISLANDS, ISLANDS.states.astype(float), masks)
    assert not found.applies and found.holds is None
    assert "parts" in str(found) and "not identifiable" in str(found)
    assert not theorems.theorem_4_1_1(ISLANDS, ISLANDS.states.astype(float), 1).applies


def test_reaching_the_larger_mode():
    unequal, equal = STRONG, CliqueIsing(5, 3, 2.0, [0.2, 0.2, 0.2, 0.1, -0.1])
    for world in (unequal, equal):
        found = theorems.proposition_4_1_4(world, 4)
        assert found.holds and 0 <= found.slack < 0.5
        P = kernels.k_gibbs(world.ising().joint(), 4)
        least = P[:, world.mode(1)].sum(axis=1).min()
        assert found.numbers["exact"] == pytest.approx(least, rel=1e-12)
    few = theorems.proposition_4_1_4(STRONG, 2)
    assert not few.applies and "less than the clique's 3 spins" in str(few)
    figure = theorems.proposition_4_1_4(CliqueIsing(10, 4, 5.0, 5.0), 4)
    assert not figure.applies and "not more than the fields outside" in str(figure)


def test_being_stuck():
    for h in (0.01, np.linspace(0.005, 0.015, 8)):
        found = theorems.proposition_4_1_5(CliqueIsing(8, 8, 2.08, h), 0.5)
        assert found.applies and found.holds and found.numbers["stays"] > 0.5
    loose = theorems.proposition_4_1_5(CliqueIsing(2, 2, 0.001 + 2e-6, 1e-6), 0.74)
    assert not loose.applies and "r = c tanh(J_0) / 2 - 1" in str(loose)


def test_one_joint_step_against_many():
    c, field, slack = 93, 2.18, 32.3
    found = theorems.corollary_4_1_1(CliqueIsing(c, c, slack + field, field / c), c, 1000, 0.1)
    assert found.holds and found.numbers["one step enters"] == pytest.approx(0.98734, abs=1e-4)
    small = theorems.corollary_4_1_1(CliqueIsing(5, 5, 9.0, 0.5), 4, 1000, 0.1)
    assert [c.name for c in small.failed()] == ["Assumption 4.1.6", "Assumption 4.1.7"]
    assert "c is 5; it must be at least 93" in str(small)


def test_transformers_for_steps():
    rng = np.random.default_rng(1)
    image = rng.integers(2, size=(4, 2))
    assert theorems.proposition_4_1_2(image, 2).certify().disagreements == 0
    joint = Joint(rng.dirichlet(np.ones(4)), 2, 2)
    found = theorems.proposition_4_1_3(kernels.independent_parallel(joint), 2, 2)
    assert found.applies and found.certify().largest_error < 1e-12
    other = theorems.proposition_4_1_3(kernels.k_gibbs(joint, 2), 2, 2)
    assert not other.applies and "must be a product" in other.failed()[0].reason
