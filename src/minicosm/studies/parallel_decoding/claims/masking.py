"""What masked examples teach: Section 4.1.2."""

from minicosm.lab import Outcome, Table

from ...common.checks import Results, always, both, identity, never_close
from ..figures import information_figure
from ..study import STUDY
from .trials import EXACT, PAPER, masking, rows, verdict

PSD = "PSD means a least eigenvalue above -1e-10 of the largest"

STUDY.claim(
    id="masking/lemma-4.1.2",
    title="The curvature of the masked loss is the covariance of its score",
    source=f"{PAPER}, Lemma 4.1.2",
    statement=(
        "At the truth the Hessian of the masked loss equals the covariance of the masked score, whose mean "
        "is zero, for masks that do not look at the sequence."
    ),
    criterion=f"{EXACT} 1e-6 for the Hessian by central differences and 1e-12 for the mean score.",
    trials=masking,
    kind="lemma",
)(both(identity("equality-fixed", tolerance=1e-6), identity("mean-score-fixed", tolerance=1e-12)))

STUDY.claim(
    id="masking/lemma-4.3.3",
    title="The same for masks that look at the sequence",
    source=f"{PAPER}, Lemma 4.3.3",
    statement=(
        "With the mask as evidence, p(x_K | x_-K, K), the Hessian of the masked loss at the truth equals "
        "the covariance of the masked score, whose mean is zero, for adaptive masks."
    ),
    criterion=f"{EXACT} 1e-6 for the Hessian by central differences and 1e-12 for the mean score.",
    trials=masking,
    kind="lemma",
)(
    both(
        identity("equality-adaptive", tolerance=1e-6),
        identity("mean-score-adaptive", tolerance=1e-12),
    )
)

STUDY.claim(
    id="masking/fisher-as-printed",
    title="The Fisher information is the covariance of the gradient of p",
    source=f"{PAPER}, Definition 4.1.1",
    statement=(
        "The covariance of the gradient of p_theta (not of its logarithm) is the information matrix: the "
        "Hessian of the loss of whole sequences."
    ),
    criterion="Fails if in one world an entry differs by more than 1e-3.",
    trials=masking,
    kind="lemma",
    expected="fails",
    erratum="The logarithm is missing: it must be the gradient of log p_theta.",
    corrected_by="masking/lemma-4.1.2",
)(never_close("fisher-printed", "error"))


@STUDY.claim(
    id="masking/theorem-4.1.1",
    title="Masking more teaches more, with one mask per example",
    source=f"{PAPER}, Theorem 4.1.1",
    statement=(
        "For uniform masks of k positions, one per example, I^(k+1) = I^k + E[g g^T] with g the score of one "
        "more position given the visible ones; so the asymptotic covariances fall, Gamma^(k+1) <= Gamma^k."
    ),
    criterion=(
        f"The identity holds to 1e-12, the added term is PSD ({PSD}), and the whitened difference of the "
        "covariances has no eigenvalue below -1e-8, in every world whose information has a condition "
        "number below 1e8."
    ),
    trials=masking,
    figure=information_figure,
)
def theorem(results: Results) -> Outcome:
    error = max(rows(results, "chain-rule")["error"])
    least = min(rows(results, "covariances")["gap"])
    ordered = rows(results, "order")["holds"]
    return verdict(
        error <= 1e-12 and least > -1e-8 and all(ordered),
        error_of_the_identity=error,
        least_eigenvalue_of_the_difference=least,
        pairs_of_k=len(ordered),
    )


@STUDY.claim(
    id="masking/theorem-4.1.1-strict-as-printed",
    title="A larger k strictly improves the estimator",
    source=f"{PAPER}, Section 4.1.2.1",
    statement="Every direction of the parameters is estimated strictly better with k + 1 than with k.",
    criterion="Fails if in one world I^N - I^(N-1) is singular.",
    trials=masking,
    expected="fails",
    erratum=(
        "I^N - I^(N-1) has at most rank N (|Omega| - 1), fewer than the parameters of a pairwise model of "
        "three or more spins: k = N - 1 and k = N tie in the couplings."
    ),
    corrected_by="masking/rank-of-the-gain",
)
def strict(results: Results) -> Outcome:
    found = rows(results, "strict")
    ties = sum(not s for s in found["strict"])
    return verdict(not ties, worlds_with_a_tie=ties, worlds=len(found["strict"]))


STUDY.claim(
    id="masking/rank-of-the-gain",
    title="Hiding the last position too helps in few directions",
    source=f"added to {PAPER}, Theorem 4.1.1",
    statement="I^N - I^(N-1) has at most rank N (|Omega| - 1).",
    criterion="No violation on any world; the rank counts singular values above 1e-9.",
    trials=masking,
    kind="lemma",
)(always("strict"))

STUDY.claim(
    id="masking/nested-masks",
    title="Any mask that hides more teaches more",
    source=f"added to {PAPER}, Theorem 4.1.1",
    statement=(
        "If masks K and K' can be drawn together with K always inside K', the information of K' is at least "
        "that of K; so the information of Bernoulli masks grows with their rate."
    ),
    criterion=f"The difference is PSD in every world ({PSD}), for ten rates and for blocks grown at random.",
    trials=masking,
)(always("nested"))

# Computed in double precision; where a digit was in doubt it was checked with 40 digits.
STATED = {
    "0.05": {
        "trace": (28.261, 15.335, 11.446, 10.112),
        "fields": (16.133, 8.053, 5.368, 4.033),
        "couplings": (12.128, 7.283, 6.078, 6.078),
        "constant": (4.7009, 2.2336, 1.4112, 1),
        "worst": (4.7009, 2.2336, 1.4112, 1),
        "averaged": (10.112, 10.112, 10.112, 10.112),
    },
    "0.3": {
        "trace": (43.732, 23.462, 17.821, 16.327),
        "fields": (24.352, 11.639, 7.572, 6.079),
        "couplings": (19.381, 11.823, 10.249, 10.249),
        "constant": (14.6987, 5.5516, 2.5172, 1),
        "worst": (14.6777, 5.5516, 2.5172, 1),
        "averaged": (16.337, 16.327, 16.327, 16.327),
    },
}
NAMES = {
    "trace": "trace of the covariance, one mask",
    "fields": "of the fields",
    "couplings": "of the couplings",
    "constant": "Poincaré constant",
    "worst": "largest eigenvalue of I Gamma",
    "averaged": "trace, all masks averaged",
}


@STUDY.claim(
    id="masking/reference-table",
    title="Four spins: what each k costs, to the digit",
    source=f"added to {PAPER}, Figures 4.1 and 4.2",
    statement=(
        "In the worlds of Figures 4.1 and 4.2 the asymptotic covariance has the traces 28.261, 15.335, "
        "11.446, 10.112 (J = 0.05) and 43.732, 23.462, 17.821, 16.327 (J = 0.3) for k = 1..4, and the "
        "Poincaré constants are 4.7009, 2.2336, 1.4112, 1 and 14.6987, 5.5516, 2.5172, 1."
    ),
    criterion="Every number of the table agrees with its stated digits.",
    trials=masking,
    kind="relation",
)
def reference(results: Results) -> Outcome:
    wrong, tables = 0, []
    for J, stated in STATED.items():
        found = rows(results, f"table {J}")
        lines = []
        for name, values in stated.items():
            digits = 4 if name in ("constant", "worst") else 3
            off = [
                abs(a - b) > 0.51 * 10**-digits for a, b in zip(found[name], values, strict=True)
            ]
            wrong += sum(off)
            lines.append((NAMES[name], *(round(v, digits + 1) for v in found[name])))
        lines.append(("deviation of n |error|^2", *(round(v, 2) for v in found["spread"])))
        per_token = [k * v for k, v in zip(found["k"], found["trace"], strict=True)]
        lines.append(("k times the trace: per predicted token", *(round(v, 2) for v in per_token)))
        tables.append(Table(f"J = {J}", ("", "k = 1", "2", "3", "4"), tuple(lines)))
    return Outcome(
        "fails" if wrong else "holds",
        {
            "numbers that differ": wrong,
            "mass of the aligned states, J = 0.3": rows(results, "table 0.3")["aligned"][0],
        },
        tuple(tables),
        "Per example a larger k is better; per predicted token a smaller one is.",
    )


STUDY.claim(
    id="masking/independent-spins",
    title="Without couplings the information is counting",
    source=f"added to {PAPER}, Theorem 4.1.1",
    statement=(
        "At J = 0 the information of a field is k / N and that of a coupling 1 - binom(N-2, k) / binom(N, k)."
    ),
    criterion=f"{EXACT} 1e-12.",
    trials=masking,
    kind="lemma",
)(identity("independent", tolerance=1e-12))

STUDY.claim(
    id="masking/averaged-masks-are-likelihood",
    title="With all masks averaged the estimate is that of maximum likelihood",
    source=f"added to {PAPER}, Theorem 4.1.1",
    statement=(
        "If every example is used with all masks of k positions, N - k <= 2 and the model has all fields and "
        "pair couplings, the masked estimate equals the maximum likelihood estimate on every sample."
    ),
    criterion=f"{EXACT} 1e-6, the accuracy to which the fits are solved.",
    trials=masking,
    kind="lemma",
)(identity("averaged-mle", tolerance=1e-6))


@STUDY.claim(
    id="masking/averaged-masks-lose-the-order",
    title="With all masks averaged, masking more need not be better",
    source=f"added to {PAPER}, Theorem 4.1.1",
    statement=(
        "Five spins with h = 1.7 and J = 0.9: with all masks averaged the covariance for k = 2 is larger "
        "than that for k = 1 in some direction; the least whitened eigenvalue is -0.0037."
    ),
    criterion="The least whitened eigenvalue rounds to -0.0037.",
    trials=masking,
    kind="control",
)
def loses_order(results: Results) -> Outcome:
    found = rows(results, "averaged-order")
    return verdict(
        round(found["gap"][0], 4) == -0.0037,
        least_eigenvalue=found["gap"][0],
        condition_number=found["condition"][0],
    )


STUDY.claim(
    id="masking/proposition-4.3.6",
    title="The masked loss of an exponential family is convex",
    source=f"{PAPER}, Proposition 4.3.6",
    statement="Its Hessian is PSD at every parameter, for every mask law.",
    criterion=f"At a random parameter of every world, under four kinds of masks, it is PSD ({PSD}).",
    trials=masking,
    kind="lemma",
)(always("convex"))


def _ratio(statement: str):
    def check(results: Results) -> Outcome:
        found = rows(results, statement)
        return verdict(
            all(found["holds"]),
            cases=len(found["holds"]),
            largest_ratio_to_the_bound=max(found["ratio"]),
        )

    return check


STUDY.claim(
    id="masking/theorem-4.1.2",
    title="A chain that mixes fast goes with an estimator that is efficient",
    source=f"{PAPER}, Theorem 4.1.2",
    statement="Gamma <= C I^-1, with C the Poincaré constant of the block dynamics of the same masks.",
    criterion="lambda_max(I Gamma) <= C (1 + 1e-9) in every world, for every k and for random blocks.",
    trials=masking,
)(_ratio("poincare"))

STUDY.claim(
    id="masking/theorem-4.1.2-is-sharp",
    title="The bound is an equality where few positions are visible",
    source=f"added to {PAPER}, Theorem 4.1.2",
    statement=(
        "If N - k <= 2 and the model has all fields and pair couplings, lambda_max(I Gamma^k) = C_k."
    ),
    criterion=f"{EXACT} 1e-9, relative.",
    trials=masking,
)(identity("sharp", tolerance=1e-9))

STUDY.claim(
    id="masking/poincare-falls-with-k",
    title="Hiding k positions mixes at least k times as fast",
    source=f"{PAPER}, remark after Definition 4.1.10 (Lee 2023)",
    statement="C_k <= C_1 / k for the k-Gibbs sampler.",
    criterion="No violation on any world, with a relative tolerance of 1e-9.",
    trials=masking,
)(always("constant-falls"))

STUDY.claim(
    id="masking/proposition-4.1.1",
    title="The Dirichlet form of adaptive block dynamics",
    source=f"{PAPER}, Proposition 4.1.1",
    statement=(
        "For functions of x, E(f, g) = E_{x,K} Cov(f, g | x_-K, K), E being the Dirichlet form of the chain "
        "of x."
    ),
    criterion=f"{EXACT} 1e-10.",
    trials=masking,
)(identity("dirichlet", tolerance=1e-10))

STUDY.claim(
    id="masking/theorem-4.1.3",
    title="The same bound for masks that look at the sequence",
    source=f"{PAPER}, Theorem 4.1.3",
    statement="Gamma <= C I^-1 for adaptive masks, with C the Poincaré constant of the chain of x.",
    criterion="lambda_max(I Gamma) <= C (1 + 1e-9) in every world.",
    trials=masking,
)(_ratio("adaptive"))


@STUDY.claim(
    id="masking/pairs-as-printed",
    title="The adaptive chain on pairs (x, K) has a finite Poincaré constant",
    source=f"{PAPER}, Equation 4.26 and the proof of Theorem 4.1.3",
    statement="The chain that redraws x_K and keeps K has a unique law and a finite Poincaré constant.",
    criterion="Fails if in one world with several masks the constant is infinite.",
    trials=masking,
    expected="fails",
    erratum=(
        "A chain that never changes K falls into one part per mask. The theorem holds for the chain of x "
        "alone and functions of x; its proof uses g(x) = v . grad log p(x)."
    ),
    corrected_by="masking/theorem-4.1.3",
)
def pairs(results: Results) -> Outcome:
    found = rows(results, "pairs")
    broken = sum(value == float("inf") for value in found["constant"])
    return verdict(
        not broken, worlds_with_an_infinite_constant=broken, worlds=len(found["constant"]),
        most_parts=max(found["parts"]),
    )  # fmt: skip


FRACTIONS = {
    "masked0_with": ("x_0 = 0 given x_1 = 0, mask {0}", 6 / 7),
    "masked0_without": ("x_0 = 0 given x_1 = 0", 3 / 4),
    "masked1_with": ("x_1 = 0 given x_0 = 0, mask {1}", 9 / 17),
    "masked1_without": ("x_1 = 0 given x_0 = 0", 3 / 5),
}


@STUDY.claim(
    id="masking/lemma-4.3.1",
    title="Which positions are hidden is evidence",
    source=f"{PAPER}, Lemma 4.3.1",
    statement=(
        "In the world of two bits, P(x_0 = 0 | x_1 = 0, K = {0}) = 6/7 but P(x_0 = 0 | x_1 = 0) = 3/4, and "
        "P(x_1 = 0 | x_0 = 0, K = {1}) = 9/17 but P(x_1 = 0 | x_0 = 0) = 3/5."
    ),
    criterion="Each of the four is that fraction to 1e-12.",
    trials=masking,
    kind="lemma",
)
def two_bits(results: Results) -> Outcome:
    found = rows(results, "two-bits")
    error = max(abs(found[name][0] - value) for name, (_, value) in FRACTIONS.items())
    lines = tuple((text, found[name][0]) for name, (text, _) in FRACTIONS.items())
    table = Table("probabilities", ("of", "found"), lines)
    return Outcome("holds" if error <= 1e-12 else "fails", {"largest error": error}, (table,))


@STUDY.claim(
    id="masking/lemma-4.3.1-as-printed",
    title="9/13 is the law of a hidden coordinate",
    source=f"{PAPER}, proof of Lemma 4.3.1",
    statement=(
        "P(x_K = 0 | x_-K = 0, K) with K = {0}, which the proof gives as 9/13, is the law of the coordinate "
        "that K hides."
    ),
    criterion="Fails if the law of the hidden coordinate is not 9/13 to 1e-12.",
    trials=masking,
    kind="lemma",
    expected="fails",
    erratum=(
        "9/13 is P(x_1 = 0 | x_0 = 0, K = {0}), the law of the visible coordinate; that of the hidden one is "
        "6/7. The lemma itself is right. The list of states also has (0, 0) twice; the last is (1, 1)."
    ),
    corrected_by="masking/lemma-4.3.1",
)
def two_bits_printed(results: Results) -> Outcome:
    found = rows(results, "two-bits")
    return verdict(
        abs(found["masked0_with"][0] - 9 / 13) <= 1e-12,
        law_of_the_hidden_coordinate=found["masked0_with"][0],
        law_of_the_visible_coordinate=found["printed_with"][0],
        printed=9 / 13,
    )


@STUDY.claim(
    id="masking/lemma-4.3.2",
    title="Averaging over masks gives back the plain conditional",
    source=f"{PAPER}, Lemma 4.3.2",
    statement=(
        "p(x_K | x_-K) is the mean of p(x_K | x_-K, K') over K' ~ P(. | x_-K): 7/16 of 6/7 and 9/16 of 2/3 "
        "make 3/4 in the world of two bits."
    ),
    criterion=f"The fractions agree to 1e-12, and {EXACT.lower()} 1e-12 in random worlds.",
    trials=masking,
    kind="lemma",
)
def average(results: Results) -> Outcome:
    found = rows(results, "two-bits-average")
    wanted = {"weight": 7 / 16, "other": 2 / 3, "averaged": 3 / 4}
    error = max(abs(found[name][0] - value) for name, value in wanted.items())
    random = max(rows(results, "mixture")["error"])
    return verdict(
        error <= 1e-12 and random <= 1e-12, error_with_two_bits=error, error_in_random_worlds=random
    )


@STUDY.claim(
    id="masking/mask-is-evidence",
    title="Leaving the mask law out makes the adaptive estimator inconsistent",
    source=f"{PAPER}, Remark 4.1.3",
    statement=(
        "With masks that look at the sequence, the gradient of the population loss at the truth is zero if "
        "the model's conditional includes P(K | x), and not zero if it is left out."
    ),
    criterion="At most 1e-12 with it in every world; above 1e-3 without it in the median world.",
    trials=masking,
    kind="control",
)
def evidence(results: Results) -> Outcome:
    found = rows(results, "evidence")
    middle = sorted(found["wrong"])[len(found["wrong"]) // 2]
    return verdict(
        max(found["right"]) <= 1e-12 and middle > 1e-3,
        largest_gradient_with_it=max(found["right"]),
        median_gradient_without_it=middle,
        worlds=len(found["wrong"]),
    )


@STUDY.claim(
    id="masking/not-identifiable",
    title="If one bit gives the other away, single masks teach nothing",
    source=f"added to {PAPER}, Theorem 4.1.2",
    statement=(
        "With p(00) = 1 - t and p(11) = t the masked information about t is 0 for k = 1, with infinite "
        "covariance, Poincaré and entropy constants, and 1 / (t (1 - t)) for k = 2, with both constants 1."
    ),
    criterion="Informations to 1e-9; constants infinite, and 1 to 1e-9 (the entropy constant's lower end).",
    trials=masking,
    kind="control",
)
def islands(results: Results) -> Outcome:
    one, two = (rows(results, f"islands-{k}") for k in (1, 2))
    infinite = all(
        value == float("inf") for name in ("constant", "entropy", "trace") for value in one[name]
    )
    error = max(*one["error"], *two["error"])
    unit = max(abs(value - 1) for name in ("constant", "entropy") for value in two[name])
    return verdict(
        infinite and all(one["said"]) and error <= 1e-9 and unit <= 1e-9,
        error_of_the_information=error,
        all_infinite_for_one_bit=infinite,
        error_of_the_constants_for_two=unit,
    )
