"""Theorem 2.2.3 and Corollary 2.2.3: random Transformers pruned to given ones."""

import numpy as np
from jaxtyping import Float

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.models import Transformer
from minicosm.theory.dyck import (
    WHICH,
    Matrices,
    Search,
    corollary_2_2_3,
    diagonal_entries,
    matrices_of,
    prune_transformer,
    random_large,
    random_target,
    theorem_2_2_3,
    theorem_2_2_3_budget,
)

from ..trials import Pruning, Sharing

SIZE = 24  # values per subset sum that are to suffice for the theorem's accuracy


def run(config: Pruning, progress: Progress) -> TrialResult:
    """Prune at every size; then targets of two layers, at 28; then Lemma 2.2.9.

    Few values, or units offered only once, are no statement of the theorem but belong to the figure.
    """
    ledger = Ledger()
    for draw in range(config.draws):
        progress(draw, config.draws + config.deep, "random Transformers")
        rng = np.random.default_rng([config.seed, draw])
        target = random_target(rng)
        large = random_large(rng, target)
        inputs = _inputs(rng, config.inputs)
        for size in config.sizes:
            for offers in (1, 4):
                _prune(ledger, target, large, inputs, Search(size, offers))
        if draw == 0:
            best = prune_transformer(target, large)
            ledger.picture(**_picture(matrices_of(large), matrices_of(best.model), target))
    for draw in range(config.deep):
        progress(config.draws + draw, config.draws + config.deep, "two layers")
        rng = np.random.default_rng([config.seed, draw, 2])
        target = random_target(rng, layers=2)
        large = random_large(rng, target)
        _prune(ledger, target, large, _inputs(rng, config.inputs), Search(28))
    _value_entries(ledger, config)
    return ledger.result()


def _inputs(rng: np.random.Generator, count: int) -> Float[np.ndarray, "n 8 3"]:
    """Sequences of 8 vectors with norms from 1e-3 to 1, evenly on a log scale."""
    drawn = rng.normal(size=(count, 8, 3))
    unit = drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)
    return unit * 10 ** rng.uniform(-3, 0, size=(count, 8, 1))


def _prune(
    ledger: Ledger, target: Transformer, large: Transformer, inputs: np.ndarray, search: Search
) -> None:
    result = theorem_2_2_3(target, large, search=search).certify(inputs=inputs)
    layers = target.config.layers
    ledger.add(result, "pruning", layers=layers)
    if search.size >= SIZE and search.offers > 1:
        ledger.add(result, layers=layers)
    ledger.add(theorem_2_2_3_budget(result))


def _picture(large: Matrices, kept: Matrices, target: Transformer) -> dict[str, np.ndarray]:
    """The first matrix of the target's MLP and what is kept for it, the hidden units in use only."""
    used = np.flatnonzero(kept.up[2].any(axis=1))
    wanted = matrices_of(target).up[0]
    return {
        "large_up": large.up[2][used], "kept_up": kept.up[2][used], "target_up": wanted,
        "large_down": large.down[2][: len(wanted)][:, used],
        "kept_down": kept.down[2][: len(wanted)][:, used],
        "read": np.flatnonzero(kept.up[2].any(axis=0)),
    }  # fmt: skip


def _value_entries(ledger: Ledger, config: Pruning) -> None:
    """How often a random value matrix has the entries of Lemma 2.2.9, and the exact chance.

    Pieces of s x s entries of which each is below 1/2 with probability 3/4: all m = 3 pieces have a
    larger one with probability `(1 - (3/4)^(s s))^3`.
    """
    rng = np.random.default_rng([config.seed, 9])
    for side in (1, 2, 3, 6):
        complete = 0
        for _ in range(config.widths):
            value = rng.uniform(-1, 1, size=(6 * side, 6 * side))
            try:
                a, b = diagonal_entries(value, 3)
            except ValueError:
                continue
            complete += bool(set(a).isdisjoint(b) and (value[a, b] >= 0.5).all())
        chance = (1 - 0.75 ** (side * side)) ** 3
        ledger.measure("Lemma 2.2.9", side=side, frequency=complete / config.widths, chance=chance)


def share(config: Sharing, progress: Progress) -> TrialResult:
    """Corollary 2.2.3: two targets in one large model, sharing the matrices of each layer in turn."""
    ledger = Ledger()
    places = [(layer, name) for layer in config.layers for name in WHICH]
    for draw in range(config.draws):
        rng = np.random.default_rng([config.seed, draw, 3])
        first, second = random_target(rng), random_target(rng)
        large = random_large(rng, first)
        inputs, search = _inputs(rng, 50), Search(config.size)
        for at, (layer, name) in enumerate(places):
            progress(len(places) * draw + at, len(places) * config.draws, "shared matrices")
            ledger.add(corollary_2_2_3(first, second, large, layer, name, inputs, search=search))
    return ledger.result()
