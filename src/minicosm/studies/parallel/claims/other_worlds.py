"""The same questions in worlds of the package that are not Ising models."""

from minicosm.lab import Outcome, ProfileName, Table, Trial

from ...common.checks import Results
from ..figures.chains import stutter_figure
from ..study import STUDY
from .trials import PAPER, rows


def other_worlds(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites import other_worlds
    from ..suites.worlds import Worlds

    return {"suite": Trial(other_worlds.run, Worlds(seed, 1))}


def _table(found: dict) -> Table:
    names = ("k", "parts", "constant", "trace", "worst", "dependence")
    columns = (
        "k", "parts of the support", "Poincaré constant", "trace of the covariance",
        "lambda_max(I Gamma)", "total correlation of a row",
    )  # fmt: skip
    return Table(
        "k-Gibbs and masks of k positions",
        columns,
        tuple(zip(*(found[n] for n in names), strict=True)),
    )


@STUDY.claim(
    id="parallel/short-hmm",
    title="A short hidden Markov model, seen as a finite joint",
    source=f"{PAPER}, Theorems 4.1.1 and 4.1.2, in another world",
    statement=(
        "For four tokens of a random HMM the table of `log_prob` is a law, kernels are reversible, and the "
        "covariance of its exponential tilt falls with k and is at most C I^-1."
    ),
    criterion="Errors at most 1e-12; traces never rise with k; lambda_max(I Gamma) <= C (1 + 1e-9) always.",
    trials=other_worlds,
)
def short_hmm(results: Results) -> Outcome:
    found = rows(results, "hmm")
    falls = all(
        a >= b * (1 - 1e-9) for a, b in zip(found["trace"], found["trace"][1:], strict=False)
    )
    holds = max(found["error"]) <= 1e-12 and falls and all(found["bounded"])
    law = rows(results, "hmm-law")
    return Outcome(
        "holds" if holds else "fails",
        {
            "largest error": max(found["error"]),
            "total correlation of the law": law["correlation"][0],
        },
        (_table(found),),
    )


@STUDY.claim(
    id="parallel/short-dyck",
    title="Balanced brackets cannot be learned or sampled one position at a time",
    source=f"{PAPER}, Theorem 4.1.2, in another world",
    statement=(
        "Of balanced strings of eight brackets (one type, depth 3) no two differ in one position: with one "
        "hidden position nothing is identifiable and the chain never moves; with two or more the Poincaré "
        "constant is finite and the covariance at most C I^-1."
    ),
    criterion=(
        "k = 1: infinite constant and covariance, every string its own part. k >= 2: one part, a finite "
        "constant, and lambda_max(I Gamma) <= C (1 + 1e-9)."
    ),
    trials=other_worlds,
)
def short_dyck(results: Results) -> Outcome:
    found = rows(results, "dyck")
    infinite = found["constant"][0] == found["trace"][0] == float("inf") and found["parts"][0] > 1
    rest = all(c < float("inf") for c in found["constant"][1:]) and set(found["parts"][1:]) == {1}
    holds = infinite and rest and all(found["bounded"]) and max(found["error"]) <= 1e-12
    return Outcome(
        "holds" if holds else "fails",
        {"parts for k = 1": found["parts"][0], "Poincaré constant for k = 2": found["constant"][1]},
        (_table(found),),
    )


STUTTER = {
    "0.9, 0.1": (0.10, 0.48, 0.82),
    "0.5, 0.5": (0.19, 0.44, 0.52),
    "0.4, 0.3, 0.3": (0.29, 0.32, 0.34),
}


@STUDY.claim(
    id="parallel/stutter-of-exact-decoding",
    title="Stuttering follows from decoding in parallel, not from a model's errors",
    source=f"added to {PAPER}, Section 4.2.4 and Table 4.5",
    statement=(
        "In the fertility world the Bayes-optimal one-pass decoder repeats a token at 0.10, 0.19 and 0.29 of "
        "neighbouring pairs for q = (.9, .1), (.5, .5), (.4, .3, .3), though no translation repeats one; at "
        "these pairs the two alignment posteriors are closer (0.48, 0.44, 0.32) than at others (0.82, 0.52, "
        "0.34)."
    ),
    criterion="Each number within 0.02, which is the sampling error of those stated; closer in all three.",
    trials=other_worlds,
    kind="experiment",
    figure=stutter_figure,
)
def stutter(results: Results) -> Outcome:
    found = rows(results, "stutter")
    worst, closer, lines = 0.0, True, []
    for i, q in enumerate(found["q"]):
        got = (found["rate"][i], found["apart_same"][i], found["apart_other"][i])
        worst = max(worst, *(abs(a - b) for a, b in zip(got, STUTTER[q], strict=True)))
        closer = closer and got[1] < got[2]
        lines.append((q, *got, found["correlation"][i], found["entropy"][i], found["valid"][i]))
    columns = (
        "q", "stuttering pairs", "TV of alignments there", "elsewhere", "KL of the decoder (nats)",
        "entropy of the target (nats)", "decoded targets that are translations",
    )  # fmt: skip
    return Outcome(
        "holds" if worst <= 0.02 and closer else "fails",
        {"largest difference": worst, "stuttering pairs, q = (.9, .1)": found["rate"][0]},
        (Table("exact, most likely tokens, length drawn from the truth", columns, tuple(lines)),),
    )
