"""What a contrast law costs: the exact constant of the error of a well-specified classifier.

Fit the two parameters of `p_theta(z, z') = N(a z, s^2)` by the squared loss of `p_theta / (p_theta + q)` on
the pairs of a trajectory of duration T. At the truth `h* - y` is a martingale difference along the path, so
that dependence costs nothing to first order, and `T E[KL] / gap` tends to

    c = tr(I H^-1 V H^-1),   I = E_p* g g',   H = E_mix k^2 g g',   V = E_mix k^3 g g',

with `g = grad log p_theta`, `k = h* (1 - h*)` and `mix = (p* + q) / 2`. Maximum likelihood on all transitions
has c = 1, and a q equal to the kernel c = 8.
"""

from typing import Literal

import numpy as np

from minicosm.worlds.diffusions import Contrast, OrnsteinUhlenbeck

from ..checks import kind
from ..signatures import checked
from .arguments import CONTRAST
from .quadrature import Nodes, best_classifier, nodes


@checked(world=kind(OrnsteinUhlenbeck), contrast=CONTRAST)
def price(
    world: OrnsteinUhlenbeck, contrast: Contrast, loss: Literal["squared", "log"] = "squared"
) -> float:
    """`c`, the limit of `T E[KL] / gap`; with the log loss `tr(I (E_mix k g g')^-1)`."""
    at = nodes(world, contrast)
    h = best_classifier(at)
    k = h * (1 - h)
    mixture = at.weights * (at.kernel + at.contrast) / 2
    information = _second(at, at.weights * at.kernel)
    if loss == "log":
        return float(np.trace(information @ np.linalg.inv(_second(at, mixture * k))))
    H, V = _second(at, mixture * k**2), _second(at, mixture * k**3)
    inverse = np.linalg.inv(H)
    return float(np.trace(information @ inverse @ V @ inverse))


def _second(at: Nodes, weights: np.ndarray) -> np.ndarray:
    """`sum weights g g'` with g the gradient of log p in `(a, log s^2)`."""
    g = np.stack([at.residual * at.z / np.sqrt(at.variance), (at.residual**2 - 1) / 2])
    return np.einsum("inm,jnm,nm->ij", g, g, weights)


@checked(world=kind(OrnsteinUhlenbeck), contrast=CONTRAST)
def optimal_loss(world: OrnsteinUhlenbeck, contrast: Contrast) -> float:
    """The squared loss of the best classifier, `E_mix h* (1 - h*)`."""
    at = nodes(world, contrast)
    h = best_classifier(at)
    return float(np.sum(at.weights * (at.kernel + at.contrast) / 2 * h * (1 - h)))
