"""Reliance on neighbours, against masks written out one by one."""

import jax
import numpy as np
import pytest

from minicosm.adaptation import reliance, window
from minicosm.worlds import LayeredPCFG

WORLD = LayeredPCFG({5: [[3, 4], [4, 3, 3]], 3: [[0, 1], [1, 2]], 4: [[2], [0, 0]]}, 5)


def test_a_window_is_centred_and_cut_at_the_ends():
    assert np.flatnonzero(window(3, 2, 6)).tolist() == [1, 2, 3]
    assert np.flatnonzero(window(4, 2, 6)).tolist() == [0, 1, 2, 3]  # one more on the left
    assert np.flatnonzero(window(5, 0, 6)).tolist() == [0, 1, 2]
    assert np.flatnonzero(window(1, 4, 6)).tolist() == [4]


@pytest.mark.long
def test_the_measures_of_an_exact_world_are_distances_of_its_conditionals():
    drawn = WORLD.sample(jax.random.key(0), 4)
    tokens = np.asarray(drawn.tokens)
    found = np.asarray(reliance(WORLD, tokens, 1, (2, 3)))
    full = np.asarray(WORLD.conditionals(tokens, np.arange(4) != 1))[1]
    for j, near in enumerate(([0, 1], [0, 1, 2])):
        hidden = ~np.isin(np.arange(4), near)
        only = np.isin(np.arange(4), near) & (np.arange(4) != 1)
        for i, observed in enumerate((hidden, only)):
            law = np.asarray(WORLD.conditionals(tokens, observed))[1]
            np.testing.assert_allclose(found[i, j], np.abs(law - full).sum() / 2, atol=1e-5)
