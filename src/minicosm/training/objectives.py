"""What a language model is pretrained on: masked and causal prediction in a world.

An objective is a loss for `fit`: called with a model, a key and a step it draws a batch of sequences,
from the world itself or as windows of a fixed corpus, and returns the mean cross-entropy over the
predicted positions with these metrics, each a mean over positions:

- "excess": `KL(p || q) = sum_x p(x) log(p(x) / q(x))` in nats, where q is the model's law and p the
  world's exact law of the token given what the model sees: the loss over and above Bayes' optimum;
- "tv": `sum_x |p(x) - q(x)| / 2`, the total variation between the two;
- "tokens": how many tokens were read.

With **exact targets** the loss is `- sum_x p(x) log q(x)` in place of `- log q(token)`. Since p is the
law of the token given all that q depends on, loss and gradient have the same expectation, and less
variance.

Objectives are Equinox modules. With a stacked world (and corpus) they are the losses of as many
members for `fit_ensemble`.
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.models import Generator
from minicosm.worlds import CausalWorld, MaskedWorld, World
from minicosm.worlds.arrays import (
    AnyArray,
    check_choice,
    check_count,
    check_flag,
    check_key,
    check_kind,
    check_number,
    check_size,
    check_whole_numbers,
    is_concrete,
    short,
)

from .devices import over_batch

Corruption = Literal["mask", "bert"]
STATIONARY = 1e-5


class Predictions(NamedTuple):
    """What is predicted in one sequence."""

    log_laws: Float[Array, "n V"]
    tokens: Int[Array, " n"]
    targets: Float[Array, "n V"] | None
    """The law of each token given all that `log_laws` depends on; None if there is no world."""
    measured: Bool[Array, " n"]
    """Where the metrics are taken."""


class Objective(eqx.Module):
    """What masked and causal prediction share: where sequences come from and what is measured."""

    world: World | None = None
    length: int = eqx.field(static=True, kw_only=True)
    """Tokens in a sequence."""
    batch: int = eqx.field(static=True, default=32, kw_only=True)
    exact: bool = eqx.field(static=True, default=False, kw_only=True)
    """Exact targets in place of sampled tokens."""
    measure: bool = eqx.field(static=True, default=True, kw_only=True)
    """Whether to compute "excess" and "tv" when targets are sampled (with exact ones they are free)."""
    corpus: Int[AnyArray, "*stack documents L"] | None = eqx.field(default=None, kw_only=True)
    """Documents whose windows of `length` tokens are drawn, uniformly with replacement; without one,
    every sequence is a fresh sample of the world."""

    def __check_init__(self) -> None:
        check_size(f"a batch of length {self.length}", check_count("length", self.length))
        size = check_count("batch", self.batch) * self.length
        check_size(f"batch = {self.batch} sequences of {self.length} tokens", size)
        check_flag("exact", self.exact)
        check_flag("measure", self.measure)
        if self.world is not None:
            check_kind("world", self.world, World, "a world, with `vocab`, `sample` and `log_prob`")
        if self.world is None and (self.corpus is None or self.exact):
            raise ValueError(
                "world is None; then there must be a corpus, and targets cannot be exact"
            )
        if self.corpus is None:
            return
        most = 2**31 - 1 if self.world is None else self.world.vocab - 1
        shape = check_whole_numbers("corpus", self.corpus, 0, most).shape
        if len(shape) < 2 or 0 in shape:
            raise ValueError(f"corpus has shape {shape}; it must have shape (documents, tokens)")
        if shape[-1] < self.length:
            raise ValueError(
                f"documents of the corpus have {shape[-1]} tokens; windows need {self.length}"
            )
        if shape[-1] > self.length and (self.exact or self.measure):
            _check_stationary(self.world)

    def __call__(
        self, model: Any, key: PRNGKeyArray, step: Int[Array, ""] | int
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        keys = over_batch(jax.random.split(check_key(key), self.batch))
        predicted = jax.vmap(lambda k: self.predictions(model, k))(keys)
        q, p = predicted.log_laws, predicted.targets
        if p is not None and self.exact:
            loss = -jnp.mean(_expected(p, q))
        else:
            loss = -jnp.mean(jnp.take_along_axis(q, predicted.tokens[..., None], axis=-1))
        metrics = {"tokens": jnp.asarray(self.batch * self.length, q.dtype)}
        if p is not None:
            weights = predicted.measured / jnp.maximum(jnp.sum(predicted.measured), 1)
            distance = jnp.sum(jnp.abs(p - jnp.exp(q)), axis=-1) / 2
            metrics["excess"] = jnp.sum(weights * (jnp.sum(xlogy(p, p), axis=-1) - _expected(p, q)))
            metrics["tv"] = jnp.sum(weights * distance)
        return loss, jax.lax.stop_gradient(metrics)

    def predictions(self, model: Any, key: PRNGKeyArray) -> Predictions:
        """Draw one sequence and predict it."""
        raise NotImplementedError

    def tokens(self, key: PRNGKeyArray) -> Int[Array, " length"]:
        """One sequence: a fresh sample of the world, or a window of the corpus."""
        check_key(key)
        if self.corpus is None:
            assert self.world is not None
            return self.world.sample(key, self.length).tokens
        documents, size = self.corpus.shape
        which, where = jax.random.split(key)
        document = jax.random.randint(which, (), 0, documents)
        start = jax.random.randint(where, (), 0, size - self.length + 1)
        window = jax.lax.dynamic_slice(
            jnp.asarray(self.corpus), (document, start), (1, self.length)
        )
        return window[0].astype(jnp.int32)

    @property
    def knows(self) -> bool:
        """Whether the world's laws are computed."""
        exact, measure = check_flag("exact", self.exact), check_flag("measure", self.measure)
        return self.world is not None and (exact or measure)


class MaskedObjective(Objective):
    """Masked prediction: `max(1, round(rate * length))` uniformly chosen positions of each sequence
    are hidden and predicted (so the optimum is `worlds.masked_loss`). With `first`, position 1 is always
    one of them and the others are uniform; it is the position that tasks on a masked first token read.

    With corruption "mask" every chosen position shows the mask, and the exact law is the world's
    conditional given the tokens that were not chosen. With "bert" it shows the mask with probability
    .8, a uniform token with .1 and its own token with .1. The exact target is then the law given the
    tokens that were not chosen and those kept, which is a point mass at the kept ones; "excess" and
    "tv" are taken where the mask is. No model reaches zero there, because none can tell which of
    the tokens it sees are random ones.

    The model has `embed(tokens, observed)` and `logits(embeddings, at)`, or `predict` in its place.
    """

    rate: float = eqx.field(static=True, default=0.15, kw_only=True)
    corruption: Corruption = eqx.field(static=True, default="mask", kw_only=True)
    first: bool = eqx.field(static=True, default=False, kw_only=True)

    def __check_init__(self) -> None:
        check_flag("first", self.first)
        if check_number("rate", self.rate, 0, 1) == 0:
            raise ValueError(f"rate is {self.rate}; it must lie in (0, 1]")
        check_choice("corruption", self.corruption, ("mask", "bert"))
        if self.knows and not isinstance(self.world, MaskedWorld):
            raise ValueError(_cannot_answer(self.world, "conditionals"))

    def predictions(self, model: Any, key: PRNGKeyArray) -> Predictions:
        check_answers(model, "embed")
        if not hasattr(model, "logits"):
            check_answers(model, "predict")
        check_key(key)
        token_key, place_key, show_key, random_key, dropout_key = jax.random.split(key, 5)
        tokens = self.tokens(token_key)
        count = max(1, round(self.rate * self.length))
        chosen = jax.random.permutation(place_key, self.length)[:count]
        if self.first:  # if it was not chosen, in place of one that was
            chosen = chosen.at[0].set(jnp.where((chosen == 0).any(), chosen[0], 0))
        masked = kept = None
        shown, observed = tokens, jnp.ones(self.length, bool).at[chosen].set(False)
        known = observed
        if self.corruption == "bert":
            draw = jax.random.uniform(show_key, (count,))
            masked, kept = draw < 0.8, draw >= 0.9
            # The model's own vocabulary, which need not be the world's.
            random = jax.random.randint(random_key, (count,), 0, self._vocab(model))
            shown = tokens.at[chosen].set(jnp.where(kept, tokens[chosen], random))
            observed, known = observed.at[chosen].set(~masked), known.at[chosen].set(kept)
        q = log_laws(model, model.embed(shown, observed), chosen, dropout_key)
        hidden = tokens[chosen]
        p = None
        if self.knows:
            assert isinstance(self.world, MaskedWorld)
            p = self.world.conditionals(tokens, known)[chosen]
            if kept is not None:
                p = jnp.where(kept[:, None], jax.nn.one_hot(hidden, p.shape[1], dtype=p.dtype), p)
        return Predictions(q, hidden, p, jnp.ones(count, bool) if masked is None else masked)

    def _vocab(self, model: Any) -> int:
        return model.vocab if hasattr(model, "vocab") else self.world.vocab  # type: ignore


class CausalObjective(Objective):
    """Causal prediction: every token from those before it, by `model.next_logits`.

    Without `start` the first token is only read. With it every sequence stands after that token, and
    its first token is predicted too, with the world's law of first tokens as its exact target: the
    trained model can generate from nothing. The start token is one that the model reads; a token
    that it never predicts is `TransformerConfig(vocab=V, extra_inputs=1, ...)` and `start=V`:

        objective = CausalObjective(world, length=16, start=world.vocab)
        ...  # fit a Transformer whose config has causal=True, extra_inputs=1, max_length=17
        generator = CachedTransformer(model, start=world.vocab)
    """

    start: int | None = eqx.field(static=True, default=None, kw_only=True)
    """The token before the first; None: there is none."""

    def __check_init__(self) -> None:
        if self.start is None:
            check_count("length", self.length, least=2)
        else:
            check_count("start", self.start, least=0)
        if not self.knows:
            return
        if not isinstance(self.world, CausalWorld):
            raise ValueError(_cannot_answer(self.world, "next_logits"))
        if self.start is not None and not isinstance(self.world, Generator):
            raise ValueError(_cannot_answer(self.world, "law"))

    def predictions(self, model: Any, key: PRNGKeyArray) -> Predictions:
        check_answers(model, "next_logits")
        check_key(key)
        token_key, dropout_key = jax.random.split(key)
        tokens = self.tokens(token_key)
        seen, following = tokens[:-1], tokens[1:]
        shown = seen
        if self.start is not None:
            self._check_rows(model)
            shown, following = jnp.concatenate([jnp.full(1, self.start, seen.dtype), seen]), tokens
        q = jax.nn.log_softmax(model.next_logits(shown, **dropout_options(model, dropout_key)))
        p = self._targets(seen) if self.knows else None
        return Predictions(q, following, p, jnp.ones(len(following), bool))

    def _targets(self, seen: Int[Array, " T"]) -> Float[Array, "n V"]:
        """The world's laws of the tokens after those seen, and with `start` of the first."""
        assert isinstance(self.world, CausalWorld)
        if self.start is None:
            return jnp.exp(self.world.next_logits(seen))
        assert isinstance(self.world, Generator)
        first = jnp.exp(self.world.law(self.world.begin(0), jnp.int32(0)))[None]
        if not len(seen):
            return first
        return jnp.concatenate([first, jnp.exp(self.world.next_logits(seen))])

    def _check_rows(self, model: Any) -> None:
        """Raise if the model has no input for the start token."""
        config = getattr(model, "config", None)
        rows = getattr(config, "vocab", 0) + getattr(config, "extra_inputs", 0)
        assert self.start is not None
        if rows and self.start >= rows:
            raise ValueError(
                f"start is {self.start}; the model reads the tokens 0..{rows - 1}, "
                "and extra_inputs=1 in its config gives it one more"
            )


def check_answers(model: Any, question: str) -> None:
    if isinstance(model, type) or not callable(getattr(model, question, None)):
        raise TypeError(f"model is {short(model)}; it must have `{question}`")


def log_laws(
    model: Any, embeddings: Float[Array, "T E"], at: Int[Array, " n"], key: PRNGKeyArray
) -> Float[Array, "n V"]:
    """Log-probabilities at some positions from a model's logits, or from its laws if it has no logits
    (an exact world); `key` is for dropout, if the model has any."""
    if hasattr(model, "logits"):
        logits = model.logits(embeddings, at, **dropout_options(model, key))
        return jax.nn.log_softmax(logits, axis=-1)
    return jnp.log(model.predict(embeddings, at))


def dropout_options(model: Any, key: PRNGKeyArray) -> dict[str, PRNGKeyArray]:
    config = getattr(model, "config", None)
    rates = (getattr(config, name, None) or 0 for name in ("dropout", "embedding_dropout"))
    return {"key": key} if max(rates) > 0 else {}


def _expected(p: Float[Array, "*n V"], q: Float[Array, "*n V"]) -> Float[Array, " *n"]:
    """`sum_x p(x) q(x)` for log-probabilities q, with 0 times -inf = 0."""
    return jnp.sum(jnp.where(p > 0, p * jnp.where(p > 0, q, 0), 0), axis=-1)


def _cannot_answer(world: Any, question: str) -> str:
    return (
        f"a world of type {type(world).__name__} has no `{question}`, so its laws cannot be the targets "
        "or be measured against; set exact=False and measure=False"
    )


def _check_stationary(world: Any) -> None:
    """Raise if the world's chain does not start from its stationary law.

    A window from inside a document follows another law than the document's beginning, and what the
    world says of it is exact only if its start law is stationary.
    """
    A, p0 = getattr(world, "A", None), getattr(world, "p0", None)
    if A is None or p0 is None or not is_concrete(A, p0):
        return
    moved = float(
        np.abs(np.asarray(A) @ np.asarray(p0)[..., None] - np.asarray(p0)[..., None]).max()
    )
    if moved > STATIONARY:
        raise ValueError(
            f"the world's start law moves by {moved:.2g} in a step, so its laws are not those of "
            "windows inside longer documents; use a world that starts from its stationary law, for "
            "the documents too, or set measure=False and exact=False"
        )
