"""The balance condition: its projector and its measure (Sections 2.2.2, 2.2.3.3)."""

import numpy as np

from minicosm.lab import Outcome, Table, Verdict

from ...common.checks import EXACT as IDENTITY
from ...common.checks import Results, identity
from ..study import STUDY
from .theory_trials import PAPER, rows, suite, verdict

MEASURE = suite("balance")

STUDY.claim(
    id="dyck/balance-projector",
    title="Any attention matrix has a nearest balanced one in closed form",
    source=f"added to {PAPER}, Definition 2.2.3",
    statement=(
        "With Pi_D the projector on the differences e(open) - e(closed) of matched pairs and Pi_G that on "
        "differences of closed queries of positive depth, M - Pi_D M Pi_G is balanced, equals M if M is "
        "balanced, and is the nearest balanced matrix."
    ),
    criterion=IDENTITY,
    trials=MEASURE,
    kind="lemma",
)(identity("projector"))


@STUDY.claim(
    id="dyck/balance-dimension",
    title="Balance leaves most of the attention matrix free",
    source=f"added to {PAPER}, Definition 2.2.3",
    statement=(
        "With independent embeddings balance is kD (k(D-1) - 1) independent linear conditions on M: 40 of "
        "289 for two types, depth 4 and width 17."
    ),
    criterion="The rank of the conditions is that number in every world; 249 dimensions are free there.",
    trials=MEASURE,
    kind="lemma",
)
def dimension(results: Results) -> Outcome:
    found = rows(results, "dimension")
    free = int(found["free"][0])
    return verdict(
        all(found["holds"]) and free == 249, free_dimensions=free, worlds=len(found["holds"])
    )


@STUDY.claim(
    id="dyck/depths-as-printed",
    title="Every index of Equations 2.47 and 2.51 is a bracket of the language",
    source=f"{PAPER}, Definition 2.2.3 and Equation 2.51",
    statement="For every type j and depth d in 1..D there is a closed bracket of type j and depth d.",
    criterion="Fails if one of them does not exist.",
    trials=MEASURE,
    kind="lemma",
    expected="fails",
    erratum=(
        "A closed bracket has depth 0..D-1, counted behind it: those of depth D do not exist. Queries have "
        "depth 1..D-1; the query of S at index d has depth d - 1, as in Equation 2.52."
    ),
    corrected_by="dyck/necessity-value-balance",
)
def depths(results: Results) -> Outcome:
    missing = rows(results, "indices-printed")["missing"]
    return verdict(not any(missing), closed_brackets_that_do_not_exist=max(missing))


STUDY.claim(
    id="dyck/violation-of-exact-models",
    title="Exact models have balance violation zero",
    source=f"{PAPER}, Section 2.2.3.3",
    statement=(
        "For the models of Theorem 2.2.1 with random balanced attention every |S| / P is zero."
    ),
    criterion=IDENTITY,
    trials=MEASURE,
)(identity("violation-exact"))

STUDY.claim(
    id="dyck/violation-shift",
    title="Balance violation does not see constants of the query",
    source=f"added to {PAPER}, Section 2.2.3.3",
    statement="Adding to all logits of a query a number that depends on the query leaves beta as it is.",
    criterion=IDENTITY,
    trials=MEASURE,
    kind="lemma",
)(identity("violation-shift"))


@STUDY.claim(
    id="dyck/violation-scale",
    title="What size of balance violation means what",
    source=f"added to {PAPER}, Section 2.2.3.3",
    statement=(
        "Gaussian noise of deviation 1e-3, 1e-2, 0.1 and 1 on the attention matrix of an exact model "
        "(two types, depth 4, one-hot embeddings) gives a beta of 0.0011, 0.008, 0.10 and 0.59 in one "
        "draw, and Gaussian values with small random logits 0.69: such values are ordinary ones, and "
        "beta grows in proportion to small noise."
    ),
    criterion=(
        "Each number lies between the least and the largest beta of the draws (of 20 or more; undecided "
        "with fewer), and the medians grow in proportion to the noise up to 0.1 (log-log slope within "
        "0.1 of one)."
    ),
    trials=MEASURE,
    kind="control",
)
def scale(results: Results) -> Outcome:
    found = rows(results, "violation-noise")
    wanted = {"sd 0.001": 1.1e-3, "sd 0.01": 8e-3, "sd 0.1": 0.10, "sd 1": 0.59}
    medians = {name: float(np.median(found[name])) for name in wanted}
    betas = rows(results, "violation-random")["beta"]
    random = float(np.median(betas))
    inside = [min(found[name]) <= value <= max(found[name]) for name, value in wanted.items()]
    slope = float(np.log10(medians["sd 0.1"] / medians["sd 0.001"]) / 2)
    table = Table(
        "balance violation",
        ("weights", "median beta", "smallest", "largest", "stated"),
        (
            *((n, medians[n], min(found[n]), max(found[n]), wanted[n]) for n in wanted),
            ("random values", random, min(betas), max(betas), 0.69),
        ),
    )
    inside.append(min(betas) <= 0.69 <= max(betas))
    found_verdict: Verdict = "holds" if all(inside) and abs(slope - 1) <= 0.1 else "fails"
    if len(betas) < 20:
        found_verdict = "undecided"
    return Outcome(found_verdict, {"slope": slope, "random values": random}, (table,))


@STUDY.claim(
    id="dyck/argument-order-as-printed",
    title="S with the arguments in the printed order vanishes at an optimum",
    source=f"{PAPER}, Equations 2.48 to 2.53",
    statement=(
        "With u(a, b) = exp(e(a)^T M e(b)) P W_V e(a) as in Equation 2.48, the sum "
        "u(query, closed) + u(query, open) of Equation 2.51 is zero at an exact optimum."
    ),
    criterion="Fails if at some exact optimum |S| is more than 1e-3 of its larger term for every index.",
    trials=MEASURE,
    kind="lemma",
    expected="fails",
    erratum=(
        "Equation 2.48 has the key first, Equations 2.49 to 2.53 have it second. Read literally, both terms "
        "are then positive multiples of the query's own value and never cancel."
    ),
    corrected_by="dyck/necessity-value-balance",
)
def order(results: Results) -> Outcome:
    least = rows(results, "order-printed")["error"]
    return verdict(max(least) <= 1e-3, least_sum_relative_to_its_larger_term=min(least))
