"""Hidden Markov worlds."""

from functools import partial
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .. import markov
from ..arrays import (
    AnyArray,
    Scalar,
    check_count,
    check_distribution,
    check_embeddings,
    check_key,
    check_length,
    check_positions,
    check_positive,
    check_size,
    check_tokens,
    check_worlds,
    embed_rows,
    is_concrete,
    is_empty,
    parameter,
    stochastic,
)
from ..memories import check_place, check_step
from ..padding import cut, known, pad, pad_tokens, padded_length
from ..text import numbers_text
from . import chain


class Sample(NamedTuple):
    """One draw from an HMM; `hidden[0]` is H_0, which emits nothing."""

    tokens: Int[Array, " T"]
    hidden: Int[Array, " T+1"]


class Posterior(NamedTuple):
    """`hidden[i] = P[H_i | observed tokens]` for i = 0..T; zero if they are impossible."""

    hidden: Float[Array, "T+1 H"]


class Supports(NamedTuple):
    """Exact supports, computed on truth values, for rows V at positions 1..T."""

    others: Bool[Array, "T H"]  # [i]: where P[H_i, all rows but V_i] > 0
    start: Bool[Array, " H"]  # where P[H_0, all rows] > 0
    possible: Bool[Array, ""]  # whether all rows together are possible


class HMM(eqx.Module):
    """A hidden Markov model: `H_0 ~ p0`, `H_i ~ A[:, H_{i-1}]`, `X_i ~ W[:, H_i]` for i = 1..T.

    Methods take one sequence; use `jax.vmap` for batches, and stack worlds (`HMM.stack`) to vmap
    over worlds. Computations run in float32, or in float64 under `jax.enable_x64(True)`.
    """

    A: Float[AnyArray, "*stack hidden hidden"]
    W: Float[AnyArray, "*stack vocab hidden"]
    p0: Float[AnyArray, "*stack hidden"]

    def __init__(self, A: Any, W: Any, p0: Any):
        """`A[i, j] = P(next = i | now = j)`, `W[x, h] = P(token = x | state = h)`, `p0 = P[H_0]`."""
        hidden = parameter("A", A, (None, None)).shape[1]
        self.A = stochastic("A", A, (hidden, hidden))
        self.W = stochastic("W", W, (None, hidden))
        self.p0 = parameter("p0", p0, (hidden,))
        check_distribution("p0", self.p0, columns=False)

    @classmethod
    def random(
        cls,
        key: PRNGKeyArray,
        *,
        hidden: int,
        vocab: int = 10,
        transition_temperature: float = 0.01,
        emission_temperature: float = 0.01,
        start_temperature: float = 10.0,
        permutations: int | None = None,
    ) -> Self:
        """The random worlds of Wei, Xie and Ma (2021), Appendix E.

        A is a convex mixture of `permutations` (default: `hidden`) random permutation matrices; the
        mixing weights, each state's emission law and the start law are softmaxes of uniform logits
        at the three temperatures. The same key gives the same world in either precision.
        """
        check_key(key)
        check_count("hidden", hidden)
        check_count("vocab", vocab)
        check_positive("transition_temperature", transition_temperature)
        check_positive("emission_temperature", emission_temperature)
        check_positive("start_temperature", start_temperature)
        count = hidden if permutations is None else check_count("permutations", permutations)
        check_size(f"{count} permutations of hidden = {hidden} states", count * hidden**2)
        check_size(f"emissions of vocab = {vocab} tokens", vocab * hidden)

        def draw() -> Any:
            transition, emission, start = jax.random.split(key, 3)
            return (
                permutation_mixture(transition, hidden, count, transition_temperature),
                softmax_uniform(emission, (vocab, hidden), emission_temperature),
                softmax_uniform(start, (hidden,), start_temperature),
            )

        if is_concrete(key):
            with jax.enable_x64(True):
                return cls(*map(np.asarray, draw()))
        return cls(*draw())

    @classmethod
    def stack(cls, worlds: list[Self]) -> Self:
        """Worlds of one size as one world with a leading axis, to be used under `jax.vmap`."""
        check_worlds(worlds, cls)
        return jax.tree.map(lambda *leaves: np.stack(leaves), *worlds)

    def unstack(self) -> list[Self]:
        """The worlds of a stack, one by one."""
        if np.ndim(self.p0) < 2:
            raise ValueError("this world is one world and no stack; it must come from `stack`")
        return [jax.tree.map(lambda leaf, i=i: leaf[i], self) for i in range(self.A.shape[0])]

    @property
    def hidden(self) -> int:
        return self.W.shape[-1]

    @property
    def vocab(self) -> int:
        return self.W.shape[-2]

    @property
    def first(self) -> Float[Array, " hidden"]:
        """`p_1 = P[H_1] = A p0`."""
        return jnp.asarray(self.A) @ jnp.asarray(self.p0)

    def parameters(self) -> dict[str, np.ndarray]:
        """The arrays that define this world."""
        return {"A": np.asarray(self.A), "W": np.asarray(self.W), "p0": np.asarray(self.p0)}

    def sample(self, key: PRNGKeyArray, length: int) -> Sample:
        """Draw `length` tokens and the hidden states 0..length behind them."""
        check_length(length)
        laws = jnp.asarray(self.A), jnp.asarray(self.p0), jnp.asarray(self.W)
        return draw_chain(check_key(key), length, *laws)

    # -- the exact model as a masked language model -------------------------------------------

    def embed(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, "T hidden"]:
        """Proper embeddings `e(z) = W[z, :]`; an unobserved position is the all-ones row."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        return embed_rows(jnp.asarray(self.W), tokens, observed)

    def messages(self, embeddings: Float[AnyArray, "T hidden"]) -> chain.Messages:
        """Scaled forward and backward messages for arbitrary nonnegative rows."""
        rows = check_embeddings(embeddings, self.hidden)
        return chain.messages(jnp.asarray(self.A), self.first, rows)

    def predict(
        self, embeddings: Float[AnyArray, "T hidden"], at: Int[AnyArray, " n"] | None = None
    ) -> Float[Array, "n vocab"]:
        """The exact predictor on any nonnegative rows v (written G-bar in the paper), at all
        positions or `at` these:

        `G_i = W tau_i / ||tau_i||_1` with `tau_i = a_i * b_i`, and the zero vector if `tau_i = 0`.
        On proper embeddings this is `P[X_i | the other tokens]`.
        """
        rows = check_embeddings(embeddings, self.hidden)
        at = check_positions(at, len(rows))
        laws = chain.laws(jnp.asarray(self.A), self.first, rows, jnp.asarray(self.W))
        return laws if at is None else laws[at]

    # -- exact questions ----------------------------------------------------------------------

    def conditionals(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, "T vocab"]:
        """For every position the law of its token given the observed others.

        Unobserved positions are marginalised; an impossible context gives the zero vector.
        """
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        if known(self, tokens, observed):
            return cut(_conditionals(self, *pad_tokens(tokens, observed)), len(tokens))
        return self.predict(self.embed(tokens, observed))

    def posterior(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Posterior:
        """`P[H_i | observed tokens]` for i = 0..T: `p0 * b_0` and `a_i * b_i * v_i`, normalised."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        if known(self, tokens, observed):
            laws = _posterior(self, *pad_tokens(tokens, observed))
            return Posterior(cut(laws, len(tokens) + 1))
        return Posterior(_posterior(self, tokens, observed))

    def log_prob(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, ""]:
        """`log P[observed tokens]`; -inf if they are impossible."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        if known(self, tokens, observed):
            return _log_prob(self, *pad_tokens(tokens, observed), np.int32(len(tokens)))
        rows = embed_rows(jnp.asarray(self.W), tokens, observed)
        return chain.log_likelihood(jnp.asarray(self.A), self.first, rows)

    def next_token(self, prefix: Int[AnyArray, " T"]) -> Float[Array, " vocab"]:
        """`P[X_{T+1} | X_{1:T} = prefix]`; the prefix may be empty, an impossible one gives zeros."""
        if is_empty("prefix", prefix):
            return jnp.asarray(self.W) @ self.first
        rows = self.embed(prefix)
        forward, _ = chain.forward_messages(jnp.asarray(self.A), self.first, rows)
        return jnp.asarray(self.W) @ forward[-1]

    def next_logits(self, tokens: Int[AnyArray, " T"]) -> Float[Array, "T vocab"]:
        """`log P[X_{i+1} | X_{1:i}]` for i = 1..T: the exact causal language model."""
        tokens, _ = check_tokens(tokens, None, self.vocab)
        if known(self, tokens):
            return cut(_next_logits(self, pad(tokens, 0)), len(tokens))
        return _next_logits(self, tokens)

    # -- as a generator (`minicosm.models.Generator`) -----------------------------------------

    def begin(self, room: int) -> Float[Array, "rows hidden"]:
        """The memory of the empty string, with room for `room` tokens: row n is the filtered law
        `P[H_{n+1} | X_{1:n}]`, zero once the tokens are impossible."""
        rows = check_count("room", room, least=0) + 1
        check_size(f"a memory of {room} tokens", rows * self.hidden)
        first = chain.normalise(self.first)
        return jnp.zeros((rows, self.hidden), first.dtype).at[0].set(first)

    def read(
        self, memory: Float[Array, "rows hidden"], n: Scalar, token: Scalar
    ) -> Float[Array, "rows hidden"]:
        """The memory once `token` stands after the first n tokens: `A (a_n * W[token])`, normalised."""
        n, token = check_step(self.begin, memory, n, token, self.vocab, low=0, high=1)
        seen = embed_rows(jnp.asarray(self.W), jnp.asarray(token)[None], None)[0]
        moved = jnp.asarray(self.A) @ (memory[n] * seen)
        return jnp.asarray(memory).at[n + 1].set(chain.normalise(moved).astype(memory.dtype))

    def law(self, memory: Float[Array, "rows hidden"], n: Scalar) -> Float[Array, " vocab"]:
        """`log P[X_{n+1} | X_{1:n}]`; -inf for what is impossible, everywhere after an impossible
        prefix."""
        n = check_place(self.begin, memory, n, low=0, high=1)
        return jnp.log(jnp.asarray(self.W) @ memory[n])

    def text(self, tokens: Any) -> str:
        """The tokens as numbers with spaces between them; see `Dyck.text` for padding."""
        return numbers_text(tokens, self.vocab)

    def supports(self, embeddings: Float[AnyArray, "T hidden"]) -> Supports:
        """Which hidden values are possible, decided on truth values and never by a threshold."""
        seen = check_embeddings(embeddings, self.hidden) > 0
        return chain_supports(self.A, self.p0, seen)

    def is_ergodic(self) -> bool:
        """Whether the hidden chain is irreducible and aperiodic."""
        return markov.is_primitive(np.asarray(self.A))

    def stationary(self) -> Float[np.ndarray, " hidden"]:
        """The stationary law of the hidden chain; raises if it is not unique."""
        return markov.stationary_law(np.asarray(self.A))


@eqx.filter_jit
def _conditionals(world: HMM, tokens: Any, observed: Any) -> Float[Array, "T vocab"]:
    return world.predict(world.embed(tokens, observed))


@eqx.filter_jit
def _posterior(world: HMM, tokens: Any, observed: Any) -> Float[Array, "rows hidden"]:
    rows = embed_rows(jnp.asarray(world.W), tokens, observed)
    m = chain.messages(jnp.asarray(world.A), world.first, rows)
    start = jnp.asarray(world.p0) * m.backward[0]
    return chain.normalise(jnp.concatenate([start[None], m.forward * m.backward[1:] * rows]))


@eqx.filter_jit
def _log_prob(world: HMM, tokens: Any, observed: Any, length: Any) -> Float[Array, ""]:
    """`log_prob` of the first `length` tokens."""
    rows = embed_rows(jnp.asarray(world.W), tokens, observed)
    return chain.forward_messages(jnp.asarray(world.A), world.first, rows)[1][length]


@eqx.filter_jit
def _next_logits(world: HMM, tokens: Any) -> Float[Array, "T vocab"]:
    rows = embed_rows(jnp.asarray(world.W), tokens, None)
    forward, _ = chain.forward_messages(jnp.asarray(world.A), world.first, rows)
    return jnp.log(forward[1:] @ jnp.asarray(world.W).T)


def chain_supports(A: AnyArray, p0: AnyArray, seen: Bool[Array, "T H"]) -> Supports:
    """Supports of one chain; A and p0 are compared with zero in the precision they are stored in."""
    arrows, start = A > 0, p0 > 0
    first = (arrows & start[None, :]).any(axis=1)
    a, b = chain.supports(jnp.asarray(arrows), jnp.asarray(first), seen)
    at_start = jnp.asarray(start) & b[0]
    return Supports(a & b[1:], at_start, jnp.any(at_start))


def draw_chain(
    key: PRNGKeyArray,
    length: int,
    A: Float[Array, "hidden hidden"],
    p0: Float[Array, " hidden"],
    W: Float[Array, "vocab hidden"],
) -> Sample:
    """`sample_chain` with few programs: uniform i is the same however many are drawn."""
    if not known(key, A, p0, W):
        return sample_chain(key, length, A, p0, W)
    drawn = sample_chain(key, padded_length(length), A, p0, W)
    return Sample(cut(drawn.tokens, length), cut(drawn.hidden, length + 1))


@partial(jax.jit, static_argnames="length")
def sample_chain(
    key: PRNGKeyArray,
    length: int,
    A: Float[Array, "hidden hidden"],
    p0: Float[Array, " hidden"],
    W: Float[Array, "vocab hidden"],
) -> Sample:
    """Draw a hidden path and its tokens by inverting cumulative laws, one uniform a draw."""
    start_key, path_key, token_key = jax.random.split(key, 3)
    moves = cumulative(A.T)
    h0 = invert(cumulative(p0), uniform(start_key, ()))

    def step(h: Array, u: Array) -> tuple[Array, Array]:
        new = invert(moves[h], u)
        return new, new

    _, path = jax.lax.scan(step, h0, uniform(path_key, (length,)))
    tokens = invert(cumulative(W.T)[path], uniform(token_key, (length,)))
    return Sample(tokens, jnp.concatenate([h0[None], path]))


def uniform(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Uniforms in [0, 1), drawn in float32 so that a key means the same draws in either precision."""
    return jax.random.uniform(key, shape, jnp.float32).astype(jnp.result_type(float))


def cumulative(laws: Float[Array, "*batch K"]) -> Float[Array, "*batch K"]:
    """Cumulative sums along the last axis, the last one exactly 1."""
    total = jnp.cumsum(laws, axis=-1)
    return total / total[..., -1:]


def invert(steps: Float[Array, "*batch K"], u: Float[Array, "*batch"]) -> Int[Array, "*batch"]:
    """The value whose cumulative interval holds u; one of probability zero is never drawn."""
    return jnp.sum(steps <= u[..., None], axis=-1, dtype=jnp.int32)


@partial(jax.jit, static_argnames="shape")
def softmax_uniform(
    key: PRNGKeyArray, shape: tuple[int, ...], temperature: float | Float[Array, ""]
) -> Float[Array, "..."]:
    """Softmax along axis 0 of uniform logits at a temperature."""
    return jax.nn.softmax(uniform(key, shape) / temperature, axis=0)


@partial(jax.jit, static_argnames=("size", "count"))
def permutation_mixture(
    key: PRNGKeyArray, size: int, count: int, temperature: float | Float[Array, ""]
) -> Float[Array, "size size"]:
    """A doubly stochastic matrix: `count` random permutations mixed by a softmax of uniforms."""
    which, mix = jax.random.split(key)
    images = jax.vmap(lambda k: jax.random.permutation(k, size))(jax.random.split(which, count))
    weights = softmax_uniform(mix, (count,), temperature)
    return jnp.einsum("c,cij->ij", weights, jax.nn.one_hot(images, size, axis=1))
