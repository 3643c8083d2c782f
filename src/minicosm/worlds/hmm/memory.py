"""Hidden Markov worlds with a memory that is drawn once and never moves."""

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
    embed_rows,
    is_concrete,
    is_empty,
    numeric,
    parameter,
    stochastic,
)
from ..checks import check_last_axes
from ..memories import check_place, check_step
from ..padding import cut, known, pad, pad_tokens
from ..text import numbers_text
from . import chain, memory_laws
from .configurations import check_configurations, weights_of
from .hmm import (
    HMM,
    Supports,
    chain_supports,
    cumulative,
    draw_chain,
    invert,
    permutation_mixture,
    softmax_uniform,
    uniform,
)


class MemorySample(NamedTuple):
    """One draw: tokens, hidden states 0..T (`h = j * S + s`), and the value of every cell."""

    tokens: Int[Array, " T"]
    hidden: Int[Array, " T+1"]
    memory: Int[Array, " N"]


class MemoryFilter(NamedTuple):
    """What a memory world knows after every prefix, each configuration for itself; row n is after n
    tokens."""

    hidden: Float[Array, "rows C H"]  # P[H_{n+1} | X_{1:n}, M]; zero once they are impossible
    logs: Float[Array, "rows C"]  # log P[X_{1:n} | M] up to a constant: the largest is zero


class MemoryPosterior(NamedTuple):
    """Laws given the observed tokens; all zero if those are impossible."""

    hidden: Float[Array, "T+1 H"]  # [i] = P[H_i | x]
    cells: Float[Array, "N M"]  # [j] = P[M_j | x]
    configurations: Float[Array, " C"]  # P[(M_1..M_N) | x], row-major


class MemoryHMM(eqx.Module):
    """An HMM whose emissions read one of N memory cells.

    `M = (M_1..M_N) ~ pM` once per sequence, independent of the chain `H_i = (J_i, S_i)`, and
    `X_i ~ W[:, M_{J_i}, J_i, S_i]`. Given the memory the world is an ordinary chain of |H| = N S
    states, so inference runs |M|^N small chains, each with its own log scale, in place of one chain
    of |M|^N |H| states.
    """

    A: Float[AnyArray, "*stack hidden hidden"]
    W: Float[AnyArray, "*stack vocab values cells syntax"]
    pM: Float[AnyArray, "*stack configurations"]
    p0: Float[AnyArray, "*stack hidden"]

    def __init__(self, A: Any, W: Any, pM: Any, p0: Any):
        """`A` (H, H) and `p0` (H,) as in `HMM` with `h = j * S + s`; `W[x, m, j, s]`; `pM` the joint
        law of the cells, of shape (M,) * N or flattened row-major."""
        W = numeric("W", W)
        if len(W.shape) == 3:  # one cell: W[x, m, s]
            W = W[:, :, None, :]
        turned = "pass the last axis first, np.moveaxis({}, -1, 0)"
        self.W = stochastic("W", W, (None, None, None, None), turned)
        _, values, cells, syntax = self.W.shape
        hidden = cells * syntax
        check_configurations(values, cells)
        pM = numeric("pM", pM)
        if pM.shape == (values,) * cells and cells > 1:
            pM = np.reshape(pM, -1) if is_concrete(pM) else jnp.reshape(pM, -1)
        self.A = stochastic("A", A, (hidden, hidden))
        self.pM = parameter("pM", pM, (values**cells,))
        self.p0 = parameter("p0", p0, (hidden,))
        check_distribution("pM", self.pM, columns=False)
        check_distribution("p0", self.p0, columns=False)

    @classmethod
    def random(
        cls,
        key: PRNGKeyArray,
        *,
        hidden: int = 4,
        memory: int,
        vocab: int = 10,
        cells: int = 1,
        transition_temperature: float = 0.01,
        emission_temperature: float = 0.01,
        start_temperature: float = 10.0,
        permutations: int | None = None,
    ) -> Self:
        """The memory worlds of Wei, Xie and Ma (2021), Appendix E: `hidden` states per cell, one
        independent emission column per (value, cell, state), a transition block shared by all
        memory values that mixes |M|^N |H| permutations. The laws of memory and start state are the
        marginals of one softmax over all pairs, so that the two are independent as the paper's
        definition asks."""
        check_key(key)
        check_count("hidden", hidden)
        check_count("memory", memory)
        check_count("vocab", vocab)
        check_count("cells", cells)
        check_size(
            f"transitions of hidden = {hidden} states and cells = {cells}", (hidden * cells) ** 2
        )
        configurations, size = check_configurations(memory, cells), hidden * cells
        check_positive("transition_temperature", transition_temperature)
        check_positive("emission_temperature", emission_temperature)
        check_positive("start_temperature", start_temperature)
        count = configurations * size
        if permutations is not None:
            count = check_count("permutations", permutations)
        check_size(f"{count} permutations of hidden = {hidden} states a cell", count * size**2)
        check_size(f"emissions of vocab = {vocab} tokens", vocab * memory * size)

        def draw() -> Any:
            transition, emission, start = jax.random.split(key, 3)
            A = permutation_mixture(transition, size, count, transition_temperature)
            W = softmax_uniform(emission, (vocab, memory, cells, hidden), emission_temperature)
            joint = softmax_uniform(start, (configurations * size,), start_temperature)
            joint = joint.reshape(configurations, size)
            return A, W, joint.sum(axis=1), joint.sum(axis=0)

        if is_concrete(key):
            with jax.enable_x64(True):
                return cls(*map(np.asarray, draw()))
        return cls(*draw())

    stack = classmethod(HMM.stack.__func__)  # type: ignore[attr-defined, var-annotated]
    unstack = HMM.unstack

    @property
    def vocab(self) -> int:
        return self.W.shape[-4]

    @property
    def values(self) -> int:
        """|M|, the number of values of one cell."""
        return self.W.shape[-3]

    @property
    def cells(self) -> int:
        """N, the number of memory cells."""
        return self.W.shape[-2]

    @property
    def hidden(self) -> int:
        """|H| = N S, the number of states (cell index, syntax) of the moving chain."""
        return self.W.shape[-2] * self.W.shape[-1]

    @property
    def configurations(self) -> int:
        """|M|^N."""
        return self.values**self.cells

    @property
    def first(self) -> Float[Array, " hidden"]:
        """`p_1 = P[H_1] = A p0`."""
        return jnp.asarray(self.A) @ jnp.asarray(self.p0)

    def parameters(self) -> dict[str, np.ndarray]:
        """The arrays that define this world."""
        return {name: np.asarray(getattr(self, name)) for name in ("A", "W", "pM", "p0")}

    def cell_values(self) -> Int[np.ndarray, "C N"]:
        """The value of every cell in every configuration."""
        shape = (self.values,) * self.cells
        return np.stack(np.unravel_index(np.arange(self.configurations), shape), axis=1)

    def lift(self, rows: Float[AnyArray, "*batch MH"]) -> Float[Array, "*batch C H"]:
        """`eta(v)[(m_1..m_N), (j, s)] = v[(m_j, j, s)]`, v flattened over (m, j, s)."""
        rows = check_last_axes("rows", rows, (self.values * self.hidden,))
        return rows[..., self._lift_index()]

    def unlift(self, lifted: Float[AnyArray, "*batch C H"]) -> Float[Array, "*batch MH"]:
        """`phi(v)[(m, j, s)]`: the mean of v over the configurations with `m_j = m`."""
        lifted = check_last_axes("lifted", lifted, (self.configurations, self.hidden))
        batch, syntax = lifted.shape[:-2], self.hidden // self.cells
        grid = jnp.reshape(lifted, (*batch, *(self.values,) * self.cells, self.cells, syntax))
        start = len(batch)
        kept = [
            jnp.mean(grid[..., j, :], axis=tuple(start + k for k in range(self.cells) if k != j))
            for j in range(self.cells)
        ]
        return jnp.stack(kept, axis=-2).reshape(*batch, -1)

    def _lift_index(self) -> Int[np.ndarray, "C H"]:
        syntax = self.hidden // self.cells
        cell, state = np.divmod(np.arange(self.hidden), syntax)
        return (self.cell_values()[:, cell] * self.cells + cell) * syntax + state

    def emission_columns(self) -> Float[Array, "vocab MH"]:
        """W as a matrix whose columns run over (m, j, s)."""
        return jnp.asarray(self.W).reshape(self.vocab, -1)

    def as_hmm(self) -> HMM:
        """The same law of tokens as a vanilla HMM on (configuration, h), configuration slowest."""
        lifted = np.asarray(self.W).reshape(self.vocab, -1)[:, self._lift_index()]
        return HMM(
            np.kron(np.eye(self.configurations), np.asarray(self.A)),
            lifted.reshape(self.vocab, -1),
            np.kron(np.asarray(self.pM), np.asarray(self.p0)),
        )

    def sample(self, key: PRNGKeyArray, length: int) -> MemorySample:
        """Draw the memory, then `length` tokens and the hidden states behind them."""
        check_length(length)
        memory_key, chain_key = jax.random.split(check_key(key))
        configuration = invert(cumulative(jnp.asarray(self.pM)), uniform(memory_key, ()))
        rows = self.emission_columns()[:, jnp.asarray(self._lift_index())[configuration]]
        tokens, hidden = draw_chain(
            chain_key, length, jnp.asarray(self.A), jnp.asarray(self.p0), rows
        )
        return MemorySample(tokens, hidden, jnp.asarray(self.cell_values())[configuration])

    # -- the exact model as a masked language model -------------------------------------------

    def embed(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, "T CH"]:
        """Lifted proper embeddings `eta(W[z, :])`, flattened; unobserved positions are all ones."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        rows = self.lift(self.emission_columns()).reshape(self.vocab, -1)
        return embed_rows(rows, tokens, observed)

    def messages(self, embeddings: Float[AnyArray, "T CH"]) -> chain.Messages:
        """Messages of every configuration's own chain (leading axis), without `pM`."""
        run = jax.vmap(chain.messages, in_axes=(None, None, 1))
        return run(jnp.asarray(self.A), self.first, self._rows(embeddings))

    def _rows(self, embeddings: Float[AnyArray, "T CH"]) -> Float[Array, "T C H"]:
        rows = check_embeddings(embeddings, self.configurations * self.hidden)
        return rows.reshape(len(rows), self.configurations, self.hidden)

    def aggregate(self, embeddings: Float[AnyArray, "T CH"]) -> Float[Array, "T C H"]:
        """`tau_i = P[M, H_i, all rows but the i-th]`, each position scaled to sum to one (or 0)."""
        run = jax.vmap(chain.aggregates, in_axes=(None, None, 1))
        tau, logs = run(jnp.asarray(self.A), self.first, self._rows(embeddings))
        # Every chain's tau sums to one (or is zero and has weight zero), so only weights remain.
        weights = chain.normalise(weights_of(jnp.asarray(self.pM), logs).T)
        return weights[..., None] * jnp.moveaxis(tau, 0, 1)

    def predict(
        self, embeddings: Float[AnyArray, "T CH"], at: Int[AnyArray, " n"] | None = None
    ) -> Float[Array, "n vocab"]:
        """`G_i = W phi(tau_i) / ||phi(tau_i)||_1`, the zero vector if `tau_i = 0`, at all positions
        or `at` these.

        Averaging over configurations multiplies both by one number, so this is `eta(W) tau_i`.
        """
        tau, lifted = self.aggregate(embeddings), self.lift(self.emission_columns())
        at = check_positions(at, len(tau))
        tau = tau if at is None else tau[at]
        return tau.reshape(*tau.shape[:-2], lifted[0].size) @ lifted.reshape(self.vocab, -1).T

    # -- exact questions ----------------------------------------------------------------------

    def conditionals(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, "T vocab"]:
        """For every position the law of its token given the observed others; see `HMM`."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        if known(self, tokens, observed):
            return cut(memory_laws.conditionals(self, *pad_tokens(tokens, observed)), len(tokens))
        return self.predict(self.embed(tokens, observed))

    def posterior(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> MemoryPosterior:
        """Laws of every hidden state and every memory cell given the observed tokens."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        if known(self, tokens, observed):
            hidden, *others = memory_laws.posterior(self, *pad_tokens(tokens, observed))
            return MemoryPosterior(cut(hidden, len(tokens) + 1), *others)
        return MemoryPosterior(*memory_laws.posterior(self, tokens, observed))

    def log_prob(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, ""]:
        """`log sum_m P[M = m] P[observed tokens | m]`; -inf if they are impossible."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        if known(self, tokens, observed):
            padded = pad_tokens(tokens, observed)
            return memory_laws.log_prob(self, *padded, np.int32(len(tokens)))
        return memory_laws.log_prob(self, tokens, observed, None)

    def next_token(self, prefix: Int[AnyArray, " T"]) -> Float[Array, " vocab"]:
        """`P[X_{T+1} | X_{1:T} = prefix]`; the prefix may be empty, an impossible one gives zeros."""
        if is_empty("prefix", prefix):
            unseen, mask = np.zeros(1, int), np.zeros(1, bool)
            return self.conditionals(unseen, mask)[0]
        return jnp.exp(self.next_logits(prefix)[-1])

    def next_logits(self, tokens: Int[AnyArray, " T"]) -> Float[Array, "T vocab"]:
        """`log P[X_{i+1} | X_{1:i}]` for i = 1..T: the exact causal language model."""
        tokens, _ = check_tokens(tokens, None, self.vocab)
        if known(self, tokens):
            return cut(memory_laws.next_logits(self, pad(tokens, 0)), len(tokens))
        return memory_laws.next_logits(self, tokens)

    # -- as a generator (`minicosm.models.Generator`) -----------------------------------------

    def begin(self, room: int) -> MemoryFilter:
        """The memory of the empty string, with room for `room` tokens."""
        rows = check_count("room", room, least=0) + 1
        count, hidden = self.configurations, self.hidden
        check_size(f"a memory of {room} tokens", rows * count * hidden)
        first = chain.normalise(self.first)
        laws = jnp.zeros((rows, count, hidden), first.dtype).at[0].set(first)
        return MemoryFilter(laws, jnp.zeros((rows, count), first.dtype))

    def read(self, memory: MemoryFilter, n: Scalar, token: Scalar) -> MemoryFilter:
        """The memory once `token` stands after the first n tokens: one step of every chain."""
        n, token = check_step(self.begin, memory, n, token, self.vocab)
        columns = embed_rows(self.emission_columns(), jnp.asarray(token)[None], None)[0]
        seen = memory.hidden[n] * self.lift(columns)
        total = jnp.sum(seen, axis=1)
        alive = total > 0
        logs = jnp.where(alive, memory.logs[n] + jnp.log(jnp.where(alive, total, 1)), -jnp.inf)
        logs = logs - jnp.where(jnp.any(alive), jnp.max(logs), 0)
        moved = chain.normalise(seen @ jnp.asarray(self.A).T)
        return MemoryFilter(
            memory.hidden.at[n + 1].set(moved.astype(memory.hidden.dtype)),
            memory.logs.at[n + 1].set(logs.astype(memory.logs.dtype)),
        )

    def law(self, memory: MemoryFilter, n: Scalar) -> Float[Array, " vocab"]:
        """`log P[X_{n+1} | X_{1:n}]`; -inf for what is impossible, everywhere after an impossible
        prefix."""
        n = check_place(self.begin, memory, n)
        tau = weights_of(jnp.asarray(self.pM), memory.logs[n])[:, None] * memory.hidden[n]
        return jnp.log(self.emission_columns() @ chain.normalise(self.unlift(tau)))

    def text(self, tokens: Any) -> str:
        """The tokens as numbers with spaces between them; see `Dyck.text` for padding."""
        return numbers_text(tokens, self.vocab)

    def supports(self, embeddings: Float[AnyArray, "T CH"]) -> Supports:
        """Which (configuration, state) pairs are possible, decided on truth values."""
        seen = check_embeddings(embeddings, self.configurations * self.hidden) > 0
        seen = seen.reshape(len(seen), self.configurations, self.hidden)
        each = jax.vmap(lambda rows: chain_supports(self.A, self.p0, rows), in_axes=1)(seen)
        alive = jnp.asarray(self.pM > 0)
        return Supports(
            jnp.moveaxis(each.others & alive[:, None, None], 0, 1).reshape(len(seen), -1),
            (each.start & alive[:, None]).reshape(-1),
            jnp.any(each.possible & alive),
        )

    def is_ergodic(self) -> bool:
        """Whether the moving chain is irreducible and aperiodic (the memory never is)."""
        return markov.is_primitive(np.asarray(self.A))

    def stationary(self) -> Float[np.ndarray, " hidden"]:
        """The stationary law of the moving chain; raises if it is not unique."""
        return markov.stationary_law(np.asarray(self.A))
