"""Parities: labels against products written out, trees against a walk, classes against counts."""

import itertools

import hypothesis
import jax
import numpy as np
import pytest
from hypothesis import strategies as st

from minicosm.worlds import HierarchicalParity, SparseParity


def cube(d):
    return np.array(list(itertools.product((1.0, -1.0), repeat=d)))


@hypothesis.given(st.data())
def test_labels_are_products_of_the_support(data):
    d = data.draw(st.integers(1, 6))
    k = data.draw(st.integers(1, d))
    support = data.draw(st.permutations(range(d)))[:k]
    world = SparseParity(d, k, support)
    x = cube(d)
    wanted = [0 if np.prod([row[i] for i in support]) > 0 else 1 for row in x]
    np.testing.assert_array_equal(world.labels(x), wanted)
    assert world.k == k and world.support == tuple(sorted(support))


def test_samples_agree_with_their_label_and_with_uniform_bits():
    world = SparseParity(6, 3, (1, 4, 5))
    drawn = jax.vmap(world.sample)(jax.random.split(jax.random.key(0), 4000))
    np.testing.assert_array_equal(drawn.label, world.labels(drawn.signs))
    ones = np.asarray(drawn.tokens).mean(axis=0)
    assert np.abs(ones - 0.5).max() < 5 * 0.5 / np.sqrt(4000)


def walk(world, x):
    """The class by walking down the tree, one step at a time."""
    node = 1
    while node < world.classes:
        right = np.prod(x[list(world.blocks[node - 1])]) > 0
        node = 2 * node + int(right)
    return node - world.classes


@pytest.mark.parametrize(("d", "k", "depth"), [(3, 3, 1), (7, 2, 2), (7, 1, 3), (9, 3, 2)])
def test_classes_are_the_leaves_that_a_walk_reaches_and_are_equally_likely(d, k, depth):
    world = HierarchicalParity(d, k, depth)
    x = cube(d)
    found = np.asarray(world.labels(x))
    np.testing.assert_array_equal(found, [walk(world, row) for row in x])
    np.testing.assert_array_equal(np.bincount(found), np.full(2**depth, 2 ** (d - depth)))


def test_depth_one_is_sparse_parity_with_the_classes_exchanged():
    x = cube(5)
    tree = np.asarray(HierarchicalParity(5, 3, 1).labels(x))
    np.testing.assert_array_equal(tree, 1 - np.asarray(SparseParity(5, 3).labels(x)))


def test_the_way_to_a_class_has_the_blocks_that_decide_it():
    world = HierarchicalParity(100, 5)
    assert world.way(0) == (1, 2, 4)
    assert world.way(7) == (1, 3, 7)
    assert world.blocks[6] == tuple(range(30, 35))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SparseParity(3, 4), "k is 4 and d is 3; a parity has at most d coordinates"),
        (lambda: SparseParity(3, 2, (0, 0)), "must be different"),
        (lambda: SparseParity(3, 2, (0, 3)), r"support\[1\] is 3; it must lie in 0..2"),
        (lambda: HierarchicalParity(20, 3, 3), "7 blocks of k = 3 coordinates need d of at least 21"),
        (lambda: HierarchicalParity(9, 1, 2, [[0], [1]]), "blocks has 2 blocks; a tree"),
        (lambda: SparseParity(3, 2).sample(jax.random.key(0), 4), "length is 4"),
        (lambda: SparseParity(3, 2).labels(np.zeros(3)), r"x\[0\] is 0; it must be \+1 or -1"),
        (lambda: HierarchicalParity(3, 1, 2).way(4), r"label is 4; it must be in 0..3"),
    ],
)  # fmt: skip
def test_bad_input_meets_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()
