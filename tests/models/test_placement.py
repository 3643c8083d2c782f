"""Recency slopes, offsets and rows of positions: what they do to a Transformer, against a loop in NumPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import random_models
from numpy_transformer import forward

from minicosm.models import (
    CachedTransformer,
    Placement,
    Transformer,
    TransformerConfig,
    from_arrays,
    recency_slopes,
    to_arrays,
)
from minicosm.models.positions import sinusoids

SLOPES = np.array([0.7, 0.1])
SHAPE = {"layers": 2, "heads": 2, "width": 8, "max_length": 12}


@pytest.mark.parametrize("causal", [True, pytest.param(False, marks=pytest.mark.long)])
def test_slopes_are_those_of_a_loop_over_heads_and_positions(causal):
    """Streams, weights and logits, at all positions and at some."""
    config = TransformerConfig(5, causal=causal, positions="sinusoidal", **SHAPE)
    model = random_models.transformer(config)
    tokens = np.array([0, 3, 1, 1, 4, 2])
    placement = Placement(slopes=SLOPES)

    @jax.jit
    def both(model):
        trace = model.trace(tokens, placement=placement)
        some = model.logits(model.embed(tokens), jnp.array([1, 4]), placement=placement)
        return trace, some

    with jax.enable_x64(True):
        trace, some = both(model)
        rows = np.asarray(model.embed(tokens))
    logits, streams, weights = forward(config, to_arrays(model), rows, slopes=SLOPES)
    np.testing.assert_allclose(trace.logits, logits, atol=1e-10)
    np.testing.assert_allclose(trace.hidden, streams, atol=1e-10)
    np.testing.assert_allclose(trace.attention, weights, atol=1e-10)
    np.testing.assert_allclose(some, logits[[1, 4]], atol=1e-10)
    assert np.abs(logits - forward(config, to_arrays(model), rows)[0]).max() > 1e-3


@pytest.mark.parametrize(
    "kind",
    [
        "linear",
        "rotary",
        *(pytest.param(k, marks=pytest.mark.long) for k in ("learned", "sinusoidal")),
    ],
)
def test_an_offset_is_what_hidden_positions_before_the_string_do(kind):
    """Referee: the string after three positions that nobody may read."""
    config = TransformerConfig(5, causal=True, positions=kind, **SHAPE)
    model = random_models.transformer(config)
    tokens = np.array([2, 0, 4, 1])
    before = np.array([3, 3, 1, *tokens])

    @jax.jit
    def both(model, offset):
        moved = model.logits(model.embed(tokens), placement=Placement(SLOPES, offset))
        visible = np.arange(7) >= 3
        whole = model.logits(model.embed(before), visible=visible, placement=Placement(SLOPES))
        return moved, whole[3:], model.logits(model.embed(tokens), placement=Placement(SLOPES))

    with jax.enable_x64(True):
        moved, whole, unmoved = map(np.asarray, both(model, 3))
    np.testing.assert_allclose(moved, whole, atol=1e-9)
    relative = kind == "rotary"
    assert (np.abs(moved - unmoved).max() < 1e-9) == relative


def test_rows_take_the_place_of_the_sinusoids():
    config = TransformerConfig(5, causal=True, positions="sinusoidal", **SHAPE)
    model = random_models.transformer(config)
    bare = TransformerConfig(5, causal=True, positions="none", **SHAPE)
    arrays = to_arrays(model)
    del arrays["position_scale"]
    tokens = np.array([2, 0, 4, 1])

    @jax.jit
    def run(model, none):
        def at(**given):
            return model.next_logits(tokens, placement=Placement(**given))

        waves = sinusoids(9, config.width)
        pairs = [
            (at(rows=waves), model.next_logits(tokens)),
            (at(rows=waves, offset=jnp.int32(5)), at(offset=jnp.int32(5))),
            (at(rows=0 * waves), none.next_logits(tokens)),
        ]
        return [jnp.abs(one - other).max() for one, other in pairs]

    with jax.enable_x64(True):
        assert max(map(float, run(model, from_arrays(bare, arrays)))) < 1e-9


def test_models_with_and_without_share_a_program():
    config = TransformerConfig(5, causal=True, positions="sinusoidal", **SHAPE)
    model = random_models.transformer(config)
    programs = []

    @jax.jit
    def run(model, placement):
        programs.append(1)
        return model.next_logits(np.array([1, 2, 3]), placement=placement)

    waves = sinusoids(6, config.width).astype(np.float32)
    found = [
        run(model, Placement(slopes * SLOPES, jnp.int32(offset), rows * waves))
        for slopes, offset, rows in ((0, 0, 1), (1, 0, 1), (0, 2, 1), (0, 0, 0))
    ]
    assert len(programs) == 1
    plain = jax.jit(lambda model: model.next_logits(np.array([1, 2, 3])))(model)
    np.testing.assert_allclose(found[0], plain, atol=1e-4)
    for i in range(4):
        for j in range(i):
            assert np.abs(found[i] - found[j]).max() > 1e-3


def test_nothing_is_computed_where_there_is_no_placement():
    config = TransformerConfig(5, causal=True, positions="sinusoidal", **SHAPE)
    model = random_models.transformer(config)

    def program(placement):
        return str(
            jax.make_jaxpr(lambda m: m.next_logits(np.arange(4), placement=placement))(model)
        )

    assert program(None) == program(Placement())
    assert len(program(Placement(SLOPES))) > len(program(None))


@pytest.mark.parametrize(
    "kind",
    [
        "sinusoidal",
        *(pytest.param(k, marks=pytest.mark.long) for k in ("learned", "linear", "rotary")),
    ],
)
def test_token_by_token_is_the_whole_string(kind):
    """With slopes and an offset, by `begin` with another first token, by `read` and in one pass."""
    config = TransformerConfig(3, causal=True, positions=kind, extra_inputs=2, **SHAPE)
    model = random_models.transformer(config)
    placement = Placement(SLOPES, 4)
    string = np.array([4, 0, 3, 2])

    @jax.jit
    def run(model):
        generator = CachedTransformer(model, start=0, placement=placement)
        memory = generator.begin(3, int(string[0]))
        for n, token in enumerate(string[1:]):
            memory = generator.read(memory, jnp.int32(n), jnp.int32(token))
        other = CachedTransformer(model, start=4, placement=placement)
        at_once = other.begin_after(3, jnp.asarray(string[1:]))
        whole = model.next_logits(string, placement=placement)
        return memory.logits, at_once.logits, whole

    with jax.enable_x64(True):
        by_token, at_once, whole = map(np.asarray, run(model))
    np.testing.assert_allclose(by_token, whole, atol=1e-9)
    np.testing.assert_allclose(at_once, whole, atol=1e-9)


def test_slopes_of_alibi():
    np.testing.assert_allclose(recency_slopes(8), [2.0**-h for h in range(1, 9)])
    np.testing.assert_allclose(recency_slopes(4), [1 / 4, 1 / 16, 1 / 64, 1 / 256])


@pytest.mark.long
def test_members_of_an_ensemble_have_their_own():
    """Referee: each member alone."""
    config = TransformerConfig(5, causal=True, positions="sinusoidal", **SHAPE)
    models = eqx.filter_vmap(lambda key: Transformer(config, key=key))(
        jax.random.split(jax.random.key(0), 2)
    )
    placement = Placement(np.stack([SLOPES, 0 * SLOPES]), np.array([0, 3]))

    @eqx.filter_jit
    def run(model, placement):
        return model.next_logits(np.array([1, 2, 3]), placement=placement)

    both = eqx.filter_vmap(run)(models, jax.tree.map(jnp.asarray, placement))
    for i in range(2):
        model = jax.tree.map(lambda leaf, i=i: leaf[i], models)
        alone = run(model, Placement(placement.slopes[i], int(placement.offset[i])))
        np.testing.assert_allclose(both[i], alone, atol=1e-5)


def test_bad_placements():
    learned, waves = (
        random_models.transformer(TransformerConfig(5, causal=True, positions=kind, **SHAPE))
        for kind in ("learned", "sinusoidal")
    )
    for model, given, sentence in [
        (learned, {"slopes": np.ones(1)}, r"slopes has shape \(1,\); this model has 2 heads"),
        (learned, {"slopes": np.array([1, np.nan])}, r"slopes\[1\] is nan"),
        (learned, {"offset": -1}, "offset is -1"),
        (learned, {"offset": np.arange(2)}, r"offset has shape \(2,\)"),
        (learned, {"offset": 10}, "offset is 10; with 3 positions after it"),
        (learned, {"rows": np.zeros((9, 8))}, "this model's are 'learned'"),
        (waves, {"rows": np.zeros((2, 8))}, r"rows has shape \(2, 8\).* n >= 3"),
        (waves, {"rows": np.zeros((4, 8)), "offset": 2}, "n >= 5"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            model.next_logits(np.array([0, 1, 2]), placement=Placement(**given))
    with pytest.raises(ValueError, match="this model has 2 heads"):
        CachedTransformer(learned, start=0, placement=Placement(slopes=np.ones(1)))
    with pytest.raises(ValueError, match=r"start is 7; it must lie in 0\.\.4"):
        CachedTransformer(learned, start=0).begin(2, 7)
