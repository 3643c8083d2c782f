"""Samplers that resample blocks of positions, compiled and for many chains at once.

A chain is a callable `chain(key, state) -> state`, a pytree whose numbers may be stacked and vmapped. States
of laws that are written out are numbers of sequences, as in `Joint`; states of a clique are spins.
"""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32
from scipy.special import gammaln

from minicosm.worlds import CliqueIsing, Joint, MaskLaw
from minicosm.worlds.arrays import AnyArray, check_count, is_concrete
from minicosm.worlds.joint.masks import check_k

# Entries of each of the three tables, 20 bytes an entry together: 336 MB, and 1.1 GB while a chain runs.
MOST_TABLE = 2**24


@runtime_checkable
class Chain(Protocol):
    """One step of a Markov chain."""

    def __call__(self, key: PRNGKeyArray, state: Array) -> Array: ...


class BlockDynamics(eqx.Module):
    """Draw `K ~ P(. | x)`, then `x_K ~ p(. | x_-K, K)` (Definitions 4.1.6, 4.1.8, 4.1.10).

    A context of probability zero, and a state without a mask law, stay as they are.
    """

    log_joint: Float[AnyArray, "M states"]  # log p(x) P(K | x)
    log_masks: Float[AnyArray, "states M"]  # log P(K | x)
    context: Int[AnyArray, "M states"]  # which context of K a state belongs to

    def __init__(self, joint: Joint, masks: MaskLaw):
        masks.check(joint)
        states, M = len(joint.probabilities), len(masks.masks)
        if states * M > MOST_TABLE:
            raise ValueError(
                f"{M} masks of {states} sequences make a table of {M * states:.2g} entries; at most "
                f"{MOST_TABLE:.2g} fit. A clique of equal spins has `CliqueGibbs`"
            )
        table = masks.table(states)
        place = joint.vocab ** np.arange(joint.length)[::-1]
        with np.errstate(divide="ignore"):
            self.log_masks = np.log(table)
            self.log_joint = np.log(joint.probabilities * table.T)
        self.context = ((~masks.masks * place) @ joint.states.T).astype(np.int32)

    def __call__(self, key: PRNGKeyArray, state: Int[Array, ""]) -> Int[Array, ""]:
        first, second = jax.random.split(key)
        m = jax.random.categorical(first, jnp.asarray(self.log_masks)[state])
        context = jnp.asarray(self.context)[m]
        logits = jnp.where(context == context[state], jnp.asarray(self.log_joint)[m], -jnp.inf)
        # The mask drawn is impossible only if all are; the same holds for the new state.
        new = jax.random.categorical(second, logits)
        possible = jnp.isfinite(jnp.asarray(self.log_masks)[state, m]) & jnp.isfinite(logits[new])
        return jnp.where(possible, new, state).astype(state.dtype)


class ProductChain(eqx.Module):
    """All positions at once and independently, `x_i' ~ laws[x, i]`: the independent parallel sampler
    (Definition 4.1.11), a denoiser, or any decoder that predicts in parallel."""

    laws: Float[AnyArray, "states N vocab"]

    def __call__(self, key: PRNGKeyArray, state: Int[Array, ""]) -> Int[Array, ""]:
        N, V = self.laws.shape[1:]
        tokens = jax.random.categorical(key, jnp.log(jnp.asarray(self.laws)[state]), axis=-1)
        place = jnp.asarray(V ** np.arange(N)[::-1], state.dtype)
        return jnp.sum(tokens.astype(state.dtype) * place)


class CliqueGibbs(eqx.Module):
    """The k-Gibbs sampler of a clique of equal spins, of any size: state = spins -1 and +1.

    Given the visible spins, the number v of + among j hidden clique spins has weights
    `binom(j, v) exp(E)`, and which of them are + is uniform. Spins outside the clique are free.
    `k` and `coupling` are numbers, so that chains for many of them are one program under vmap. Chances
    below 1e-7 are not resolved in float32: the lumped chains of `theory.parallel.lumped` are exact.
    """

    coupling: Float[AnyArray, ""]
    field: Float[AnyArray, ""]
    outside: Float[AnyArray, " free"]
    k: Int[AnyArray, ""]
    clique: int = eqx.field(static=True)

    def __init__(self, world: CliqueIsing, k: int):
        lumped = world.lumped()
        k = check_k(k, world.length)
        self.coupling, self.field = np.asarray(lumped.coupling), np.asarray(lumped.field)
        self.outside, self.k = world.h[world.clique :], np.asarray(k, np.int32)
        self.clique = world.clique

    def __call__(self, key: PRNGKeyArray, state: Int[Array, " N"]) -> Int[Array, " N"]:
        c, N = self.clique, state.shape[0]
        bits = jax.random.bits(key, (2 * N - c + 1,))  # one draw: each further one costs compiling
        keys, free, number = distinct(bits[:N]), unit(bits[N:-1]), unit(bits[-1])
        hidden = smallest(keys, jnp.asarray(self.k))
        inside = hidden[:c]
        j = jnp.sum(inside)
        stay = jnp.sum(jnp.where(inside, 0, state[:c]))  # sum of the clique's visible spins
        v = jnp.arange(c + 1)
        total = stay + 2.0 * v - j
        energy = jnp.asarray(self.coupling) * total**2 / 2 + jnp.asarray(self.field) * total
        factorial = jnp.asarray(gammaln(np.arange(1, c + 2)), energy.dtype)
        choose = factorial[j] - factorial[v] - factorial[jnp.maximum(j - v, 0)]
        weights = jnp.where(v <= j, choose + energy, -jnp.inf)
        steps = jnp.cumsum(jnp.exp(weights - weights.max()))
        up = jnp.minimum(jnp.sum(steps <= number * steps[-1]), j)
        # Which spins are hidden says nothing of the order of their keys: it chooses those that are +.
        chosen = smallest(jnp.where(inside, keys[:c], jnp.uint32(2**32 - 1)), up)
        clique = jnp.where(inside, jnp.where(chosen, 1, -1), state[:c])
        new = jnp.where(free < jax.nn.sigmoid(2 * jnp.asarray(self.outside)), 1, -1)
        rest = jnp.where(hidden[c:], new, state[c:])
        return jnp.concatenate([clique, rest]).astype(state.dtype)


class CliqueParallel(eqx.Module):
    """The independent parallel sampler of a clique with free spins next to it: state = spins."""

    coupling: Float[AnyArray, ""]
    h: Float[AnyArray, " N"]
    clique: int = eqx.field(static=True)

    def __init__(self, world: CliqueIsing):
        self.coupling, self.h, self.clique = np.asarray(world.coupling), world.h, world.clique

    def __call__(self, key: PRNGKeyArray, state: Int[Array, " N"]) -> Int[Array, " N"]:
        inside = np.arange(state.shape[0]) < self.clique
        total = jnp.sum(jnp.where(inside, state, 0))
        field = jnp.asarray(self.h) + jnp.where(inside, self.coupling * (total - state), 0)
        up = jax.random.uniform(key, state.shape) < jax.nn.sigmoid(2 * field)
        return jnp.where(up, 1, -1).astype(state.dtype)


def unit(bits: UInt32[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Uniform numbers in [0, 1) from random bits, 24 of them used."""
    return (bits >> 8).astype(jnp.float32) * 2.0**-24


def distinct(bits: UInt32[Array, " n"]) -> UInt32[Array, " n"]:
    """Random bits without equals: the lowest are replaced by the index."""
    low = max(1, (bits.shape[0] - 1).bit_length())
    return (bits >> low << low) | jnp.arange(bits.shape[0], dtype=jnp.uint32)


def smallest(keys: UInt32[Array, " n"], count: Int[Array, ""]) -> Bool[Array, " n"]:
    """Which are the `count` smallest of distinct keys.

    A few are ranked by comparing all pairs; of many, the last to be chosen is found bit by bit. On a
    CPU, batches of sorts take ten times as long as the one and twice as long as the other.
    """
    if keys.shape[0] <= 32:
        return jnp.sum(keys[None, :] < keys[:, None], axis=1) < count

    def narrow(i: Array, largest: UInt32[Array, ""]) -> UInt32[Array, ""]:
        higher = largest | (jnp.uint32(2**31) >> i.astype(jnp.uint32))
        return jnp.where(jnp.sum(keys < higher) < count, higher, largest)

    return (keys <= jax.lax.fori_loop(0, 32, narrow, jnp.uint32(0))) & (count > 0)


def check_starts(chain: Chain, starts: Any, *, many: bool) -> None:
    """Raise if a start is no state of the chain; values under a trace are trusted."""
    if not is_concrete(starts):
        return
    values, shape = np.asarray(starts), tuple[int, ...]()
    if isinstance(chain, BlockDynamics | ProductChain):
        table = chain.log_masks if isinstance(chain, BlockDynamics) else chain.laws
        inside = (values >= 0) & (values < table.shape[0])
        needs = f"the number of a sequence, 0..{table.shape[0] - 1}"
    elif isinstance(chain, CliqueGibbs | CliqueParallel):
        free = chain.h[chain.clique :] if isinstance(chain, CliqueParallel) else chain.outside
        shape, inside = (chain.clique + free.shape[0],), np.abs(values) == 1
        needs = f"{shape[0]} spins -1 and +1"
    else:  # a chain of the user's
        return
    if values.shape[many:] != shape or values.ndim != len(shape) + many or not values.size:
        raise ValueError(
            f"the {'starts have' if many else 'start has'} shape {values.shape}; "
            f"{'each' if many else 'it'} must be {needs}"
        )
    if values.dtype.kind not in "iu" or not inside.all():
        wrong = values.ravel()[np.argmin(inside)]
        raise ValueError(f"a start has {wrong} of dtype {values.dtype}; it must be {needs}")


def trajectory(
    chain: Chain, key: PRNGKeyArray, start: Int[AnyArray, "*state"] | int | np.integer, steps: int
) -> Int[Array, "steps *state"]:
    """The states after 1, ..., `steps` steps of one chain."""
    check_starts(chain, start, many=False)
    return _trajectory(chain, key, start, check_count("steps", steps))


@eqx.filter_jit
def _trajectory(chain: Chain, key: PRNGKeyArray, start: Any, steps: int) -> Int[Array, "..."]:
    def step(state: Array, key: PRNGKeyArray) -> tuple[Array, Array]:
        state = chain(key, state)
        return state, state

    return jax.lax.scan(step, jnp.asarray(start), jax.random.split(key, steps))[1]


def run_chains(
    chain: Chain, key: PRNGKeyArray, starts: Int[AnyArray, "chains *state"], steps: int
) -> Int[Array, "chains *state"]:
    """The last states of independent chains, one for each start."""
    check_starts(chain, starts, many=True)
    return _run_chains(chain, key, starts, check_count("steps", steps, least=0))


@eqx.filter_jit
def _run_chains(chain: Chain, key: PRNGKeyArray, starts: Any, steps: int) -> Int[Array, "..."]:
    def step(states: Array, key: PRNGKeyArray) -> tuple[Array, None]:
        return jax.vmap(chain)(jax.random.split(key, states.shape[0]), states), None

    return jax.lax.scan(step, jnp.asarray(starts), jax.random.split(key, steps))[0]


def hitting_steps(
    chain: Chain,
    key: PRNGKeyArray,
    starts: Int[AnyArray, "chains *state"],
    target: Any,
    budget: int | Int[Array, ""],
) -> Int[Array, " chains"]:
    """The first step at which `target(state)` is true, or `budget` if it was not by then.

    Step 0 is the start. All chains run until the last has arrived or the budget is used.
    """
    check_starts(chain, starts, many=True)
    return _hitting_steps(chain, key, starts, target, budget)


@eqx.filter_jit
def _hitting_steps(
    chain: Chain, key: PRNGKeyArray, starts: Any, target: Any, budget: Any
) -> Int[Array, " chains"]:
    starts = jnp.asarray(starts)

    def go(carry: tuple[Any, ...]) -> Bool[Array, ""]:
        t, _, _, arrived, _ = carry
        return (t < budget) & ~jnp.all(arrived)

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        t, states, steps, arrived, key = carry
        key, use = jax.random.split(key)
        moved = jax.vmap(chain)(jax.random.split(use, states.shape[0]), states)
        still = arrived.reshape(-1, *(1,) * (states.ndim - 1))
        states = jnp.where(still, states, moved)
        steps = jnp.where(arrived, steps, t + 1)
        return t + 1, states, steps, arrived | jax.vmap(target)(states), key

    arrived = jax.vmap(target)(starts)
    zero = jnp.zeros(starts.shape[0], jnp.int32)
    return jax.lax.while_loop(go, step, (jnp.int32(0), starts, zero, arrived, key))[2]
