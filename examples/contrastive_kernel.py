"""Learn the transition kernel of a diffusion by telling its next observation from a random draw."""

import jax

from minicosm.theory.contrastive import price
from minicosm.training.trajectory_contrast import excess_loss, fit_classifier, kernel_of
from minicosm.worlds.diffusions import (
    LOG_COSH,
    Gaussian,
    GridDiffusion,
    Local,
    OrnsteinUhlenbeck,
)

world = GridDiffusion(
    LOG_COSH, gap=0.5
)  # dx = -f'(x) dt + sqrt(2) dW, seen every half unit of time
contrast = Local()  # draws from N(x, 2 gap)
classifier = fit_classifier(world, contrast, jax.random.key(0), length=2000, steps=1500)
print(f"squared loss above the best possible: {excess_loss(world, contrast, classifier):.5f}")

learned = kernel_of(world, contrast, classifier)  # q h / (1 - h), normalised
print(f"KL to the true kernel: {world.kl(learned.kernel):.3f} after one trajectory,")
print(f"                       {world.kl(world.euler()):.3f} for an Euler step with the true drift")

line = OrnsteinUhlenbeck(1.0, gap=0.5)
for mean in (0.0, 3.0, 6.0):  # what a contrast law costs: the limit of T KL / gap
    print(f"q = N({mean:g}, 1): {price(line, Gaussian(mean, 1.0)):.1f} times maximum likelihood")
