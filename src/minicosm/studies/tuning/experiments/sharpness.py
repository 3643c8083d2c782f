"""How sharp softmax attention must be to do what the hard head of Theorem 4.3 does.

Worlds of Assumption 4.2 with markers and gates; for sequences in R the hard head's scores are exact.
Scores are multiplied by lambda and put through a softmax: the output then differs from the hard one
by at most `T exp(-lambda gap) range`, with `gap` the distance from the best score to the best one not
attended to and `range` the spread of the values.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from minicosm.adaptation.heads import TIE
from minicosm.lab import Progress, TrialResult
from minicosm.worlds import MemoryHMM, recoverable_memory_world

from ..extension_trials import Sharpness
from .constructed_attention import construct, in_R
from .corpora import sample_tokens

CLEAR = 1e-9  # labels are compared where the exact score is farther from zero than this


def run(config: Sharpness, progress: Progress) -> TrialResult:
    """One list per lambda (`agreement[k][w]`: labels right on R; `error`, the largest difference
    from the hard score; `bound_broken`, how often it exceeds the bound), and per-world `hard_...`."""
    with jax.enable_x64(True):
        world_key, token_key = jax.random.split(jax.random.key(config.seed))
        drawn = [
            recoverable_memory_world(
                key, values=config.values, syntax=config.syntax, star=config.star
            )
            for key in jax.random.split(world_key, config.worlds)
        ]
        mus = np.stack([given.mu for given in drawn])
        made = construct([given.world for given in drawn], mus, mask_first=False)
        worlds = jax.tree.map(jnp.asarray, made.worlds)
        tokens = sample_tokens(worlds, token_key, config.sequences, config.length)
        inside = np.asarray(in_R(worlds, made.star, tokens, False))
        progress(1, 2, f"{config.worlds} worlds drawn")
        found = _measure(
            worlds, made.heads, jnp.asarray(mus[made.which]), tokens, jnp.asarray(config.lambdas)
        )
        exact, hard, gap, spread, soft = map(np.asarray, found)

    rates = np.asarray(config.lambdas)[:, None]  # soft has shape (w, n, K)
    bound = config.length * np.exp(-rates * gap[..., None, :]) * spread[..., None, :]  # (w, K, n)
    # Scores that the hard head takes for equal may differ by up to TIE.
    slack = rates * TIE * spread[..., None, :] + 1e-12
    error = np.abs(np.swapaxes(soft, 1, 2) - hard[:, None, :])
    counted = inside & (np.abs(exact) > CLEAR)
    label = exact >= 0

    def share(right):
        return np.where(counted, right, False).sum(axis=-1) / np.maximum(counted.sum(axis=-1), 1)

    right = (soft >= 0) == label[..., None]
    numbers = {
        "lambdas": list(config.lambdas),
        "in_R": inside.mean(axis=1).tolist(),
        "compared": counted.sum(axis=1).tolist(),
        "hard_agreement": share((hard >= 0) == label).tolist(),
        "hard_agreement_outside": [
            float(((h >= 0) == y)[~i].mean()) if (~i).any() else float("nan")
            for h, y, i in zip(hard, label, inside, strict=True)
        ],
        "agreement": [share(right[..., k]).tolist() for k in range(len(rates))],
        "error": error.max(axis=2, where=inside[:, None, :], initial=0).T.tolist(),
        "mean_error": [
            [float(e[k][i].mean()) if i.any() else 0.0 for e, i in zip(error, inside, strict=True)]
            for k in range(len(rates))
        ],
        "bound_broken": (error > bound + slack).sum(axis=2).T.tolist(),
        "smallest_gap": [
            float(g[i].min()) if i.any() else float("inf") for g, i in zip(gap, inside, strict=True)
        ],
    }
    quantiles = np.quantile(np.where(np.isfinite(gap), gap, 1.0), [0.05, 0.25, 0.5, 0.75, 0.95], 1)
    progress(2, 2)
    return TrialResult(
        numbers,
        {
            "lambdas": np.asarray(config.lambdas, float),
            "gap_quantiles": quantiles.T,
            "mean_bound": np.minimum(bound, spread[:, None]).mean(axis=2).T,
        },
    )


@eqx.filter_jit
def _measure(worlds: MemoryHMM, heads, mus, tokens, lambdas):
    @eqx.filter_vmap(in_axes=(eqx.if_array(0), eqx.if_array(0), 0, 0))
    def one(world, head, mu, tokens):
        known = jnp.ones(tokens.shape[1], bool)

        def answer(x):
            outputs = world.conditionals(x)
            exact = mu @ world.posterior(x).cells[0]
            scores, values = head.scores(outputs), head.values(outputs, x, known)
            weights = head.weights(outputs)
            rest = jnp.max(jnp.where(weights > 0, -jnp.inf, scores))
            soft = jax.vmap(lambda rate: jax.nn.softmax(rate * scores) @ values)(lambdas)
            spread = jnp.max(values) - jnp.min(values)
            return exact, weights @ values, jnp.max(scores) - rest, spread, soft

        return jax.vmap(answer)(tokens)

    return one(worlds, heads, mus, tokens)
