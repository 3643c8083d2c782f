"""Neural density ratios on images (Section 4.1.6, Figure 4.3)."""

from collections.abc import Callable
from math import log

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    Table,
    all_below,
    all_of,
    only_if,
    worst,
)

from ..arms import METHODS
from ..figures.images import images_figure
from ..readings import NAMES, best_rate, image_losses, log_ratio
from ..study import STUDY, THESIS
from ..trials import IMAGES, images

claim = STUDY.section(__doc__)

START = {"nce": log(2), "exponential": 1.0}  # the loss where the log-ratio is 0
COLUMNS = ("method", "step size", "training loss", "held-out loss")
FEWEST = 200  # updates from which something is said
WITHOUT = (
    "There are no images: install scikit-learn for its 8x8 digits, or give a file with --set "
    "images=FILE.npy (at profile paper those of MNIST)."
)


def _faster(kind: str) -> Callable[[Results], Outcome]:
    def check(results: Results) -> Outcome:
        if not results:
            return Outcome("undecided", {}, remark=WITHOUT)
        losses = {method: image_losses(results, kind, method) for method in METHODS}
        config = results[IMAGES].config
        learned = worst([each.mean() for each in losses.values()]) < START[kind]
        lines = [
            (
                NAMES[method],
                config.rates[best_rate(results, kind, method)],
                Estimate.of(losses[method]),
                Estimate.of(image_losses(results, kind, method, "held_out")),
            )
            for method in METHODS
        ]
        outcome = all_of(
            all_below("log of NGD over GD, training loss", log_ratio(results, kind)),
            numbers={"the same, held-out loss": log_ratio(results, kind, "held_out")},
            tables=(Table("at the best step size", COLUMNS, tuple(lines)),),
        )
        enough = config.updates >= FEWEST and learned
        return only_if(enough, "Trained too briefly: a loss is not below its start.", outcome)

    return check


for kind, name in (("nce", "NCE"), ("exponential", "eNCE")):
    claim(
        id=f"nce/figure-4.3-{name.lower()}",
        title=f"On images normalised descent trains {name} faster",
        source=f"{THESIS}, Section 4.1.6, Figure 4.3",
        statement=(
            f"A network that models the log-ratio of images and noise reaches a lower {name} loss by NGD "
            f"than by GD in the "
            "same number of updates, each at its best step size."
        ),
        criterion=(
            "Training loss of the last tenth of the updates at the step size that is best in the mean "
            "over seeds, of one grid for both; log of NGD over GD, paired by seed: holds if the 95% "
            "interval lies below 0, fails if above. "
            f"Undecided with fewer than {FEWEST} updates, or if a method does not come below the loss of "
            f"ratio 1."
        ),
        trials=images,
        check=_faster(kind),
        kind="figure",
        figure=images_figure(kind),
    )
