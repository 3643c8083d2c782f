"""What happens to the linear head of Theorem 3.3 as emissions lose rank.

Worlds with as many tokens as states, dense A and W (Dirichlet(1/2) columns); at rank r only r columns
of W are different. The same worlds are degraded to every rank. Task: a dense normal mu on
P[H_0 | x], moved by the median of its scores so that both classes are equally likely; the heads read
the exact output at a placeholder before the sequence. `constructed` is `(W^+)^T (mu * p0 / p1)`,
`logistic` a logistic regression on the same output.
"""

import jax
import jax.numpy as jnp
import numpy as np

from minicosm.adaptation.logistic import logistic_accuracies
from minicosm.adaptation.tuning import slot_features
from minicosm.lab import Progress, TrialResult
from minicosm.worlds import HMM, degrade_rank, rank_deficient_world

from ..extension_trials import RankCurve
from .corpora import (
    all_slot_messages,
    balanced_dense,
    majority,
    sample_tokens,
    sign_labels,
    slot_posteriors,
)


def run(config: RankCurve, progress: Progress) -> TrialResult:
    """Accuracies as one list per rank (`logistic[r][w]`), in the order of `ranks`."""
    with jax.enable_x64(True):
        world_key, copy_key, token_key, task_key = jax.random.split(jax.random.key(config.seed), 4)
        whole = [
            rank_deficient_world(key, rank=config.size, hidden=config.size, vocab=config.size)
            for key in jax.random.split(world_key, config.worlds)
        ]
        copies = jax.random.split(copy_key, config.worlds)
        worlds = HMM.stack(
            [
                degrade_rank(world, rank, key)
                for rank in config.ranks
                for world, key in zip(whole, copies, strict=True)
            ]
        )
        worlds = jax.tree.map(jnp.asarray, worlds)
        tokens = sample_tokens(worlds, token_key, config.train + config.test, config.length)
        messages = all_slot_messages(worlds, tokens)
        posteriors = slot_posteriors(worlds.p0, messages)
        progress(1, 3, f"{len(config.ranks)} ranks of {config.worlds} worlds drawn")

        mu = jax.random.normal(task_key, (config.worlds, config.size), jnp.float32)
        mu = jnp.tile(mu.astype(jnp.float64), (len(config.ranks), 1))
        mu = jnp.asarray(balanced_dense(mu, posteriors[:, : config.train]))
        labels = sign_labels(mu, posteriors)
        outputs = jax.jit(jax.vmap(lambda w, b: slot_features(w, None, b)))(worlds, messages)
        found = logistic_accuracies({"logistic": outputs}, labels, config.train, config.test)
        progress(2, 3, "regressions")
        test = slice(config.train, None)
        W, p0, A = map(np.asarray, (worlds.W, worlds.p0, worlds.A))
        ratio = p0 / np.einsum("wij,wj->wi", A, p0)
        head = np.einsum("wh,whv->wv", np.asarray(mu) * ratio, np.linalg.pinv(W, rcond=1e-10))
        decided = np.einsum("wnv,wv->wn", np.asarray(outputs)[:, test], head) >= 0

    labels = np.asarray(labels)[:, test]
    by_rank = (len(config.ranks), config.worlds)
    columns = {
        "majority": majority(labels),
        "logistic": found["logistic"],
        "constructed": (decided == labels).mean(axis=1),
    }
    numbers = {name: value.reshape(by_rank).tolist() for name, value in columns.items()}
    progress(3, 3)
    return TrialResult(numbers)
