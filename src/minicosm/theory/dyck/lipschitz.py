"""The inequalities that Theorem 2.2.3 rests on, run on given inputs.

Their slack is 1 less the share of the bound that is used. Positions are columns, `|X|_{1,2}` is the
largest 2-norm of a column, and `LN_C(a) = P a / max(|P a|, C)`.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from minicosm.worlds.arrays import check_size, stochastic

from ..checks import COUNT, NOT_NEGATIVE, POSITIVE
from ..signatures import checked
from ..theorem import IDENTITY, Condition, Theorem
from .matrices import Matrices
from .pruned_pairs import PairReport
from .pruning import Report

Vector = Float[np.ndarray, " n"]
Columns = Float[np.ndarray, "m N"]


def _at_most(
    name: str, left: float, bound: float, conditions: tuple[Condition, ...] = ()
) -> Theorem:
    """left <= bound."""
    share = left / bound if bound > 0 else float(left > 0)
    return Theorem.inequality(name, 1 - share, conditions=conditions, details={"share": share})


def norm_12(x: Columns) -> float:
    """The largest 2-norm of a column."""
    return float(np.linalg.norm(x, axis=0).max())


@checked()
def softmax(logits: Float[np.ndarray, "n *columns"]) -> Float[np.ndarray, "n *columns"]:
    """Over the first axis: every column sums to one."""
    weights = np.exp(logits - logits.max(axis=0))
    return weights / weights.sum(axis=0)


def layer_norm(
    x: Float[np.ndarray, "m *columns"], constant: float
) -> Float[np.ndarray, "m *columns"]:
    """`P x / max(|P x|, C)` of every column, with 0/0 = 0."""
    centred = x - x.mean(axis=0)
    size = np.maximum(np.linalg.norm(centred, axis=0), constant)
    return centred / np.where(size > 0, size, 1)


@checked()
def lemma_2_2_8(x: Vector, y: Vector) -> Theorem:
    """Lemma 2.2.8: `|softmax(x) - softmax(y)|_1 <= exp(2 |x - y|_inf) - 1`."""
    left = np.abs(softmax(x) - softmax(y)).sum()
    return _at_most("Lemma 2.2.8", float(left), float(np.expm1(2 * np.abs(x - y).max())))


@checked(constant=POSITIVE)
def lemma_2_2_10(x: Vector, y: Vector, constant: float) -> Theorem:
    """Lemma 2.2.10: `|LN_C(x) - LN_C(y)| <= 2 |x - y| / C`."""
    left = np.linalg.norm(layer_norm(x, constant) - layer_norm(y, constant))
    return _at_most("Lemma 2.2.10", float(left), float(2 * np.linalg.norm(x - y) / constant))


@checked(larger=COUNT, constant=POSITIVE)
def lemma_2_2_12(x: Vector, larger: int, constant: float) -> Theorem:
    """Lemma 2.2.12: `LN_C([P x; 0]) = [LN_C(x); 0]`."""
    if larger < len(x):
        raise ValueError(f"larger is {larger}; it must be at least the {len(x)} coordinates of x")
    check_size(f"a vector of larger = {larger} coordinates", larger)
    padded = np.zeros(larger)
    padded[: len(x)] = x - x.mean()
    wanted = np.zeros(larger)
    wanted[: len(x)] = layer_norm(x, constant)
    gap = float(np.linalg.norm(layer_norm(padded, constant) - wanted))
    return Theorem.identity("Lemma 2.2.12", gap)


@checked(constant=POSITIVE)
def lemma_2_2_11(
    P: Float[np.ndarray, "d m"], x: Columns, Q: Float[np.ndarray, "m m"],
    A: Float[np.ndarray, "N N"], B: Float[np.ndarray, "d N"], constant: float,
) -> tuple[Theorem, Theorem]:  # fmt: skip
    """Lemma 2.2.11: with `e1 = |A - softmax(x^T Q x)|_{1,1}` and `e2 = |B - P x|_{1,2}`,

    `|B A - P x softmax(x^T Q x)|_{1,2} <= e1 |P x|_{1,2} + e2`, and 2/C times that after LN_C. Columns
    of A must be laws; the norm (1,1) is the largest 1-norm of a column.
    """
    A = np.asarray(stochastic("A", A, A.shape))
    exact = softmax(x.T @ Q @ x)
    e1 = float(np.abs(A - exact).sum(axis=0).max())
    bound = e1 * norm_12(P @ x) + norm_12(B - P @ x)
    before, after = B @ A, P @ x @ exact
    normed = layer_norm(before, constant) - layer_norm(after, constant)
    return (
        _at_most("Lemma 2.2.11", norm_12(before - after), bound),
        _at_most("Lemma 2.2.11, after the norm", norm_12(normed), 2 * bound / constant),
    )


def attention_module(layer: Matrices, x: Columns, constant: float) -> Columns:
    """Definition 2.2.7: `LN_C(W_V X softmax((W_K X)^T (W_Q X)))`, without a mask."""
    weights = softmax((layer.key @ x).T @ (layer.query @ x))
    return layer_norm(layer.value @ x @ weights, constant)


@checked(constant=POSITIVE, depth=COUNT, factor=POSITIVE)
def lemma_2_2_13(
    layer: Matrices,
    x: Columns,
    y: Columns,
    constant: float,
    *,
    depth: int = 1,
    factor: float = 200.0,
) -> Theorem:
    """Lemma 2.2.13: the attention module is `factor L^2 / C`-Lipschitz for `|X|_{1,2} <= 4L`.

    The lemma has factor 200, and 130 is enough. Logits move by at most 8L |X - Y|, so the softmax
    by 16L |X - Y| to first order, its mixture by (64 L^2 + 1) |X - Y| <= 65 L^2 |X - Y|, and LN_C
    doubles that: 130.
    """
    layer.check_stack(0, width=len(x), name="layer")
    gap = attention_module(layer, x, constant) - attention_module(layer, y, constant)
    name = "Lemma 2.2.13" if factor == 200 else f"Lemma 2.2.13 with {factor:g}"
    norm = max(float(np.linalg.norm(matrix, 2)) for matrix in layer[:3])
    size = max(norm_12(x), norm_12(y))
    conditions = (
        Condition("matrices of norm at most 1", norm <= 1 + IDENTITY, {"norm": norm}),
        Condition("|X| and |Y| are at most 4L", size <= 4 * depth * (1 + IDENTITY), {"size": size}),
    )
    bound = factor * depth**2 / constant * norm_12(x - y)
    return _at_most(name, norm_12(gap), bound, conditions)


Map = Callable[[Vector], Vector]


@checked(growth=NOT_NEGATIVE, lipschitz=NOT_NEGATIVE, first=NOT_NEGATIVE, second=NOT_NEGATIVE)
def lemma_2_2_5(
    f: tuple[Map, Map], g: tuple[Map, Map], x: Vector,
    *, growth: float, lipschitz: float, first: float, second: float,
) -> Theorem:  # fmt: skip
    """Lemma 2.2.5, as its proof has it: `f = (f1, f2)` approximate `g = (g1, g2)` up to `e1 |x|`,
    `e2 |x|`.

    With e1, e2 as `first`, `second`: if `|g1(x)| <= l1 |x|` and g2 is l2-Lipschitz (`growth`,
    `lipschitz`), then f2 o f1 approximates g2 o g1 up to `(l1 e2 + l2 e1 + e1 e2) |x|`.
    """
    factor = growth * second + lipschitz * first + first * second
    left = np.linalg.norm(f[1](f[0](x)) - g[1](g[0](x)))
    return _at_most("Lemma 2.2.5", float(left), float(factor * np.linalg.norm(x)))


@checked()
def lemma_2_2_6(
    first: Float[np.ndarray, "w c"], second: Float[np.ndarray, "r w"],
    pruned: Matrices, reports: tuple[PairReport, PairReport], x: Float[np.ndarray, "M n"],
) -> Theorem:  # fmt: skip
    """Lemma 2.2.6: if both halves of a pruned MLP err by at most `e/8`, the whole errs by at most e.

    For `|first|, |second| <= 2 sqrt(2)`, `pruned` from `prune_mlp` on the first coordinates, and e/8
    the larger of the two error norms; left is the largest `|f(x) - g(x)| / |x|` over columns x.
    """
    pruned.check_stack(2, name="pruned")
    width = pruned.up.shape[2]
    if len(x) != width or width < max(first.shape[1], len(second)):
        raise ValueError(
            f"x has {len(x)} coordinates, pruned has width {width}, first reads {first.shape[1]} and second "
            f"writes {len(second)}; x must have that width, and the others no more"
        )
    if not x.any(axis=0).all():
        raise ValueError("x has a column of zeros; errors are relative to the size of each")
    inner = pruned.down[0] @ np.maximum(pruned.up[0] @ x, 0)
    outer = pruned.down[1] @ np.maximum(pruned.up[1] @ inner, 0)
    wanted = second @ np.maximum(first @ x[: first.shape[1]], 0)
    gap = np.linalg.norm(outer[: len(second)] - wanted, axis=0) / np.linalg.norm(x, axis=0)
    return _at_most("Lemma 2.2.6", float(gap.max()), 8 * max(report.norm for report in reports))


@checked(constant=POSITIVE, layers=COUNT)
def error_budget(report: Report, constant: float, layers: int) -> float:
    """A bound on `|pruned(X) - target(X)|_{1,2} / |X|_{1,2}` for `|X|_{1,2} <= 1`.

    It follows the proof of Theorem 2.2.3 with the errors that the subset sums left, for targets with
    matrices of norm at most 1 whose layers come first (the default places). With the error s of what
    a layer reads and G the growth so far: logits err by `(r + s)^2 e_M + 2 r s + s^2` (r the size of a
    column), the softmax follows by Lemma 2.2.8, LN_C by Lemma 2.2.10, and the MLP by Lemma 2.2.5.
    """
    norms = [pair.norm for pair in report.pairs]
    if 5 * layers > len(norms):
        raise ValueError(
            f"layers is {layers}; the report is of {len(norms)} pairs of matrices, 5 for each layer"
        )
    error, growth = 0.0, 1.0
    for layer in range(layers):
        one, two, logits, up, down = norms[5 * layer : 5 * layer + 5]
        linear = two * (5**0.5 + one) + 2**0.5 * one  # |[I; D^-1 P W_V]| <= sqrt(5) as D >= 1/2
        read = error + linear * (growth + error)
        size = min(growth, layer + 1)
        moved = (size + read) ** 2 * logits + 2 * size * read + read**2
        mixed = 2 * (np.expm1(2 * moved) * growth + read) / constant + read
        growth *= 1 + 1 / constant
        error = float(mixed + ((1 + up) * (1 + down) - 1) * (growth + mixed))
    for one, two in zip(norms[5 * layers :: 2], norms[5 * layers + 1 :: 2], strict=True):
        error += (two * (1 + one) + 2**0.5 * one) * (growth + error)
    return error
