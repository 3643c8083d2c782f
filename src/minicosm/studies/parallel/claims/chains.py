"""Chains built from conditionals: their constants, and learning the joint law (Section 4.1.3)."""

from minicosm.lab import Outcome, Table

from ...common.checks import Results, always, both, identity
from ..figures.chains import one_pass_figure, rate_figure
from ..study import STUDY
from .trials import EXACT, PAPER, chains, rows, verdict

STUDY.claim(
    id="parallel/kernels",
    title="Block dynamics are reversible for the law that they sample",
    source=f"{PAPER}, Definitions 4.1.6 and 4.1.8",
    statement=(
        "Rows of all kernels are laws; block dynamics, adaptive or not, are reversible for p, and their "
        "eigenvalues lie in [0, 1]."
    ),
    criterion=f"{EXACT} 1e-12 for each of the three.",
    trials=chains,
    kind="lemma",
)(
    both(
        identity("stochastic", tolerance=1e-12),
        both(identity("reversible", tolerance=1e-12), identity("positive", tolerance=1e-12)),
    )
)

STUDY.claim(
    id="parallel/chi-squared-decay",
    title="The Poincaré constant bounds the decay of chi-squared",
    source=f"{PAPER}, remark after Definition 4.1.5",
    statement=(
        "chi2(p_t, p) <= (1 - 1/C)^(2t) chi2(p_0, p) <= e^(-2t/C) chi2(p_0, p) along block dynamics."
    ),
    criterion="No violation on any world in 20 steps from a random start (relative 1e-9, absolute 1e-13).",
    trials=chains,
)(always("chi-squared"))


@STUDY.claim(
    id="parallel/definition-4.1.9",
    title="The block entropy constant has a certified bracket",
    source=f"{PAPER}, Definition 4.1.9; bracket added",
    statement=(
        "KL(r || q) <= C_AT E KL(r(. | x_-K, K) || q(. | x_-K, K)) for all r, and C <= C_AT <= "
        "C log(1/q_min - 1) / (1 - 2 q_min), with C the Poincaré constant."
    ),
    criterion=(
        "No random r violates the inequality with the upper end, and no r found by ascent is above it."
    ),
    trials=chains,
)
def bracket(results: Results) -> Outcome:
    found, tested = rows(results, "bracket"), rows(results, "tensorisation")
    ratio = [a / b for a, b in zip(found["lower"], found["upper"], strict=True)]
    return verdict(
        all(found["ordered"]) and all(tested["holds"]),
        laws_tested=len(tested["holds"]),
        median_of_lower_over_upper=sorted(ratio)[len(ratio) // 2],
        worlds=len(ratio),
    )


STUDY.claim(
    id="parallel/product-laws",
    title="For independent positions both constants are N / k",
    source=f"added to {PAPER}, Definition 4.1.9",
    statement=(
        "If positions are independent and all sets of k are hidden equally often, the Poincaré constant and "
        "the largest ratio found for the entropy constant are N / k."
    ),
    criterion=f"{EXACT} 1e-6, relative.",
    trials=chains,
    kind="lemma",
)(identity("product", tolerance=1e-6))

STUDY.claim(
    id="parallel/proposition-4.3.1",
    title="A small masked loss means a small distance of the joint laws",
    source=f"{PAPER}, Proposition 4.3.1",
    statement="KL(r || q) <= C_AT L(q), with the masked loss L in cross-entropy or, tighter, in KL.",
    criterion="No violation by any random law, with the certified upper constant.",
    trials=chains,
)(both(always("tensorisation", "cross"), always("tensorisation", "holds")))


@STUDY.claim(
    id="parallel/proposition-4.3.1-as-printed",
    title="The mean conditional KL is the masked loss",
    source=f"{PAPER}, proof of Proposition 4.3.1",
    statement="E KL(r(. | x_-K, K) || q(. | x_-K, K)) = L_PL(q), the masked cross-entropy.",
    criterion="Fails if for one law the two differ by more than 1e-3.",
    trials=chains,
    kind="lemma",
    expected="fails",
    erratum=(
        "They differ by the masked cross-entropy of r itself. The inequality survives, since that is not "
        "negative; but with cross-entropy the bound on the distance does not go to zero."
    ),
    corrected_by="parallel/proposition-4.3.1",
)
def printed_equality(results: Results) -> Outcome:
    gaps = rows(results, "tensorisation")["gap"]
    return verdict(max(gaps) <= 1e-3, largest_difference=max(gaps), least_difference=min(gaps))


STUDY.claim(
    id="parallel/kl-decay",
    title="The entropy constant bounds the decay of KL",
    source=f"corrected from {PAPER}, remark after Definition 4.1.9",
    statement="KL(p_t || q) <= (1 - 1/C_AT)^t KL(p_0 || q) along block dynamics.",
    criterion=(
        "No violation in 20 steps from random starts, with the certified upper constant, nor with N / k in "
        "worlds of independent positions (relative 1e-9, absolute 1e-13)."
    ),
    trials=chains,
)(always("kl-decay"))


@STUDY.claim(
    id="parallel/kl-decay-as-printed",
    title="KL decays at the rate e^(-2 / C_AT)",
    source=f"{PAPER}, remark after Definition 4.1.9",
    statement="KL(p_t || q) <= e^(-2t/C_AT) KL(p_0 || q) along block dynamics.",
    criterion="Fails if in four independent bits with P(1) = 1e-4, started at all ones, KL is above it.",
    trials=chains,
    expected="fails",
    erratum=(
        "The factor 2 does not follow from Definition 4.1.9. With C_AT = 4 KL is 0.252 of its start after "
        "four steps; e^(-2) is 0.135 and the corrected bound (3/4)^4 is 0.316."
    ),
    corrected_by="parallel/kl-decay",
    figure=rate_figure,
)
def printed_rate(results: Results) -> Outcome:
    found = rows(results, "printed-rate")
    above = sum(a > b * (1 + 1e-9) for a, b in zip(found["ratio"], found["printed"], strict=True))
    return verdict(
        above == 0,
        KL_after_4_steps=found["ratio"][4],
        printed_bound=found["printed"][4],
        corrected_bound=found["corrected"][4],
    )


@STUDY.claim(
    id="parallel/theorem-4.1.4",
    title="The bound on learning the joint law holds, and is vacuous at any size one meets",
    source=f"{PAPER}, Theorem 4.1.4",
    statement=(
        "TV(p_hat, p) < sqrt(C_AT (L + B ln(1/beta) + eps) / 2) + sqrt(|Omega|^(3N) / (8 delta n)) with "
        "probability 1 - delta, L the masked loss in KL. For two spins the bound is 181, 5.7 and 0.41 at "
        "(m, n) = (1e3, 1e4), (1e9, 1e6) and (1e14, 1e8)."
    ),
    criterion=(
        "The three numbers agree, and the bound holds in at least the share 1 - delta = 0.9 of fits with n = "
        "200 and m = 50, with the certified upper constant."
    ),
    trials=chains,
)
def learned(results: Results) -> Outcome:
    found = rows(results, "joint-bound")
    right = all(
        abs(a - b) <= c
        for a, b, c in zip(found["bound"], (181, 5.7, 0.41), (0.5, 0.05, 0.005), strict=True)
    )
    inside = rows(results, "theorem-4.1.4")["inside"]
    share = sum(inside) / len(inside)
    table = Table(
        "the bound for two spins with |theta| <= 1/2, C_AT = 2.5 and no loss",
        ("masks per example m", "examples n", "bound on a distance of at most 1"),
        tuple(zip(found["m"], found["n"], found["bound"], strict=True)),
    )
    return Outcome(
        "holds" if right and share >= 0.9 else "fails",
        {"share of fits inside": share, "fits": len(inside), "bound at n = 1e4": found["bound"][0]},
        (table,),
    )


@STUDY.claim(
    id="parallel/lemmas-4.3.5-and-4.3.6",
    title="The parts of the bound hold with the probability stated",
    source=f"{PAPER}, Lemmas 4.3.5 and 4.3.6 (n in place of m in a line of the latter's proof)",
    statement=(
        "|L_hat - L_tilde| < 2^N e ln(1/beta) + t/n except with probability 2^(N-2) |Omega|^N / (e^2 m) + 2 "
        "exp(-2 t^2 / (n ln^2(1/beta))); TV(p_emp, p) < sqrt(|Omega|^(3N) / (16 delta n)) with probability "
        "1 - delta."
    ),
    criterion="The share of samples inside is at least the probability stated, for both, over all worlds.",
    trials=chains,
    kind="lemma",
)
def parts(results: Results) -> Outcome:
    first, second = rows(results, "lemma-4.3.5"), rows(results, "lemma-4.3.6")
    one = sum(first["share"]) / len(first["share"])
    two = sum(second["share"]) / len(second["share"])
    return verdict(
        one >= max(first["promised"]) and two >= 0.9,
        share_for_the_loss=one,
        promised=max(first["promised"]),
        largest_difference_of_losses=max(first["largest"]),
        its_bound=first["gap"][0],
        share_for_the_empirical_law=two,
    )


@STUDY.claim(
    id="parallel/equation-4.30",
    title="On every sample the learned law is as close as its masked loss says",
    source=f"{PAPER}, Equation 4.30, with the loss in KL",
    statement="TV(p_emp, p_hat) <= sqrt(C_AT(p_hat) L_tilde(p_hat) / 2).",
    criterion="No violation over fits of three and four spins for every k, with the certified constant.",
    trials=chains,
)
def every_sample(results: Results) -> Outcome:
    found = rows(results, "equation-4.30")
    return verdict(
        all(found["holds"]),
        fits=len(found["holds"]),
        largest_ratio_to_the_bound=max(found["ratio"]),
    )


@STUDY.claim(
    id="parallel/law-of-independent-parallel",
    title="The independent parallel sampler has a stationary law, and it is another one",
    source=f"added to {PAPER}, footnote to Definition 4.1.11",
    statement=(
        "For Ising worlds the chain is ergodic and reversible for pi(x) prop. to e^(h.x) prod_i 2 cosh(h_i + "
        "sum_j J_ij x_j), which is not p. Two spins with J = 3 change places with probability 0.995."
    ),
    criterion="Reversible to 1e-12 with positive entries in every world; TV(pi, p) > 1e-3 in the median one.",
    trials=chains,
    kind="lemma",
)
def parallel_law(results: Results) -> Outcome:
    found = rows(results, "parallel-law")
    middle = sorted(found["distance"])[len(found["distance"]) // 2]
    swap = rows(results, "oscillation")["probability"][0]
    return verdict(
        max(found["error"]) <= 1e-12
        and all(found["positive"])
        and middle > 1e-3
        and round(swap, 3) == 0.995,
        largest_error=max(found["error"]),
        median_distance_from_p=middle,
        largest_distance_from_p=max(found["distance"]),
        probability_of_changing_places=swap,
    )


# world: chain: (all equal, mode, distance) after 1, 2 and 10 steps
ONE_PASS = {
    ("J = 2, h = 0.3", "denoiser 0.15"): (
        (0.821, 0.821, 0.179), (0.969, 0.969, 0.031), (0.973, 0.973, 0.027),
    ),
    ("J = 2, h = 0.3", "independent"): (
        (0.650, 0.335, 0.639), (0.722, 0.371, 0.602), (0.898, 0.507, 0.467),
    ),
    ("J = 2, h = 0.05", "denoiser 0.15"): (
        (0.137, 0.122, 0.863), (0.243, 0.233, 0.757), (0.430, 0.429, 0.570),
    ),
    ("J = 2, h = 0.05", "denoiser 0.5"): (
        (0.468, 0.293, 0.532), (0.808, 0.510, 0.192), (0.991, 0.622, 0.023),
    ),
    ("J = 1, h = 0", "denoiser 0.15"): (
        (0.097, 0.048, 0.903), (0.132, 0.066, 0.868), (0.161, 0.080, 0.839),
    ),
    ("J = 1, h = 0", "independent"): (
        (0.498, 0.249, 0.502), (0.762, 0.381, 0.238), (0.998, 0.499, 0.002),
    ),
}  # fmt: skip


@STUDY.claim(
    id="parallel/one-pass",
    title="One parallel pass is enough for one dominant mode, and not for two equal ones",
    source=f"added to {PAPER}, Remark 4.3.4",
    statement=(
        "From noise, six coupled spins with one dominant mode are in it with probability 0.821 after one "
        "pass of the exact denoiser that keeps 15% and 0.969 after two; with two equal modes (J = 1, h = 0) "
        "the distance from the law is still 0.839 after ten passes."
    ),
    criterion="All 54 probabilities of the table agree to 0.001.",
    trials=chains,
    kind="experiment",
    figure=one_pass_figure,
)
def one_pass(results: Results) -> Outcome:
    found = rows(results, "one-pass")
    at = {
        key: i
        for i, key in enumerate(zip(found["world"], found["chain"], found["steps"], strict=True))
    }
    worst, lines = 0.0, []
    for (world, chain), stated in ONE_PASS.items():
        for t, values in zip((1, 2, 10), stated, strict=True):
            i = at[world, chain, t]
            got = tuple(found[name][i] for name in ("equal", "mode", "distance"))
            worst = max(worst, *(abs(a - b) for a, b in zip(got, values, strict=True)))
            lines.append((world, chain, t, *got))
    table = Table(
        "from uniform noise", ("world", "chain", "steps", "all equal", "R_1", "TV"), tuple(lines)
    )
    return Outcome("holds" if worst <= 0.001 else "fails", {"largest difference": worst}, (table,))
