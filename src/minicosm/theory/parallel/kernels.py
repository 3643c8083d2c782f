"""Markov chains on all sequences, as dense matrices.

As in the source, and unlike the transition matrices of worlds, a kernel is row-stochastic:
`P[x, y]` is the probability of moving from x to y. States are numbered as in `Joint`.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from minicosm.worlds import Ising, Joint, MaskLaw
from minicosm.worlds.arrays import check_size
from minicosm.worlds.joint.ising import spins_of
from minicosm.worlds.joint.joint import context_sums, product_rows

from ..checks import Given, truths, whole
from ..signatures import checked
from .rules import LAW, MASK, SHARE, hidden, kernel, square
from .rules import masks as mask_law

MOST_DENSE = 2**11

Kernel = Float[np.ndarray, "states states"]


@checked(states=whole(0, None))
def check_dense(states: int) -> None:
    """Raise if a dense kernel on this many states would be too large."""
    if states > MOST_DENSE:
        raise ValueError(
            f"a kernel on {states} states would have {states**2:.2g} entries; dense kernels have at "
            f"most {MOST_DENSE} states. For a clique of equal spins use the lumped chains of "
            "`theory.parallel.lumped`, otherwise the samplers of `decoding.gibbs`"
        )


@checked(mask=MASK)
def contexts(joint: Joint, mask: Bool[np.ndarray, " N"]) -> Int[np.ndarray, "contexts block"]:
    """The states of every context `x_-K`, one row per context."""
    order = np.arange(len(joint.probabilities)).reshape(joint.shape)
    hidden = np.flatnonzero(mask)
    block = joint.vocab ** len(hidden)
    return np.moveaxis(order, hidden, range(joint.length - len(hidden), joint.length)).reshape(
        -1, block
    )


@checked(masks=mask_law)
def block_dynamics(joint: Joint, masks: MaskLaw) -> Kernel:
    """Draw `K ~ P(. | x)`, then `x_K ~ p(. | x_-K, K)` (Definitions 4.1.6, 4.1.8), seen on x alone:

    `P[x, y] = sum_K P(K | x) 1[y_-K = x_-K] p(y) P(K | y) / sum_{z: z_-K = x_-K} p(z) P(K | z)`.

    Reversible for p, and positive semidefinite. An impossible context stays as it is. Uniform masks of
    k positions give the k-Gibbs sampler (Definition 4.1.10).
    """
    states = len(joint.probabilities)
    check_dense(states)
    P = np.zeros((states, states))
    stays = np.zeros(states)
    for mask, law in masks.items(states):
        weights = joint.probabilities * law
        total = context_sums(weights, mask, joint.vocab)
        new = weights / np.where(total > 0, total, 1)
        stays += np.where(total > 0, 0, law)
        members = contexts(joint, mask)
        P[members[:, :, None], members[:, None, :]] += (
            law[members][:, :, None] * new[members][:, None]
        )
    # what a mask law leaves undefined at impossible states stays as well
    return P + np.diag(stays + np.maximum(1 - masks.table(states).sum(axis=1), 0) * masks.looks)


@checked(masks=mask_law)
def pair_chain(
    joint: Joint, masks: MaskLaw
) -> tuple[Float[np.ndarray, "pairs pairs"], Float[np.ndarray, " pairs"]]:
    """The adaptive chain as Eq. 4.26 writes it, on pairs (x, K) in the order of K, and its law.

    A step redraws `x_K ~ p(. | x_-K, K)` and leaves K as it is, so the chain falls into parts.
    """
    states = len(joint.probabilities)
    laws = [(mask, joint.probabilities * law) for mask, law in masks.items(states)]
    check_dense(states * len(laws))
    P = np.eye(states * len(laws))
    for at, (mask, weights) in enumerate(laws):
        members = contexts(joint, mask)
        block = weights[members]
        total = block.sum(axis=1, keepdims=True)
        new = block / np.where(total > 0, total, 1)
        rows = at * states + members
        stays = np.eye(block.shape[1]) * (total[:, :, None] == 0)
        P[rows[:, :, None], rows[:, None, :]] = stays + new[:, None, :]
    return P, np.concatenate([weights for _, weights in laws])


@checked(k=hidden)
def k_gibbs(joint: Joint, k: int) -> Kernel:
    """Block dynamics that hides k positions, all sets equally likely (Definition 4.1.10)."""
    return block_dynamics(joint, MaskLaw.uniform(joint.length, k))


@checked()
def parallel_laws(joint: Joint) -> Float[np.ndarray, "states N vocab"]:
    """`[x, i, v] = p(x_i = v | x_-i)`; an impossible context keeps its token."""
    laws = np.zeros((len(joint.probabilities), joint.length, joint.vocab))
    tokens = joint.states
    for i in range(joint.length):
        members = contexts(joint, np.arange(joint.length) == i)  # token v is in column v
        block = joint.probabilities[members]
        total = block.sum(axis=1, keepdims=True)
        law = np.where(total > 0, block / np.where(total > 0, total, 1), 0)
        laws[members, i] = law[:, None, :]
        stuck = laws[:, i].sum(axis=1) == 0
        laws[stuck, i, tokens[stuck, i]] = 1
    return laws


@checked()
def independent_parallel(joint: Joint) -> Kernel:
    """All positions at once, `x_i' ~ p(. | x_-i)` with the old x (Definition 4.1.11)."""
    check_dense(len(joint.probabilities))
    return product_rows(parallel_laws(joint))


@checked(keep=SHARE)
def denoiser_laws(joint: Joint, keep: float) -> Float[np.ndarray, "states N vocab"]:
    """`[y, i, v] = P[X_i = v | Y = y]`, Y being X with each token kept with probability `keep` and
    otherwise drawn uniformly: what a perfectly trained refinement decoder computes."""
    check_dense(len(joint.probabilities))
    V = joint.vocab
    noise = keep * np.eye(V) + (1 - keep) / V
    likelihood: np.ndarray = np.ones((1, 1))  # [y, x]
    for _ in range(joint.length):
        likelihood = np.kron(likelihood, noise)
    posterior = likelihood * joint.probabilities
    total = posterior.sum(axis=1, keepdims=True)
    tokens = joint.states[:, :, None] == np.arange(V)
    laws = np.einsum("yx,xiv->yiv", posterior / np.where(total > 0, total, 1), tokens)
    stuck = total[:, 0] == 0
    laws[stuck] = tokens[stuck]
    return laws


@checked(keep=SHARE)
def denoiser(joint: Joint, keep: float, *, argmax: bool = False) -> Kernel:
    """Independent draws from the denoiser's laws, or their most likely tokens (the first of ties)."""
    laws = denoiser_laws(joint, keep)
    if argmax:
        laws = np.eye(joint.vocab)[laws.argmax(axis=2)]
    return product_rows(laws)


def parallel_stationary(
    h: Float[np.ndarray, " N"], J: Float[np.ndarray, "N N"]
) -> Float[np.ndarray, " states"]:
    """The law for which the independent parallel sampler of an Ising world is reversible:

    `pi(x) ∝ exp(h . x) prod_i 2 cosh(h_i + sum_j J_ij x_j)`. It is not the world's own law.
    """
    world = Ising(h, J)
    h, J, x = world.h, world.J, spins_of(world.length)
    field = h + x @ J
    logs = x @ h + np.logaddexp(field, -field).sum(axis=1)
    p = np.exp(logs - logs.max())
    return p / p.sum()


# -- what a kernel does -------------------------------------------------------------------------


@checked(P=square)
def stochastic_error(P: Kernel) -> float:
    """How far rows are from laws: `max(|row sum - 1|, -entry)`."""
    return float(max(np.abs(P.sum(axis=1) - 1).max(), -P.min()))


@checked(P=square, mu=LAW)
def reversibility_error(P: Kernel, mu: Float[np.ndarray, " states"]) -> float:
    """`max |mu(x) P(x, y) - mu(y) P(y, x)|`."""
    flow = mu[:, None] * P
    return float(np.abs(flow - flow.T).max())


@checked(P=kernel)
def stationary(P: Kernel) -> Float[np.ndarray, " states"]:
    """The stationary law; raise if it is not unique, decided on which moves are possible.

    States are eliminated one by one without a subtraction (Grassmann, Taksar and Heyman), so that the
    law of a chain that crosses between modes once in 1e30 steps is right to many digits.
    """
    classes = closed_classes(np.asarray(P) > 0)
    if len(classes) != 1:
        raise ValueError(
            f"the chain has {len(classes)} closed classes; its stationary law is not unique"
        )
    inside = classes[0]
    A = P[np.ix_(inside, inside)].astype(np.float64)
    for i in range(len(A) - 1, 0, -1):
        A[:i, i] /= A[i, :i].sum()
        A[:i, :i] += np.outer(A[:i, i], A[i, :i])
    found = np.ones(len(A))
    for i in range(1, len(A)):
        found[i] = found[:i] @ A[:i, i]
    mu = np.zeros(len(P))
    mu[inside] = found / found.sum()
    return mu


def _moves(name: str, value: Any, given: Given) -> np.ndarray:
    found = truths((None, None))(name, value, given)
    if found.shape[0] != found.shape[1] or not found.size:
        raise ValueError(f"{name} has shape {found.shape}; it must be square")
    return found


@checked(moves=_moves)
def closed_classes(moves: Bool[np.ndarray, "states states"]) -> list[Int[np.ndarray, " members"]]:
    """Classes of states that reach one another and nothing else."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(csr_array(moves), directed=True, connection="strong")
    leaves = np.zeros(count, bool)
    x, y = np.nonzero(moves)
    leaves[labels[x[labels[x] != labels[y]]]] = True
    return [np.flatnonzero(labels == c) for c in range(count) if not leaves[c]]


@checked(P=kernel, start=LAW, steps=whole())
def evolve(
    P: Kernel, start: Float[np.ndarray, " states"], steps: int
) -> Float[np.ndarray, "times states"]:
    """The laws of the chain after 0, 1, ..., `steps` steps."""
    check_size(f"the laws after 0..{steps} steps", (steps + 1) * len(P))
    laws = [np.asarray(start, np.float64)]
    for _ in range(steps):
        laws.append(laws[-1] @ P)
    return np.stack(laws)


@checked(mask=MASK)
def fixed_block(joint: Joint, mask: Bool[np.ndarray, " N"]) -> Kernel:
    """Resample one block that is chosen beforehand, `x_K ~ p(. | x_-K)`."""
    check_dense(len(joint.probabilities))
    members = contexts(joint, mask)
    p = joint.probabilities[members]
    P = np.zeros((len(joint.probabilities),) * 2)
    total = p.sum(axis=1, keepdims=True)
    stays = np.eye(p.shape[1]) * (total[:, :, None] == 0)  # as in `block_dynamics`
    new = p / np.where(total > 0, total, 1)
    P[members[:, :, None], members[:, None, :]] = stays + new[:, None]
    return P
