"""Slips in the printed proofs of Section 3, as functions whose results show them.

None of them touches a theorem; each function evaluates the printed formula beside the right one.
"""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from minicosm.worlds import HMM, PosteriorTask

from ..certify import all_sequences
from ..linear_algebra import rank_test
from .assumptions import first_law
from .lemmas import enumerate_paths, prompted_emissions
from .linear_head import outputs_and_scores, pseudo_inverse_head
from .prompt_head import reached


def message_form(
    world: HMM, rows: Float[np.ndarray, "n T H"], *, divide: bool = True
) -> Float[np.ndarray, "n T V"]:
    """The paper's own message passing: reversed kernels to the left, forward kernels to the right.

        left_T = P[H_T],   left_{i-1} = P[H_{i-1} | H_i] (left_i * v_i)
        right_1 = P[H_1],  right_{i+1} = A (right_i * v_i)
        tau_1 = left_1,  tau_T = right_T,  tau_i = left_i * right_i / P[H_i] in between

    (C.1) prints the last without the division, which counts the prior twice: `divide=False`.
    """
    A, W = np.asarray(world.A, np.float64), np.asarray(world.W, np.float64)
    T = rows.shape[1]
    laws = [first_law(world)]
    for _ in range(T - 1):
        laws.append(A @ laws[-1])

    def over(numerator, denominator):
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
            tau = over(left[i] * right[i], laws[i]) if divide else left[i] * right[i]
        outputs.append(over(tau, tau.sum(axis=1, keepdims=True)) @ W.T)
    return np.stack(outputs, axis=1)


class MessageGap(NamedTuple):
    """How far (C.1) is from the exact conditionals, by enumeration."""

    with_division: float
    without_division: float


def message_form_gap(world: HMM, sequences: Int[np.ndarray, "n T"]) -> MessageGap:
    """Largest error of `message_form` over all positions, against a sum over hidden paths."""
    W = np.asarray(world.W, np.float64)
    rows = W[np.asarray(sequences)]
    tau = enumerate_paths(np.asarray(world.A, np.float64), np.asarray(world.p0, np.float64), rows)
    total = tau.sum(axis=2, keepdims=True)
    exact = np.divide(tau, total, out=np.zeros_like(tau), where=total > 0) @ W.T
    gap = [float(np.abs(message_form(world, rows, divide=d) - exact).max()) for d in (True, False)]
    return MessageGap(*gap)


class NoLinearHead(NamedTuple):
    """Two possible sequences with the same output and different labels: no head of any kind works."""

    world: HMM
    task: PosteriorTask
    row_rank: int  # equal to the number of tokens: full row rank
    column_rank: int
    first: tuple[int, ...]
    second: tuple[int, ...]
    output_gap: float  # largest difference of G_1 on the two
    scores: tuple[float, float]  # exact scores mu . P, of opposite signs


def full_row_rank_counterexample(length: int = 3) -> NoLinearHead:
    """The proof of Theorem 3.3 asks W for full *row* rank; it needs full column rank.

    Here W has full row rank (2 tokens) and 4 states, two for each emission law, so the output at the
    placeholder says only which law is next. The states of a law differ in where they go, which the
    label depends on.
    """
    laws = np.array([[0.8, 0.3], [0.2, 0.7]])
    W = laws[:, [0, 0, 1, 1]]
    # The pairs {0, 1} and {2, 3} are entered alike from everywhere, so after a masked token both
    # members look ahead in their own way: 0 and 2 mostly into {0, 1}, 1 and 3 mostly into {2, 3}.
    into = np.array([[0.9, 0.1, 0.9, 0.1], [0.1, 0.9, 0.1, 0.9]])
    A = np.repeat(into / 2, 2, axis=0)
    world = HMM(A, W, np.full(4, 0.25))
    task = PosteriorTask([1.0, -1.0, 1.0, -1.0])
    sequences = all_sequences(2, length)
    with jax.enable_x64(True):
        outputs, scores = map(np.asarray, outputs_and_scores(world, task, sequences))
    gaps = np.abs(outputs[:, None] - outputs[None]).max(axis=2)
    opposite = (scores[:, None] > 1e-6) & (scores[None] < -1e-6)
    i, j = np.unravel_index(np.argmin(np.where(opposite, gaps, np.inf)), gaps.shape)
    return NoLinearHead(
        world,
        task,
        rank_test(W.T).rank,
        rank_test(W).rank,
        tuple(sequences[i].tolist()),
        tuple(sequences[j].tolist()),
        float(gaps[i, j]),
        (float(scores[i]), float(scores[j])),
    )


class Proportionality(NamedTuple):
    """What "P[X_1 = z | H_1] ∝ (1 - u) * e(z)" leaves open."""

    freedom: int  # dimension of the constants k_z that still give a probability law
    constants: Float[np.ndarray, " V"]  # one admissible choice, different from 1 if there is one
    law_gap: float  # by how much it changes Pr(X^_1 = z)
    equality_error: float  # by how much the columns miss 1 with k = 1: zero


def proportional_emission(world: HMM, u: Float[np.ndarray, " H"]) -> Proportionality:
    """Section 3.1 says `∝` where Lemma C.1 has `=`.

    `P[X_1 = z | H_1] = k_z (1 - u) * e(z)` is a law with `P[X_1 = z~ | H_1] = u` iff
    `sum_z k_z W[z, h] = 1` wherever u_h < 1. `k = 1` always works, so nothing needs normalising; with
    dependent rows other k work too and give another modified HMM. The model's output does not depend
    on k, since it is conditioned on z~.
    """
    table, _ = prompted_emissions(world, u)
    W = np.asarray(world.W, np.float64)[:, np.asarray(u) < 1]
    _, s, vt = np.linalg.svd(W.T)
    rank = int((s > 1e-10 * s[0]).sum()) if s.size else 0
    null = vt[rank:]
    constants = np.ones(world.vocab)
    if len(null):
        constants = constants + 0.5 * null[0] / np.abs(null[0]).max()
    before = table[:-1] @ first_law(world)
    gap = float(np.abs(constants * before - before).max())
    return Proportionality(len(null), constants, gap, float(np.abs(table.sum(axis=0) - 1).max()))


class PseudoInverseSlip(NamedTuple):
    """`W^^+ W D v` against `D v` (right) and against `W D v` (printed) in the proof of Theorem 3.6."""

    right: float
    printed: float  # the last |H| - |X| entries of D v are compared with zero where sizes differ


def pseudo_inverse_slip(
    world: HMM, star: tuple[int, ...], u: Float[np.ndarray, " H"], v: Float[np.ndarray, " H"]
) -> PseudoInverseSlip:
    """The proof says `W^^+ G = r W^^+ W D v = r W D v`; a left inverse on H* gives `r D v`.

    `W^^+` has the rows of `W[:, H*]^+` at H* and zeros elsewhere; v is supported on H* as
    `c * P[H_0 | x]` is. `W D v` has one entry per token, `W^^+ W D v` one per state, so the printed
    equation does not even type-check unless |X| = |H|; the shorter side is padded with zeros.
    """
    W = np.asarray(world.W, np.float64)
    inverse = np.zeros((world.hidden, world.vocab))
    inverse[list(star)] = np.linalg.pinv(W[:, list(star)])
    c = reached(world, u)
    Dv = np.where(c > 0, c, 0) * np.asarray(v) / np.asarray(world.p0, np.float64)
    got, claimed = inverse @ W @ Dv, W @ Dv
    size = max(world.hidden, world.vocab)
    padded = [np.pad(vector, (0, size - len(vector))) for vector in (got, claimed)]
    return PseudoInverseSlip(
        float(np.abs(got - Dv).max()), float(np.abs(padded[0] - padded[1]).max())
    )


def constant_on_duplicates(world: HMM, task: PosteriorTask, length: int) -> float:
    """The range of the pseudo-inverse head's score over all sequences of a length.

    Zero for two states with one emission law, contrasted by mu, if `p0 / p1` agrees on them.
    """
    head = pseudo_inverse_head(world, task)
    with jax.enable_x64(True):
        outputs, _ = outputs_and_scores(world, task, all_sequences(world.vocab, length))
    outputs = np.asarray(outputs)
    scores = outputs[outputs.sum(axis=1) > 0] @ np.asarray(head.weights).T
    return float(np.ptp(scores))
