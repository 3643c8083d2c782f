"""Which contrast law, and what networks learn (ours: the source has no experiments)."""

from itertools import pairwise
from math import log

from minicosm.lab import (
    Outcome,
    Results,
    Table,
    above,
    all_above,
    all_below,
    all_of,
    all_within,
    at_least,
    at_most,
    below,
    only_if,
    rows,
)

from ..figures.networks import contrast_figure, densities_figure
from ..figures.samples import price_figure, shift_figure
from ..readings import (
    LEARNED,
    against_euler,
    learned,
    local_gain,
    log_difference,
    only,
    scaled,
    where,
)
from ..study import STUDY, THESIS
from ..trials import PLANE, networks, plug_in, prices, two_contrasts

claim = STUDY.section(__doc__)


@claim(
    id="contrastive/price-of-q",
    title="What a contrast law costs is an exact constant",
    source=f"added to {THESIS}, Section 2.1.1.2 (which prefers a contrast law close to the kernel)",
    statement=(
        r"For a well-specified family $T \, \mathbb{E}[KL] / \eta \to c(\eta, q) = \mathrm{tr}(I H^{-1} V "
        r"H^{-1})$. It is 8 for $q = p_*$, stays near 8 for the local $q$ at all gaps, and grows for a "
        r"fixed $q$ as the gap falls or as $q$ moves away."
    ),
    criterion=(
        r"By quadrature: $c$ of the local $q$ is within 5% of 8 for eight gaps from 0.01 to 3; that of $q "
        r"= N(0, 1)$ is at least twice as "
        "large at 0.01 as at 3; and it increases from each shift of its mean to the next, 0 to 6."
    ),
    trials=prices,
    figure=price_figure,
    kind="relation",
)
def price_of_q(results: Results) -> Outcome:
    found, shifts = rows(results, "price by gap"), rows(results, "price by shift")["price"]
    local = where(found, "price", contrast="local")
    narrow, wide = (only(found, "price", contrast="stationary", gap=gap) for gap in (0.01, 3.0))
    steps = [second - first for first, second in pairwise(shifts)]
    return all_of(
        at_most(
            "largest distance of the local price from 8", [abs(c / 8 - 1) for c in local], 0.05
        ),
        at_least("fixed q, gap 0.01 over gap 3", narrow / wide, 2.0),
        above("least increase with the shift", steps, 0.0),
        numbers={"c, shift 0": shifts[0], "c, shift 6": shifts[-1]},
    )


@claim(
    id="contrastive/closer-q",
    title="A closer contrast law learns more from the same trajectory",
    source=f"added to {THESIS}, Section 2.1.1.2 and Theorem 2",
    statement=(
        "In simulations the divergence follows the exact price as the contrast law moves away: shifting "
        "$N(m, 1)$ from $m = 0$ to 6 costs more than a factor of five."
    ),
    criterion=(
        r"At $T = 1000$, for $m = 0$ to 4 the 95% interval of the mean of $T \, KL / \eta$ lies within "
        r"30% of $c(m)$, and that of the mean of $\log KL$ at $m = 6$ less that at 0 lies above $\log 5$."
    ),
    trials=plug_in,
    uses=("contrastive/price-of-q",),
    figure=shift_figure,
    kind="experiment",
)
def closer_q(results: Results) -> Outcome:
    found = results["shift"]
    config, values = found.config, found.arrays["divergences"]
    shifts, exact = config.shifts, found.numbers["prices"]
    each = {m: scaled(values[:, i], config.shift_length, config.gap) for i, m in enumerate(shifts)}
    near = [
        all_within(f"T KL / gap, m = {m}", each[m], 0.3 * exact[i], around=exact[i])
        for i, m in enumerate(shifts)
        if m <= 4
    ]
    lines = tuple((m, each[m], exact[i]) for i, m in enumerate(shifts))
    far = log_difference(values[:, shifts.index(6)], values[:, shifts.index(0)])
    table = Table("T KL / gap", ("shift", "simulated", "exact limit"), lines)
    return all_of(*near, all_above("log KL, m = 6 less m = 0", far, log(5)), tables=(table,))


@claim(
    id="contrastive/learns-the-kernel",
    title="A classifier learns the kernel where an Euler step fails",
    source=f"added to {THESIS}, Section 2.1 (which has intervals beyond Euler steps in view)",
    statement=(
        r"An MLP trained to tell the next observation from a local draw, on one trajectory of duration "
        r"2000 of the potential $x^2/2 + \log\cosh 2x$, has a kernel closer to the truth than one Euler "
        r"step with the true drift, at gaps from 0.1 to 1. At size paper likewise for a quadratic "
        r"potential in the plane."
    ),
    criterion=(
        "For every gap the 95% interval of the mean of $\\log KL$ of the learned kernel less that of the "
        "Euler step lies below 0. "
        f"Undecided if the excess loss of a classifier is not below {LEARNED:g}."
    ),
    trials=networks,
    figure=densities_figure,
    kind="experiment",
)
def learns(results: Results) -> Outcome:
    outcome = all_of(
        all_below("log KL less Euler's", against_euler(results)),
        numbers={"largest excess loss": learned(results)},
        tables=(_table(results),),
    )
    return only_if(bool(learned(results) < LEARNED), "A classifier has not learned.", outcome)


def _table(results: Results) -> Table:
    from minicosm.lab import Estimate

    lines = tuple(
        (
            result.config.gap,
            result.config.contrast + (", in the plane" if name.startswith(PLANE) else ""),
            Estimate.of(result.numbers["divergence"]),
            result.numbers["euler"],
            Estimate.of(result.numbers["excess"]),
            Estimate.of(result.numbers["off"]),
        )
        for name, result in results.items()
    )
    columns = ("gap", "contrast law", "KL, learned", "KL, Euler", "excess loss", "E|Z - 1|")
    return Table("Learned kernels", columns, lines)


@claim(
    id="contrastive/local-q-learned",
    title="At a small gap a local contrast law learns a better kernel",
    source=f"added to {THESIS}, Section 2.1.1.2 and the proof of Theorem 3",
    statement=(
        "At a gap of 0.05 the kernel learned with a local contrast law is closer to the truth than the "
        "one learned with the stationary law, from trajectories of the same duration. At size paper "
        "likewise for a quadratic potential in the plane."
    ),
    criterion=(
        "The 95% interval of the mean of $\\log KL$ with the stationary law less that with the local one "
        "lies above 0. Undecided if "
        f"the excess loss of a classifier is not below {LEARNED:g}."
    ),
    trials=two_contrasts,
    uses=("contrastive/price-of-q",),
    figure=contrast_figure,
    kind="experiment",
)
def local_learned(results: Results) -> Outcome:
    outcome = all_of(
        *(
            all_above(f"{place}log KL, stationary less local", gain)
            for place, gain in local_gain(results).items()
        ),
        numbers={"largest excess loss": learned(results)},
        tables=(_table(results),),
    )
    return only_if(bool(learned(results) < LEARNED), "A classifier has not learned.", outcome)


@claim(
    id="contrastive/drift",
    title="The drift follows from the kernel at a wide gap",
    source=f"added to {THESIS}, Section 2.1",
    statement=(
        "The logarithm of the kernel, by its eigenvalues, gives the drift where $(E[x'|x] - x) / \\eta$ "
        "does not: at gaps of 0.5 and 0.3 in two potentials."
    ),
    criterion=(
        "From the exact kernel the largest error of the drift is below a tenth of that of the naive "
        "quotient, in both."
    ),
    trials=prices,
    kind="relation",
)
def drift(results: Results) -> Outcome:
    found = rows(results, "drift")
    ratios = [a / b for a, b in zip(found["spectral"], found["naive"], strict=True)]
    return all_of(
        below("largest ratio of errors", ratios, 0.1),
        numbers={f"error, {w}": e for w, e in zip(found["world"], found["spectral"], strict=True)},
    )
