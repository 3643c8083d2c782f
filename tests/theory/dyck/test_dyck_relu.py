"""The ReLU networks of the proofs, against what they have to compute."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.theory.dyck import relu, relu_lemmas

seeds = st.integers(0, 2**32 - 1)


def explicit(stage, x):
    """The network unit by unit."""
    total = np.array(stage.down_bias, float)
    for j in range(stage.up.shape[1]):
        active = sum(x[i] * stage.up[i, j] for i in range(len(x))) + stage.up_bias[j]
        total = total + max(active, 0.0) * stage.down[j]
    return total


@given(seeds, st.integers(1, 8), st.integers(1, 4), st.integers(1, 3))
def test_interpolation_meets_every_point_with_two_units_each(seed, n, inputs, outputs):
    rng = np.random.default_rng(seed)
    points, values = rng.normal(size=(n, inputs)), rng.normal(size=(n, outputs))
    stage = relu.interpolate(points, values)
    assert stage.width == 2 * n
    found = np.array([explicit(stage, x) for x in points])
    gap = relu.smallest_gap(points @ stage.up[:, 0])
    assert np.abs(found - values).max() < 1e-11 * max(1, 1 / gap)


def test_interpolation_refuses_points_that_its_direction_cannot_tell_apart():
    points = np.array([[0.0, 1.0], [0.0, 2.0]])
    with pytest.raises(ValueError, match="it must tell them apart"):
        relu.interpolate(points, np.zeros((2, 1)), np.array([1.0, 0.0]))


@given(seeds, st.integers(3, 9))
def test_directions_are_orthonormal_and_orthogonal_to_the_given_ones(seed, n):
    rng = np.random.default_rng(seed)
    given_rows = np.stack([np.ones(n), rng.normal(size=n)])
    rows = relu.orthonormal(given_rows, n - 2)
    assert np.allclose(rows @ rows.T, np.eye(n - 2)) and np.allclose(rows @ given_rows.T, 0)
    with pytest.raises(ValueError, match="are needed"):
        relu.orthonormal(given_rows, n - 1)


@given(seeds, st.integers(1, 6), st.floats(0.1, 10))
def test_index_reads_the_entry(seed, n, bound):
    x = np.random.default_rng(seed).uniform(0, bound, size=n)
    stage = relu.index(n, bound)
    assert stage.width == 2 * n
    for y in range(1, n + 1):
        assert abs(explicit(stage, [*x, y])[0] - x[y - 1]) < 1e-12 * max(1, n * bound)


@given(st.integers(1, 6), st.floats(0.01, 2), st.floats(1e-6, 5), st.data())
def test_which_names_the_active_entry_and_misprinted_adds_a_constant(n, threshold, above, data):
    i = data.draw(st.integers(1, n))
    x = np.zeros(n)
    x[i - 1] = threshold + above
    assert abs(explicit(relu.which(n, threshold), x)[0] - i) < 1e-9
    misprinted = sum(j * (max(v, 0) - max(v - threshold, 0) + threshold) / threshold
                     for j, v in enumerate(x, start=1))  # fmt: skip
    assert abs(misprinted - (i + n * (n + 1) / 2)) < 1e-9


@given(seeds, st.integers(1, 5), st.integers(0, 4), st.integers(1, 3))
def test_switch_computes_the_chosen_network(seed, K, width, inputs):
    rng = np.random.default_rng(seed)
    stages = [
        relu.Stage(
            rng.normal(size=(inputs, width)),
            rng.normal(size=width),
            rng.normal(size=(width, 2)),
            rng.normal(size=2),
        )
        for _ in range(K)
    ]
    x = rng.uniform(0, 1, size=inputs)
    bound = max([1.0, *(float(np.abs(x @ s.up + s.up_bias).max(initial=0)) for s in stages)])
    switch = relu.switch(stages, bound)
    for y, stage in enumerate(stages, start=1):
        assert np.allclose(explicit(switch, [y, *x]), explicit(stage, x), atol=1e-9)


def test_the_printed_switch_is_right_without_biases_and_negative_preactivations_only():
    up, bias = np.ones((1, 1)), np.zeros(1)
    right = [relu.Stage(up, bias, np.array([[a]]), np.zeros(1)) for a in (1.0, -2.0, 3.0)]
    for y, a in enumerate((1.0, -2.0, 3.0), start=1):
        assert np.allclose(relu.switch_printed(right, 1.0)(np.array([y, 0.5])), 0.5 * a)
    with_bias = [s._replace(down_bias=np.ones(1)) for s in right]
    assert not np.allclose(relu.switch_printed(with_bias, 1.0)(np.array([2, 0.5])), 0.0)
    negative = [s._replace(up=-up) for s in right]
    assert not np.allclose(relu.switch_printed(negative, 1.0)(np.array([2, 0.5])), 0.0)


@given(seeds, st.integers(1, 5))
def test_linear_maps_are_relu_networks(seed, n):
    rng = np.random.default_rng(seed)
    W, x = rng.normal(size=(n, n)), rng.normal(size=n)
    assert np.allclose(explicit(relu.linear(W), x), W @ x)


def test_stages_concatenated_and_padded_compute_the_same():
    rng = np.random.default_rng(0)
    first, second = relu.linear(rng.normal(size=(3, 3))), relu.which(3, 0.5)
    x = rng.normal(size=3)
    wanted = np.concatenate([first(x), second(x)])
    both = relu.concatenated([first, second])
    assert np.allclose(both(x), wanted)
    wide = relu.padded(both, 5, 20, 7)
    assert np.allclose(wide(np.append(x, [7.0, 8.0])), np.append(wanted, [0, 0, 0]))


def test_the_lemmas_hold_and_say_what_they_need():
    rng = np.random.default_rng(3)
    points, values = rng.normal(size=(4, 2)), rng.normal(size=(4, 3))
    assert relu_lemmas.lemma_2_2_15(points, values).details["width"] == 8
    assert not relu_lemmas.lemma_2_2_16(np.eye(3), np.array([1.0, 1.0, 0.0])).applies
    assert relu_lemmas.lemma_2_2_16(np.eye(3), np.array([1.0, 2.0, 4.0])).holds
    x = rng.uniform(0, 2, size=(3, 3))
    assert relu_lemmas.lemma_2_2_17(x, np.array([3.0, 1.0, 2.0]), 2.0).holds
    assert not relu_lemmas.lemma_2_2_17(x - 1, np.array([3.0, 1.0, 2.0]), 2.0).applies
    assert relu_lemmas.lemma_2_2_18(3 * np.eye(4), 1.0).holds
    assert not relu_lemmas.lemma_2_2_18(np.ones((1, 4)), 0.5).applies
    W = rng.normal(size=(3, 3))
    assert relu_lemmas.lemma_2_2_20(W / np.linalg.norm(W, 2), x).holds
    assert not relu_lemmas.lemma_2_2_20(3 * W / np.linalg.norm(W, 2), x).applies


def test_a_network_that_is_wrong_or_too_wide_fails():
    rng = np.random.default_rng(5)
    stages = [
        relu.Stage(*(rng.normal(size=s) for s in ((2, 3), (3,), (3, 1), (1,)))) for _ in range(3)
    ]
    x = rng.uniform(size=(5, 2))
    good, printed = (relu_lemmas.lemma_2_2_19(stages, x, printed=p) for p in (False, True))
    assert good.holds and good.construction.width == 2 * 3 * 3 + 2 * 3
    assert printed.holds is False and printed.error > 1e-3
    assert relu_lemmas._worst(0.0, float("nan")) != 0.0
