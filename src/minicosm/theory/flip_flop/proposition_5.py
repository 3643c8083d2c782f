"""Proposition 5: hard attention with linear positions on the flip-flop automaton."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from minicosm.models import Transformer, TransformerConfig, from_arrays

from ..checks import kind, real, whole
from ..signatures import checked
from ..theorem import Condition, Theorem

KEEP, SET_1, SET_2 = 0, 1, 2
LONGEST = 2**22  # for which failures are looked for


class Scores(NamedTuple):
    """What a position i that keeps scores j by, `alpha[x_j] + beta j + gamma[x_j] i + a i j`, both from 1."""

    alpha: Float[np.ndarray, " 3"]
    beta: float
    gamma: Float[np.ndarray, " 3"]
    a: float


@checked(C=real(above=0))
class PositionHead(NamedTuple):
    """A head that reads embeddings of keep, set 1 and set 2, and the position `i / C` as one more
    coordinate; it looks at the position with the largest score `<W_Q v_i, W_K v_j>`."""

    W_Q: Float[np.ndarray, "k d"]
    W_K: Float[np.ndarray, "k d"]
    embedding: Float[np.ndarray, "3 e"]
    C: float

    def check(self) -> None:
        if self.embedding.shape[1] != self.W_Q.shape[1] - 1:
            raise ValueError(
                f"embedding has {self.embedding.shape[1]} columns and W_Q {self.W_Q.shape[1]}; W_Q has one "
                "more, for the position"
            )

    def scores(self) -> Scores:
        """`alpha_x = e_0^T W_Qe^T W_Ke e_x`, `beta = e_0^T W_Qe^T W_Kp / C`,
        `gamma_x = e_x^T W_Ke^T W_Qp / C`, `a = W_Qp^T W_Kp / C^2`."""
        query, keys = self.W_Q[:, :-1] @ self.embedding[KEEP], self.W_K[:, :-1] @ self.embedding.T
        at, place = self.W_Q[:, -1], self.W_K[:, -1]
        return Scores(
            query @ keys,
            float(query @ place) / self.C,
            at @ keys / self.C,
            float(at @ place) / self.C**2,
        )


@checked(head=kind(PositionHead), longest=whole(2, 4096))
def first_failure(head: PositionHead, longest: int) -> float:
    """The least length at which some string that begins with a setting and ends with a symbol that keeps has,
    at its end, its largest score (or one as large) not on the latest setting; infinite if there is none up
    to `longest`. Comparisons are between two positions, so that all strings are covered by all pairs."""
    alpha, beta, gamma, a = head.scores()
    for i in range(2, longest + 1):
        j = np.arange(1, i + 1)
        of = alpha[:, None] + (beta + a * i) * j + gamma[:, None] * i  # [symbol, j]
        if _fails(of, i):
            return float(i)
    return float("inf")


def _fails(of: Float[np.ndarray, "3 i"], i: int) -> bool:
    writes = of[1:]
    least = writes.min(axis=0)[: i - 1]  # of the latest setting, at j = 1..i-1
    earlier = np.maximum.accumulate(writes.max(axis=0))
    if (least[1:] <= earlier[: i - 2]).any():
        return True
    # What keeps stands anywhere but first, and not where the setting is.
    keeps = np.concatenate([[-np.inf], of[KEEP, 1:]])
    before = np.concatenate([[-np.inf], np.maximum.accumulate(keeps)[: i - 2]])
    after = np.maximum.accumulate(keeps[::-1])[::-1][1:i]
    return bool((least <= np.maximum(before, after)).any())


def _predicted(scores: Scores) -> tuple[float, bool]:
    """The length by which the string of the proof fails, and whether it is `[1, 0, ..., 0]`."""
    alpha, beta, gamma, a = scores
    if a > 0:  # s(T, T) - s(T, 1) = a T^2 + ...
        square, line = a, beta + gamma[KEEP] - gamma[SET_1] - a
        rest = alpha[KEEP] - alpha[SET_1] - beta
        least = 2
    else:  # s(T, 1) - s(T, T - 1) of [1, 0, ..., 0, 2, 0]
        square, line = -a, -beta + gamma[SET_1] - gamma[SET_2] + 2 * a
        rest = alpha[SET_1] - alpha[SET_2] + 2 * beta
        least = 3
    under = line * line - 4 * square * rest
    root = -np.inf if under < 0 else (-line + np.sqrt(under)) / (2 * square)
    return max(least, float(np.ceil(root))), a > 0


@checked(head=kind(PositionHead))
def proposition_5(head: PositionHead) -> Theorem:
    """If `W_Qp^T W_Kp` is positive the head fails on `[1, 0, ..., 0]`, if it is negative on
    `[1, 0, ..., 0, 2, 0]`, by the length that the proof's quadratic gives. The error is 1 if it does not."""
    scores = head.scores()
    alpha, beta, gamma, a = scores
    curved = Condition("W_Qp^T W_Kp is not zero", a != 0, {"a": a}, reason="it is zero")
    if not curved.holds:
        return Theorem("Proposition 5", (curved,))
    T, keeps_only = _predicted(scores)
    near = Condition(
        "a length that can be run", T <= LONGEST, {"length": T}, reason=f"it is {T:.3g}"
    )
    if not near.holds:
        return Theorem("Proposition 5", (curved, near))
    j = np.arange(1, int(T) + 1)
    string = np.zeros(len(j), int)
    string[0] = SET_1
    if not keeps_only:
        string[-2] = SET_2
    row = alpha[string] + beta * j + gamma[string] * T + a * T * j
    right = 0 if keeps_only else len(j) - 2
    others = np.delete(row, right)
    failed = bool(row[right] <= others.max() + 1e-9 * np.abs(row).max())
    return Theorem.identity(
        "Proposition 5", int(not failed), within=0, conditions=(curved, near), details={"length": T}
    )


@checked(head=kind(PositionHead))
def always_right(head: PositionHead, tolerance: float = 1e-12) -> Condition:
    """Whether the head is right at every length: `a = 0`, `gamma_1 = gamma_2 = gamma_w`,
    `beta > |alpha_1 - alpha_2|`, `gamma_w - gamma_0 >= beta` and
    `2 (gamma_w - gamma_0 - beta) + alpha_x - alpha_0 + beta > 0` for both settings x."""
    alpha, beta, gamma, a = head.scores()
    rises = gamma[SET_1] - gamma[KEEP] - beta
    parts = {
        "a = 0": abs(a) <= tolerance,
        "gamma_1 = gamma_2": abs(gamma[SET_1] - gamma[SET_2]) <= tolerance,
        "beta > |alpha_1 - alpha_2|": beta > abs(alpha[SET_1] - alpha[SET_2]),
        "gamma_w - gamma_0 >= beta": rises >= -tolerance,
        "2 (gamma_w - gamma_0 - beta) + alpha_x - alpha_0 + beta > 0": bool(
            2 * rises + alpha[1:].min() - alpha[KEEP] + beta > 0
        ),
    }
    missing = [name for name, true in parts.items() if not true]
    return Condition(
        "right at every length", not missing, {"a": a, "beta": beta, "rises": float(rises)},
        reason=f"not {'; not '.join(missing)}",
    )  # fmt: skip


@checked(head=kind(PositionHead))
def late_failure(head: PositionHead) -> float:
    """Where all but `gamma_w - gamma_0 >= beta` is given, the head first fails at about
    `(min alpha_w - alpha_0 + beta) / (beta - gamma_w + gamma_0)`, whose ceiling this is."""
    alpha, beta, gamma, _ = head.scores()
    falls = beta - gamma[SET_1] + gamma[KEEP]
    return float(np.ceil((alpha[1:].min() - alpha[KEEP] + beta) / falls)) if falls > 0 else np.inf


@checked(head=kind(PositionHead), longest=whole(2, 4096))
def proposition_5_exact(head: PositionHead, longest: int) -> Theorem:
    """The head is right at every length iff `always_right` says so: if it does, at all lengths up to
    `longest`; if not, it fails by then, or by `late_failure` where this is later."""
    condition = always_right(head)
    late = late_failure(head)
    upto = int(min(max(longest, late if np.isfinite(late) else 0), 4096))
    failed = first_failure(head, longest)
    if not condition.holds and not np.isfinite(failed) and upto > longest:
        failed = first_failure(head, upto)
    return Theorem.identity(
        "Proposition 5, exactly",
        int(np.isfinite(failed) == condition.holds),
        within=0,
        details={"right": condition.holds, "first failure": failed, "late": late},
    )


@checked(C=real(above=0))
def solution_head(C: float, a: float = 0.0) -> PositionHead:
    """Score `j / C + (i / C) 1[x_j != keep] + a i j / C^2`: with a = 0 right at every length."""
    embedding = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    W_Q = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, a]])
    W_K = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    return PositionHead(W_Q, W_K, embedding, C)


@checked(C=real(above=0), longest=whole(2, 4096))
def proposition_5_solution(C: float, a: float, longest: int) -> Theorem:
    """`solution_head(C, a)` first fails at the least T with `T (T-1) >= C / a` if a is positive, at the least
    `T >= C / |a|` (from 3 on) if it is negative, and never if it is zero. The error is the distance of the
    first failing length from it."""
    if a == 0:
        wanted = np.inf
    elif a > 0:
        T = np.arange(2, longest + 2)
        wanted = float(T[np.argmax(C / a - 1e-9 <= T * (T - 1))])
    else:
        wanted = max(3.0, float(np.ceil(C / -a - 1e-9)))
    near = Condition(
        "a length that is run", a == 0 or wanted <= longest, {"length": wanted},
        reason=f"the first failing length is {wanted:g}, above {longest}",
    )  # fmt: skip
    failed = first_failure(solution_head(C, a), longest)
    error = 0.0 if failed == wanted else min(abs(failed - wanted), 1e9)
    return Theorem.identity(
        "Proposition 5, a solution", error, within=0, conditions=(near,),
        details={"first failure": failed},
    )  # fmt: skip


@checked(length=whole(2, 2**20), sharpness=real(above=0))
def solution_transformer(length: int, sharpness: float = 3.0) -> Transformer:
    """The head with a = 0 as a Transformer of one attention layer with softmax, whose scores are
    `sharpness (j + i 1[x_j != keep])`, i, j = 1, 2, ...; it says 1 or 2, the latest setting."""
    SET, ONE, PLACE, VALUE, TOLD = range(5)
    config = TransformerConfig(
        3, layers=1, heads=1, width=5, head_width=2, mlp_width=0, max_length=length, causal=True,
        positions="linear", norm="none", tied=False, attention_bias=False, attention_scale=1.0,
        output_bias=False,
    )  # fmt: skip
    embedding = np.zeros((3, 5))
    embedding[[SET_1, SET_2], SET] = embedding[SET_2, VALUE] = 1
    embedding[:, ONE], embedding[:, PLACE] = 1, 1 / length  # positions count from 1
    qkv, out, output = np.zeros((5, 3, 1, 2)), np.zeros((1, 2, 5)), np.zeros((5, 3))
    qkv[PLACE, 0, 0, 0] = qkv[ONE, 0, 0, 1] = 1
    qkv[SET, 1, 0, 0] = qkv[PLACE, 1, 0, 1] = sharpness * length
    qkv[VALUE, 2, 0, 0] = out[0, 0, TOLD] = 1
    output[TOLD, SET_2] = 1
    output[ONE] = -1, 0.5, 0
    arrays = {
        "token_embedding": embedding,
        "position_direction": np.eye(5)[PLACE],
        "layers.0.attention.qkv": qkv,
        "layers.0.attention.out": out,
        "output": output,
    }
    return from_arrays(config, arrays, fill=0)
