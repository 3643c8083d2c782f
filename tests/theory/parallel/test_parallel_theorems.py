"""The theorems as functions: where they apply, what they find, and why they do not apply."""

import itertools
import math

import jax
import numpy as np
import pytest

from minicosm.theory import parallel as theory
from minicosm.theory.parallel import bounds, kernels, mixing
from minicosm.worlds import CliqueIsing, Joint, MaskLaw
from minicosm.worlds.joint import random_ising
from minicosm.worlds.joint.counterexamples import independent_bits, two_bits

WORLD = CliqueIsing(4, 4, 0.3, 0.0).ising()
JOINT, T, THETA = WORLD.joint(), WORLD.statistics(), WORLD.parameters()
ISLANDS = Joint([0.7, 0, 0, 0.3], 2, 2)
STRONG = CliqueIsing(5, 3, 2.0, [0.2, 0.1, 0.3, 0.1, -0.1])
ONE = MaskLaw.uniform(4, 1)
LOOKS = MaskLaw.adaptive(
    [[0, 1], [2, 3]], np.random.default_rng(0).dirichlet(np.ones(2), size=16), 4
)


def test_masking_more_teaches_more():
    found = theory.theorem_4_1_1(JOINT, T, 1)
    assert found.holds and found.details["trace before"] == pytest.approx(43.7325, abs=1e-4)
    assert found.details["trace after"] == pytest.approx(23.462, abs=1e-3)
    assert "holds" in str(found) and theory.chain_rule(JOINT, T, 1).holds
    assert theory.theorem_4_1_1(JOINT, T, 1, 4).slack >= found.slack
    # the other way round it fails, by as much as it holds
    assert theory.theorem_4_1_1(JOINT, T, 2, 1).holds is False
    assert theory.information_grows(JOINT, T, ONE, MaskLaw.uniform(4, 3)).holds
    assert theory.information_grows(JOINT, T, MaskLaw.uniform(4, 3), ONE).holds is False


def test_curvature_and_score():
    for masks, name in ((ONE, "Lemma 4.1.2"), (LOOKS, "Lemma 4.3.3")):
        found = theory.lemma_4_1_2(JOINT, T, THETA, masks)
        assert found.name == name and found.holds and found.error < 1e-8
        assert theory.zero_mean_score(JOINT, T, masks).holds
        # at other parameters the curvature is another one
        assert not theory.lemma_4_1_2(JOINT, T, THETA + 0.1, masks).holds
    with_it, without = theory.mask_as_evidence(JOINT, T, THETA, LOOKS)
    assert with_it < 1e-12 and without > 1e-3


def test_the_covariance_is_bounded_by_the_poincare_constant():
    found = theory.theorem_4_1_2(JOINT, T, ONE)
    assert found.holds and found.details["C"] == pytest.approx(14.6987, abs=1e-4)
    assert found.slack == pytest.approx(1 - 14.6777 / 14.6987, abs=1e-5)
    looking = theory.theorem_4_1_2(JOINT, T, LOOKS)
    assert looking.name == "Theorem 4.1.3" and (looking.holds or not looking.applies)
    C = [mixing.poincare(kernels.k_gibbs(JOINT, k), JOINT.probabilities) for k in (1, 3)]
    assert theory.poincare_improves(JOINT, 3).slack == pytest.approx(C[0] / 3 / C[1] - 1)


def test_islands_are_said_to_be_islands():
    found = theory.theorem_4_1_2(ISLANDS, ISLANDS.states.astype(float), MaskLaw.uniform(2, 1))
    assert not found.applies and found.holds is None
    assert "parts" in str(found) and "not identifiable" in str(found)
    assert not theory.theorem_4_1_1(ISLANDS, ISLANDS.states.astype(float), 1).applies
    assert not theory.poincare_improves(ISLANDS, 2).applies


def test_conditioning_on_the_mask():
    """The fractions from the joint masses that Lemma 4.3.1 prints."""
    mass = {"00": (1 / 4, 1 / 4), "01": (1 / 9, 2 / 9), "10": (1 / 24, 1 / 8)}
    found = theory.two_bit_laws()
    for m in (0, 1):
        first, second = (mass["00"][m] / (mass["00"][m] + mass[x][m]) for x in ("10", "01"))
        assert found[f"x_0 given x_1, mask {{{m}}}"] == pytest.approx(first)
        assert found[f"x_1 given x_0, mask {{{m}}}"] == pytest.approx(second)
    assert theory.lemma_4_3_1().holds and theory.lemma_4_3_1_as_printed().holds is False
    assert found["x_1 given x_0, mask {0}"] == pytest.approx(9 / 13)
    assert theory.lemma_4_3_2(*two_bits(), np.array([True, False])).holds
    assert theory.lemma_4_3_2(JOINT, LOOKS, np.array([True, True, False, False])).holds


def test_forms_segments_and_pairs():
    rng = np.random.default_rng(2)
    f, g = rng.normal(size=(2, 16))
    assert theory.proposition_4_1_1(JOINT, LOOKS, f, g).holds
    middle, half = rng.normal(size=(2, 10))
    bent = theory.proposition_4_3_6(JOINT, T, LOOKS, middle, half)
    assert bent.holds and bent.slack > 1e-3
    pairs = theory.equation_4_26_as_printed(JOINT, LOOKS)
    assert pairs.holds is False and pairs.details["constant"] == math.inf
    assert not theory.equation_4_26_as_printed(JOINT, MaskLaw.uniform(4, 4)).applies


def test_decays_and_their_constants():
    joint, masks, start = independent_bits(4, 1e-4), ONE, np.eye(16)[-1]
    assert theory.kl_decay(joint, masks, start, 4.0).holds
    assert theory.kl_decay(joint, masks, start, 4.0, as_printed=True).holds is False
    assert theory.kl_decay(joint, masks, start, 2.0).holds is False  # too small a constant
    assert theory.chi_squared_decay(JOINT, LOOKS, np.eye(16)[3]).holds
    assert theory.block_dynamics_are_reversible(JOINT, LOOKS).holds
    assert theory.rows_are_laws(2 * np.eye(3)).holds is False
    rng = np.random.default_rng(5)
    r, q = rng.dirichlet(np.ones(16)), JOINT.probabilities
    for statement in (theory.definition_4_1_9, theory.proposition_4_3_1):
        assert statement(r, q, ONE, 2, 50.0).holds and statement(r, q, ONE, 2, 0.01).holds is False
    printed = theory.proposition_4_3_1_as_printed(r, q, ONE, 2)
    conditionals = sum(  # the masked cross-entropy of r itself, by hand
        -0.25 * p * math.log(p / (p + r[x ^ (8 >> i)])) for x, p in enumerate(r) for i in range(4)
    )
    assert printed.error == pytest.approx(conditionals)


def test_bounds_that_say_nothing_do_not_apply():
    world = random_ising(jax.random.key(1), 2, field=0.03, coupling=0.03)
    masks, rng = MaskLaw.uniform(2, 1), np.random.default_rng(0)
    more = {"radius": 0.1, "samples": 4, "rng": rng}
    wide = bounds.Sizes(2, 2, 200, 50, 0.1, 0.05, 0.0, 0.0)
    assert "no value is above 1" in str(theory.theorem_4_1_4(world, masks, wide, **more))
    tight = bounds.Sizes(2, 2, 10**6, 10**12, 0.1, 0.05, 0.0, 0.0)
    found = theory.theorem_4_1_4(world, masks, tight, **more)
    assert found.holds and found.details["bound"] < 0.5
    assert not theory.lemma_4_3_5(world, masks, 200, 50, delta=0.1, **more).applies
    assert theory.lemma_4_3_5(world, masks, 10**4, 10**5, delta=0.1, **more).holds
    assert not theory.lemma_4_3_6(world.joint(), 2, 0.1).applies


def test_the_empirical_law_by_enumeration():
    """Three coins: outside iff all are equal, since the bound is .488."""
    found = theory.lemma_4_3_6(Joint([0.5, 0.5], 2, 1), 3, 0.7)
    assert found.holds and found.details["outside"] == pytest.approx(0.25)
    joint = Joint([0.1, 0.2, 0.3, 0.4], 2, 2)
    found = theory.lemma_4_3_6(joint, 5, 0.95)
    p, outside = joint.probabilities, 0.0
    for sample in itertools.product(range(4), repeat=5):
        away = np.abs(np.bincount(sample, minlength=4) / 5 - p).sum() / 2
        outside += np.prod(p[list(sample)]) if away >= math.sqrt(64 / (16 * 0.95 * 5)) else 0
    bound = math.sqrt(64 / (16 * 0.95 * 5))
    assert found.details["bound"] == pytest.approx(bound) and found.applies == (bound < 0.9)
    assert found.details["outside"] == pytest.approx(outside, abs=1e-12)


def test_modes_in_order():
    found = theory.proposition_4_3_3(STRONG)
    assert found.holds and found.details["second mode over others"] > 0
    equal = CliqueIsing(2, 2, 0.8, [0.0, 0.5])  # where print has a strict sign
    assert abs(theory.proposition_4_3_3(equal).details["second mode over others"]) < 1e-12
    assert not theory.proposition_4_3_3(CliqueIsing(4, 4, 1.0, 5.0)).applies


def test_reaching_the_larger_mode():
    unequal, equal = STRONG, CliqueIsing(5, 3, 2.0, [0.2, 0.2, 0.2, 0.1, -0.1])
    for world in (unequal, equal):
        found = theory.proposition_4_1_4(world, 4)
        assert found.holds and 0 <= found.slack < 0.5
        P = kernels.k_gibbs(world.ising().joint(), 4)
        least = P[:, world.mode(1)].sum(axis=1).min()
        assert found.details["exact"] == pytest.approx(least, rel=1e-12)
    few = theory.proposition_4_1_4(STRONG, 2)
    assert not few.applies and "less than the clique's 3 spins" in str(few)
    figure = theory.proposition_4_1_4(CliqueIsing(10, 4, 5.0, 5.0), 4)
    assert not figure.applies and "not more than the fields outside" in str(figure)


def test_being_stuck():
    for h in (0.01, np.linspace(0.005, 0.015, 8)):
        found = theory.proposition_4_1_5(CliqueIsing(8, 8, 2.08, h), 0.5)
        assert found.applies and found.holds and found.details["stays"] > 0.5
    weak = CliqueIsing(2, 2, 0.001 + 2e-6, 1e-6)
    loose = theory.proposition_4_1_5(weak, 0.74)
    assert not loose.applies and "r = c tanh(J_0) / 2 - 1" in str(loose)
    printed = theory.proposition_4_1_5(weak, 0.74, as_printed=True)
    assert printed.holds is False and printed.details["stays"] == pytest.approx(0.2505, abs=5e-5)
    world = CliqueIsing(6, 6, 1.0, 0.1)
    turn = 1 / (1 + math.exp(-2 * (0.1 - 1.0)))  # of a - spin, two of six being +
    assert theory.equation_4_44(world).slack == pytest.approx(1 - turn * (1 + math.exp(2 * 0.4)))


def test_one_joint_step_against_many():
    c, field, slack = 93, 2.18, 32.3
    found = theory.corollary_4_1_1(CliqueIsing(c, c, slack + field, field / c), c, 1000, 0.1)
    assert found.holds and found.details["one step enters"] == pytest.approx(0.98734, abs=1e-4)
    small = theory.corollary_4_1_1(CliqueIsing(5, 5, 9.0, 0.5), 4, 1000, 0.1)
    assert [c.name for c in small.failed()] == ["Assumption 4.1.6", "Assumption 4.1.7"]
    assert "c is 5; it must be at least 93" in str(small)


def test_transformers_for_steps():
    rng = np.random.default_rng(1)
    image = rng.integers(2, size=(4, 2))
    certified = theory.proposition_4_1_2(image, 2).certify(iterates=3)
    assert certified.holds and certified.details["cases"] == 12
    joint = Joint(rng.dirichlet(np.ones(4)), 2, 2)
    found = theory.proposition_4_1_3(kernels.independent_parallel(joint), 2, 2)
    assert found.applies and found.certify().error < 1e-12
    both = kernels.k_gibbs(joint, 2)
    other = theory.proposition_4_1_3(both, 2, 2)
    assert not other.applies and "must be a product" in other.failed()[0].reason
    assert theory.product_step(both, 2, 2).holds is False
    assert theory.best_product(both, 2, 2, rng.dirichlet(np.ones(2), size=(4, 2))).holds
    first = kernels.fixed_block(joint, np.array([True, False]))
    p = joint.probabilities
    assert first[1, 3] == pytest.approx(p[3] / (p[1] + p[3])) and first[1, 0] == 0
    assert theory.product_step(first, 2, 2).holds


def test_a_short_hmm_and_its_own_law():
    """Theorems 4.1.1 and 4.1.2 for the exponential tilt of four tokens of a hidden Markov model."""
    from minicosm.worlds import HMM

    hmm = HMM([[0.9, 0.2], [0.1, 0.8]], [[0.7, 0.1], [0.2, 0.3], [0.1, 0.6]], [0.5, 0.5])
    joint = Joint.of_world(hmm, 3)
    x = joint.states
    tilt = np.stack([(x == 0).sum(axis=1), (x[:, 1:] == x[:, :-1]).sum(axis=1)], axis=1).astype(
        float
    )
    for k in (1, 2):
        assert theory.theorem_4_1_1(joint, tilt, k).holds
        assert theory.theorem_4_1_2(joint, tilt, MaskLaw.uniform(3, k)).holds
    world = random_ising(jax.random.key(0), 4, coupling=0.4)
    assert theory.independent_parallel_law(world).holds
