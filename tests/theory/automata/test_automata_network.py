"""Networks against a second implementation that goes position by position, and against `Transformer`."""

import itertools

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from minicosm.theory.automata.layers import MLP, Head, Layer, Table, beside, find_rows
from minicosm.theory.automata.network import Decoder, Network, side_by_side


def random_mlp(rng, d, hidden):
    sizes = [int(rng.integers(1, d + 1)), *hidden, int(rng.integers(1, d + 1))]
    weights = [rng.normal(size=(b, a)) for a, b in itertools.pairwise(sizes)]
    return MLP(
        tuple(map(csr_array, weights)),
        tuple(rng.normal(size=w.shape[0]) for w in weights),
        rng.permutation(d)[: sizes[0]],
        rng.permutation(d)[: sizes[-1]],
    )


def random_network(seed, *, depth=2, length=4, pads=2, symbols=3):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))

    def head():
        k, v = rng.integers(1, 4, 2)
        return Head(*(rng.normal(size=s) for s in ((d, k), (d, k), (d, v), (v, d))))

    layers = tuple(
        Layer(
            tuple(head() for _ in range(rng.integers(0, 3))),
            tuple(
                random_mlp(rng, d, rng.integers(1, 5, rng.integers(0, 4)))
                for _ in range(rng.integers(0, 3))
            ),
            rng.random(d) < 0.5,
            rng.random(d) < 0.5,
        )
        for _ in range(depth)
    )
    return Network(
        rng.normal(size=(symbols, d)),
        rng.normal(size=(pads, d)),
        rng.normal(size=(pads + length, d)),
        layers,
        Decoder.of_scalar(int(rng.integers(d)), np.arange(-2, 3)),
    )


def by_hand(network, string):
    """All rows after the last layer, one position after another."""
    rows = [*network.pads, *network.encoder[string]]
    rows = [row + place for row, place in zip(rows, network.positions, strict=False)]
    for layer in network.layers:
        after = []
        for t in range(len(rows)):
            z = rows[t] * layer.attention_keep
            for head in layer.heads:
                query = head.W_Q.T @ rows[t]
                scores = [query @ (head.W_K.T @ rows[i]) for i in range(t + 1)]
                if head.hard:
                    z = z + head.W_C.T @ head.W_V.T @ rows[int(np.argmax(scores))]
                    continue
                weights = np.exp(np.array(scores) - max(scores))
                weights /= weights.sum()
                for i in range(t + 1):
                    z = z + weights[i] * (head.W_C.T @ (head.W_V.T @ rows[i]))
            new = z * layer.mlp_keep
            for m in layer.maps:
                h = z[m.reads]
                for i, (w, b) in enumerate(zip(m.weights, m.biases, strict=True)):
                    h = w.toarray() @ (np.maximum(h, 0) if i else h) + b
                for dim, value in zip(m.writes, h, strict=True):
                    new[dim] += value
            after.append(new)
        rows = after
    return np.array(rows)


@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 2))
def test_a_pass_is_the_formula_position_by_position(seed, depth, pads):
    network = random_network(seed, depth=depth, pads=pads)
    rng = np.random.default_rng(seed + 1)
    strings = rng.integers(0, 3, (3, 4))
    for layered in (network, network.as_hard()):
        found = layered.hidden(strings, depth)
        for string, rows in zip(strings, found, strict=True):
            wanted = by_hand(layered, string)
            np.testing.assert_allclose(rows, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("seed", "depth", "pads"),
    [(0, 0, 0), (1, 2, 2), pytest.param(3, 3, 0, marks=pytest.mark.long)],
)
def test_as_a_transformer_it_is_the_same_map(seed, depth, pads):
    network = random_network(seed, depth=depth, pads=pads)
    rng = np.random.default_rng(seed + 2)
    strings = rng.integers(0, 3, (2, 4))
    with jax.enable_x64(True):
        model = network.as_transformer()
        assert model.config.layers == max(1, network.audit().package_depth)
        for string in strings:
            rows = np.asarray(model.hidden(model.embed(network.ids(string))))
            wanted = network.hidden(string, depth)
            scale = 1e-9 * max(1, np.abs(wanted).max())
            np.testing.assert_allclose(rows[:, : network.width], wanted, rtol=1e-9, atol=scale)
            logits = np.asarray(model.next_logits(network.ids(string)))[pads:]
            value = network.values(string)[:, 0]
            nearest = np.abs(value[:, None] - np.arange(-2, 3)).argmin(axis=1)
            assert (logits.argmax(axis=1) == nearest).all()


def test_attention_of_the_transformer_is_that_of_the_network():
    network = random_network(4, depth=1)
    with jax.enable_x64(True):
        model = network.as_transformer()
        trace = model.trace(network.ids(np.array([0, 1, 2, 0])))
    heads = len(network.layers[0].heads)
    assert heads
    np.testing.assert_allclose(
        trace.attention[0, :heads], network.attention(np.array([0, 1, 2, 0]), 1), atol=1e-12
    )


def test_many_strings_and_short_ones_are_run_as_one_is():
    network = random_network(0)
    strings = np.random.default_rng(0).integers(0, 3, (50, 4))
    together = network.values(strings)
    assert together.shape == (50, 4, 1)
    for string, values in zip(strings, together, strict=True):
        np.testing.assert_allclose(network.values(string), values, atol=1e-12)
        np.testing.assert_allclose(network.values(string[:2]), values[:2], atol=1e-12)


def test_heads_that_see_positions_only_are_computed_once():
    d, rng = 3, np.random.default_rng(0)
    place = np.diag([0.0, 0, 1])
    head = Head(place, rng.normal(size=(d, 3)) * np.array([[0], [0], [1]]), np.eye(3), np.eye(3))
    x = rng.normal(size=(5, 4, d))
    x[:, :, 2] = x[:1, :, 2]
    assert len(head.weights(x)) == 1
    apart = np.concatenate([head(one[None]) for one in x])
    np.testing.assert_allclose(head(x), apart, atol=1e-12)
    x[3, 1, 2] += 1
    assert len(head.weights(x)) == 5


def test_a_table_is_the_mlp_of_lemma_11():
    rng = np.random.default_rng(0)
    keys = np.unique(rng.integers(0, 3, (12, 3)), axis=0)
    table = Table(keys, rng.normal(size=(len(keys), 2)), np.array([4, 0, 2]), np.array([1, 3]))
    z = np.zeros((5, len(keys) + 1))
    z[table.reads, :-1] = keys.T
    z[table.reads, -1] = 7  # no key
    np.testing.assert_allclose(table(z), table.as_mlp()(z), atol=1e-12)
    assert (table(z)[:, -1] == 0).all()


@given(st.integers(0, 10**6))
def test_rows_are_found_as_a_dictionary_finds_them(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(0, 5))
    keys = np.unique(rng.integers(-2, 3, (10, width)), axis=0) if width else np.zeros((1, 0), int)
    asked = rng.integers(-3, 4, (30, width))
    known = {tuple(row): i for i, row in enumerate(keys.tolist())}
    assert find_rows(keys, asked).tolist() == [known.get(tuple(r), -1) for r in asked.tolist()]


def test_equal_keys_are_refused():
    with pytest.raises(ValueError, match="two rows of the keys are the same"):
        find_rows(np.array([[1, 2], [1, 2]]), np.array([[1, 2]]))


def test_side_by_side_each_network_reads_its_own_symbol():
    first, second = random_network(1, depth=2), random_network(2, depth=1)
    symbols = np.array([(a, b) for a in range(3) for b in range(3)])
    both = side_by_side([first, second], symbols)
    assert both.decoder.states == 25
    strings = np.random.default_rng(0).integers(0, 9, (6, 4))
    values = both.values(strings)
    for i, part in enumerate((first, second)):
        own = part.values(symbols[strings, i])
        np.testing.assert_allclose(values[:, :, i : i + 1], own, atol=1e-9)
    states = np.stack([part(symbols[strings, i]) for i, part in enumerate((first, second))])
    known = (states >= 0).all(axis=0)
    assert (both(strings)[known] == (5 * states[0] + states[1])[known]).all()
    assert (both(strings)[~known] == -1).all()


def test_layers_that_change_one_dimension_cannot_stand_side_by_side():
    layer = random_network(3).layers[0]
    dims = np.arange(layer.width)
    with pytest.raises(ValueError, match="places overlap in dimension"):
        beside([layer, layer], [dims, dims], layer.width)


def test_a_state_with_several_codes_is_looked_up_in_the_transformer():
    decoder = Decoder(np.array([0, 1]), np.array([[0, 0], [1, 0], [0, 1]]), np.array([0, 1, 1]), 2)
    codes = np.array([[0.0, 0], [1, 0], [0, 1]])
    network = Network(codes, np.zeros((0, 2)), np.zeros((4, 2)), (), decoder)
    assert network(np.array([0, 1, 2, 0])).tolist() == [0, 1, 1, 0]
    with jax.enable_x64(True):
        logits = network.as_transformer().next_logits(network.ids(np.array([0, 1, 2, 0])))
    assert np.asarray(logits).argmax(axis=1).tolist() == [0, 1, 1, 0]


def test_audit_counts():
    rng = np.random.default_rng(0)
    d = 4
    head = Head(*(rng.normal(size=s) for s in ((d, 3), (d, 3), (d, 1), (1, d))))
    deep, flat = random_mlp(rng, d, [5, 7]), random_mlp(rng, d, [2])
    keep = np.ones(d, bool)
    network = Network(
        np.full((2, d), -40.0),
        np.zeros((1, d)),
        np.zeros((6, d)),
        (Layer((head, head), (deep, flat), keep, keep), Layer((), (), keep, keep)),
        Decoder.of_scalar(0, np.arange(3)),
    )
    audit = network.audit()
    assert audit[:4] == (5, 1, 2, 3)  # length, pads, depth, depth of the Transformer
    assert (audit.heads, audit.head_width, audit.attention_width) == (2, 3, 6)
    assert (audit.mlp_layers, audit.mlp_width) == (3, 9)  # the flat one is carried on
    assert audit.largest_weight == 40
    assert "2 layers (3 as a Transformer of the package)" in str(audit)


def test_what_is_too_large_for_a_transformer_is_refused():
    from minicosm.theory.automata import theorem_10
    from minicosm.worlds import automata

    network = theorem_10(automata.symmetric(5), 16).construction
    with pytest.raises(ValueError, match="the Transformer would take"):
        network.as_transformer()
    with pytest.raises(ValueError, match="has hard attention"):
        theorem_10(automata.parity(), 4).construction.as_hard().as_transformer()
