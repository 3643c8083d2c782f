"""Prompts where Assumption 3.5 holds and where it fails, at equal sizes (more states than tokens).

`covered` worlds satisfy 3.5 with |H*| = `star`; in `uncovered` worlds A is dense, so that H* would
have to be all states and no construction applies. Task: a balanced contrast of two states (of H*
where there is one), `e_+ - kappa e_-` on P[H_0 | x]. Compared in every world: the majority rate; the
best linear head without a prompt (`logistic`); the prompt and head of Theorem 3.6 (`constructed`, in
covered worlds); and length-1 prompts trained by gradient from `starts` random starts with a logistic
regression on the outputs they give, the start with the best training accuracy counting (`trained`).
"""

from collections.abc import Iterable, Sequence
from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from minicosm.adaptation import (
    Classifier,
    LinearHead,
    SlotLoss,
    SoftPrompt,
    fresh_linear_head,
    prompt_rates,
)
from minicosm.adaptation.heads import AnyArray
from minicosm.adaptation.logistic import logistic_accuracies
from minicosm.adaptation.tuning import slot_features, slot_scores
from minicosm.lab import Progress, TrialResult
from minicosm.theory.tuning import theorem_3_6
from minicosm.training import adam, fit_ensemble
from minicosm.worlds import HMM, PosteriorTask, balance_contrast, covered_world, uncovered_world

from ..extension_trials import PromptGap
from .corpora import (
    all_slot_messages,
    lists,
    majority,
    sample_tokens,
    sign_labels,
    slot_posteriors,
)

SPARE = 3  # covered worlds drawn for each one used: in some no contrast of two states is balanced
CLEAR = 1e-9  # the constructed classifier is judged where the exact score is farther from zero


def run(config: PromptGap, progress: Progress) -> TrialResult:
    """Per-world test accuracies, as `covered_...` and `uncovered_...` lists."""
    total, n = config.steps + 2, config.worlds
    train, test = slice(0, config.train), slice(config.train, None)
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(config.seed), 6)
        covered = [
            covered_world(key, hidden=config.hidden, vocab=config.vocab, star=config.star)
            for key in jax.random.split(keys[0], SPARE * n)
        ]
        dense = [
            uncovered_world(key, hidden=config.hidden, vocab=config.vocab)
            for key in jax.random.split(keys[1], n)
        ]
        worlds = HMM.stack([*(given.world for given in covered), *dense])
        worlds = jax.tree.map(jnp.asarray, worlds)
        tokens = sample_tokens(worlds, keys[3], config.train + config.test, config.length)
        messages = all_slot_messages(worlds, tokens)
        posteriors = slot_posteriors(worlds.p0, messages)
        choices = [given.star for given in covered] + [range(config.hidden)] * n
        kept, mu = contrasts(posteriors[:, train], choices, keys[2], n)
        worlds, messages, posteriors = jax.tree.map(
            lambda leaf: leaf[kept], (worlds, messages, posteriors)
        )
        labels = sign_labels(mu, posteriors)
        progress(1, total, f"{2 * n} worlds drawn")

        # One member per (start, world); the data are repeated for every start.
        def repeat(leaf: AnyArray) -> Array:
            return jnp.tile(leaf, (config.starts,) + (1,) * (leaf.ndim - 1))

        members = jax.tree.map(repeat, worlds)
        data, answers = repeat(messages), repeat(labels)

        def start(key: PRNGKeyArray) -> dict[str, Classifier]:
            theta = jax.random.normal(key, (1, config.hidden), jnp.float32)
            theta = config.start_scale * theta.astype(jnp.float64)
            prompt = SoftPrompt(theta, squash=jax.nn.sigmoid)
            return {"prompt": Classifier(fresh_linear_head(config.vocab), prompt)}

        count = config.starts * 2 * n
        starts = jax.vmap(start)(jax.random.split(keys[4], count))
        rates = prompt_rates(starts["prompt"], config.head_rate, config.prompt_rate)
        tuned, _ = fit_ensemble(
            SlotLoss(members, data[:, train], answers[:, train], batch=config.batch),
            starts,
            adam({"prompt": rates}, config.steps, config.warmup),
            config.steps,
            jax.random.split(keys[5], count),
            chunk=max(1, config.steps // 8),
            progress=lambda done, _: progress(done + 1, total, "training prompts"),
        )
        prompts = tuned["prompt"].prompt
        features = jax.jit(jax.vmap(slot_features))
        prompted = features(members, prompts, data)
        outputs = jax.jit(jax.vmap(lambda w, b: slot_features(w, None, b)))(worlds, messages)
        both = jnp.concatenate([outputs, prompted])
        repeated = jnp.concatenate([labels, answers])
        fitted = [
            logistic_accuracies({"": both[:, :stop]}, repeated[:, :stop], config.train, size)[""]
            for stop, size in ((None, config.test), (config.train, config.train))
        ]
        by_start = [f[2 * n :].reshape(config.starts, 2 * n) for f in fitted]
        best = by_start[1].argmax(axis=0)
        trained = by_start[0][best, np.arange(2 * n)]
        constructed, wrong, holds = construct(worlds, mu, messages[:, test], posteriors[:, test])

    rates_of_majority = majority(labels[:, test])
    numbers: dict[str, list] = {}
    for name, part in (("covered", slice(0, n)), ("uncovered", slice(n, 2 * n))):
        columns = lists(
            majority=rates_of_majority[part],
            logistic=fitted[0][: 2 * n][part],
            trained=trained[part],
            constructed=constructed[part],
            constructed_wrong=wrong[part],
            assumption_3_5=holds[part],
        )
        numbers |= {f"{name}_{column}": value for column, value in columns.items()}
    progress(total, total)
    return TrialResult(numbers)


def contrasts(
    posteriors: Array, choices: Sequence[Iterable[int]], key: PRNGKeyArray, count: int
) -> tuple[np.ndarray, Array]:
    """The first `count` worlds of each family in which some two states (tried in random order) have
    a balanced contrast, and `mu = e_+ - kappa e_-` there, kappa the median of `P_+ / P_-`."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    found: list[tuple[int, np.ndarray]] = []
    families = (range(len(choices) - count), range(len(choices) - count, len(choices)))
    for family in families:
        good = []
        for world in family:
            law = np.asarray(posteriors[world])
            for plus, minus in rng.permutation(list(permutations(choices[world], 2))):
                try:
                    good.append((world, balance_contrast(int(plus), int(minus), law)))
                except ValueError:  # one of the two is ruled out more often than not
                    continue
                break
        if len(good) < count:
            raise ValueError(f"only {len(good)} of {len(family)} worlds have a balanced contrast")
        found += good[:count]
    return np.asarray([world for world, _ in found]), jnp.asarray([mu for _, mu in found])


def construct(
    worlds: HMM, mu: Array, messages: Array, posteriors: Array
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Accuracy of Theorem 3.6 on the examples whose exact score is above CLEAR in size (NaN where 3.5
    has no witness), how many of them it gets wrong, and whether 3.5 holds."""
    each = [
        theorem_3_6(world, PosteriorTask(row))
        for world, row in zip(
            jax.tree.map(np.asarray, worlds).unstack(), np.asarray(mu), strict=True
        )
    ]
    holds = np.asarray([theorem.applies for theorem in each])
    vocab, hidden = worlds.W.shape[1:]
    nothing = Classifier(
        LinearHead(np.zeros(vocab), np.zeros(())), SoftPrompt(np.ones((1, hidden)))
    )
    made = [
        Classifier(t.construction.head, t.construction.prompt) if t.applies else nothing
        for t in each
    ]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *made)

    @jax.jit
    @jax.vmap
    def check(
        world: HMM, classifier: Classifier, mu: Array, messages: Array, posteriors: Array
    ) -> tuple[Array, Array]:
        exact = posteriors @ mu
        clear = jnp.abs(exact) > CLEAR
        wrong = (slot_scores(classifier, world, messages) >= 0) != (exact >= 0)
        return jnp.sum(clear & wrong), jnp.sum(clear)

    wrong, clear = map(np.asarray, check(worlds, stacked, mu, messages, posteriors))
    return np.where(holds, 1 - wrong / clear, np.nan), np.where(holds, wrong, 0), holds
