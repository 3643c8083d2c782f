"""Constructed models predict exactly, and say why when they cannot be built."""

import itertools

import jax
import numpy as np
import pytest

from minicosm.theory.dyck import balance, constructions, embeddings, exactness, necessity, weights
from minicosm.worlds import Dyck


def balanced(world, E, sd, seed=0):
    return balance.project(
        sd * np.random.default_rng(seed).normal(size=(E.shape[1],) * 2), E, world
    )


def drawn(world, count, length):
    return np.asarray(exactness.draw(world, jax.random.key(7), count, length))


def law(world, tokens):
    """The next-token law by a stack."""
    stack = []
    for token in tokens:
        stack.pop() if token % 2 else stack.append(token // 2)
    p = float(world.opening[len(stack)])
    found = np.zeros(world.vocab)
    found[::2] = p * np.asarray(world.type_probabilities)
    if stack:
        found[2 * stack[-1] + 1] = 1 - p
    return found


@pytest.mark.long
def test_random_balanced_attention_is_exact_at_length_three_thousand():
    world = Dyck()
    E = embeddings.token_depth_embedding(world)
    model = constructions.exact_dyck(world, E, balanced(world, E, 1.0))
    assert exactness.prediction_errors(model, world, drawn(world, 2, 3000)).max() <= 1e-6


def test_theorem_2_2_1_says_when_it_applies_and_what_came_out():
    world = Dyck(2, 2)
    E = embeddings.token_depth_embedding(world)
    M = balanced(world, E, 0.7)
    strings = drawn(world, 3, 12)
    theorem = exactness.theorem_2_2_1(world, E, M)
    assert theorem.applies and theorem.holds is None
    result = theorem.certify(strings=strings)
    assert result.holds and result.details["cases"] == 3 * 13
    assert result.details["by_length"].shape == (13,)
    assert [
        c.name for c in exactness.theorem_2_2_1(world, E[:, :3], np.zeros((3, 3))).failed()
    ] == ["independent embeddings"]
    unbalanced = exactness.theorem_2_2_1(world, E, np.arange(81.0).reshape(9, 9) ** 0.5)
    assert not unbalanced.applies and unbalanced.construction is None
    wrong = constructions.exact_dyck(Dyck(2, 2, 0.8), E, M)
    assert exactness._predicts(wrong, world)(strings=strings).holds is False


def test_other_statements_about_exact_models():
    world = Dyck(2, 3)
    assert exactness.theorem_2_2_1_width(Dyck()).details["stage 3"] == 82
    assert exactness.onehot_as_printed(world).error == 2
    assert exactness.embeddings_2_55_to_2_57(world).holds
    rng = np.random.default_rng(0)
    printed = exactness.independence_as_printed(world, *rng.normal(size=(2, 5, 5)))
    assert printed.applies and printed.holds is False
    E = rng.normal(size=(13, 13))
    assert exactness.residual_leak(world, E).holds
    assert exactness.residual_leak(world, E, printed=True).error > 0.1


def test_predictions_against_a_stack_in_plain_python():
    world = Dyck(2, 3, [1, 0.6, 0.2, 0], [0.7, 0.3])
    E = embeddings.token_depth_embedding(world, "random", seed=1)
    strings = drawn(world, 2, 12)
    models = (
        constructions.exact_dyck(world, E, balanced(world, E, 0.7)),
        constructions.uniform_dyck(world),
    )
    for model, tokens in itertools.product(models, strings):
        pairs = exactness.reads_pairs(model, world)
        ids = embeddings.pair_ids(world, tokens) if pairs else tokens
        with jax.enable_x64(True):
            start = world.pairs if pairs else world.vocab
            found = np.exp(np.asarray(model.next_logits(np.append(start, ids))))
        wanted = [law(world, tokens[:i]) for i in range(len(tokens) + 1)]
        assert np.abs(found - wanted).max() <= 1e-9


@pytest.mark.parametrize(("k", "D"), [(3, 2), (1, 1)])
def test_other_sizes_are_exact_too(k, D):
    world = Dyck(k, D, 0.4)
    E = embeddings.token_depth_embedding(world)
    strings = drawn(world, 3, 40)
    for model in (
        constructions.exact_dyck(world, E, balanced(world, E, 1.0)),
        constructions.uniform_dyck(world),
    ):
        assert exactness.prediction_errors(model, world, strings).max() <= 1e-9


def test_embeddings_wider_than_needed_and_generic():
    world = Dyck(2, 2)
    E = np.random.default_rng(5).normal(size=(world.pairs + 1, 13))
    model = constructions.exact_dyck(world, E, balanced(world, E, 0.2))
    assert exactness.prediction_errors(model, world, drawn(world, 3, 40)).max() <= 1e-6


def test_least_coordinate_against_all_stacks():
    world = Dyck(3, 4)
    E = embeddings.token_depth_embedding(world)
    M = balanced(world, E, 1.0)
    least = 1.0
    for j, d in itertools.product(range(3), range(1, 4)):
        query = E[embeddings.closed_ids(world)[j, d]]
        for stack in itertools.product(range(3), repeat=d):
            weight = np.exp(
                [E[embeddings.open_ids(world)[t, s]] @ M @ query for s, t in enumerate(stack)]
            )
            least = min(least, (weight / np.linalg.norm(weight)).min())
    assert np.isclose(constructions.least_coordinate(world, E, M), least)


def test_the_printed_directions_leak():
    world = Dyck()
    E = np.random.default_rng(0).normal(size=(17, 17))
    closed = E[embeddings.query_ids(world)]
    assert np.abs(closed @ constructions.stack_directions(world, E).T).max() < 1e-12
    assert np.abs(closed @ constructions.stack_directions(world, E, printed=True).T).max() > 0.5
    model = constructions.exact_dyck(world, E, np.zeros((17, 17)), printed_directions=True)
    assert exactness.prediction_errors(model, world, drawn(world, 3, 40)).max() > 0.1


def test_identity_layers_change_nothing():
    world = Dyck(3, 2, 0.4)
    model = weights.with_identity_layers(constructions.uniform_dyck(world), 2)
    assert model.config.layers == 6
    assert exactness.prediction_errors(model, world, drawn(world, 3, 40)).max() <= 1e-9


def test_balance_is_not_needed_where_values_are_zero():
    world = Dyck()
    E = embeddings.token_depth_embedding(world)
    heard = np.ones((2, 4), bool)
    heard[:, -1] = False
    M = balance.project(np.random.default_rng(2).normal(size=(17, 17)), E, world, which=heard)
    assert np.abs(balance.residuals(M, E, world)[:, -1]).max() > 0.1
    # Twins that differ in the type on top, after which a hundred pairs of depth 4 stand.
    strings = np.array(
        [[0, 0, 2 * top, *[2 * t, 2 * t + 1] * 100] for top in (0, 1) for t in (0, 1)]
    )
    silent = constructions.exact_dyck(world, E, M, silent_types=(0, 1))
    assert exactness.prediction_errors(silent, world, strings).max() <= 1e-9
    loud = weights.with_logits(constructions.exact_dyck(world, E, balance.project(M, E, world)), M)
    assert exactness.prediction_errors(loud, world, strings).max() > 0.1


def test_values_have_to_be_nonzero_for_all_tokens():
    """The hypothesis is printed for the first k of 2k tokens: with two types those of the first
    type. Silence of the second type at depth D leaves the model exact and M out of balance
    there."""
    world = Dyck()
    E = embeddings.token_depth_embedding(world)
    heard = np.ones((2, 4), bool)
    heard[1, -1] = False
    M = balance.project(np.random.default_rng(2).normal(size=(17, 17)), E, world, which=heard)
    theorem = exactness.theorem_2_2_1(world, E, M, silent_types=(1,))
    values = E @ necessity.first_weights(theorem.construction)[2]
    sizes = np.linalg.norm(values - values.mean(axis=1, keepdims=True), axis=1)
    assert sizes[:8].min() > 1e-3 and theorem.certify(strings=drawn(world, 3, 40)).holds
    assert np.abs(balance.residuals(M, E, world)).max() > 0.1


def test_points_that_the_first_layer_tells_apart():
    world = Dyck()
    for width, least in ((5, 0.0858), (17, 0.01)):
        points = constructions.depth_points(world, width)
        gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)[~np.eye(17, dtype=bool)]
        assert gaps.min() >= least
    assert exactness.corollary_2_2_1_first_layer(
        world, constructions.uniform_dyck(world), np.array([0, 2, 3])
    ).details["distance"] == pytest.approx(0.08583, abs=1e-5)


def test_uniform_attention_is_uniform_and_its_first_layer_is_one_hot():
    world = Dyck(3, 2, 0.4)
    tokens = drawn(world, 1, 20)[0]
    with jax.enable_x64(True):
        trace = constructions.uniform_dyck(world).trace(np.append(world.vocab, tokens))
        hidden, attention = np.asarray(trace.hidden[1]), np.asarray(trace.attention)
    ids = np.append(world.pairs, embeddings.pair_ids(world, tokens))
    assert np.abs(hidden - np.eye(world.pairs + 1)[ids]).max() <= 1e-9
    rows = np.tril(np.ones((21, 21)))
    assert np.allclose(attention, rows / rows.sum(axis=1, keepdims=True))


def test_one_layer_without_a_start_token_cannot_tell_a_string_from_its_double():
    world = Dyck(2, 2)
    rng = np.random.default_rng(0)
    E, V = rng.normal(size=(9, 6)), rng.normal(size=(6, 6))
    tokens = np.array([0, 2, 3, 1])
    once = necessity.keys_of(world, tokens, start=False)
    twice = necessity.keys_of(world, np.concatenate([tokens, tokens]), start=False)
    uniform, generic = np.zeros((6, 6)), rng.normal(size=(6, 6))
    assert necessity.separation((once, twice), E, uniform, V) < 1e-12
    assert necessity.separation((once, twice), E, generic, V) < 1e-12
    starts = [necessity.keys_of(world, t) for t in (tokens, np.concatenate([tokens, tokens]))]
    assert necessity.separation((starts[0], starts[1]), E, uniform, V) > 1e-3


@pytest.mark.parametrize("rho", [2.0, 3.0])
def test_geometric_attention_points_at_the_top_of_the_stack(rho):
    world = Dyck(3, 4)
    model = constructions.geometric_dyck(world, rho)
    for tokens in drawn(world, 3, 40):
        with jax.enable_x64(True):
            ids = np.append(world.pairs, embeddings.pair_ids(world, tokens))
            logits = np.asarray(model.next_logits(ids))
        for i in range(1, len(tokens) + 1):
            closing = law(world, tokens[:i])[1::2]
            if closing.any():
                assert logits[i, 1::2].argmax() == closing.argmax()


def test_printed_one_hot_vectors_collide_and_ours_do_not():
    world = Dyck(2, 4)
    printed = embeddings.printed_onehot(world)
    for t in range(2):
        assert np.array_equal(
            printed[embeddings.closed_ids(world)[t, 0]], printed[embeddings.open_ids(world)[t, 3]]
        )
    for kind, rank in (("onehot", 16), ("sum", 8), ("yao", 6), ("random", 16)):
        rows = embeddings.token_depth_embedding(world, kind, seed=0)
        assert len(np.unique(rows.round(9), axis=0)) == 17
        assert np.linalg.matrix_rank(rows[:-1]) == rank


def test_bad_input_is_a_sentence(unchecked_types):
    world = Dyck()
    E = embeddings.token_depth_embedding(world)
    M = np.random.default_rng(0).normal(size=(17, 17))
    with pytest.raises(ValueError, match=r"M is not balanced: .* varies by"):
        constructions.exact_dyck(world, E, M)
    with pytest.raises(
        ValueError, match="embeddings have rank 9; they must be linearly independent"
    ):
        dependent = embeddings.token_depth_embedding(world, "sum")
        constructions.exact_dyck(world, dependent, np.zeros((dependent.shape[1],) * 2))
    with pytest.raises(ValueError, match="M has shape"):
        constructions.exact_dyck(world, E, np.eye(3))
    with pytest.raises(ValueError, match="at least 2"):
        constructions.geometric_dyck(world, 1.5)
    with pytest.raises(ValueError, match="kind is 'onehott'"):
        embeddings.token_depth_embedding(world, "onehott")
    with pytest.raises(ValueError, match="needs a seed"):
        embeddings.token_depth_embedding(world, "random")
    with pytest.raises(ValueError, match="input rows"):
        exactness.prediction_errors(
            constructions.uniform_dyck(Dyck(3, 2)), world, np.zeros((1, 3), int)
        )
