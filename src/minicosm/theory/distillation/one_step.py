"""Algorithm 2: one gradient step on the first layer of a symmetric network, from labels or from a teacher.

    f(x) = sum_i a_i relu(<w_i, x> + b_i),   y = x_1 ... x_k,   hinge loss max(0, 1 - f y).

Neurons come in mirrored pairs with the same w and b and opposite a, so that f is 0 at first and the first
gradient of the hinge loss is that of `-f y`. The first layer has decoupled decay of 1: after the step it is
`-eta` times the gradient, `eta = m / (k |zeta_{k-1}|)`.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import POSITIVE, whole
from ..signatures import checked
from .fourier import sign_cube
from .majority import majority_coefficient

ROWS = 2**22  # entries of a table of neurons and inputs that are held at once


class Neurons(NamedTuple):
    """One hidden layer of ReLUs."""

    w: Float[np.ndarray, "m d"]
    b: Float[np.ndarray, " m"]
    a: Float[np.ndarray, " m"]

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """`sum_i a_i relu(<w_i, x> + b_i)`."""
        size = max(1, ROWS // len(self.b))
        parts = [
            np.maximum(x[start : start + size] @ self.w.T + self.b, 0) @ self.a
            for start in range(0, len(x), size)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


@checked(d=whole(2, 2**12), k=whole(2, 2**12), m=whole(2, 2**16), seed=whole(0, 2**62))
def symmetric_start(d: int, k: int, m: int, seed: int, *, aligned: bool = False) -> Neurons:
    r"""The symmetric initialisation: for i <= m/2, w uniform signs, b uniform on `{-1+1/k, ..., 1-1/k}`,
    `a = ±1/m`; the mirrored neuron has the same w and b, and -a.

    With `aligned` the first k signs of every w are those of `zeta_{k-1}` and a > 0 in the first half, which
    is what the proof of Lemma 64 takes for granted.
    """
    _check_even(k, m, d)
    rng = np.random.default_rng([seed, d, k, m])
    half = m // 2
    w = rng.choice([-1.0, 1.0], (half, d))
    b = rng.integers(-k + 1, k, half) / k
    a = rng.choice([-1.0, 1.0], half) / m
    if aligned:
        w[:, :k] = (-1.0) ** ((k - 2) // 2)  # the sign of zeta_{k-1}
        a = np.abs(a)
    return Neurons(np.concatenate([w, w]), np.concatenate([b, b]), np.concatenate([a, -a]))


def _check_even(k: int, m: int, d: int) -> None:
    if k % 2:
        raise ValueError(f"k is {k}; it must be even, for odd k the first step sees nothing")
    if m % 2:
        raise ValueError(f"m is {m}; neurons come in mirrored pairs, so it must be even")
    if k > d:
        raise ValueError(f"k is {k} and d is {d}; a parity has at most d coordinates")


@checked()
def first_gradient(
    start: Neurons, x: Float[np.ndarray, "n d"], target: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "m d"]:
    """`- a_i E 1[<w_i, x> + b_i > 0] target(x) x_j`, the first gradient of the hinge loss at f = 0, as a mean
    over these inputs; with ties counted half, which changes no coefficient that is odd."""
    total = np.zeros_like(start.w)
    size = max(1, ROWS // len(start.b))
    for begin in range(0, len(x), size):
        part = x[begin : begin + size]
        active = (np.sign(part @ start.w.T + start.b) + 1) / 2
        total += (active * target[begin : begin + size, None]).T @ part
    return -start.a[:, None] * total / len(x)


@checked(k=whole(2, 2**16))
def expected_gradient(start: Neurons, k: int) -> Float[np.ndarray, "m d"]:
    r"""Claim 7, with its sign: `-a_i zeta_{k-1} chi_{S \ j}(w_i) / 2` on the support, `-a_i zeta_{k+1}
    chi_{S u j}(w_i) / 2` off it, for odd d."""
    d = start.w.shape[1]
    chi = np.prod(start.w[:, :k], axis=1, keepdims=True)
    zeta = np.full(d, majority_coefficient(d, k + 1) if k + 1 <= d else 0.0)
    zeta[:k] = majority_coefficient(d, k - 1)
    # On the support chi_{S \ j} = chi_S w_j, off it chi_{S u j} = chi_S w_j: one formula.
    return -start.a[:, None] / 2 * zeta * chi * start.w


@checked(k=whole(2, 2**16), rate=POSITIVE)
def stepped(
    start: Neurons, gradient: Float[np.ndarray, "m d"], k: int, rate: float | None = None
) -> Neurons:
    """The network after the first stage, `w = -eta g`; `eta = m / (k |zeta_{k-1}|)` unless it is given."""
    if rate is None:
        rate = len(start.b) / (k * abs(majority_coefficient(start.w.shape[1], k - 1)))
    return Neurons(-rate * gradient, start.b, start.a)


@checked(d=whole(2, 2**12), k=whole(2, 2**12), m=whole(2, 2**16), seed=whole(0, 2**62))
def one_step_teacher(d: int, k: int, m: int, seed: int, *, aligned: bool = False) -> Neurons:
    """`f^(1)`: the teacher after its first stage with the exact gradient, for odd d (Lemma 63)."""
    start = symmetric_start(d, k, m, seed, aligned=aligned)
    return stepped(start, expected_gradient(start, k), k)


@checked()
def linear_coefficients(net: Neurons) -> Float[np.ndarray, " d"]:
    """`c_u = E f(x) x_u`, exactly, over the whole cube."""
    x = sign_cube(net.w.shape[1])
    return net(x) @ x / len(x)


@checked(k=whole(1, 2**16))
def support_recall(gradient: Float[np.ndarray, "m d"], k: int) -> float:
    """The share of the support 0..k-1 among the k coordinates with the largest squared gradients, summed over
    neurons."""
    if k > gradient.shape[1]:
        raise ValueError(f"k is {k}; the gradient has {gradient.shape[1]} coordinates")
    return float((largest_coordinates(gradient, k) < k).mean())


def largest_coordinates(gradient: Float[np.ndarray, "m d"], k: int) -> np.ndarray:
    """The k coordinates with the largest squared gradients, summed over neurons."""
    return np.argsort(-(gradient**2).sum(axis=0), kind="stable")[:k]
