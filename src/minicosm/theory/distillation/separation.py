"""How many samples reveal the support: from the one-step teacher, from labels, and from a teacher that leaks
(Theorems 22 and 23); and the counting of Lemma 66."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from jaxtyping import Float

from ..checks import POSITIVE, reals, whole
from ..signatures import checked
from ..theorem import Theorem
from .fourier import sign_cube, walsh_hadamard
from .one_step import first_gradient, one_step_teacher, support_recall, symmetric_start

Source = Literal["teacher", "labels", "leak"]
PART = 2**14  # inputs that are drawn at once


@checked(d=whole(3, 1001), k=whole(2, 60), m=whole(2, 2**14), seed=whole(0, 2**62), leak=POSITIVE)
def recall_by_batch(
    source: Source,
    d: int,
    k: int,
    m: int,
    batches: Sequence[int],
    seed: int,
    leak: float = 0.1,
) -> Float[np.ndarray, " b"]:
    """The recall of the support by a student's first gradient, for increasing batches of one stream of
    inputs.

    The target is the exact one-step teacher of width m, the labels, or `y + leak * sum_{j in S} x_j`.
    """
    sizes = list(batches)
    if not sizes or sizes[0] < 1 or any(b <= a for a, b in pairwise(sizes)):
        raise ValueError(f"batches are {sizes}; they must increase and be at least 1")
    teacher = one_step_teacher(d, k, m, seed) if source == "teacher" else None
    start = symmetric_start(d, k, m, seed + 1)
    rng = np.random.default_rng([seed, d, 7])
    total, done, found = np.zeros_like(start.w), 0, []
    for size in sizes:
        while done < size:
            count = min(PART, size - done)
            x = rng.choice([-1.0, 1.0], (count, d))
            target = np.prod(x[:, :k], axis=1)
            if source == "leak":
                target = target + leak * x[:, :k].sum(axis=1)
            if teacher is not None:
                target = teacher(x)
            total += count * first_gradient(start, x, target)
            done += count
        found.append(support_recall(total, k))
    return np.array(found)


@checked(batches=reals((None,)), recall=reals((None,)))
def batch_for_recall(
    batches: Float[np.ndarray, " b"], recall: Float[np.ndarray, " b"], level: float
) -> float:
    """The batch at which the mean recall reaches a level, between grid points on logarithmic scale; infinite
    if it never does, the first batch if it is there at once."""
    if len(batches) != len(recall):
        raise ValueError(f"recall has {len(recall)} entries; batches has {len(batches)}")
    if not len(batches) or (batches <= 0).any():
        raise ValueError(f"batches are {batches.tolist()}; there must be one, and all above 0")
    reached = np.flatnonzero(recall >= level)
    if not len(reached):
        return float("inf")
    i = int(reached[0])
    if i == 0:
        return float(batches[0])
    share = (level - recall[i - 1]) / (recall[i] - recall[i - 1])
    low, high = np.log(batches[i - 1]), np.log(batches[i])
    return float(np.exp(low + share * (high - low)))


@checked(d=whole(2, 16), k=whole(1, 16), neurons=whole(1, 64), tau=POSITIVE, seed=whole(0, 2**62))
def lemma_66(d: int, k: int, neurons: int, tau: float, seed: int) -> Theorem:
    """The counting behind Lemma 66: for every derivative `g = 1[<w, x> + b > 0] x_j` of a random neuron
    at most `E g^2 / tau^2` of the parities of k coordinates have `|E g chi_S| > tau`."""
    if k > d:
        raise ValueError(f"k is {k} and d is {d}; a parity has at most d coordinates")
    start = symmetric_start(d, k + k % 2, 2 * neurons, seed)
    x = sign_cube(d)
    sizes = ((np.arange(2**d)[:, None] >> np.arange(d)) & 1).sum(axis=1) == k
    slack, most = np.inf, 0
    for w, b in zip(start.w[:neurons], start.b[:neurons], strict=True):
        active = (x @ w + b > 0).astype(float)
        found = np.abs(walsh_hadamard((active[:, None] * x).T)[:, sizes])
        count = (found > tau).sum(axis=1)
        slack = min(slack, float((active.mean() / tau**2 - count).min()))
        most = max(most, int(count.max()))
    return Theorem.inequality(
        "Lemma 66, counting",
        slack,
        cases=neurons * d,
        details={"most parities": most, "of": int(sizes.sum()), "tau": tau},
    )
