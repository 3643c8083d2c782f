"""Moments of masked documents and Stage 1, against enumeration and least squares."""

import itertools

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.theory import topics
from minicosm.theory.topics import embeddings, stage1
from minicosm.worlds import Corruption, TopicWorld

BERT = Corruption()
KEY = jax.random.key(7)


@st.composite
def settings(draw):
    T = draw(st.integers(2, 6))
    world = TopicWorld(T, draw(st.integers(1, 4)), per_document=draw(st.integers(1, T - 1)))
    chosen, kept, random = (draw(st.floats(0.05, 0.45)) for _ in range(3))
    return world, Corruption(2 * chosen, kept, random)


def enumerated(world, corruption, length, keys):
    """E[x x^T] and E[y x^T] of the objective (2.1), over documents, choices and what is shown."""
    V, n = world.vocab + 1, world.vocab
    M, C, mass = np.zeros((V, V)), np.zeros((V, V)), 0.0
    p_m, p_c, p_r = corruption.chosen, corruption.kept, corruption.random
    for theta, weight in mixtures(world):
        word = np.repeat(theta / world.words, world.words)
        each = []  # (probability, chosen, id shown, label)
        for w in range(n):
            each.append((word[w] * (1 - p_m), False, w + 1, w + 1))
            each.append((word[w] * p_m * (1 - p_c - p_r), True, 0, w + 1))
            for s in range(n):
                p = word[w] * p_m * (p_c * (s == w) + p_r / n)
                each.append((p, True, s + 1, w + 1))
        for positions in itertools.product(each, repeat=length):
            p = weight * np.prod([q[0] for q in positions])
            chosen = [q for q in positions if q[1]]
            read = positions if keys == "all" else [q for q in positions if not q[1]]
            if p == 0 or not chosen or not read:
                continue
            x = np.bincount([q[2] for q in read], minlength=V) / len(read)
            y = np.bincount([q[3] for q in chosen], minlength=V) / len(chosen)
            mass += p
            M += p * np.outer(x, x)
            C += p * np.outer(y, x)
    return M / mass, C / mass


def mixtures(world):
    """Mixtures whose second moments are those of the world."""
    if world.per_document is not None:
        sets = world.topic_sets()
        return [(row / row.sum(), 1 / len(sets)) for row in sets]
    assert world.topics == 2  # a law on two points with the moments of the Dirichlet law
    away = np.sqrt(world.moments.same - 0.25)
    return [(np.array([0.5 + s * away, 0.5 - s * away]), 0.5) for s in (1, -1)]


@pytest.mark.parametrize("keys", ["all", "unchosen"])
@pytest.mark.parametrize(
    ("world", "length"),
    [
        (TopicWorld(2, 1, dirichlet=0.3), 3),
        (TopicWorld(2, 2, per_document=1), 2),
        (TopicWorld(3, 1, per_document=2), 2),
    ],
)
def test_moments_are_sums_over_documents(world, length, keys):
    corruption = Corruption(0.4, 0.2, 0.3)
    found = topics.moments(world, corruption, length, keys)
    M, C = enumerated(world, corruption, length, keys)
    # given that a position is left to read, how many are does not depend on the mixture
    np.testing.assert_allclose(found.M, M, atol=1e-10)
    np.testing.assert_allclose(found.C, C, atol=1e-10)


@given(settings())
def test_infinite_documents_are_sums_over_sets(setting):
    world, corruption = setting
    x, y = topics.features(world, corruption), topics.labels(world)
    found = topics.moments(world, corruption)
    np.testing.assert_allclose(found.M, x.T @ x / len(x), atol=1e-14)
    np.testing.assert_allclose(found.C, y.T @ x / len(x), atol=1e-14)
    np.testing.assert_allclose(x @ topics.null_direction(world, corruption), 0, atol=1e-12)
    long = topics.moments(world, corruption, 2**16)
    np.testing.assert_allclose(long.M, found.M, atol=1e-4)


@given(settings(), st.integers(0, 2**31))
def test_stage_1_is_least_squares(setting, seed):
    world, corruption = setting
    x, y = topics.features(world, corruption), topics.labels(world)
    least = np.linalg.lstsq(x, y, rcond=1e-12)[0].T  # the solution of least norm
    W = topics.theorem_2_1_2(world, corruption).construction.value
    np.testing.assert_allclose(W, least, atol=1e-10)
    assert topics.stage1_loss(W, world, corruption) == pytest.approx(world.stage1_loss(), abs=1e-12)
    D = topics.diagonal_value(world, corruption)
    np.testing.assert_allclose(x @ D.T, y, atol=1e-12)
    key = jax.random.key(seed)
    assert topics.lemma_2_1_1(world, corruption, key).holds
    assert topics.lemma_2_1_1_only(world, corruption, key).holds
    assert topics.lemma_2_1_1_broken(world, corruption, key).holds
    assert topics.theorem_2_1_2(world, corruption).certify().holds
    assert topics.theorem_2_1_2_ridge(world, corruption).holds
    assert topics.theorem_2_1_2_signs(world, corruption).holds
    assert topics.proposition_2_1_1(world, corruption).holds
    member = stage1.random_member(world, corruption, np.random.default_rng(seed))
    np.testing.assert_allclose(x @ member.T, y, atol=1e-10)


@pytest.mark.parametrize(
    ("world", "digits"),
    [
        (TopicWorld(10, 10, per_document=3), (0.05419075, 0.10802023, -0.00758671)),
        (TopicWorld(6, 4, per_document=2), (0.10714286, 0.27358588, -0.01543146)),
    ],
)
def test_digits_of_the_block_matrix(world, digits):
    W = topics.block_value(world, BERT)
    np.testing.assert_allclose(W[1, [0, 2, -1]], digits, atol=5e-9)
    at = topics.constants(world, BERT)
    assert W[1, 0] == pytest.approx(1 / (at.k * (at.c2**2 + world.vocab)))


def test_it_does_not_apply_where_all_documents_are_alike():
    alike = TopicWorld(4, 3, per_document=4)
    theorem = topics.theorem_2_1_2(alike, BERT)
    assert not theorem.applies and "all 4 topics are in every document" in str(theorem)
    assert topics.needs_several_documents(alike, BERT).holds
    assert topics.needs_several_documents(TopicWorld(4, 3, per_document=2), BERT).holds is None
    assert not topics.theorem_2_1_2(TopicWorld(4, 3, dirichlet=1.0), BERT).applies
    assert topics.lemma_2_1_1(TopicWorld(4, 3, dirichlet=1.0), BERT, KEY).holds


@given(settings(), st.integers(1, 30))
def test_finite_documents_have_a_diagonal(setting, length):
    world, corruption = setting
    for theorem in (topics.limits_do_not_commute, topics.own_word):
        found = theorem(world, corruption, length)
        assert found.holds is not False, found


def test_digits_of_finite_documents():
    world = TopicWorld(10, 10, dirichlet=0.1)
    given = topics.mean_moments(world, BERT, 100, 150)
    W = np.linalg.solve(given.M, given.C.T).T
    np.testing.assert_allclose(W[1, [1, 2, -1]], (0.21529, 0.10165, -0.00145), atol=5e-6)
    assert stage1.loss_of(W, given) == pytest.approx(0.945322, abs=5e-7)
    penalised = np.linalg.solve(given.M + 1e-4 * np.eye(101), given.C.T).T
    np.testing.assert_allclose(penalised[1, [1, 2, -1]], (0.1516, 0.1043, -0.0025), atol=5e-5)
    assert topics.finite_loss(world, BERT, 125) == pytest.approx(0.9453, abs=5e-4)


@given(settings(), st.integers(1, 40))
def test_gradient_descent_has_a_closed_form(setting, steps):
    world, corruption = setting
    most = 1 / np.linalg.eigvalsh(topics.moments(world, corruption).M)[-1]
    assert topics.gradient_descent(world, corruption, 0.9 * most, steps).holds
    assert topics.gradient_descent(world, corruption, 0.3 * most, steps, 9).holds
    given = topics.moments(world, corruption)
    with pytest.raises(ValueError, match="diverges"):
        topics.value_after(given, 1.1 * most, 3.0)
    late = topics.value_after(given, 0.5 * most, 1e7)
    assert stage1.loss_of(late, given) == pytest.approx(world.stage1_loss(), abs=1e-8)


@given(settings())
def test_constructed_embeddings_are_optimal(setting):
    world, corruption = setting
    for fields in ({}, {"shift": 0.3}, {"diagonal": True}):
        found = topics.theorem_2_1_1(world, corruption, **fields).certify()
        assert found.holds, found
        E = found.construction.embedding.T @ found.construction.embedding
        out = topics.features(world, corruption) @ E + topics.embedding_bias(world, corruption)
        np.testing.assert_allclose(out, topics.labels(world), atol=1e-10)
    assert topics.embedding_example(world, corruption).holds
    printed = topics.embedding_example(world, corruption, as_printed=True)
    assert printed.error == pytest.approx((corruption.k / corruption.a) ** 2, rel=1e-6)


def test_embeddings_that_a_search_finds():
    world = TopicWorld(4, 2, per_document=2)
    for d in (1, 3, 4):
        found = topics.embedding_rank(world, BERT, d, KEY)
        assert found.holds, found
    assert topics.theorem_2_1_1_found(world, BERT, 4, KEY).holds
    assert not topics.theorem_2_1_1_found(world, BERT, 2, KEY).applies
    assert topics.theorem_2_1_1_found(world, BERT, 2, KEY, as_printed=True).holds is False
    assert topics.nonnegative_across(world, BERT, 5, KEY).holds
    found = topics.embedding_minimiser(world, BERT, 2, KEY)
    E = found.W_E.T @ found.W_E
    assert topics.embedding_loss(E, world, BERT) == pytest.approx(found.loss, abs=1e-12)
    model = embeddings.embedding_model(found.W_E, world, BERT)
    assert embeddings.model_loss(model, world, BERT) == pytest.approx(found.loss, abs=1e-12)
