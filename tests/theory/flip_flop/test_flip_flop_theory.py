"""Networks that remember a bit on all strings, and the limits of attention against brute force."""

import itertools

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.models import Placement, Transformer, TransformerConfig
from minicosm.theory.flip_flop import (
    PositionHead,
    all_strings,
    always_right,
    attention_bound,
    dilution,
    distant_read,
    first_diluted,
    first_failure,
    is_isomorphic,
    monoids,
    n_gram_error,
    n_gram_guesses,
    proposition_3,
    proposition_3_horizon,
    proposition_3_linear,
    proposition_4,
    proposition_4_tight,
    proposition_5,
    proposition_5_exact,
    proposition_5_solution,
    recency_dilution,
    recency_reader,
    recurrent_memory,
    smallest_monoid,
    solution_head,
    solution_transformer,
    two_layer_transformer,
    two_unit_lstm,
    wrong_reads,
)
from minicosm.worlds import FlipFlop, flip_flop


def drawn(length, p_ignore, count, seed=0):
    world = FlipFlop(length, p_ignore=p_ignore)
    draw = jax.jit(jax.vmap(lambda key: world.sample(key).tokens))
    return np.asarray(draw(jax.random.split(jax.random.key(seed), count)))


# -- monoids and windows --------------------------------------------------------------------------------


def test_counts_of_labelled_monoids():
    assert [len(monoids(n)) for n in (1, 2, 3)] == [1, 4, 33]  # OEIS A058153
    theorem = smallest_monoid()
    assert theorem.holds and theorem.details["order 3, non-commutative"] == 6
    assert is_isomorphic(np.array([[0, 1], [1, 0]]), np.array([[1, 0], [0, 1]]))
    assert not is_isomorphic(np.array([[0, 1], [1, 0]]), np.array([[0, 1], [1, 1]]))


def test_the_n_gram_numbers():
    few = [n_gram_guesses(FlipFlop(512, p_ignore=p)) for p in (0.9, 0.98, 0.995)]
    assert all(theorem.holds for theorem in few)
    found = [theorem.details["error of few"] for theorem in few]
    np.testing.assert_allclose(found, [0.5, 0.478, 0.468], atol=6e-4)
    assert n_gram_error(FlipFlop(8, [0.3, 0.2, 0.5]), 4).holds
    assert len(all_strings(12)) == 1250
    with pytest.raises(ValueError, match="world ignores every pair"):
        n_gram_guesses(FlipFlop(8, p_ignore=1.0))


# -- networks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("theorem", [proposition_3, proposition_3_linear, recurrent_memory])
def test_networks_say_every_read(theorem):
    for length in (8,):
        made = theorem(FlipFlop(length, p_ignore=0.5))
        for precise in (True, False):
            found = made.certify(strings=all_strings(length), precise=precise)
            assert found.holds and found.details["cases"] >= 70
    made = theorem(FlipFlop(256, p_ignore=0.5))
    for p in (0.1, 0.98):
        assert made.certify(strings=drawn(256, p, 20), precise=False).holds
    assert not theorem(FlipFlop(8, p_ignore=0.5, symbols=3)).applies


def test_with_a_smaller_constant_the_network_fails_where_the_leak_passes_a_quarter():
    strings = drawn(256, 0.1, 30)
    wrong, reads = wrong_reads(two_layer_transformer(256, 2.2 * 256), strings)
    assert 0.2 < wrong / reads < 0.5
    assert wrong_reads(two_layer_transformer(64, 2.2 * 64), drawn(64, 0.1, 30))[0] == 0


def test_strings_that_are_not_of_the_language_decide_nothing():
    theorem = proposition_3(FlipFlop(8, p_ignore=0.5))
    for string, fault in (
        ([1, 3, 0, 3, 2, 3], "pair 0 stands before the first write"),
        ([0, 3, 2, 3, 1, 4], "pair 2 is a read that does not say what was written last"),
        ([0, 3, 4, 1, 1, 3], "pair 1 is no instruction"),
        ([0, 3, 1], "pairs need an even number"),
    ):
        with pytest.raises(ValueError, match=fault):
            theorem.certify(strings=np.array([string]))


def test_the_mlp_rounds_what_is_within_a_quarter():
    model = two_layer_transformer(8)
    u = np.concatenate([np.linspace(0, 0.25, 11), np.linspace(0.75, 1, 11)])  # a share
    for layer, coordinate in ((0, 6), (1, 0)):
        mlp = jax.tree.map(lambda leaf, at=layer: np.asarray(leaf[at], float), model.layers.mlp)
        row = np.zeros((len(u), 7))
        row[:, coordinate] = u
        rounded = row + np.maximum(row @ mlp.up + mlp.up_bias, 0) @ mlp.down
        np.testing.assert_allclose(rounded[:, coordinate], u > 0.5, atol=1e-12)
        assert not np.delete(rounded, coordinate, axis=1).any()


def test_margins_of_the_two_layers():
    length = 16
    model = two_layer_transformer(length)
    c = 2 * length * np.log(8 * length)
    strings = drawn(length, 0.4, 40)
    with jax.enable_x64(True):
        trace = jax.vmap(model.trace)(strings)
    for string, attention in zip(strings, np.asarray(trace.attention), strict=True):
        flagged = (string == 0) | (np.roll(string, 1) == 0) & (np.arange(length) > 0)
        for layer, (weight, margin) in enumerate(
            [(1.5 * (string == 0), 0.5 * c / length), (length * flagged, c / length)]
        ):
            for i in range(length):
                scores = c / length * (weight + np.arange(length))[: i + 1]
                best = np.sort(scores)[::-1]
                if len(best) > 1:
                    assert best[0] - best[1] >= margin - 1e-9
                np.testing.assert_allclose(
                    attention[layer, 0, i, : i + 1],
                    np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum(),
                    atol=1e-6,
                )


def test_the_horizon():
    theorem = proposition_3_horizon(16)
    assert theorem.holds and theorem.details["first length"] == 20
    model = two_layer_transformer(64, 3 * 64)
    assert wrong_reads(model, distant_read(31)[None]) == (0, 1)
    assert wrong_reads(model, distant_read(32)[None]) == (1, 1)


def test_a_bit_of_the_lstm_lasts_the_longer_the_surer_its_gates():
    string = distant_read(20_000)[None]
    assert wrong_reads(two_unit_lstm(), string, False) == (0, 1)
    assert wrong_reads(two_unit_lstm(10.0), string, False) == (1, 1)


# -- Proposition 4 -----------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
def test_no_weight_is_above_the_bound(seed):
    rng = np.random.default_rng(seed)
    d, T = int(rng.integers(1, 6)), int(rng.integers(1, 60))
    V = rng.normal(size=(T, d))
    V /= np.maximum(np.linalg.norm(V, axis=1, keepdims=True), rng.uniform(0.1, 1))
    theorem = proposition_4(rng.normal(size=(d, d)) * rng.uniform(0, 4), V)
    assert theorem.holds
    assert proposition_4_tight(float(rng.uniform(0, 6)), T + 1).holds
    assert not proposition_4(np.eye(d), 2 * np.ones((T, d))).applies


def test_the_bound_by_hand():
    assert attention_bound(0, 4) == pytest.approx(0.25)
    assert attention_bound(1, 2) == pytest.approx(np.e / (np.e + 1 / np.e))


def test_writes_dilute_and_what_keeps_does_not():
    rng = np.random.default_rng(0)
    for sigma in (0.2, 1.0, 2.0):
        N = int(np.exp(2 * sigma)) + 1
        scores = rng.uniform(-sigma, sigma, N + 1)
        assert dilution(scores, rng.uniform(-5, 5, 20)).holds
    assert not dilution(np.array([0.0, 3.0]), np.zeros(1)).applies
    assert [first_diluted(g) for g in (0.5, 0.69, 0.7)] == [3, 8, np.inf]
    assert all(recency_dilution(g, 60).holds for g in (0.1, 0.5, 0.69, np.log(2), 1.0))


def test_a_transformer_with_recency_errs_from_the_predicted_number_of_writes_on():
    model = recency_reader()
    strings = np.array([N * [1] + [2] + (18 - N) * [0] for N in range(1, 12)])
    read = jax.jit(
        lambda slopes: jax.vmap(lambda s: model.next_logits(s, placement=Placement(slopes)))(
            strings
        )
    )
    for slope, first in ((0.5, 3), (0.69, 8), (0.8, np.inf)):
        logits = np.asarray(read(np.array([slope], np.float32)))
        wrong = logits[:, :, 2] <= logits[:, :, 1]
        for N in range(1, 12):  # at the last write, and after it, where symbols keep
            assert (wrong[N - 1, N:] == (first <= N)).all()


# -- Proposition 5 -----------------------------------------------------------------------------------


def fails_on_a_string(head, longest):
    """The first length of a string, of all, at whose last position the largest score is not on the latest
    setting alone."""
    for T in range(2, longest + 1):
        for string in itertools.product((0, 1, 2), repeat=T - 2):
            for first in (1, 2):
                whole = np.array([first, *string, 0])
                places = np.arange(1, T + 1) / head.C
                rows = np.column_stack([head.embedding[whole], places])
                scores = (head.W_K @ rows.T).T @ (head.W_Q @ rows[-1])
                right = np.flatnonzero(whole)[-1]
                if scores[right] <= np.delete(scores, right).max():
                    return T
    return np.inf


@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1), flat=st.booleans())
def test_pairs_find_what_all_strings_find(seed, flat):
    rng = np.random.default_rng(seed)
    head = PositionHead(*rng.normal(size=(2, 2, 4)), rng.normal(size=(3, 3)), 5.0)
    if flat:
        head = solution_head(3.0)._replace(
            embedding=solution_head(3.0).embedding + 0.01 * rng.normal(size=(3, 2))
        )
    assert first_failure(head, 6) == fails_on_a_string(head, 6)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_a_head_with_curved_positions_fails_by_the_predicted_length(seed):
    rng = np.random.default_rng(seed)
    head = PositionHead(*rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 3)), 5.0)
    theorem = proposition_5(head)
    assert theorem.holds or not theorem.applies


def structured(rng):
    """A head of which each condition of `always_right` is met about as often as not."""
    alpha, gamma = rng.uniform(-1, 1, 3), np.zeros(3)
    beta = rng.uniform(-0.2, 1)
    gamma[1] = beta + rng.choice([0, 1]) * rng.uniform(-0.02, 0.3)
    gamma[2] = gamma[1] + rng.choice([0, 0, 0.05])
    if rng.uniform() < 0.7:
        alpha[2] = alpha[1] + rng.uniform(-0.3, 0.3)
    W_Q = np.zeros((3, 4))
    W_K = np.zeros((3, 4))
    embedding = np.eye(3)
    W_Q[0, 0], W_K[0, :3] = 1, alpha
    W_Q[1, 0], W_K[1, 3] = 1, beta
    W_Q[2, 3], W_K[2, :3] = 1, gamma
    return PositionHead(W_Q, W_K, embedding, 1.0)


def test_the_exact_conditions():
    rng, right = np.random.default_rng(0), 0
    for _ in range(60):
        head = structured(rng)
        assert proposition_5_exact(head, 120).holds
        right += always_right(head).holds
    assert 5 <= right <= 55


def test_a_solution_and_where_it_stops_being_one():
    assert proposition_5_solution(7.0, 0.0, 300).holds
    theorem = proposition_5_solution(7.0, 0.001, 300)
    assert theorem.holds and theorem.details["first failure"] == 85
    assert proposition_5_solution(7.0, -0.05, 300).details["first failure"] == 140
    assert not proposition_5_solution(7.0, -0.001, 300).applies
    model, world = solution_transformer(400), flip_flop.register(0.9)
    draw = jax.jit(jax.vmap(lambda key: world.sample(key, 400)))
    symbols, states = draw(jax.random.split(jax.random.key(0), 20))
    said = np.asarray(jax.jit(jax.vmap(model.next_logits))(symbols)).argmax(axis=-1)
    np.testing.assert_array_equal(said, states)


def test_proposition_4_bounds_the_heads_of_a_transformer():
    """With the scale of its logits, biases of queries and keys as those of a latent that is always 1, and
    latents of any norm, which multiplies sigma by its square."""
    config = TransformerConfig(
        5, layers=1, heads=2, width=8, max_length=32, causal=True, init_std=0.5
    )
    model = jax.jit(lambda key: Transformer(config, key=key))(jax.random.key(0))
    bias = 0.5 * jax.random.normal(jax.random.key(1), model.layers.attention.qkv_bias.shape)
    model = eqx.tree_at(lambda m: m.layers.attention.qkv_bias, model, bias)
    tokens = drawn(32, 0.5, 1)[0]
    trace = jax.jit(lambda t: model.trace(t))(tokens)
    hidden = np.asarray(trace.hidden[0], float)
    latents = hidden - hidden.mean(axis=1, keepdims=True)
    latents /= np.sqrt((latents**2).mean(axis=1, keepdims=True) + 1e-5)
    latents = np.column_stack([latents, np.ones(len(latents))])
    size = np.linalg.norm(latents, axis=1).max()
    attention = jax.tree.map(lambda leaf: np.asarray(leaf[0], float), model.layers.attention)
    for head in range(2):
        query, keys = (
            np.vstack([attention.qkv[:, k, head], attention.qkv_bias[k, head]]) for k in (0, 1)
        )
        M = config.scale * size**2 * keys @ query.T
        theorem = proposition_4(M, latents / size)
        assert theorem.holds
        largest = float(trace.attention[0, head, -1].max())
        assert theorem.details["largest weight"] == pytest.approx(largest, abs=1e-5)
