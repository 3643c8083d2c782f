"""The objectives against closed forms, and exact targets against sampled ones."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import Neighbours

from minicosm.decoding import Ancestral, sample
from minicosm.models import CachedTransformer, Transformer, TransformerConfig, from_arrays
from minicosm.models.weights import shapes
from minicosm.training import CausalObjective, MaskedObjective, adamw, fit
from minicosm.worlds import HMM, Dyck, MemoryHMM, masked_loss


def world(seed=0):
    """Drawn by NumPy, which has nothing to compile."""
    draw = np.random.default_rng(seed)
    A, W = draw.dirichlet(np.ones(3), 3).T, draw.dirichlet(np.ones(4), 3).T
    return HMM(A, W, draw.dirichlet(np.ones(3)))


def model(seed=0, **fields):
    shape = {"vocab": 4, "layers": 1, "heads": 2, "width": 8, "max_length": 8, "init_std": 0.3}
    config, draw = TransformerConfig(**(shape | fields)), np.random.default_rng(seed)
    arrays = {name: 0.3 * draw.normal(size=size) for name, size in shapes(config).items()}
    return from_arrays(config, arrays)


class Copier(eqx.Module):
    """Predicts the token it is shown, and the uniform law where it is shown the mask."""

    vocab: int = 4

    def embed(self, tokens, observed=None):
        return jax.nn.one_hot(tokens, self.vocab) * observed[:, None]

    def predict(self, embeddings, at):
        rows = embeddings[at]
        seen = rows.sum(axis=1, keepdims=True) > 0
        return jnp.where(seen, 0.97 * rows + 0.01 * (1 - rows), 1 / self.vocab)


# -- the metrics ------------------------------------------------------------------------------


def test_the_first_position_can_always_be_masked():
    """The others are uniform: each of 5 is one of 2 more with probability 2/5."""
    objective = MaskedObjective(world(), length=6, rate=0.5, exact=True, first=True)

    class Places:  # a model that puts out where it is asked
        vocab = world().vocab

        def embed(self, tokens, observed):
            return observed[:, None].astype(float)

        def predict(self, embeddings, at):
            return jnp.where(jnp.arange(self.vocab) == 0, at[:, None] + 1.0, 1.0)

    keys = jax.random.split(jax.random.key(0), 4000)
    found = jax.vmap(lambda key: objective.predictions(Places(), key).log_laws[:, 0])(keys)
    places = np.round(np.exp(np.asarray(found))).astype(int) - 1
    shares = np.bincount(places.ravel(), minlength=6) / len(keys)
    assert shares[0] == 1 and all(len(set(row)) == 3 for row in places.tolist())
    np.testing.assert_allclose(shares[1:], 0.4, atol=5 * np.sqrt(0.24 / len(keys)))


@pytest.mark.parametrize("kind", [MaskedObjective, CausalObjective])
def test_the_exact_world_has_no_excess_loss(kind):
    draw = np.random.default_rng(1)  # one cell of two values, two states
    A, W = draw.dirichlet(np.ones(2), 2).T, draw.dirichlet(np.ones(4), (2, 2)).transpose(2, 0, 1)
    exact = MemoryHMM(A, W, draw.dirichlet(np.ones(2)), draw.dirichlet(np.ones(2)))
    objective = kind(exact, length=7, batch=8)
    loss, metrics = eqx.filter_jit(objective)(exact, jax.random.key(2), 0)
    assert float(loss) > 0.1
    assert abs(float(metrics["excess"])) < 1e-5
    assert float(metrics["tv"]) < 1e-5
    assert float(metrics["tokens"]) == 7 * 8


def test_masked_loss_of_the_exact_world_is_the_worlds_optimum():
    objective = MaskedObjective(world(), length=9, batch=1000, rate=0.3, exact=True)
    found, _ = eqx.filter_jit(objective)(world(), jax.random.key(0), 0)
    optimum = masked_loss(world(), jax.random.key(1), rate=0.3, length=9, count=2000)
    assert abs(float(found) - optimum.mean) < 3 * (optimum.high - optimum.mean)


def test_excess_and_total_variation_of_masked_prediction_in_closed_form():
    """With every token hidden the law of position i is W A^i p0 under either world."""
    truth, other = world(0), world(1)
    A, W, p0 = (np.asarray(x) for x in (truth.A, truth.W, truth.p0))
    B, U, r0 = (np.asarray(x) for x in (other.A, other.W, other.p0))
    kl = tv = entropy = 0.0
    for i in range(1, 5):
        p = W @ np.linalg.matrix_power(A, i) @ p0
        q = U @ np.linalg.matrix_power(B, i) @ r0
        kl += p @ np.log(p / q) / 4
        tv += np.abs(p - q).sum() / 8
        entropy -= p @ np.log(p) / 4
    objective = MaskedObjective(truth, length=4, batch=3, rate=1.0, exact=True)
    loss, metrics = eqx.filter_jit(objective)(other, jax.random.key(0), 0)
    assert float(metrics["excess"]) == pytest.approx(kl, rel=1e-4)
    assert float(metrics["tv"]) == pytest.approx(tv, rel=1e-4)
    assert float(loss) == pytest.approx(kl + entropy, rel=1e-4)


def test_excess_of_causal_prediction_by_products_of_matrices():
    """P(x_{i+1} | x_{1:i}) as a quotient of likelihoods, on the one document of a corpus."""
    truth, other, document = world(0), world(1), [2, 0, 3, 3, 1]

    def likelihood(w, tokens):
        state = np.asarray(w.p0)
        for token in tokens:
            state = np.asarray(w.W)[token] * (np.asarray(w.A) @ state)
        return state.sum()

    def law(w, prefix):
        return np.array([likelihood(w, [*prefix, x]) for x in range(4)]) / likelihood(w, prefix)

    pairs = [(law(truth, document[:i]), law(other, document[:i])) for i in range(1, 5)]
    sampled = -np.mean([np.log(q[x]) for (_, q), x in zip(pairs, document[1:], strict=True)])
    excess = np.mean([p @ np.log(p / q) for p, q in pairs])
    objective = CausalObjective(truth, length=5, batch=2, corpus=np.array([document]))
    loss, metrics = eqx.filter_jit(objective)(other, jax.random.key(0), 0)
    assert float(loss) == pytest.approx(sampled, rel=1e-4)
    assert float(metrics["excess"]) == pytest.approx(excess, rel=1e-4)


# -- a start token ----------------------------------------------------------------------------


def test_with_a_start_token_the_first_token_is_predicted_too():
    """The world's law of it is W A p0; the other targets stay what they are."""
    truth, document = world(0), np.array([[2, 0, 3, 3, 1]])
    plain = CausalObjective(truth, length=5, corpus=document)
    started = CausalObjective(truth, length=5, corpus=document, start=4)
    guess = Neighbours(jax.random.key(0))  # has a row for token 4
    both = eqx.filter_jit(lambda m, k: (plain.predictions(m, k), started.predictions(m, k)))
    old, new = both(guess, jax.random.key(1))
    np.testing.assert_array_equal(new.tokens, document[0])
    first = np.asarray(truth.W) @ np.asarray(truth.A) @ np.asarray(truth.p0)
    np.testing.assert_allclose(new.targets[0], first, atol=1e-6)
    np.testing.assert_allclose(new.targets[1:], old.targets, atol=1e-6)
    np.testing.assert_allclose(new.log_laws[1:], old.log_laws, atol=1e-6)
    logits = np.tanh(np.asarray(guess.rows[4])) @ np.asarray(guess.weight)
    np.testing.assert_allclose(np.exp(new.log_laws[0]), np.exp(logits) / np.exp(logits).sum(), 1e-5)


def test_one_token_after_the_start_is_enough():
    objective = CausalObjective(world(), length=1, batch=2, exact=True, start=4)
    loss, metrics = eqx.filter_jit(objective)(Neighbours(jax.random.key(0)), jax.random.key(1), 0)
    assert float(loss) > float(metrics["excess"]) > 0


def test_a_model_trained_with_a_start_token_generates_from_nothing():
    """The excess loss falls, and so does the distance of the laws of whole strings."""
    truth = HMM([[0.9, 0.2], [0.1, 0.8]], [[0.8, 0.1], [0.1, 0.1], [0.1, 0.8]], [0.9, 0.1])
    config = TransformerConfig(
        3, layers=1, heads=1, width=12, max_length=4, causal=True, extra_inputs=1
    )
    objective = CausalObjective(truth, length=3, batch=32, exact=True, start=3)
    model, history = fit(
        objective, Transformer(config, key=jax.random.key(0)), adamw(0.02, 150, 10), 150,
        jax.random.key(1), chunk=75,
    )  # fmt: skip
    assert history["excess"][-1] < 0.05 * history["excess"][0]  # means of the two chunks
    generator = CachedTransformer(model, start=3)
    first = np.exp(np.asarray(generator.law(generator.begin(3), jnp.int32(0))))
    exact = np.asarray(truth.W) @ np.asarray(truth.A) @ np.asarray(truth.p0)
    assert np.abs(first - exact).sum() / 2 < 0.05
    nothing = np.zeros((2000, 0), int)
    drawn = sample(Ancestral(), generator, None, nothing, jax.random.key(2), length=3, chunk=2000)
    every = np.array(list(itertools.product(range(3), repeat=3)))
    law = np.exp(np.asarray(jax.jit(jax.vmap(truth.log_prob))(every)))
    counts = np.bincount(drawn.tokens @ [9, 3, 1], minlength=27)
    assert np.abs(counts / 2000 - law).sum() / 2 < 0.1


def test_a_start_token_that_the_model_cannot_read():
    objective = CausalObjective(world(), length=4, start=4)
    with pytest.raises(ValueError, match=r"start is 4; the model reads the tokens 0\.\.3"):
        objective(model(causal=True), jax.random.key(0), 0)


# -- exact targets ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, options",
    [
        (MaskedObjective, {"rate": 0.4}),
        (MaskedObjective, {"rate": 0.6, "corruption": "bert"}),
        (CausalObjective, {}),
    ],
)
def test_exact_targets_have_the_same_expected_gradient_and_less_variance(kind, options):
    start, draw = Neighbours(jax.random.key(0)), np.random.default_rng(0)
    direction = jax.tree.map(lambda x: jnp.asarray(draw.normal(size=(3, *x.shape)), x.dtype), start)

    def along(key, exact):
        objective = kind(world(), length=5, batch=1, exact=exact, measure=False, **options)
        g = jax.grad(lambda m: objective(m, key, 0)[0])(start)
        dots = jax.tree.map(lambda d, x: jnp.tensordot(d, x, x.ndim), direction, g)
        return sum(jax.tree.leaves(dots))

    keys = jax.random.split(jax.random.key(5), 4000)
    both = jax.jit(jax.vmap(lambda key: (along(key, False), along(key, True))))
    sampled, exact = map(np.asarray, both(keys))
    difference = sampled - exact  # of the same sequences, so only the targets' noise remains
    error = difference.std(axis=0) / np.sqrt(len(difference))
    assert (np.abs(difference.mean(axis=0)) < 3.5 * error).all()
    assert (error > 0).all()
    assert (exact.var(axis=0) < 0.9 * sampled.var(axis=0)).all()


# -- what the model is shown ------------------------------------------------------------------


def test_bert_corruption_masks_replaces_and_keeps_80_10_10():
    objective = MaskedObjective(world(), length=20, rate=0.25, corruption="bert")
    keys = jax.random.split(jax.random.key(0), 2000)
    found = jax.jit(jax.vmap(lambda k: objective.predictions(Copier(), k)))(keys)
    assert found.tokens.shape == (2000, 5)
    log_laws, tokens = np.asarray(found.log_laws), np.asarray(found.tokens)
    masked = np.ptp(log_laws, axis=-1) < 1e-3
    own = ~masked & (log_laws.argmax(-1) == tokens)
    np.testing.assert_array_equal(masked, found.measured)
    assert masked.mean() == pytest.approx(0.8, abs=0.02)
    assert own.mean() == pytest.approx(0.1 + 0.1 / 4, abs=0.015)  # a random token may be the own
    # The target of a kept token is that token; nearly no other target is a point mass.
    sure = np.asarray(found.targets).max(-1) > 0.9999
    assert sure.mean() == pytest.approx(0.1, abs=0.015)
    assert (log_laws.argmax(-1) == tokens)[sure].all()


def test_mask_corruption_hides_every_chosen_position():
    objective = MaskedObjective(world(), length=20, rate=0.05, measure=False)
    found = jax.jit(lambda key: objective.predictions(Copier(), key))(jax.random.key(0))
    assert found.log_laws.shape == (1, 4)
    np.testing.assert_allclose(found.log_laws, np.log(0.25), rtol=1e-6)


def test_every_window_of_a_corpus_is_drawn_and_nothing_else():
    corpus = np.arange(12).reshape(2, 6)
    objective = CausalObjective(length=4, corpus=corpus)
    keys = jax.random.split(jax.random.key(0), 300)
    drawn = {
        tuple(w)
        for w in np.asarray(jax.jit(jax.vmap(lambda key: objective.tokens(key)))(keys)).tolist()
    }
    assert drawn == {tuple(row[i : i + 4]) for row in corpus.tolist() for i in range(3)}


def test_members_of_an_ensemble_read_their_own_corpora():
    objective = CausalObjective(length=3, corpus=np.arange(10).reshape(2, 1, 5))
    keys = jax.random.split(jax.random.key(0), 2)
    first, second = np.asarray(
        eqx.filter_jit(eqx.filter_vmap(lambda o, k: o.tokens(k)))(objective, keys)
    )
    assert first.max() < 5 <= second.min()


def test_without_a_world_only_the_loss_is_known():
    corpus = np.zeros((1, 6), int)
    objective, small = CausalObjective(length=4, corpus=corpus), Neighbours(jax.random.key(0))
    shapes = eqx.filter_eval_shape(objective, small, jax.random.key(0), 0)
    assert set(shapes[1]) == {"tokens"}


def test_dropout_is_on_and_bfloat16_is_close():
    corpus = np.random.default_rng(0).integers(0, 4, (5, 8))
    objective = MaskedObjective(length=8, batch=4, corpus=corpus)

    def loss(**fields):
        return float(eqx.filter_jit(objective)(model(**fields), jax.random.key(0), 0)[0])

    plain, half = loss(), loss(compute="bfloat16")
    assert loss(dropout=0.5) != pytest.approx(plain, abs=1e-4)
    assert half == pytest.approx(plain, rel=0.02) and half != plain


# -- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, options, message",
    [
        (MaskedObjective, {"rate": 0.0}, "rate is 0.0"),
        (MaskedObjective, {"rate": 1.5}, "rate is 1.5"),
        (MaskedObjective, {"corruption": "roberta"}, "corruption is 'roberta'"),
        (MaskedObjective, {"length": 0}, "length is 0"),
        (MaskedObjective, {"batch": -1}, "batch is -1"),
        (CausalObjective, {"length": 1}, "length is 1"),
        (CausalObjective, {"corpus": np.zeros((3, 5), int)}, "have 5 tokens; windows need 8"),
        (CausalObjective, {"corpus": np.zeros(20, int)}, "must have shape"),
        (CausalObjective, {"corpus": np.zeros((3, 9), int)}, "start law moves by"),
        (CausalObjective, {"world": None}, "there must be a corpus"),
        (MaskedObjective, {"world": Dyck()}, "a world of type Dyck has no `conditionals`"),
        (MaskedObjective, {"corpus": np.full((3, 8), np.nan)}, "corpus has dtype float64"),
        (MaskedObjective, {"corpus": np.full((3, 8), 1.7)}, "corpus has dtype float64"),
        (MaskedObjective, {"corpus": np.full((3, 8), -1)}, r"corpus\[0, 0\] is -1"),
        (MaskedObjective, {"corpus": np.full((3, 8), 4)}, r"corpus\[0, 0\] is 4"),
        (MaskedObjective, {"rate": np.nan}, "rate is nan"),
        (MaskedObjective, {"batch": 2**40}, "batch = "),
        (CausalObjective, {"start": -1}, "start is -1"),
        (CausalObjective, {"start": 2.5}, "start is 2.5"),
    ],
)
@pytest.mark.usefixtures("unchecked_types")
def test_bad_input_is_named(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**({"world": world(), "length": 8} | options))


def test_a_stationary_world_may_judge_windows_of_longer_documents():
    moving = world()
    still = HMM(moving.A, moving.W, moving.stationary())
    assert CausalObjective(still, length=8, corpus=np.zeros((3, 9), int)).knows
