"""Theorem 2.2.3 and Corollary 2.2.3: random Transformers pruned to given ones."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from minicosm.lab import Progress, TrialResult
from minicosm.theory.dyck.lipschitz import error_budget
from minicosm.theory.dyck.matrices import (
    Matrices,
    matrices_of,
    random_large,
    random_target,
    relative_error,
)
from minicosm.theory.dyck.pruned_pairs import Search
from minicosm.theory.dyck.pruning import (
    WHICH,
    diagonal_entries,
    is_pruning,
    prune_transformer,
    shared_matrix_pair,
)

from ...common.ledger import Ledger


@dataclass(frozen=True)
class Pruning:
    """How many pairs of a target and a large model are drawn, with how many values per subset sum,
    and on how many inputs of 8 positions each pruned model is compared with its target."""

    seed: int
    draws: int
    sizes: tuple[int, ...] = (16, 20, 24, 28)
    deep: int = 1  # draws with targets of two layers
    inputs: int = 100
    widths: int = 2000  # value matrices for Lemma 2.2.9


def run(config: Pruning, progress: Progress) -> TrialResult:
    """Prune at every size; then targets of two layers, at 28; then Lemma 2.2.9."""
    ledger = Ledger()
    for draw in range(config.draws):
        progress(draw, config.draws + config.deep, "random Transformers")
        rng = np.random.default_rng([config.seed, draw])
        target = random_target(rng)
        large = random_large(rng, target)
        inputs = _inputs(rng, config.inputs)
        for size in config.sizes:
            for offers in (1, 4):
                pruned = prune_transformer(target, large, search=Search(size, offers))
                _row(ledger, "theorem-2.2.3", pruned, target, large, inputs, size, offers)
        if draw == 0:
            best = prune_transformer(target, large)
            ledger.picture(**_picture(matrices_of(large), matrices_of(best.model), target))
    for draw in range(config.deep):
        progress(config.draws + draw, config.draws + config.deep, "two layers")
        rng = np.random.default_rng([config.seed, draw, 2])
        target = random_target(rng, layers=2)
        large = random_large(rng, target)
        pruned = prune_transformer(target, large, search=Search(28))
        inputs = _inputs(rng, config.inputs)
        _row(ledger, "two-layers", pruned, target, large, inputs, 28, 4)
    _value_entries(ledger, config)
    return ledger.result()


def _inputs(rng: np.random.Generator, count: int) -> Float[np.ndarray, "n 8 3"]:
    """Sequences of 8 vectors with norms from 1e-3 to 1, evenly on a log scale."""
    drawn = rng.normal(size=(count, 8, 3))
    unit = drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)
    return unit * 10 ** rng.uniform(-3, 0, size=(count, 8, 1))


def _row(ledger, statement, pruned, target, large, inputs, size, offers) -> None:
    report = pruned.report
    ledger.add(
        statement,
        size=size,
        offers=offers,
        error=float(relative_error(pruned.model, target, inputs).max()),
        budget=error_budget(report, target.config.epsilon, target.config.layers),
        worst_sum=report.worst,
        units=report.units,
        kept_mlp=report.kept_mlp,
        kept_attention=report.kept_attention,
        kept_as_drawn=is_pruning(matrices_of(pruned.model), matrices_of(large)),
    )


def _picture(large: Matrices, kept: Matrices, target) -> dict[str, np.ndarray]:
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
    """How often a random value matrix has the entries of Lemma 2.2.9, beside the exact chance.

    Pieces of s x s entries of which each is below 1/2 with probability 3/4: all m = 3 pieces have a
    larger one with probability `(1 - (3/4)^(s s))^3`.
    """
    rng = np.random.default_rng([config.seed, 9])
    for side in (1, 2, 3, 6):
        found = 0
        for _ in range(config.widths):
            value = rng.uniform(-1, 1, size=(6 * side, 6 * side))
            try:
                a, b = diagonal_entries(value, 3)
            except ValueError:
                continue
            found += bool(set(a).isdisjoint(b) and (value[a, b] >= 0.5).all())
        chance = (1 - 0.75 ** (side * side)) ** 3
        ledger.add("lemma-2.2.9", side=side, found=found, draws=config.widths, chance=chance)


@dataclass(frozen=True)
class Sharing:
    """How many large models two targets are found in, with how many values per subset sum;
    every matrix of these layers is shared in turn."""

    seed: int
    draws: int
    size: int = 24
    layers: tuple[int, ...] = tuple(range(8))


def share(config: Sharing, progress: Progress) -> TrialResult:
    """Corollary 2.2.3: two targets in one large model, sharing the matrices of each layer in turn."""
    ledger = Ledger()
    for draw in range(config.draws):
        rng = np.random.default_rng([config.seed, draw, 3])
        first, second = random_target(rng), random_target(rng)
        large = random_large(rng, first)
        inputs = _inputs(rng, 50)
        drawn, apart = matrices_of(large), float(relative_error(first, second, inputs).max())
        places = [(layer, name) for layer in config.layers for name in WHICH]
        for at, (layer, name) in enumerate(places):
            progress(len(places) * draw + at, len(places) * config.draws, "shared matrices")
            search = Search(config.size)
            pair = shared_matrix_pair(first, second, large, layer, name, search=search)
            one, two = (matrices_of(pruned.model) for pruned in pair)
            shared = getattr(one, name)[layer]
            ledger.add(
                "corollary-2.2.3",
                layer=layer,
                matrix=name,
                equal=bool(np.array_equal(shared, getattr(two, name)[layer])),
                kept=int(np.count_nonzero(shared)),
                kept_as_drawn=is_pruning(one, drawn) and is_pruning(two, drawn),
                error=max(
                    float(relative_error(pruned.model, target, inputs).max())
                    for pruned, target in zip(pair, (first, second), strict=True)
                ),
                apart=apart,
            )
    return ledger.result()
