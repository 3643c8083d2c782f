"""Theorem 2.2.2: near-optimal models are near balance."""

from minicosm.lab import (
    Erratum,
    Outcome,
    Results,
    all_of,
    counterexample,
    holds,
    least,
    refuted,
    rows,
    worst,
)

from .. import trials
from ..study import OTHER, STUDY, THESIS
from .sentences import IDENTITY, PRINTED, power

claim = STUDY.section(__doc__)

claim(
    id="dyck/lemma-2.2.1",
    title="A long common summand makes directions agree",
    source=f"{THESIS}, Lemma 2.2.1, with a constant that has no unit",
    statement=(
        r"If $\|r\| \ge R s$ with $s$ the larger of $\|a\|$, $\|b\|$ and $R = 4/\epsilon + 1$, "
        r"then $a + r$ and $b + r$, scaled to length 1, are at most $\epsilon$ apart."
    ),
    criterion=(
        r"No violation on random $a$, $b$, $r$ of any scale with $\|r\|$ at the least allowed."
    ),
    trials=trials.approximate,
    kind="lemma",
    check=holds("Lemma 2.2.1"),
)

claim(
    id="dyck/lemma-2.2.1-as-printed",
    title="Lemma 2.2.1 with the printed constant",
    source=f"{THESIS}, proof of Lemma 2.2.1 ({OTHER}, Lemma 24)",
    statement=(
        r"If $\|r\| \ge R r_0$ with $r_0$ the larger of $\|a\|$, $\|b\|$ and $R = 4 r_0/\epsilon + 1$, "
        r"then $a + r$ and $b + r$, scaled to length 1, are at most $\epsilon$ apart."
    ),
    criterion=r"Fails if some triple is further apart than $\epsilon$.",
    trials=trials.approximate,
    kind="lemma",
    expected="fails",
    erratum=Erratum(
        "constant",
        r"The proof is right where lengths are measured in units of $r_0$, and $R = 4/\epsilon + 1$ "
        "is its constant. As printed $R$ changes with the unit of length: for short $a$ and $b$ it "
        "is nearly 1, and $r$ of about their length leaves their directions apart. What follows "
        r"needs of $R$ only that it is a function of $\epsilon$.",
        corrected_by="dyck/lemma-2.2.1",
    ),
    check=refuted("Lemma 2.2.1 as printed"),
)


@claim(
    id="dyck/theorem-2.2.2",
    title="Near optimality forces near balance",
    source=f"{THESIS}, Theorem 2.2.2, with explicit constants",
    statement=(
        "If the normalised attention outputs of strings of at most $N > 8D$ tokens that differ in "
        r"their last open bracket are at least $\eta$ apart, then a matched pair contributes "
        r"$\|S\| \le (4 + 16 D) R P / N$ with $R = 4/\eta + 1$. A $\gamma$-Lipschitz $g$ that errs "
        r"by at most $\sqrt{\epsilon}$ on every prefix gives $\eta = (\sqrt{2}\,(1 - q) - 2 "
        r"\sqrt{\epsilon}) / \gamma$. The steps are $\|A_{d'}\| \le R P$, $\|S_{d'+1} - S_{d'}\| "
        r"\le 16 R P / N$ and $\|S_{d'}\| \le (4 + 16 (d' - 1)) R P / N$."
    ),
    criterion=(
        r"No violation of the bound or of a step, with $\eta$ as it is, for random and for nearly "
        "balanced parameters, all queries, all types and all $d'$."
    ),
    trials=trials.approximate,
    uses=("dyck/lemma-2.2.1", "dyck/theorem-2.2.2-strings", "dyck/excess-loss"),
)
def theorem(results: Results) -> Outcome:
    sets = rows(results, "Theorem 2.2.2")
    names = ("bound", "refined bound", "prefix", "steps")
    shares = {f"largest share of {n}": worst(sets[f"share of {n}"]) for n in names}
    return all_of(holds("Theorem 2.2.2")(results), numbers=shares)


claim(
    id="dyck/theorem-2.2.2-strings",
    title="What the strings of Theorem 2.2.2 contribute, and how far apart their laws are",
    source=f"{THESIS}, Eq. 2.72 (sharpened), Eq. 2.73 (corrected) and the telescoping display",
    statement=(
        r"$d'$ opens of type $i$, $n = \lfloor N/2 \rfloor - d' - d - 1$ pairs and $d'$ closes "
        r"contribute $A_{d'} = \sum_{1 \le s \le d'} S_s + n S_{d'+1}$ to a query of depth $d - "
        r"1$, $d' = 0, \dots, D-1$; neighbouring ones differ by $A_{d'} - A_{d'-1} = n_{d'} "
        "(S_{d'+1} - S_{d'})$. After strings that differ in their last open bracket the laws of "
        r"the next token differ by exactly $\sqrt{2}\,(1 - q)$ in 2-norm."
    ),
    criterion=(
        f"Errors of at most {power(IDENTITY)}. $A$ is compared with a sum over the tokens of the "
        "explicit string, the laws are those of the world."
    ),
    trials=trials.approximate,
    kind="lemma",
    check=holds("Eq. 2.73", "telescope", "Eq. 2.72"),
)

claim(
    id="dyck/equation-2.73-as-printed",
    title="What the strings of Theorem 2.2.2 contribute, as printed",
    source=f"{THESIS}, Eq. 2.73 ({OTHER}, Eq. 3.54)",
    statement=(
        r"$d'$ opens of type $i$, $\lfloor N/2 \rfloor - d' - d - 1$ pairs and $d'$ closes contribute "
        r"$\sum_{1 \le s < d'} S_s + \lfloor (N - 2d' - 2d)/2 \rfloor S_{d'+1}$ to a query of depth "
        "$d - 1$."
    ),
    criterion=f"Fails if some string is off by more than {PRINTED:g} (relative to the largest contribution).",
    trials=trials.approximate,
    kind="lemma",
    expected="fails",
    erratum=Erratum(
        "constant",
        "Against the string that is printed above it, the sum leaves out the innermost of the $d'$ "
        "pairs, $s = d'$, and counts one pair too many at depth $d' + 1$. The bounds that follow "
        "change by constants only. Checked against a sum over the tokens of the string.",
        corrected_by="dyck/theorem-2.2.2-strings",
    ),
    check=refuted("Eq. 2.73 as printed"),
)


@claim(
    id="dyck/excess-loss",
    title="A tiny excess loss bounds the error on every prefix",
    source=f"{THESIS}, Theorem 2.2.2, hypothesis, for the excess loss",
    statement=(
        "If the mean squared loss exceeds the least one by at most $(q (1 - q) / k^2)^N "
        r"\epsilon$, then the squared error on every prefix of fewer than $N$ tokens is at most "
        r"$\epsilon$: a prefix $p$ counts with $\Pr(p) / N$, and $N (q (1 - q) / k^2)^N \le "
        r"\Pr(p)$."
    ),
    criterion="The inequality holds for the rarest prefix, by dynamic programming, at every size.",
    trials=trials.approximate,
    kind="lemma",
)
def excess_loss(results: Results) -> Outcome:
    largest = worst(rows(results, "excess loss")["log bound"])
    return all_of(
        holds("excess loss")(results),
        remark=(
            f"The allowed excess is at most exp({largest:.0f}): no trained model meets it, so the "
            "theorem certifies none."
        ),
    )


@claim(
    id="dyck/loss-as-printed",
    title="The hypothesis of Theorem 2.2.2 on the loss itself",
    source=f"{THESIS}, Theorem 2.2.2 ({OTHER}, Section 3.6.4.2, Theorem 2)",
    statement=(
        r"Some model has a squared loss of at most $(q (1 - q) / k^2)^N \epsilon$, for an "
        r"$\epsilon$ below 1 and $N > 8D$."
    ),
    criterion="Fails if the least squared loss exceeds the bound at every size.",
    trials=trials.approximate,
    expected="fails",
    erratum=Erratum(
        "missing hypothesis",
        "Meant is the excess over the least loss: the text says approximately optimal, and the "
        "proof uses it as a bound on the distance from the law of the next token. Of the loss "
        r"against one-hot tokens itself (Eq. 2.41) no model is below $1 - \sum P^2$ in the mean, "
        "about 1/2, and the theorem would say nothing. Checked against the least loss, by dynamic "
        "programming.",
        corrected_by="dyck/excess-loss",
    ),
)
def loss_as_printed(results: Results) -> Outcome:
    sizes = rows(results, "loss as printed")
    over = least([-slack for slack in sizes["slack"]])
    return all_of(
        counterexample("least excess over the bound (logs)", over, 0.0),
        numbers={
            "least squared loss over sizes": least(sizes["least loss"]),
            "largest bound (log)": worst(sizes["log bound"]),
            "sizes": sizes.count,
        },
    )
