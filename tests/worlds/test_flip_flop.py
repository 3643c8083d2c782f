"""The flip-flop language: strings against a loop over pairs, laws against sums over all strings."""

import itertools
import time

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr

from minicosm.worlds import FlipFlop, Joint, Mixture, Semiautomaton, flip_flop

W, R, I = 0, 1, 2  # noqa: E741
NAMES = dict(zip("wri01", range(5), strict=True))


def parse(text):
    return np.array([NAMES[c] for c in text])


def strings(length, symbols=2, select="last"):
    """All strings of the support with the number of inner writes, reads and ignored pairs, one pair after
    the other."""
    pairs = length // 2
    for inner in itertools.product((W, R, I), repeat=pairs - 2):
        instructions = (W, *inner, R)
        free = [k for k, ins in enumerate(instructions) if ins != R]
        for chosen in itertools.product(range(symbols), repeat=len(free)):
            bits, memory, first = dict(zip(free, chosen, strict=True)), None, chosen[0]
            tokens = []
            for k, ins in enumerate(instructions):
                if ins == R:
                    bit = memory if select == "last" else first
                else:
                    bit = bits[k]
                    memory = bit if ins == W else memory
                tokens += [ins, 3 + bit]
            yield tokens, np.bincount(inner, minlength=3).astype(int) if inner else np.zeros(3, int)


def probability(world, counts):
    free = 1 + counts[W] + counts[I]
    return np.prod(np.asarray(world.p, float) ** counts) / float(world.symbols) ** free


@st.composite
def worlds(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = rng.dirichlet(np.ones(3))
    if draw(st.booleans()):
        p[rng.integers(3)] = 0
        p /= p.sum()
    length, symbols = draw(st.sampled_from([(4, 2), (8, 2), (6, 3)]))
    return FlipFlop(length, p, symbols=symbols, select=draw(st.sampled_from(["last", "first"])))


def test_the_support_has_2_times_5_to_the_pairs_less_two_strings():
    for length in (4, 6, 8, 10):
        every = list(strings(length))
        assert len({tuple(tokens) for tokens, _ in every}) == 2 * 5 ** (length // 2 - 2)


@settings(max_examples=4)
@given(world=worlds())
def test_probabilities_next_laws_and_losses_are_those_of_the_enumeration(world):
    every = list(strings(world.length, world.symbols, world.select))
    tokens = np.array([t for t, _ in every])
    wanted = np.array([probability(world, c) for _, c in every])
    assert wanted.sum() == pytest.approx(1)
    with jax.enable_x64(True):
        logs = np.asarray(jax.jit(jax.vmap(world.log_prob))(tokens))
        rows = np.asarray(jax.jit(jax.vmap(lambda t: world.next_logits(t, start=True)))(tokens))
    np.testing.assert_allclose(np.exp(logs), wanted, atol=1e-12)
    mass: dict = {}
    for string, p in zip(tokens, wanted, strict=True):
        for i in range(world.length + 1):
            mass[tuple(string[:i])] = mass.get(tuple(string[:i]), 0) + p
    loss = 0.0
    for string, p, laws in zip(tokens, wanted, rows, strict=True):
        for i in range(world.length):
            prefix = tuple(string[:i])
            if mass[prefix] > 0:
                law = [mass.get((*prefix, x), 0) / mass[prefix] for x in range(world.vocab)]
                np.testing.assert_allclose(np.exp(laws[i]), law, atol=1e-12)
            else:
                assert (laws[i] == -np.inf).all()
        assert (laws[-1] == -np.inf).all()
        loss -= p * np.log(p) if p > 0 else 0
    assert world.optimal_loss() == pytest.approx(loss)
    reads = sum(p * (s[::2] == R).sum() for s, p in zip(tokens, wanted, strict=True))
    assert world.reads() == pytest.approx(reads)
    assert world.support() == (wanted > 0).sum()
    even = FlipFlop(world.length, [0.2, 0.3, 0.5], symbols=world.symbols, select=world.select)
    other = np.array([probability(even, c) for _, c in every])
    assert world.divergence(even) == pytest.approx(rel_entr(wanted, other).sum())


def test_all_sequences_of_six_tokens_sum_to_one():
    world = FlipFlop(6, [0.5, 0.2, 0.3])
    joint = Joint.of_world(world, 6)
    assert joint.probabilities.sum() == pytest.approx(1)
    assert (joint.probabilities > 0).sum() == 10


@settings(max_examples=6)
@given(world=worlds())
def test_distances_and_windows_are_those_of_the_enumeration(world):
    every = [(np.array(t), probability(world, c)) for t, c in
             strings(world.length, world.symbols, world.select)]  # fmt: skip
    total = sum(p * (t[::2] == R).sum() for t, p in every)
    for to in ("write", "informative"):
        law = np.zeros(world.pairs - 1)
        for tokens, p in every:
            ins = tokens[::2]
            for k in np.flatnonzero(ins == R):
                writes = np.flatnonzero(ins[:k] == W)
                chosen = writes[-1] if world.select == "last" else 0
                if to == "informative":
                    chosen = max([chosen, *np.flatnonzero(ins[:k] == R)])
                law[k - chosen - 1] += p
        np.testing.assert_allclose(world.distance_law(to), law / total, atol=1e-12)
        mean = law @ np.arange(1, world.pairs) / total
        assert world.mean_distance(to) == pytest.approx(mean)
    for window in range(1, world.length + 1):
        seen: dict = {}
        for tokens, p in every:
            for k in np.flatnonzero(tokens[::2] == R):
                end = 2 * k + 1
                context = (k, *tokens[max(0, end - window) : end])
                seen.setdefault(context, np.zeros(world.symbols))[tokens[end] - 3] += p
        error = sum(law.sum() - law.max() for law in seen.values()) / total
        assert world.window_error(window) == pytest.approx(error, abs=1e-12)


def test_the_numbers_of_the_three_densities():
    losses, per_token, reads, kl = [], [], [], []
    middle = FlipFlop(512, p_ignore=0.8)
    for p_ignore in (0.8, 0.98, 0.1):
        world = FlipFlop(512, p_ignore=p_ignore)
        losses.append(world.optimal_loss())
        per_token.append(world.optimal_loss() / 511)
        reads.append(world.reads())
        kl.append(world.divergence(middle))
    assert np.round(losses, 3).tolist() == [321.461, 203.415, 338.550]
    assert np.round(per_token, 5).tolist() == [0.62908, 0.39807, 0.66253]
    np.testing.assert_allclose(reads, [26.4, 3.54, 115.3], atol=0.05)
    np.testing.assert_allclose(kl, [0, 38.82, 291.0], atol=0.05)
    sparse = FlipFlop(512, p_ignore=0.98)
    found = [sparse.window_error(n) for n in (21, 101, 201)]
    np.testing.assert_allclose(found, [0.397, 0.156, 0.048], atol=5e-4)
    assert FlipFlop(512, p_ignore=0.1).window_error(5) == pytest.approx(0.005, abs=5e-4)
    assert FlipFlop(128, p_ignore=0.98).window_error(21) == pytest.approx(0.383, abs=5e-4)
    densities = (0.8, 0.98, 0.1)
    means = [FlipFlop(512, p_ignore=p).mean_distance() for p in densities]
    np.testing.assert_allclose(means, [9.66, 72.0, 2.21], atol=0.05)
    nearer = [FlipFlop(512, p_ignore=p).mean_distance("informative") for p in densities]
    np.testing.assert_allclose(nearer, [4.92, 43.0, 1.11], atol=0.05)


def test_samples_are_of_the_language_and_have_its_rates():
    world = FlipFlop(64, [0.2, 0.3, 0.5])
    keys = jax.random.split(jax.random.key(0), 2000)
    tokens, memory, reads = map(np.asarray, jax.jit(jax.vmap(world.sample))(keys))
    assert np.asarray(jax.jit(jax.vmap(world.is_valid))(tokens)).all()
    ins, said = tokens[:, ::2], tokens[:, 1::2]
    assert (ins[:, 0] == W).all() and (ins[:, -1] == R).all()
    assert ((ins == R) == reads).all() and (said == memory)[reads].all()
    inner = ins[:, 1:-1]
    for which, p in enumerate(world.p):
        sd = np.sqrt(p * (1 - p) / inner.size)
        assert abs((inner == which).mean() - p) < 5 * sd
    assert abs((said[~reads] == 4).mean() - 0.5) < 5 * 0.5 / np.sqrt((~reads).sum())
    tracked = np.asarray(jax.vmap(flip_flop.tracker().run)(tokens))
    assert (tracked[:, 1::2] + 3 == memory).all()


@pytest.mark.parametrize(
    "p", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.7, 0.3, 0), (0.7, 0, 0.3), (0, 0.7, 0.3)]
)
def test_what_has_probability_zero_is_not_drawn(p):
    world = FlipFlop(2000, p)
    inner = np.asarray(world.sample(jax.random.key(0)).tokens)[2:-2:2]
    found = np.bincount(inner, minlength=3) / len(inner)
    assert (found[np.array(p) == 0] == 0).all()
    np.testing.assert_allclose(found, p, atol=0.06)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("w0i1i0r0", True), ("w0i1w1r1", True), ("w0i1w1r0", False), ("i0r0", False),
        ("r0w0", False), ("w0i1i", False),
    ],
)  # fmt: skip
def test_validity_and_the_acceptor(text, valid):
    tokens = parse(text)
    world = FlipFlop(8, p_ignore=0.5)
    assert bool(jax.jit(lambda t: world.is_valid(t))(tokens)) == valid
    assert (int(flip_flop.acceptor().run(tokens)[-1]) in (2, 3)) == valid
    assert world.text(tokens) == text


def test_the_acceptor_knows_all_strings():
    world, accept = FlipFlop(6, p_ignore=0.5), flip_flop.acceptor()
    every = np.array(list(itertools.product(range(5), repeat=6)))
    valid = np.asarray(jax.jit(jax.vmap(world.is_valid))(every))
    ends = np.asarray(jax.jit(jax.vmap(accept.run))(every))[:, -1]
    np.testing.assert_array_equal(np.isin(ends, (2, 3)), valid)


def test_the_register_begins_with_a_write_and_remembers():
    world = flip_flop.register(0.9)
    assert isinstance(world, Semiautomaton)
    draw = jax.jit(jax.vmap(lambda key: world.sample(key, 50)))
    tokens, states = map(np.asarray, draw(jax.random.split(jax.random.key(0), 200)))
    assert (tokens[:, 0] > 0).all()
    assert abs((tokens[:, 1:] == 0).mean() - 0.9) < 0.02
    for string, path in zip(tokens[:20], states[:20], strict=True):
        last = 0
        for symbol, state in zip(string, path, strict=True):
            last = symbol or last
            assert state == last


def test_sentences_are_read_back_by_a_tracker():
    world = FlipFlop(16, p_ignore=0.6)
    demonstration = parse("w0i1r0i0w1i0i1r1")
    draw = jax.jit(jax.vmap(lambda key: world.sample(key).tokens))
    for tokens in np.asarray(draw(jax.random.split(jax.random.key(0), 100))):
        text, answer = flip_flop.question(tokens, demonstration)
        _, body = text.split("\n")
        light = None
        for sentence in body.split(". "):
            if sentence.startswith("Alice"):
                light = sentence.split()[-1]
        assert body.endswith("The light is turned ") and light == answer
        assert flip_flop.as_sentences(tokens).endswith(f"The light is turned {answer}.")


def test_a_tracker_of_the_last_sentences_errs_as_the_window_formula_says():
    world = FlipFlop(32, p_ignore=0.8)
    rng, wrong, count = np.random.default_rng(0), 0, 4000
    draw = jax.jit(jax.vmap(lambda key: world.sample(key).tokens))
    for tokens in np.asarray(draw(jax.random.split(jax.random.key(1), count))):
        text, answer = flip_flop.question(tokens)
        guess = rng.choice(["off", "on"])
        for sentence in text.split(". ")[-4:-1]:
            if "light" in sentence:
                guess = sentence.split()[-1]
        wrong += guess != answer
    # Only the last read is asked, 15 pairs after the first, with 3 pairs in sight.
    error = 0.5 * 0.8**3
    assert abs(wrong / count - error) < 5 * np.sqrt(error * (1 - error) / count)


SUMS = {
    (8493, 2357): 10850, (84935834, 23572898): 108508732,
    (9991999919909993, 6109199190990097): 16101199110900090, (4491, 8759): 13250,
    (80087394, 63457948): 143545342, (5101611078665398, 8969499832688802): 14071110911354200,
}  # fmt: skip


@pytest.mark.parametrize(("pair", "total"), SUMS.items())
def test_sums_by_carries(pair, total):
    width = len(str(max(pair)))
    a, b = (np.array([int(c) for c in str(n).zfill(width)[::-1]]) for n in pair)
    found = flip_flop.sum_digits(a, b)
    assert int("".join(map(str, found[::-1]))) == total


def test_a_mixture_is_the_sum_of_its_worlds():
    parts = [FlipFlop(6, p_ignore=p) for p in (0.9, 0.1)]
    world = Mixture(parts, [0.25, 0.75])
    tokens = parse("w0i1r0")
    log_probs = jax.jit(lambda t: ([part.log_prob(t) for part in parts], world.log_prob(t)))
    posterior = jax.jit(lambda t: world.posterior(t))
    logs, log = log_probs(tokens)
    each = np.exp(logs)
    assert np.exp(float(log)) == pytest.approx(each @ [0.25, 0.75], rel=1e-5)
    wanted = each * [0.25, 0.75] / (each @ [0.25, 0.75])
    np.testing.assert_allclose(posterior(tokens), wanted, rtol=1e-5)
    assert (np.asarray(posterior(parse("i0i0r0"))) == 0).all()
    drawn = jax.jit(jax.vmap(lambda key: world.sample(key, 6)))(
        jax.random.split(jax.random.key(0), 4000)
    )
    which, ignored = np.asarray(drawn.component), np.asarray(drawn.tokens)[:, 2] == I
    assert abs(which.mean() - 0.75) < 0.04
    assert abs(ignored[which == 0].mean() - 0.9) < 0.05
    assert abs(ignored[which == 1].mean() - 0.1) < 0.05
    tokens, labels, weights = jax.jit(lambda key: world.labelled(key, 6))(jax.random.key(3))
    assert tokens.shape == (6,) and labels.shape == weights.shape == (3,)


@pytest.mark.long
def test_sampling_is_faster_than_a_loop():
    world = FlipFlop(512, p_ignore=0.8)
    draw = jax.jit(jax.vmap(world.sample))
    keys = jax.random.split(jax.random.key(0), 2000)
    jax.block_until_ready(draw(keys))
    start = time.process_time()
    jax.block_until_ready(draw(keys))
    rate = 2000 * 512 / (time.process_time() - start)
    rng, start = np.random.default_rng(0), time.process_time()
    for _ in range(20):
        memory, tokens = 0, []
        for k in range(256):
            ins = W if k == 0 else R if k == 255 else rng.choice(3, p=[0.1, 0.1, 0.8])
            bit = memory if ins == R else int(rng.integers(2))
            memory = bit if ins == W else memory
            tokens += [ins, bit]
    loop = 20 * 512 / (time.process_time() - start)
    assert rate > 1e6 and rate > 10 * loop, (rate, loop)


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ([R, 3, W, 3], r"tokens\[0\] is 1; a string begins with a write \(0\)"),
        ([I, 3, R, 3], r"tokens\[0\] is 2; a string begins with a write \(0\)"),
        ([W, 3, 4, 3], r"tokens\[2\] is 4; pairs need an instruction \(below 3\)"),
        ([3, W, 4, I], r"tokens\[0\] is 3; pairs need an instruction"),
        ([W, R, I, 3], r"tokens\[1\] is 1; pairs need a symbol \(from 3 on\)"),
        ([W, 3, R], "3 tokens; pairs need an even number"),
    ],
)
def test_a_string_that_remembers_nothing_is_refused(tokens, sentence):
    with pytest.raises(ValueError, match=sentence):
        FlipFlop(8, p_ignore=0.5).memory(np.array(tokens))
