"""The propositions, claims and lemmas that prove Theorems 3.3 and 3.6.

The referee of Lemmas C.1 and C.2 and of equation C.1 is `enumerate_paths`, a plain sum over hidden paths that
uses no message passing. It grows as |H|^T, so these lemmas are checked on a few states and tokens.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.adaptation.checks import check_key, check_reals, check_whole, unshared
from minicosm.worlds import HMM
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.hmm.draws import generator

from ..checks import check_sequences, reals
from ..linear_algebra import RANK_TOLERANCE, rank_test
from ..signatures import checked
from ..theorem import IDENTITY, Condition, Theorem
from .assumptions import check_world, covering, first_law, nondegenerate, one, regular

MAX_PATHS = 2_000_000


def proposition_3_4(joint: Float[np.ndarray, "U V Z"]) -> Theorem:
    """If U and V are independent given Z then `P[U | V] = P[U | Z] P[Z | V]`, and a left inverse of
    `P[U | Z]`, where there is one, recovers `P[Z | V]`. Values of V and Z with probability zero are
    left out. The error is the larger of the two; `details["recovery"]` is None without an inverse.
    """
    joint = np.asarray(check_reals("joint", joint, (None, None, None), least=0), np.float64)
    if abs(joint.sum() - 1) > 1e-8:
        raise ValueError(f"joint sums to {joint.sum():.6g}; it must sum to 1")
    joint = joint[:, joint.sum(axis=(0, 2)) > 0][:, :, joint.sum(axis=(0, 1)) > 0]
    p_z = joint.sum(axis=(0, 1))
    p_v = joint.sum(axis=(0, 2))
    u_given_z = joint.sum(axis=1) / p_z
    v_given_z = joint.sum(axis=0) / p_z
    z_given_v = joint.sum(axis=0).T / p_v
    u_given_v = joint.sum(axis=2) / p_v
    premise = float(np.abs(joint / p_z - u_given_z[:, None] * v_given_z[None]).max())
    factored = float(np.abs(u_given_v - u_given_z @ z_given_v).max())
    test = rank_test(u_given_z)
    recovery = None
    if test.rank == u_given_z.shape[1]:
        inverse = np.linalg.pinv(u_given_z, rcond=RANK_TOLERANCE)
        recovery = float(np.abs(z_given_v - inverse @ u_given_v).max())
    reason = f"P[U, V | Z] differs from P[U | Z] P[V | Z] by {premise:.3g}"
    independent = premise <= IDENTITY
    return Theorem.identity(
        "Proposition 3.4",
        float(np.max([factored, recovery or 0.0])),
        conditions=(
            Condition(
                "independence given Z",
                independent,
                {"largest difference": premise},
                "" if independent else reason,
            ),
        ),
        details={"factored": factored, "recovery": recovery, "condition": test.condition},
    )


def conditionally_independent_joint(
    key: PRNGKeyArray, u: int, v: int, z: int
) -> Float[np.ndarray, "U V Z"]:
    """A random joint `P[Z] P[U | Z] P[V | Z]` with Dirichlet(1) factors."""
    check_key("key", key)
    for name, size in (("u", u), ("v", v), ("z", z)):
        check_whole(name, size, 1, 400)
    rng = generator(key)
    p_z = rng.dirichlet(np.ones(z))
    p_u = rng.dirichlet(np.ones(u), size=z).T
    p_v = rng.dirichlet(np.ones(v), size=z).T
    return np.einsum("z,uz,vz->uvz", p_z, p_u, p_v)


def claim_b1(world: HMM, sequences: Int[np.ndarray, "n T"], i: int = 1) -> Theorem:
    """Claim B.1: `P[H_i | X_{i+1:T+i} = x] = r_x (p_i / p0) * P[H_0 | X_{1:T} = x]`,

    `r_x = Pr(X_{1:T} = x) / Pr(X_{i+1:T+i} = x)`, on all possible x.
    """
    check_world(world)
    i = check_whole("i", i, 1, 1000)
    sequences, _ = check_sequences(world, sequences)
    law = np.linalg.matrix_power(np.asarray(world.A, np.float64), i) @ world.p0
    longest = sequences.shape[1] + max(i, 3)  # one program serves all i up to 3
    with jax.enable_x64(True):
        found = _claim_b1(unshared(world), sequences, law, np.asarray(i), longest)
    errors, possible = map(np.asarray, found)
    worst = float(errors[possible].max()) if possible.any() else 0.0
    return Theorem.identity("Claim B.1", worst, cases=int(possible.sum()))


@eqx.filter_jit
def _claim_b1(
    world: HMM,
    sequences: Int[AnyArray, "n T"],
    law: Float[AnyArray, " H"],
    i: Int[AnyArray, ""],
    longest: int,
) -> tuple[Float[Array, " n"], Bool[Array, " n"]]:
    p0, count = jnp.asarray(world.p0), sequences.shape[1]
    ratio = jnp.where(p0 > 0, law / jnp.where(p0 > 0, p0, 1), 0)
    place = jnp.arange(longest)
    seen = (place >= i) & (place < i + count)

    def one(tokens: Int[Array, " T"]) -> tuple[Array, Array]:
        later = jnp.roll(jnp.pad(tokens, (0, longest - count)), i)
        left = world.posterior(later, seen).hidden[i]
        r = jnp.exp(world.log_prob(tokens) - world.log_prob(later, seen))
        right = r * ratio * world.posterior(tokens).hidden[0]
        return jnp.max(jnp.abs(left - right)), world.supports(world.embed(tokens)).possible

    return jax.vmap(one)(jnp.asarray(sequences))


@checked(
    A=reals((None, None), least=0, most=1),
    p0=reals(lambda given: (len(given["A"]),), least=0, most=1),
    seen=reals(lambda given: (None, None, len(given["A"])), least=0, most=1),
)
def enumerate_paths(
    A: Float[np.ndarray, "H H"],
    p0: Float[np.ndarray, " H"],
    seen: Float[np.ndarray, "n T H"],
) -> Float[np.ndarray, "n T H"]:
    """`P[H_i = h, what is seen at all other positions]` by an explicit sum over hidden paths.

    `seen[s, j, h]` is the probability of what sequence s shows at position j in state h.
    """
    count, T, H = seen.shape
    if A.shape != (H, H):
        raise ValueError(f"A has shape {A.shape}; it must be square")
    for name, sums in (("A", A.sum(axis=0)), ("p0", p0.sum(keepdims=True))):
        if np.abs(sums - 1).max() > 1e-5:  # what a world in single precision may be off
            raise ValueError(f"{name} sums to {sums.tolist()} along its columns; each must be 1")
    if (T + 1) * np.log(H) > np.log(MAX_PATHS):
        raise ValueError(
            f"seen has {T} positions, and {H} states make too many paths; at most {MAX_PATHS} are summed"
        )
    paths = np.indices((H,) * (T + 1)).reshape(T + 1, -1)  # h_0 .. h_T
    prior = p0[paths[0]] * np.prod(A[paths[1:], paths[:-1]], axis=0)
    shown = np.stack([seen[:, j, paths[j + 1]] for j in range(T)])  # (T, n, paths)
    result = np.zeros((count, T, H))
    for i in range(T):
        weights = prior * np.prod(np.delete(shown, i, axis=0), axis=0)
        for h in range(H):
            result[:, i, h] = weights[:, paths[i + 1] == h].sum(axis=1)
    return result


@checked(world=one(HMM), u=reals(lambda given: (given["world"].hidden,), least=0, most=1))
def prompted_emissions(
    world: HMM, u: Float[np.ndarray, " H"]
) -> tuple[Float[np.ndarray, "tokens H"], Float[np.ndarray, "tokens H"]]:
    """Emission tables of the modified HMM, `P[X^_1 | H_1]` and `P[X^_i | H_i]` for i > 1.

    The last row is the fake token z~: `P[X^_1 = z~ | H_1] = u`, `P[X^_1 = z | H_1] = (1 - u) * e(z)`,
    and z~ never occurs at later positions.
    """
    W = np.asarray(world.W, np.float64)
    return np.vstack([(1 - u) * W, u]), np.vstack([W, np.zeros_like(u)])


def lemma_c1(world: HMM, u: Float[np.ndarray, " H"], sequences: Int[np.ndarray, "n T"]) -> Theorem:
    """Lemma C.1: a prompt row u is a fake token z~ emitted at position 1 with probabilities u.

    `tau_i(u, ∅, x) = P[H_i, X^_-i = (z~, ∅, x)_-i]` for all i, and for i > 1 the model's output is
    `P[X^_i | X^_-i = (z~, ∅, x)_-i]`, the zero vector if that context is impossible. The error is the
    larger of the two; `details["output at impossible contexts"]` must be exactly zero.
    """
    check_world(world)
    sequences, _ = check_sequences(world, sequences)
    tau = _prompted_law(world, u, sequences)
    later = np.asarray(world.W, np.float64)
    total = tau.sum(axis=2, keepdims=True)
    possible = total[:, 1:, 0] > 0
    law = np.divide(tau, total, out=np.zeros_like(tau), where=total > 0) @ later.T
    with jax.enable_x64(True):
        messages, outputs = map(
            np.asarray, _message_passing(unshared(world), np.asarray(u, np.float64), sequences)
        )
    zero = np.abs(outputs[:, 1:][~possible])
    parts = [float(np.abs(messages - tau).max()), float(np.abs(outputs - law)[:, 1:].max())]
    return Theorem.identity(
        "Lemma C.1",
        float(np.max(parts)),
        cases=len(sequences),
        details={
            "messages": parts[0],
            "outputs": parts[1],
            "impossible contexts": int((~possible).sum()),
            "output at impossible contexts": float(zero.max()) if zero.size else 0.0,
        },
    )


def _prompted_law(
    world: HMM, u: Float[np.ndarray, " H"], sequences: Int[np.ndarray, "n T"]
) -> Float[np.ndarray, "n T+2 H"]:
    """`P[H_i, X^_-i = (z~, ∅, x)_-i]` in the modified HMM, by enumeration."""
    first, later = prompted_emissions(world, u)
    fake = np.broadcast_to(first[-1], (len(sequences), 1, world.hidden))
    missing = np.ones((len(sequences), 1, world.hidden))
    seen = np.concatenate([fake, missing, later[sequences]], axis=1)
    return enumerate_paths(np.asarray(world.A, np.float64), np.asarray(world.p0, np.float64), seen)


@eqx.filter_jit
def _message_passing(
    world: HMM, u: Float[AnyArray, " H"], sequences: Int[AnyArray, "n T"]
) -> tuple[Float[Array, "n L H"], Float[Array, "n L V"]]:
    def one(tokens: Int[Array, " T"]) -> tuple[Array, Array]:
        rows = jnp.concatenate([u[None], jnp.ones((1, world.hidden)), world.embed(tokens)])
        m = world.messages(rows)
        scale = jnp.exp(m.forward_log + m.backward_log[1:])
        return scale[:, None] * m.forward * m.backward[1:], world.predict(rows)

    return jax.vmap(one)(jnp.asarray(sequences))


def lemma_c2(world: HMM, u: Float[np.ndarray, " H"], sequences: Int[np.ndarray, "n T"]) -> Theorem:
    """Lemma C.2: `P[H_2 | X^_1 = z~, X^_{3:T+2} = x] = r_x (1 / p0) * (A (u * p1)) * P[H_0 | x]`,

    `r_x = Pr(X_{1:T} = x) / Pr(X^_1 = z~, X^_{3:T+2} = x)`. Both sides by enumeration, on
    all x that are possible together with z~. Needs p0 > 0.
    """
    check_world(world)
    sequences, _ = check_sequences(world, sequences)
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
    error = float(np.abs(left - right).max()) if both.any() else 0.0
    return Theorem.identity("Lemma C.2", error, cases=int(both.sum()))


def _likelihood(
    A: Float[np.ndarray, "H H"], start: Float[np.ndarray, " H"], seen: Float[np.ndarray, "n T H"]
) -> Float[np.ndarray, " n"]:
    """`Pr(all that is seen)`: an unseen position at the end leaves the sum over all paths."""
    padded = np.concatenate([seen, np.ones_like(seen[:, :1])], axis=1)
    return enumerate_paths(A, start, padded)[:, -1].sum(axis=1)


@checked(world=one(HMM))
def nondegenerate_implies_covering(world: HMM, mu: Any) -> Theorem:
    """Assumptions 3.1 and 3.2 give 3.5 with B = H and H* = H, for every mu."""
    found = covering(world, mu, sources=range(world.hidden))
    return Theorem.identity(
        "Assumptions 3.1 and 3.2 give 3.5",
        float(not found.holds),
        within=0.0,
        conditions=(nondegenerate(world), regular(world)),
    )


@checked(world=one(HMM), rows=reals(lambda given: (None, None, given["world"].hidden), least=0))
def message_form(world: HMM, rows: Float[np.ndarray, "n T H"]) -> Float[np.ndarray, "n T V"]:
    """The paper's own message passing: reversed kernels to the left, forward kernels to the right.

    left_T = P[H_T],   left_{i-1} = P[H_{i-1} | H_i] (left_i * v_i)
    right_1 = P[H_1],  right_{i+1} = A (right_i * v_i)
    tau_1 = left_1,  tau_T = right_T,  tau_i = left_i * right_i / P[H_i] in between
    """
    A, W = np.asarray(world.A, np.float64), np.asarray(world.W, np.float64)
    T = rows.shape[1]
    laws = [first_law(world)]
    for _ in range(T - 1):
        laws.append(A @ laws[-1])

    def over(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
        some = np.broadcast_to(denominator > 0, numerator.shape)
        return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=some)

    right = [np.broadcast_to(laws[0], rows[:, 0].shape)]
    for i in range(T - 1):
        right.append((right[i] * rows[:, i]) @ A.T)
    left = [np.broadcast_to(laws[-1], rows[:, 0].shape)]
    for i in range(T - 1, 0, -1):
        kernel = over(A * laws[i - 1], laws[i][:, None])  # [next, previous]
        left.insert(0, (left[0] * rows[:, i]) @ kernel)

    outputs = []
    for i in range(T):
        if i == 0:
            tau = left[0]
        elif i == T - 1:
            tau = right[-1]
        else:
            tau = over(left[i] * right[i], laws[i])
        outputs.append(over(tau, tau.sum(axis=1, keepdims=True)) @ W.T)
    return np.stack(outputs, axis=1)


def equation_c1(world: HMM, sequences: Int[np.ndarray, "n T"]) -> Theorem:
    """Equation C.1: the outputs of `message_form` are the exact conditionals at every position."""
    check_world(world)
    sequences, _ = check_sequences(world, sequences)
    W = np.asarray(world.W, np.float64)
    rows = W[sequences]
    tau = enumerate_paths(np.asarray(world.A, np.float64), np.asarray(world.p0, np.float64), rows)
    total = tau.sum(axis=2, keepdims=True)
    exact = np.divide(tau, total, out=np.zeros_like(tau), where=total > 0) @ W.T
    error = float(np.abs(message_form(world, rows) - exact).max())
    return Theorem.identity("Equation C.1", error, cases=len(sequences))
