"""Layered grammars: every exact answer against all derivations written out, and against NLTK."""

import itertools
from collections import Counter

import jax
import numpy as np
import pytest

from minicosm.worlds import LayeredPCFG
from minicosm.worlds.pcfg.grammar import quantiles
from minicosm.worlds.pcfg.words import word_rules

# Two layers above three terminals; 8 and 9 overlap, so that sentences have several derivations.
RULES = {
    12: [[8, 9], [9, 9, 8], [8, 8]],
    8: [[0, 1], [1, 1, 2], [2]],
    9: [[0, 1], [1], [2, 2]],
}
LAWS = {12: [0.5, 0.2, 0.3], 8: [0.2, 0.5, 0.3]}
AMBIGUOUS = LayeredPCFG(RULES, 12, LAWS)
B9 = LayeredPCFG.named("cfg3b", 10)


def derivations(world, height=None, symbol=0):
    """All derivations of a symbol: probability, tokens, and the spans (height, symbol, start, stop)."""
    height = world.height if height is None else height
    if height == 1:
        return [(1.0, (symbol,), ())]
    layer = world.grammar.layers[height - 2]
    found = []
    for parent, children, p in zip(layer.parents, layer.children, layer.probabilities, strict=True):
        if parent != symbol:
            continue
        for parts in itertools.product(*(derivations(world, height - 1, c) for c in children)):
            chance, tokens, spans = p, (), ()
            for q, string, inner in parts:
                moved = tuple((h, s, a + len(tokens), b + len(tokens)) for h, s, a, b in inner)
                chance, tokens, spans = chance * q, tokens + string, spans + moved
            found.append((chance, tokens, (*spans, (height, symbol, 0, len(tokens)))))
    return found


def law(world):
    """The probability of every sentence."""
    total = Counter()
    for p, tokens, _ in derivations(world):
        total[tokens] += p
    return total


def of_two_lengths(sentences):
    """Three sentences each of three and of five tokens: a program is compiled for every length."""
    for length in (3, 5):
        yield from [tokens for tokens, _ in sentences if len(tokens) == length][::4][:3]


def padded(world, tokens):
    return np.array([*tokens, *([world.vocab] * (world.longest - len(tokens)))])


@pytest.fixture(scope="module")
def sentences():
    return list(law(AMBIGUOUS).items())


@pytest.mark.parametrize("world", [AMBIGUOUS, B9], ids=["ambiguous", "cfg3b below 10"])
def test_probabilities_are_sums_over_derivations(world):
    every = law(world)
    impossible = next(
        word for word in itertools.product(range(world.vocab), repeat=4) if word not in every
    )
    known = list(every.items())[:200]
    rows = np.array([padded(world, tokens) for tokens in [*dict(known), impossible]])
    with jax.enable_x64(True):
        *found, none = np.exp(jax.jit(jax.vmap(world.log_prob))(rows))
    np.testing.assert_allclose(found, [p for _, p in known], rtol=1e-10)
    assert none == 0


def test_lengths_and_entropy_are_those_of_all_derivations(sentences):
    lengths = np.zeros(AMBIGUOUS.longest + 1)
    for tokens, p in sentences:
        lengths[len(tokens)] += p
    np.testing.assert_allclose(AMBIGUOUS.length_law, lengths, atol=1e-12)
    entropy = -sum(p * np.log(p) for p, _, _ in derivations(AMBIGUOUS))
    assert AMBIGUOUS.entropy == pytest.approx(entropy)


def test_conditionals_are_quotients_of_sums(sentences):
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        for tokens in map(np.array, of_two_lengths(sentences)):
            observed = rng.random(len(tokens)) < 0.6
            found = np.asarray(AMBIGUOUS.conditionals(tokens, observed))
            for i in range(len(tokens)):
                wanted = np.zeros(3)
                for other, p in sentences:
                    if len(other) == len(tokens) and all(
                        other[j] == tokens[j] for j in range(len(tokens)) if observed[j] and j != i
                    ):
                        wanted[other[i]] += p
                np.testing.assert_allclose(found[i], wanted / wanted.sum(), atol=1e-12)


def test_prefixes_know_the_next_token_and_the_end(sentences):
    with jax.enable_x64(True):
        for tokens in of_two_lengths(sentences):
            logits = np.asarray(AMBIGUOUS.next_logits(np.array(tokens)))
            ends = np.asarray(AMBIGUOUS.end_probabilities(np.array(tokens)))
            for i in range(1, len(tokens) + 1):
                following, over = np.zeros(3), 0.0
                for other, p in sentences:
                    if other[:i] == tokens[:i]:
                        if len(other) == i:
                            over += p
                        else:
                            following[other[i]] += p
                total = following.sum()
                assert ends[i - 1] == pytest.approx(over / (over + total), abs=1e-12)
                if total:
                    np.testing.assert_allclose(np.exp(logits[i - 1]), following / total, atol=1e-12)
                else:
                    assert (logits[i - 1] == -np.inf).all()
        first = np.zeros(3)
        for other, p in sentences:
            first[other[0]] += p
        np.testing.assert_allclose(AMBIGUOUS.first_law(), first, atol=1e-12)


def test_posteriors_of_nodes_are_those_of_all_derivations():
    trees = derivations(AMBIGUOUS)
    with jax.enable_x64(True):
        for tokens in ((0, 1, 1), (2, 2, 2), (1, 1, 2, 0, 1)):
            here = [(p, spans) for p, string, spans in trees if string == tokens]
            total = sum(p for p, _ in here)
            found = AMBIGUOUS.posterior(np.array(tokens))
            ancestors, ends = np.zeros((2, len(tokens), 2)), np.zeros((2, len(tokens), 3))
            ends[:, :, 2] = 1
            for p, spans in here:
                for height, symbol, a, b in spans:
                    ancestors[height - 2, a:b, symbol] += p / total
                    ends[height - 2, b - 1, symbol] += p / total
                    ends[height - 2, b - 1, 2] -= p / total
            np.testing.assert_allclose(found.ancestors, ancestors, atol=1e-10)
            np.testing.assert_allclose(found.ends, ends, atol=1e-10)


@pytest.mark.parametrize("n", [1, 3])
def test_ngrams_are_expected_counts(sentences, n):
    wanted = np.zeros((3,) * n)
    for tokens, p in sentences:
        for i in range(len(tokens) - n + 1):
            wanted[tokens[i : i + n]] += p
    with jax.enable_x64(True):
        np.testing.assert_allclose(AMBIGUOUS.ngrams(n), wanted, atol=1e-12)


def test_samples_follow_the_law_and_their_trees_derive_them(sentences):
    keys = jax.random.split(jax.random.key(0), 4000)
    drawn = jax.jit(jax.vmap(AMBIGUOUS.sample))(keys)
    found = Counter(
        tuple(t[:n].tolist())
        for t, n in zip(np.asarray(drawn.tokens), np.asarray(drawn.length), strict=True)
    )
    for tokens, p in sentences:
        assert abs(found[tokens] / 4000 - p) < 5 * np.sqrt(p * (1 - p) / 4000) + 1e-9
    assert set(found) <= set(dict(sentences))
    low, high = np.moveaxis(np.asarray(drawn.boundaries), 1, 0)[:2]
    assert (low | ~high).all()  # where a node ends, its last child ends
    trees = {(string, tuple(sorted(spans))) for _, string, spans in derivations(AMBIGUOUS)}
    for i in range(50):
        n = int(drawn.length[i])
        spans = []
        for h in (2, 3):
            ends = np.flatnonzero(np.asarray(drawn.boundaries[i, h - 2, :n])) + 1
            starts = np.append(0, ends[:-1])
            symbols = np.asarray(drawn.symbols[i, h - 2])[starts]
            spans += [
                (h, int(s), int(a), int(b)) for s, a, b in zip(symbols, starts, ends, strict=True)
            ]
        assert (tuple(np.asarray(drawn.tokens[i, :n]).tolist()), tuple(sorted(spans))) in trees


@pytest.mark.long
def test_samples_of_one_length_follow_the_conditional_law(sentences):
    keys = jax.random.split(jax.random.key(1), 3000)
    drawn = np.asarray(jax.jit(jax.vmap(lambda k: AMBIGUOUS.sample(k, 4).tokens))(keys))
    found = Counter(map(tuple, drawn.tolist()))
    share = AMBIGUOUS.length_law[4]
    for tokens, p in sentences:
        if len(tokens) == 4:
            q = p / share
            assert abs(found[tokens] / 3000 - q) < 5 * np.sqrt(q * (1 - q) / 3000) + 1e-9
    assert all(len(tokens) == 4 for tokens in found)


LENGTHS = {  # quantiles of lengths, 25, 50, 75 and 95%, as printed in Section 4.2.8.3
    "cfg3b": (251, 278, 308, 342), "cfg3i": (276, 307, 340, 386), "cfg3h": (202, 238, 270, 300),
    "cfg3g": (212, 258, 294, 341), "cfg3f": (191, 247, 302, 364),
}  # fmt: skip


@pytest.mark.parametrize("name", LENGTHS)
def test_the_grammars_of_the_source_have_its_lengths(name):
    world = LayeredPCFG.named(name)
    found = quantiles(world.length_law, (0.25, 0.5, 0.75, 0.95))
    assert np.abs(found - LENGTHS[name]).max() <= 3
    assert world.height == 7 and world.vocab == 3


def test_the_sub_grammar_of_the_laptop_has_its_stated_sizes():
    world = LayeredPCFG.named("cfg3b", 15)
    lengths = np.flatnonzero(world.length_law)
    assert (lengths[0], lengths[-1]) == (18, 27)
    assert world.grammar.mean_length == pytest.approx(22.5)
    assert world.entropy == pytest.approx(np.log(8192))


@pytest.mark.long
def test_nltk_finds_the_same_probabilities():
    nltk = pytest.importorskip("nltk")
    lines = []
    for height, layer in enumerate(B9.grammar.layers, start=2):
        for parent, children, p in zip(
            layer.parents, layer.children, layer.probabilities, strict=True
        ):
            below = [f"'{c}'" if height == 2 else f"N{height - 1}x{c}" for c in children]
            lines.append(f"N{height}x{parent} -> {' '.join(below)} [{p:.17g}]")
    root = f"N{B9.height}x0"
    lines.sort(key=lambda line: not line.startswith(root))
    parser = nltk.InsideChartParser(nltk.PCFG.fromstring("\n".join(lines)))
    with jax.enable_x64(True):
        for seed in range(2):
            drawn = B9.sample(jax.random.key(seed))
            tokens = np.asarray(drawn.tokens)[: int(drawn.length)]
            wanted = sum(tree.prob() for tree in parser.parse([str(t) for t in tokens]))
            assert np.exp(B9.log_prob(tokens)) == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LayeredPCFG({3: [[0]], 4: [[1]]}, 3), "symbol 4 cannot be reached from the root 3"),
        (lambda: LayeredPCFG({3: [[4]], 4: []}, 3), r"rules\[4\] is \[\]; a symbol without rules"),
        (lambda: LayeredPCFG({3: [[4]], 4: [[3]]}, 3), "derives itself"),
        (lambda: LayeredPCFG({3: [[4, 0]], 4: [[0]]}, 3), r"heights \[1, 2\]"),
        (lambda: LayeredPCFG({3: [[0]]}, 0), "root is 0; it must be a symbol that has rules"),
        (lambda: LayeredPCFG({i: [(i - 1, i - 1)] for i in range(1, 65)}, 64), "up to 18446744073709551616"),
        (lambda: LayeredPCFG({3: [[0], [1]]}, 3, {3: [0.5, 0.6]}), r"probabilities\[3\]"),
        (lambda: AMBIGUOUS.sample(jax.random.key(0), 1), "length is 1; this grammar makes"),
        (lambda: AMBIGUOUS.symbols(4), "height is 4; this grammar has the heights 1..3"),
        (lambda: AMBIGUOUS.log_prob(np.array([0, 3, 0])), "the padding, before its end"),
        (lambda: LayeredPCFG.named("cfg4"), "name is 'cfg4'"),
        (lambda: LayeredPCFG.named("cfg3b", 3), "below is 3; it must be a symbol in 7..22"),
    ],
)  # fmt: skip
def test_bad_input_meets_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("count", [77, 200])
def test_grammars_with_many_words_use_all_of_them(count):
    world = LayeredPCFG.named(f"words-{count}", 18)
    assert world.vocab == count and world.height == 5
    assert [len(world.symbols(h)) for h in (2, 3, 4)] == [count // 10, 3, 3]
    possible = np.flatnonzero(world.length_law)
    assert (possible[0], possible[-1]) == (8, 27)  # three layers of two or three children
    words = np.asarray(world.ngrams(1))
    assert (words > 0).all()
    np.testing.assert_allclose(words.sum(), world.length_law @ np.arange(28), rtol=1e-5)


def test_words_of_one_phrase_have_the_law_of_its_derivations():
    """Below the symbol 10 a sentence has two or three parts of speech, each with its own law of words."""
    rules, chances = word_rules("words-50", 10)
    world = LayeredPCFG.named("words-50", 10)
    laws = {s: {kids[0]: p for kids, p in zip(rules[s], chances[s], strict=True)} for s in chances}
    numbers = {word: i for i, word in enumerate(world.symbols(1))}
    pairs = [kids for kids in rules[10] if len(kids) == 2]
    first, second = ([*laws[part]][1] for part in pairs[0])
    wanted = sum(laws[a].get(first, 0) * laws[b].get(second, 0) for a, b in pairs) / len(rules[10])
    tokens = np.array([numbers[first], numbers[second]])
    np.testing.assert_allclose(np.exp(world.log_prob(tokens)), wanted, rtol=1e-5)
    law = np.zeros(world.vocab)
    for a, b in pairs:  # the law of the second word given the first, in sentences of two
        for word, p in laws[b].items():
            law[numbers[word]] += laws[a].get(first, 0) * p
    found = world.conditionals(tokens, np.array([True, False]))[1]
    np.testing.assert_allclose(found, law / law.sum(), atol=1e-6)


@pytest.mark.parametrize("name", ["words-49", "words-201", "words-", "words-x", "words-²"])
def test_a_grammar_has_between_50_and_200_words(name):
    with pytest.raises(ValueError, match="from 50 to 200"):
        LayeredPCFG.named(name)
