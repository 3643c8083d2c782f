"""Lemma 2.2.1: two vectors to which a long third one is added point in nearly the same direction."""

import numpy as np
from jaxtyping import Float

from ..checks import POSITIVE
from ..signatures import checked
from ..theorem import Condition, Theorem


def merging_ratio(epsilon: float, size: float | None = None) -> float:
    """Lemma 2.2.1: a gap of at most epsilon follows from `|r| >= (4 / epsilon + 1) max(|a|, |b|)`.

    With `size` the printed `4 size / epsilon + 1`, which depends on the unit of length.
    """
    return 4 * (1 if size is None else size) / epsilon + 1


def merging(
    a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"], r: Float[np.ndarray, " n"]
) -> tuple[float, float]:
    """How far a + r and b + r are apart once scaled to length 1, and `|r| / max(|a|, |b|)`."""
    one, two = a + r, b + r
    if not (one.any() and two.any() and (a.any() or b.any())):
        raise ValueError(
            "a and b, or a + r, or b + r are zero; directions are those of vectors that are not"
        )
    gap = np.linalg.norm(one / np.linalg.norm(one) - two / np.linalg.norm(two))
    return float(gap), float(np.linalg.norm(r) / max(np.linalg.norm(a), np.linalg.norm(b)))


@checked(epsilon=POSITIVE)
def lemma_2_2_1(
    a: Float[np.ndarray, " n"],
    b: Float[np.ndarray, " n"],
    r: Float[np.ndarray, " n"],
    epsilon: float,
    *,
    printed: bool = False,
) -> Theorem:
    """`|r| >= R max(|a|, |b|)`, R = 4/epsilon + 1, leaves the directions of a + r and b + r at most
    epsilon apart; the slack is relative to epsilon. As printed R is `4 max(|a|, |b|) / epsilon +
    1`."""
    gap, ratio = merging(a, b, r)
    size = float(max(np.linalg.norm(a), np.linalg.norm(b)))
    needed = merging_ratio(epsilon, size if printed else None)
    long = Condition("r is long enough", ratio >= needed, {"ratio": ratio, "needed": needed})
    return Theorem.inequality(
        "Lemma 2.2.1 as printed" if printed else "Lemma 2.2.1",
        1 - gap / epsilon,
        conditions=(long,),
        details={"share": gap / epsilon},
    )


@checked()
def lemma_2_2_1_sharp(
    a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"], r: Float[np.ndarray, " n"]
) -> Theorem:
    """If |r| is at least max(|a|, |b|) the gap is at most `2 max(|a|, |b|) / |r|`, as both sums are
    within an angle arcsin(max(|a|, |b|) / |r|) of r; no smaller bound holds for all a and b."""
    gap, ratio = merging(a, b, r)
    long = Condition("r is the longest", ratio >= 1, {"ratio": ratio})
    share = gap * ratio / 2
    return Theorem.inequality(
        "Lemma 2.2.1, sharp", 1 - share, conditions=(long,), details={"share": share}
    )
