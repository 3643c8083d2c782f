"""What a model must answer to be tuned, probed and decoded here."""

from typing import Protocol, runtime_checkable

from jaxtyping import Array, Bool, Float, Int


@runtime_checkable
class MaskedLM(Protocol):
    """A masked language model. The exact worlds satisfy it as they are: their proper embeddings
    are rows of the emission matrix and `predict` is message passing."""

    def embed(
        self, tokens: Int[Array, " T"], observed: Bool[Array, " T"] | None = None
    ) -> Float[Array, "T E"]:
        """One row per position; positions that are not observed hold the mask's row."""
        ...

    def predict(
        self, embeddings: Float[Array, "T E"], at: Int[Array, " n"] | None = None
    ) -> Float[Array, "n V"]:
        """A law over the vocabulary for every position, or for the positions `at`."""
        ...


@runtime_checkable
class CausalLM(Protocol):
    """A causal language model; exact worlds satisfy it too."""

    def next_logits(self, tokens: Int[Array, " T"]) -> Float[Array, "T V"]:
        """Unnormalised log law of the token after each position."""
        ...
