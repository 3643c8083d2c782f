"""Head and prompt tuning by gradient.

Losses for one objective, the softmax cross-entropy of a classifier's scores on minibatches drawn
with replacement from a fixed labelled set:

- `TuningLoss`: any masked language model, any head, with or without a prompt;
- `FineTuningLoss`: the same, with the model trained as well;
- `HeadLoss`: no prompt, so that the model's outputs are computed once and only the head is run;
- `SlotLoss`: a linear head (and a prompt) on the exact model of an HMM. All that stands right of the
  masked slot enters only through `b(x) = P[x | H_slot]`, computed once per example, and the prompt
  `u_1..u_k` only through `c = A (u_k * A (u_{k-1} * ... A (u_1 * p_1)))`; the model's output at the
  slot is `W (c * b(x)) / (c . b(x))`. Equal to `TuningLoss`, at a hundredth of its cost.

All but `FineTuningLoss` take a dictionary of classifiers (or heads) and add their losses: all see the
same minibatches, which are gathered once, and each is trained as if alone. The losses are Equinox
modules that hold their data, so `training.fit_ensemble` trains one per world in one batch.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from minicosm.models import MaskedLM, Transformer
from minicosm.worlds import HMM
from minicosm.worlds.arrays import check_whole_numbers, is_concrete
from minicosm.worlds.hmm.chain import forward_messages, normalise

from .checks import (
    as_numbers,
    check_answers,
    check_flag,
    check_key,
    check_kind,
    check_real,
    check_reals,
    check_token_rows,
    check_whole,
)
from .heads import AnyArray, AttentionHead, LinearHead, accuracy
from .prompt import Classifier, SoftPrompt

PROMPT_SCALE = 0.02
MAX_BATCH = 10**7
MAX_ROWS = 10**6  # of a prompt, or of a head

Measured = tuple[Float[Array, ""], dict[str, Array]]
"""A loss and what else is measured."""


def cross_entropy(scores: Float[Array, "n K"], labels: Int[Array, " n"]) -> Float[Array, ""]:
    """Mean softmax cross-entropy of the scores."""
    chosen = jax.nn.one_hot(labels, scores.shape[1], dtype=scores.dtype)
    return jnp.mean(jax.nn.logsumexp(scores, axis=1) - jnp.sum(scores * chosen, axis=1))


def _check_examples(
    name: str, examples: AnyArray, labels: AnyArray, batch: int, mask_first: bool
) -> None:
    """Raise unless there is a label for every row of examples (of every member of an ensemble)."""
    kinds = "iu" if name == "tokens" else "f"
    shape, found = (
        as_numbers(name, examples, kinds).shape,
        as_numbers("labels", labels, "iub").shape,
    )
    if len(shape) < 2 or 0 in shape:
        raise ValueError(f"{name} have shape {shape}; they must have shape (n, T)")
    if found != shape[:-1]:
        raise ValueError(f"labels have shape {found}; {name} of shape {shape} need {shape[:-1]}")
    if is_concrete(labels) and np.asarray(labels).min() < 0:
        raise ValueError(f"labels hold {np.asarray(labels).min()}; classes are 0, 1, ...")
    if name == "tokens" and is_concrete(examples) and np.asarray(examples).min() < 0:
        raise ValueError(f"tokens hold {np.asarray(examples).min()}; tokens are 0, 1, ...")
    check_whole("batch", batch, 1, MAX_BATCH)
    check_flag("mask_first", mask_first)


def _batch(key: PRNGKeyArray, count: int, size: int) -> Int[Array, " size"]:
    return jax.random.randint(key, (size,), 0, count)


def _side_by_side(
    scores: dict[str, Float[Array, "n K"]], labels: Int[Array, " n"]
) -> tuple[Float[Array, ""], dict[str, Array]]:
    """The sum of the cross-entropies, and the loss and accuracy of each."""
    total, metrics = jnp.zeros(()), {}
    for name, given in scores.items():
        loss = cross_entropy(given, labels)
        total += loss
        metrics[f"{name}_loss"] = loss
        metrics[f"{name}_accuracy"] = accuracy(given, labels)
    return total, metrics


class TuningLoss(eqx.Module):
    """Cross-entropy of `classifier.scores(model, tokens, observed)`, by running the model."""

    model: MaskedLM
    tokens: Int[AnyArray, "*stack n T"]
    labels: Int[AnyArray, "*stack n"]
    mask_first: bool = eqx.field(static=True, default=False)
    batch: int = eqx.field(static=True, default=128)

    def __check_init__(self) -> None:
        check_answers("model", self.model, "embed", "predict")
        _check_examples("tokens", self.tokens, self.labels, self.batch, self.mask_first)

    def __call__(
        self, classifiers: dict[str, Classifier], key: PRNGKeyArray, step: Int[Array, ""]
    ) -> Measured:
        rows = _batch(key, self.labels.shape[0], self.batch)
        tokens = jnp.asarray(self.tokens)[rows]
        observed = seen(tokens.shape[1], self.mask_first)
        scores = {
            name: jax.vmap(lambda x, c=c: c.scores(self.model, x, observed))(tokens)
            for name, c in classifiers.items()
        }
        return _side_by_side(scores, jnp.asarray(self.labels)[rows])


class FineTuningLoss(eqx.Module):
    """Cross-entropy of `classifier.scores(model, tokens, observed)` for a pair `(model, classifier)`,
    both of which are trained."""

    tokens: Int[AnyArray, "*stack n T"]
    labels: Int[AnyArray, "*stack n"]
    mask_first: bool = eqx.field(static=True, default=False)
    batch: int = eqx.field(static=True, default=32)

    def __check_init__(self) -> None:
        _check_examples("tokens", self.tokens, self.labels, self.batch, self.mask_first)

    def __call__(
        self, pair: tuple[MaskedLM, Classifier], key: PRNGKeyArray, step: Int[Array, ""]
    ) -> Measured:
        model, classifier = pair
        frozen = TuningLoss(model, self.tokens, self.labels, self.mask_first, self.batch)
        return frozen({"tuned": classifier}, key, step)


class HeadLoss(eqx.Module):
    """Cross-entropy of heads on the outputs of a frozen model, which no head can change.

    Attention heads take all positions, linear heads the first.
    """

    outputs: Float[AnyArray, "*stack n T V"]
    tokens: Int[AnyArray, "*stack n T"]
    labels: Int[AnyArray, "*stack n"]
    mask_first: bool = eqx.field(static=True, default=False)
    batch: int = eqx.field(static=True, default=128)

    def __check_init__(self) -> None:
        _check_examples("tokens", self.tokens, self.labels, self.batch, self.mask_first)
        shape = check_reals("outputs", self.outputs).shape
        if shape[:-1] != self.tokens.shape:
            raise ValueError(
                f"outputs have shape {shape} and tokens {self.tokens.shape}; "
                "there must be a law for every token"
            )
        check_whole_numbers("tokens", self.tokens, 0, shape[-1] - 1)

    def __call__(
        self, heads: dict[str, LinearHead | AttentionHead], key: PRNGKeyArray, step: Int[Array, ""]
    ) -> Measured:
        rows = _batch(key, self.labels.shape[0], self.batch)
        outputs, tokens = jnp.asarray(self.outputs)[rows], jnp.asarray(self.tokens)[rows]
        observed = seen(tokens.shape[1], self.mask_first)
        scores = {
            name: head_scores(head, outputs, tokens, observed) for name, head in heads.items()
        }
        return _side_by_side(scores, jnp.asarray(self.labels)[rows])


def seen(length: int, mask_first: bool) -> Bool[Array, " T"]:
    """Which positions are observed: all, or all but the first."""
    return jnp.arange(length) >= int(mask_first)


def head_scores(
    head: LinearHead | AttentionHead,
    outputs: Float[Array, "n T V"],
    tokens: Int[Array, "n T"],
    observed: Bool[AnyArray, " T"],
) -> Float[Array, "n *K"]:
    """A head's scores of n sequences from the model's outputs.

    Attention averages before it applies the value, which is linear in g: with weights w_i,
    `sum_i w_i readout . ((value g_i) * e_i) = readout . sum_v value[:, v] M[:, v]` where
    `M = sum_i w_i e_i g_i^T` (or `sum_i w_i g_i` in every row, if the head has no token rows).
    """
    if isinstance(head, LinearHead):
        return jax.vmap(head)(outputs[:, 0])
    weights = jax.vmap(head.weights)(outputs)
    value, readout = jnp.asarray(head.value), jnp.asarray(head.readout)
    if head.tokens is None:
        features = jnp.einsum("nt,ntv->nv", weights, outputs) @ value.T
    else:
        # A product with one-hot rows is faster than looking the rows up.
        table = jnp.asarray(head.tokens)
        rows = jax.nn.one_hot(tokens, table.shape[0], dtype=outputs.dtype) @ table
        rows = jnp.where(jnp.asarray(observed)[:, None], rows, 1) * weights[..., None]
        features = jnp.einsum("nev,ev->ne", jnp.einsum("nte,ntv->nev", rows, outputs), value)
    return features @ readout.T + jnp.asarray(head.bias)


class SlotLoss(eqx.Module):
    """The fast form of `TuningLoss` for linear heads on the exact model of an HMM.

    `messages` are `slot_messages` of the tokens right of the masked slot, up to a positive factor
    per example.
    """

    world: HMM
    messages: Float[AnyArray, "*stack n H"]
    labels: Int[AnyArray, "*stack n"]
    batch: int = eqx.field(static=True, default=128)

    def __check_init__(self) -> None:
        check_kind("world", self.world, HMM)
        _check_examples("messages", self.messages, self.labels, self.batch, False)
        check_reals("messages", self.messages, least=0)
        if self.messages.shape[-1] != self.world.hidden:
            raise ValueError(
                f"messages have shape {self.messages.shape}; the world has {self.world.hidden} states"
            )

    def __call__(
        self, classifiers: dict[str, Classifier], key: PRNGKeyArray, step: Int[Array, ""]
    ) -> Measured:
        rows = _batch(key, self.labels.shape[0], self.batch)
        messages = jnp.asarray(self.messages)[rows]
        scores = {name: slot_scores(c, self.world, messages) for name, c in classifiers.items()}
        return _side_by_side(scores, jnp.asarray(self.labels)[rows])


def slot_messages(world: HMM, tokens: Int[AnyArray, "n T"]) -> Float[Array, "n H"]:
    """`b(x) = P[x | H_slot]` for tokens x right of the slot, scaled to have maximum one.

    Computed for a whole batch so that a step is one matrix product; only the last message is kept.
    """
    check_kind("world", world, HMM)
    tokens = check_token_rows("tokens", tokens, world.vocab)
    A, W = jnp.asarray(world.A), jnp.asarray(world.W)

    def step(message: Array, seen: Array) -> tuple[Array, None]:
        moved = (W[seen] * message) @ A
        size = jnp.max(moved, axis=1, keepdims=True)
        return moved / jnp.where(size > 0, size, 1), None

    end = jnp.ones((tokens.shape[0], A.shape[0]), A.dtype)
    return jax.lax.scan(step, end, jnp.asarray(tokens).T, reverse=True)[0]


def slot_prior(world: HMM, prompt: SoftPrompt | None) -> Float[Array, " H"]:
    """`c` of a prompt up to a positive factor: `c <- A (u_i * c)` from `c = p_1` over its rows.

    Without a prompt this is `p_1`, the law of the slot.
    """
    if prompt is None:
        return world.first
    return forward_messages(jnp.asarray(world.A), world.first, prompt.rows)[0][-1]


def slot_features(
    world: HMM, prompt: SoftPrompt | None, messages: Float[AnyArray, "n H"]
) -> Float[Array, "n V"]:
    """The exact model's output at the masked slot, `W (c * b) / (c . b)`; zero if `c * b = 0`."""
    joint = slot_prior(world, prompt) * jnp.asarray(messages)
    return normalise(joint) @ jnp.asarray(world.W).T


def slot_scores(
    classifier: Classifier, world: HMM, messages: Float[AnyArray, "n H"]
) -> Float[Array, "n *K"]:
    """`classifier.scores(world, x)` for a linear head, from the messages of the examples."""
    assert isinstance(classifier.head, LinearHead)
    return jax.vmap(classifier.head)(slot_features(world, classifier.prompt, messages))


# -- where training starts --------------------------------------------------------------------


def fresh_linear_head(vocab: int, classes: int = 2) -> LinearHead:
    """A linear head of zeros, one row and one bias per class."""
    check_whole("vocab", vocab, 1, MAX_ROWS)
    check_whole("classes", classes, 2, MAX_ROWS)
    return LinearHead(jnp.zeros((classes, vocab)), jnp.zeros(classes))


def fresh_prompt(key: PRNGKeyArray, length: int, width: int) -> SoftPrompt:
    """`u = sigmoid(theta)` with `theta ~ N(0, .02^2)`: rows for message passing, near one half."""
    check_key("key", key)
    check_whole("length", length, 1, MAX_ROWS)
    check_whole("width", width, 1, MAX_ROWS)
    draw = jax.random.normal(key, (length, width), jnp.float32)
    theta = PROMPT_SCALE * draw.astype(jnp.result_type(float))
    return SoftPrompt(theta, squash=jax.nn.sigmoid)


def fresh_rows(key: PRNGKeyArray, length: int, model: Transformer) -> SoftPrompt:
    """A prompt for a Transformer: rows `N(0, s^2)`, with s the root mean square of its token rows."""
    check_key("key", key)
    check_whole("length", length, 1, MAX_ROWS)
    check_kind("model", model, Transformer)
    table = jnp.asarray(model.token_embedding)
    scale = jnp.sqrt(jnp.mean(table**2))
    return SoftPrompt(scale * jax.random.normal(key, (length, table.shape[1]), table.dtype))


def prompt_rates(classifier: Classifier, head: float, prompt: float) -> PyTree[float]:
    """Learning rates for `training.adam`: one for every leaf of the head, one for the prompt."""
    check_kind("classifier", classifier, Classifier)
    if classifier.prompt is None:
        raise ValueError("the classifier has no prompt; its rate is a single number")
    check_real("head", head, least=0)
    check_real("prompt", prompt, least=0)
    rates = jax.tree.map(lambda _: head, classifier)
    return eqx.tree_at(lambda c: c.prompt.parameters, rates, prompt)


def fresh_attention_head(vocab: int, classes: int = 2, *, by_token: bool = False) -> AttentionHead:
    """A softmax attention head with score `k . g_i`, all zero (so it starts by averaging).

    Its value is `V g_i` with a row per class, plus a bias. With `by_token` the value is
    `Q[x_i] . g_i`, a vector for each token, for two classes as `(-s, s)`; started from zero, two
    free rows would stay each other's negatives as well.
    """
    check_flag("by_token", by_token)
    check_whole("vocab", vocab, 1, 2**13 if by_token else MAX_ROWS)
    check_whole("classes", classes, 2, MAX_ROWS)
    key, bias = jnp.zeros((1, vocab)), jnp.zeros(classes)
    query = jnp.ones(1)
    if not by_token:
        value = jnp.zeros((classes, vocab))
        return AttentionHead(query, key, value, jnp.eye(classes), bias=bias, temperature=1.0)
    if classes != 2:
        raise ValueError(f"classes is {classes}; token values are written for two classes")
    readout = jnp.stack([-jnp.ones(vocab), jnp.ones(vocab)])
    value = jnp.zeros((vocab, vocab))
    return AttentionHead(
        query, key, value, readout, tokens=jnp.eye(vocab), bias=bias, temperature=1.0
    )


def attention_trainable(head: AttentionHead) -> PyTree[bool]:
    """Which leaves of a fresh attention head are trained: its key, its value and its bias."""
    check_kind("head", head, AttentionHead)
    frozen = jax.tree.map(lambda _: False, head)
    return eqx.tree_at(lambda h: (h.key, h.value, h.bias), frozen, (True, True, True))
