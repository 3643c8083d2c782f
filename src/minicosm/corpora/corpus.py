"""What every corpus has: a file, how many sequences, a seed, and exact laws on request."""

from __future__ import annotations

import functools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from tyro.conf import arg

from minicosm import __version__
from minicosm.lab import LabError

MAX_LENGTH = 2**26
MEMORY = 2**29
"""Bytes that the sequences of a chunk may take while they are computed."""
MOST_MEMORY = 2**32
"""The same for a chunk of one sequence, which cannot be made smaller."""


LAWS = {"next": "next_logits", "masked": "conditionals"}  # what a world answers them by


@dataclass(kw_only=True)
class Corpus(ABC):
    """What every sampled corpus has."""

    kind: ClassVar[str]

    out: Annotated[Path, arg(help="The file; it ends in .parquet, .jsonl or .npz.")]
    count: Annotated[int, arg(help="Number of sequences.")] = 1000
    seed: Annotated[int, arg(help="Seed of the world and of the sequences.")] = 0
    laws: Annotated[
        Literal["none", "next", "masked"],
        arg(
            help="Also write exact laws, T rows of V numbers in one list: of the next token after each "
            "(next), or of each token given all others (masked)."
        ),
    ] = "none"

    @abstractmethod
    def make(self, key: Any) -> Any:
        """The world; `key` draws whatever is random about it."""

    @property
    def drawn_length(self) -> int | None:
        """The length to sample, or None if the world has one of its own."""
        return getattr(self, "length", None)

    def run(self) -> int:
        """Make the world, sample it and write the corpus."""
        from minicosm.lab.export import export, require_format

        require_format(self.out)
        require_seed(self.seed)
        if self.count < 1:
            raise LabError(f"count is {self.count}; it must be at least 1.")
        length = self.drawn_length
        if length is not None and not 1 <= length <= MAX_LENGTH:
            raise LabError(f"length is {length}; it must be in 1..{MAX_LENGTH}.")
        import jax

        world_key, data_key = jax.random.split(jax.random.key(self.seed))
        try:
            world = self.make(world_key)
        except (ValueError, TypeError) as error:
            raise LabError(f"{error}.") from None
        known = ["none", *(laws for laws, method in LAWS.items() if hasattr(world, method))]
        if self.laws not in known:
            raise LabError(f"laws is {self.laws}; the world {self.kind} has {' or '.join(known)}.")
        settings = {name: value for name, value in asdict(self).items() if name != "out"}
        metadata = {
            "world": self.kind,
            **settings,
            "minicosm": __version__,
            "parameters": {name: array.tolist() for name, array in self.told(world).items()},
        }
        try:
            export(self.out, _sequences(world, data_key, length, self.count, self.laws), metadata)
        except (ValueError, TypeError) as error:
            raise LabError(f"{error}.") from None
        print(f"{self.out}: {self.count} sequences", file=sys.stderr)
        return 0

    def told(self, world: Any) -> dict[str, Any]:
        """The arrays that define the world, for the metadata, where the settings do not."""
        return {}


def _sequences(
    world: Any, key: Any, length: int | None, count: int, laws: str
) -> Iterator[dict[str, Any]]:
    """The columns of `count` sequences, in chunks of bounded size; an array of a sequence is one list.

    Sequence i has the key fold_in(key, i): it is the same whatever the count and the chunk.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from rich.console import Console
    from rich.progress import track

    from minicosm.worlds import Joint

    wide = world.vocab if laws != "none" else 1
    size = min(count, max(1, 2**20 // ((length or 64) * wide)))
    names: tuple[str, ...] = ()

    def one(key: Any) -> tuple[Any, ...]:
        nonlocal names
        drawn = world.sample(key) if length is None else world.sample(key, length)
        columns = drawn._asdict()
        if laws == "next":
            columns["next_laws"] = jnp.exp(world.next_logits(drawn.tokens)).reshape(-1)
        elif laws == "masked":
            columns["masked_laws"] = world.conditionals(drawn.tokens).reshape(-1)
        names = tuple(columns)
        return tuple(columns.values())

    def keys(first: Any, size: int) -> Any:
        return jax.vmap(lambda i: jax.random.fold_in(key, i))(first + jnp.arange(size))

    def in_numpy(first: int) -> tuple[Any, ...]:
        return tuple(map(np.stack, zip(*map(one, keys(first, size)), strict=True)))

    if isinstance(world, Joint):  # a table of probabilities
        run: Any = in_numpy
    else:
        run, size = bounded(lambda first, size: jax.vmap(one)(keys(first, size)), size, laws)
    console = Console(stderr=True)
    starts = range(0, count, size)
    shown = console.is_terminal and len(starts) > 4
    for first in track(starts, "sampling", console=console, transient=True, disable=not shown):
        columns = [np.asarray(column)[: count - first] for column in run(first)]
        yield {
            name: column if column.ndim < 3 else column.reshape(len(column), -1)
            for name, column in zip(names, columns, strict=True)
        }


def bounded(draw: Callable[..., Any], size: int, laws: str) -> tuple[Any, int]:
    """`draw(first, size)` compiled for as large a size, up to the given one, as its memory allows, and that
    size: what the law of a sequence needs, besides itself, is up to the world."""
    import jax

    while True:
        run = jax.jit(functools.partial(draw, size=size)).lower(0).compile()
        plan = run.memory_analysis()
        needed = plan.temp_size_in_bytes + plan.output_size_in_bytes if plan else 0
        if size == 1 or needed <= MEMORY:
            break
        size = min(size // 2, max(1, size * MEMORY // needed))
    if needed > MOST_MEMORY:
        raise LabError(
            f"laws is {laws}; one sequence with them needs {needed / 2**30:.1f} GB, at most "
            f"{MOST_MEMORY / 2**30:.1f} GB are allowed. Take shorter sequences or a smaller world."
        )
    return run, size


def require_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise LabError(f"seed is {seed}; it must be a whole number from 0 to 2^32 - 1.")
