"""Pair tokens, generation, mixtures and wrong reads of the flip-flop language, against sums over all strings,
an HMM with a register and sampling."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from minicosm.decoding import generate
from minicosm.models import Generator
from minicosm.worlds import HMM, FlipFlop, Joint, Mixture, flip_flop

READ = 1
WORLDS = [
    FlipFlop(6, [0.5, 0.2, 0.3]),
    FlipFlop(6, [0.6, 0.0, 0.4], select="first"),
    FlipFlop(6, [0.0, 0.3, 0.7], symbols=3),
]


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_a_memory_gives_the_law_of_every_prefix(world):
    assert isinstance(world, Generator)
    every = np.random.default_rng(0).integers(0, world.vocab, (200, 6))
    keys = jax.random.split(jax.random.key(1), 100)
    drawn = np.asarray(jax.jit(jax.vmap(lambda key: world.sample(key).tokens))(keys))
    strings = np.concatenate([every, drawn])  # mostly impossible ones, and possible ones

    def laws(tokens):
        memory, rows = world.begin(6), [world.law(world.begin(6), 0)]
        for n in range(6):
            memory = world.read(memory, n, tokens[n])
            rows.append(world.law(memory, n + 1))
        return jnp.stack(rows)

    found = np.asarray(jax.jit(jax.vmap(laws))(strings))
    rows = jax.jit(jax.vmap(lambda t: world.next_logits(t, start=True)))(strings)
    np.testing.assert_allclose(found, np.asarray(rows), atol=1e-6)
    assert np.isfinite(found[-1, 5]).any() and (found[:, 6] == -np.inf).all()


def test_samplers_generate_strings_of_the_language():
    world = FlipFlop(8, p_ignore=0.4)
    drawn = generate(world, key=jax.random.key(0), count=64, length=8, progress=False)
    tokens = np.asarray(drawn.tokens)
    assert np.asarray(jax.vmap(world.is_valid)(tokens)).all()
    assert (tokens[:, -2] == READ).all() and len({tuple(row) for row in tokens.tolist()}) > 10


def test_the_law_is_that_of_an_hmm_with_a_register():
    # States: (bit, what is due or was told). A chain without an end: prefixes before the last read.
    p = np.array([0.3, 0.2, 0.5])
    world = FlipFlop(10, p)
    states = [(b, kind, x) for b in (0, 1) for kind in ("instruction", "symbol") for x in (0, 1, 2)]
    # (b, instruction x): x was told; (b, symbol x): the symbol after x was told and b is remembered now.
    tokens = 5
    pairs = [(s, s[2]) for s in states if s[1] == "instruction"]
    pairs += [(s, 3 + v) for s in states if s[1] == "symbol" for v in (0, 1)
              if s[2] == 2 or v == s[0]]  # fmt: skip
    index = {pair: i for i, pair in enumerate(pairs)}
    size = len(pairs)
    A, W, start = np.zeros((size, size)), np.zeros((tokens, size)), np.zeros(size)
    for (state, token), i in index.items():
        W[token, i] = 1
        b, kind, x = state
        if kind == "symbol":
            for y in range(3):
                A[index[((b, "instruction", y), y)], i] += p[y]
        elif x == 0:
            for v in (0, 1):
                A[index[((v, "symbol", 0), 3 + v)], i] += 0.5
        elif x == 1:
            A[index[((b, "symbol", 1), 3 + b)], i] += 1
        else:
            for v in (0, 1):
                A[index[((b, "symbol", 2), 3 + v)], i] += 0.5
    first = index[((0, "instruction", 0), 0)]
    # H_0 emits nothing and steps to the first write with certainty: a state of its own.
    big_A, big_W = np.zeros((size + 1, size + 1)), np.zeros((tokens, size + 1))
    big_A[:size, :size], big_A[first, size] = A, 1
    big_W[:, :size], big_W[0, size] = W, 1
    start = np.zeros(size + 1)
    start[size] = 1
    hmm = HMM(big_A, big_W, start)
    keys = jax.random.split(jax.random.key(0), 50)
    strings = np.asarray(jax.jit(jax.vmap(lambda key: world.sample(key).tokens))(keys))
    with jax.enable_x64(True):
        rows = np.asarray(jax.jit(jax.vmap(world.next_logits))(strings[:, :7]))
        exact = np.asarray(jax.jit(jax.vmap(hmm.next_logits))(strings[:, :7]))
    np.testing.assert_allclose(np.exp(rows), np.exp(exact), atol=1e-12)


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_pair_tokens_have_the_law_of_the_pairs(world):
    paired = flip_flop.PairedFlipFlop(world)
    every = np.array(list(itertools.product(range(paired.vocab), repeat=3)))
    joint = Joint.of_world(world, 6) if world.symbols == 2 else None
    with jax.enable_x64(True):
        logs = np.asarray(jax.jit(jax.vmap(paired.log_prob))(every))
        rows = np.exp(jax.jit(jax.vmap(lambda t: paired.next_logits(t, start=True)))(every))
    law = np.exp(logs)
    assert law.sum() == pytest.approx(1)
    assert (law > 0).sum() == world.support()
    if joint is not None:
        flat = np.asarray(jax.vmap(paired.unpaired)(every))
        place = np.ravel_multi_index(tuple(flat.T), (world.vocab,) * 6)
        np.testing.assert_allclose(law, joint.probabilities[place], atol=1e-12)
        assert (np.asarray(jax.vmap(paired.paired)(flat)) == every).all()
    for string, laws in zip(every, rows, strict=True):
        for i in range(3):
            seen = (every[:, :i] == string[:i]).all(axis=1)
            mass = law[seen].sum()
            wanted = np.bincount(every[seen, i], law[seen], paired.vocab)
            np.testing.assert_allclose(
                laws[i], wanted / mass if mass > 0 else 0 * wanted, atol=1e-12
            )
        assert not laws[3].any()
    assert paired.text(paired.paired(np.array([0, 3, 2, 4, 1, 3]))) == "w0 i1 r0"


def test_labels_of_pair_tokens_are_what_is_remembered():
    paired = flip_flop.PairedFlipFlop(FlipFlop(20, p_ignore=0.3))
    keys = jax.random.split(jax.random.key(0), 40)
    tokens, labels, weights = map(np.asarray, jax.jit(jax.vmap(paired.labelled))(keys))
    assert weights.all() and tokens.shape == (40, 10)
    for string, said in zip(tokens, labels, strict=True):
        memory = None
        for token, label in zip(string, said, strict=True):
            memory = token % 2 if token // 2 == 0 else memory
            assert label == memory and (token // 2 != READ or token % 2 == memory)


@eqx.filter_jit
def drawn_rows(world, keys):
    strings = jax.vmap(lambda key: world.sample(key).tokens)(keys)
    return strings, jax.vmap(lambda t: world.next_logits(t, start=True))(strings)


@settings(max_examples=2)
@given(seed=st.integers(0, 2**32 - 1))
def test_next_laws_of_a_mixture_are_those_of_its_table(seed):
    rng = np.random.default_rng(seed)
    rates, weights = rng.choice([0.0, 0.3, 0.9, 1.0], 3), rng.dirichlet(np.ones(3))
    world = flip_flop.FlipFlopMixture(6, rates, weights)
    joint = Joint.of_world(world, 6)
    table = joint.probabilities.reshape((5,) * 6)
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(seed), 20)
        strings, logits = map(np.asarray, drawn_rows(world, keys))
    rows = np.exp(logits)
    for string, laws in zip(strings, rows, strict=True):
        for i in range(6):
            law = table[tuple(string[:i])].reshape(5, -1).sum(axis=1)
            np.testing.assert_allclose(laws[i], law / law.sum(), atol=1e-6)


def test_a_mixture_tells_what_reads_say():
    world = flip_flop.FlipFlopMixture(16)
    keys = jax.random.split(jax.random.key(0), 300)
    plain = Mixture([FlipFlop(16, p_ignore=p) for p in (0.9, 0.98, 0.1)], np.full(3, 1 / 3))
    for method in ("sample", "labelled"):
        ours, theirs = (jax.jit(jax.vmap(getattr(w, method)))(keys) for w in (world, plain))
        assert (np.asarray(ours.tokens) == np.asarray(theirs.tokens)).all()
    tokens, which, memory, reads = map(np.asarray, jax.jit(jax.vmap(world.sample))(keys))
    assert (tokens[:, 1::2] == memory)[reads].all() and (reads == (tokens[:, ::2] == READ)).all()
    ignored = (tokens[:, 2:-2:2] == 2).mean(axis=1)
    np.testing.assert_allclose(
        [ignored[which == k].mean() for k in range(3)], [0.9, 0.98, 0.1], atol=0.08
    )


def test_wrong_reads_of_models_and_their_intervals():
    world = FlipFlop(32, p_ignore=0.6)
    exact = world.glitches(world, jax.random.key(0), count=150)
    assert exact.wrong == 0 and exact.reads > 500
    assert exact.interval == (0.0, pytest.approx(1 - 0.025 ** (1 / exact.reads)))

    class Last:
        """Says the symbol of the previous pair."""

        def next_logits(self, tokens):
            return jax.nn.one_hot(jnp.roll(tokens, 1), 5)

    found = world.glitches(Last(), jax.random.key(1), count=2000)
    error = world.window_error(3)  # one pair in sight: wrong where it is ignored, half of the time
    assert abs(found.rate - error) < 5 * np.sqrt(error * (1 - error) / found.reads)
    low, high = found.interval
    assert low == pytest.approx(beta.ppf(0.025, found.wrong, found.reads - found.wrong + 1))
    assert low < found.rate < high
