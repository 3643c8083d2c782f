"""Constants and steps of proofs that are wrong as printed."""

from minicosm.lab import Outcome, ProfileName, Trial

from ...common.checks import Results
from ..study import STUDY
from .trials import PAPER, rows, verdict


def printed(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites import printed
    from ..suites.worlds import Worlds

    return {"suite": Trial(printed.run, Worlds(0, 1))}  # its worlds are fixed


@STUDY.claim(
    id="parallel/equation-4.49-as-printed",
    title="The chance to reach the mode, with 2c in place of 2^c",
    source=f"{PAPER}, Equation 4.49 and the lines after it",
    statement=(
        "A k-Gibbs step with k >= c enters R_1 with probability at least binom(N-c, k-c) / binom(N, k) "
        "e^(2 (J_0 + h_G)) / (e^(2 (J_0 + h_G)) + e^(2 J_0) + 2c - 2)."
    ),
    criterion=(
        "Fails if in one clique of 2 to 8 spins the exact probability, from the worst state, is below it by "
        "1e-6."
    ),
    trials=printed,
    expected="fails",
    erratum=(
        "Outside the modes there are 2^c - 2 states of the clique, not 2c - 2. Eight spins that hardly feel "
        "each other are all + with probability about 1/256; the printed bound is about 1/16."
    ),
    corrected_by="parallel/proposition-4.1.4",
)
def product(results: Results) -> Outcome:
    found = rows(results, "reach")
    pairs = list(zip(found["exact"], found["product"], strict=True))
    least = min(a / b for a, b in zip(found["exact"], found["corrected"], strict=True))
    below = sum(exact < bound - 1e-6 for exact, bound in pairs)
    exact, bound = max(pairs, key=lambda pair: pair[1] / pair[0])
    return verdict(
        not below, cliques=len(pairs), cliques_below_the_bound=below,
        exact_in_the_worst=exact, printed_bound_there=bound,
        least_ratio_to_the_corrected_bound=least,
    )  # fmt: skip


@STUDY.claim(
    id="parallel/proposition-4.1.4-as-printed",
    title="The chance to reach the mode, with the last terms in the exponent",
    source=f"{PAPER}, Proposition 4.1.4 as first stated, used in Corollary 4.1.1",
    statement=(
        "With c_R1 = 1 - binom(N-c, k-c) / binom(N, k) e^(2 (J_0 + h_G)) / (e^(2 (J_0 + h_G)) + e^(2 J_0 + "
        "2c - 2)), Assumptions 4.1.6 and 4.1.7 give c_R1 <= delta / 2, so that one step is enough."
    ),
    criterion="Fails if at the least sizes allowed, for one of four (M, delta), c_R1 is above delta / 2.",
    trials=printed,
    expected="fails",
    erratum=(
        "The exponent is garbled: e^(2 J_0 + 2c - 2) stands for e^(2 J_0) + 2^c - 2, as in the restatement "
        "before the proof. The bound stays true, since it is smaller, but is nearly 0 where one step is "
        "claimed."
    ),
    corrected_by="parallel/proposition-4.1.4",
)
def exponent(results: Results) -> Outcome:
    found, bounds = rows(results, "one-step"), rows(results, "reach")
    return verdict(
        all(c <= d / 2 for c, d in zip(found["exponent"], found["delta"], strict=True)),
        least_c_R1_as_printed=min(found["exponent"]),
        largest_corrected_c_R1_by_half_delta=max(
            2 * c / d for c, d in zip(found["corrected"], found["delta"], strict=True)
        ),
        as_printed_it_is_a_lower_bound=all(
            a >= b for a, b in zip(bounds["exact"], bounds["exponent"], strict=True)
        ),
    )


@STUDY.claim(
    id="parallel/corollary-4.1.1-as-printed",
    title="A square in the proof of the separation",
    source=f"{PAPER}, proof of Corollary 4.1.1",
    statement="(-1 + c / 4)^2 = 1 - c / 2 + c^2 / 4, so that c_stuck >= 2 (1 - c / 2 + c^2 / 4) / c.",
    criterion=(
        "Fails if for one c in 2..200 the equality misses by 1e-9, or the bound exceeds 2 (c / 2 - 1)^2 / c, "
        "which c_stuck never does."
    ),
    trials=printed,
    expected="fails",
    erratum=(
        "The last term is c^2 / 16. The conclusion c_stuck >= c / 8 - 1 follows from the corrected line; the "
        "printed one exceeds the largest value c_stuck can have, by 1."
    ),
    corrected_by="parallel/corollary-4.1.1",
)
def square(results: Results) -> Outcome:
    found = rows(results, "square")
    wrong = [abs(a - b) for a, b in zip(found["exact"], found["printed"], strict=True)]
    right = max(abs(a - b) for a, b in zip(found["exact"], found["corrected"], strict=True))
    above = [a - b for a, b in zip(found["printed"], found["most"], strict=True)]
    return verdict(
        max(wrong) <= 1e-9 and max(above) <= 1e-9, least_error_as_printed=min(wrong),
        error_of_the_corrected=right, least_excess_over_the_largest_c_stuck=min(above),
    )  # fmt: skip


@STUDY.claim(
    id="parallel/corollary-4.3.1",
    title="A choice in Lemma 4.3.5 that gives its corollary",
    source=f"corrected from {PAPER}, Corollary 4.3.1",
    statement=(
        "With e = sqrt(2^(N-1) |Omega|^N / (m delta)) and t = sqrt(n ln(4/delta) / 2) ln(1/beta), Lemma "
        "4.3.5 says |L_hat - L_tilde| < (sqrt(2^(3N-1) |Omega|^N / (m delta)) + sqrt(ln(4/delta) / (2n))) "
        "ln(1/beta) except with probability delta, exactly."
    ),
    criterion="Both sides agree to 1e-12, relatively, for three sizes.",
    trials=printed,
    kind="lemma",
)
def choice(results: Results) -> Outcome:
    error = max(rows(results, "choice")["error"])
    return verdict(error <= 1e-12, largest_error=error)


@STUDY.claim(
    id="parallel/corollary-4.3.1-as-printed",
    title="The printed choice in Lemma 4.3.5",
    source=f"{PAPER}, proof of Corollary 4.3.1",
    statement="With e = sqrt(2^(3N-1) |Omega|^N / (m delta)), Lemma 4.3.5 gives the corollary's bound.",
    criterion="Fails if for one size the lemma's bound with this e is above the corollary's by 1%.",
    trials=printed,
    kind="lemma",
    expected="fails",
    erratum=(
        "The lemma multiplies e by 2^N: its bound would have the exponent 5N - 1. With 2^(N-1) the result "
        "is right."
    ),
    corrected_by="parallel/corollary-4.3.1",
)
def choice_printed(results: Results) -> Outcome:
    ratio = rows(results, "choice")["printed"]
    return verdict(max(ratio) <= 1.01, largest_ratio=max(ratio), least_ratio=min(ratio))


@STUDY.claim(
    id="parallel/lemma-4.3.6-as-printed",
    title="Chebyshev's inequality with the number of masks",
    source=f"{PAPER}, proof of Lemma 4.3.6",
    statement="P(|p_emp(x) - p(x)| >= eps) <= 1 / (4 eps^2 m), m the number of masks of an example.",
    criterion=(
        "Fails if for one of 27 (p, n, eps) with m = 1000 n the exact binomial probability is above it by "
        "1e-9."
    ),
    trials=printed,
    kind="lemma",
    expected="fails",
    erratum="The variance is that of n examples: m must be n, as in the line that follows.",
    corrected_by="parallel/lemmas-4.3.5-and-4.3.6",
)
def chebyshev(results: Results) -> Outcome:
    found = rows(results, "chebyshev")
    above = sum(a > b + 1e-9 for a, b in zip(found["exact"], found["printed"], strict=True))
    ratio = max(a / b for a, b in zip(found["exact"], found["corrected"], strict=True))
    return verdict(
        not above, cases=len(found["exact"]), cases_above=above,
        largest_ratio_to_the_corrected_bound=ratio,
    )  # fmt: skip


@STUDY.claim(
    id="parallel/equations-4.31-and-4.38-as-printed",
    title="The population's loss where the sample's is meant",
    source=f"{PAPER}, Equations 4.31 and 4.38",
    statement=(
        "With probability 1 - delta |L_PL - L_tilde| < (sqrt(2^(3N) |Omega|^N C / (m delta)) + sqrt(ln(8 C / "
        "delta) / (2n))) ln(1/beta) + eps, L_PL the loss of the population; losses are mean conditional KL, "
        "as in the section's proofs."
    ),
    criterion=(
        "Fails if for ten fair bits, all hidden, n = 512, m = 1e18, delta = 0.1 and the true parameters, "
        "every sample has a larger difference than both equations allow: KL(p_emp || p) >= ln(1024 / 512)."
    ),
    trials=printed,
    kind="lemma",
    expected="fails",
    erratum=(
        "L_PL should be L_hat, the loss on the sample with its m masks, as in Corollary 4.3.2; with one "
        "possible mask L_hat = L_tilde. In cross-entropy the statement for one parameter is Hoeffding's "
        "inequality and true; in KL the sample's own law stands in L_tilde too."
    ),
    corrected_by="parallel/corollary-4.3.1",
)
def population(results: Results) -> Outcome:
    found = {name: column[0] for name, column in rows(results, "population").items()}
    allowed = max(found["pointwise"], found["uniform"])
    return verdict(
        found["least"] <= allowed,
        least_difference_on_any_sample=found["least"],
        least_of_20_samples=found["drawn"],
        allowed_by_Equation_4_31=found["uniform"],
        allowed_by_Equation_4_38=found["pointwise"],
    )
