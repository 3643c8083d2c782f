"""The same questions in worlds of the package that are not Ising models."""

from math import inf

from minicosm.lab import (
    Outcome,
    Results,
    Table,
    above,
    agrees,
    all_of,
    all_true,
    at_most,
    below,
    rows,
)

from ..figures.chains import stutter_figure
from ..readings import where
from ..study import STUDY, THESIS
from ..trials import other_worlds
from .digits import APART, ELSEWHERE, SHARES

claim = STUDY.section(__doc__)


@claim(
    id="parallel/short-dyck",
    title="Balanced brackets cannot be learned or sampled one position at a time",
    source=f"{THESIS}, Section 4.1.2.2, Theorem 4.1.2, in another world",
    statement=(
        "Of balanced strings of eight brackets (one type, depth 3) no two differ in one position: with one "
        "hidden position nothing is identifiable and the chain never moves; with two or more the Poincaré "
        r"constant is finite and the covariance at most $C \mathcal{I}^{-1}$."
    ),
    criterion=(
        r"$k = 1$: infinite constant and covariance, every string its own part. $k \ge 2$: one part, a "
        r"finite constant, and the largest eigenvalue of $\mathcal{I} \Gamma$ at most $C (1 + 10^{-9})$. "
        "Rows are laws and reversible to $10^{-12}$."
    ),
    trials=other_worlds,
    uses=("parallel/theorem-4.1.2",),
)
def short_dyck(results: Results) -> Outcome:
    found = rows(results, "brackets")
    columns = {
        "k": "k", "parts": "parts of the support", "constant": "Poincaré constant",
        "trace": "trace of the covariance", "inefficiency": r"largest eigenvalue of $\mathcal{I} \Gamma$",
        "dependence": "total correlation of a row",
    }  # fmt: skip
    lines = tuple(zip(*(found[name] for name in columns), strict=True))
    stuck = [v == inf for name in ("constant", "trace") for v in where(found, name, k=1)]
    alone = [a - b for a, b in zip(found["parts"], found["strings"], strict=True)]
    ratios = [a / b for a, b in zip(found["inefficiency"], found["constant"], strict=True)]
    return all_of(
        all_true("infinite with $k = 1$", stuck),
        at_most("strings in the part of another, $k = 1$", [abs(a) for a in alone[:1]], 0),
        at_most(r"parts with $k \ge 2$", found["parts"][1:], 1),
        below(r"Poincaré constant with $k \ge 2$", found["constant"][1:], inf),
        at_most(r"largest ratio to the bound, $k \ge 2$", ratios[1:], 1 + 1e-9),
        at_most("error of the kernels", found["error"], 1e-12),
        tables=(Table("k-Gibbs and masks of k positions", tuple(columns.values()), lines),),
    )


@claim(
    id="parallel/exact-stutter",
    title="Stuttering follows from decoding in parallel, not from a model's errors",
    source=f"added to {THESIS}, Section 4.2.4, Table 4.5",
    statement=(
        "In the fertility world the Bayes-optimal one-pass decoder repeats a token at a share of "
        "neighbouring pairs, though no translation repeats one; at these pairs the two alignment "
        "posteriors are closer than at others."
    ),
    criterion=(
        "For $q = (.9, .1)$, $(.5, .5)$, $(.4, .3, .3)$ the share is within 0.02 of .10, .19, .29, the total "
        "variation of the posteriors within 0.02 of .48, .44, .32 at these pairs and of .82, .52, .34 "
        "elsewhere (computed beforehand from 400 sources), and smaller at these pairs."
    ),
    trials=other_worlds,
    kind="experiment",
    figure=stutter_figure,
)
def stutter(results: Results) -> Outcome:
    found = rows(results, "stutter")
    columns = {
        "q": "q", "rate": "stuttering pairs", "apart_same": "TV of alignments there",
        "apart_other": "elsewhere", "correlation": "KL of the decoder (nats)",
        "entropy": "entropy of the target (nats)", "valid": "decoded targets that are translations",
    }  # fmt: skip
    lines = tuple(zip(*(found[name] for name in columns), strict=True))
    closer = [b - a for a, b in zip(found["apart_same"], found["apart_other"], strict=True)]
    title = "exact, most likely tokens, length drawn from the truth"
    return all_of(
        agrees("shares of stuttering pairs, off by", found["rate"], SHARES, within=0.02),
        agrees("TV of alignments there, off by", found["apart_same"], APART, within=0.02),
        agrees("TV of alignments elsewhere, off by", found["apart_other"], ELSEWHERE, within=0.02),
        above("least share of stuttering pairs", found["rate"], 0.0),
        above("closer by at least", closer, 0.0),
        tables=(Table(title, tuple(columns.values()), lines),),
    )
