"""Worlds for guided generation: a base law and a tilt of strings, both read off a finite automaton."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    check_count,
    check_flag,
    check_key,
    check_size,
    check_tokens,
    check_whole_numbers,
    numeric,
    parameter,
)
from ..memories import check_place, check_step
from ..text import numbers_text

TREE_LIMIT = 2**22  # leaves of the largest tree that is written out


class GuidedSample(NamedTuple):
    """One string of the base law."""

    tokens: Int[Array, " H"]


class GuidedWorld(eqx.Module):
    """Strings of H tokens from K, drawn from a base law and wanted in proportion to a tilt.

    An automaton reads the string. It starts in state 0; after h tokens in state s the token a has
    probability `base[h, s, a]` and leads to state `step[h, s, a]`; a string that ends in state s has
    the tilt `tau = exp(log_tilt[s])`. With `pi_ref` the base law,

    `V*(u) = E[tau(y) | y begins with u]`, `Z = V*(empty)`, `pi*(y) = pi_ref(y) tau(y) / Z`.

    A constraint set A is the tilt `1[y in A]`. Tables of values are NumPy arrays `[h, s]`, h = 0..H, of
    logarithms, in double precision. Any tree is a world whose states are its prefixes: `unfolded`.

    It is a generator (`begin`, `read`, `law`), whose memory is the state after every prefix.
    """

    step: Int[AnyArray, "H S K"]
    base: Float[AnyArray, "H S K"]
    log_tilt: Float[AnyArray, " F"]

    def __init__(self, step: Any, base: Any, log_tilt: Any):
        """Every row of `base` sums to one, also those of states that cannot be reached."""
        self.base = parameter("base", base, (None, None, None))
        horizon, states, _ = self.base.shape
        self.step = _whole("step", step)
        if self.step.shape != self.base.shape:
            raise ValueError(
                f"step has shape {self.step.shape}; it must have that of base, {self.base.shape}"
            )
        log_tilt = np.asarray(numeric("log_tilt", log_tilt), np.float64)
        if log_tilt.ndim != 1 or not len(log_tilt):
            raise ValueError(f"log_tilt has shape {log_tilt.shape}; it must have shape (any,)")
        if (np.isnan(log_tilt) | (log_tilt == np.inf)).any():
            at = int(np.argmax(np.isnan(log_tilt) | (log_tilt == np.inf)))
            raise ValueError(f"log_tilt[{at}] is {log_tilt[at]}; it must be finite or -inf")
        self.log_tilt = log_tilt
        sizes = [states] * (horizon - 1) + [len(log_tilt)]
        for h, size in enumerate(sizes):
            if self.step[h].min() < 0 or self.step[h].max() >= size:
                worst = self.step[h].max() if self.step[h].min() >= 0 else self.step[h].min()
                raise ValueError(f"step[{h}] leads to state {worst}; states are 0..{size - 1}")
        off = np.abs(self.base.sum(axis=-1) - 1) > 1e-8
        if off.any():
            h, s = (int(i) for i in np.argwhere(off)[0])
            raise ValueError(
                f"base[{h}, {s}] sums to {self.base[h, s].sum():.6g}; it must sum to 1"
            )

    @property
    def horizon(self) -> int:
        return self.step.shape[0]

    @property
    def vocab(self) -> int:
        return self.step.shape[2]

    @property
    def states(self) -> int:
        """How many columns tables have."""
        return max(self.step.shape[1], self.log_tilt.shape[0])

    # -- as a generator ------------------------------------------------------------------------

    def begin(self, room: int) -> Int[Array, " rows"]:
        """The states after 0, 1, ..., `room` tokens."""
        check_size(f"a memory of {room} tokens", check_count("room", room, least=0))
        return jnp.zeros(room + 1, jnp.int32)

    def read(
        self, memory: Int[Array, " rows"], n: Int[Array, ""], token: Int[Array, ""]
    ) -> Int[Array, " rows"]:
        """The memory once `token` stands after the first n tokens."""
        known = {"low": 0, "high": self.states - 1}
        n, token = check_step(self.begin, memory, n, token, self.vocab, **known)
        return _read(self.step, memory, n, token)

    def law(self, memory: Int[Array, " rows"], n: Int[Array, ""]) -> Float[Array, " K"]:
        """`log pi_ref` of the token after the first n; for n >= H that of the last one again."""
        n = check_place(self.begin, memory, n, low=0, high=self.states - 1)
        rows = jnp.asarray(self.base)[jnp.minimum(n, self.horizon - 1), memory[n]]
        return jnp.where(rows > 0, jnp.log(jnp.where(rows > 0, rows, 1)), -jnp.inf)

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> GuidedSample:
        """One string of the base law; its length is the horizon."""
        check_key(key)
        if length is not None and check_count("length", length) != self.horizon:
            raise ValueError(
                f"length is {length}; strings of this world have {self.horizon} tokens, its horizon"
            )

        def draw(state: Int[Array, ""], now: Any) -> tuple[Int[Array, ""], Int[Array, ""]]:
            step, base, key = now
            token = jax.random.categorical(key, jnp.log(base[state]))
            return step[state, token], token.astype(jnp.int32)

        inputs = (
            jnp.asarray(self.step),
            jnp.asarray(self.base),
            jax.random.split(key, self.horizon),
        )
        return GuidedSample(jax.lax.scan(draw, jnp.zeros((), jnp.int32), inputs)[1])

    def log_prob(self, tokens: Int[AnyArray, " T"]) -> Float[Array, ""]:
        """`log P(y begins with tokens)` under the base law; -inf if that is impossible."""
        tokens, _ = check_tokens(tokens, None, self.vocab)
        if len(tokens) > self.horizon:
            raise ValueError(f"there are {len(tokens)} tokens; strings have {self.horizon}")

        def read(state: Int[Array, ""], now: Any) -> tuple[Int[Array, ""], Float[Array, ""]]:
            step, base, token = now
            inside = (token >= 0) & (token < self.vocab)
            chance = jnp.where(inside, base[state, token], 0)
            return step[state, token], jnp.log(chance)

        count = len(tokens)
        inputs = jnp.asarray(self.step)[:count], jnp.asarray(self.base)[:count], jnp.asarray(tokens)
        return jnp.sum(jax.lax.scan(read, jnp.zeros((), jnp.int32), inputs)[1])

    def text(self, tokens: Any) -> str:
        """The tokens as numbers with spaces between them; see `Dyck.text` for padding."""
        return numbers_text(tokens, self.vocab)

    # -- exact answers -------------------------------------------------------------------------

    def state_paths(self, strings: Int[np.ndarray, "n T"]) -> Int[np.ndarray, "n states"]:
        """The states after 0, ..., T tokens of each string."""
        strings = np.asarray(
            check_whole_numbers("strings", strings, 0, self.vocab - 1, (None, None))
        )
        if strings.shape[1] > self.horizon:
            raise ValueError(f"strings have {strings.shape[1]} tokens; at most {self.horizon} fit")
        paths = np.zeros((len(strings), strings.shape[1] + 1), np.int64)
        for h in range(strings.shape[1]):
            paths[:, h + 1] = self.step[h, paths[:, h], strings[:, h]]
        return paths

    def log_values(self) -> Float[np.ndarray, "levels S"]:
        """`log V*[h, s]` by `V*[h, s] = sum_a base[h, s, a] V*[h+1, step[h, s, a]]`."""
        table = self.blank()
        table[-1, : len(self.log_tilt)] = self.log_tilt
        for h in range(self.horizon - 1, -1, -1):
            with np.errstate(divide="ignore"):
                terms = np.log(self.base[h]) + table[h + 1][self.step[h]]
            table[h, : len(terms)] = log_sum(terms)
        return table

    def log_partition(self) -> float:
        """`log Z`; -inf if no string of positive probability has a positive tilt."""
        return float(self.log_values()[0, 0])

    def feasible(self, *, oracle: bool = True) -> Bool[np.ndarray, "levels S"]:
        """Whether some completion has a positive tilt, and with `oracle` positive probability."""
        check_flag("oracle", oracle)
        table = np.isfinite(self.blank())
        table[-1, : len(self.log_tilt)] = self.log_tilt > -np.inf
        for h in range(self.horizon - 1, -1, -1):
            reached = table[h + 1][self.step[h]]
            table[h, : len(reached)] = (reached & (self.base[h] > 0 if oracle else True)).any(
                axis=-1
            )
        return table

    def blank(self) -> Float[np.ndarray, "levels S"]:
        """A table of -inf."""
        return np.full((self.horizon + 1, self.states), -np.inf)

    def reach(self) -> Float[np.ndarray, "levels S"]:
        """Probability under the base law of being in state s after h tokens."""
        table = np.zeros((self.horizon + 1, self.states))
        table[0, 0] = 1
        for h in range(self.horizon):
            flow = table[h, : self.base.shape[1], None] * self.base[h]
            np.add.at(table[h + 1], self.step[h], flow)
        return table

    def tilted(self) -> "GuidedWorld":
        """The world whose base law is `pi*`, with tilt one:
        `base*[h, s, a] = base[h, s, a] V*[h+1, step[h, s, a]] / V*[h, s]`."""
        if self.log_partition() == -np.inf:
            raise ValueError(
                "no string of positive probability has a positive tilt; pi* is undefined"
            )
        table, base = self.log_values(), np.array(self.base)
        for h in range(self.horizon):
            ahead, here = table[h + 1][self.step[h]], table[h, : len(base[h]), None]
            good = here > -np.inf
            ratio = np.exp(np.where(good, ahead, 0) - np.where(good, here, 0))
            base[h] = np.where(good, base[h] * ratio, base[h])
        base /= base.sum(axis=-1, keepdims=True)  # off by rounding only
        return GuidedWorld(self.step, base, np.zeros_like(self.log_tilt))

    def prefix_states(self) -> list[Int[np.ndarray, " _"]]:
        """For every h, the states after all K^h prefixes in the order of the alphabet."""
        check_tree(self.vocab, self.horizon)
        levels = [np.zeros(1, np.int64)]
        for h in range(self.horizon):
            levels.append(np.asarray(self.step[h])[levels[-1]].reshape(-1).astype(np.int64))
        return levels

    def unfolded(self) -> "GuidedWorld":
        """The same world with one state per prefix: after h tokens, its number in base K."""
        levels = self.prefix_states()
        return tree_world(
            [np.asarray(self.base[h])[at] for h, at in enumerate(levels[:-1])],
            np.asarray(self.log_tilt)[levels[-1]],
        )

    # -- verifiers -----------------------------------------------------------------------------

    def verifier(self, log_table: Float[np.ndarray, "levels S"]) -> "TableVerifier":
        """Scores a prefix by `exp(log_table[h, s])`."""
        return TableVerifier(self.step, log_table)

    def value_verifier(self) -> "TableVerifier":
        """Scores a prefix by `V*`."""
        return self.verifier(self.log_values())

    def feasibility_verifier(self, *, oracle: bool = True) -> "TableVerifier":
        """`V_{A,O}`: one iff some completion lies in A and has positive probability. Without `oracle`
        `V_A`: one iff some completion lies in A, whatever the base law says."""
        table = log_truth(self.feasible(oracle=oracle))
        if not oracle:
            return self.verifier(table)
        # A prefix of probability zero can share its state with others: it goes to a state of its own.
        dead = self.states
        step = np.where(self.base > 0, self.step, dead)
        step = np.concatenate(
            [step, np.full((self.horizon, dead + 1 - step.shape[1], self.vocab), dead)], 1
        )
        return TableVerifier(step, np.pad(table, ((0, 0), (0, 1)), constant_values=-np.inf))


class TableVerifier(eqx.Module):
    """A verifier that runs the world's automaton and looks its score up in a table `[h, s]` of logs."""

    step: Int[AnyArray, "H S K"]
    log_table: Float[AnyArray, "levels columns"]

    def __init__(self, step: Any, log_table: Any):
        self.step = _whole("step", step, least=0)
        if self.step.ndim != 3 or not self.step.size:
            raise ValueError(f"step has shape {self.step.shape}; it must have shape (H, S, K)")
        table = np.asarray(numeric("log_table", log_table), np.float64)
        levels = len(self.step) + 1
        if table.ndim != 2 or len(table) != levels or table.shape[1] <= self.step.max():
            raise ValueError(
                f"log_table has shape {table.shape}; it must have {levels} rows, "
                f"h = 0..{levels - 1}, and {int(self.step.max()) + 1} columns"
            )
        if (np.isnan(table) | (table == np.inf)).any():
            h, s = (int(i) for i in np.argwhere(np.isnan(table) | (table == np.inf))[0])
            raise ValueError(f"log_table[{h}, {s}] is {table[h, s]}; it must be finite or -inf")
        self.log_table = table

    def begin(self, room: int, source: Any = None) -> Int[Array, " rows"]:
        """The states after 0, 1, ..., `room` tokens."""
        check_size(f"a memory of {room} tokens", check_count("room", room, least=0))
        return jnp.zeros(room + 1, jnp.int32)

    def read(
        self,
        memory: Int[Array, " rows"],
        n: Int[Array, ""],
        token: Int[Array, ""],
        source: Any = None,
    ) -> Int[Array, " rows"]:
        """The memory once `token` stands after the first n tokens."""
        known = {"low": 0, "high": self.log_table.shape[1] - 1}
        n, token = check_step(self.begin, memory, n, token, self.step.shape[2], **known)
        return _read(self.step, memory, n, token)

    def score(self, memory: Int[Array, " rows"], n: Int[Array, ""]) -> Float[Array, ""]:
        """The table's entry at the state after the first n tokens."""
        n = check_place(self.begin, memory, n, low=0, high=self.log_table.shape[1] - 1)
        table = jnp.asarray(self.log_table)
        return jnp.exp(table[jnp.minimum(n, len(self.step)), memory[n]])


def _whole(name: str, step: Any, least: int = -(2**31)) -> Int[np.ndarray, "..."]:
    """States as whole numbers."""
    return np.asarray(check_whole_numbers(name, step, least, 2**31 - 1), np.int32)


def _read(
    step: Int[AnyArray, "H S K"],
    memory: Int[Array, " rows"],
    n: Int[Array, ""],
    token: Int[Array, ""],
) -> Int[Array, " rows"]:
    """Put the next state after the first n tokens; after H tokens the state stays."""
    memory = jnp.asarray(memory)
    state = jnp.asarray(step)[jnp.minimum(n, len(step) - 1), memory[n], token]
    return memory.at[n + 1].set(jnp.where(n < len(step), state, memory[n]))


def tree_world(
    base: Sequence[Float[np.ndarray, "_ K"]], log_tilt: Float[np.ndarray, " leaves"]
) -> GuidedWorld:
    """A world from the laws after all prefixes: `base[h]` has K^h rows, `log_tilt` K^H entries."""
    if not isinstance(base, list | tuple | np.ndarray) or not len(base):
        raise ValueError("base must be a list of the laws after all prefixes of each length")
    base = [np.asarray(numeric(f"base[{h}]", rows)) for h, rows in enumerate(base)]
    if base[0].ndim != 2 or not base[0].size:
        raise ValueError(f"base[0] has shape {base[0].shape}; it must have shape (1, K)")
    log_tilt = np.asarray(numeric("log_tilt", log_tilt), np.float64)
    if log_tilt.ndim != 1:
        raise ValueError(f"log_tilt has shape {log_tilt.shape}; it must have one entry per leaf")
    horizon, vocab = len(base), np.shape(base[0])[-1]
    check_tree(vocab, horizon)
    states = vocab ** (horizon - 1)
    step = np.zeros((horizon, states, vocab), np.int32)
    laws = np.full((horizon, states, vocab), 1 / vocab)
    for h, rows in enumerate(base):
        if np.shape(rows) != (vocab**h, vocab):
            raise ValueError(
                f"base[{h}] has shape {np.shape(rows)}; it must be {(vocab**h, vocab)}"
            )
        step[h, : vocab**h] = np.arange(vocab ** (h + 1)).reshape(-1, vocab)
        laws[h, : vocab**h] = rows
    if len(log_tilt) != vocab**horizon:
        raise ValueError(f"log_tilt has {len(log_tilt)} entries; it must have {vocab**horizon}")
    return GuidedWorld(step, laws, log_tilt)


def check_tree(vocab: int, horizon: int) -> None:
    """Raise, before they are counted, if a tree has too many leaves to be written out."""
    if float(horizon) * np.log2(float(vocab)) > np.log2(TREE_LIMIT) + 1e-9 or horizon > TREE_LIMIT:
        raise ValueError(
            f"a tree of vocab = {vocab} and horizon = {horizon} has {vocab}^{horizon} leaves; "
            f"at most {TREE_LIMIT} are written out"
        )


def log_sum(terms: Float[np.ndarray, "n K"]) -> Float[np.ndarray, " n"]:
    """`log sum_a exp(terms[:, a])`, -inf where all are."""
    top = terms.max(axis=-1)
    safe = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        return safe + np.log(np.exp(terms - safe[:, None]).sum(axis=-1))


def log_truth(table: Bool[np.ndarray, "levels S"]) -> Float[np.ndarray, "levels S"]:
    """A table of truth values as logarithms of one and zero."""
    return np.where(table, 0.0, -np.inf)
