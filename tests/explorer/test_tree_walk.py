"""The walk goes along edges, and its laws are those of its transition matrix."""

from itertools import pairwise

import numpy as np
import pytest

from minicosm.explorer import panels, settings, tree_walk


@pytest.fixture(scope="module")
def walked():
    return tree_walk.walk(3, 0.8, 1, 2)


def test_moves_lead_to_neighbours():
    assert tree_walk.nodes_of(np.array([0, 1, -2, -1, 1, -1, -1, 1])).tolist() == [
        0, 1, 4, 4, 1, 4, 1, 0, 2,
    ]  # fmt: skip


def test_the_walk_stays_or_goes_along_an_edge(walked):
    tree, path = walked.tree, walked.path
    assert path[0] == 0 and len(path) == settings.WALK_STEPS + 1
    for now, after in pairwise(path):
        assert now == after or tree.parent[now] == after or tree.parent[after] == now
    assert 0.3 < np.mean(path[1:] == path[:-1]) < 0.7  # it is lazy


def test_names_are_the_bits_of_prefixes(walked):
    names = [tree_walk.name(walked.tree, node) for node in range(15)]
    assert names[:7] == ["∅", "0", "1", "00", "01", "10", "11"] and names[14] == "111"


@pytest.mark.parametrize("step", [0, 2, 3, 40])
def test_laws_are_those_of_the_transition_matrix(walked, step):
    tree = walked.tree
    kernel = tree.kernel().toarray()
    law = np.linalg.matrix_power(kernel, step)[0][tree.leaves]  # every node can be reached
    found = tree_walk.laws(tree, step)
    assert ("now" in found) == (step >= 3)
    if step >= 3:
        assert np.allclose(found["now"], law / law.sum())
        gap = np.abs(found["now"] - found["wanted"]).sum() / 2
        assert walked.distances[step] == pytest.approx(gap)
    else:
        assert np.isnan(walked.distances[step])
    # Absorbed at leaves, the walk ends at the first one.
    stopped = kernel.copy()
    stopped[tree.leaves] = np.eye(len(kernel))[tree.leaves]
    assert np.allclose(found["first leaf"], np.linalg.matrix_power(stopped, 5000)[0][tree.leaves])
    assert all(abs(law.sum() - 1) < 1e-9 for law in found.values())


def test_without_errors_guidance_is_exact():
    tree = tree_walk.walk(2, 0.0, 3).tree
    rows = tree_walk.numbers(tree, 40)
    assert rows[0][1] == pytest.approx(0, abs=1e-9)  # value-guided
    assert rows[2][1] == pytest.approx(0, abs=1e-6)  # the walk


def test_the_panel_says_where_the_walk_is(walked):
    place = tree_walk.name(walked.tree, int(walked.path[17]))
    shown = panels.tree(3, 0.8, 1, 2, 17)
    assert f"after 17 steps the walk is at {place}" in shown and shown.count("<figure") == 2
