"""The flip-flop, n-gram models and addition: Sections 3.5.1 and 3.5.3."""

import numpy as np

from minicosm.lab import Outcome, Results, all_of, at_most, holds, rows

from ..study import STUDY, THESIS
from ..trials import networks

claim = STUDY.section(__doc__)

claim(
    id="flipflop/smallest-monoid",
    title="The flip-flop is the smallest monoid that is not commutative",
    source=f"{THESIS}, Section 3.5.1, Definition 11",
    statement=(
        "No monoid of order 1 or 2 is non-commutative. Those of order 3 are the flip-flop monoid and its "
        "opposite, and neither is a group."
    ),
    criterion="Among all tables of products of order 1 to 3 none says otherwise.",
    trials=networks,
    check=holds("Smallest monoid"),
    kind="theorem",
)

claim(
    id="flipflop/n-gram",
    title="A model of the last $n$ tokens guesses where writes are further apart",
    source=f"{THESIS}, Section 3.5.3",
    statement=(
        r"A predictor that sees the last $n \ll 1/(1 - p_i)$ tokens of FFL$(p_i)$ is hardly better than a "
        r"guess. Exactly: the best one errs on "
        r"$\frac12 p_i^m \frac{p_r (P-2-m)_+ + 1[P-1 > m]}{p_r (P-2) + 1}$ of the reads, $m = "
        r"\lfloor n/2 \rfloor$, $P = T/2$."
    ),
    criterion=(
        r"The formula is within $10^{-12}$ of the sum over all strings for $T = 4, \dots, 10$, every $n$ "
        r"and four laws; for $p_i$ = .9, .98, .995 at $T = 512$ it is at least .45 at $n = \lfloor .1 / (1 "
        r"- p_i) \rfloor$ and below .1 at $n = 5 / (1 - p_i)$."
    ),
    trials=networks,
    check=holds("n-gram error", "n-gram guesses"),
    kind="theorem",
)


@claim(
    id="flipflop/addition",
    title="The carry of an addition is a flip-flop",
    source=f"{THESIS}, Section 3.5, Figure 3.2; the law is ours",
    statement=(
        "From the last digits on, two digits that sum to 10 or more set the carry, to 8 or less clear it, "
        "and to 9 keep it; uniform digits do so with probabilities .45, .45 and .1."
    ),
    criterion=(
        "The sums of all random pairs of 20 digits that the automaton's carries give are those of whole "
        "numbers, and the three rates are within four standard errors of their probabilities."
    ),
    trials=networks,
    kind="theorem",
)
def addition(results: Results) -> Outcome:
    found = rows(results, "Addition")
    counts = np.array([found[name][0] for name in ("keep", "set 0", "set 1")], float)
    p = np.array([0.1, 0.45, 0.45])
    off = np.abs(counts / counts.sum() - p) / np.sqrt(p * (1 - p) / counts.sum())
    return all_of(
        holds("Addition")(results),
        at_most("distance of a rate, in standard errors", off, 4),
        numbers={f"rate, {n}": c / counts.sum() for n, c in zip(("keep", "0", "1"), counts, strict=True)},
    )  # fmt: skip
