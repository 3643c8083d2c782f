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
from .memory_lemmas import constructed, key_errors, largest, observe
from .prompt_attention import certify_prompted, prompted_head, theorem_d6
from .recoverable import check_task, columns, recoverable_for, some_states

ROUNDING = 1e-12


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


def opposed_world() -> RecoverableWorld:
    """A world in which no attention head has the attended set that Lemma D.9 states.

    One cell of three values, mu = (1, -1, 0); tokens a, b, c, d, e; S* = {0}. State 0 emits a or b by the
    memory, state 1 emits e, state 2 emits c and state 3 emits d; after 2 and 3 comes 0. For the irrelevant
    value 2 state 1 emits d, too. So the position after c is sure, that after d only given the prompt,
    and x = (c, a, d, a), x' = (d, a, c, a) have the same output at both.
    """
    A = np.array([[0, 0, 1, 1], [1 / 3, 1 / 3, 0, 0], [1 / 3, 1 / 3, 0, 0], [1 / 3, 1 / 3, 0, 0]])
    W = np.zeros((5, 3, 4))  # token, value, state
    W[:2, 0, 0], W[:2, 1, 0], W[:2, 2, 0] = (0.7, 0.3), (0.3, 0.7), (0.5, 0.5)
    W[4, :2, 1], W[3:, 2, 1] = 1, 0.5
    W[2, :, 2] = W[3, :, 3] = 1
    start = np.array([2, 1, 1, 1]) / 5  # stationary
    return RecoverableWorld(
        MemoryHMM(A, W, np.full(3, 1 / 3), start), np.array([1.0, -1.0, 0.0]), 0, (0,)
    )


def lemma_d9_by_any_head(
    world: MemoryHMM, task: PosteriorTask, sequences: Int[np.ndarray, "n T"]
) -> Theorem:
    """Whether some parameters of an attention head can have `I = I^` on all of the sequences (Lemma D.9).

    Whatever Theta^K, q and beta, the score of position i is `k . Gbar_i(x) + a_i` with a vector k and
    numbers a_i. If i is in I^(x) and j is not, but j is in I^(x') and i is not, the lemma needs

        k . (Gbar_i(x) - Gbar_j(x)) > a_j - a_i > k . (Gbar_i(x') - Gbar_j(x')),

    which no k satisfies if the two differences of outputs are equal. The error counts such pairs of
    pairs; the lemma's inputs are the possible x of (D.7) with I^ nonempty.
    """
    classifier, star = constructed(theorem_d6(world, task))
    o = observe(world, classifier, task.cell, star, sequences)
    inside = o.possible & o.context[:, 1:].all(axis=1) & o.sure.any(axis=1)
    sure, outputs = o.sure[inside], o.outputs[inside]
    apart = sure[:, :, None] & ~sure[:, None, :]  # (x, i, j)
    steps = outputs[:, :, None] - outputs[:, None, :]
    opposed = apart[:, None] & apart.swapaxes(1, 2)[None]  # (x, x', i, j)
    equal = np.abs(steps[:, None] - steps[None]).max(axis=-1) < ROUNDING
    return Theorem.identity(
        "Lemma D.9 as printed, any head",
        float((opposed & equal).sum()),
        within=0.0,
        cases=int(inside.sum()),
    )


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
