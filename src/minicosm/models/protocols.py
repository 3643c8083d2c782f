"""What a model must answer to be tuned, probed and decoded here."""

from typing import Protocol, runtime_checkable

from jaxtyping import Array, Bool, Float, Int, PyTree


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


@runtime_checkable
class Generator(Protocol):
    """Continues strings token by token; methods take one string, callers `vmap`.

    A memory has room for a fixed number of tokens. What it holds about the first n tokens does not
    change when tokens after them are read, so going back to a shorter string is going back to a
    smaller n: backtracking costs nothing and recomputes nothing.
    """

    @property
    def vocab(self) -> int:
        """Number of tokens V, an end token included if there is one."""
        ...

    def begin(self, room: int) -> PyTree:
        """The memory of the empty string, with room for `room` tokens."""
        ...

    def read(self, memory: PyTree, n: Int[Array, ""], token: Int[Array, ""]) -> PyTree:
        """The memory once `token` stands after the first n tokens."""
        ...

    def law(self, memory: PyTree, n: Int[Array, ""]) -> Float[Array, " V"]:
        """Log-probabilities of the token after the first n."""
        ...


@runtime_checkable
class Verifier(Protocol):
    """Scores unfinished strings; a memory as for `Generator`.

    `source` is the generator's memory once it has read the token, for verifiers that look at its
    hidden states; others ignore it.
    """

    def begin(self, room: int, source: PyTree) -> PyTree:
        """The memory of the empty string."""
        ...

    def read(
        self, memory: PyTree, n: Int[Array, ""], token: Int[Array, ""], source: PyTree
    ) -> PyTree:
        """The memory once `token` stands after the first n tokens."""
        ...

    def score(self, memory: PyTree, n: Int[Array, ""]) -> Float[Array, ""]:
        """The score of the first n tokens: the probability that they can be
        completed, or a value >= 0."""
        ...
