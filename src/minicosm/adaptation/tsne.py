"""t-SNE: points of many dimensions drawn in the plane so that neighbours stay neighbours."""

import numpy as np
from jaxtyping import Float

from minicosm.worlds.arrays import check_count


def neighbour_law(points: Float[np.ndarray, "n d"], perplexity: float) -> Float[np.ndarray, "n n"]:
    """`p_ij = (p_j|i + p_i|j) / 2n`, `p_j|i` in proportion to `exp(-|x_i - x_j|^2 / 2 s_i^2)` with the s_i
    that gives it the entropy `log(perplexity)`, found by bisection."""
    squares = np.sum((points[:, None] - points[None]) ** 2, axis=-1)
    np.fill_diagonal(squares, np.inf)
    squares -= squares.min(axis=1, keepdims=True)
    low, high = np.full(len(points), 1e-12), np.full(len(points), 1e12)
    for _ in range(80):
        middle = np.sqrt(low * high)
        law = np.exp(-middle[:, None] * squares)
        law /= law.sum(axis=1, keepdims=True)
        entropy = -np.sum(law * np.log(np.maximum(law, 1e-300)), axis=1)
        spread = entropy > np.log(perplexity)
        low, high = np.where(spread, middle, low), np.where(spread, high, middle)
    return (law + law.T) / (2 * len(points))


def divergence(law: Float[np.ndarray, "n n"], plane: Float[np.ndarray, "n 2"]) -> float:
    """`KL(p || q)`, `q_ij` in proportion to `1 / (1 + |y_i - y_j|^2)`: what t-SNE makes small."""
    near = _near(plane)
    drawn = near / near.sum()
    some = law > 0
    return float(np.sum(law[some] * np.log(law[some] / np.maximum(drawn[some], 1e-300))))


def _near(plane: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n n"]:
    length = np.sum(plane**2, axis=1)
    near = 1 / (1 + np.maximum(length[:, None] + length - 2 * plane @ plane.T, 0))
    np.fill_diagonal(near, 0)
    return near


def tsne(
    points: Float[np.ndarray, "n d"], *, perplexity: float = 30.0, steps: int = 500
) -> Float[np.ndarray, "n 2"]:
    """Gradient descent on `divergence` with momentum and gains, from the principal plane, the law twelvefold
    in the first quarter, at a rate of n / 12; exact, for up to a thousand points or so."""
    points = np.asarray(points, float)
    count = check_count("the number of points", len(points), least=4)
    law = neighbour_law(points, min(perplexity, (count - 1) / 3))
    centred = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    plane = np.zeros((count, 2))
    plane[:, : min(2, len(s))] = (u * s)[:, :2]
    plane *= 1e-4 / max(float(plane[:, 0].std()), 1e-30)
    for times, momentum, some in ((12, 0.5, steps // 4), (1, 0.8, steps - steps // 4)):
        # The speed that points have while the law is twelvefold would throw them apart where it no longer
        # holds them: far apart they hardly attract each other, and do not come back.
        moved, gains = np.zeros_like(plane), np.ones_like(plane)
        for _ in range(some):
            near = _near(plane)
            pull = (times * law - near / near.sum()) * near
            slope = 4 * (pull.sum(axis=1)[:, None] * plane - pull @ plane)
            gains = np.where(slope * moved < 0, gains + 0.2, np.maximum(0.8 * gains, 0.01))
            moved = momentum * moved - count / 12 * gains * slope
            plane = plane + moved
    return plane - plane.mean(axis=0)
