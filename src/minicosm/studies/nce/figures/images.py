"""Pictures of networks on images (Figure 4.3)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..arms import METHODS
from ..readings import NAMES, best_rate, of_images
from ..trials import IMAGES

MOST = 10  # losses that are drawn; both begin at 1 or less

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def images_figure(kind: str) -> Callable[[Results], "Figure"]:
    """Training loss against updates at the best step size, and the last loss against the step size."""

    def draw(results: Results) -> "Figure":
        fig = figure(7.4, 3.3)
        left, right = fig.subplots(1, 2)
        config = results[IMAGES].config
        tenths = (np.arange(10) + 0.5) * config.updates / 10
        for method, colour, mark, side in zip(
            METHODS, (PALETTE[1], PALETTE[2]), "os", (1, 2), strict=True
        ):
            best = best_rate(results, kind, method)
            name = f"{NAMES[method]}, step size {config.rates[best]:g}"
            for i, curve in enumerate(of_images(results, kind, method, "curves")[best]):
                left.semilogy(tenths, curve, color=colour, lw=1.2, label=name if not i else None)
            losses = of_images(results, kind, method)
            kept = np.where(losses <= MOST, losses, np.nan)
            for i in range(kept.shape[1]):
                right.loglog(config.rates, kept[:, i], mark, ms=4, color=colour,
                             label=NAMES[method] if not i else None)  # fmt: skip
            away = (losses > MOST).any(axis=1)  # NaN and infinite losses do not count as less
            away |= ~np.isfinite(losses).all(axis=1)
            right.plot(np.array(config.rates)[away], np.full(away.sum(), side * MOST), "^", ms=6,
                       color=colour, mfc="none")  # fmt: skip
        left.set(xlabel="updates", ylabel=f"{NAMES[kind]} training loss", title="best step sizes")
        left.legend(fontsize=8)
        right.set(xlabel="step size", title="last tenth of the updates")
        right.set_ylim(None, 4 * MOST)
        right.plot([], [], "^", ms=6, color="black", mfc="none", label=f"some above {MOST}")
        right.legend(fontsize=8)
        return fig

    return draw
