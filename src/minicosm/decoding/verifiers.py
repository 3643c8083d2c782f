"""Verifiers: what scores unfinished strings.

Every memory here holds one entry for each prefix: entry n is about the first n tokens.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from minicosm.models import CachedMemory, Verifier
from minicosm.models.checks import check_callable
from minicosm.worlds.arrays import (
    AnyArray,
    check_count,
    check_flag,
    check_key,
    check_kind,
    check_number,
    check_reals,
    check_size,
    is_concrete,
)
from minicosm.worlds.memories import check_place, check_step

from .host_calls import call_host
from .hugging_face import HuggingFaceMemory
from .rows import check_verifier, score_when

HiddenStates = CachedMemory | HuggingFaceMemory


class ProbeVerifier(eqx.Module):
    """A probe on the hidden state of the string's last token in a `CachedTransformer`, or in a
    `HuggingFaceGenerator` that keeps a layer.

    The probe is `x W_1 + b_1`, ReLU, `x W_2 + b_2`, ... with `weights[i]` of shape (in, out); the
    last has one output, whose sigmoid is the score, or two, of whose softmax class 1 ("correct") is.
    `place` says which of the generator's `keep` it looks at (its index there); None is what the
    output matrix reads, that is the last layer, normalised.
    """

    weights: tuple[Float[AnyArray, "_ _"], ...]
    biases: tuple[Float[AnyArray, " _"], ...]
    place: int | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        for name in ("weights", "biases"):
            check_kind(name, getattr(self, name), tuple, "a tuple of arrays")
        if len(self.weights) != len(self.biases) or not self.weights:
            raise ValueError(
                f"the probe has {len(self.weights)} matrices and {len(self.biases)} biases; "
                "it must have as many of both, and at least one"
            )
        into = None
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            into = check_reals(f"weights[{i}]", weight, (into, None)).shape[1]
            check_reals(f"biases[{i}]", bias, (into,))
        if into not in (1, 2):
            raise ValueError(f"the last of the weights has {into} outputs; it must have one or two")
        if self.place is not None:
            check_count("place", self.place, least=0)

    def probability(self, hidden: Float[Array, " E"]) -> Float[Array, ""]:
        """The score of a hidden state."""
        x = jnp.asarray(check_reals("hidden", hidden, (self.weights[0].shape[0],)))
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = (jax.nn.relu(x) if i else x) @ jnp.asarray(weight) + jnp.asarray(bias)
        return jax.nn.sigmoid(x[0] if x.shape[0] == 1 else x[1] - x[0])

    def begin(self, room: int, source: HiddenStates) -> Float[Array, " rows"]:
        """The scores after 0, 1, ..., `room` tokens; `source` is the generator's memory."""
        check_size(f"a memory of {room} tokens", check_count("room", room, least=0))
        self._check(source)
        scores = jnp.zeros(room + 1, source.hidden.dtype)
        return scores.at[0].set(self.probability(self._state(source, jnp.int32(0))))

    def read(
        self,
        memory: Float[Array, " rows"],
        n: Int[Array, ""],
        token: Int[Array, ""],
        source: HiddenStates,
    ) -> Float[Array, " rows"]:
        """The memory once the generator has read `token` after the first n tokens."""
        self._check(source)
        n, token = check_step(_scores_of, memory, n, token, low=0, high=1)
        if is_concrete(n, source.hidden) and n + 1 >= source.hidden.shape[0]:
            raise ValueError(
                f"n is {int(n)}; the source has room for {len(source.hidden) - 1} tokens"
            )
        return _put(memory, n + 1, self.probability(self._state(source, n + 1)))

    def score(self, memory: Float[Array, " rows"], n: Int[Array, ""]) -> Float[Array, ""]:
        """The probe's probability after the first n tokens."""
        return memory[check_place(_scores_of, memory, n, low=0, high=1)]

    def _check(self, source: Any) -> None:
        """Raise unless there are hidden states for the probe to look at."""
        kinds = (CachedMemory, HuggingFaceMemory)
        check_kind(
            "source", source, kinds, "the memory of a CachedTransformer or Hugging Face model"
        )
        if self.place is not None and isinstance(source, CachedMemory):
            kept = source.streams.shape[0]
            if self.place >= kept:
                raise ValueError(f"place is {self.place}; the generator keeps {kept} layers")
        width = source.hidden.shape[-1]
        if width != self.weights[0].shape[0]:
            raise ValueError(
                f"the source has states of width {width}; "
                f"the probe's weights read {self.weights[0].shape[0]}"
            )

    def _state(self, source: HiddenStates, n: Int[Array, ""]) -> Float[Array, " E"]:
        if self.place is None:
            return source.hidden[n]
        if not isinstance(source, CachedMemory):
            raise ValueError(
                "place must be None: this generator keeps the states of one layer only"
            )
        return source.streams[self.place][n]


class Brackets(NamedTuple):
    """About every prefix of a string of brackets."""

    tokens: Int[Array, " room"]
    depths: Int[Array, " rows"]
    tops: Int[Array, " rows"]
    """How many tokens stand before the last open bracket; -1 if there is none."""
    alive: Bool[Array, " rows"]


class DyckVerifier(eqx.Module):
    """1 if the string can be completed to `brackets` balanced brackets and the end token, else 0.

    Type t has the open token 2t and the closed token 2t + 1. Every bracket must close the last open
    one, the depth must stay at most `max_depth` and at most the number of brackets left, and the end
    token must stand after the last bracket and nowhere else. `start`, if the strings have such a
    token, must be their first.
    """

    types: int = eqx.field(static=True)
    brackets: int = eqx.field(static=True)
    end: int | None = eqx.field(static=True, default=None)
    start: int | None = eqx.field(static=True, default=None)
    max_depth: int | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        check_count("types", self.types)
        check_count("brackets", self.brackets, least=0)
        if self.max_depth is not None:
            check_count("max_depth", self.max_depth)
        for name in ("end", "start"):
            token = getattr(self, name)
            if token is not None and check_count(name, token, least=0) < 2 * self.types:
                raise ValueError(
                    f"{name} is {token}; the {self.types} types of brackets are the first tokens"
                )

    def begin(self, room: int, source: PyTree = None) -> Brackets:
        """Depths and open brackets of all prefixes."""
        check_size(f"a memory of {room} tokens", 4 * check_count("room", room, least=0))
        possible = self.brackets % 2 == 0
        return Brackets(
            jnp.zeros(room, jnp.int32),
            jnp.zeros(room + 1, jnp.int32),
            jnp.full(room + 1, -1, jnp.int32),
            jnp.full(room + 1, possible),
        )

    def read(
        self, memory: Brackets, n: Int[Array, ""], token: Int[Array, ""], source: PyTree = None
    ) -> Brackets:
        """The memory once `token` stands after the first n tokens."""
        n, token = check_step(self.begin, memory, n, token)
        tokens, depths, tops, alive = memory
        shift = 0 if self.start is None else 1
        made = n - shift  # brackets before this token
        depth, top = depths[n], tops[n]
        is_bracket = (token >= 0) & (token < 2 * self.types)
        opens = is_bracket & (token % 2 == 0)
        closes = is_bracket & (token % 2 == 1)
        matches = (top >= 0) & (tokens[jnp.maximum(top, 0)] == token - 1)
        deeper = depth + jnp.where(opens, 1, jnp.where(closes, -1, 0))
        fits = (deeper <= self.brackets - made - 1) & (deeper >= 0)
        if self.max_depth is not None:
            fits &= deeper <= self.max_depth
        right = is_bracket & (made >= 0) & fits & (opens | matches)
        if self.end is not None:
            right |= (token == self.end) & (made == self.brackets) & (depth == 0)
        if self.start is not None:
            right |= (token == self.start) & (n == 0)
        below = tops[jnp.maximum(top, 0)]  # the last open bracket before `top` was opened
        new_top = jnp.where(opens, n, jnp.where(closes & (top >= 0), below, top))
        return Brackets(
            _put(tokens, n, token),
            _put(depths, n + 1, deeper),
            _put(tops, n + 1, new_top),
            _put(alive, n + 1, alive[n] & right),
        )

    def score(self, memory: Brackets, n: Int[Array, ""]) -> Float[Array, ""]:
        """1 if the first n tokens can be completed, else 0."""
        n = check_place(self.begin, memory, n)
        return memory.alive[n].astype(jnp.result_type(float))


class _RemembersTokens:
    """A verifier's memory of a string: its tokens."""

    def begin(self, room: int, source: PyTree = None) -> Int[Array, " room"]:
        """Room for the tokens."""
        return _no_tokens(room)

    def read(
        self,
        memory: Int[Array, " room"],
        n: Int[Array, ""],
        token: Int[Array, ""],
        source: PyTree = None,
    ) -> Int[Array, " room"]:
        """The tokens with `token` after the first n."""
        n, token = check_step(_no_tokens, memory, n, token, low=0)
        return _put(memory, n, token)


class CallableVerifier(_RemembersTokens, eqx.Module):
    """`function(tokens, n)` is the score of the first n of `tokens`; what stands after them means
    nothing. The function must be one that JAX can trace."""

    function: Callable[[Int[Array, " room"], Int[Array, ""]], Any]

    def __check_init__(self) -> None:
        check_callable("function", self.function, "function(tokens, n)")

    def score(self, memory: Int[Array, " room"], n: Int[Array, ""]) -> Float[Array, ""]:
        """What the function says of the first n tokens."""
        n = jnp.asarray(check_place(_no_tokens, memory, n, low=0), jnp.int32)
        return jnp.asarray(self.function(jnp.asarray(memory), n), jnp.result_type(float))


class FunctionVerifier(_RemembersTokens):
    """A Python function from the tokens of an unfinished string, a NumPy array, to its score.

    It is called outside the compiled program, once for each string that occurs.
    """

    def __init__(self, function: Callable[[Int[np.ndarray, " n"]], Any]) -> None:
        check_callable("function", function, "function(tokens)")
        self._function = function
        self._known: dict[bytes, float] = {}
        self.error: Exception | None = None
        """What the function raised, for whoever sees that its score is no number."""

    def score(self, memory: Int[Array, " room"], n: Int[Array, ""]) -> Float[Array, ""]:
        """What the function says of the first n tokens."""
        return self.score_when(memory, n, jnp.bool_(True))

    def score_when(
        self, memory: Int[Array, " room"], n: Int[Array, ""], asked: Bool[Array, ""]
    ) -> Float[Array, ""]:
        """The score if it is asked for; else 0, and the function is not called."""
        n, asked = check_place(_no_tokens, memory, n, low=0), _truth("asked", asked)
        shape = jax.ShapeDtypeStruct((), jnp.result_type(float))
        return call_host(self._scores, (shape,), memory, n, asked)[0]

    def _scores(
        self,
        scores: Float[np.ndarray, "*batch"],
        tokens: Int[np.ndarray, "*batch room"],
        n: Int[np.ndarray, "*batch"],
        asked: Bool[np.ndarray, "*batch"],
    ) -> None:
        rows, sizes = tokens.reshape(n.size, -1), n.reshape(-1)
        scores[...] = 0
        for i in np.flatnonzero(asked):
            scores.reshape(-1)[i] = self._one(rows[i, : sizes[i]])

    def _one(self, string: Int[np.ndarray, " n"]) -> float:
        known = string.tobytes()
        if known not in self._known:
            try:
                self._known[known] = float(self._function(string.copy()))
            except Exception as error:
                self.error = error
                return float("nan")
        return self._known[known]


class Chance(NamedTuple):
    """A hash of every prefix, its score, and how many tokens were read."""

    hashes: PyTree
    scores: Float[Array, " rows"]
    reads: Int[Array, ""]


class RandomVerifier(eqx.Module):
    """Scores that are uniform on [0, 1) and know nothing: the control for "any backtracking".

    A score depends on the key, on the string and on how many tokens the row has read, so that a
    string that is made a second time is scored anew.
    """

    key: PRNGKeyArray

    def __check_init__(self) -> None:
        check_key(self.key)

    def begin(self, room: int, source: PyTree = None) -> Chance:
        """A hash and a score for every prefix."""
        check_size(f"a memory of {room} tokens", 4 * check_count("room", room, least=0))
        return Chance(
            jax.random.key_data(jnp.broadcast_to(self.key, (room + 1,))),
            jnp.full(room + 1, jax.random.uniform(self.key)),
            jnp.int32(0),
        )

    def read(
        self, memory: Chance, n: Int[Array, ""], token: Int[Array, ""], source: PyTree = None
    ) -> Chance:
        """The memory once `token` stands after the first n tokens."""
        n, token = check_step(self.begin, memory, n, token)
        string = jax.random.fold_in(jax.random.wrap_key_data(memory.hashes[n]), token)
        number = jax.random.uniform(jax.random.fold_in(string, memory.reads))
        hashes = _put(memory.hashes, n + 1, jax.random.key_data(string))
        return Chance(hashes, _put(memory.scores, n + 1, number), memory.reads + 1)

    def score(self, memory: Chance, n: Int[Array, ""]) -> Float[Array, ""]:
        """The number that the first n tokens drew."""
        n = check_place(self.begin, memory, n)
        return memory.scores[n]


class Thresholded(eqx.Module):
    """1 where another verifier's score is at least the threshold, else 0."""

    verifier: Verifier
    threshold: float | Float[AnyArray, ""]

    def __check_init__(self) -> None:
        check_verifier("verifier", self.verifier)
        check_number("threshold", self.threshold)

    def begin(self, room: int, source: PyTree = None) -> PyTree:
        """The memory of the other verifier."""
        return self.verifier.begin(room, source)

    def read(
        self, memory: PyTree, n: Int[Array, ""], token: Int[Array, ""], source: PyTree = None
    ) -> PyTree:
        """The memory of the other verifier once `token` stands after the first n tokens."""
        return self.verifier.read(memory, n, token, source)

    def score(self, memory: PyTree, n: Int[Array, ""]) -> Float[Array, ""]:
        """1 if the other score of the first n tokens reaches the threshold, else 0."""
        return self.score_when(memory, n, jnp.bool_(True))

    def score_when(
        self, memory: PyTree, n: Int[Array, ""], asked: Bool[Array, ""]
    ) -> Float[Array, ""]:
        """The same, for a verifier that is told whether its score is used."""
        score = score_when(self.verifier, memory, n, _truth("asked", asked))
        passed = jnp.where(score >= self.threshold, 1.0, 0.0)
        return jnp.where(jnp.isnan(score), jnp.nan, passed)


def _no_tokens(room: int) -> Int[Array, " room"]:
    """Room for tokens, none of them read."""
    check_size(f"a memory of {room} tokens", check_count("room", room, least=0))
    return jnp.zeros(room, jnp.int32)


def _scores_of(room: int) -> Float[Array, " rows"]:
    return jnp.zeros(room + 1)


def _truth(name: str, value: Any) -> Bool[Array, ""]:
    """True or False as an array; one under a trace as it is."""
    if not is_concrete(value):
        return value
    known = isinstance(value, jax.Array | np.ndarray) and value.shape == ()
    return jnp.bool_(check_flag(name, np.asarray(value)[()] if known else value))


def _put(rows: Array, at: Int[Array, ""], new: Array) -> Array:
    """`rows` with row `at` replaced; a select, which in a batch is as fast as a scatter."""
    here = (jnp.arange(rows.shape[0]) == at).reshape(-1, *(1,) * (rows.ndim - 1))
    return jnp.where(here, jnp.asarray(new, rows.dtype), rows)
