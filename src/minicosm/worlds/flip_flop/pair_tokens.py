"""The flip-flop language with one token for an instruction and its symbol."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import AnyArray, check_flag, check_kind, check_length, check_tokens, is_concrete
from ..text import plain_tokens
from .language import READ, SYMBOL, FlipFlop, LabelledString


class PairedSample(NamedTuple):
    """A string of pair tokens, and at each of them the number of the symbol that is remembered."""

    tokens: Int[Array, " pairs"]
    memory: Int[Array, " pairs"]
    reads: Bool[Array, " pairs"]


class PairedFlipFlop(eqx.Module):
    """A `FlipFlop` whose strings have a token `n x + s` for the instruction x and the symbol s of a pair:
    3n tokens and half of the length. No instruction has to be put together with the token after it.

    A read shows what is remembered, so the task is that of the automaton: to say after every pair what is.
    """

    world: FlipFlop

    def __init__(self, world: FlipFlop):
        self.world = check_kind("world", world, FlipFlop, "a FlipFlop")

    @property
    def vocab(self) -> int:
        return 3 * self.world.symbols

    @property
    def length(self) -> int:
        """Pairs of a string."""
        return self.world.pairs

    def parameters(self) -> dict[str, np.ndarray]:
        """The array that defines the law."""
        return self.world.parameters()

    def paired(self, tokens: Int[AnyArray, " T"]) -> Int[Array, " pairs"]:
        """Instructions and symbols, in turn, as pair tokens."""
        tokens, _ = check_tokens(tokens, None, self.world.vocab)
        if tokens.shape[0] % 2:
            raise ValueError(f"there are {tokens.shape[0]} tokens; pairs need an even number")
        if is_concrete(tokens):
            off = (np.asarray(tokens) >= SYMBOL) != (np.arange(len(tokens)) % 2 == 1)
            if off.any():
                raise ValueError(
                    f"token {int(np.argmax(off))} is {int(tokens[np.argmax(off)])}; instructions (0, 1, 2) "
                    "and symbols (3, 4, ...) must take turns"
                )
        tokens = jnp.asarray(tokens)
        return tokens[::2] * self.world.symbols + tokens[1::2] - SYMBOL

    def unpaired(self, pairs: Int[AnyArray, " pairs"]) -> Int[Array, " T"]:
        """Pair tokens as instructions and symbols; what is outside the vocabulary stays outside."""
        pairs, _ = check_tokens(pairs, None, self.vocab)
        pairs = jnp.asarray(pairs)
        inside = (pairs >= 0) & (pairs < self.vocab)
        both = jnp.stack(jnp.divmod(pairs, self.world.symbols), axis=1) + np.array([0, SYMBOL])
        return jnp.where(inside[:, None], both, -1).reshape(-1)

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> PairedSample:
        """Draw a string; `length` counts pairs."""
        if length is not None and check_length(length) != self.length:
            raise ValueError(f"length is {length}; this world has strings of {self.length} pairs")
        tokens, memory, reads = self.world.sample(key)
        return PairedSample(self.paired(tokens), memory - SYMBOL, reads)

    def labelled(self, key: PRNGKeyArray, length: int | None = None) -> LabelledString:
        """A string and, at every pair, what is remembered."""
        tokens, memory, _ = self.sample(key, length)
        return LabelledString(tokens, memory, jnp.ones(tokens.shape, bool))

    def is_valid(self, tokens: Int[AnyArray, " pairs"]) -> Bool[Array, ""]:
        """Whether the string begins with a write and every read says what is remembered."""
        return self.world.is_valid(self._flat(tokens))

    def log_prob(self, tokens: Int[AnyArray, " pairs"]) -> Float[Array, ""]:
        """That of the string of instructions and symbols."""
        return self.world.log_prob(self._flat(tokens))

    def next_logits(
        self, tokens: Int[AnyArray, " pairs"], *, start: bool = False
    ) -> Float[Array, "rows vocab"]:
        """`log P[next pair | pairs so far]` after each pair, and before the first with `start`; -inf after an
        impossible string and after the last pair."""
        flat = self._flat(tokens)
        if flat.shape[0] > self.world.length:
            raise ValueError(
                f"there are {flat.shape[0] // 2} pairs; this world has strings of {self.length}"
            )
        instructions = self.world.next_logits(flat, start=True)[::2, :SYMBOL]
        held = jnp.append(0, self.world._held(flat) - SYMBOL)
        n = self.world.symbols
        uniform = jnp.full((held.shape[0], n), -np.log(n), instructions.dtype)
        said = jnp.where(jnp.arange(n) == held[:, None], 0, -jnp.inf)
        symbols = jnp.stack([said if x == READ else uniform for x in range(SYMBOL)], axis=1)
        rows = (instructions[:, :, None] + symbols).reshape(-1, self.vocab)
        return rows if check_flag("start", start) else rows[1:]

    def text(self, tokens: Any) -> str:
        """`w0 i1 r0`; padding is left out."""
        n = self.world.symbols
        return " ".join(f"{'wri'[t // n]}{t % n}" for t in plain_tokens(tokens, self.vocab))

    def _flat(self, tokens: Any) -> Int[Array, " T"]:
        checked, _ = check_tokens(tokens, None, self.vocab)
        return self.unpaired(checked)
