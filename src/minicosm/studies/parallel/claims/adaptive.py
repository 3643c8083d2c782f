"""Masks that look at the sequence (Section 4.1.3), and worlds that single masks cannot teach."""

from minicosm.lab import Outcome, Table

from ...common.checks import Results, identity
from ..study import STUDY
from .masking import ratio_to_the_bound
from .trials import EXACT, PAPER, masking, rows, verdict

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
)(ratio_to_the_bound("adaptive"))


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
