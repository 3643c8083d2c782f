"""Tuning in three lines, as in scikit-learn: settings, `fit`, and what was fitted predicts and scores.

    tuned = PromptTuning(length=2).fit(model, tokens, labels, key)
    tuned.predict(more_tokens), tuned.score(more_tokens, their_labels)

The model is any masked language model, exact world or trained Transformer, and stays as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.models import MaskedLM, Transformer
from minicosm.training import History, adam, fit
from minicosm.worlds import HMM, MemoryHMM
from minicosm.worlds.arrays import AnyArray

from .checks import (
    brief,
    check_answers,
    check_choice,
    check_flag,
    check_key,
    check_kind,
    check_labels,
    check_real,
    check_token_rows,
    check_whole,
    unshared,
)
from .heads import LinearHead, accuracy
from .logistic import logistic_regression
from .prompt import Classifier, SoftPrompt
from .tuning import (
    MAX_ROWS,
    SlotLoss,
    TuningLoss,
    attention_trainable,
    fresh_attention_head,
    fresh_linear_head,
    fresh_prompt,
    fresh_rows,
    prompt_rates,
    seen,
    slot_messages,
)

CHUNK = 256  # sequences that the model reads at once
MAX_PROMPT = 10_000
EXACT_RATES = 0.05, 0.3  # of the head and of the prompt, for the exact model of a world
RATES = 0.01, 0.01  # for other models

HeadKind = Literal["linear", "attention"]


class Tuned(eqx.Module):
    """A frozen model with what was tuned on it; all methods take sequences as rows of an array."""

    model: MaskedLM
    classifier: Classifier
    classes: int = eqx.field(static=True)
    mask_first: bool = eqx.field(static=True, default=False)
    history: History = eqx.field(default_factory=dict)  # of training by gradient, for every chunk

    def __check_init__(self) -> None:
        vocab_of(self.model)
        check_kind("classifier", self.classifier, Classifier)
        check_whole("classes", self.classes, 2, MAX_ROWS)
        check_flag("mask_first", self.mask_first)
        check_kind("history", self.history, Mapping)

    def decision_function(self, tokens: Int[AnyArray, "n T"]) -> Float[np.ndarray, "n *classes"]:
        """The head's scores: one number for two classes of a linear head (label 1 where it is at least
        0), else one per class, of which the largest decides."""
        tokens, head = _rows(self.model, tokens), self.classifier.head
        if isinstance(head, LinearHead):
            laws = _laws(self.model, self.classifier, tokens, self.mask_first)
            return laws @ np.asarray(head.weights, np.float64).T + np.asarray(head.bias)
        return np.asarray(_scores(self.model, self.classifier, tokens, self.mask_first))

    def predict(self, tokens: Int[AnyArray, "n T"]) -> Int[np.ndarray, " n"]:
        """The label of every sequence."""
        scores = self.decision_function(tokens)
        return (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)

    def predict_proba(self, tokens: Int[AnyArray, "n T"]) -> Float[np.ndarray, "n classes"]:
        """The law over labels that the head was fitted to, the softmax of its scores."""
        scores = self.decision_function(tokens)
        if scores.ndim == 1:
            scores = np.stack([np.zeros_like(scores), scores], axis=1)
        grown = np.exp(scores - scores.max(axis=1, keepdims=True))
        return grown / grown.sum(axis=1, keepdims=True)

    def score(self, tokens: Int[AnyArray, "n T"], labels: Int[AnyArray, " n"]) -> float:
        """The share of sequences whose label is predicted."""
        tokens = _rows(self.model, tokens)
        labels = check_labels("labels", labels, len(tokens), self.classes)
        return float(accuracy(self.decision_function(tokens), labels))


@dataclass(frozen=True)
class HeadTuning:
    """Tune a head on a frozen model.

    A linear head reads the model's law at one masked position: one put before the sequence, or the
    first token's (`mask_first`). It is fitted to convergence (`logistic_regression` with `ridge`), which
    needs no key. An attention head reads all positions and is trained by Adam, `steps` minibatches.
    """

    head: HeadKind = "linear"
    mask_first: bool = False
    ridge: float = 1e-8
    steps: int = 1000
    batch: int = 128
    rate: float = 0.1

    def __post_init__(self) -> None:
        check_choice("head", self.head, ("linear", "attention"))
        check_flag("mask_first", self.mask_first)
        check_real("ridge", self.ridge, least=0)
        check_whole("steps", self.steps, 1, 10**9)
        check_whole("batch", self.batch, 1, 10**6)
        check_real("rate", self.rate, above=0)

    def fit(
        self,
        model: MaskedLM,
        tokens: Int[AnyArray, "n T"],
        labels: Int[AnyArray, " n"],
        key: PRNGKeyArray | None = None,
    ) -> Tuned:
        """Fit the head to sequences and their labels 0, 1, ...; `key` is needed for attention only."""
        tokens, labels, classes = _examples(model, tokens, labels)
        if self.head == "linear":
            reading = Classifier(fresh_linear_head(vocab_of(model)), None, not self.mask_first)
            laws = _laws(model, reading, tokens, self.mask_first)
            head = logistic_regression(laws, labels, classes, ridge=self.ridge)
            return Tuned(
                model, Classifier(head, None, not self.mask_first), classes, self.mask_first
            )
        if key is None:
            raise TypeError("key is None; training an attention head needs a JAX key")
        check_key("key", key)
        attention = fresh_attention_head(vocab_of(model), classes)
        start = Classifier(attention)
        loss = TuningLoss(model, tokens, labels, self.mask_first, min(self.batch, len(tokens)))
        frozen = jax.tree.map(lambda _: False, start)
        trained = eqx.tree_at(lambda c: c.head, frozen, attention_trainable(attention))
        found, history = fit(
            loss,
            {"head": start},
            adam(self.rate, self.steps, max(1, self.steps // 20)),
            self.steps,
            key,
            trainable={"head": trained},
        )
        return Tuned(model, found["head"], classes, self.mask_first, history)


@dataclass(frozen=True)
class PromptTuning:
    """Tune a soft prompt of `length` rows, with a linear head behind it, on a frozen model.

    Both are trained together by Adam on `steps` minibatches of `batch` examples; the head is then
    fitted to convergence behind the prompt. The head reads the masked position after the prompt: one
    put before the sequence, or the first token's (`mask_first`). `rates` are those of head and prompt;
    by default .05 and .3 for the exact model of a world, whose rows are kept in [0, 1] by a sigmoid,
    and .01 for both elsewhere.
    """

    length: int = 1
    mask_first: bool = False
    ridge: float = 1e-8
    steps: int = 1000
    batch: int = 128
    rates: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_whole("length", self.length, 1, MAX_PROMPT)
        check_flag("mask_first", self.mask_first)
        check_real("ridge", self.ridge, least=0)
        check_whole("steps", self.steps, 1, 10**9)
        check_whole("batch", self.batch, 1, 10**6)
        if self.rates is not None:
            if not isinstance(self.rates, tuple | list) or len(self.rates) != 2:
                raise TypeError(
                    f"rates are {brief(self.rates)}; give those of head and prompt, or None"
                )
            for rate in self.rates:
                check_real("rates", rate, above=0)

    def fit(
        self,
        model: MaskedLM,
        tokens: Int[AnyArray, "n T"],
        labels: Int[AnyArray, " n"],
        key: PRNGKeyArray,
    ) -> Tuned:
        """Fit prompt and head to sequences and their labels 0, 1, ...."""
        tokens, labels, classes = _examples(model, tokens, labels)
        check_key("key", key)
        start_key, fit_key = jax.random.split(key)
        prompt = new_prompt(start_key, self.length, model)
        start = Classifier(fresh_linear_head(vocab_of(model), classes), prompt, not self.mask_first)
        exact = isinstance(model, HMM | MemoryHMM)
        rates = self.rates or (EXACT_RATES if exact else RATES)
        size = min(self.batch, len(tokens))
        loss: Any = TuningLoss(model, tokens, labels, self.mask_first, size)
        if isinstance(model, HMM):  # the same numbers at a hundredth of the cost
            right = tokens[:, 1:] if self.mask_first else tokens
            loss = SlotLoss(model, jax.jit(slot_messages)(model, right), labels, size)
        found, history = fit(
            loss,
            {"prompt": start},
            adam({"prompt": prompt_rates(start, *rates)}, self.steps, max(1, self.steps // 20)),
            self.steps,
            fit_key,
        )
        tuned = found["prompt"]
        laws = _laws(model, tuned, tokens, self.mask_first)
        head = logistic_regression(laws, labels, classes, ridge=self.ridge)
        classifier = Classifier(head, tuned.prompt, not self.mask_first)
        return Tuned(model, classifier, classes, self.mask_first, history)


def new_prompt(key: PRNGKeyArray, length: int, model: MaskedLM) -> SoftPrompt:
    """A prompt to start from: `fresh_prompt` for the exact model of a world, `fresh_rows` for a
    Transformer, and for others rows as large as those of the tokens."""
    if isinstance(model, Transformer):
        return fresh_rows(key, length, model)
    table = jax.vmap(lambda token: model.embed(token[None])[0])(jnp.arange(vocab_of(model)))
    if isinstance(model, HMM | MemoryHMM):
        return fresh_prompt(key, length, table.shape[1])
    scale = jnp.sqrt(jnp.mean(table**2))
    return SoftPrompt(scale * jax.random.normal(key, (length, table.shape[1]), table.dtype))


# -- what both need -------------------------------------------------------------------------------


def vocab_of(model: Any) -> int:
    """How many tokens a masked language model knows; raises for what is none."""
    check_answers("model", model, "embed", "predict", "vocab")
    return int(model.vocab)


def _rows(model: MaskedLM, tokens: Any) -> Int[np.ndarray, "n T"]:
    return np.asarray(check_token_rows("tokens", tokens, vocab_of(model)), np.int32)


def _examples(
    model: MaskedLM, tokens: Any, labels: Any
) -> tuple[Int[np.ndarray, "n T"], Int[np.ndarray, " n"], int]:
    """Sequences and labels as arrays, and the number of classes."""
    rows = _rows(model, tokens)
    known = np.asarray(check_labels("labels", labels, len(rows)), np.int32)
    classes = int(known.max()) + 1
    if len(np.unique(known)) < 2:
        raise ValueError(
            f"labels are all {known[0]}; there must be examples of two classes at least"
        )
    if classes > len(known):
        raise ValueError(
            f"labels go up to {classes - 1} and there are {len(known)} examples; number classes 0, 1, ..."
        )
    return rows, known, classes


@eqx.filter_jit
def _scores(
    model: MaskedLM, classifier: Classifier, tokens: Int[AnyArray, "n T"], mask_first: bool
) -> Float[Array, "n *classes"]:
    observed = seen(tokens.shape[1], mask_first)
    return jax.lax.map(
        lambda x: classifier.scores(model, x, observed), jnp.asarray(tokens), batch_size=CHUNK
    )


def _laws(
    model: MaskedLM, reading: Classifier, tokens: Int[AnyArray, "n T"], mask_first: bool
) -> Float[np.ndarray, "n V"]:
    """The model's laws at the position that a linear head reads, of an exact world in double precision.

    They are normalised in double precision: heads are fitted to directions in which laws hardly vary,
    and that of their sum would be nothing but rounding.
    """
    wide = jnp.result_type(float) == jnp.float64
    with jax.enable_x64(wide or isinstance(model, HMM | MemoryHMM)):
        laws = np.asarray(_outputs(unshared(model), reading, tokens, mask_first), np.float64)
    total = laws.sum(axis=1, keepdims=True)
    return laws / np.where(total > 0, total, 1)


@eqx.filter_jit
def _outputs(
    model: MaskedLM, reading: Classifier, tokens: Int[AnyArray, "n T"], mask_first: bool
) -> Float[Array, "n V"]:
    observed = seen(tokens.shape[1], mask_first)

    def one(x: Int[Array, " T"]) -> Float[Array, " V"]:
        embeddings = reading.inputs(model, x, observed)[0]
        return model.predict(embeddings, jnp.array([reading.slot]))[0]

    return jax.lax.map(one, jnp.asarray(tokens), batch_size=CHUNK)
