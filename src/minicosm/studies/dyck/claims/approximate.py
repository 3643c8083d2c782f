"""Theorem 2.2.2: near-optimal models are near balance."""

from math import log

from minicosm.lab import Outcome, ProfileName, Trial

from ...common.checks import EXACT, Results, identity, never_close
from ..study import STUDY

PAPER = "Wen et al. 2023"


def suite(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites import approximate

    sets, triples = {"smoke": (15, 300), "laptop": (200, 20_000), "paper": (2000, 100_000)}[profile]
    return {"suite": Trial(approximate.run, approximate.Approximate(seed, sets, triples))}


def below(statement: str, *columns: str, reported: tuple[str, ...] = ()):
    """Holds iff every share of a bound is at most 1, up to rounding."""

    def check(results: Results) -> Outcome:
        rows = results["suite"].numbers[statement]
        worst = max(max(rows[column]) for column in columns)
        numbers = {f"largest share of the bound ({c})": max(rows[c]) for c in columns}
        numbers |= {f"largest {c}": max(rows[c]) for c in reported}
        numbers["cases"] = len(rows[columns[0]])
        return Outcome("holds" if worst <= 1 + 1e-9 else "fails", numbers)

    return check


STUDY.claim(
    id="dyck/lemma-2.2.1",
    title="A long common summand makes directions agree",
    source=f"{PAPER}, Lemma 2.2.1, with a constant that has no unit",
    statement=(
        "If |r| >= R max(|a|, |b|) with R = 4/eps + 1, then a + r and b + r, scaled to length 1, are at "
        "most eps apart."
    ),
    criterion="No violation on random a, b, r of any scale with |r| at the least allowed.",
    trials=suite,
    kind="lemma",
)(below("lemma-2.2.1", "ratio"))

STUDY.claim(
    id="dyck/lemma-2.2.1-as-printed",
    title="Lemma 2.2.1 with the printed constant",
    source=f"{PAPER}, proof of Lemma 2.2.1",
    statement="The same with R = 4 max(|a|, |b|)/eps + 1.",
    criterion="Fails if some triple is further apart than eps.",
    trials=suite,
    kind="lemma",
    expected="fails",
    erratum=(
        "The printed R changes with the unit of length: for short a and b it is nearly 1, and r of "
        "about their length leaves their directions apart. The last step divides by R - max(|a|, |b|) "
        "where |r| - max(|a|, |b|) stands before."
    ),
    corrected_by="dyck/lemma-2.2.1",
)(below("lemma-2.2.1-printed", "ratio"))


@STUDY.claim(
    id="dyck/lemma-2.2.1-sharp",
    title="The sharp constant of Lemma 2.2.1 is 2/eps",
    source=f"refinement of {PAPER}, Lemma 2.2.1",
    statement=(
        "If |r| >= max(|a|, |b|) = s, the scaled sums are at most 2 s/|r| apart, as both are within an "
        "angle arcsin(s/|r|) of r; so R = 2/eps suffices, and nothing less does."
    ),
    criterion="No violation, and some triple uses at least 0.99 of the bound.",
    trials=suite,
    kind="lemma",
)
def sharp(results: Results) -> Outcome:
    rows = results["suite"].numbers["lemma-2.2.1-sharp"]["ratio"]
    holds = 0.99 <= max(rows) <= 1 + 1e-9
    return Outcome(
        "holds" if holds else "fails",
        {"largest share of the bound": max(rows), "triples": len(rows)},
    )


STUDY.claim(
    id="dyck/theorem-2.2.2",
    title="Near optimality forces near balance",
    source=f"{PAPER}, Theorem 2.2.2, with explicit constants",
    statement=(
        "If the normalised attention outputs of strings of at most N > 8D tokens that differ in their "
        "last open bracket are at least eta apart, then a matched pair contributes "
        "|S| <= (4 + 16 D) R P / N with R = 4/eta + 1. A gamma-Lipschitz g that errs by at most "
        "sqrt(eps) on every prefix gives eta = (sqrt(2) (1 - q) - 2 sqrt(eps)) / gamma. The steps are "
        "|A_{d'}| <= R P, |S_{d'+1} - S_{d'}| <= 16 R P / N and |S_{d'}| <= (4 + 16 (d' - 1)) R P / N."
    ),
    criterion=(
        "No violation of the bound or of a step, with eta as it is, for random and for nearly balanced "
        "parameters, all queries, all types and all d'."
    ),
    trials=suite,
)(below("theorem-2.2.2", "share", "refined", "prefix", "steps", reported=("scaled", "length")))

STUDY.claim(
    id="dyck/prefix-output",
    title="What the strings of Theorem 2.2.2 contribute",
    source=f"{PAPER}, Eq. 2.73, corrected",
    statement=(
        "d' opens of type i, n = floor(N/2) - d' - d - 1 pairs and d' closes contribute "
        "A_{d'} = sum_{1<=s<=d'} S_s + n S_{d'+1} to a query of depth d - 1, d' = 0..D-1."
    ),
    criterion=EXACT + " It is compared with a sum over the tokens of the explicit string.",
    trials=suite,
    kind="lemma",
)(identity("prefix-output"))

STUDY.claim(
    id="dyck/prefix-output-as-printed",
    title="Eq. 2.73 as printed",
    source=f"{PAPER}, Eq. 2.73",
    statement="The same with a sum over 1 <= s < d' and floor((N - 2d' - 2d)/2) pairs.",
    criterion="Fails if some string is off by more than 1e-3 (relative to the largest contribution).",
    trials=suite,
    kind="lemma",
    expected="fails",
    erratum=(
        "The outermost of the d' pairs is left out of the sum, and the pairs at depth d' + 1 are "
        "counted as one more than the string has."
    ),
    corrected_by="dyck/prefix-output",
)(never_close("prefix-output-printed", "error"))

STUDY.claim(
    id="dyck/telescope",
    title="Neighbouring strings differ by neighbouring pairs",
    source=f"{PAPER}, proof of Theorem 2.2.2, corrected",
    statement="A_{d'} - A_{d'-1} = n_{d'} (S_{d'+1} - S_{d'}) for d' = 1..D-1.",
    criterion=EXACT,
    trials=suite,
    kind="lemma",
)(identity("telescope"))

STUDY.claim(
    id="dyck/telescope-as-printed",
    title="The telescoping display as printed",
    source=f"{PAPER}, proof of Theorem 2.2.2, the display before 'Because N >= 8D'",
    statement="A_{d'} - A_{d'-1} = n_{d'} S_{d'+1} - S_{d'}.",
    criterion="Fails if some difference is off by more than 1e-3 (relative to the largest S).",
    trials=suite,
    kind="lemma",
    expected="fails",
    erratum="The bracket after the number of pairs closes too early: both pairs are multiplied by it.",
    corrected_by="dyck/telescope",
)(never_close("telescope-printed", "error"))

STUDY.claim(
    id="dyck/matched-pair-as-printed",
    title="The bound for the pair of Eq. 2.80 as printed",
    source=f"{PAPER}, Eq. 2.80",
    statement=(
        "The bound 16 D R P / N holds for u(closed i at d' - 1) + u(open i at d' - 1) in place of S."
    ),
    criterion="Fails if some exactly balanced model exceeds the bound at N = 10^6.",
    trials=suite,
    kind="lemma",
    expected="fails",
    erratum=(
        "The open bracket of a matched pair has depth d', not d' - 1. With both at d' - 1 the sum does "
        "not vanish under balance, and no bound that decreases with N holds."
    ),
    corrected_by="dyck/theorem-2.2.2",
)(below("pair-printed", "ratio"))

STUDY.claim(
    id="dyck/separation",
    title="How far apart the next-token laws are",
    source=f"{PAPER}, Eq. 2.72, sharpened",
    statement=(
        "After strings that end in a pair at depth d - 1 in 1..D-1 and differ in their last open bracket, "
        "the laws of the next token differ by exactly sqrt(2) (1 - q) in 2-norm."
    ),
    criterion=EXACT,
    trials=suite,
    kind="lemma",
)(identity("separation"))

STUDY.claim(
    id="dyck/separation-as-printed",
    title="The 1-norm as total variation",
    source=f"{PAPER}, the display before Eq. 2.72",
    statement="The 1-norm of the difference of the two laws is their total variation distance.",
    criterion="Fails if they differ by more than 1e-3 for some pair of strings.",
    trials=suite,
    kind="lemma",
    expected="fails",
    erratum="The 1-norm is twice the total variation. The bound loses a factor and stays true.",
    corrected_by="dyck/separation",
)(never_close("separation-printed", "error"))


@STUDY.claim(
    id="dyck/excess-loss",
    title="A tiny excess loss bounds the error on every prefix",
    source=f"{PAPER}, Theorem 2.2.2, hypothesis, for the excess loss",
    statement=(
        "If the mean squared loss exceeds the least one by at most (q (1 - q) / k^2)^N eps, then the "
        "squared error on every prefix of fewer than N tokens is at most eps: a prefix p counts with "
        "Pr(p) / N, and N (q (1 - q) / k^2)^N <= Pr(p)."
    ),
    criterion="The inequality holds for the rarest prefix, found by dynamic programming, at every size.",
    trials=suite,
    kind="lemma",
)
def excess_loss(results: Results) -> Outcome:
    worst = max(results["suite"].numbers["excess-loss"]["log_ratio"])
    largest = max(results["suite"].numbers["loss-printed"]["log_bound"])
    return Outcome(
        "holds" if worst <= 0 else "fails",
        {"largest log of N (q(1-q)/k^2)^N / Pr(p)": worst},
        remark=(
            f"The allowed excess is at most exp({largest:.0f}): no trained model meets it, so the "
            "theorem certifies none."
        ),
    )


@STUDY.claim(
    id="dyck/loss-as-printed",
    title="The hypothesis of Theorem 2.2.2 on the loss itself",
    source=f"{PAPER}, Theorem 2.2.2",
    statement=(
        "Some model has a squared loss of at most (q (1 - q) / k^2)^N eps, for an eps below 1 and N > 8D."
    ),
    criterion="Fails if the least squared loss exceeds the bound at every size.",
    trials=suite,
    expected="fails",
    erratum=(
        "The squared loss against one-hot tokens is at least 1 - sum P^2 in the mean, about 1/2. The "
        "hypothesis can only mean the excess over this least loss."
    ),
    corrected_by="dyck/excess-loss",
)
def loss_as_printed(results: Results) -> Outcome:
    rows = results["suite"].numbers["loss-printed"]
    met = [log(x) <= bound for x, bound in zip(rows["least"], rows["log_bound"], strict=True)]
    return Outcome(
        "holds" if any(met) else "fails",
        {
            "least squared loss over sizes": min(rows["least"]),
            "largest bound (log)": max(rows["log_bound"]),
            "sizes": len(met),
        },
    )
