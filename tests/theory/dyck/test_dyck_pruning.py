"""Theorem 2.2.3: subset sums against enumeration, pruned models against their targets."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.theory.dyck import corollary_2_2_3, lipschitz, theorem_2_2_3, theorem_2_2_3_budget
from minicosm.theory.dyck.matrices import (
    Matrices,
    apply,
    matrices_of,
    random_large,
    random_target,
    relative_error,
    transformer,
)
from minicosm.theory.dyck.pruned_pairs import Search, prune_mlp, prune_pair
from minicosm.theory.dyck.pruning import (
    diagonal_entries,
    prune_transformer,
    shared_matrix_pair,
)
from minicosm.theory.dyck.subset_sum import closest_subsets

floats = st.floats(-2, 2, allow_nan=False, width=32)


@given(
    st.lists(floats, min_size=1, max_size=9),
    st.lists(floats, min_size=1, max_size=3),
    st.booleans(),
)
def test_subset_sums_are_the_best_of_all_subsets(values, targets, shared):
    values, targets = np.array(values, float), np.array(targets, float)
    rows = np.array([np.roll(values, i) * (i + 1) for i in range(len(targets))])
    given_values = values if shared else rows
    found = closest_subsets(given_values, targets)
    for i, target in enumerate(targets):
        row = values if shared else rows[i]
        best = min(abs(np.dot(bits, row) - target) for bits in product((0, 1), repeat=len(row)))
        assert found.errors[i] == pytest.approx(best, abs=1e-12)
        assert found.sums[i] == pytest.approx(row[found.chosen[i]].sum(), abs=1e-12)


def test_subset_sums_refuse_what_they_cannot_do():
    with pytest.raises(ValueError, match="values has 41 entries"):
        closest_subsets(np.ones(41), np.ones(1))
    with pytest.raises(ValueError, match=r"values has shape \(2, 4\) for 3 targets"):
        closest_subsets(np.ones((2, 4)), np.ones(3))
    with pytest.raises(ValueError, match=r"values\[0\] is nan; every entry must be finite"):
        closest_subsets(np.array([np.nan]), np.ones(1))


@pytest.mark.parametrize("mode", ["signed", "positive", "linear"])
def test_a_pruned_pair_does_what_its_mode_says_within_its_norm(mode):
    rng = np.random.default_rng(0)
    target = rng.uniform(-1, 1, size=(3, 2))
    inner, outer = rng.uniform(-1, 1, size=(200, 7)), rng.uniform(-1, 1, size=(8, 200))
    rows, columns = np.array([1, 4, 6]), np.array([5, 2])
    pair = prune_pair(
        target, inner, outer, rows=rows, columns=columns, mode=mode, search=Search(16)
    )
    assert np.all((pair.inner == 0) | (pair.inner == inner))
    assert np.all((pair.outer == 0) | (pair.outer == outer))
    assert pair.report.norm < 0.05
    x = rng.normal(size=(7, 100))
    act = (lambda y: y) if mode == "linear" else (lambda y: np.maximum(y, 0))
    found = pair.outer @ act(pair.inner @ x)
    read = np.maximum(x[columns], 0) if mode == "positive" else x[columns]
    gap = np.linalg.norm(found[rows] - target @ read, axis=0)
    assert np.all(gap <= pair.report.norm * np.linalg.norm(read, axis=0) + 1e-12)
    assert not found[[0, 2, 3, 5, 7]].any()


def _by_hand(layer: Matrices, x: np.ndarray, constant: float) -> np.ndarray:
    """Eq. 2.42 in plain NumPy, positions as columns, with the causal mask as a loop."""
    read = np.zeros_like(x)
    for query in range(x.shape[1]):
        seen = x[:, : query + 1]
        logits = (layer.key @ seen).T @ (layer.query @ x[:, query])
        weights = np.exp(logits - logits.max())
        mixed = layer.value @ seen @ weights / weights.sum()
        centred = mixed - mixed.mean()
        read[:, query] = centred / max(np.linalg.norm(centred), constant)
    return layer.down @ np.maximum(layer.up @ (read + x), 0)


def _inputs(rng, count=30):
    drawn = rng.normal(size=(count, 8, 3))
    drawn /= np.linalg.norm(drawn, axis=-1, keepdims=True)
    return drawn * 10 ** rng.uniform(-3, 0, size=(count, 8, 1))


@pytest.fixture(scope="module")
def pruned():
    rng = np.random.default_rng(5)
    target = random_target(rng)
    large = random_large(rng, target)
    return target, large, prune_transformer(target, large), _inputs(rng)


def test_a_pruned_model_computes_its_target(pruned):
    target, _, found, inputs = pruned
    outputs = apply(found.model, inputs)
    layer = matrices_of(target).layer(0)
    for x, y in zip(inputs[:10], outputs[:10], strict=True):
        wanted = _by_hand(layer, x.T, 0.1).T
        size = np.linalg.norm(x, axis=1).max()
        assert np.linalg.norm(y - wanted, axis=1).max() <= 1e-4 * size
    result = theorem_2_2_3(target, pruned[1]).certify(inputs=inputs)
    assert result.holds and result.error == relative_error(found.model, target, inputs).max()
    assert result.error <= lipschitz.error_budget(found.report, 0.1, 1)
    assert theorem_2_2_3_budget(result).holds
    assert found.report.units <= 709
    assert 0.001 < found.report.kept_mlp < 0.01


def test_every_weight_is_zero_or_that_of_the_large_model(pruned):
    _, large, found, _ = pruned
    for part in ("attention", "mlp"):
        for name in {"attention": ("qkv", "out"), "mlp": ("up", "down")}[part]:
            after = np.asarray(getattr(getattr(found.model.layers, part), name))
            before = np.asarray(getattr(getattr(large.layers, part), name))
            assert np.all((after == 0) | (after == before))
    assert found.model.config == large.config


def test_matrices_come_back_from_the_model():
    rng = np.random.default_rng(1)
    stack = Matrices(*(rng.normal(size=(2, *s)) for s in ((2, 3), (2, 3), (3, 3), (5, 3), (3, 5))))
    back = matrices_of(transformer(stack, 0.2))
    assert np.array_equal(back.query[:, :2], stack.query) and not back.query[:, 2:].any()
    for name in ("value", "up", "down"):
        assert np.array_equal(getattr(back, name), getattr(stack, name))


@pytest.mark.parametrize("layer, which, kept", [(3, "key", 7200), (2, "value", 3)])
def test_two_targets_share_a_matrix(layer, which, kept):
    rng = np.random.default_rng(2)
    first, second = random_target(rng), random_target(rng)
    large, inputs = random_large(rng, first), _inputs(rng)
    pair = shared_matrix_pair(first, second, large, layer, which, search=Search(20))
    one, two = (getattr(matrices_of(p.model), which)[layer] for p in pair)
    assert np.array_equal(one, two) and one.any()
    assert kept is None or np.count_nonzero(one) == kept
    for found, target in zip(pair, (first, second), strict=True):
        assert relative_error(found.model, target, inputs).max() < 1e-3
    assert relative_error(pair[0].model, second, inputs).max() > 0.1
    result = corollary_2_2_3(first, second, large, layer, which, inputs, search=Search(20))
    assert result.applies and result.error < 1e-3
    assert result.details["entries kept"] == np.count_nonzero(one)
    assert not corollary_2_2_3(first, first, large, layer, which, inputs).applies


def test_what_cannot_be_pruned_is_said(pruned):
    target, large, _, _ = pruned
    rng = np.random.default_rng(3)
    stack = matrices_of(target)
    with pytest.raises(ValueError, match="C = 0; pruning needs"):
        prune_transformer(transformer(stack, 0.0), large)
    heavy = transformer(stack._replace(up=2 * stack.up), 0.1)
    with pytest.raises(ValueError, match="up matrix has spectral norm 2; it must be at most 1"):
        prune_transformer(heavy, large)
    with pytest.raises(ValueError, match="they must be equal"):
        prune_transformer(transformer(stack, 0.2), large)
    narrow = random_large(rng, target, mlp_width=100)
    with pytest.raises(ValueError, match=r"free hidden units of 100 .* 24 are needed"):
        prune_transformer(target, narrow)
    with pytest.raises(ValueError, match="places is"):
        prune_transformer(target, large, places=[3])
    with pytest.raises(ValueError, match="one of at least 1/2 is needed"):
        diagonal_entries(np.full((6, 6), 0.4), 3)
    with pytest.raises(ValueError, match="it must be at least 6"):
        diagonal_entries(np.ones((5, 5)), 3)
    with pytest.raises(ValueError, match="must have at least that"):
        prune_mlp(
            np.ones((40, 3)), np.ones((3, 40)), Matrices(*(w[:2] for w in matrices_of(large))),
            rows=np.arange(3), columns=np.arange(3),
        )  # fmt: skip


@given(st.integers(0, 10**6))
def test_inequalities_that_the_theorem_rests_on(seed):
    rng = np.random.default_rng(seed)
    n, N, constant = int(rng.integers(2, 6)), int(rng.integers(1, 6)), 10 ** rng.uniform(-2, 0)
    x, y = rng.normal(size=(2, n)) * 10 ** rng.uniform(-2, 1)
    unit = [w / np.linalg.norm(w, 2) for w in rng.normal(size=(5, n, n))]
    X = rng.normal(size=(n, N))
    X = 4 * X / np.linalg.norm(X, axis=0)
    Y = X * rng.uniform(0, 1, size=N)
    A = rng.dirichlet(np.ones(N), size=N).T
    for result in (
        lipschitz.lemma_2_2_8(x, y),
        lipschitz.lemma_2_2_10(x, y, constant),
        *lipschitz.lemma_2_2_11(unit[0], X, unit[1], A, rng.normal(size=(n, N)), constant),
        lipschitz.lemma_2_2_13(Matrices(*unit), X, Y, constant),
        lipschitz.lemma_2_2_13(Matrices(*unit), X, Y, constant, factor=130.0),
        lipschitz.lemma_2_2_12(x, n + 3, constant),
    ):
        assert result.holds, result


def test_softmax_and_norm_move_as_the_left_sides_say():
    x, y = np.array([0.0, 1.0]), np.array([0.5, 1.0])
    gap = abs(1 / (1 + np.e) - 1 / (1 + np.exp(0.5)))
    share = lipschitz.lemma_2_2_8(x, y).details["share"]
    assert share == pytest.approx(2 * gap / (np.e - 1))
    # LN_1 of (0, 1) is (-1, 1) / 2, of (0.5, 1) a quarter of (-1, 1).
    assert lipschitz.lemma_2_2_10(x, y, 1.0).details["share"] == pytest.approx(0.125 * 8**0.5)


def test_errors_compose_crosswise():
    """g1 = 10 x, g2 = x / 10, f2 = g2 + x / 10: the error is |x|, which is the bound. The closed
    form that is printed pairs each error with its own function's constant, and has |x| / 100."""
    result = lipschitz.lemma_2_2_5(
        (lambda x: 10 * x, lambda x: 0.2 * x), (lambda x: 10 * x, lambda x: 0.1 * x), np.ones(1),
        growth=10.0, lipschitz=0.1, first=0.0, second=0.1,
    )  # fmt: skip
    assert result.holds and result.details["share"] == pytest.approx(1)
    assert pytest.approx(0.01) == (10 + 0.1) * (0.1 + 0.0) - 10 * 0.1
