"""Integrals over pairs of points of an Ornstein-Uhlenbeck world in one dimension, by rules that see both
scales.

A pair is an anchor z of the stationary law and a partner z'. The kernel may be a thousand times narrower than
the contrast law, so the partners of every anchor are the union of a grid for the kernel and one for the
contrast law, and sums over them are by the trapezoidal rule.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from minicosm.worlds.diffusions import Contrast, OrnsteinUhlenbeck, contrast_moments

ANCHORS, PARTNERS, REACH = 121, 401, 8.5  # nodes, and how many deviations they span


class Nodes(NamedTuple):
    """Anchors and partners with weights, and the densities there: `sum(weights * f)` is the integral of
    `pi(z) f(z, z')` over both."""

    z: Float[np.ndarray, "n 1"]
    partner: Float[np.ndarray, "n m"]
    weights: Float[np.ndarray, "n m"]
    kernel: Float[np.ndarray, "n m"]  # p*(z, z')
    contrast: Float[np.ndarray, "n m"]  # q(z' | z)
    residual: Float[np.ndarray, "n m"]  # (z' - a z) / s, without cancellation
    a: float
    variance: float


def nodes(world: OrnsteinUhlenbeck, contrast: Contrast) -> Nodes:
    """The nodes of a world and a contrast law."""
    if world.dimension != 1:
        raise ValueError(
            f"world has {world.dimension} dimensions; integrals are computed in one dimension"
        )
    a, variance = (float(m.item()) for m in world.moments())
    slope, mean, covariance = contrast_moments(world, contrast)
    width = float(np.sqrt(covariance.item()))
    rho = float(world.stiffness.item())
    s = np.sqrt(variance)
    u = np.linspace(-REACH, REACH, ANCHORS)
    z = (u / np.sqrt(rho))[:, None]
    law = np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
    law = law * (u[1] - u[0])
    fine = np.linspace(-REACH, REACH, PARTNERS)[None]
    # Partners as their distance from the mean of the kernel, which a narrow kernel needs in all digits.
    centre = (slope - a) * z + mean
    offset = np.sort(np.concatenate([s * fine + 0 * z, centre + width * fine], axis=1), axis=1)
    steps = np.diff(offset, axis=1)
    rule = np.zeros_like(offset)
    rule[:, 1:] += steps / 2
    rule[:, :-1] += steps / 2
    return Nodes(
        z,
        a * z + offset,
        law[:, None] * rule,
        np.exp(-((offset / s) ** 2) / 2) / (s * np.sqrt(2 * np.pi)),
        np.exp(-(((offset - centre) / width) ** 2) / 2) / (width * np.sqrt(2 * np.pi)),
        offset / s,
        a,
        variance,
    )


def kernel_at(at: Nodes, other: OrnsteinUhlenbeck) -> Float[np.ndarray, "n m"]:
    """The kernel of another world at the nodes."""
    a, variance = (float(m.item()) for m in other.moments())
    offset = at.residual * np.sqrt(at.variance) + (at.a - a) * at.z
    return np.exp(-(offset**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)


def best_classifier(at: Nodes) -> Float[np.ndarray, "n m"]:
    """`h* = p* / (p* + q)`."""
    total = at.kernel + at.contrast
    return np.divide(at.kernel, total, out=np.full_like(total, 0.5), where=total > 0)
