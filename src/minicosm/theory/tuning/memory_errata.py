"""Slips in the printed proofs of Section 4, and what goes wrong without an assumption.

Theorems 4.3 and D.6 survive all of them; each function shows the printed form beside the right one.
See also `proposition_d1` (a display that joins instead of conditioning) and `lemma_d9` (I = I^).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from minicosm.adaptation import Classifier
from minicosm.worlds import MemoryHMM, PosteriorTask, RecoverableWorld, position_one_world

from ..theorem import Certificate
from .attention_head import recovering_head
from .memory_lemmas import Measured, key_errors, observe
from .prompt_attention import Beta, certify_prompted, prompted_head, theorem_4_6
from .recoverable import check_task, columns, recoverable_for


class PositionOne(NamedTuple):
    """One sequence of `position_one_world` under Theorem 4.6 with S* = {0}; positions from 1."""

    query_key: Float[np.ndarray, " V"]  # q^T Theta^K
    key_scores: Float[np.ndarray, " L"]  # q . Theta^K Gbar_i, before beta
    attended: tuple[int, ...]
    values: Float[np.ndarray, " L"]
    score: float  # the head's
    memory: Float[np.ndarray, " M"]  # P[M | x]


def position_one(beta: Beta = "printed", x: Sequence[int] = (2, 0, 0)) -> PositionOne:
    """The printed `beta_1 = -2` against the prompt's own position, on x = (c, a, a) by default.

    The prompt does not reach position 1, so Gbar_1 may leave the span of the columns that theta can
    read, and its score is not bounded by 1. Here it is 10.5, and -2 does not keep attention away.
    """
    world, mu, cell, star = position_one_world()
    task = PosteriorTask(mu, "cell", cell=cell)
    classifier = theorem_4_6(world, task, beta=beta, star=star).construction
    o = observe(world, classifier, cell, star, np.asarray([x]))
    head = classifier.head
    return PositionOne(
        head.query @ head.key,
        o.outputs[0] @ (head.query @ head.key),
        tuple((1 + np.flatnonzero(o.attended[0])).tolist()),
        np.asarray(o.values[0]),
        float(o.values[0][o.attended[0]].mean()),
        np.asarray(o.memory[0]),
    )


def wrong_label_world() -> RecoverableWorld:
    """A world in which the printed `beta_1 = -2` of Theorem D.6 gives wrong labels.

    One cell of three values, states 0, 1, 2 as in `position_one_world`, tokens a, b, c, d; the
    largest S* is {0}. The value 2 is irrelevant to mu = (1, -1, 0) and likely; its law lies far out
    on the side of value 0, so the prompt's own position speaks for value 0 whatever x says. Of the
    108 sequences of length 4 in R, 32 are labelled wrongly.
    """
    A = np.array([[0, 0, 1], [0.5, 0.5, 0], [0.5, 0.5, 0]])
    W = np.zeros((4, 3, 3))  # token, value, state
    W[:, 0, 0] = (0.40, 0.30, 0.30, 0)
    W[:, 1, 0] = (0.34, 0.30, 0.36, 0)
    W[:, 0, 1] = W[:, 1, 1] = (0.34, 0.33, 0.33, 0)
    W[:, 2, 0] = W[:, 2, 1] = (0.90, 0.05, 0.05, 0)
    W[3, :, 2] = 1
    world = MemoryHMM(A, W, np.array([0.1, 0.2, 0.7]), np.full(3, 1 / 3))
    return RecoverableWorld(world, np.array([1.0, -1.0, 0.0]), 0, (0,))


def binary_prompt(
    world: MemoryHMM, task: PosteriorTask, *, sequences: Int[np.ndarray, "n T"]
) -> Certificate:
    """Theorem D.6's 0/1 prompt run whether or not the start is stationary (Assumption 4.4).

    Without stationarity the score identity is off by the factors `p_1 / p0` of the states.
    """
    mu, cell = check_task(world, task)
    found = recoverable_for(world, mu, cell)
    if not found.holds:
        raise ValueError(f"{found.name} fails: {found.reason}")
    classifier = prompted_head(world, mu, cell, found.witness)
    return certify_prompted(world, task, classifier, found.witness, sequences=sequences)


def overlapping_spans(
    world: MemoryHMM,
    task: PosteriorTask,
    star: Sequence[int],
    sequences: Int[np.ndarray, "n T"],
) -> Measured:
    """Claim D.3 for a set S* that need not be recoverable: how far the keys are from the truth.

    If a column of H* is in the span of the others (Assumption 4.2 fails), no linear map separates
    them, and the scores of Theorem 4.3's head no longer are `Pr(H_i in H* | x_-i)`.
    """
    mu, cell = check_task(world, task)
    head = recovering_head(world, mu, cell, star, columns(world, cell))
    o = observe(world, Classifier(head), cell, star, sequences)
    everywhere = np.broadcast_to(o.possible[:, None], o.context.shape)
    parts = key_errors(world, o, cell, star, everywhere)
    return Measured(max(parts.values()), int(everywhere.sum()), parts)
