"""Chains that cross between modes once in a very long time: where rounding would show."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory.parallel import information as info
from minicosm.theory.parallel import kernels, mixing
from minicosm.worlds import CliqueIsing, Joint, MaskLaw

rates = st.floats(-25, -1).map(lambda log: 10**log)


@settings(max_examples=60, deadline=None)
@given(rates, rates, rates, rates)
def test_three_states_in_a_row(up, down, on, back):
    """A chain 0 - 1 - 2: the eigenvalues of I - P besides 0 solve x^2 - t x + s = 0, C is 1 over the
    smaller one, and every term of t and s is positive."""
    P = np.array([[1 - up, up, 0], [down, 1 - down - on, on], [0, back, 1 - back]])
    law = np.array([down * back, up * back, up * on])
    t, s = up + down + on + back, up * on + up * back + down * back
    assert kernels.stationary(P) == pytest.approx(law / law.sum(), rel=1e-12)
    apart = np.hypot(up + down - on - back, 2 * np.sqrt(down * on))  # squared: t^2 - 4 s
    expected = (t + apart) / (2 * s)
    assert mixing.slow_poincare(P, law / law.sum()) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("coupling", "expected"),
    # found with 80 digits
    [(4, 2.6356e13), (5, 7.8476e16), (6, 2.3390e20), (8, 2.0784e27), (10, 1.8469e34)],
)
def test_a_clique_of_four_with_strong_couplings(coupling, expected):
    joint = CliqueIsing(4, 4, float(coupling), 0.0).ising().joint()
    C = mixing.poincare(kernels.k_gibbs(joint, 1), joint.probabilities)
    assert pytest.approx(expected, rel=1e-4) == C
    bracket = mixing.entropy_constant(joint, MaskLaw.uniform(4, 1), starts=0)
    assert C <= bracket.lower <= bracket.upper


@pytest.mark.parametrize("coupling", [0.3, 1.0])
def test_both_ways_to_the_constant_agree(coupling):
    joint = CliqueIsing(5, 4, coupling, 0.1).ising().joint()
    P = kernels.k_gibbs(joint, 2)
    C = mixing.slow_poincare(P, joint.probabilities)
    assert mixing.poincare(P, joint.probabilities) == pytest.approx(C, rel=1e-9)


@pytest.mark.parametrize("coupling", [1.0, 3.0, 8.0])
def test_stationary_laws_with_strong_couplings(coupling):
    world = CliqueIsing(5, 5, coupling, 0.05).ising()
    joint = world.joint()
    parallel = kernels.parallel_stationary(world.h, world.J)
    found = kernels.stationary(kernels.independent_parallel(joint))
    assert mixing.total_variation(found, parallel) < 1e-12
    found = kernels.stationary(kernels.k_gibbs(joint, 1))
    assert mixing.total_variation(found, joint.probabilities) < 1e-12


def test_units_do_not_decide_what_is_identifiable():
    joint = CliqueIsing(3, 3, 0.4, 0.2).ising()
    law, T, masks = joint.joint(), joint.statistics(), MaskLaw.uniform(3, 1)
    units = np.ones(T.shape[1])
    units[0] = 1e-7
    plain = info.asymptotic_covariance(law, T, masks)
    scaled = info.asymptotic_covariance(law, T * units, masks)
    assert scaled.identifiable and scaled.condition == pytest.approx(plain.condition, rel=1e-6)
    assert scaled.matrix[0, 0] == pytest.approx(plain.matrix[0, 0] * 1e14, rel=1e-6)


def test_scores_that_are_no_numbers_or_say_nothing():
    joint, masks = Joint(np.full(4, 0.25), 2, 2), MaskLaw.uniform(2, 1)
    with pytest.raises(ValueError, match="finite"):
        info.asymptotic_covariance(joint, np.full((4, 1), np.nan), masks)
    assert not info.asymptotic_covariance(joint, np.zeros((4, 1)), masks).identifiable
