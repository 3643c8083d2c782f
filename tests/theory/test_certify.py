"""The certificate counts what it should, and a wrong construction does not pass."""

import equinox as eqx
import jax
import numpy as np
import pytest
from path_sums import start_score

from minicosm.adaptation import LinearHead
from minicosm.theory import all_sequences, certify, sample_sequences
from minicosm.theory.tuning import statement_3_3, theorem_3_3
from minicosm.worlds import PosteriorTask, full_rank_world

WORLD = full_rank_world(jax.random.key(0), hidden=3, vocab=4)
TASK = PosteriorTask(np.array([1.0, -0.7, 0.2]))


def test_all_sequences_are_all_of_them_once():
    sequences = all_sequences(3, 4)
    assert sequences.shape == (81, 4)
    assert len({tuple(row) for row in sequences.tolist()}) == 81
    assert sequences.tolist()[5] == [0, 0, 1, 2]


def test_too_many_sequences_are_refused():
    with pytest.raises(ValueError, match="10000000 sequences of length 7"):
        all_sequences(10, 7)


def test_counts_are_those_of_enumeration():
    scores = [start_score(WORLD, TASK.mu.tolist(), x)[0] for x in all_sequences(4, 3).tolist()]
    certificate = theorem_3_3(WORLD, TASK).certify(length=3)
    possible = [s for s in scores if s is not None]
    assert certificate.exhaustive and certificate.sequences == 64
    assert certificate.skipped == certificate.details["impossible"] == 64 - len(possible)
    assert certificate.compared == sum(abs(s) > 1e-9 for s in possible)
    assert certificate.smallest_margin == pytest.approx(min(map(abs, possible)))
    assert certificate.disagreements == 0 and certificate.agreement == 1
    assert certificate.largest_error < 1e-12


def test_a_wrong_head_is_caught():
    right = theorem_3_3(WORLD, TASK).construction
    for change in (lambda b: -b, lambda b: b + 1e-6, lambda b: np.full_like(b, np.nan)):
        wrong = eqx.tree_at(lambda c: c.head, right, LinearHead(change(right.head.weights)))
        certificate = certify(WORLD, TASK, wrong, statement_3_3, length=3)
        assert certificate.largest_error > 1e-8
    flipped = eqx.tree_at(lambda c: c.head, right, LinearHead(-right.head.weights))
    certificate = certify(WORLD, TASK, flipped, statement_3_3, length=3)
    assert certificate.disagreements == certificate.compared > 0


def test_chunks_do_not_change_the_answer(monkeypatch):
    import importlib

    module = importlib.import_module("minicosm.theory.certify")  # the package exports the function
    whole = theorem_3_3(WORLD, TASK).certify(length=3)
    monkeypatch.setattr(module, "CHUNK", 50)
    assert theorem_3_3(WORLD, TASK).certify(length=3) == whole


def test_sampled_sequences_are_possible_and_reproducible():
    key = jax.random.key(3)
    drawn = sample_sequences(WORLD, key, 20, 64)
    np.testing.assert_array_equal(drawn, sample_sequences(WORLD, key, 20, 64))
    certificate = theorem_3_3(WORLD, TASK).certify(key=key, length=20, count=64)
    assert not certificate.exhaustive
    assert certificate.skipped == 0 and certificate.disagreements == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give length"),
        ({"length": 3, "key": jax.random.key(0)}, "give length"),
        ({"sequences": np.array([[0, 4]])}, "outside the vocabulary"),
        ({"sequences": np.zeros((0, 3), int)}, "must have shape"),
    ],
)
def test_bad_sequences_are_refused_in_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        theorem_3_3(WORLD, TASK).certify(**arguments)
