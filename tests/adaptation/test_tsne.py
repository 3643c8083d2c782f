"""t-SNE against scikit-learn's."""

import numpy as np
import pytest

from minicosm.adaptation.tsne import divergence, neighbour_law, tsne


def blobs(count=90):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 10)) * 6
    return np.repeat(centres, count // 3, axis=0) + rng.normal(size=(count, 10))


@pytest.mark.long
def test_neighbours_have_the_law_of_scikit_learn():
    from scipy.spatial.distance import pdist, squareform
    from sklearn.manifold import _t_sne

    points = blobs()
    squares = squareform(pdist(points, "sqeuclidean")).astype(np.float32)
    wanted = squareform(_t_sne._joint_probabilities(squares, 20.0, 0))
    np.testing.assert_allclose(neighbour_law(points, 20.0), wanted, atol=2e-6)


@pytest.mark.long
def test_the_plane_is_as_good_as_that_of_scikit_learn():
    from sklearn.manifold import TSNE, trustworthiness

    points = blobs()
    plane = tsne(points, perplexity=20.0)
    theirs = TSNE(2, perplexity=20.0, init="pca", method="exact", max_iter=500).fit_transform(
        points
    )
    law = neighbour_law(points, 20.0)
    assert divergence(law, plane) < 1.1 * divergence(law, theirs.astype(float))
    assert trustworthiness(points, plane, n_neighbors=10) > 0.9


def test_nearest_neighbours_are_of_the_same_blob():
    plane = tsne(blobs(30), perplexity=5.0)
    distance = np.linalg.norm(plane[:, None] - plane, axis=2) + np.diag(np.full(30, np.inf))
    assert (distance.argmin(axis=1) // 10 == np.arange(30) // 10).all()


def test_few_points_are_refused():
    with pytest.raises(ValueError, match="the number of points is 3"):
        tsne(np.zeros((3, 2)))
