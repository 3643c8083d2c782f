"""Worlds in which a printed step of Section 4 goes wrong, and what goes wrong without an assumption.

Theorems 4.3 and D.6 survive all of them. See also `lemma_d9(..., printed=True)`.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Int

from minicosm.adaptation import Classifier
from minicosm.worlds import MemoryHMM, PosteriorTask, RecoverableWorld

from ..signatures import checked
from ..theorem import Theorem
from .attention_head import recovering_head
from .memory_lemmas import key_errors, largest, observe
from .prompt_attention import certify_prompted, prompted_head
from .recoverable import check_task, columns, recoverable_for, some_states


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
) -> Theorem:
    """Theorem D.6's 0/1 prompt run whether or not the start is stationary (Assumption 4.4).

    Without stationarity the score identity is off by the factors `p_1 / p0` of the states.
    """
    mu, cell = check_task(world, task)
    found = recoverable_for(world, mu, cell)
    if not found.holds:
        raise ValueError(f"{found.name} fails: {found.reason}")
    classifier = prompted_head(world, mu, cell, found.witness)
    run = certify_prompted(world, task, classifier, found.witness, sequences=sequences)
    return replace(run, name="Theorem D.6 with its 0/1 prompt", construction=classifier)


@checked(star=some_states)
def overlapping_spans(
    world: MemoryHMM,
    task: PosteriorTask,
    star: Sequence[int],
    sequences: Int[np.ndarray, "n T"],
) -> Theorem:
    """Claim D.3 for a set S* that need not be recoverable: how far the keys are from the truth.

    If a column of H* is in the span of the others (Assumption 4.2 fails), no linear map separates
    them, and the scores of Theorem 4.3's head no longer are `Pr(H_i in H* | x_-i)`.
    """
    mu, cell = check_task(world, task)
    head = recovering_head(world, mu, cell, star, columns(world, cell))
    o = observe(world, Classifier(head), cell, star, sequences)
    everywhere = np.broadcast_to(o.possible[:, None], o.context.shape)
    parts = key_errors(world, o, cell, star, everywhere)
    return largest("Claim D.3 with overlapping spans", parts, int(everywhere.sum()))
