"""Heads, prompts and their scores refuse what they cannot mean, in one sentence."""

import jax
import numpy as np
import pytest

from minicosm.adaptation import (
    AttentionHead,
    Classifier,
    LinearHead,
    SoftPrompt,
    accuracy,
    logistic_regression,
)
from minicosm.worlds import HMM

pytestmark = pytest.mark.usefixtures("unchecked_types")

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(40, 2))
LABELS = (FEATURES[:, 0] > 0).astype(int)
SCORES = np.stack([-FEATURES[:, 0], FEATURES[:, 0]], axis=1)
WORLD = HMM.random(jax.random.key(0), hidden=3, vocab=4)
HEAD = Classifier(LinearHead(np.ones(4)), placeholder=True)


def test_the_right_labels_are_all_right():
    assert float(accuracy(SCORES, LABELS)) == 1.0
    assert float(accuracy(SCORES[:, 1], LABELS)) == 1.0
    assert float(accuracy(SCORES, LABELS > 0)) == 1.0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: accuracy(SCORES, LABELS[:, None]), "labels have shape (40, 1)"),
        (lambda: accuracy(SCORES, LABELS[:-1]), "labels have shape (39,)"),
        (lambda: accuracy(SCORES, None), "labels is None"),
        (lambda: accuracy(SCORES, LABELS + 0.5), "float64"),
        (lambda: accuracy(SCORES, LABELS + 1), "labels lie in 1..2; need 0..1"),
        (lambda: accuracy(SCORES * np.nan, LABELS), "scores hold a NaN"),
        (lambda: accuracy("abc", LABELS), "scores is 'abc'"),
        (lambda: logistic_regression(FEATURES, LABELS * np.nan), "labels is of dtype float64"),
        (lambda: logistic_regression(FEATURES, None), "labels is None"),
        (lambda: logistic_regression(FEATURES * np.inf, LABELS), "features"),
        (lambda: logistic_regression(FEATURES, LABELS, 2**40), "at most 16384"),
        (lambda: logistic_regression(FEATURES, LABELS, ridge=np.nan), "ridge is nan"),
        (lambda: LinearHead(None), "weights is None"),
        (lambda: LinearHead(np.ones(3), np.ones(2)), "bias has shape (2,)"),
        (lambda: SoftPrompt("abc"), "parameters is 'abc'"),
        (lambda: SoftPrompt(np.ones(3)), "parameters has shape (3,)"),
        (lambda: SoftPrompt(np.ones((1, 3)), squash="no"), "squash"),
        (lambda: AttentionHead(np.ones(2), np.ones((3, 4)), np.eye(4), np.ones(4)), "key has"),
        (lambda: Classifier(None), "head is None"),
        (lambda: Classifier(LinearHead(np.ones(4)), placeholder="no"), "placeholder is 'no'"),
        (lambda: HEAD.scores(None, [0, 1]), "model is NoneType; it must have embed, predict"),
        (lambda: HEAD.scores(WORLD, np.array([0, 9])), "token 9 at index 1"),
        (lambda: HEAD.scores(WORLD, np.array([0.0, 1.0])), "tokens is of dtype float64"),
    ],
)
def test_what_heads_are_given_is_checked(call, said):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert said in str(caught.value) and "\n" not in str(caught.value)
