"""NCE and eNCE of two Gaussians in forty digits: densities as they are defined, integrals by a fine sum."""

import mpmath as mp


class Referee:
    """The law of the data has the parameters τ* as double precision has them."""

    def __init__(self, world):
        self.truth, self.noise = (
            [mp.mpf(float(t)) for t in tau] for tau in (world.truth, world.noise)
        )

    def moments(self, tau, kind):
        """Gradient and the entries `[0, 0], [0, 1], [1, 1]` of the Hessian."""
        with mp.workdps(40):
            return self._moments([mp.mpf(float(t)) for t in tau], kind)

    def _moments(self, tau, kind):
        low, high = min(self.truth[0], 0) - 16, max(self.truth[0], 0) + 16
        count = int((high - low) * 4 * max(4, abs(tau[0])))
        step = (high - low) / count
        g, h = [mp.mpf(0)] * 2, [mp.mpf(0)] * 3
        for i in range(count + 1):
            x = low + i * step
            base = mp.exp(-x * x / 2)
            p, s, q = (base * mp.exp(b * x - c) for b, c in (tau, self.truth, self.noise))
            if kind == "nce":
                slope, weight = q * (p - s) / (p + q) / 2, (s + q) * p * q / (p + q) ** 2 / 2
            else:
                both = mp.sqrt(q * p), s * mp.sqrt(q / p)
                slope, weight = (both[0] - both[1]) / 4, (both[0] + both[1]) / 8
            g = [g[0] + slope * x, g[1] - slope]
            h = [h[0] + weight * x * x, h[1] - weight * x, h[2] + weight]
        return [v * step for v in g], [v * step for v in h]

    def log_loss(self, tau, kind):
        with mp.workdps(40):
            tau = [mp.mpf(float(t)) for t in tau]
            low, high = min(self.truth[0], 0) - 16, max(self.truth[0], 0) + 16
            count = int((high - low) * 4 * max(4, abs(tau[0])))
            step, total = (high - low) / count, mp.mpf(0)
            for i in range(count + 1):
                x = low + i * step
                base = mp.exp(-x * x / 2)
                p, s, q = (base * mp.exp(b * x - c) for b, c in (tau, self.truth, self.noise))
                if kind == "nce":
                    total += s * mp.log(1 + q / p) / 2 + q * mp.log(1 + p / q) / 2
                else:
                    total += s * mp.sqrt(q / p) / 2 + q * mp.sqrt(p / q) / 2
            return float(mp.log(total * step))


def relative(found, wanted):
    """The distance of two vectors over the length of the second."""
    with mp.workdps(40):
        far = mp.sqrt(sum((mp.mpf(float(a)) - b) ** 2 for a, b in zip(found, wanted, strict=True)))
        return float(far / mp.sqrt(sum(b**2 for b in wanted)))
