"""What a network can fit on top of its first layer: the second stage of teachers (Lemma 65) and of students
(Theorem 23, item 1).

After its first step from the one-step teacher every neuron of a student points along one vector c, so its
second stage fits a function of the single number `<c, x>`. That is the parity only if the |c_j| are nearly
equal: where they are not, many values of `<c, x>` with alternating labels lie between the 2k - 1 biases.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog

from ..checks import POSITIVE, reals, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .fourier import sign_cube
from .one_step import (
    Neurons,
    first_gradient,
    largest_coordinates,
    linear_coefficients,
    one_step_teacher,
    stepped,
    symmetric_start,
)

SCALES = np.geomspace(1 / 8, 8, 25)
"""Step sizes that are tried, as multiples of that at which the mean weight is 1/2k."""
REACHED = 0.1
"""Hinge loss up to which a student may be said to have learned."""


def best_hinge_loss(features: Float[np.ndarray, "n f"], y: Float[np.ndarray, " n"]) -> float:
    """`min_a mean max(0, 1 - y (features a))`, by a linear program."""
    n, f = features.shape
    signed = y[:, None] * features
    answer = linprog(
        np.concatenate([np.zeros(f), np.full(n, 1 / n)]),
        A_ub=np.concatenate([-signed, -np.eye(n)], axis=1),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * f + [(0, None)] * n,
        method="highs",
    )
    return float(answer.fun) if answer.status == 0 else float("nan")


@checked(c=reals((None,)))
def collinear_loss(c: Float[np.ndarray, " k"], scales: Float[np.ndarray, " s"] = SCALES) -> float:
    """The least hinge loss of any output weights on neurons `relu(±s <c, x> + b)` with all 2k - 1 biases, for
    the parity of all k signs, at the best of the step sizes s."""
    k = len(c)
    if not np.abs(c).sum():
        return 1.0
    if k > 10:
        raise ValueError(f"c has {k} entries; at most 10 can be enumerated")
    x = sign_cube(k)
    y = np.prod(x, axis=1)
    biases = np.arange(-k + 1, k) / k
    unit = c / np.abs(c).mean() / (2 * k)
    losses = []
    for scale in scales:
        projected = scale * (x @ unit)[:, None]
        features = np.concatenate(
            [np.maximum(projected + biases, 0), np.maximum(-projected + biases, 0)], axis=1
        )
        losses.append(best_hinge_loss(features, y))
        if losses[-1] <= 1e-9:
            break
    return float(np.min(losses))


@checked(d=whole(3, 19), k=whole(2, 10), m=whole(2, 2**14), seed=whole(0, 2**62))
def theorem_23_student(d: int, k: int, m: int, seed: int) -> Theorem:
    """Item 1 as printed: after its step from the exact one-step teacher a student of any width reaches every
    loss in its second stage. Holds where the best loss over all output weights and step sizes, with nothing
    off the support, is at most 0.1."""
    condition = Condition(
        "k even and d odd", k % 2 == 0 and d % 2 == 1 and d > k, reason=f"d is {d} and k is {k}"
    )
    if not condition.holds:
        return Theorem("Theorem 23, student as printed", (condition,))
    c = linear_coefficients(one_step_teacher(d, k, m, seed))[:k]
    loss = collinear_loss(c)
    return Theorem.inequality(
        "Theorem 23, student as printed",
        REACHED - loss,
        within=0.0,
        details={
            "loss": loss,
            "largest over least": float(np.abs(c).max() / np.abs(c).min()),
            "d": d, "k": k, "m": m,
        },
    )  # fmt: skip


def unequal_example() -> Theorem:
    """With c proportional to (1, 1, 1/2, 1/2) two values of `<c, x>` carry both labels, and no function
    of it has a hinge loss below 1/4."""
    x = sign_cube(4)
    y = np.prod(x, axis=1)
    values = np.round(x @ np.array([1.0, 1.0, 0.5, 0.5]), 9)
    floor = 0.0
    for value in np.unique(values):
        labels = y[values == value]
        # Of one number f the loss is least at f = ±1: twice the share of the rarer label.
        floor += 2 * min((labels > 0).sum(), (labels < 0).sum()) / len(y)
    return Theorem.inequality(
        "Theorem 23, unequal coefficients", floor - 0.25, details={"least loss": float(floor)}
    )


class Fit(NamedTuple):
    """A network whose second stage was fitted, on fresh inputs."""

    error: float
    """Share of wrong signs."""
    recall: float
    """Share of the support among the coordinates that the first stage found."""


@checked(k=whole(1, 2**12), seed=whole(0, 2**62), samples=whole(1, 2**20), penalty=POSITIVE)
def ridge_error(
    net: Neurons, k: int, seed: int, samples: int = 4000, penalty: float = 1e-3
) -> float:
    """Output weights by ridge regression on the labels of `samples` inputs, in the place of a long second
    stage; the share of wrong signs on 4096 fresh ones."""
    rng = np.random.default_rng([seed, 99])
    d = net.w.shape[1]
    if k > d:
        raise ValueError(f"k is {k}; the network reads {d} coordinates")

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.choice([-1.0, 1.0], (n, d))
        return np.maximum(x @ net.w.T + net.b, 0), np.prod(x[:, :k], axis=1)

    features, y = draw(samples)
    gram = features.T @ features + penalty * np.eye(features.shape[1])
    a = np.linalg.solve(gram, features.T @ y)
    fresh, truth = draw(4096)
    return float(((fresh @ a) * truth <= 0).mean())


@checked(d=whole(3, 1001), k=whole(2, 60), m=whole(2, 2**14), seed=whole(0, 2**62))
def lemma_65_error(d: int, k: int, m: int, seed: int) -> float:
    """The error of a teacher whose first step was exact and whose second stage is a ridge regression."""
    return ridge_error(one_step_teacher(d, k, m, seed), k, seed)


@checked(
    d=whole(3, 1001), k=whole(2, 60), m=whole(2, 2**14), batch=whole(1, 2**22), seed=whole(0, 2**62)
)
def student_fits(d: int, k: int, m: int, batch: int, seed: int) -> dict[str, Fit]:
    """Students of width m after a first step from `batch` answers of the one-step teacher, as printed
    and with kept signs: `w_ij = w_ij^(0) / 2k` on the k coordinates with the largest squared gradients, 0
    elsewhere."""
    teacher = one_step_teacher(d, k, m, seed)
    start = symmetric_start(d, k, m, seed + 1)
    x = np.random.default_rng([seed, batch, 1]).choice([-1.0, 1.0], (batch, d))
    gradient = first_gradient(start, x, teacher(x))
    found = largest_coordinates(gradient, k)
    kept = np.zeros_like(start.w)
    kept[:, found] = start.w[:, found] / (2 * k)
    recall = float((found < k).mean())
    # The printed student at the step size that makes the mean weight on what was found 1/2k.
    rate = 1 / (2 * k * np.abs(gradient[:, found]).mean())
    printed = stepped(start, gradient, k, rate)
    return {
        "as printed": Fit(ridge_error(printed, k, seed), recall),
        "kept signs": Fit(ridge_error(start._replace(w=kept), k, seed), recall),
    }
