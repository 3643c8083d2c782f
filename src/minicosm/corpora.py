"""The command `minicosm sample`: a world sampled into a file that any framework can train on."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg, subcommand

from minicosm import __version__
from minicosm.lab.claims import LabError

MAX_LENGTH = 2**26


@dataclass(kw_only=True)
class Corpus(ABC):
    """What every sampled corpus has: a file, how many sequences, a seed, and exact laws on request."""

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
        question = {"next": "next_logits", "masked": "conditionals"}.get(self.laws, "sample")
        if not hasattr(world, question):
            raise LabError(f"laws is {self.laws}; a {self.kind} world has no `{question}`.")
        settings = {name: value for name, value in asdict(self).items() if name != "out"}
        told = isinstance(self, RandomHMM | SampleAutomaton | SampleFlipFlop)
        parameters: Any = world.parameters() if told else {}
        metadata = {
            "world": self.kind,
            **settings,
            "minicosm": __version__,
            "parameters": {name: array.tolist() for name, array in parameters.items()},
        }
        try:
            export(self.out, _sequences(world, data_key, length, self.count, self.laws), metadata)
        except (ValueError, TypeError) as error:
            raise LabError(f"{error}.") from None
        print(f"{self.out}: {self.count} sequences", file=sys.stderr)
        return 0

    @property
    def kind(self) -> str:
        return KINDS[type(self)]


@dataclass(kw_only=True)
class RandomHMM(Corpus):
    """What hidden Markov worlds have in common."""

    vocab: Annotated[int, arg(help="Number of tokens.")] = 10
    length: Annotated[int, arg(help="Tokens per sequence.")] = 128
    transition_temperature: Annotated[float, arg(help="Low: moves are nearly certain.")] = 0.01
    emission_temperature: Annotated[float, arg(help="Low: nearly one token per state.")] = 0.01
    start_temperature: Annotated[float, arg(help="High: the start is nearly uniform.")] = 10.0

    def settings(self) -> dict[str, Any]:
        names = ("vocab", "transition_temperature", "emission_temperature", "start_temperature")
        return {name: getattr(self, name) for name in names}


@dataclass(kw_only=True)
class SampleHMM(RandomHMM):
    """Sample a random hidden Markov world into a file: columns `tokens` and `hidden`.

    `hidden` has one entry more than `tokens`: the state before the first token emits nothing.
    """

    hidden: Annotated[int, arg(help="Number of hidden states.")] = 8

    def make(self, key: Any) -> Any:
        from minicosm.worlds import HMM

        return HMM.random(key, hidden=self.hidden, **self.settings())


@dataclass(kw_only=True)
class SampleMemoryHMM(RandomHMM):
    """Sample a random memory world into a file: columns `tokens`, `hidden` and `memory`.

    `memory` has the value of every memory cell, which never changes along a sequence.
    """

    hidden: Annotated[int, arg(help="Number of hidden states per cell.")] = 4
    memory: Annotated[int, arg(help="Number of values of a memory cell.")] = 3
    cells: Annotated[int, arg(help="Number of memory cells.")] = 1

    def make(self, key: Any) -> Any:
        from minicosm.worlds import MemoryHMM

        sizes = {"hidden": self.hidden, "memory": self.memory, "cells": self.cells}
        return MemoryHMM.random(key, **sizes, **self.settings())


@dataclass(kw_only=True)
class SampleDyck(Corpus):
    """Sample prefixes of a bounded Dyck language into a file: `tokens`, `depths`, `length`.

    Bracket type t opens by the token 2t and closes by 2t + 1; `depths` are those after each token.
    """

    length: Annotated[int, arg(help="Tokens per sequence.")] = 128
    types: Annotated[int, arg(help="Types of brackets.")] = 2
    depth: Annotated[int, arg(help="The largest depth.")] = 4

    def make(self, key: Any) -> Any:
        from minicosm.worlds import Dyck

        return Dyck(self.types, self.depth)


@dataclass(kw_only=True)
class SampleCompleteDyck(Corpus):
    """Sample balanced strings of brackets into a file: `tokens`, `depths`, `length`."""

    length: Annotated[int, arg(help="Tokens per string, an even number.")] = 32
    types: Annotated[int, arg(help="Types of brackets.")] = 2
    depth: Annotated[int, arg(help="The largest depth.")] = 4

    def make(self, key: Any) -> Any:
        from minicosm.worlds import CompleteDyck, Dyck

        return CompleteDyck(Dyck(self.types, self.depth), [self.length])


@dataclass(kw_only=True)
class SampleIsing(Corpus):
    """Sample an Ising model in which every spin is coupled to every other into a file: `tokens`.

    A token 0 is a spin down, 1 a spin up.
    """

    spins: Annotated[int, arg(help="Number of spins, at most 14.")] = 8
    coupling: Annotated[float, arg(help="Positive: spins want to be alike.")] = 0.2
    field: Annotated[float, arg(help="Positive: spins want to be up.")] = 0.0

    def make(self, key: Any) -> Any:
        import numpy as np

        from minicosm.worlds import Ising

        if self.spins < 1:
            raise ValueError(f"spins is {self.spins}; it must be at least 1")
        J = self.coupling * (np.ones((self.spins, self.spins)) - np.eye(self.spins))
        return Ising(np.full(self.spins, self.field), J).joint()


@dataclass(kw_only=True)
class SampleFertility(Corpus):
    """Sample a world of translation by phrases: `source`, `target` and their lengths.

    Every source word becomes one, two or three target words of its own; both sides are padded with the
    ids after their vocabularies.
    """

    swap: Annotated[float, arg(help="Probability that two neighbours change places.")] = 0.0
    source_vocab: Annotated[int, arg(help="Number of source words.")] = 30
    shortest: Annotated[int, arg(help="Fewest words of a source.")] = 5
    longest: Annotated[int, arg(help="Most words of a source.")] = 10

    def make(self, key: Any) -> Any:
        from minicosm.worlds import Fertility

        return Fertility(
            [0.5, 0.3, 0.2],
            swap=self.swap,
            source_vocab=self.source_vocab,
            shortest=self.shortest,
            longest=self.longest,
        )


@dataclass(kw_only=True)
class SampleAutomaton(Corpus):
    """Sample what an automaton reads, and the states it goes through, into a file: `tokens`, `states`.

    The file's metadata has the table `delta[symbol][state]` and the start state.
    """

    family: Annotated[
        Literal[
            "cyclic", "memory", "gridworld", "dihedral", "symmetric", "alternating", "quaternion", "dyck",
            "abab", "flip-flop",
        ],
        arg(help="Which automaton of the library."),
    ] = "dihedral"  # fmt: skip
    size: Annotated[
        int, arg(help="n of C_n, Grid_n, D_2n, S_n or A_n, states of a memory, depth of brackets.")
    ] = 4
    p_keep: Annotated[
        float, arg(help="Of the flip-flop: how likely a symbol keeps; the first one sets.")
    ] = 0.5
    length: Annotated[int, arg(help="Symbols per sequence.")] = 64

    def make(self, key: Any) -> Any:
        from minicosm.worlds import automata, flip_flop

        if self.family == "flip-flop":
            return flip_flop.register(self.p_keep)
        if self.family in ("quaternion", "abab"):
            return getattr(automata, self.family)()
        if self.family == "dyck":
            return automata.dyck(2, self.size)
        return getattr(automata, self.family)(self.size)


@dataclass(kw_only=True)
class SampleFlipFlop(Corpus):
    """Sample the flip-flop language into a file: `tokens`, `memory` and `reads`.

    Tokens 0, 1, 2 are w, r, i, then come the n symbols. For each pair, `memory` is the token that a read
    there has to say, and `reads` whether it is one: the exact targets of the clean mode. With several
    densities each string is from one of them, which `component` tells. Pair tokens are n x + s for
    instruction x and symbol s; `memory` is then the number of the symbol.
    """

    length: Annotated[int, arg(help="Tokens per string, an even number from 4 on.")] = 512
    p_ignore: Annotated[
        tuple[float, ...],
        arg(
            help="Probability of i; writes and reads share the rest. Several: one for each string."
        ),
    ] = (0.8,)
    pair_tokens: Annotated[bool, arg(help="One token for an instruction and its symbol.")] = False
    symbols: Annotated[int, arg(help="Number of symbols that can be remembered.")] = 2
    select: Annotated[
        Literal["last", "first"], arg(help="Whether reads say the last or the first write.")
    ] = "last"

    def make(self, key: Any) -> Any:
        from minicosm.worlds import FlipFlop, flip_flop

        if len(self.p_ignore) > 1:
            if self.pair_tokens:
                raise ValueError("pair tokens are for one density; give one p-ignore")
            return flip_flop.FlipFlopMixture(
                self.length, self.p_ignore, symbols=self.symbols, select=self.select
            )
        if not self.p_ignore:
            raise ValueError("there is no p-ignore; give at least one")
        world = FlipFlop(
            self.length, p_ignore=self.p_ignore[0], symbols=self.symbols, select=self.select
        )
        return flip_flop.PairedFlipFlop(world) if self.pair_tokens else world

    @property
    def drawn_length(self) -> int | None:
        return self.length // 2 if self.pair_tokens else self.length


KINDS: dict[type, str] = {
    SampleHMM: "hmm",
    SampleMemoryHMM: "memory-hmm",
    SampleDyck: "dyck",
    SampleCompleteDyck: "complete-dyck",
    SampleIsing: "ising",
    SampleFertility: "fertility",
    SampleAutomaton: "automaton",
    SampleFlipFlop: "flip-flop",
}


@dataclass
class Sample:
    """Sample a world into a file that any framework can train on."""

    world: (
        Annotated[SampleHMM, subcommand("hmm", prefix_name=False)]
        | Annotated[SampleMemoryHMM, subcommand("memory-hmm", prefix_name=False)]
        | Annotated[SampleDyck, subcommand("dyck", prefix_name=False)]
        | Annotated[SampleCompleteDyck, subcommand("complete-dyck", prefix_name=False)]
        | Annotated[SampleIsing, subcommand("ising", prefix_name=False)]
        | Annotated[SampleFertility, subcommand("fertility", prefix_name=False)]
        | Annotated[SampleAutomaton, subcommand("automaton", prefix_name=False)]
        | Annotated[SampleFlipFlop, subcommand("flip-flop", prefix_name=False)]
    )

    def run(self) -> int:
        return self.world.run()


def _sequences(
    world: Any, key: Any, length: int | None, count: int, laws: str
) -> Iterator[dict[str, Any]]:
    """The columns of `count` sequences, in chunks of bounded size.

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

    def draw(first: Any) -> tuple[Any, ...]:
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(first + jnp.arange(size))
        if isinstance(world, Joint):  # a table of probabilities, in NumPy
            return tuple(map(np.stack, zip(*map(one, keys), strict=True)))
        return jax.vmap(one)(keys)

    run = draw if isinstance(world, Joint) else jax.jit(draw)
    console = Console(stderr=True)
    starts = range(0, count, size)
    shown = console.is_terminal and len(starts) > 4
    for first in track(starts, "sampling", console=console, transient=True, disable=not shown):
        columns = [np.asarray(column)[: count - first] for column in run(first)]
        yield dict(zip(names, columns, strict=True))


def require_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise LabError(f"seed is {seed}; it must be a whole number from 0 to 2^32 - 1.")
