"""How much a suite runs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """How much a suite runs: random worlds of the first `shapes` sizes it knows (every size compiles
    anew), and for each also `samples` sequences of `long` tokens."""

    seed: int
    worlds: int
    shapes: int = 2
    long: int = 64
    samples: int = 128
