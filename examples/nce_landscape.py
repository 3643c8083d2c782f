"""Noise-contrastive estimation of a mean: a flat loss, and three ways to descend on it."""

import numpy as np

from minicosm.theory.nce import Contrast, steps_to, theorem_19
from minicosm.worlds import GaussianMean

world = GaussianMean(R=4)  # data N(4, 1), noise N(0, 1)
nce, exponential = Contrast(world, nodes=1201), Contrast(world, "exponential")
print(f"loss {nce.loss(world.noise):.3f} at the noise, {nce.optimum().loss:.5f} at the data")
print(
    f"condition number at the data: {nce.optimum().condition:.0f}, "
    f"{exponential.optimum().condition:.0f} with the exponential loss"
)

near = 0.1 * world.R
for name, loss, method, rate in (
    ("gradient descent", nce, "gd", 8 / (world.R**2 + 2)),
    ("normalised descent", nce, "ngd", 0.1),
    ("normalised, exponential loss", exponential, "ngd", 0.1),
    ("Newton", nce, "newton", 1.0),
):
    print(f"{name}: {steps_to(loss, method, rate, near).steps} steps")

print(theorem_19(nce, delta=1 / world.R))  # every step comes nearer, and how many there may be
far = GaussianMean(R=75)  # where the gradient is below 1e-300
flat, there = Contrast(far, nodes=40_001), far.truth + np.array([0.01, 0.0])
print(flat.gradient(there), flat.direction(there))
