"""Theorem 2.2.2: near-optimal models are near balance, with every constant written out."""

from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from minicosm.lab import Progress, TrialResult
from minicosm.theory.dyck.approximate import (
    Parameters,
    approximate_balance,
    contributions,
    least_outputs,
    merging,
    merging_ratio,
    pair_count,
    pair_effects,
    prefix_outputs,
    random_parameters,
    read_output,
    shifted_pair_effects,
    string,
)
from minicosm.worlds import Dyck

from ...common.ledger import Ledger

SHAPES = ((2, 4), (2, 2), (3, 3))  # types, depth
NOISES = (None, 0.0, 1e-3, 1e-2, 1e-1)  # None: far from balance


@dataclass(frozen=True)
class Approximate:
    """How many sets of parameters are tried, and how many triples of vectors for Lemma 2.2.1."""

    seed: int
    sets: int
    triples: int


def run(config: Approximate, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for trial in range(config.sets):
        progress(trial, config.sets, "sets of parameters")
        rng = np.random.default_rng([config.seed, trial])
        types, depth = SHAPES[trial % len(SHAPES)]
        noise = NOISES[trial % len(NOISES)]
        scale = float(rng.choice([0.3, 1, 2]))
        given = random_parameters(rng, types, depth, scale=scale, noise=noise)
        length = 8 * depth + 1 + int(rng.integers(100))
        _theorem(ledger, given, length, -1.0 if noise is None else noise)
        _strings(ledger, given, length, rng)
        if noise == 0.0:
            _printed_pair(ledger, given)
    for trial in range(config.triples):
        _merging(ledger, np.random.default_rng([config.seed, trial, 1]))
    _losses(ledger)
    return ledger.result()


def _theorem(ledger: Ledger, given: Parameters, length: int, noise: float) -> None:
    """The largest ratios over all queries and types of pairs."""
    k, D = given.types, given.depth
    found = [
        approximate_balance(given, length, kind, depth, inner)
        for kind in range(k)
        for depth in range(2, D + 1)
        for inner in range(k)
    ]
    scaled = np.array([balance.scaled for balance in found])
    ledger.add(
        "theorem-2.2.2",
        noise=noise,
        length=length,
        scaled=float(scaled.max()),
        share=float(scaled.max() / (4 + 16 * D)),
        refined=float((scaled / (4 + 16 * np.arange(D))).max()),
        prefix=max(balance.prefix for balance in found),
        steps=max(balance.steps for balance in found) / 16,
        distance=min(balance.distance for balance in found),
    )


def _strings(ledger: Ledger, given: Parameters, length: int, rng: np.random.Generator) -> None:
    """`A + Q` against what the explicit strings sum to, for one query and all d' = 0..D-1; the
    difference of neighbouring A; and how far apart the next-token laws are."""
    k, D = given.types, given.depth
    q = float(rng.uniform(0.1, 0.9))
    world = Dyck(k, D, q)
    kind, inner, depth = int(rng.integers(k)), int(rng.integers(k)), int(rng.integers(2, D + 1))
    u = contributions(given, given.closed(kind, depth - 1))
    S = pair_effects(given, u)
    least = least_outputs(given, kind, depth, u)
    A = prefix_outputs(S, length, depth)[inner]
    printed = prefix_outputs(S, length, depth, printed=True)[inner]
    scale = float(np.abs(u).max()) * length
    for outer in range(D):
        tokens = string(length, depth, outer, inner, kind, least.first)
        other = string(length, depth, outer, inner, kind, least.second)
        sums = read_output(given, tokens, u)
        ledger.add(
            "prefix-output",
            error=_size(A[outer] + least.first_output - sums) / scale,
            fits=len(tokens) <= length,
        )
        wrong = _size(printed[outer] + least.first_output - sums) / scale
        ledger.add("prefix-output-printed", error=wrong * length)
        _separation(ledger, world, q, tokens, other)
    counts = np.array([pair_count(length, depth, outer) for outer in range(1, D)])[:, None]
    right = np.diff(A, axis=0) - counts * np.diff(S[inner], axis=0)
    misplaced = np.diff(A, axis=0) - (counts * S[inner][1:] - S[inner][:-1])
    ledger.add("telescope", error=float(np.abs(right).max() / scale))
    if np.abs(S).max() > 1e-6 * np.abs(u).max():
        ledger.add(
            "telescope-printed", error=float(np.abs(misplaced).max() / np.abs(S[inner]).max())
        )


def _separation(ledger: Ledger, world: Dyck, q: float, tokens, other) -> None:
    """The 2-norm of the difference of two next-token laws; its 1-norm and the total variation."""
    padded = np.full((2, 144), world.vocab)
    padded[0, : len(tokens)], padded[1, : len(other)] = tokens, other
    with jax.enable_x64(True):
        laws = np.exp(np.asarray(_next_logits(world, padded))[[0, 1], [len(tokens) - 1] * 2])
    gap, wanted = laws[0] - laws[1], 2**0.5 * (1 - q)
    ledger.add("separation", error=abs(_size(gap) - wanted) / wanted)
    variation = float(np.maximum(gap, 0).sum())
    ledger.add("separation-printed", error=abs(float(np.abs(gap).sum()) - variation))


@eqx.filter_jit
def _next_logits(world, tokens):
    return jax.vmap(world.next_logits)(tokens)


def _printed_pair(ledger: Ledger, given: Parameters, length: int = 10**6) -> None:
    """Under exact balance: |S| and its printed stand-in, over their bound 16 D R P / N."""
    k, D = given.types, given.depth
    for kind in range(k):
        for depth in range(2, D + 1):
            u = contributions(given, given.closed(kind, depth - 1))
            distance = approximate_balance(given, length, kind, depth, 0).distance
            size = least_outputs(given, kind, depth, u).size
            bound = 16 * D * merging_ratio(distance) * size / length
            shifted = np.linalg.norm(shifted_pair_effects(given, u), axis=-1).max()
            ledger.add("pair-printed", ratio=float(shifted / bound))


def _merging(ledger: Ledger, rng: np.random.Generator) -> None:
    """Lemma 2.2.1 with |r| exactly at the least that it asks for, in any unit of length."""
    epsilon = 10 ** rng.uniform(-3, 0.3)
    n = int(rng.integers(2, 8))
    a, b, r = rng.normal(size=(3, n)) * 10 ** rng.uniform(-3, 3)
    b = b * rng.uniform()
    if rng.random() < 0.5:  # a and b opposite and across r: the worst case
        a = a - (a @ r) / (r @ r) * r
        b = -a
    size = max(_size(a), _size(b))

    def at(ratio: float):
        return merging(a, b, r * (ratio * size / _size(r)) * (1 + 1e-12))

    ledger.add("lemma-2.2.1", ratio=at(merging_ratio(epsilon)).gap / epsilon)
    ledger.add("lemma-2.2.1-printed", ratio=at(merging_ratio(epsilon, size)).gap / epsilon)
    found = at(1 + 10 ** rng.uniform(-1, 4))
    ledger.add("lemma-2.2.1-sharp", ratio=found.gap / found.sharp)


def _losses(ledger: Ledger) -> None:
    """The least loss there is, and the least probability of a prefix, beside `(q (1-q) / k^2)^N`."""
    for k, D in SHAPES:
        for q in (0.1, 0.5, 0.9):
            world = Dyck(k, D, q)
            for length in (8 * D + 1, 12 * D, 40 * D):
                bound = length * np.log(q * (1 - q) / k**2)
                ledger.add(
                    "loss-printed",
                    least=world.optimal_loss(length, "squared"),
                    log_bound=float(bound),
                )
                rarest = float(_rarest(world, length - 1).min())
                ledger.add("excess-loss", log_ratio=float(np.log(length) + bound - rarest))


def _rarest(world: Dyck, length: int) -> Float[np.ndarray, " lengths"]:
    """The least log probability of prefixes of 0..length tokens, by dynamic programming over depths."""
    k, D = world.types, world.depth
    with np.errstate(divide="ignore"):
        up, down = np.log(np.asarray(world.opening) / k), np.log(np.asarray(world.closing))
    up[-1] = down[0] = np.inf  # these moves do not exist
    least = np.full(D + 1, np.inf)
    least[0] = 0
    found = [0.0]
    for _ in range(length):
        least = np.minimum(
            np.append(np.inf, (least + up)[:-1]), np.append((least + down)[1:], np.inf)
        )
        found.append(float(least.min()))
    return np.array(found)


def _size(x: Float[np.ndarray, " m"]) -> float:
    return float(np.linalg.norm(x))
