"""Balance: its projector and its measure."""

import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.dyck import balance, necessity
from minicosm.theory.dyck.constructions import exact_dyck
from minicosm.theory.dyck.embeddings import (
    closed_ids,
    open_ids,
    query_ids,
    token_depth_embedding,
    tokens_and_depths,
)
from minicosm.worlds import Dyck

from ...common.ledger import Ledger
from .theory_size import TheorySize, worlds

NOISE = (1e-3, 1e-2, 1e-1, 1.0)


def run(config: TheorySize, progress: Progress) -> TrialResult:
    """The projector in worlds of many sizes; the violation of exact, perturbed and random weights."""
    ledger = Ledger()
    for world in worlds(config):
        for kind in ("onehot", "sum", "yao", "random"):
            rng = np.random.default_rng([config.seed, world.types, world.depth])
            E = token_depth_embedding(world, kind, seed=config.seed)
            m = E.shape[1]
            M = rng.normal(size=(m, m))
            projected = balance.project(M, E, world)
            left = np.abs(balance.residuals(projected, E, world)).max(initial=0)
            again = np.abs(balance.project(projected, E, world) - projected).max()
            # The nearest balanced matrix: what was taken away is orthogonal to every balanced one.
            other = balance.project(rng.normal(size=(m, m)), E, world)
            slant = abs(np.sum((M - projected) * other)) / np.linalg.norm(M)
            ledger.add("projector", error=max(left, again, slant))
            if kind == "onehot":
                formula = world.types * world.depth * (world.types * (world.depth - 1) - 1)
                counted = balance.constraint_count(E, world)
                ledger.add("dimension", holds=counted == max(formula, 0), free=m * m - counted)
    _violations(config, ledger, progress)
    _indices(ledger)
    return ledger.result()


def _violations(config: TheorySize, ledger: Ledger, progress: Progress) -> None:
    world = Dyck()
    E = token_depth_embedding(world)
    m = len(E)
    with jax.enable_x64(True):
        violation = jax.jit(lambda E, M, V: balance.balance_violation(E, M, V, world))
        for i in range(4 * config.draws):
            progress(i, 4 * config.draws, "balance violation")
            rng = np.random.default_rng([config.seed, i])
            M = balance.project(rng.normal(size=(m, m)), E, world)
            _, _, V = necessity.first_weights(exact_dyck(world, E, M))
            exact = violation(E, M, V)
            ledger.add("violation-exact", error=float(exact.largest))
            noise = rng.normal(size=(m, m))
            found = [float(violation(E, M + sd * noise, V).mean) for sd in NOISE]
            shift = np.ones((m, 1)) * rng.normal(size=m)  # a constant of the query's on every logit
            noisy = violation(E, M + 0.1 * noise + shift, V)
            ledger.add("violation-shift", error=abs(float(noisy.mean) - found[2]))
            ledger.add(
                "violation-noise", **{f"sd {sd:g}": b for sd, b in zip(NOISE, found, strict=True)}
            )
            free = violation(E, 0.1 * rng.normal(size=(m, m)), rng.normal(size=(m, m)))
            ledger.add("violation-random", beta=float(free.mean))
            ledger.add("order-printed", error=_printed_order(world, E, M, V))


def _printed_order(world: Dyck, E: np.ndarray, M: np.ndarray, V: np.ndarray) -> float:
    """The least |S| over all indices, relative to its larger term, if u of Eq. 2.48 is called in the order
    of Eq. 2.51: query first."""
    values = E @ V
    values = values - values.mean(axis=1, keepdims=True)
    logits = E[query_ids(world)] @ M @ E.T  # the query in the key's place
    weights = np.exp(logits)
    terms = np.stack([weights[:, ids.ravel()] for ids in (open_ids(world), closed_ids(world))])
    sizes = np.linalg.norm(values[query_ids(world)], axis=1)[:, None]
    return float((terms.sum(axis=0) * sizes / np.maximum(terms.max(axis=0) * sizes, 1e-300)).min())


def _indices(ledger: Ledger) -> None:
    """Which of the closed brackets that Eqs. 2.47 and 2.51 range over, depth 1..D, exist."""
    for k, D in ((2, 4), (3, 2), (2, 8)):
        tokens, depths = tokens_and_depths(Dyck(k, D))
        legal = set(zip(tokens.tolist(), depths.tolist(), strict=True))
        asked = [(2 * t + 1, d) for t in range(k) for d in range(1, D + 1)]
        ledger.add("indices-printed", missing=sum(pair not in legal for pair in asked))
