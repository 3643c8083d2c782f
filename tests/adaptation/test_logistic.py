"""Logistic regression against scikit-learn, and where features are as bad as a model's outputs."""

import jax
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from minicosm.adaptation import accuracy, logistic_regression


def problem(seed, classes, n=300, d=4):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d)) * np.array([1, 10, 0.1, 3])[:d] + 2
    scores = (features - 2) @ rng.normal(size=(d, classes)) + 3 * rng.gumbel(size=(n, classes))
    return features, scores.argmax(axis=1)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("ridge", [1e-6, 1e-2])
def test_the_optimum_is_that_of_scikit_learn(classes, ridge):
    for seed in range(3):
        features, labels = problem(seed, classes)
        head = logistic_regression(features, labels, classes, ridge=ridge, whiten=False)
        peer = LogisticRegression(C=1 / (300 * ridge), tol=1e-10, max_iter=20_000).fit(
            features, labels
        )
        ours = np.atleast_2d(features @ head.weights.T + head.bias)
        theirs = peer.decision_function(features)
        if classes > 2:
            ours = ours - ours.mean(axis=1, keepdims=True)
            theirs = theirs - theirs.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(np.squeeze(ours), theirs, atol=2e-4)


def test_the_gradient_vanishes_at_the_optimum():
    features, labels = problem(0, 2)
    head = logistic_regression(features, labels, ridge=1e-3, whiten=False)
    excess = 1 / (1 + np.exp(-(features @ head.weights + head.bias))) - labels
    assert abs(excess.mean()) < 1e-12
    assert np.abs(features.T @ excess / 300 + 1e-3 * head.weights).max() < 1e-10


def test_whitened_fits_do_not_depend_on_the_coordinates():
    features, labels = problem(1, 2)
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    squeezed = features @ basis @ np.diag([1, 1e-3, 1e-6, 1e-9])
    plain = logistic_regression(features, labels, ridge=1e-4)
    hard = logistic_regression(squeezed, labels, ridge=1e-4)
    np.testing.assert_allclose(
        features @ plain.weights + plain.bias, squeezed @ hard.weights + hard.bias, atol=1e-4
    )


def test_a_boundary_in_the_smallest_direction_is_found():
    """Features with condition number 1e10, labels separable along their last direction only."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(300, 4))
    labels = (hidden[:, 3] > 0.1).astype(int)
    features = hidden * np.array([1, 1e-3, 1e-6, 1e-10])
    head = logistic_regression(features, labels)
    assert accuracy(features @ np.asarray(head.weights).T + np.asarray(head.bias), labels) == 1
    blind = logistic_regression(features, labels, whiten=False)
    assert accuracy(features @ np.asarray(blind.weights).T + np.asarray(blind.bias), labels) < 0.7


def test_probabilities_are_no_trouble():
    """Outputs of a model sum to one, so they are collinear with the bias."""
    rng = np.random.default_rng(0)
    features = rng.dirichlet(np.ones(4), size=300)
    labels = features.argmax(axis=1)
    head = logistic_regression(features, labels, 4)
    assert head.weights.shape == (4, 4)
    assert accuracy(features @ np.asarray(head.weights).T + np.asarray(head.bias), labels) > 0.99
    assert np.isfinite(head.weights).all()


def test_one_class_only():
    features, labels = problem(0, 2)
    head = logistic_regression(features, np.ones_like(labels))
    assert (
        accuracy(
            features @ np.asarray(head.weights).T + np.asarray(head.bias), np.ones_like(labels)
        )
        == 1
    )


def test_many_fits_at_once_are_the_single_ones():
    problems = [problem(seed, 2) for seed in range(5)]
    features, labels = (np.stack(parts) for parts in zip(*problems, strict=True))
    with jax.enable_x64(True):
        heads = jax.vmap(lambda x, y: logistic_regression(x, y, ridge=1e-4))(features, labels)
    for i, (x, y) in enumerate(problems):
        single = logistic_regression(x, y, ridge=1e-4)
        np.testing.assert_allclose(heads.weights[i], single.weights, atol=1e-9)
        np.testing.assert_allclose(heads.bias[i], single.bias, atol=1e-9)


@pytest.mark.parametrize(
    ("features", "labels", "classes", "message"),
    [
        (np.ones((3, 2)), np.array([0, 1, 2]), 2, r"need 0\.\.1"),
        (np.ones((3, 2)), np.array([0, 1]), 2, "shape"),
        (np.full((3, 2), np.nan), np.array([0, 1, 1]), 2, "finite"),
        (np.ones((3, 2)), np.array([0, 0, 0]), 1, "at least 2"),
    ],
)
@pytest.mark.usefixtures("unchecked_types")
def test_bad_input_is_refused_in_a_sentence(features, labels, classes, message):
    with pytest.raises(ValueError, match=message):
        logistic_regression(features, labels, classes)
