"""How the attention of exact models looks, and how much random patterns vary."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.models import Transformer
from minicosm.models.attention_patterns import mean_variation, random_variation, stack_score
from minicosm.theory.dyck import (
    draw,
    exact_dyck,
    pair_ids,
    prediction_errors,
    token_depth_embedding,
)
from minicosm.worlds import Dyck

from ..trials import Optima
from .worlds import PROBE, balanced

SPREADS = (0.5, 1.0, 2.0, 4.0)
TESTED = 10  # models of a draw whose predictions are compared with the law


def run(config: Optima, progress: Progress) -> TrialResult:
    """Exact models for each spread of M: their errors, and how their attention varies on the probe."""
    ledger = Ledger()
    world = Dyck()
    E = token_depth_embedding(world)
    probe = jnp.asarray(pair_ids(world, PROBE))
    strings = np.asarray(draw(world, jax.random.key(config.seed), 4, 100))
    pictures = [np.tril(np.ones((16, 16))) / np.arange(1, 17)[:, None]]
    for sd in SPREADS:
        for i in range(config.draws):
            progress(i, config.draws, f"exact optima, sd {sd:g}")
            rng = np.random.default_rng([config.seed, 4, i])
            patterns, errors = [], []
            for j in range(config.models):
                model = exact_dyck(world, E, balanced(world, E, sd, rng))
                with jax.enable_x64(True):
                    patterns.append(np.asarray(_pattern(model, probe)))
                if j < TESTED:
                    errors += [
                        prediction_errors(model, world, tested).max()
                        for tested in (strings, PROBE[None])
                    ]
            rates = stack_score(np.array(patterns)[:, None], world, PROBE[None]).rate
            ledger.measure(
                "exact models",
                spread=sd,
                variation=float(mean_variation(np.array(patterns))),
                error=float(np.max(errors)),
                stack_like=float(np.mean(rates > 0.9)),
            )
            if i == 0 and sd >= 1:
                pictures.append(patterns[0])
    rng = np.random.default_rng([config.seed, 5])
    for n in (5, 16, 20):
        rows = [rng.dirichlet(np.ones(i + 1), size=(2, 1000 * config.draws)) for i in range(n)]
        total = np.sum([np.sum((a - b) ** 2, axis=-1) for a, b in rows], axis=0)
        standard_error = total.std() / len(total) ** 0.5
        ledger.measure(
            "random patterns",
            length=n,
            formula=random_variation(n),
            measured=float(total.mean()),
            deviation=float(abs(total.mean() - random_variation(n)) / standard_error),
            spread=float(total.std()),
        )
    ledger.picture(patterns=np.array(pictures))
    return ledger.result()


@eqx.filter_jit
def _pattern(model: Transformer, ids: Int[Array, " T"]) -> Float[Array, "T T"]:
    return model.trace(ids).attention[0, 0]
