"""The Dyck sandbox: its law (Definition 3.2.1), its exact numbers, and printed numbers that do not fit."""

import numpy as np

from minicosm.lab import Outcome

from ...common.checks import Results, both, identity
from ..study import STUDY
from .exact_trials import IDENTITY, PAPER, rows, sandbox, table, verdict


@STUDY.claim(
    id="guided/equation-3.4-as-printed",
    title="Equation 3.4 is the law of Remark 3.2.1",
    source=f"{PAPER}, Definition 3.2.1 and Remark 3.2.1",
    statement=(
        "Weighing a balanced string by q for each opening at depth above one and 1 - q for each closing with "
        "d(w_{1:i}) <= D - i gives the law of the process of Remark 3.2.1."
    ),
    criterion=(
        "Fails if for some D the normalised weights are at total variation above 1e-3 from the "
        "process."
    ),
    trials=sandbox,
    kind="lemma",
    expected="fails",
    erratum=(
        "A closing with d(w_{1:i}) = D - i was forced and has probability one: the inequality is "
        "strict. As printed, the weights sum to 0.375 for D = 4 and the normalised law is at total "
        "variation 0.167."
    ),
    corrected_by="guided/equation-3.4",
)
def equation_printed(results: Results) -> Outcome:
    found = rows(results, "equation-3.4")
    at = found["D"].index(4)
    return verdict(
        max(found["printed_tv"]) <= 1e-3,
        mass_for_four_brackets=found["printed_mass"][at],
        total_variation_for_four_brackets=found["printed_tv"][at],
        largest_total_variation=max(found["printed_tv"]),
    )


STUDY.claim(
    id="guided/equation-3.4",
    title="With a strict inequality Equation 3.4 is the law of Remark 3.2.1",
    source=f"{PAPER}, Definition 3.2.1, corrected",
    statement="With d(w_{1:i}) < D - i the weights sum to one and are the probabilities of the process.",
    criterion=IDENTITY,
    trials=sandbox,
    kind="lemma",
)(identity("equation-3.4"))

STUDY.claim(
    id="guided/sandbox-law",
    title="The package draws the sandbox's law",
    source=f"{PAPER}, Remark 3.2.1",
    statement=(
        "CompleteDyck with forced closing gives every string the probability of the process, its "
        "entropy is that of the recursion over depths, and the number of valid strings is that of "
        "the formula."
    ),
    criterion=IDENTITY,
    trials=sandbox,
    kind="lemma",
)(both(identity("package-law"), identity("package-law", column="entropy_error")))


@STUDY.claim(
    id="guided/sandbox-entropy",
    title="The best possible loss of the sandbox is 0.72663 nats per token",
    source=f"added to {PAPER}, Section 3.2.1.1",
    statement=(
        "For D = 32, p = 0.2, q = 0.5 a string has 23.97877 nats, 0.72663 per predicted token with "
        "the end token; a depth of at most 12 changes it by less than 2e-5."
    ),
    criterion="The numbers agree to the digits given.",
    trials=sandbox,
    kind="lemma",
)
def entropy(results: Results) -> Outcome:
    found = {name: values[0] for name, values in rows(results, "entropy").items()}
    holds = (
        abs(found["nats"] - 23.97877) < 5e-6
        and abs(found["per_token"] - 0.72663) < 5e-6
        and abs(found["capped"]) < 2e-5
    )
    return verdict(
        holds,
        nats=found["nats"],
        nats_per_token=found["per_token"],
        change_by_the_cap=found["capped"],
    )


@STUDY.claim(
    id="guided/table-3.5-as-printed",
    title="Ten completions of an out-of-distribution prompt are 5.5 different ones",
    source=f"{PAPER}, Table 3.5 and Section 3.2.1.9",
    statement=(
        "For prompts of 25 to 31 of 32 brackets, ten samples of a good model have about the 5.84, "
        "5.52 and 5.47 distinct completions printed."
    ),
    criterion=(
        "Fails if even the smallest printed number is at least 1.5 times the exact mean of ten ideal samples."
    ),
    trials=sandbox,
    kind="experiment",
    expected="fails",
    erratum=(
        "Ideal samples of prompts whose length is uniform in 25..31 average 2.974 distinct "
        "completions of ten. 5.9 would fit lengths 18..31: the prompts of this table must have been "
        "shorter than stated."
    ),
    corrected_by="guided/ideal-diversity",
)
def diversity_printed(results: Results) -> Outcome:
    found = rows(results, "diversity")
    ideal = float(np.mean(found["distinct"][-7:]))
    return verdict(
        1.5 * ideal > 5.47,
        ideal_for_25_to_31=ideal,
        ideal_for_18_to_31=float(np.mean(found["distinct"])),
        smallest_printed=5.47,
    )


@STUDY.claim(
    id="guided/ideal-diversity",
    title="Ten ideal completions of an out-of-distribution prompt are 2.974 different ones",
    source=f"added to {PAPER}, Section 3.2.1.9",
    statement=(
        "Prefixes of 25, ..., 31 brackets have 6.08, 4.84, 3.67, 2.44, 1.66, 1.13 and 1 distinct "
        "ones among ten ideal completions, 2.974 on average, whichever bracket is the frequent one."
    ),
    criterion="Each number agrees to the digits given, for p = 0.2 and for p = 0.8.",
    trials=sandbox,
    kind="lemma",
)
def diversity(results: Results) -> Outcome:
    found = rows(results, "diversity")
    wanted = [6.08, 4.84, 3.67, 2.44, 1.66, 1.13, 1.0]
    near = [abs(a - b) <= 0.0051 for a, b in zip(found["distinct"][-7:], wanted, strict=True)]
    mean = float(np.mean(found["distinct"][-7:]))
    same = max(abs(a - b) for a, b in zip(found["distinct"], found["flipped"], strict=True))
    columns = {"prefix": found["prefix"], "distinct of ten": found["distinct"]}
    return Outcome(
        "holds" if all(near) and abs(mean - 2.974) < 5e-4 and same < 1e-9 else "fails",
        {"mean for 25 to 31": mean, "difference if the types are flipped": same},
        (table("ideal diversity", columns),),
    )


@STUDY.claim(
    id="guided/noisy-dyck-values",
    title="Brackets closed with errors have a value in closed form",
    source=f"added to {PAPER}, Section 3.2.1",
    statement=(
        "If a bracket of type b is closed wrongly with probability e_b, the value of a valid prefix "
        "is the product of 1 - e_b over its stack times m^((D-i-d)/2), m = sum p_t (1 - e_t); Z = "
        "m^(D/2), and the tilted law is again the sandbox's, with p' = p (1 - e_square) / m."
    ),
    criterion=IDENTITY,
    trials=sandbox,
    kind="lemma",
)
def noisy_dyck(results: Results) -> Outcome:
    return both(identity("noisy-dyck"), identity("noisy-dyck", column="partition"))(results)


def _fits(values: list[str], size: int) -> bool:
    """Whether every printed share is k / size, rounded to three digits."""
    return all(any(f"{k / size:.3f}" == value for k in range(size + 1)) for value in values)


TABLE_1 = ["0.331", "0.334", "0.366", "0.438", "0.591", "0.790"]
TABLE_2 = ["0.421", "0.500", "0.604", "0.457", "0.634", "0.762", "0.518", "0.762", "0.921"]


@STUDY.claim(
    id="guided/sample-sizes-as-printed",
    title="Tables 3.1 and 3.2 are about the 441 error-inducing prefixes",
    source=f"{PAPER}, Sections 3.2.1.2 to 3.2.1.4",
    statement="Every accuracy of Tables 3.1 and 3.2 is a share of 441 prefixes, to three digits.",
    criterion="Fails if some accuracy is not k/441 for a whole k.",
    trials=sandbox,
    kind="experiment",
    expected="fails",
    erratum=(
        "The six accuracies of Table 3.1 are shares of 577, the number of errors of 10,000 prompts "
        "at 94.23%; the nine of Table 3.2 are shares of 164. The number of prefixes was not 441 in "
        "either."
    ),
    corrected_by="guided/sample-sizes",
)
def sizes_printed(results: Results) -> Outcome:
    return verdict(
        _fits(TABLE_1, 441) and _fits(TABLE_2, 441),
        table_1_fits=_fits(TABLE_1, 441),
        table_2_fits=_fits(TABLE_2, 441),
    )


@STUDY.claim(
    id="guided/sample-sizes",
    title="Table 3.1 fits 577 prefixes, Table 3.2 fits 164",
    source=f"added to {PAPER}, Tables 3.1 and 3.2",
    statement=(
        "Every accuracy of Table 3.1 is k/577 and every one of Table 3.2 with a verifier is k/164, "
        "to three digits."
    ),
    criterion="All of them are; the tables also say how many sizes up to 600 would fit by chance.",
    trials=sandbox,
    kind="experiment",
)
def sizes(results: Results) -> Outcome:
    return verdict(
        _fits(TABLE_1, 577) and _fits(TABLE_2, 164),
        errors_of_10000_at_the_printed_accuracy=round(10_000 * (1 - 0.9423)),
        sizes_up_to_600_that_fit_table_1=sum(_fits(TABLE_1, n) for n in range(1, 601)),
        sizes_up_to_600_that_fit_table_2=sum(_fits(TABLE_2, n) for n in range(1, 601)),
    )


@STUDY.claim(
    id="guided/largest-query-count-as-printed",
    title="A hundred completions of 384 tokens take at most 38,400 queries",
    source=f"{PAPER}, Section 3.2.2, metrics, with Table 3.6",
    statement="Except for block best-of-n the query count C is at most 384 x 10 x 10 = 38,400.",
    criterion="Fails if a printed count without block best-of-n is larger.",
    trials=sandbox,
    kind="experiment",
    expected="fails",
    erratum=(
        "Tokens that backtracking erases and refills are queries too: up to Q B = 16 per "
        "completion, 40,000 in all. Table 3.6 itself has 39,443 for Q = B = 4."
    ),
    corrected_by="guided/largest-query-count",
)
def queries_printed(results: Results) -> Outcome:
    return verdict(
        max(BACKTRACKING_COUNTS.values()) <= 38_400,
        largest_printed=max(BACKTRACKING_COUNTS.values()),
    )


# Query counts that the tables print for Algorithm 1, by (Q, B, top_p, temperature, threshold).
BACKTRACKING_COUNTS = {
    (4, 4, 0.95, 1.0, 0.1): 39_443, (4, 4, 1.0, 1.0, 0.1): 31_274, (4, 10, 1.0, 1.0, 0.1): 32_923,
    (4, 4, 1.0, 1.2, 0.1): 24_916, (4, 4, 0.95, 1.0, 0.5): 38_555, (4, 4, 1.0, 1.0, 0.5): 31_091,
    (4, 10, 1.0, 1.0, 0.5): 27_287, (4, 4, 1.0, 1.2, 0.5): 24_217,
}  # fmt: skip


@STUDY.claim(
    id="guided/largest-query-count",
    title="A hundred completions with backtracking take at most 100 (384 + Q B) queries",
    source=f"added to {PAPER}, Section 3.2.2",
    statement="Every count printed for Algorithm 1 is at most 100 (384 + Q B), 40,000 for Q = B = 4.",
    criterion="No printed count is larger.",
    trials=sandbox,
    kind="experiment",
)
def queries(results: Results) -> Outcome:
    slack = [100 * (384 + Q * B) - count for (Q, B, *_), count in BACKTRACKING_COUNTS.items()]
    return verdict(min(slack) >= 0, counts=len(slack), smallest_slack=min(slack))
