"""Balance against explicit loops, and the outputs after long strings against explicit models."""

import itertools

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicosm.models import Transformer, variants
from minicosm.theory.dyck import balance, embeddings, necessity
from minicosm.theory.dyck.constructions import exact_dyck
from minicosm.worlds import Dyck

SIZES = [(2, 4), (3, 2)]


def pair(world, token, depth):
    """The id of a token at a depth, by counting."""
    legal = [
        (t, d)
        for t in range(world.vocab)
        for d in (range(1, world.depth + 1) if t % 2 == 0 else range(world.depth))
    ]
    return legal.index((token, depth))


def explicit_violation(E, M, V, world):
    """Mean and largest |S| / P by loops over every index."""
    k, D = world.types, world.depth
    m = V.shape[1]
    P = np.eye(m) - np.ones((m, m)) / m

    def u(a, b):
        return np.exp(E[a] @ M @ E[b]) * (P @ (V.T @ E[a]))

    ratios = []
    for j, d in itertools.product(range(k), range(2, D + 1)):
        b = pair(world, 2 * j + 1, d - 1)
        sizes = {}
        for t in itertools.product(range(k), repeat=d - 1):
            Q = u(world.pairs, b) + u(pair(world, 2 * j, d), b) + u(b, b)
            Q = Q + sum(u(pair(world, 2 * t[s], s + 1), b) for s in range(d - 1))
            sizes[t] = np.linalg.norm(Q)
        best = min(sizes, key=sizes.get)
        least = min(size for t, size in sizes.items() if t[-1] != best[-1])
        for i, level in itertools.product(range(k), range(1, D + 1)):
            S = u(pair(world, 2 * i + 1, level - 1), b) + u(pair(world, 2 * i, level), b)
            ratios.append(np.linalg.norm(S) / least)
    return np.mean(ratios), np.max(ratios)


def random_weights(world, seed, width=None):
    rng = np.random.default_rng(seed)
    m = world.pairs + 1 if width is None else width
    return (
        rng.normal(size=(world.pairs + 1, m)),
        0.3 * rng.normal(size=(m, m)),
        rng.normal(size=(m, m)),
    )


@pytest.mark.parametrize(("k", "D"), SIZES)
def test_violation_against_loops(k, D):
    world = Dyck(k, D)
    E, M, V = random_weights(world, k + D, width=7)
    with jax.enable_x64(True):
        found = balance.balance_violation(E, M, V, world)
    mean, largest = explicit_violation(E, M, V, world)
    assert np.isclose(found.mean, mean, rtol=1e-10) and np.isclose(
        found.largest, largest, rtol=1e-10
    )


def test_violation_survives_huge_logits_and_constants_of_the_query():
    world = Dyck(2, 3)
    E = embeddings.token_depth_embedding(world)
    _, M, V = random_weights(world, 0)
    with jax.enable_x64(True):
        plain = balance.balance_violation(E, M, V, world)
        shifted = balance.balance_violation(E, M + 2000.0, V, world)
    assert np.isfinite(shifted.mean) and np.isclose(plain.mean, shifted.mean, rtol=1e-9)


def test_violation_needs_two_types_and_depths():
    for k, D in ((1, 3), (2, 1)):
        world = Dyck(k, D)
        with pytest.raises(ValueError, match="at least 2 of each"):
            balance.balance_violation(*random_weights(world, 0), world)


def test_model_and_ensemble_have_the_violation_of_their_matrices():
    world = Dyck(2, 3)
    shape = variants.theory(
        world.vocab, width=9, inputs=world.pairs + 1, head_width=5, attention_scale=None
    )
    keys = jax.random.split(jax.random.key(0), 3)
    models = eqx.filter_vmap(lambda key: Transformer(shape, key=key))(keys)
    many = eqx.filter_jit(eqx.filter_vmap(lambda m: balance.of_model(m, world)))(models)
    for i in range(3):
        one = jax.tree.map(lambda leaf, i=i: leaf[i], eqx.filter(models, eqx.is_array))
        qkv = np.asarray(one.layers.attention.qkv, np.float64)[0, :, :, 0]
        M = 5**-0.5 * qkv[:, 1] @ qkv[:, 0].T
        V = qkv[:, 2] @ np.asarray(one.layers.attention.out, np.float64)[0, 0]
        wanted, _ = explicit_violation(np.asarray(one.token_embedding, np.float64), M, V, world)
        assert np.isclose(many.mean[i], wanted, rtol=1e-3)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"inputs": 5}, "5 input rows"),
        ({"heads": 2, "head_width": 4}, "2 heads"),
        ({"positions": "linear"}, "linear positions"),
        ({"attention_bias": True}, "biases in its attention"),
        ({"norm": "pre"}, "a norm before its attention"),
        ({"layers": 2}, "2 layers"),
    ],
)
def test_models_without_an_embedding_of_pairs_are_refused(fields, fault):
    world = Dyck(2, 3)
    shape = variants.theory(world.vocab, **({"width": 8, "inputs": world.pairs + 1} | fields))
    with pytest.raises(ValueError, match=f"the model has {fault}"):
        balance.of_model(Transformer(shape, key=jax.random.key(0)), world)


def conditions(M, E, world):
    """The largest residual of Eq. 2.47 by loops over all pairs of queries."""
    closed = [pair(world, 2 * j + 1, d) for j in range(world.types) for d in range(1, world.depth)]
    worst = 0.0
    for i, level in itertools.product(range(world.types), range(1, world.depth + 1)):
        difference = E[pair(world, 2 * i, level)] - E[pair(world, 2 * i + 1, level - 1)]
        for first, second in itertools.combinations(closed, 2):
            worst = max(worst, abs(difference @ M @ (E[first] - E[second])))
    return worst


@given(
    st.integers(0, 10_000),
    st.sampled_from(["onehot", "sum", "yao", "random"]),
    st.sampled_from(SIZES),
)
def test_projection_is_balanced_nearest_and_keeps_what_is_balanced(seed, kind, size):
    world = Dyck(*size)
    E = embeddings.token_depth_embedding(world, kind, seed=seed)
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(E.shape[1],) * 2)
    assert conditions(M, E, world) > 1e-3
    assert not balance.balance_condition(M, E, world).holds
    assert balance.nearest_balanced(M, E, world, rng.normal(size=M.shape)).holds
    projected = balance.project(M, E, world)
    assert conditions(projected, E, world) < 1e-12
    assert balance.balance_condition(projected, E, world).holds
    assert np.allclose(balance.project(projected, E, world), projected)
    other = balance.project(rng.normal(size=M.shape), E, world)
    assert np.linalg.norm(M - projected) <= np.linalg.norm(M - other)
    assert abs(np.sum((M - projected) * other)) < 1e-10


@pytest.mark.parametrize(("k", "D", "free"), [(2, 4, 249), (3, 2, 157), (2, 1, 25)])
def test_balance_leaves_most_dimensions_free(k, D, free):
    world = Dyck(k, D)
    result = balance.balance_dimension(embeddings.token_depth_embedding(world), world)
    assert result.holds and result.details["free"] == free
    assert not balance.balance_dimension(
        embeddings.token_depth_embedding(Dyck(), "sum"), Dyck()
    ).applies


def test_depth_one_and_a_single_query_put_no_condition():
    for k, D in ((2, 1), (1, 2), (1, 1)):
        world = Dyck(k, D)
        E, M, _ = random_weights(world, 1)
        assert np.array_equal(balance.project(M, E, world), M)
        assert balance.residuals(M, E, world).size == 0


def test_shapes_are_refused_in_a_sentence(unchecked_types):
    world = Dyck()
    E = embeddings.token_depth_embedding(world)
    with pytest.raises(ValueError, match="needs 17 rows"):
        balance.project(np.eye(17), E[:-1], world)
    with pytest.raises(ValueError, match=r"E has shape \(17, 17\); .* where m is 16 as in M"):
        balance.project(np.eye(16), E, world)


# -- strings as counts ----------------------------------------------------------------------------


def test_ids_of_known_tokens_are_the_worlds():
    world = Dyck(3, 3)
    for seed in range(3):
        tokens = np.asarray(world.sample(jax.random.key(seed), 30).tokens)
        assert np.array_equal(embeddings.pair_ids(world, tokens), world.token_depths(tokens))
        for token, depth, i in zip(
            tokens, world.depths(tokens), embeddings.pair_ids(world, tokens), strict=True
        ):
            assert pair(world, int(token), int(depth)) == i
    with pytest.raises(ValueError, match="at most 3 deep"):
        embeddings.pair_ids(world, np.array([0, 0, 0, 0]))


@pytest.mark.parametrize("residual", ["outside", "inside"])
def test_closed_form_against_the_explicit_model(residual):
    world = Dyck(2, 3)
    E, M, V = random_weights(world, 3, width=8)
    model = necessity.attention_model(world, E, M, V, residual)
    base = [2, 0, 2, 3]
    for times in (0, 1, 9):
        tokens = np.array([0, *[2, 3] * times, 1, *base])
        keys = necessity.pumped(
            world, necessity.keys_of(world, np.array([0, 1, *base])), times, type=1, level=2
        )
        ids = np.append(world.pairs, embeddings.pair_ids(world, tokens))
        with jax.enable_x64(True):
            explicit = np.asarray(model.hidden(model.embed(ids)))[-1]
        assert np.abs(explicit - necessity.output(keys, E, M, V, residual)).max() < 1e-12


def test_pumping_keeps_balanced_twins_apart_and_drowns_others():
    world = Dyck()
    E = embeddings.token_depth_embedding(world)
    rng = np.random.default_rng(0)
    M = balance.project(rng.normal(size=(17, 17)), E, world)
    _, _, V = necessity.first_weights(exact_dyck(world, E, M))
    twins = necessity.twins(world, [0, 1, 1], 1)

    def distances(M):
        return necessity.pumping(world, twins, E, M, V, type=1, level=2)

    assert np.ptp(distances(M)[:5]) < 1e-9 and distances(M)[0] > 0.1
    noisy = distances(M + 0.1 * rng.normal(size=M.shape))
    assert -1.1 <= np.log10(noisy[4] / noisy[3]) <= -0.9  # already from 10^3 to 10^4 pairs
    assert necessity.theorem_2_2_1_necessity(world, E, M, V).holds
    assert not necessity.theorem_2_2_1_necessity(world, E, M + 0.01, 2 * V).error > 1e-9
    broken = necessity.theorem_2_2_1_necessity(world, E, M, V + 0.01 * rng.normal(size=V.shape))
    assert broken.holds is False
    assert not necessity.theorem_2_2_1_necessity(world, E, M, 0 * V).applies


def test_violation_of_exact_perturbed_and_random_weights():
    """Sizes of the balance violation, from one draw: about the noise on M, and 0.69 for random
    values."""
    world = Dyck()
    E = embeddings.token_depth_embedding(world)
    rng = np.random.default_rng(1)
    M = balance.project(rng.normal(size=(17, 17)), E, world)
    _, _, V = necessity.first_weights(exact_dyck(world, E, M))
    noise = rng.normal(size=(17, 17))
    with jax.enable_x64(True):
        violation = jax.jit(lambda M, V: balance.balance_violation(E, M, V, world).mean)
        sizes = [float(violation(M + sd * noise, V)) for sd in (0.0, 1e-3, 1e-2, 0.1)]
        random = float(violation(0.1 * rng.normal(size=(17, 17)), rng.normal(size=(17, 17))))
    assert sizes[0] < 1e-12
    assert abs(np.log10(sizes[3] / sizes[1]) / 2 - 1) < 0.1
    assert 0.3 < sizes[2] / 8e-3 < 3 and 0.4 < random < 1.2


def test_residual_inside_the_norm_fades_as_one_over_length():
    world = Dyck()
    E = embeddings.token_depth_embedding(world)
    zero = np.zeros((17, 17))
    _, _, V = necessity.first_weights(exact_dyck(world, E, zero))
    twins = necessity.twins(world, [0, 1, 0])
    stated = {0: 0.233, 10: 0.056, 100: 0.0071, 1000: 0.00073, 10_000: 0.000073}
    for n, value in stated.items():
        pumped = tuple(necessity.pumped(world, keys, n) for keys in twins)
        assert abs(necessity.separation(pumped, E, zero, V) - (2 / 3) ** 0.5) < 1e-9
        # By hand: 6 + 2n keys, three of which stand on the stack, and a one-hot vector is added.
        total = 6 + 2 * n
        by_hand = 2**0.5 / total / (16 / 17 + 3 / total**2) ** 0.5
        inside = necessity.separation(pumped, E, zero, V, "inside")
        assert abs(inside / by_hand - 1) < 1e-9 and abs(inside / value - 1) < 0.02


def test_strings_of_the_language_are_told_from_others():
    """All strings of up to five tokens, alone and as rows, against the automaton of the world."""
    world = Dyck(2, 2)
    for length in range(1, 6):
        rows = np.array(list(itertools.product(range(world.vocab), repeat=length)))
        prefix = np.asarray(jax.vmap(world.is_prefix)(rows))
        good = [_is_accepted(row, world) for row in rows]
        assert np.array_equal(good, prefix)
        assert np.array_equal(
            embeddings.check_strings("strings", rows[prefix], world), rows[prefix]
        )
        for bad in rows[~prefix][:: 4**length // 16 + 1]:
            with pytest.raises(ValueError, match=rf"strings\[{prefix.sum()}, \d\] is \d, a token"):
                embeddings.check_strings("strings", np.vstack([rows[prefix], bad]), world)
    for outside in (-1, world.vocab):
        assert not _is_accepted(np.array([0, outside]), world)


def _is_accepted(tokens, world):
    try:
        embeddings.check_strings("tokens", tokens, world)
    except ValueError:
        return False
    return True
