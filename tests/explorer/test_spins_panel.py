"""Mixing times against step after step; chains that move as they may."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from minicosm.explorer import panels, settings, spins


@pytest.mark.parametrize("shape", settings.SHAPES)
@pytest.mark.parametrize("count", [3, 4, 7])
def test_couplings_are_symmetric_and_have_one_scale(shape, count):
    J = spins.couplings(shape, count)
    assert np.allclose(J, J.T) and not np.diag(J).any()
    assert J.sum(axis=1).mean() == pytest.approx(1)


@hypothesis.given(
    shape=st.sampled_from(settings.SHAPES),
    count=st.integers(3, 5),
    temperature=st.floats(0.5, 3),
    field=st.floats(-0.5, 0.5),
    k=st.integers(1, 3),
)
@hypothesis.settings(max_examples=10)
def test_mixing_times_are_the_first_steps_that_are_near(shape, count, temperature, field, k):
    found = spins.dynamics(shape, count, temperature, field, k)
    parallel = spins.stationary(found.parallel)
    for P, law in ((found.block, found.law), (found.parallel, parallel)):
        Q, steps = np.eye(len(P)), 0
        while np.abs(Q - law).sum(axis=1).max() / 2 > spins.NEAR:
            Q, steps = Q @ P, steps + 1
        assert spins.mixing_time(P, law) == steps


def test_a_chain_that_never_mixes_has_no_mixing_time():
    assert spins.mixing_time(np.eye(2), np.array([0.5, 0.5])) is None


def test_one_block_of_all_spins_draws_the_law_at_once():
    found = spins.dynamics("clique", 4, 0.7, 0.1, 4)
    rows = spins.numbers(found)
    assert rows[1][1] == pytest.approx(1) and rows[1][2] == 1
    assert rows[2][3] > 0.01  # in parallel it is another law


def test_without_coupling_parallel_sampling_is_exact():
    found = spins.dynamics("ring", 5, 1e6, 0.0, 1)
    assert spins.numbers(found)[2][3] == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("k", [1, 3])
def test_a_step_changes_at_most_a_block(k):
    found = spins.dynamics("clique", 5, 1.0, 0.0, k)
    run = spins.chain(found.block, 3, 5)
    assert not run[0].any() and set(np.unique(run)) == {0, 1}
    assert np.abs(np.diff(run, axis=0)).sum(axis=1).max() == k


def test_a_long_run_has_the_law():
    found = spins.dynamics("two cliques", 4, 1.5, 0.2, 2)
    run = spins.chain(found.block, 0, 4, 40_000)
    states = run @ (2 ** np.arange(3, -1, -1))
    share = np.bincount(states, minlength=16) / len(states)
    assert np.abs(share - found.law).sum() / 2 < 0.03


def test_a_block_of_more_spins_than_there_are_is_a_sentence():
    shown = panels.ising("clique", 4, 1.0, 0.0, 5, 0, 0)
    assert 'role="alert"' in shown and "blocks have 5 spins; there are 4" in shown


@pytest.mark.parametrize("temperature", [0.2, 3.0])
def test_the_panel_at_both_ends_of_its_temperatures(temperature):
    for shape in settings.SHAPES:
        shown = panels.ising(shape, 7, temperature, 0.05, 2, 0, 60)
        assert shown.count("<figure") == 2 and "alert" not in shown
