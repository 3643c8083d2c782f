"""What the first step leaves in a teacher, and what a student's first gradient sees of it: Claim 7, Lemmas 63
and 64, Corollary 3, as printed and in truth."""

import numpy as np
from jaxtyping import Float

from ..checks import whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .fourier import sign_cube, walsh_hadamard
from .one_step import (
    expected_gradient,
    first_gradient,
    linear_coefficients,
    one_step_teacher,
    stepped,
    symmetric_start,
)

SMALL = 1e-12


def _closed_form(d: int, k: int) -> Condition:
    return Condition(
        "k even and d odd",
        k % 2 == 0 and d % 2 == 1 and d >= k,
        {"d": d, "k": k},
        reason=f"d is {d} and k is {k}",
    )


@checked(d=whole(1, 20), k=whole(1, 20), m=whole(2, 2**14), seed=whole(0, 2**62))
def claim_7(d: int, k: int, m: int, seed: int) -> Theorem:
    """The population gradient at the start, by enumeration against the closed form."""
    condition = _closed_form(d, k)
    if not condition.holds:
        return Theorem("Claim 7", (condition,))
    start = symmetric_start(d, k, m, seed)
    x = sign_cube(d)
    found = first_gradient(start, x, np.prod(x[:, :k], axis=1))
    error = m * np.abs(found - expected_gradient(start, k)).max()
    return Theorem.identity("Claim 7", float(error), within=SMALL, cases=found.size)


@checked(d=whole(1, 20), k=whole(1, 20), m=whole(2, 2**14), seed=whole(0, 2**62))
def lemma_63(d: int, k: int, m: int, seed: int) -> Theorem:
    r"""The first layer after an exact step: `sign(a zeta_{k-1}) chi_{S\j}(w) / 2k` on the support, and
    `sign(a) zeta_{k+1} chi_{S u j}(w) / (2k |zeta_{k-1}|)` off it."""
    condition = _closed_form(d, k)
    if not condition.holds:
        return Theorem("Lemma 63", (condition,))
    start = symmetric_start(d, k, m, seed)
    x = sign_cube(d)
    found = stepped(start, first_gradient(start, x, np.prod(x[:, :k], axis=1)), k).w
    chi = np.prod(start.w[:, :k], axis=1, keepdims=True)
    signs = np.sign(start.a)[:, None] * chi * start.w / (2 * k)
    size = np.full(d, (k - 1) / (d - k) if d > k else 0.0)
    size[:k] = 1.0
    # zeta_{k-1} and zeta_{k+1} have opposite signs, and their ratio is (k-1)/(d-k).
    wanted = signs * np.where(np.arange(d) < k, 1.0, -1.0) * size * (-1.0) ** ((k - 2) // 2)
    return Theorem.identity(
        "Lemma 63", float(np.abs(found - wanted).max()), within=SMALL, cases=found.size
    )


@checked(
    d=whole(1, 501), k=whole(2, 60), m=whole(2, 2**14), batch=whole(1, 2**22), seed=whole(0, 2**62)
)
def sampled_step_error(d: int, k: int, m: int, batch: int, seed: int) -> float:
    """How far a step from `batch` samples is from the exact one on the support, root mean square: the noise
    of Lemma 63, which falls as `batch^(-1/2)`."""
    start = symmetric_start(d, k, m, seed)
    rng = np.random.default_rng([seed, batch])
    x = rng.choice([-1.0, 1.0], (batch, d))
    noisy = stepped(start, first_gradient(start, x, np.prod(x[:, :k], axis=1)), k).w
    exact = stepped(start, expected_gradient(start, k), k).w
    return float(np.sqrt(np.mean((noisy - exact)[:, :k] ** 2)))


@checked(d=whole(1, 20), k=whole(1, 20), m=whole(2, 2**16), seed=whole(0, 2**62))
def lemma_64(d: int, k: int, m: int, seed: int, *, aligned: bool = False) -> Theorem:
    """As printed: `E f^(1) x_u >= 1/(8k) - m^(-1/2)` for all u in the support, where the second term is the
    printed order of the deviation. With `aligned` starts the bound is `1/(8k)`, without a deviation."""
    condition = _closed_form(d, k)
    name = "Lemma 64, aligned" if aligned else "Lemma 64 as printed"
    if not condition.holds:
        return Theorem(name, (condition,))
    found = linear_coefficients(one_step_teacher(d, k, m, seed, aligned=aligned))
    bound = 1 / (8 * k) - (0 if aligned else m**-0.5)
    return Theorem.inequality(
        name,
        float(found[:k].min()) - bound,
        within=0.0,
        cases=k,
        details={
            "least": float(found[:k].min()),
            "rms on": float(np.sqrt(np.mean(found[:k] ** 2))),
            "rms off": float(np.sqrt(np.mean(found[k:] ** 2))) if d > k else 0.0,
            "bound": bound,
            "m": m, "d": d, "k": k,
        },
    )  # fmt: skip


@checked(d=whole(1, 20), k=whole(1, 20), m=whole(2, 2**14), seed=whole(0, 2**62))
def corollary_3(d: int, k: int, m: int, seed: int, *, aligned: bool = True) -> Theorem:
    """As printed: `E f^(1) Maj x_i = c_i / 2` with c_i the linear coefficient. All three factors are
    odd, so the left side is 0."""
    condition = _closed_form(d, k)
    if not condition.holds:
        return Theorem("Corollary 3 as printed", (condition,))
    teacher = one_step_teacher(d, k, m, seed, aligned=aligned)
    x = sign_cube(d)
    values = teacher(x)
    left = (values * np.sign(x.sum(axis=1))) @ x / len(x)
    right = values @ x / len(x) / 2
    return Theorem.identity(
        "Corollary 3 as printed",
        float(np.abs(left - right).max()),
        cases=d,
        details={"left": float(np.abs(left).max()), "right": float(np.abs(right).max())},
    )


@checked(
    d=whole(1, 20), k=whole(1, 20), m=whole(2, 2**14), student=whole(2, 2**14), seed=whole(0, 2**62)
)
def student_gradient(d: int, k: int, m: int, student: int, seed: int) -> Theorem:
    """A student's first gradient under the one-step teacher: `-(a_i / 2) c_j` for every neuron i, by
    enumeration. All neurons therefore move along one vector."""
    condition = _closed_form(d, k)
    if not condition.holds:
        return Theorem("Student's first gradient", (condition,))
    teacher = one_step_teacher(d, k, m, seed)
    start = symmetric_start(d, k, student, seed + 1)
    x = sign_cube(d)
    values = teacher(x)
    found = student * first_gradient(start, x, values)
    wanted = -student * start.a[:, None] / 2 * (values @ x / len(x))
    return Theorem.identity(
        "Student's first gradient", float(np.abs(found - wanted).max()), within=SMALL, cases=found.size
    )  # fmt: skip


@checked(k=whole(1, 20))
def corollary_4(values: Float[np.ndarray, " n"], k: int, *, clipped: bool = True) -> Theorem:
    """`|E clip(f, -1, 1) chi_U| <= E max(0, 1 - f y)` for all U but the support, from the values of f on the
    cube; as printed, for sets of one coordinate and without the clipping."""
    d = len(values).bit_length() - 1
    x = sign_cube(d)
    if k > d:
        raise ValueError(f"k is {k}; the values are those of a function of {d} signs")
    y = np.prod(x[:, :k], axis=1)
    loss = float(np.maximum(0, 1 - values * y).mean())
    shown = np.clip(values, -1, 1) if clipped else values
    found = walsh_hadamard(shown)
    others = np.delete(found, 2**k - 1) if clipped else found[2 ** np.arange(d)]
    name = "Corollary 4, clipped" if clipped else "Corollary 4 as printed"
    slack = loss - (np.abs(others).max() if clipped else others.max())
    return Theorem.inequality(name, float(slack), cases=len(others), details={"loss": loss})
