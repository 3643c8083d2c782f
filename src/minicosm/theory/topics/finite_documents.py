"""Stage 1 in documents of finite length: the optimum is unique, and has a diagonal."""

import numpy as np
from jaxtyping import Float

from minicosm.worlds import Corruption, TopicWorld

from ..signatures import checked
from ..theorem import Condition, Theorem
from .masked_documents import LENGTH, Keys, check_ids, moments
from .stage1 import loss_of


@checked(length=LENGTH)
def finite_value(
    world: TopicWorld, corruption: Corruption, length: int, keys: Keys = "all"
) -> Float[np.ndarray, "V V"]:
    """The value matrix `C M^-1` that is optimal for uniform attention in documents of `length` words. With
    keys "unchosen" the mask is never read, and its column is zero."""
    check_ids(world)
    M, C = moments(world, corruption, length, keys)
    W = np.zeros_like(M)
    first = 1 if keys == "unchosen" else 0
    W[:, first:] = np.linalg.solve(M[first:, first:], C[:, first:].T).T
    return W


@checked(length=LENGTH)
def finite_loss(world: TopicWorld, corruption: Corruption, length: int) -> float:
    """The least squared loss of uniform attention in documents of `length` words."""
    given = moments(world, corruption, length)
    return loss_of(finite_value(world, corruption, length), given)


def _several(world: TopicWorld) -> Condition:
    """A topic of one word has no other word to compare with."""
    reason = "" if world.words > 1 else "topics have one word each"
    return Condition("topics of several words", world.words > 1, {"v": world.words}, reason)


@checked(length=LENGTH)
def limits_do_not_commute(world: TopicWorld, corruption: Corruption, length: int) -> Theorem:
    r"""In documents of N words the optimal value matrix has a diagonal that exceeds the other entries of its
    topic by `p_c / (1 - k_N)`, for every N, and `1/(T v)` for the mask. Here `k_N = k / (1 - (1 - p_m)^N)`
    is the share of masks, given that some position is chosen. In infinite documents with a small penalty
    there is no excess (Theorem 2.1.2): a kept word is in its own document, and the limits do not commute."""
    conditions = (_several(world),)
    if not conditions[0].holds:
        return Theorem("Diagonal of finite documents", conditions)
    W = finite_value(world, corruption, length)
    masks = corruption.k / (1 - (1 - corruption.chosen) ** length)
    wanted = corruption.kept / (1 - masks)
    words, topic = W[1:, 1:], world.labels
    same = (topic[:, None] == topic) & ~np.eye(world.vocab, dtype=bool)
    excess = np.diag(words)[:, None] - words
    error = max(np.abs(excess[same] - wanted).max(), np.abs(W[1:, 0] - 1 / world.vocab).max())
    return Theorem.identity(
        "Diagonal of finite documents",
        float(error),
        cases=int(same.sum()),
        conditions=conditions,
        details={"excess": wanted, "N": length, "diagonal": float(words[0, 0])},
    )


@checked(length=LENGTH)
def own_word(world: TopicWorld, corruption: Corruption, length: int) -> Theorem:
    """If attention reads only positions that are not chosen, the diagonal has no excess: the error is the
    largest difference of entries of one topic."""
    long = Condition("two words", length > 1, {"N": length}, "a document of one word leaves no key")
    conditions = (_several(world), long)
    if not all(condition.holds for condition in conditions):
        return Theorem("No excess without the own word", conditions)
    W = finite_value(world, corruption, length, "unchosen")[1:, 1:]
    topic = world.labels
    same = topic[:, None] == topic
    error = np.abs(np.diag(W)[:, None] - W)[same].max()
    return Theorem.identity(
        "No excess without the own word", float(error), cases=int(same.sum()), conditions=conditions
    )
