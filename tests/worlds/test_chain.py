"""Message passing against the same recursion in NumPy with exact arithmetic of scale (log space)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.worlds import HMM
from minicosm.worlds.hmm import chain

TOLERANCE = {np.float32: 1e-5, np.float64: 1e-12}


def referee(A, first, V):
    """`tau_i / ||tau_i||` and `log ||tau_i||` in log space, where nothing can underflow."""
    with np.errstate(divide="ignore"):
        log_A, log_V, a = np.log(A), np.log(V), np.log(first)
    b = np.zeros(len(first))
    forward, backward = [], []
    for v in log_V:
        forward.append(a)
        a = np.logaddexp.reduce(log_A + (a + v)[None, :], axis=1)
    for v in log_V[::-1]:
        backward.append(b)
        b = np.logaddexp.reduce(log_A + (b + v)[:, None], axis=0)
    tau = np.array(forward) + np.array(backward[::-1])
    total = np.logaddexp.reduce(tau, axis=1)
    scaled = np.exp(tau - np.where(np.isfinite(total), total, 0)[:, None])
    return scaled, total


def draw(seed, hidden, length, *, zeros=0.0, smallest=0.0, batch=()):
    """Random A (columns sum to one), start law and rows, a fraction `zeros` of them exactly zero.

    With `smallest`, the rows' entries are spread evenly in logarithm between it and one.
    """
    rng = np.random.default_rng(seed)

    def entries(*shape):
        return rng.uniform(0.01, 1, shape) * (rng.uniform(size=shape) >= zeros)

    A, first, V = entries(hidden, hidden), entries(hidden), entries(*batch, length, hidden)
    A[rng.integers(hidden, size=hidden), np.arange(hidden)] += 0.1
    first[rng.integers(hidden)] += 0.1
    if smallest:
        V = (V > 0) * smallest ** rng.uniform(size=V.shape)
    return A / A.sum(axis=0), first / first.sum(), V


def run(function, dtype, *arrays):
    with jax.enable_x64(dtype == np.float64):
        out = function(*(jnp.asarray(x, dtype) for x in arrays))
        return jax.tree.map(np.asarray, out)


def close(got, wanted, dtype):
    tau, log = map(np.asarray, got)
    wanted_tau, wanted_log = wanted
    assert tau.dtype == log.dtype == dtype
    np.testing.assert_allclose(tau, wanted_tau, atol=TOLERANCE[dtype])
    np.testing.assert_allclose(log, wanted_log, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    np.testing.assert_array_equal(tau.sum(axis=-1) == 0, np.isneginf(wanted_log))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([(1, 1), (1, 5), (2, 1), (3, 7), (6, 4)]),
    zeros=st.sampled_from([0.0, 0.3, 0.7]),
)
def test_aggregates_are_those_of_the_recursion_in_log_space(dtype, seed, size, zeros):
    A, first, V = draw(seed, *size, zeros=zeros)
    close(run(chain.aggregates, dtype, A, first, V), referee(A, first, V), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), zeros=st.sampled_from([0.0, 0.6]))
def test_laws_and_messages_agree_with_aggregates(dtype, seed, zeros):
    A, first, V = draw(seed, 4, 6, zeros=zeros)
    W = np.random.default_rng(seed).dirichlet(np.ones(3), size=4).T
    tau, log = run(chain.aggregates, dtype, A, first, V)
    laws = run(chain.laws, dtype, A, first, V, W)
    np.testing.assert_allclose(laws, tau @ W.T, atol=TOLERANCE[dtype])
    m = run(chain.messages, dtype, A, first, V)
    product = m.forward * m.backward[1:]
    total = product.sum(axis=1)
    np.testing.assert_allclose(product, tau * total[:, None], atol=TOLERANCE[dtype])
    with np.errstate(divide="ignore"):
        from_messages = m.forward_log + m.backward_log[1:] + np.log(total)
    np.testing.assert_allclose(from_messages, log, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_impossible_position_gives_zeros_elsewhere_only(dtype):
    A, first, V = draw(0, 3, 5)
    V[2] = 0
    tau, log = run(chain.aggregates, dtype, A, first, V)
    assert (tau[[0, 1, 3, 4]] == 0).all() and np.isneginf(log[[0, 1, 3, 4]]).all()
    close((tau, log), referee(A, first, V), dtype)
    assert run(chain.log_likelihood, dtype, A, first, V) == -np.inf


@pytest.mark.parametrize(
    ("dtype", "smallest"), [(np.float32, 1e-37), (np.float64, 1e-40), (np.float64, 1e-300)]
)
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_tiny_entries_do_not_underflow(dtype, smallest, zeros):
    for seed in range(20):
        A, first, V = draw(seed, 3, 12, zeros=zeros, smallest=smallest)
        A[:] = 1 / 3
        wanted = referee(A, first, V)
        close(run(chain.aggregates, dtype, A, first, V), wanted, dtype)
    V[:] = smallest
    close(run(chain.aggregates, dtype, A, first, V), referee(A, first, V), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ten_thousand_tokens(dtype):
    for smallest in (0.0, 1e-37):
        A, first, V = draw(1, 4, 10_000, smallest=smallest)
        tau, log = run(chain.aggregates, dtype, A, first, V)
        wanted, wanted_log = referee(A, first, V)
        np.testing.assert_allclose(tau, wanted, atol=TOLERANCE[dtype])
        np.testing.assert_allclose(log, wanted_log, rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("count", [1, 128, 300])
def test_a_batch_in_pieces_equals_single_calls(monkeypatch, count):
    monkeypatch.setattr(chain, "_MESSAGE", 1)  # so that 300 examples make overlapping pieces of 128
    A, first, V = draw(2, 3, 9 + count % 7, zeros=0.4, batch=(count,))
    with jax.enable_x64(True):
        tau, log = jax.vmap(chain.aggregates, (None, None, 0))(*map(jnp.asarray, (A, first, V)))
    for k in range(count):
        close((tau[k], log[k]), referee(A, first, V[k]), np.float64)


def test_every_nesting_of_vmap_over_worlds_and_sequences_agrees():
    worlds = HMM.stack([HMM.random(jax.random.key(k), hidden=3, vocab=4) for k in range(3)])
    tokens = np.random.default_rng(0).integers(4, size=(3, 2, 3, 7))
    with jax.enable_x64(True):

        def each(world, batch):
            return jax.vmap(jax.vmap(world.conditionals))(batch)

        inside = jax.vmap(each)(worlds, tokens)
        over_worlds = jax.vmap(lambda world, x: world.conditionals(x))
        outside = jax.vmap(jax.vmap(over_worlds, (None, 1), 1), (None, 1), 1)(worlds, tokens)
        same = jax.vmap(lambda world: world.conditionals(tokens[0, 0, 0]))(worlds)
        for k, world in enumerate(worlds.unstack()):
            single = np.array([world.conditionals(x) for x in tokens[k].reshape(-1, 7)])
            np.testing.assert_allclose(inside[k].reshape(single.shape), single, atol=1e-13)
            np.testing.assert_allclose(outside[k].reshape(single.shape), single, atol=1e-13)
            np.testing.assert_allclose(same[k], world.conditionals(tokens[0, 0, 0]), atol=1e-13)


def differences(function, x, step=1e-6):
    """Central differences; one-sided (second order) where `x` is zero and must not be negative."""
    slopes = np.zeros(x.shape)
    for at in np.ndindex(x.shape):

        def value(shift, at=at):
            moved = x.copy()
            moved[at] += shift
            return float(function(moved))

        if x[at] > 0:
            slopes[at] = (value(step) - value(-step)) / (2 * step)
        else:
            slopes[at] = (4 * value(step) - value(2 * step) - 3 * value(0)) / (2 * step)
    return slopes


@pytest.mark.parametrize(("seed", "zeros"), [(0, 0.0), (1, 0.25), (2, 0.25)])
def test_gradients_equal_finite_differences(seed, zeros):
    A, first, V = draw(seed, 3, 4, zeros=zeros)
    rng = np.random.default_rng(seed)
    W, weights = rng.dirichlet(np.ones(2), size=3).T, rng.normal(size=(4, 2))
    with jax.enable_x64(True):

        def loss(A, first, V, W):
            _, log = chain.aggregates(A, first, V)
            return jnp.sum(weights * chain.laws(A, first, V, W)) + jnp.sum(
                jnp.where(jnp.isfinite(log), log, 0)
            )

        arguments = tuple(map(jnp.asarray, (A, first, V, W)))
        value = jax.jit(loss)
        reverse = jax.jit(jax.grad(loss, argnums=(0, 1, 2, 3)))(*arguments)
        for k, gradient in enumerate(reverse):

            def only(x, k=k):
                return value(*arguments[:k], jnp.asarray(x), *arguments[k + 1 :])

            np.testing.assert_allclose(
                gradient, differences(only, np.asarray(arguments[k])), rtol=1e-4, atol=1e-5
            )
        direction = jax.tree.map(lambda x: rng.normal(size=x.shape), arguments)
        _, slope = jax.jit(lambda x, d: jax.jvp(loss, x, d))(arguments, direction)
        wanted = sum(np.sum(g * d) for g, d in zip(reverse, direction, strict=True))
        np.testing.assert_allclose(slope, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_are_finite_where_everything_is_impossible(dtype):
    A, first, V = draw(0, 3, 4)
    V[1:3] = 0
    W = np.full((2, 3), 0.5)
    for function in (
        lambda *x: jnp.sum(chain.laws(*x, jnp.asarray(W, dtype))),
        lambda *x: jnp.sum(chain.aggregates(*x)[0][:, 0]),
    ):
        for gradient in run(jax.jit(jax.grad(function, argnums=(0, 1, 2))), dtype, A, first, V):
            assert np.isfinite(gradient).all()


def test_batched_gradients_equal_single_ones_in_either_order():
    world = HMM.random(jax.random.key(0), hidden=3, vocab=4, emission_temperature=0.3)
    with jax.enable_x64(True):
        rows = jnp.asarray(np.random.default_rng(0).uniform(size=(5, 6, 3)))

        def loss(embeddings):
            return jnp.sum(world.predict(embeddings)[0] ** 2)

        alone = jax.jit(jax.grad(loss))
        single = np.array([alone(x) for x in rows])
        np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(loss)))(rows), single, atol=1e-13)
        summed = jax.jit(jax.grad(lambda x: jnp.sum(jax.vmap(loss)(x))))(rows)
        np.testing.assert_allclose(summed, single, atol=1e-13)


def test_gradient_of_log_likelihood_in_the_parameters():
    A, first, V = draw(3, 3, 5, zeros=0.2)
    with jax.enable_x64(True):
        for k in range(3):

            def only(x, k=k):
                arguments = [*map(jnp.asarray, (A, first, V))]
                arguments[k] = jnp.asarray(x)
                return chain.log_likelihood(*arguments)

            point = (A, first, V)[k]
            np.testing.assert_allclose(
                jax.grad(only)(point), differences(jax.jit(only), point), rtol=1e-4, atol=1e-5
            )


def test_lower_precision_rows_are_promoted():
    A, first, V = draw(0, 3, 4)
    with jax.enable_x64(True):
        tau, log = chain.aggregates(jnp.asarray(A), jnp.asarray(first), jnp.asarray(V, np.float32))
    close((tau, log), referee(A, first, V.astype(np.float32).astype(float)), np.float64)


def test_supports_are_where_the_messages_are_nonzero():
    for seed in range(15):
        A, first, V = draw(seed, 4, 6, zeros=0.5)
        a, b = chain.supports(*(jnp.asarray(x > 0) for x in (A, first, V)))
        m = run(chain.messages, np.float64, A, first, V)
        np.testing.assert_array_equal(a, m.forward > 0)
        np.testing.assert_array_equal(b, m.backward > 0)
