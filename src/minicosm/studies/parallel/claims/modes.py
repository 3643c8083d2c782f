"""Reaching a mode together or one by one: Section 4.1.4.2."""

from itertools import pairwise

import numpy as np

from minicosm.lab import Outcome, ProfileName, Table, Trial

from ...common.checks import Results
from ..figures.chains import hitting_figure, separation_figure
from ..study import STUDY
from .estimation import WITHIN
from .trials import PAPER, modes, rows, verdict


@STUDY.claim(
    id="parallel/proposition-4.3.3",
    title="Two modes, ordered",
    source=f"{PAPER}, Proposition 4.3.3",
    statement=(
        "Under Assumption 4.1.5 states of R_1 are more likely than those of R_-1, which are at least "
        "e^(2 J_0) times as likely as any other; flipping the clique changes the odds by exactly e^(2 h_G)."
    ),
    criterion="No violation in random cliques (1e-9 in logs), and the ratio agrees to 1e-9 in logs.",
    trials=modes,
)
def ordered(results: Results) -> Outcome:
    found = rows(results, "modes")
    return verdict(
        all(found["holds"]) and max(found["error"]) <= 1e-9,
        worlds=len(found["holds"]),
        error_of_the_ratio=max(found["error"]),
    )


@STUDY.claim(
    id="parallel/proposition-4.3.3-strict-as-printed",
    title="States of R_-1 are strictly more than e^(2 J_0) times as likely as others",
    source=f"{PAPER}, Proposition 4.3.3",
    statement="p(R_-1 state) > e^(2 J_0) p(any state outside the modes), under Assumption 4.1.5.",
    criterion="Fails if two spins of which one has no field give equality (to 1e-9 in logs).",
    trials=modes,
    expected="fails",
    erratum="With a clique of two spins and a zero field in it the two are equal; the sign is >=.",
    corrected_by="parallel/proposition-4.3.3",
)
def strictly(results: Results) -> Outcome:
    excess = rows(results, "modes-equal")["excess"]
    return verdict(min(excess) > 1e-9, excess_in_logs=min(excess))


@STUDY.claim(
    id="parallel/proposition-4.1.4",
    title="k-Gibbs reaches the larger mode in a geometric number of steps",
    source=f"{PAPER}, Proposition 4.1.4, with e^(2 J_0) + 2^c - 2 where print is garbled",
    statement=(
        "From any state a k-Gibbs step with k >= c enters R_1 with probability at least 1 - c_R1, so that it "
        "was visited after ceil(ln delta / ln c_R1) steps with probability 1 - delta."
    ),
    criterion="Exact probabilities of random cliques, from the worst state, are never below the bound.",
    trials=modes,
)
def reach(results: Results) -> Outcome:
    found = rows(results, "reach")
    ratio = sorted(found["ratio"])
    return verdict(
        all(found["holds"]),
        least_ratio_to_the_bound=ratio[0],
        median_ratio=ratio[len(ratio) // 2],
        worlds=len(ratio),
    )


@STUDY.claim(
    id="parallel/proposition-4.1.5",
    title="Independent parallel sampling is stuck in the smaller mode",
    source=f"corrected from {PAPER}, Proposition 4.1.5",
    statement=(
        "If c tanh(J_0) > 2, from any start with clique sum <= -2 the sampler keeps it <= -2 for floor(delta "
        "e^(c_stuck) / 2) steps with probability 1 - delta; each spin turns up with probability at most "
        "1 / (1 + e^(2 J_0)) in a step."
    ),
    criterion=(
        "No violation by exact survival from the worst start, in cliques of 4 to 80 equal spins and of ten "
        "spins with unequal fields; the chance of a uniform start is that of the formula to 1e-12."
    ),
    trials=modes,
)
def stuck(results: Results) -> Outcome:
    found = rows(results, "stuck")
    error = max(rows(results, "start")["error"])
    return verdict(
        all(found["holds"]) and all(found["spin"]) and all(found["applies"]) and error <= 1e-12,
        worlds=len(found["holds"]),
        with_a_step_or_more=sum(s >= 1 for s in found["steps"]),
        error_of_the_start=error,
    )


@STUDY.claim(
    id="parallel/proposition-4.1.5-as-printed",
    title="The same without a condition on J_0",
    source=f"{PAPER}, Proposition 4.1.5",
    statement="Under Assumption 4.1.5 alone the sampler is stuck for floor(delta e^(c_stuck) / 2) steps.",
    criterion="Fails if two spins with J_0 = 0.001 and delta = 0.74 stay with probability below 0.26.",
    trials=modes,
    expected="fails",
    erratum=(
        "Hoeffding's inequality needs r = c tanh(J_0) / 2 - 1 > 0. Here r is -0.999 and its square makes one "
        "step out of nothing: the chance to stay is 0.2505, not 0.26."
    ),
    corrected_by="parallel/proposition-4.1.5",
)
def stuck_printed(results: Results) -> Outcome:
    found = rows(results, "stuck-printed")
    return verdict(
        all(found["holds"]),
        steps_promised=found["steps"][0],
        promised=found["promised"][0],
        exact=found["stays"][0],
        r=found["r"][0],
    )


@STUDY.claim(
    id="parallel/corollary-4.1.1",
    title="One joint step against more than M independent ones",
    source=f"{PAPER}, Corollary 4.1.1",
    statement=(
        "Under Assumptions 4.1.5 to 4.1.7 one k-Gibbs step enters R_1 and M independent parallel steps do "
        "not, each with probability 1 - delta / 2. With M = 1000 and delta = 0.1: c = 93 and the step "
        "succeeds with probability 0.98734."
    ),
    criterion=(
        "Exact probabilities at the least sizes allowed, for four (M, delta), and for k < N, which needs a "
        "clique of 56 among 2184 spins; c_R1 <= delta / 2 and c_stuck "
        ">= c / 8 - 1 >= ln(4M / delta); the example to the digits stated."
    ),
    trials=modes,
    figure=separation_figure,
)
def separation(results: Results) -> Outcome:
    found = rows(results, "separation")
    at = next(i for i, M in enumerate(found["budget"]) if M == 1000)
    example = found["clique"][at] == 93 and round(found["reach"][at], 5) == 0.98734
    names = ("budget", "delta", "clique", "length", "k", "reach", "left")
    table = Table(
        "at the least sizes allowed",
        (
            "M",
            "delta",
            "clique",
            "N",
            "k",
            "one k-Gibbs step succeeds",
            "independent leaves in M steps",
        ),
        tuple(zip(*(found[name] for name in names), strict=True)),
    )
    holds = all(found["holds"]) and example
    return Outcome(
        "holds" if holds else "fails",
        {"one step succeeds, M = 1000": found["reach"][at], "clique": found["clique"][at]},
        (table,),
    )


# -- Figure 4.3 ---------------------------------------------------------------------------------

EXACT_STEPS = {
    1: (20.9, 10.1, 6.5, 4.7, 3.6, 2.9, 2.3, 1.9, 1.4, 1),
    2.5: (447, 22.3, 10.1, 6.2, 4.3, 3.2, 2.4, 1.9, 1.4, 1),
    3: (953, 382, 29.5, 10.4, 5.6, 3.6, 2.6, 1.9, 1.4, 1),
    4: (1000, 999, 33.4, 10.8, 5.6, 3.6, 2.6, 1.9, 1.4, 1),
    5: (1000, 1000, 64.2, 19.0, 9.0, 5.2, 3.4, 2.3, 1.5, 1),
    6: (1000, 1000, 961, 198, 41.1, 13.9, 6.0, 3.0, 1.7, 1),
    7: (1000, 1000, 1000, 208, 42.0, 14.0, 6.0, 3.0, 1.7, 1),
    8: (1000, 1000, 1000, 208, 42.0, 14.0, 6.0, 3.0, 1.7, 1),
    10: (1000, 1000, 1000, 208, 42.0, 14.0, 6.0, 3.0, 1.7, 1),
}
ARRIVES = {1: "1.0e+00", 2.5: "1.0e+00", 3: "7.4e-01", 4: "3e-03", 5: "7e-06", 6: "1e-09"}
NEVER = 1e-10  # what the table gives as 0, for J >= 7


def _off(runs: np.ndarray, mean: float, deviation: float) -> float:
    """Standard errors between a simulated and an exact mean; the deviation is the larger of the exact
    one and that of the runs, since few runs of a skewed law tell little about it."""
    spread = max(deviation, float(runs.std(ddof=1)))
    return float(abs(runs.mean() - mean)) / max(spread / len(runs) ** 0.5, 1e-9)


def _arrives(J: float, probability: float) -> bool:
    """Whether a probability to arrive has the digits of the table."""
    if J not in ARRIVES:
        return probability < NEVER
    digits = len(ARRIVES[J].split("e")[0].replace(".", "")) - 1
    return f"{probability:.{digits}e}" == ARRIVES[J]


def hitting(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites import hitting

    couplings = {"smoke": (1, 2.5, 5, 7), "laptop": (1, 2.5, 3, 4, 5, 6, 7, 8, 10)}
    chosen = tuple(map(float, couplings.get(profile, couplings["laptop"])))
    runs = {"smoke": 40, "laptop": 200, "paper": 1000}[profile]
    return {"hitting": Trial(hitting.run, hitting.Hitting(seed, chosen, runs))}


@STUDY.claim(
    id="parallel/figure-4.3",
    title="Steps to the larger mode: fewer with larger k, more with larger J, none for independent updates",
    source=f"{PAPER}, Figure 4.3",
    statement=(
        "Ten spins, a clique of four, h = 5, from R_-1: k-Gibbs enters R_1 in fewer steps for larger k and "
        "in more for larger J; the independent parallel sampler does not within 1000 steps for J >= 5."
    ),
    criterion=(
        "Exact expected steps, capped at 1000, and the independent sampler's exact chances to arrive agree "
        "with the printed digits of the table; the steps fall with k and do not fall with J by more than "
        f"1e-3; simulated means are within {WITHIN} standard errors (the larger of exact and simulated); no "
        "independent run arrives for J >= 5."
    ),
    trials=hitting,
    kind="figure",
    figure=hitting_figure,
)
def steps(results: Results) -> Outcome:
    found = results["hitting"]
    exact, drawn = found.arrays["exact"], found.arrays["steps"]
    couplings, budget = found.numbers["couplings"], found.numbers["budget"]
    wrong = 0
    for J, row in zip(couplings, exact, strict=True):
        for value, stated in zip(row, EXACT_STEPS[J], strict=True):
            wrong += abs(value - stated) > (0.51 if stated >= 100 else 0.051)
    falls = all(a >= b - 1e-9 for row in exact for a, b in pairwise(row))
    fall = float((exact[:-1] - exact[1:]).max())
    hits = found.numbers["hit"]
    wrong += sum(not _arrives(J, hit) for J, hit in zip(couplings, hits, strict=True))
    off = max(
        _off(drawn[i, k], exact[i, k], found.arrays["deviation"][i, k])
        for i in range(len(couplings))
        for k in range(exact.shape[1])
    )
    strong = [i for i, J in enumerate(couplings) if J >= 5]
    arrived = int((found.arrays["parallel"][strong] < budget).sum())
    columns = ("", *(f"J = {J:g}" for J in couplings))
    steps_of = [(f"k = {k + 1}", *map(float, exact[:, k])) for k in range(exact.shape[1])]
    lines = (*steps_of, ("independent: mean", *found.numbers["mean"]), ("P(arrives)", *hits))
    holds = wrong == 0 and falls and fall <= 1e-3 and off <= WITHIN and arrived == 0
    return Outcome(
        "holds" if holds else "fails",
        {
            "numbers that differ": int(wrong),
            "most standard errors from the exact mean": off,
            "largest fall with J": fall,
            "independent runs that arrived, J >= 5": arrived,
            "runs for each k and J": drawn.shape[2],
        },
        (Table("exact expected steps, capped at 1000", columns, lines),),
        f"Assumption 4.1.5 does not hold in the figure's own world: {found.numbers['assumption']}.",
    )


@STUDY.claim(
    id="parallel/figure-4.3-weak-coupling",
    title="With weak coupling independent updates are faster than small k",
    source=f"added to {PAPER}, Figure 4.3",
    statement=(
        "At J = 1 independent parallel sampling needs 1.1 steps on average, fewer than k-Gibbs with any k up "
        "to 9; at J = 2.5 it needs 39.7, fewer than 1-Gibbs and more than every other k."
    ),
    criterion=(
        "Exactly, with the digits stated, against exact capped steps; runs agree within "
        f"{WITHIN} standard errors."
    ),
    trials=hitting,
    kind="control",
    figure=hitting_figure,
)
def weak(results: Results) -> Outcome:
    found = results["hitting"]
    exact, mean = found.arrays["exact"], found.numbers["mean"]
    loose, tight = (found.numbers["couplings"].index(J) for J in (1, 2.5))
    off = max(
        _off(found.arrays["parallel"][i], found.numbers["capped"][i], found.numbers["deviation"][i])
        for i in (loose, tight)
    )
    first = round(mean[loose], 1) == 1.1 and (mean[loose] < exact[loose, :9]).all()
    second = round(mean[tight], 1) == 39.7 and exact[tight, 1] < mean[tight] < exact[tight, 0]
    return verdict(
        bool(first and second and off <= WITHIN),
        independent_at_J_1=mean[loose],
        nine_at_once_at_J_1=float(exact[loose, 8]),
        independent_at_J_2_5=mean[tight],
        one_at_a_time_at_J_2_5=float(exact[tight, 0]),
        two_at_a_time_at_J_2_5=float(exact[tight, 1]),
        standard_errors_apart=off,
    )
