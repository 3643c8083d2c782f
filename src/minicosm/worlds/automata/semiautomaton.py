"""Semiautomata: a table of transitions that reads a sequence of symbols."""

from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    Scalar,
    check_count,
    check_flag,
    check_key,
    check_length,
    check_size,
    check_tokens,
    check_whole_numbers,
    check_worlds,
    is_concrete,
    is_empty,
    short,
)
from ..memories import check_place, check_step
from ..padding import cut, known, pad, padded_length
from ..text import plain_tokens
from . import floors, paths
from .laws import check_law, check_table


class AutomatonSample(NamedTuple):
    """The symbols that were read and the state after each of them."""

    tokens: Int[Array, " T"]
    states: Int[Array, " T"]


class AutomatonMemory(NamedTuple):
    """About every prefix; row n is after n symbols."""

    states: Int[Array, " rows"]  # -1 once the prefix is impossible
    weights: Float[Array, "rows modes"]  # log P[mode, symbols 1..n]


class Semiautomaton(eqx.Module):
    """`q_t = delta[s_t, q_{t-1}]` from `q_0 = start`: states Q, symbols Sigma, no set of accepted states.

    The law of the symbols is `P(s_t = s | q_{t-1} = q, mode) = symbol_law[mode, s, q]`, with a mode that
    is drawn once a sequence by `weights`; independent and uniform unless a law is given. What is labelled
    is `observation[q_t]`, the state itself unless `observe` says otherwise.

    Methods take one sequence; use `jax.vmap` for batches. `stack` makes one world of many of one size
    (`padded` gives them one), whose tables are then data of a compiled program.
    """

    delta: Int[AnyArray, "*stack vocab states"]
    start: Int[AnyArray, "*stack"]
    symbol_law: Float[AnyArray, "*stack modes vocab states"]
    weights: Float[AnyArray, "*stack modes"]
    observation: Int[AnyArray, "*stack states"]
    outputs: int = eqx.field(static=True)
    name: str = eqx.field(static=True)
    symbols: tuple[str, ...] = eqx.field(static=True)
    state_names: tuple[str, ...] = eqx.field(static=True)

    def __init__(
        self,
        delta: Any,
        start: Any = 0,
        law: Any = None,
        weights: Any = None,
        *,
        name: str = "",
        symbols: tuple[str, ...] = (),
        state_names: tuple[str, ...] = (),
    ):
        """`delta[s, q]` is the state after symbol s in state q. `law` has shape (vocab,) for independent
        symbols, (vocab, states) if it depends on the state, (modes, vocab, states) with `weights` of
        modes; each law sums to one. Names are for texts and pictures."""
        self.delta = check_table("delta", delta)
        vocab, states = self.delta.shape
        start = check_whole_numbers("start", start, 0, states - 1, ())
        self.start = np.asarray(start, np.int32) if is_concrete(start) else start
        self.symbol_law, self.weights = check_law(law, weights, vocab, states)
        self.observation = np.arange(states, dtype=np.int32)
        self.outputs = states
        self.name = _text("name", name)
        self.symbols = _texts("symbols", symbols, vocab)
        self.state_names = _texts("state_names", state_names, states)

    @classmethod
    def random(cls, key: PRNGKeyArray, *, states: int, vocab: int) -> Self:
        """Every transition uniform and independent, start 0."""
        check_key(key)
        check_length(states, 2**16, "states")
        check_length(vocab, 2**16, "vocab")
        check_size(f"a table of {vocab} symbols and {states} states", vocab * states)
        return cls(np.asarray(jax.random.randint(key, (vocab, states), 0, states)))

    @classmethod
    def stack(cls, worlds: list[Self]) -> Self:
        """Automata of one size as one world with a leading axis, to be used under `jax.vmap`; their
        names are left out."""
        check_worlds(worlds, cls)
        outputs = max(world.outputs for world in worlds)
        plain = [
            world._replaced(outputs=outputs, name="", symbols=(), state_names=())
            for world in worlds
        ]
        return jax.tree.map(lambda *leaves: np.stack(leaves), *plain)

    @property
    def states(self) -> int:
        return self.delta.shape[-1]

    @property
    def vocab(self) -> int:
        return self.delta.shape[-2]

    def parameters(self) -> dict[str, np.ndarray]:
        """The arrays that define the transitions."""
        return {"delta": np.asarray(self.delta), "start": np.asarray(self.start)}

    def _replaced(self, **fields: Any) -> Self:
        """A copy with other fields; nothing is checked."""
        copy = object.__new__(type(self))
        for name in type(self).__dataclass_fields__:
            object.__setattr__(copy, name, fields.get(name, getattr(self, name)))
        return copy

    # -- other views of the same table ----------------------------------------------------------

    def with_law(self, law: Any, weights: Any = None) -> Self:
        """The same automaton with symbols of another law; None: independent and uniform."""
        law, weights = check_law(law, weights, self.vocab, self.states)
        return self._replaced(symbol_law=law, weights=weights)

    def observe(self, phi: Any) -> Self:
        """The same automaton of which only `phi[q_t]` is labelled: whole numbers from 0, one a state."""
        phi = check_whole_numbers("phi", phi, 0, 2**31 - 1, (self.states,))
        if not is_concrete(phi):
            raise ValueError("phi is under a trace; the number of labels must be known")
        phi = np.asarray(phi, np.int32)
        return self._replaced(observation=phi, outputs=int(phi.max()) + 1)

    def padded(self, vocab: int, states: int, modes: int = 1) -> Self:
        """The same automaton with a larger table: further symbols are never drawn and change nothing,
        further states are never reached, further modes have weight zero."""
        sizes = {"vocab": vocab, "states": states, "modes": modes}
        for name, least in zip(sizes, (self.vocab, self.states, len(self.weights)), strict=True):
            check_count(name, sizes[name], least)
        check_size(
            f"a table of vocab = {vocab}, states = {states} and modes = {modes}",
            modes * vocab * states,
        )
        more = states - self.states
        delta = np.tile(np.arange(states, dtype=np.int32), (vocab, 1))
        delta[: self.vocab, : self.states] = self.delta
        law = np.zeros((modes, vocab, states))
        law[:, 0] = 1
        law[: len(self.weights), : self.vocab, : self.states] = self.symbol_law
        weights = np.pad(self.weights, (0, modes - len(self.weights)))
        observation = np.pad(self.observation, (0, more))
        plain = {"name": self.name, "symbols": (), "state_names": ()}
        return self._replaced(
            delta=delta, symbol_law=law, weights=weights, observation=observation, **plain
        )

    # -- runs -----------------------------------------------------------------------------------

    def run(self, inputs: Int[AnyArray, " T"]) -> Int[Array, " T"]:
        """`q_1, ..., q_T`. Symbol by symbol, as a compiled scan: over a batch this is faster on a CPU than
        composing maps, which `maps` does. Under a trace an unknown symbol leaves the state."""
        inputs, _ = check_tokens(inputs, None, self.vocab)
        if known(self, inputs):
            return cut(paths.run(self.delta, self.start, pad(inputs, 0)), len(inputs))
        return paths.run(self.delta, self.start, inputs)

    def maps(self, inputs: Int[AnyArray, " T"]) -> Int[Array, "T states"]:
        """`[t, q] = delta(q, s_{1:t})`, the composition of the first t transitions, by a parallel scan of
        logarithmic depth; `run` is its column `start`."""
        inputs, _ = check_tokens(inputs, None, self.vocab)
        check_size("the maps of a sequence", 2 * len(inputs) * self.states)
        if known(self, inputs):
            return cut(paths.maps(self.delta, pad(inputs, 0)), len(inputs))
        return paths.maps(self.delta, inputs)

    def labels(self, inputs: Int[AnyArray, " T"]) -> Int[Array, " T"]:
        """`observation[q_t]` for t = 1..T."""
        return jnp.asarray(self.observation)[self.run(inputs)]

    def sample(self, key: PRNGKeyArray, length: int) -> AutomatonSample:
        """Draw `length` symbols by the law, and the states after them."""
        check_length(length)
        tables = self.delta, self.start, self.symbol_law, self.weights
        if not known(self, check_key(key)):
            return AutomatonSample(*paths.draw(key, length, *tables))
        drawn = paths.draw(key, padded_length(length), *tables)
        return AutomatonSample(*cut(drawn, length))

    # -- exact questions about one sequence -----------------------------------------------------

    def log_prob(self, tokens: Int[AnyArray, " T"]) -> Float[Array, ""]:
        """`log P[s_{1:T} = tokens]`; -inf if they are impossible."""
        tokens, _ = check_tokens(tokens, None, self.vocab)
        tables = self.delta, self.start, self.symbol_law, self.weights
        if known(self, tokens):
            return paths.log_prob(*tables, pad(tokens, 0), np.int32(len(tokens)))
        return paths.log_prob(*tables, tokens, tokens.shape[0])

    def next_logits(
        self, tokens: Int[AnyArray, " T"], *, start: bool = False
    ) -> Float[Array, "rows vocab"]:
        """`log P[s_{i+1} | s_{1:i}]` for i = 1..T, and for i = 0 first with `start`. Rows after an
        impossible prefix are -inf."""
        tokens, _ = check_tokens(tokens, None, self.vocab)
        first = 0 if check_flag("start", start) else 1
        tables = self.delta, self.start, self.symbol_law, self.weights
        if known(self, tokens):
            rows = paths.next_logits(*tables, pad(tokens, 0))
            return cut(rows[first:], len(tokens) + 1 - first)
        return paths.next_logits(*tables, tokens)[first:]

    def next_states(self, tokens: Int[AnyArray, " T"]) -> Float[Array, "T states"]:
        """`P[q_{i+1} | s_{1:i}]` for i = 1..T; zero after an impossible prefix."""
        rows = jnp.exp(self.next_logits(tokens))
        moves = jnp.asarray(self.delta)[:, self.run(tokens)].T  # [i, s]: where s leads
        empty = jnp.zeros((rows.shape[0], self.states), rows.dtype)
        return empty.at[jnp.arange(rows.shape[0])[:, None], moves].add(rows)

    def next_token(self, prefix: Int[AnyArray, " T"]) -> Float[Array, " vocab"]:
        """`P[s_{T+1} | s_{1:T} = prefix]`; the prefix may be empty, an impossible one gives zeros."""
        if is_empty("prefix", prefix):
            return jnp.exp(self.next_logits(np.zeros(1, np.int32), start=True)[0])
        return jnp.exp(self.next_logits(prefix)[-1])

    # -- as a generator (`minicosm.models.Generator`) --------------------------------------------

    def begin(self, room: int) -> AutomatonMemory:
        """The memory of the empty string, with room for `room` symbols: the state after every prefix, and
        how likely each mode is."""
        rows, modes = check_count("room", room, least=0) + 1, self.weights.shape[-1]
        check_size(f"a memory of {room} symbols", rows * modes)
        prior = paths.safe_log(jnp.asarray(self.weights))
        states = jnp.full(rows, -1, jnp.int32).at[0].set(self.start)
        return AutomatonMemory(
            states, jnp.full((rows, modes), -jnp.inf, prior.dtype).at[0].set(prior)
        )

    def read(self, memory: AutomatonMemory, n: Scalar, token: Scalar) -> AutomatonMemory:
        """The memory once the symbol `token` stands after the first n."""
        n, token = check_step(self.begin, memory, n, token, self.vocab)
        tables = self.delta, self.symbol_law
        state, weights = paths.step(
            *tables, memory.states[n], memory.weights[n], jnp.asarray(token)
        )
        return AutomatonMemory(
            memory.states.at[n + 1].set(state),
            memory.weights.at[n + 1].set(weights.astype(memory.weights.dtype)),
        )

    def law(self, memory: AutomatonMemory, n: Scalar) -> Float[Array, " vocab"]:
        """`log P[s_{n+1} | s_{1:n}]`; -inf for what is impossible, everywhere after an impossible
        prefix."""
        n = check_place(self.begin, memory, n)
        return paths.mixed(self.symbol_law, memory.states[n], memory.weights[n])

    def text(self, tokens: Any) -> str:
        """The symbols by name, or as numbers, with spaces between names of several letters. Padding after
        the end (the id `vocab`, or -1 as a sampler returns it) is left out."""
        names = self.symbols or tuple(map(str, range(self.vocab)))
        between = "" if self.symbols and all(len(name) == 1 for name in names) else " "
        return between.join(names[token] for token in plain_tokens(tokens, self.vocab))

    # -- exact questions about the law, in double precision ----------------------------------------

    def marginals(self, length: int) -> Float[np.ndarray, "rows states"]:
        """`[t, q] = P(q_t = q)` for t = 0..length."""
        return np.einsum("k,tkq->tq", np.asarray(self.weights, float), self._chains(length))

    def position_accuracy(self, length: int) -> float:
        """The best accuracy of a guess of the label that knows the position alone, over t = 1..length:
        `mean_t max_y P(observation[q_t] = y)`."""
        return floors.position_accuracy(self._joint(length), self.observation)

    def window_accuracy(self, w: int, length: int) -> float:
        """The best accuracy of a guess that knows the position and the last w symbols (all, while there
        are no more): `mean_t sum_u max_y P(s_{t-w+1:t} = u, observation[q_t] = y)`. Words that act alike
        are one."""
        check_count("w", w, least=0)
        return floors.window_accuracy(
            self._joint(length), self.delta, self.symbol_law, self.observation, w
        )

    def _chains(self, length: int) -> Float[np.ndarray, "rows modes states"]:
        """`[t, k, q] = P(q_t = q | mode k)`."""
        check_length(length)
        modes = len(self.weights)
        check_size(f"laws of length = {length}", (length + 1) * modes * self.states)
        return floors.chains(self.delta, self.start, self.symbol_law, length)

    def _joint(self, length: int) -> Float[np.ndarray, "rows modes states"]:
        return np.asarray(self.weights, float)[:, None] * self._chains(length)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {short(value)}; it must be a text")
    return value


def _texts(name: str, values: Any, count: int) -> tuple[str, ...]:
    if not isinstance(values, tuple | list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{name} is {short(values)}; it must be a tuple of texts")
    if len(values) not in (0, count):
        raise ValueError(f"there are {len(values)} {name}; there must be {count}, or none")
    return tuple(values)
