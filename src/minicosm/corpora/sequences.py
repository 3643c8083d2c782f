"""Corpora of hidden Markov worlds, brackets, automata and the flip-flop language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tyro.conf import arg

from minicosm.corpora.corpus import Corpus


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

    def told(self, world: Any) -> dict[str, Any]:
        return world.parameters()


@dataclass(kw_only=True)
class SampleHMM(RandomHMM):
    """Sample a random hidden Markov world into a file: columns `tokens` and `hidden`.

    `hidden` has one entry more than `tokens`: the state before the first token emits nothing.
    """

    kind = "hmm"

    hidden: Annotated[int, arg(help="Number of hidden states.")] = 8

    def make(self, key: Any) -> Any:
        from minicosm.worlds import HMM

        return HMM.random(key, hidden=self.hidden, **self.settings())


@dataclass(kw_only=True)
class SampleMemoryHMM(RandomHMM):
    """Sample a random memory world into a file: columns `tokens`, `hidden` and `memory`.

    `memory` has the value of every memory cell, which never changes along a sequence.
    """

    kind = "memory-hmm"

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

    kind = "dyck"

    length: Annotated[int, arg(help="Tokens per sequence.")] = 128
    types: Annotated[int, arg(help="Types of brackets.")] = 2
    depth: Annotated[int, arg(help="The largest depth.")] = 4

    def make(self, key: Any) -> Any:
        from minicosm.worlds import Dyck

        return Dyck(self.types, self.depth)


@dataclass(kw_only=True)
class SampleCompleteDyck(Corpus):
    """Sample balanced strings of brackets into a file: `tokens`, `depths`, `length`."""

    kind = "complete-dyck"

    length: Annotated[int, arg(help="Tokens per string, an even number.")] = 32
    types: Annotated[int, arg(help="Types of brackets.")] = 2
    depth: Annotated[int, arg(help="The largest depth.")] = 4

    def make(self, key: Any) -> Any:
        from minicosm.worlds import CompleteDyck, Dyck

        return CompleteDyck(Dyck(self.types, self.depth), [self.length])


@dataclass(kw_only=True)
class SampleAutomaton(Corpus):
    """Sample what an automaton reads, and the states it goes through, into a file: `tokens`, `states`.

    The file's metadata has the table `delta[symbol][state]` and the start state.
    """

    kind = "automaton"

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

    def told(self, world: Any) -> dict[str, Any]:
        return world.parameters()


@dataclass(kw_only=True)
class SampleFlipFlop(Corpus):
    """Sample the flip-flop language into a file: `tokens`, `memory` and `reads`.

    Tokens 0, 1, 2 are w, r, i, then come the n symbols. For each pair, `memory` is the token that a read
    there has to say, and `reads` whether it is one: the exact targets of the clean mode. With several
    densities each string is from one of them, which `component` tells. Pair tokens are n x + s for
    instruction x and symbol s; `memory` is then the number of the symbol.
    """

    kind = "flip-flop"

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

    def told(self, world: Any) -> dict[str, Any]:
        return world.parameters()
