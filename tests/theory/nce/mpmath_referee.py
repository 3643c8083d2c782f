"""NCE and eNCE of two Gaussians in thirty digits: densities as they are defined, integrals by a fine sum."""

from typing import NamedTuple

import mpmath as mp

DIGITS = 30


class Exact(NamedTuple):
    """Of one loss at one τ: its logarithm, its gradient, and the entries [0, 0], [0, 1], [1, 1] of its
    Hessian."""

    log_loss: float
    gradient: list
    hessian: list

    @property
    def condition(self):
        with mp.workdps(DIGITS):
            det = self.hessian[0] * self.hessian[2] - self.hessian[1] ** 2
            trace = self.hessian[0] + self.hessian[2]
            return float(((trace + mp.sqrt(trace**2 - 4 * det)) / 2) ** 2 / det)


def exact(world, tau):
    """Both losses by their definitions, the laws having the parameters that double precision has. The poles
    of the integrand are π/|b| from the line, so a step of 1/(2|b|) leaves an error of 1e-17."""
    with mp.workdps(DIGITS):
        tau, truth, noise = (
            [mp.mpf(float(t)) for t in each] for each in (tau, world.truth, world.noise)
        )
        low, high = min(truth[0], 0) - 13, max(truth[0], 0) + 13
        count = int((high - low) * 2 * max(3, abs(tau[0])))
        step = (high - low) / count
        sums = {"nce": [mp.mpf(0)] * 6, "exponential": [mp.mpf(0)] * 6}
        for i in range(count + 1):
            x = low + i * step
            base = mp.exp(-x * x / 2)
            p, s, q = (base * mp.exp(b * x - c) for b, c in (tau, truth, noise))
            root, other = mp.sqrt(p * q), s * mp.sqrt(q / p)
            parts = {
                "nce": (
                    (s * mp.log1p(q / p) + q * mp.log1p(p / q)) / 2,
                    q * (p - s) / (p + q) / 2,
                    (s + q) * p * q / (p + q) ** 2 / 2,
                ),
                "exponential": ((root + other) / 2, (root - other) / 4, (root + other) / 8),
            }
            for kind, (loss, slope, weight) in parts.items():
                terms = (loss, slope * x, -slope, weight * x * x, -weight * x, weight)
                sums[kind] = [total + term for total, term in zip(sums[kind], terms, strict=True)]
        return {
            kind: Exact(
                float(mp.log(total[0] * step)),
                [each * step for each in total[1:3]],
                [each * step for each in total[3:]],
            )
            for kind, total in sums.items()
        }


def relative(found, wanted):
    """The distance of two vectors over the length of the second."""
    with mp.workdps(DIGITS):
        far = mp.sqrt(sum((mp.mpf(float(a)) - b) ** 2 for a, b in zip(found, wanted, strict=True)))
        return float(far / mp.sqrt(sum(b**2 for b in wanted)))
