"""Heads and prompts on the exact model (Figure 3, left).

Worlds of Appendix E with |H| states and 10 tokens; sequences of 129 positions, the first masked; the
label is the argmax of `mu P[H_1 | x_2..x_129]`. On the exact output G_1 at the masked position:

- `constructed`: the head `(W^+)^T mu` of Theorem 3.3, also where its condition fails;
- `logistic_whitened`: logistic regression (ridge 1e-8 on the summed loss) after whitening, which lets
  the ridge see all directions of ill-conditioned features alike;
- `head`, `prompt_1`, `prompt_20`: trained by Adam (batch 128, peak rate .01, warm-up, linear decay),
  without and with prompts `u = sigmoid(theta)` of length 1 and 20;
- `hot_refit`: length 1 with rates .05 (head) and .3 (theta), then logistic regression on its outputs.

Controls: `first_tokens` and `histogram` use no language model, `posterior` the exact P[H_1 | x].
Which of these there are is said by `arms` and `controls`.
"""

from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from minicosm.adaptation import (
    Classifier,
    SlotLoss,
    SoftPrompt,
    accuracy,
    fresh_linear_head,
    fresh_prompt,
    prompt_rates,
)
from minicosm.adaptation.controls import first_tokens, token_histogram
from minicosm.adaptation.logistic import logistic_accuracies, whitened
from minicosm.adaptation.tuning import slot_features, slot_scores
from minicosm.lab import Progress, TrialResult
from minicosm.training import History, adam, fit_ensemble
from minicosm.training.fit import Reporter
from minicosm.worlds import HMM

from ..trials import ARMS, OracleHeads
from .corpora import (
    Split,
    all_slot_messages,
    lists,
    majority,
    sample_tokens,
    slot_posteriors,
    sparse_tasks,
)

MARGIN = 1e-6  # labels below it hinge on rounding
WELL_CONDITIONED = 1e6
FIRST_TOKENS = 5


def run(config: OracleHeads, progress: Progress) -> TrialResult:
    """Per-world test accuracies, as lists; see the module."""
    total = config.steps + 2
    with jax.enable_x64(True):
        key = jax.random.fold_in(jax.random.key(config.seed), config.hidden)
        key = jax.random.fold_in(key, config.part) if config.part else key
        world_key, token_key, task_key, start_key, tune_key = jax.random.split(key, 5)
        draw = partial(HMM.random, hidden=config.hidden, vocab=config.vocab)
        worlds = jax.jit(jax.vmap(draw))(jax.random.split(world_key, config.worlds))
        split = Split(config.train, config.validation, config.test)
        tokens = sample_tokens(worlds, token_key, split.total, config.length)[:, :, 1:]
        messages = all_slot_messages(worlds, tokens)
        posteriors = slot_posteriors(jax.vmap(lambda w: w.first)(worlds), messages)
        task = sparse_tasks(task_key, posteriors, split)
        if config.shown:
            messages = all_slot_messages(worlds, tokens[:, :, : config.shown])
        progress(1, total, f"|H| = {config.hidden}: {config.worlds} worlds drawn")

        trained, _ = tune(
            config, worlds, messages[:, : config.train], task.labels[:, : config.train],
            start_key, tune_key, lambda done, _: progress(done + 1, total, "training"),
        )  # fmt: skip
        test = slice(split.total - config.test, None)
        tuned = test_accuracies(trained, worlds, messages[:, test], task.labels[:, test])

        outputs = slot_laws(worlds, None, messages)
        features: dict[str, Any] = {}
        if config.controls:
            features |= {"logistic_whitened": whitened(outputs, config.train)}
            features |= {"posterior": posteriors, **_controls(tokens, config.vocab)}
        if "hot" in config.arms:
            features["hot_refit"] = slot_laws(worlds, trained["hot"].prompt, messages)
        regressed = logistic_accuracies(features, task.labels, config.train, config.test)
        outputs, margins, labels = map(np.asarray, (outputs, task.margins, task.labels))
        W, mu = np.asarray(worlds.W), np.asarray(task.mu)

    sigma = np.linalg.svd(W, compute_uv=False)
    full = config.hidden <= config.vocab
    with np.errstate(divide="ignore"):
        condition = sigma[:, 0] / sigma[:, -1] if full else np.full(config.worlds, np.inf)
    scores = np.einsum("wnv,wrv->wrn", outputs, mu @ np.linalg.pinv(W))
    right = (scores[:, 1] > scores[:, 0]) == labels
    clear = (np.abs(margins) > MARGIN) & (condition < WELL_CONDITIONED)[:, None]
    numbers = lists(
        majority=majority(labels[:, test]),
        constructed=right[:, test].mean(axis=1),
        **regressed,
        **tuned,
        clear_examples=clear.sum(axis=1),
        clear_errors=(clear & ~right).sum(axis=1),
    )
    progress(total, total)
    return TrialResult(numbers)


def tune(
    config: OracleHeads,
    worlds: HMM,
    messages: Any,
    labels: Any,
    start_key: PRNGKeyArray,
    tune_key: PRNGKeyArray,
    report: Reporter | None,
) -> tuple[dict[str, Classifier], History]:
    """The classifiers of one size, in every world, side by side on the same minibatches."""
    lengths = dict(zip(ARMS, (0, 1, config.prompt_length, 1), strict=True))
    lengths = {name: lengths[name] for name in config.arms}

    def start(key: PRNGKeyArray) -> dict[str, Classifier]:
        return {
            name: Classifier(
                fresh_linear_head(config.vocab),
                fresh_prompt(jax.random.fold_in(key, k), k, config.hidden) if k else None,
            )
            for name, k in lengths.items()
        }

    starts = jax.vmap(start)(jax.random.split(start_key, config.worlds))
    rates: dict[str, Any] = dict.fromkeys(lengths, config.rate)
    if "hot" in rates:
        rates["hot"] = prompt_rates(starts["hot"], *config.hot_rates)
    return fit_ensemble(
        SlotLoss(worlds, messages, labels, batch=config.batch),
        starts,
        adam(rates, config.steps, config.warmup),
        config.steps,
        jax.random.split(tune_key, config.worlds),
        chunk=max(1, config.steps // 8),
        progress=report,
    )


@jax.jit
def slot_laws(worlds: HMM, prompts: SoftPrompt | None, messages: Array) -> Array:
    return jax.vmap(slot_features)(worlds, prompts, messages)


@jax.jit
def test_accuracies(
    trained: dict[str, Classifier], worlds: HMM, messages: Array, labels: Array
) -> dict[str, Array]:
    def one(classifier: Classifier, world: HMM, messages: Array, labels: Array) -> Array:
        return accuracy(slot_scores(classifier, world, messages), labels)

    return {
        name: jax.vmap(one)(classifier, worlds, messages, labels)
        for name, classifier in trained.items()
    }


@partial(jax.jit, static_argnames="vocab")
def _controls(tokens: Array, vocab: int) -> dict[str, Array]:
    def one(tokens: Array) -> dict[str, Array]:
        return {
            "first_tokens": first_tokens(tokens, FIRST_TOKENS, vocab),
            "histogram": token_histogram(tokens, vocab),
        }

    return jax.vmap(one)(tokens)
