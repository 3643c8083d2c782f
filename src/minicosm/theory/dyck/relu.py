"""ReLU networks of two layers with explicit weights (Lemmas 2.2.15 to 2.2.20).

Where a printed formula is wrong, the corrected form has the plain name; that of Lemma 2.2.19 as
printed is `switch_printed`. The lemmas themselves are in `relu_lemmas`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..signatures import checked


@checked("width")
class Stage(NamedTuple):
    """`x -> relu(x @ up + up_bias) @ down + down_bias`."""

    up: Float[np.ndarray, "inputs width"]
    up_bias: Float[np.ndarray, " width"]
    down: Float[np.ndarray, "width outputs"]
    down_bias: Float[np.ndarray, " outputs"]

    @property
    def width(self) -> int:
        return len(self.up_bias)

    @checked()
    def __call__(
        self, x: Float[np.ndarray, "*batch inputs"]
    ) -> Float[np.ndarray, "*batch outputs"]:
        if x.shape[-1] != len(self.up):
            raise ValueError(
                f"x has shape {x.shape}; its last axis must have {len(self.up)} inputs"
            )
        return np.maximum(x @ self.up + self.up_bias, 0) @ self.down + self.down_bias

    @checked()
    def after(self, matrix: Float[np.ndarray, "before inputs"]) -> "Stage":
        """`x -> stage(x @ matrix)`."""
        if matrix.shape[1] != len(self.up):
            raise ValueError(
                f"matrix has shape {matrix.shape}; it must have {len(self.up)} columns"
            )
        return self._replace(up=matrix @ self.up)


def concatenated(stages: Sequence[Stage]) -> Stage:
    """`x -> (stage_1(x), stage_2(x), ...)`: all stages read the same x."""
    widths = np.cumsum([0, *(stage.width for stage in stages)])
    places = np.cumsum([0, *(len(stage.down_bias) for stage in stages)])
    down = np.zeros((widths[-1], places[-1]))
    for i, stage in enumerate(stages):
        down[widths[i] : widths[i + 1], places[i] : places[i + 1]] = stage.down
    return Stage(
        np.hstack([stage.up for stage in stages]),
        np.concatenate([stage.up_bias for stage in stages]),
        down,
        np.concatenate([stage.down_bias for stage in stages]),
    )


def padded(stage: Stage, inputs: int, width: int, outputs: int) -> Stage:
    """The same map with unused inputs, units and outputs after its own."""
    rows, columns = inputs - stage.up.shape[0], outputs - len(stage.down_bias)
    units = width - stage.width
    return Stage(
        np.pad(stage.up, ((0, rows), (0, units))),
        np.pad(stage.up_bias, (0, units)),
        np.pad(stage.down, ((0, units), (0, columns))),
        np.pad(stage.down_bias, (0, columns)),
    )


def smallest_gap(numbers: Float[np.ndarray, " n"]) -> float:
    """The least distance of two of the numbers; infinite if there is one."""
    return float(np.diff(np.sort(numbers)).min(initial=np.inf))


def separating_direction(
    points: Float[np.ndarray, "n inputs"], *, seed: int = 0, candidates: int = 2000
) -> Float[np.ndarray, " inputs"]:
    """Of random unit vectors, the one along which distinct points are furthest apart."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(candidates, points.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions[np.argmax([smallest_gap(points @ w) for w in directions])]


def interpolate(
    points: Float[np.ndarray, "n inputs"],
    values: Float[np.ndarray, "n outputs"],
    direction: Float[np.ndarray, " inputs"] | None = None,
) -> Stage:
    """Lemma 2.2.15: `f(x_i) = y_i` with 2n units.

    Along w, which separates the points by at least 2 gamma, and with the points sorted along it,
    `z_1 = y_1 / gamma`, `z_i = y_i / gamma - 2 sum_{j<i} z_j` and
    `f(x) = sum_i z_i [relu(w.(x - x_i) + gamma) - relu(w.(x - x_i) - gamma)]`.
    """
    w = separating_direction(points) if direction is None else direction
    along = points @ w
    gap = smallest_gap(along)
    if not gap > 1e-12 * max(1.0, float(np.abs(along).max())):
        raise ValueError(
            f"two points are {gap:.2g} apart along the direction; it must tell them apart"
        )
    gamma = gap / 2 if np.isfinite(gap) else 1.0
    order = np.argsort(along)
    z = np.zeros_like(values, dtype=np.float64)
    total = np.zeros(values.shape[1])
    for i, value in enumerate(values[order]):
        z[i] = value / gamma - 2 * total
        total = total + z[i]
    sorted_along = along[order]
    return Stage(
        np.repeat(w[:, None], 2 * len(points), axis=1),
        np.concatenate([gamma - sorted_along, -gamma - sorted_along]),
        np.vstack([z, -z]),
        np.zeros(values.shape[1]),
    )


def orthonormal(vectors: Float[np.ndarray, "r n"], count: int) -> Float[np.ndarray, "count n"]:
    """Lemma 2.2.16: orthonormal rows that are orthogonal to all the given ones."""
    _, values, rows = np.linalg.svd(vectors, full_matrices=True)
    rank = int((values > 1e-12 * values.max(initial=0)).sum())
    if vectors.shape[1] - rank < count:
        raise ValueError(
            f"only {vectors.shape[1] - rank} directions are orthogonal to the {len(vectors)} given "
            f"vectors in {vectors.shape[1]} dimensions; {count} are needed"
        )
    return rows[rank : rank + count]


def index(n: int, bound: float) -> Stage:
    """Lemma 2.2.17: `f(x, y) = x_y` for x in [0, M]^n and y = 1..n, with 2n units.

    `sum_i relu(x_i + M (y - i)) - sum_i relu(x_i + M (y - i - 1)) - M (y - 1)`. The first unit is
    always active, so it is written as relu(x_1) and takes the linear term with it.
    """
    ranks = np.arange(1, n + 1)
    first = np.vstack([np.eye(n), np.full(n, bound)])
    first[-1, 0] = 0
    bias = -bound * ranks
    bias[0] = 0
    second = np.vstack([np.eye(n), np.full(n, bound)])
    return Stage(
        np.hstack([first, second]),
        np.concatenate([bias, -bound * (ranks + 1)]).astype(np.float64),
        np.concatenate([np.ones(n), -np.ones(n)])[:, None],
        np.zeros(1),
    )


def which(n: int, threshold: float) -> Stage:
    """Lemma 2.2.18, corrected: `f(x) = i` where x_i > M is the only entry that is not zero.

    `f(x) = sum_i i (relu(x_i) - relu(x_i - M)) / M`.
    """
    weights = np.arange(1, n + 1)[:, None] / threshold
    return Stage(
        np.hstack([np.eye(n), np.eye(n)]),
        np.concatenate([np.zeros(n), np.full(n, -threshold)]),
        np.vstack([weights, -weights]),
        np.zeros(1),
    )


def switch(stages: Sequence[Stage], bound: float) -> Stage:
    """Lemma 2.2.19, corrected: `f(y, x) = f_y(x)` for y = 1..K, where all |w.x + b| are at most M.

    With `z = w.x + b` and `f_k(x) = sum_i a_ki relu(z_ki) + b_k`,

    `f(y, x) = sum_{k,i} a_ki [relu(z_ki + 2M (y - k)) - relu(z_ki + 2M (y - k) - M)] + h(y)`,

    where `h(y) = b_y - M sum_{k<y} sum_i a_ki` is interpolated. A stage without units costs none.
    """
    up, bias, down = [], [], []
    numbers, used = np.arange(1, len(stages) + 1.0), np.zeros(len(stages[0].down_bias))
    h = []
    for k, stage in zip(numbers, stages, strict=True):
        units = np.vstack([np.full(stage.width, 2 * bound), stage.up])
        up += [units, units]
        bias += [stage.up_bias - 2 * bound * k, stage.up_bias - 2 * bound * k - bound]
        down += [stage.down, -stage.down]
        h.append(stage.down_bias - bound * used)
        used = used + stage.down.sum(axis=0)
    offsets = interpolate(numbers[:, None], np.array(h), np.ones(1))
    reads_y = np.eye(1, stages[0].up.shape[0] + 1).T
    chosen = Stage(np.hstack(up), np.concatenate(bias), np.vstack(down), np.zeros(len(used)))
    both = concatenated([chosen, offsets.after(reads_y)])
    split = len(used)
    return Stage(
        both.up,
        both.up_bias,
        both.down[:, :split] + both.down[:, split:],
        both.down_bias[:split] + both.down_bias[split:],
    )


def switch_printed(stages: Sequence[Stage], bound: float) -> Stage:
    """Lemma 2.2.19 as printed, for stages of one width.

    `sum_{k,i} a_ki [relu(z_ki + M (y - k)) - relu(z_ki + M (y - k - 1))] + sum_k b_k
    - sum_{k,i} c_ki relu(y + 1 - k)` with `sum_{k<=k'} c_ki (k' + 1 - k) = M sum_{k<k'} a_ki`.
    """
    K, inputs = len(stages), stages[0].up.shape[0]
    numbers = np.arange(1, K + 1.0)
    ramps = np.maximum(numbers[:, None] + 1 - numbers, 0)
    a = np.array([stage.down.sum(axis=0) for stage in stages])
    c = np.linalg.solve(ramps, bound * (np.cumsum(a, axis=0) - a))
    up, bias, down = [], [], []
    for k, stage in zip(numbers, stages, strict=True):
        units = np.vstack([np.full(stage.width, bound), stage.up])
        up += [units, units]
        bias += [stage.up_bias - bound * k, stage.up_bias - bound * (k + 1)]
        down += [stage.down, -stage.down]
    reads_y = np.repeat(np.eye(1, inputs + 1).T, K, axis=1)
    return Stage(
        np.hstack([*up, reads_y]),
        np.concatenate([*bias, 1 - numbers]),
        np.vstack([*down, -c]),
        np.sum([stage.down_bias for stage in stages], axis=0),
    )


def linear(W: Float[np.ndarray, "n n"]) -> Stage:
    """Lemma 2.2.20, corrected: `W x = [I, -I] relu([W; -W] x)`, with 2n units."""
    identity = np.eye(len(W))
    return Stage(
        np.hstack([W.T, -W.T]),
        np.zeros(2 * len(W)),
        np.vstack([identity, -identity]),
        np.zeros(len(W)),
    )
