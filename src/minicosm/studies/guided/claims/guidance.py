"""Leaves reached first, and plain guidance: what each does to errors."""

from minicosm.lab import Outcome

from ...common.checks import Results, both, identity
from ..study import STUDY
from .exact_trials import BOUND, DERIVED, IDENTITY, VGB, at_least, rows, table, trees

STUDY.claim(
    id="guided/first-leaf-law",
    title="The first leaf is plain guidance with smoothed values",
    source=DERIVED,
    statement=(
        "The first leaf that VGB reaches has the law of value-guided sampling with W(u) = V(u) S(u) "
        "/ (V(u) + S(u)), S(u) = sum_a pi_ref(a|u) W(ua), W = tau at leaves; and the expected "
        "steps are sum_{|u|<H} w(u) v(u)."
    ),
    criterion=f"{IDENTITY} Law and time against linear equations of the absorbed walk.",
    trials=trees,
)(both(identity("first_leaf"), identity("hitting_time")))

STUDY.claim(
    id="guided/first-leaf-time",
    title="With exact values the first leaf takes H^2 steps",
    source=DERIVED,
    statement=(
        "With exact values the first leaf has the law pi* and is reached after H^2 expected steps, "
        "lazy ones not counted."
    ),
    criterion=IDENTITY,
    trials=trees,
    kind="lemma",
)(identity("exact-time"))

STUDY.claim(
    id="guided/first-leaf-spread",
    title="The first leaf is off by a polynomial factor at most",
    source=DERIVED,
    statement=(
        "With exact leaves and 1/kappa <= r <= kappa, max_y (q/pi*) / min_y (q/pi*) <= prod_{k<H} "
        "(k + kappa^2) / (k + kappa^-2), which is of order H^(kappa^2 - kappa^-2)."
    ),
    criterion=BOUND,
    trials=trees,
)(at_least("first_leaf_spread"))

STUDY.claim(
    id="guided/plain-product",
    title="Plain guidance multiplies errors",
    source=f"{VGB}, on error amplification, as an identity",
    statement=(
        "Value-guided sampling has pi(y)/pi*(y) = prod_h r(y_{1:h}) / rbar(y_{1:h-1}), rbar(u) the "
        "mean of r over the next token under pi*, and KL(pi* || pi) = sum_h E_{pi*}[log rbar - log "
        "r]."
    ),
    criterion=IDENTITY,
    trials=trees,
)(both(identity("plain"), identity("plain-kl")))

STUDY.claim(
    id="guided/rescaling",
    title="Factors per level change neither plain guidance nor VGB's leaves",
    source=DERIVED,
    statement="Values times 2^h give the same law of plain guidance and the same stationary law of leaves.",
    criterion=IDENTITY,
    trials=trees,
    kind="lemma",
)(both(identity("rescaled-plain"), identity("rescaled-leaf")))


@STUDY.claim(
    id="guided/weak-verifiers-stall",
    title="Feasibility is no value: it can stall VGB",
    source=DERIVED,
    statement=(
        "In the needle world with the perfect feasibility verifier as value, the first leaf takes "
        "2^(D+2) - 4 - 3 D steps (996 for D = 8, against 16 calls of tokenwise rejection) and the "
        "leaf has mass 2^-D / (2 (1 - 2^-D))."
    ),
    criterion=IDENTITY,
    trials=trees,
)
def stalls(results: Results) -> Outcome:
    found = rows(results, "stalls")
    columns = {
        "D": found["D"],
        "steps of VGB": found["steps"],
        "tokenwise calls": found["tokenwise"],
    }
    outcome = identity("stalls")(results)
    return Outcome(outcome.verdict, outcome.numbers, (table("needle world", columns),))
