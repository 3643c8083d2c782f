"""The command `minicosm sample`: a random world sampled into a file that any framework can train on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg, subcommand

from minicosm import __version__
from minicosm.lab.claims import LabError

MAX_LENGTH = 2**26


@dataclass(kw_only=True)
class Corpus:
    """The options that every sampled corpus has."""

    out: Annotated[Path, arg(help="The file; it ends in .parquet, .jsonl or .npz.")]
    vocab: Annotated[int, arg(help="Number of tokens.")] = 10
    length: Annotated[int, arg(help="Tokens per sequence.")] = 128
    count: Annotated[int, arg(help="Number of sequences.")] = 1000
    seed: Annotated[int, arg(help="Seed of the world and of the sequences.")] = 0
    transition_temperature: Annotated[float, arg(help="Low: moves are nearly certain.")] = 0.01
    emission_temperature: Annotated[float, arg(help="Low: nearly one token per state.")] = 0.01
    start_temperature: Annotated[float, arg(help="High: the start is nearly uniform.")] = 10.0

    def write(self, kind: str, **sizes: int) -> int:
        """Draw a world of this kind, sample it and write the corpus."""
        from minicosm.lab.export import export, require_format

        require_format(self.out)
        require_seed(self.seed)
        for name, value in (("length", self.length), ("count", self.count)):
            if value < 1:
                raise LabError(f"{name} is {value}; it must be at least 1.")
        if self.length > MAX_LENGTH:
            raise LabError(f"length is {self.length}; it must be at most {MAX_LENGTH}.")
        import jax

        from minicosm import worlds

        world_key, data_key = jax.random.split(jax.random.key(self.seed))
        temperatures = {
            "transition_temperature": self.transition_temperature,
            "emission_temperature": self.emission_temperature,
            "start_temperature": self.start_temperature,
        }
        sizes = {**sizes, "vocab": self.vocab}
        make: Any = {"hmm": worlds.HMM, "memory-hmm": worlds.MemoryHMM}[kind]
        try:
            world = make.random(world_key, **sizes, **temperatures)
        except ValueError as error:
            raise LabError(f"{error}.") from None
        metadata = {
            "world": kind,
            **sizes,
            **temperatures,
            "length": self.length,
            "seed": self.seed,
            "minicosm": __version__,
            "parameters": {name: array.tolist() for name, array in world.parameters().items()},
        }
        export(self.out, _sequences(world, data_key, self.length, self.count), metadata)
        print(f"{self.out}: {self.count} sequences of {self.length} tokens", file=sys.stderr)
        return 0


@dataclass(kw_only=True)
class SampleHMM(Corpus):
    """Sample a random hidden Markov world into a file: columns `tokens` and `hidden`.

    `hidden` has one entry more than `tokens`: the state before the first token emits nothing.
    """

    hidden: Annotated[int, arg(help="Number of hidden states.")] = 8

    def run(self) -> int:
        return self.write("hmm", hidden=self.hidden)


@dataclass(kw_only=True)
class SampleMemoryHMM(Corpus):
    """Sample a random memory world into a file: columns `tokens`, `hidden` and `memory`.

    `memory` has the value of every memory cell, which never changes along a sequence.
    """

    hidden: Annotated[int, arg(help="Number of hidden states per cell.")] = 4
    memory: Annotated[int, arg(help="Number of values of a memory cell.")] = 3
    cells: Annotated[int, arg(help="Number of memory cells.")] = 1

    def run(self) -> int:
        return self.write("memory-hmm", hidden=self.hidden, memory=self.memory, cells=self.cells)


@dataclass
class Sample:
    """Sample a random world into a file that any framework can train on."""

    world: (
        Annotated[SampleHMM, subcommand("hmm", prefix_name=False)]
        | Annotated[SampleMemoryHMM, subcommand("memory-hmm", prefix_name=False)]
    )

    def run(self) -> int:
        return self.world.run()


def _sequences(world: Any, key: Any, length: int, count: int) -> Iterator[dict[str, Any]]:
    """The columns of `count` sequences, in chunks of bounded size.

    Sequence i has the key fold_in(key, i): it is the same whatever the count and the chunk.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from rich.console import Console
    from rich.progress import track

    size = min(count, max(1, 2**20 // length))

    @jax.jit
    def draw(first: Any) -> Any:
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(first + jnp.arange(size))
        return jax.vmap(lambda k: world.sample(k, length))(keys)

    console = Console(stderr=True)
    starts = range(0, count, size)
    shown = console.is_terminal and len(starts) > 4
    for first in track(starts, "sampling", console=console, transient=True, disable=not shown):
        sample = draw(first)
        yield {
            name: np.asarray(column)[: count - first] for name, column in sample._asdict().items()
        }


def require_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise LabError(f"seed is {seed}; it must be a whole number from 0 to 2^32 - 1.")
