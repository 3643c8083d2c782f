"""Exact models: Theorem 2.2.1's sufficiency, Corollary 2.2.1, and where the printed proofs go wrong."""

import jax
import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory.dyck import exactness, token_depth_embedding
from minicosm.theory.dyck.embeddings import Kind
from minicosm.worlds import Dyck

from ..trials import Exact
from .worlds import balanced, worlds

LENGTHS = (1, 2, 5, 28, 100, 500, 3000)
MODELS: tuple[tuple[float, Kind], ...] = (
    (0.0, "onehot"),
    (0.3, "onehot"),
    (1.0, "onehot"),
    (1.0, "random"),
)
GEOMETRIC = ((2, 4, 3.0), (2, 4, 2.0), (3, 6, 2.0))  # types, depth, rho


def run(config: Exact, progress: Progress) -> TrialResult:
    """Prediction errors of constructed models by length, embedding, attention and world."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    world = worlds(config)[0]
    strings = np.asarray(exactness.draw(world, root, config.strings, config.longest))
    lengths = [n for n in LENGTHS if n <= config.longest]
    rng = np.random.default_rng([config.seed, 2])
    curves = []
    for i, (sd, kind) in enumerate(MODELS):
        progress(i, 6, "exact models by length")
        E = token_depth_embedding(world, kind, seed=config.seed)
        result = exactness.theorem_2_2_1(world, E, balanced(world, E, sd, rng)).certify(
            strings=strings
        )
        ledger.add(result, types=world.types, depth=world.depth)
        curves.append(result.details["by_length"][lengths])
    uniform = exactness.corollary_2_2_1(world)
    result = uniform.certify(strings=strings)
    ledger.add(result, types=world.types, depth=world.depth)
    curves.append(result.details["by_length"][lengths])
    ledger.picture(errors=np.array(curves), lengths=np.array(lengths))

    short = np.asarray(exactness.draw(world, root, config.strings, 28))
    E = token_depth_embedding(world)
    theorem = exactness.theorem_2_2_1(world, E, balanced(world, E, 1.0, rng))
    for exact in (theorem, uniform):
        ledger.add(exactness.identity_layers(exact.construction, world).certify(strings=short))
    for tokens in short:
        ledger.add(exactness.corollary_2_2_1_first_layer(world, uniform.construction, tokens))
    for other in worlds(config)[1:]:
        progress(5, 6, f"{other.types} types, depth {other.depth}")
        drawn = np.asarray(exactness.draw(other, root, config.strings, min(config.longest, 300)))
        E = token_depth_embedding(other)
        theorem = exactness.theorem_2_2_1(other, E, balanced(other, E, 1.0, rng))
        ledger.add(theorem.certify(strings=drawn), types=other.types, depth=other.depth)
        uniform = exactness.corollary_2_2_1(other)
        ledger.add(uniform.certify(strings=drawn), types=other.types, depth=other.depth)
    for k, D, rho in GEOMETRIC:
        other = Dyck(k, D)
        longer = exactness.draw(other, root, 5 * config.strings, min(config.longest, 500))
        ledger.add(exactness.geometric_attention(other, rho, np.asarray(longer)))
    _printed(ledger, config, progress)
    for k, D in ((2, 4), (3, 4), (2, 8)):
        ledger.add(exactness.theorem_2_2_1_width(Dyck(k, D)))
    return ledger.result()


def _printed(ledger: Ledger, config: Exact, progress: Progress) -> None:
    """The sufficiency proof as printed, and corrected; the embeddings."""
    world = Dyck()
    strings = np.asarray(exactness.draw(world, jax.random.key(config.seed), config.strings, 28))
    for i in range(config.draws):
        progress(i, config.draws, "proofs as printed")
        rng = np.random.default_rng([config.seed, 3, i])
        E = rng.normal(size=(world.pairs + 1,) * 2)
        M = balanced(world, E, 0.05, rng)
        for as_printed in (False, True):
            leak = exactness.residual_leak(world, E, printed=as_printed)
            exact = exactness.theorem_2_2_1(world, E, M, printed_directions=as_printed)
            name = "residual leak as printed" if as_printed else "exact without a leak"
            ledger.add(exact.certify(strings=strings), name, leak=leak.error)
            if not as_printed:
                ledger.add(leak)
        M, V = rng.normal(size=(2, world.vocab + 1, world.vocab + 1))
        ledger.add(exactness.independence_as_printed(world, M, V))
    for k, D in ((2, 4), (3, 8), (3, 3)):
        ledger.add(exactness.embeddings_2_55_to_2_57(Dyck(k, D)))
