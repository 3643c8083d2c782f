"""A certified construction counts what it should, and a wrong one does not pass."""

import equinox as eqx
import jax
import numpy as np
import pytest
from path_sums import start_score

from minicosm.adaptation import Classifier, LinearHead
from minicosm.theory import all_sequences, certify, sample_sequences
from minicosm.theory.tuning import statement_3_3, theorem_3_3
from minicosm.worlds import HMM, PosteriorTask, full_rank_world

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
    assert certificate.details["exhaustive"] and certificate.details["sequences"] == 64
    assert certificate.details["skipped"] == certificate.details["impossible"] == 64 - len(possible)
    assert certificate.details["compared"] == sum(abs(s) > 1e-9 for s in possible)
    assert certificate.details["smallest margin"] == pytest.approx(min(map(abs, possible)))
    assert certificate.details["disagreements"] == 0
    assert certificate.error < 1e-12 and certificate.holds is True


def test_a_wrong_head_is_caught():
    right = theorem_3_3(WORLD, TASK).construction
    for change in (lambda b: -b, lambda b: b + 1e-6, lambda b: np.full_like(b, np.nan)):  # NaN last
        wrong = eqx.tree_at(lambda c: c.head.weights, right, change(right.head.weights))
        certificate = certify(WORLD, TASK, wrong, statement_3_3, length=3)
        assert not certificate.error <= 1e-8 and certificate.holds is False
    flipped = eqx.tree_at(lambda c: c.head, right, LinearHead(-right.head.weights))
    certificate = certify(WORLD, TASK, flipped, statement_3_3, length=3)
    assert certificate.details["disagreements"] == certificate.details["compared"] > 0


@pytest.mark.parametrize(
    ("world", "mu", "tokens", "why"),
    [
        (WORLD, np.zeros(3), [[0, 1], [1, 2]], "has an exact score clear of zero"),
        (HMM(np.eye(2), np.eye(2), [0.5, 0.5]), np.ones(2), [[0, 1], [1, 0]], "is in the theorem"),
    ],
)
def test_where_nothing_is_compared_nothing_holds_and_it_says_so(world, mu, tokens, why):
    """The world that stays where it is cannot show two tokens."""
    head = Classifier(LinearHead(np.zeros(world.vocab)), placeholder=True)
    found = certify(world, PosteriorTask(mu), head, statement_3_3, sequences=np.array(tokens))
    assert found.holds is None and found.details["compared"] == 0
    assert f"NOTHING WAS COMPARED, none of 2 sequences {why}" in str(found)


def test_a_failing_identity_does_not_pass_for_undecided():
    """All exact scores are zero, so that no label is compared, and the head says NaN."""
    right = Classifier(LinearHead(np.zeros(WORLD.vocab)), placeholder=True)
    wrong = eqx.tree_at(lambda c: c.head.weights, right, np.full(WORLD.vocab, np.nan))
    found = certify(WORLD, PosteriorTask(np.zeros(3)), wrong, statement_3_3, length=2)
    assert found.details["compared"] == 0 and found.holds is False


def test_chunks_do_not_change_the_answer(monkeypatch):
    import importlib

    module = importlib.import_module("minicosm.theory.certify")  # the package exports the function
    whole = theorem_3_3(WORLD, TASK).certify(length=3)
    monkeypatch.setattr(module, "CHUNK", 50)
    parts = theorem_3_3(WORLD, TASK).certify(length=3)
    assert (parts.details, parts.error, parts.holds) == (whole.details, whole.error, whole.holds)


def test_sampled_sequences_are_possible_and_reproducible():
    key = jax.random.key(3)
    drawn = sample_sequences(WORLD, key, 20, 64)
    np.testing.assert_array_equal(drawn, sample_sequences(WORLD, key, 20, 64))
    certificate = theorem_3_3(WORLD, TASK).certify(key=key, length=20, count=64)
    assert not certificate.details["exhaustive"]
    assert certificate.details["skipped"] == 0 and certificate.details["disagreements"] == 0


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


def test_a_world_that_a_compiled_function_closed_over_can_still_be_certified():
    """JAX 0.10 keeps such arrays in single precision and fails when they come back in double."""
    world = full_rank_world(jax.random.key(5), hidden=3, vocab=4)
    task = PosteriorTask(np.array([1.0, -0.7, 0.2]))
    tokens = jax.jit(lambda key: world.sample(key, 4).tokens)(jax.random.key(0))
    label = jax.jit(lambda x: task.label(world, x))(tokens)
    assert int(label) in (0, 1)
    assert theorem_3_3(world, task).certify(length=2).holds
