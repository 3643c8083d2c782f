"""What a `HuggingFaceGenerator` knows of a string, for verifiers that look at it: they need no torch."""

from typing import NamedTuple

from jaxtyping import Array, Float, Int


class HuggingFaceMemory(NamedTuple):
    """A string, and the hidden state of a layer after each of its prefixes, if one is kept."""

    tokens: Int[Array, " room"]
    hidden: Float[Array, "rows E"]
