"""Stuttering, and what attention says about neighbours that stutter (Section 4.2.4).

Arrays are batched over rows and padded after `lengths`. A pair is a position i with its neighbour
i + 1, both inside the length; it stutters if its two tokens are equal.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

Tokens = Int[np.ndarray, "B N"]
Lengths = Int[np.ndarray, " B"]
Pairs = Float[np.ndarray, "B pairs"]

TOP = (1, 2)  # the k of "among the k most attended positions"


class Spread(NamedTuple):
    """Mean and standard deviation (that of the pairs seen, no correction) over that many pairs.

    Without pairs, mean and deviation are not numbers.
    """

    mean: float
    sd: float
    pairs: int


def inside_pairs(lengths: Lengths, N: int) -> Bool[np.ndarray, "B pairs"]:
    """Whether i and i + 1 are both inside the length, i = 0..N-2."""
    lengths = np.asarray(lengths)
    if lengths.ndim != 1 or (lengths.size and not 0 <= lengths.min() <= lengths.max() <= N):
        raise ValueError(f"lengths must be one number in 0..{N} for every row")
    return np.arange(1, N) < lengths[:, None]


def stutter_pairs(tokens: Tokens, lengths: Lengths) -> Bool[np.ndarray, "B pairs"]:
    """Whether tokens i and i + 1 are equal and inside the length, i = 0..N-2."""
    tokens = np.asarray(tokens)
    if tokens.ndim != 2 or len(tokens) != len(np.atleast_1d(lengths)):
        raise ValueError(
            f"tokens have shape {tokens.shape} and lengths {np.shape(lengths)}; "
            "a row of tokens is needed for every length"
        )
    return (tokens[:, 1:] == tokens[:, :-1]) & inside_pairs(lengths, tokens.shape[1])


def stutter_rate(
    tokens: Tokens,
    lengths: Lengths,
    reference: Int[np.ndarray, "B R"] | None = None,
    reference_lengths: Lengths | None = None,
) -> float:
    """Stuttering pairs per 1000 tokens. With a reference, a repeat of a token that the reference of
    the same row repeats somewhere too is none; 0 if there are no tokens."""
    repeats = stutter_pairs(tokens, lengths)
    row, place = np.nonzero(repeats)
    words = np.asarray(tokens)[row, place]
    if (reference is None) != (reference_lengths is None):
        raise ValueError("a reference and its lengths are given together or not at all")
    if reference is not None and reference_lengths is not None:
        if len(reference) != len(repeats):
            raise ValueError(
                f"there are {len(repeats)} rows and {len(reference)} references; "
                "every row needs its own"
            )
        at, there = np.nonzero(stutter_pairs(reference, reference_lengths))
        allowed = np.asarray(reference)[at, there]
        _, codes = np.unique(np.concatenate([words, allowed]), return_inverse=True)
        keys = np.concatenate([row, at]) * (codes.max(initial=0) + 1) + codes
        words = words[~np.isin(keys[: len(row)], keys[len(row) :])]
    total = int(np.sum(lengths))
    return 1000 * len(words) / total if total else 0.0


def word_stutter_rate(
    outputs: Sequence[Sequence[str]], references: Sequence[Sequence[str]] | None = None
) -> float:
    """`stutter_rate` of sentences given as words: pairs of equal neighbours that are no repeat of the
    reference, per 1000 words of the output."""
    if references is not None and len(references) != len(outputs):
        raise ValueError(
            f"there are {len(outputs)} sentences and {len(references)} references; "
            "every sentence needs its own"
        )
    ids: dict[str, int] = {}
    tokens, lengths = _numbered(outputs, ids)
    if references is None:
        return stutter_rate(tokens, lengths)
    return stutter_rate(tokens, lengths, *_numbered(references, ids))


def _numbered(sentences: Sequence[Sequence[str]], ids: dict[str, int]) -> tuple[Tokens, Lengths]:
    lengths = np.array([len(s) for s in sentences], dtype=np.int64)
    tokens = np.full((len(lengths), lengths.max(initial=0)), -1)
    flat = [ids.setdefault(word, len(ids)) for sentence in sentences for word in sentence]
    tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = flat
    return tokens, lengths


def neighbour_tv(laws: Float[np.ndarray, "*batch N S"]) -> Float[np.ndarray, "*batch pairs"]:
    """`sum_s |p_i(s) - p_{i+1}(s)| / 2`: total variation distance of neighbouring rows."""
    return np.abs(np.diff(laws, axis=-2)).sum(axis=-1) / 2


def neighbour_cosine(laws: Float[np.ndarray, "*batch N S"]) -> Float[np.ndarray, "*batch pairs"]:
    """`1 - <p_i, p_{i+1}> / (|p_i| |p_{i+1}|)` of neighbouring rows; a row of zeros is at distance 1."""
    sizes = np.linalg.norm(laws, axis=-1)
    both = sizes[..., 1:] * sizes[..., :-1]
    inner = (laws[..., 1:, :] * laws[..., :-1, :]).sum(axis=-1)
    return np.clip(1 - np.divide(inner, both, out=np.zeros_like(inner), where=both > 0), 0, 1)


def self_attention_dependence(
    attention: Float[np.ndarray, "B H N N"], lengths: Lengths
) -> dict[str, Pairs]:
    """For every pair the attention of i to i + 1 and of i + 1 to i, `A[i, i+1]` and `A[i+1, i]`: the
    least, mean and largest of these 2 H numbers, and in which share of them the other position is
    among the k most attended (of equal weights the earlier position counts as the larger).

    Row i of `attention` is what position i attends to. Entries of pairs beyond the length mean nothing.
    """
    A, real = _checked(attention, lengths, lengths)
    i = np.arange(A.shape[2] - 1)
    both = np.concatenate([A[:, :, i, i + 1], A[:, :, i + 1, i]], axis=1)
    ranks = _ranks(A, real)
    seen = np.concatenate([ranks[:, :, i, i + 1], ranks[:, :, i + 1, i]], axis=1)
    found = _over_heads("attention", both)
    return found | {f"top-{k}": (seen < k).mean(axis=1) for k in TOP}


def cross_attention_dependence(
    attention: Float[np.ndarray, "B H N S"], lengths: Lengths, source_lengths: Lengths
) -> dict[str, Pairs]:
    """For every pair the distance of what i and i + 1 attend to in the source, total variation and
    1 - cosine: least, mean and largest over heads; and the share of heads in which the k most
    attended source positions of the two have one in common.

    Entries of pairs beyond the length mean nothing.
    """
    A, real = _checked(attention, lengths, source_lengths)
    ranks = _ranks(A, real)
    found = _over_heads("tv", neighbour_tv(A)) | _over_heads("cosine", neighbour_cosine(A))
    for k in TOP:
        chosen = (ranks < k) & real[:, None, None]
        found[f"top-{k}"] = (chosen[:, :, 1:] & chosen[:, :, :-1]).any(axis=3).mean(axis=1)
    return found


def by_stutter(
    measures: Mapping[str, Pairs], tokens: Tokens, lengths: Lengths
) -> dict[str, dict[str, Spread]]:
    """Every measure over the pairs that stutter, `"stutter"`, and over the others, `"other"`."""
    same = stutter_pairs(tokens, lengths)
    other = inside_pairs(lengths, np.shape(tokens)[1]) & ~same
    return {
        group: {name: _spread(np.asarray(values)[which]) for name, values in measures.items()}
        for group, which in (("stutter", same), ("other", other))
    }


def _spread(values: Float[np.ndarray, " n"]) -> Spread:
    if not values.size:
        return Spread(float("nan"), float("nan"), 0)
    return Spread(float(values.mean()), float(values.std()), values.size)


def _over_heads(name: str, values: Float[np.ndarray, "B H pairs"]) -> dict[str, Pairs]:
    parts = {"min": values.min(axis=1), "mean": values.mean(axis=1), "max": values.max(axis=1)}
    return {f"{name} {part}": found for part, found in parts.items()}


def _ranks(
    A: Float[np.ndarray, "B H N S"], real: Bool[np.ndarray, "B S"]
) -> Int[np.ndarray, "B H N S"]:
    """How many positions of the row are attended more; of equal ones the earlier is more."""
    order = np.argsort(np.where(real[:, None, None], -A, 1.0), axis=-1, kind="stable")
    return np.argsort(order, axis=-1, kind="stable")


def _checked(
    attention: Float[np.ndarray, "B H N S"], lengths: Lengths, source_lengths: Lengths
) -> tuple[Float[np.ndarray, "B H N S"], Bool[np.ndarray, "B S"]]:
    """Attention in double precision, 0 beyond the source's length; and what is inside it."""
    A = np.asarray(attention, np.float64)
    if A.ndim != 4 or A.shape[1] == 0:
        raise ValueError(
            f"attention has shape {A.shape}; it must be rows, heads, positions, attended positions"
        )
    B, _, N, S = A.shape
    for name, given, most in (("lengths", lengths, N), ("source_lengths", source_lengths, S)):
        given = np.asarray(given)
        if given.shape != (B,) or (B and not 0 <= given.min() <= given.max() <= most):
            raise ValueError(f"{name} must be {B} numbers in 0..{most}, one for every row")
    real = np.arange(S) < np.asarray(source_lengths)[:, None]
    A = np.where(real[:, None, None], A, 0.0)
    used = np.arange(N) < np.asarray(lengths)[:, None]
    error = np.abs(A.sum(axis=-1) - 1).max(axis=1)[used].max(initial=0)
    if not (error <= 1e-3 and A.min(initial=0) >= 0):
        raise ValueError(
            f"a row of attention misses the sum 1 inside its length by {error:.2g}; "
            "rows must be probabilities over positions before the padding"
        )
    return A, real
