"""Soft prompts, and the classifier that a head and a prompt make of a frozen model."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from minicosm.models import MaskedLM
from minicosm.worlds.arrays import AnyArray, check_tokens

from .checks import as_numbers, brief, check_answers, check_flag, check_kind, check_reals
from .heads import AttentionHead, LinearHead


def identity(rows: Any) -> Any:
    return rows


class SoftPrompt(eqx.Module):
    """Rows put before a sequence's embeddings, for any masked language model.

    `squash` maps free parameters to rows: message passing needs nonnegative rows, so there it is
    `jax.nn.sigmoid`; a Transformer takes the parameters as they are.
    """

    parameters: Float[AnyArray, "k E"]
    squash: Callable = eqx.field(static=True, default=identity)

    def __init__(self, parameters: Any, squash: Callable = identity):
        self.parameters = check_reals("parameters", parameters, (None, None))
        if not callable(squash) or isinstance(squash, type):
            raise TypeError(f"squash is {brief(squash)}; it must be a function of rows")
        self.squash = squash

    @property
    def rows(self) -> Float[Array, "k E"]:
        return self.squash(jnp.asarray(self.parameters))

    def __len__(self) -> int:
        return self.parameters.shape[0]

    def prepend(self, embeddings: Float[Array, "T E"]) -> Float[Array, "length E"]:
        rows = self.rows
        embeddings = jnp.asarray(check_reals("embeddings", embeddings, (None, None)))
        if rows.shape[1] != embeddings.shape[1]:
            raise ValueError(
                f"the prompt has width {rows.shape[1]}; this model's embeddings have width "
                f"{embeddings.shape[1]}"
            )
        return jnp.concatenate([rows.astype(embeddings.dtype), embeddings])


class Classifier(eqx.Module):
    """A head, with a prompt or without, that turns a frozen masked language model into a classifier.

    With `placeholder` an unobserved position is put before the tokens (the paper's special token
    whose own value never matters). A linear head reads the first position after the prompt; an
    attention head reads all positions.
    """

    head: LinearHead | AttentionHead
    prompt: SoftPrompt | None = None
    placeholder: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        check_kind("head", self.head, (LinearHead, AttentionHead))
        if self.prompt is not None:
            check_kind("prompt", self.prompt, SoftPrompt)
        check_flag("placeholder", self.placeholder)

    def inputs(
        self, model: MaskedLM, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None
    ) -> tuple[Float[Array, "L E"], Int[Array, " L"], Bool[Array, " L"]]:
        """The embeddings of every position incl. prompt and placeholder, the tokens there (0 where
        none), and which of them are known."""
        check_answers("model", model, "embed", "predict")
        tokens = as_numbers("tokens", tokens, "iu")
        observed = None if observed is None else as_numbers("observed", observed, "b")
        tokens, observed = check_tokens(tokens, observed, getattr(model, "vocab", 2**31))
        tokens = jnp.asarray(tokens)
        known = jnp.ones(tokens.shape, bool) if observed is None else jnp.asarray(observed)
        if self.placeholder:
            tokens, known = jnp.pad(tokens, (1, 0)), jnp.pad(known, (1, 0))
        embeddings = model.embed(tokens, known)
        if self.prompt is not None:
            embeddings = self.prompt.prepend(embeddings)
            tokens = jnp.pad(tokens, (len(self.prompt), 0))
            known = jnp.pad(known, (len(self.prompt), 0))
        return embeddings, tokens, known

    def outputs(
        self, model: MaskedLM, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None
    ) -> tuple[Float[Array, "L V"], Int[Array, " L"], Bool[Array, " L"]]:
        """The model's outputs at the positions of `inputs`, and the same tokens and flags."""
        embeddings, tokens, known = self.inputs(model, tokens, observed)
        return model.predict(embeddings), tokens, known

    @property
    def slot(self) -> int:
        """The first position after the prompt, which a linear head reads."""
        return 0 if self.prompt is None else len(self.prompt)

    def scores(
        self,
        model: MaskedLM,
        tokens: Int[AnyArray, " T"],
        observed: Bool[AnyArray, " T"] | None = None,
    ) -> Float[Array, "*rows"]:
        """The head's score of one sequence: a number, or one per class."""
        if isinstance(self.head, LinearHead):
            embeddings = self.inputs(model, tokens, observed)[0]
            return self.head(model.predict(embeddings, jnp.array([self.slot]))[0])
        return self.head(*self.outputs(model, tokens, observed))
