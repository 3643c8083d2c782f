"""The propositions, claims and lemmas behind Theorems 3.3 and 3.6, each as its largest error.

The referee of Lemmas C.1 and C.2 is `enumerate_paths`, a plain sum over hidden paths that uses no
message passing. It grows as |H|^T, so these lemmas are checked on a few states and tokens.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.worlds import HMM
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.hmm.draws import generator

from ..linear_algebra import RANK_TOLERANCE, rank_test
from .assumptions import Condition, covering, first_law, nondegenerate, regular

MAX_PATHS = 2_000_000


class ConditionalIndependence(NamedTuple):
    """Proposition 3.4 on one joint law."""

    premise: (
        float  # largest |P[U, V | Z] - P[U | Z] P[V | Z]|: zero if U and V are independent given Z
    )
    identity: float  # largest |P[U | V] - P[U | Z] P[Z | V]|
    recovery: float | None  # largest |P[Z | V] - P[U | Z]^+ P[U | V]|; None without a left inverse


def proposition_3_4(joint: Float[np.ndarray, "U V Z"]) -> ConditionalIndependence:
    """If U and V are independent given Z then `P[U | V] = P[U | Z] P[Z | V]`, and a left inverse of
    `P[U | Z]` recovers `P[Z | V]`. Values of V and Z with probability zero are left out."""
    joint = np.asarray(joint, np.float64)
    joint = joint[:, joint.sum(axis=(0, 2)) > 0][:, :, joint.sum(axis=(0, 1)) > 0]
    p_z = joint.sum(axis=(0, 1))
    p_v = joint.sum(axis=(0, 2))
    u_given_z = joint.sum(axis=1) / p_z
    v_given_z = joint.sum(axis=0) / p_z
    z_given_v = joint.sum(axis=0).T / p_v
    u_given_v = joint.sum(axis=2) / p_v
    premise = np.abs(joint / p_z - u_given_z[:, None] * v_given_z[None]).max()
    identity = np.abs(u_given_v - u_given_z @ z_given_v).max()
    recovery = None
    if rank_test(u_given_z).rank == u_given_z.shape[1]:
        inverse = np.linalg.pinv(u_given_z, rcond=RANK_TOLERANCE)
        recovery = float(np.abs(z_given_v - inverse @ u_given_v).max())
    return ConditionalIndependence(float(premise), float(identity), recovery)


def conditionally_independent_joint(
    key: PRNGKeyArray, u: int, v: int, z: int
) -> Float[np.ndarray, "U V Z"]:
    """A random joint `P[Z] P[U | Z] P[V | Z]` with Dirichlet(1) factors."""
    rng = generator(key)
    p_z = rng.dirichlet(np.ones(z))
    p_u = rng.dirichlet(np.ones(u), size=z).T
    p_v = rng.dirichlet(np.ones(v), size=z).T
    return np.einsum("z,uz,vz->uvz", p_z, p_u, p_v)


def claim_b1(
    world: HMM, sequences: Int[np.ndarray, "n T"], i: int = 1, *, printed: bool = False
) -> float:
    """Claim B.1: `P[H_i | X_{i+1:T+i} = x] = r_x (p_i / p0) * P[H_0 | X_{1:T} = x]`,

    `r_x = Pr(X_{1:T} = x) / Pr(X_{i+1:T+i} = x)`. Returns the largest error over possible x.
    The second line of the printed proof divides by `Pr(X_{i+1:T+1})`, an event about the first
    T + 1 - i tokens only; `printed=True` uses it (for i > 1 the identity then fails).
    """
    T = sequences.shape[1]
    if i < 1 or (printed and i > T):
        raise ValueError(f"i is {i}; it must be at least 1 (and at most T = {T} as printed)")
    with jax.enable_x64(True):
        cut = T + 1 - i if printed else T
        errors = _claim_b1(world, np.asarray(sequences), i, cut)
        return float(jnp.max(errors))


@eqx.filter_jit
def _claim_b1(world: HMM, sequences: Int[AnyArray, "n T"], i: int, cut: int) -> Float[Array, " n"]:
    A, p0 = jnp.asarray(world.A), jnp.asarray(world.p0)
    p_i = jnp.linalg.matrix_power(A, i) @ p0
    ratio = jnp.where(p0 > 0, p_i / jnp.where(p0 > 0, p0, 1), 0)

    def one(tokens):
        later = jnp.pad(tokens, (i, 0))
        seen = jnp.arange(later.shape[0]) >= i
        left = world.posterior(later, seen).hidden[i]
        total = world.log_prob(later, seen & (jnp.arange(later.shape[0]) < i + cut))
        here = world.log_prob(tokens)
        right = jnp.exp(here - total) * ratio * world.posterior(tokens).hidden[0]
        possible = world.supports(world.embed(tokens)).possible
        return jnp.where(possible, jnp.max(jnp.abs(left - right)), 0)

    return jax.vmap(one)(sequences)


def enumerate_paths(
    A: Float[np.ndarray, "H H"],
    p0: Float[np.ndarray, " H"],
    seen: Float[np.ndarray, "n T H"],
) -> Float[np.ndarray, "n T H"]:
    """`P[H_i = h, what is seen at all other positions]` by an explicit sum over hidden paths.

    `seen[s, j, h]` is the probability of what sequence s shows at position j in state h.
    """
    count, T, H = seen.shape
    if H ** (T + 1) > MAX_PATHS:
        raise ValueError(f"{H} states make {H ** (T + 1)} paths of length {T}; at most {MAX_PATHS}")
    paths = np.indices((H,) * (T + 1)).reshape(T + 1, -1)  # h_0 .. h_T
    prior = p0[paths[0]] * np.prod(A[paths[1:], paths[:-1]], axis=0)
    shown = np.stack([seen[:, j, paths[j + 1]] for j in range(T)])  # (T, n, paths)
    result = np.zeros((count, T, H))
    for i in range(T):
        weights = prior * np.prod(np.delete(shown, i, axis=0), axis=0)
        for h in range(H):
            result[:, i, h] = weights[:, paths[i + 1] == h].sum(axis=1)
    return result


def prompted_emissions(
    world: HMM, u: Float[np.ndarray, " H"]
) -> tuple[Float[np.ndarray, "tokens H"], Float[np.ndarray, "tokens H"]]:
    """Emission tables of the modified HMM, `P[X^_1 | H_1]` and `P[X^_i | H_i]` for i > 1.

    The last row is the fake token z~: `P[X^_1 = z~ | H_1] = u`, `P[X^_1 = z | H_1] = (1 - u) * e(z)`,
    and z~ never occurs at later positions.
    """
    W, u = np.asarray(world.W, np.float64), np.asarray(u, np.float64)
    if u.shape != (world.hidden,) or (u < 0).any() or (u > 1).any():
        raise ValueError(f"u must have shape ({world.hidden},) and entries in [0, 1]")
    return np.vstack([(1 - u) * W, u]), np.vstack([W, np.zeros_like(u)])


class PromptLemma(NamedTuple):
    """Lemma C.1 on one world and prompt row."""

    messages: float  # largest |tau_i - P[H_i, X^_-i]|, all positions
    outputs: float  # largest |G_i - P[X^_i | X^_-i]|, positions i > 1
    impossible: int  # contexts (x, i > 1) of probability zero
    largest_impossible: float  # largest output there: the lemma says exactly zero


def lemma_c1(
    world: HMM, u: Float[np.ndarray, " H"], sequences: Int[np.ndarray, "n T"]
) -> PromptLemma:
    """Lemma C.1: a prompt row u is a fake token z~ emitted at position 1 with probabilities u.

    `tau_i(u, ∅, x) = P[H_i, X^_-i = (z~, ∅, x)_-i]` for all i, and for i > 1 the model's output is
    `P[X^_i | X^_-i = (z~, ∅, x)_-i]`, the zero vector if that context is impossible.
    """
    tau = _prompted_law(world, u, sequences)
    later = np.asarray(world.W, np.float64)
    total = tau.sum(axis=2, keepdims=True)
    possible = total[:, 1:, 0] > 0
    law = np.divide(tau, total, out=np.zeros_like(tau), where=total > 0) @ later.T
    with jax.enable_x64(True):
        messages, outputs = map(
            np.asarray, _message_passing(world, np.asarray(u, np.float64), np.asarray(sequences))
        )
    zero = outputs[:, 1:][~possible]
    return PromptLemma(
        float(np.abs(messages - tau).max()),
        float(np.abs(outputs - law)[:, 1:].max()),
        int((~possible).sum()),
        float(np.abs(zero).max()) if zero.size else 0.0,
    )


def _prompted_law(
    world: HMM, u: Float[np.ndarray, " H"], sequences: Int[np.ndarray, "n T"]
) -> Float[np.ndarray, "n T+2 H"]:
    """`P[H_i, X^_-i = (z~, ∅, x)_-i]` in the modified HMM, by enumeration."""
    first, later = prompted_emissions(world, u)
    fake = np.broadcast_to(first[-1], (len(sequences), 1, world.hidden))
    missing = np.ones((len(sequences), 1, world.hidden))
    seen = np.concatenate([fake, missing, later[np.asarray(sequences)]], axis=1)
    return enumerate_paths(np.asarray(world.A, np.float64), np.asarray(world.p0, np.float64), seen)


@eqx.filter_jit
def _message_passing(world: HMM, u: Float[AnyArray, " H"], sequences: Int[AnyArray, "n T"]):
    def one(tokens):
        rows = jnp.concatenate([u[None], jnp.ones((1, world.hidden)), world.embed(tokens)])
        m = world.messages(rows)
        scale = jnp.exp(m.forward_log + m.backward_log[1:])
        return scale[:, None] * m.forward * m.backward[1:], world.predict(rows)

    return jax.vmap(one)(sequences)


def lemma_c2(world: HMM, u: Float[np.ndarray, " H"], sequences: Int[np.ndarray, "n T"]) -> float:
    """Lemma C.2: `P[H_2 | X^_1 = z~, X^_{3:T+2} = x] = r_x (1 / p0) * (A (u * p1)) * P[H_0 | x]`,

    `r_x = Pr(X_{1:T} = x) / Pr(X^_1 = z~, X^_{3:T+2} = x)`. Both sides by enumeration; returns the
    largest error over the x that are possible together with z~. Needs p0 > 0.
    """
    sequences = np.asarray(sequences)
    A, W = np.asarray(world.A, np.float64), np.asarray(world.W, np.float64)
    p0 = np.asarray(world.p0, np.float64)
    if (p0 == 0).any():
        raise ValueError(f"p0[{int(np.argmin(p0))}] is 0; Lemma C.2 needs p0 > 0")
    tau = _prompted_law(world, u, sequences)[:, 1]  # P[H_2, z~, x]
    together = tau.sum(axis=1)
    seen = W[sequences]
    start = np.stack(  # P[H_0 = h, x]: one enumeration from each start state
        [p0[h] * _likelihood(A, np.eye(len(p0))[h], seen) for h in range(world.hidden)], axis=1
    )
    alone = start.sum(axis=1)
    both = (together > 0) & (alone > 0)
    left = tau[both] / together[both, None]
    posterior = start[both] / alone[both, None]
    r = alone[both] / together[both]
    right = r[:, None] / p0 * (A @ (np.asarray(u) * first_law(world))) * posterior
    return float(np.abs(left - right).max()) if both.any() else 0.0


def _likelihood(
    A: Float[np.ndarray, "H H"], start: Float[np.ndarray, " H"], seen: Float[np.ndarray, "n T H"]
) -> Float[np.ndarray, " n"]:
    """`Pr(all that is seen)`: an unseen position at the end leaves the sum over all paths."""
    padded = np.concatenate([seen, np.ones_like(seen[:, :1])], axis=1)
    return enumerate_paths(A, start, padded)[:, -1].sum(axis=1)


def nondegenerate_implies_covering(world: HMM, mu: Any) -> tuple[bool, Condition]:
    """Assumptions 3.1 and 3.2 give 3.5 with B = H: whether the implication holds, and 3.5 for B = H."""
    condition = covering(world, mu, sources=range(world.hidden))
    premise = nondegenerate(world).holds and regular(world).holds
    return condition.holds or not premise, condition
