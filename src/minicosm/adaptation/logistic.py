"""Logistic regression to convergence: the best linear head by likelihood.

The outputs of a language model are ill-conditioned features (condition numbers of 1e10 are usual),
so the fit runs in coordinates in which the features have unit covariance, by a damped Newton method
in double precision.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.worlds.arrays import is_concrete

from .checks import check_flag, check_labels, check_real, check_reals, check_whole
from .heads import AnyArray, LinearHead, accuracy

RANK_CUT = 1e-12
LEAST_CURVATURE = 1e-13
MAX_UNKNOWNS = 16_384
STEPS = np.asarray([2.0**k for k in range(3, -13, -1)])


def logistic_regression(
    features: Float[AnyArray, "n d"],
    labels: Int[AnyArray, " n"],
    classes: int = 2,
    *,
    ridge: float = 1e-8,
    whiten: bool = True,
    max_steps: int = 200,
) -> LinearHead:
    """The linear head that minimises `mean cross entropy + ridge / 2 * ||v||^2`.

    With `whiten`, v are the weights on the whitened features (directions whose singular value is
    below 1e-12 of the largest are dropped), so the small ridge treats all directions alike;
    otherwise v are the weights themselves, the objective of scikit-learn with `C = 1 / (n ridge)`.
    The bias is not penalised. Two classes give one row of weights (label 1 where the score is >= 0),
    more give a row per class (softmax, argmax).

    Runs in float64. To fit many heads at once, `jax.vmap` this over (features, labels) under
    `jax.enable_x64(True)`.
    """
    features = check_reals("features", features, (None, None))
    classes = check_whole("classes", classes, 2)
    labels = check_labels("labels", labels, features.shape[0], classes)
    check_flag("whiten", whiten)
    check_real("ridge", ridge, least=0)
    check_whole("max_steps", max_steps, 1, 10**9)
    unknowns = (1 if classes == 2 else classes) * (features.shape[1] + 1)
    if unknowns > MAX_UNKNOWNS:
        raise ValueError(
            f"classes is {classes} and features have {features.shape[1]} columns, which makes {unknowns} "
            f"unknowns; Newton's method takes at most {MAX_UNKNOWNS}"
        )
    if not is_concrete(features, labels):
        return LinearHead(*_fit(features, labels, classes, ridge, whiten, max_steps))
    known = np.asarray(labels)
    with jax.enable_x64(True):
        x = np.asarray(features, np.float64)
        fitted = _fit(x, known, classes, np.float64(ridge), whiten, max_steps)
        return LinearHead(*map(np.asarray, fitted))


class _State(NamedTuple):
    theta: Float[Array, "r d+1"]
    value: Float[Array, ""]
    step: Int[Array, ""]
    done: Array


@partial(jax.jit, static_argnames=("classes", "whiten"))
def _fit(
    features: Float[AnyArray, "n d"],
    labels: Int[AnyArray, " n"],
    classes: int,
    ridge: Any,
    whiten: bool,
    max_steps: Any,
) -> Any:
    dtype = jnp.result_type(float)
    n = features.shape[0]
    features = jnp.asarray(features, dtype)
    mean = jnp.mean(features, axis=0)
    q, r = jnp.linalg.qr(features - mean)
    u, s, vt = jnp.linalg.svd(r, full_matrices=False)
    kept = s > RANK_CUT * jnp.max(s)
    deviation = jnp.where(kept, s, 1) / np.sqrt(n)
    whitened = jnp.where(kept, (q @ u) * np.sqrt(n), 0)
    inputs = jnp.concatenate([whitened, jnp.ones((n, 1), dtype)], axis=1)
    penalty = jnp.where(kept, 1.0 if whiten else deviation**-2, 1.0)
    penalty = ridge * jnp.concatenate([penalty, jnp.zeros(1, dtype)])
    rows = 1 if classes == 2 else classes
    targets = labels[:, None] == jnp.arange(1, 2) if rows == 1 else jax.nn.one_hot(labels, rows)
    targets = targets.astype(dtype)

    def loss(logits: Array) -> Array:
        if rows == 1:
            per = jax.nn.softplus(logits[:, 0]) - targets[:, 0] * logits[:, 0]
        else:
            per = jax.nn.logsumexp(logits, axis=1) - jnp.sum(targets * logits, axis=1)
        return jnp.mean(per)

    def newton(state: _State) -> _State:
        logits = inputs @ state.theta.T
        p = jax.nn.sigmoid(logits) if rows == 1 else jax.nn.softmax(logits)
        gradient = (p - targets).T @ inputs / n + penalty * state.theta
        spread = -p[:, :, None] * p[:, None, :]  # d p_a / d logit_b
        spread = spread + p[:, :, None] * jnp.eye(rows, dtype=dtype)
        hessian = jnp.einsum("nab,ni,nj->aibj", spread, inputs, inputs, optimize="optimal") / n
        size = rows * inputs.shape[1]
        curvature = jnp.tile(penalty, rows) + LEAST_CURVATURE
        hessian = hessian.reshape(size, size) + jnp.diag(curvature)
        # Jacobi scaling: separable data leave curvatures of very different sizes.
        root = jnp.sqrt(jnp.diag(hessian))
        scaled = hessian / root[:, None] / root[None, :]
        move = -jnp.linalg.solve(scaled, gradient.reshape(-1) / root) / root
        move = move.reshape(state.theta.shape)
        along = inputs @ move.T

        def value_at(t: Array) -> Array:
            theta = state.theta + t * move
            return loss(logits + t * along) + jnp.sum(penalty * theta**2) / 2

        values = jax.vmap(value_at)(jnp.asarray(STEPS, dtype))
        best = jnp.argmin(jnp.where(jnp.isnan(values), jnp.inf, values))
        better = values[best] < state.value
        decrement = -jnp.sum(gradient * move)
        # Near the optimum the value no longer shows the progress that a full step still makes.
        stuck = jnp.where(decrement < 1e-10, 1.0, 0.0)
        length = jnp.where(better, jnp.asarray(STEPS, dtype)[best], stuck)
        return _State(
            state.theta + length * move,
            jnp.where(better, values[best], state.value),
            state.step + 1,
            ~better | (decrement <= 1e-24),
        )

    theta = jnp.zeros((rows, inputs.shape[1]), dtype)
    start = _State(theta, loss(inputs @ theta.T), jnp.zeros((), int), jnp.zeros((), bool))
    final = jax.lax.while_loop(lambda s: ~s.done & (s.step < max_steps), newton, start)
    weights = (jnp.where(kept, final.theta[:, :-1] / deviation, 0)) @ vt
    bias = final.theta[:, -1] - weights @ mean
    return (weights[0], bias[0]) if rows == 1 else (weights, bias)


# -- in many worlds at once ---------------------------------------------------------------------

SUMMED_RIDGE = 1e-8
NEWTON_STEPS = 40  # accuracies do not change after about 15


def logistic_accuracies(
    features: Mapping[str, Float[AnyArray, "w n _"]],
    labels: Int[AnyArray, "w n"],
    train: int,
    test: int,
) -> dict[str, np.ndarray]:
    """Test accuracy of logistic regression on each kind of features, in every world.

    A ridge of 1e-8 is added to the summed loss: one of 1e-8 on the mean would already keep heads on
    emissions with condition number 1e4 from separating separable data.

    The first `train` examples are learned from, the last `test` tested on. Kinds of the same width
    share one compiled program, which takes the worlds one by one, so that each stops when it has
    converged.
    """
    found: dict[str, np.ndarray] = {}
    for width in sorted({value.shape[2] for value in features.values()}):
        names = [name for name, value in features.items() if value.shape[2] == width]
        stacked = jnp.concatenate([jnp.asarray(features[name]) for name in names])
        repeated = jnp.tile(labels, (len(names), 1))
        scores = np.asarray(_accuracies(stacked, repeated, train, test))
        found |= dict(zip(names, scores.reshape(len(names), -1), strict=True))
    return found


@partial(jax.jit, static_argnames=("train", "test"))
def _accuracies(
    features: Float[AnyArray, "w n d"], labels: Int[AnyArray, "w n"], train: int, test: int
) -> Float[Array, " w"]:
    def one(pair: tuple[Array, Array]) -> Float[Array, ""]:
        features, labels = pair
        head = logistic_regression(
            features[:train],
            labels[:train],
            ridge=SUMMED_RIDGE / train,
            whiten=False,
            max_steps=NEWTON_STEPS,
        )
        return accuracy(jax.vmap(head)(features[-test:]), labels[-test:])

    return jax.lax.map(one, (features, labels))


def whitened(features: Float[AnyArray, "w n d"], train: int) -> Float[np.ndarray, "w n d"]:
    """Features with mean 0 and covariance 1 on the training set, so that a ridge sees every direction
    alike; directions below 1e-12 of the largest are dropped (set to zero)."""
    x = np.asarray(features) - np.asarray(features)[:, :train].mean(axis=1, keepdims=True)
    _, sigma, Vt = np.linalg.svd(x[:, :train], full_matrices=False)
    kept = sigma > 1e-12 * sigma[:, :1]
    scale = np.where(kept, np.sqrt(train) / np.where(kept, sigma, 1), 0)
    return x @ (np.swapaxes(Vt, 1, 2) * scale[:, None, :])
