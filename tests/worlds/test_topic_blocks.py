"""Statistics of matrices over words and of attention, on planted ones."""

import numpy as np
import pytest

from minicosm.worlds import block_statistics, cosines, pair_attention, topic_pairs

LABELS = np.repeat(np.arange(4), 5)
SAME = LABELS[:, None] == LABELS


def test_planted_blocks_are_measured():
    matrix = np.where(SAME, 2.0, -1.0)
    np.fill_diagonal(matrix, 7.0)
    found = block_statistics(matrix, LABELS)
    assert (found.diagonal, found.same, found.different) == (7, 2, -1)
    assert found.block == pytest.approx((7 + 4 * 2) / 5)
    assert found.contrast == pytest.approx(4) and found.off_diagonal == pytest.approx(3)
    assert found.z > 5 and found.off_diagonal_z > 5


def test_noise_and_a_bare_diagonal_are_no_blocks():
    rng = np.random.default_rng(0)
    zs = np.array([block_statistics(rng.normal(size=(20, 20)), LABELS)[6:] for _ in range(200)])
    assert np.abs(zs.mean(axis=0)).max() < 0.3 and zs.std(axis=0) == pytest.approx(1, abs=0.2)
    diagonal = 5 * np.eye(20) + 0.1 * rng.normal(size=(20, 20))
    found = block_statistics(diagonal, LABELS)
    assert abs(found.off_diagonal_z) < 4 < found.contrast / 0.1


def test_z_is_that_of_relabelled_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 20))
    values = []
    for _ in range(2000):
        rows = rng.permutation(LABELS)
        same = rows[:, None] == LABELS
        values.append(X[same].mean() - X[~same].mean())
    found = block_statistics(X, LABELS)
    assert found.contrast / found.z == pytest.approx(np.std(values), rel=0.1)


def test_pairs_of_words_by_topic():
    several = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], bool)
    relation = topic_pairs(several)
    assert relation.same.sum() == 4 and relation.same[0, 1] and relation.same[1, 2]
    assert relation.different.sum() == 2 and relation.different[0, 2]
    one = topic_pairs(np.array([0, 0, 1, -1]))
    assert one.same[0, 1] and not one.same[3].any() and not one.different[3].any()


def test_planted_attention_is_measured_by_word_not_by_position():
    """Documents in which words of one topic get twice the weight; a shift of ids would halve the ratio."""
    rng = np.random.default_rng(2)
    documents, weights = [], []
    for length in (6, 12, 20):
        words = rng.integers(0, 20, length)
        raw = np.where(LABELS[words][:, None] == LABELS[words], 2.0, 1.0)
        documents.append(words)
        weights.append(raw)  # not normalised, so that the ratio is exact
    found = pair_attention(weights, documents, 20, debias=False)
    relation = topic_pairs(LABELS)
    assert found.mean(relation.same) / found.mean(relation.different) == pytest.approx(2)
    shifted = [(words + 3) % 20 for words in documents]
    wrong = pair_attention(weights, shifted, 20, debias=False)
    assert wrong.mean(relation.same) / wrong.mean(relation.different) < 1.8
    flat = [np.full((len(d), len(d)), 1 / len(d)) for d in documents]
    even = pair_attention(flat, documents, 20)
    for related in relation:
        assert even.mean(related) == pytest.approx(0.01)


def test_cosines_of_rows():
    rows = np.array([[3.0, 4.0], [4.0, -3.0], [0.0, 0.0]])
    np.testing.assert_allclose(cosines(rows), [[1, 0, 0], [0, 1, 0], [0, 0, 0]], atol=1e-12)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: block_statistics(np.eye(3), np.array([0, -1, 1])), "the word is in no topic"),
        (
            lambda: block_statistics(np.eye(3), np.array([0, 1])),
            "a row and a column for every label",
        ),
        (lambda: block_statistics(np.eye(2), np.array([1, 1])), "at least two topics"),
        (lambda: topic_pairs(np.array([-1, -1])), "labels give no word a topic"),
        (lambda: pair_attention([np.eye(2)], [np.array([0, 5])], 3), "documents"),
        (lambda: pair_attention([np.eye(3)], [np.array([0, 1])], 3), "attention"),
    ],
)
@pytest.mark.usefixtures("unchecked_types")
def test_bad_input_meets_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
