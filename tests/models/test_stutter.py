"""Stutter and attention at neighbours against loops over rows, heads and pairs."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.models import stutter as dep


def drawn(seed: int, B: int = 4, H: int = 3, N: int = 5, S: int = 6):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(0, 3, (B, N))
    lengths = rng.integers(0, N + 1, B)
    sources = rng.integers(1, S + 1, B)

    def attention(keys, width):
        A = rng.integers(0, 4, (B, H, N, width)) + 0.0  # small whole numbers: ties happen
        A *= np.arange(width) < keys[:, None, None, None]
        A[..., 0] += 1
        return A / A.sum(axis=-1, keepdims=True)

    return tokens, lengths, sources, attention(np.maximum(lengths, 1), N), attention(sources, S)


def top(row, size, k):
    """The k most attended positions before `size`, ties to the earlier."""
    return set(sorted(range(size), key=lambda j: (-row[j], j))[:k])


def moments(values):
    if not values:
        return (math.nan, math.nan, 0)
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / len(values)), len(values)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_attention_measures_by_hand(seed):
    tokens, lengths, sources, own, cross = drawn(seed)
    groups = {"stutter": [], "other": []}
    for b in range(len(tokens)):
        for i in range(lengths[b] - 1):
            n, s, pair = lengths[b], sources[b], {}
            scores, near = [], {1: [], 2: []}
            tv, cosine, shared = [], [], {1: [], 2: []}
            for h in range(own.shape[1]):
                for x, y in ((i, i + 1), (i + 1, i)):
                    scores.append(own[b, h, x, y])
                    for k in near:
                        near[k].append(y in top(own[b, h, x], n, k))
                p, q = cross[b, h, i], cross[b, h, i + 1]
                tv.append(max(sum(max(p[j] - q[j], 0) for j in range(s)), 0))
                cosine.append(1 - p @ q / math.sqrt(p @ p) / math.sqrt(q @ q))
                for k in shared:
                    shared[k].append(bool(top(p, s, k) & top(q, s, k)))
            for name, values in (("attention", scores), ("tv", tv), ("cosine", cosine)):
                pair |= {f"{name} min": min(values), f"{name} max": max(values)}
                pair[f"{name} mean"] = sum(values) / len(values)
            for k in (1, 2):
                pair[f"self top-{k}"] = sum(near[k]) / len(near[k])
                pair[f"cross top-{k}"] = sum(shared[k]) / len(shared[k])
            groups["stutter" if tokens[b, i] == tokens[b, i + 1] else "other"].append(pair)
    mine = dep.self_attention_dependence(own, lengths)
    theirs = dep.cross_attention_dependence(cross, lengths, sources)
    for prefix, measures in (("self ", mine), ("cross ", theirs)):
        found = dep.by_stutter(measures, tokens, lengths)
        for group, pairs in groups.items():
            for name, spread in found[group].items():
                key = prefix + name if name.startswith("top") else name
                expected = moments([pair[key] for pair in pairs])
                assert tuple(spread) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_padding_says_nothing():
    """Whatever stands after the lengths, the measures of the pairs inside are the same."""
    tokens, lengths, sources, own, cross = drawn(3)
    wild = np.random.default_rng(0)
    padding = np.arange(cross.shape[3]) >= sources[:, None, None, None]
    beyond = np.arange(5) >= np.maximum(lengths, 1)[:, None, None, None]
    mess = np.where(padding, wild.uniform(1, 9, cross.shape), cross)
    messy = np.where(beyond, wild.uniform(1, 9, own.shape), own)
    pairs = (dep.cross_attention_dependence(a, lengths, sources) for a in (cross, mess))
    clean, found = (dep.by_stutter(m, tokens, lengths) for m in pairs)
    np.testing.assert_equal(found, clean)
    pairs = (dep.self_attention_dependence(a, lengths) for a in (own, messy))
    clean, found = (dep.by_stutter(m, tokens, lengths) for m in pairs)
    np.testing.assert_equal(found, clean)
    padded = np.where(np.arange(5) < lengths[:, None], tokens, 0)
    assert (dep.stutter_pairs(padded, lengths) == dep.stutter_pairs(tokens, lengths)).all()


WORDS = st.lists(st.sampled_from("abc"), max_size=6)


@given(st.lists(st.tuples(WORDS, WORDS), max_size=5))
def test_stutter_rate_by_hand(sentences):
    repeats = total = own = 0
    for output, reference in sentences:
        known = [a for a, b in pairwise(reference) if a == b]
        pairs = [a for a, b in pairwise(output) if a == b]
        own += len(pairs)
        repeats += sum(a not in known for a in pairs)
        total += len(output)
    outputs, references = [s[0] for s in sentences], [s[1] for s in sentences]
    rates = dep.word_stutter_rate(outputs, references), dep.word_stutter_rate(outputs)
    expected = (1000 * repeats / total, 1000 * own / total) if total else (0, 0)
    assert rates == pytest.approx(expected)


def test_equal_and_opposite_rows():
    laws = np.array([[[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]])
    np.testing.assert_allclose(dep.neighbour_tv(laws), [[0, 1]], atol=1e-15)
    np.testing.assert_allclose(dep.neighbour_cosine(laws), [[0, 1]], atol=1e-15)


def test_bad_input_is_one_sentence():
    ok = np.full((2, 1, 3, 3), 1 / 3)
    with pytest.raises(ValueError, match="probabilities over positions"):
        dep.self_attention_dependence(ok, np.array([3, 2]))  # a third of it beyond the length
    with pytest.raises(ValueError, match=r"2 numbers in 0\.\.3"):
        dep.cross_attention_dependence(ok, np.array([3, 4]), np.array([3, 3]))
    with pytest.raises(ValueError, match="rows, heads"):
        dep.self_attention_dependence(ok[:, :0], np.array([3, 3]))
    with pytest.raises(ValueError, match=r"one number in 0\.\.3"):
        dep.stutter_pairs(np.zeros((2, 3), int), np.array([3, 4]))
    with pytest.raises(ValueError, match="together or not"):
        dep.stutter_rate(np.zeros((2, 3), int), np.array([3, 3]), np.zeros((2, 3), int))
    with pytest.raises(ValueError, match="every sentence needs its own"):
        dep.word_stutter_rate([["a"]], [])
