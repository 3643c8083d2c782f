"""VGB is a reversible walk on a weighted tree: its stationary law and its spectrum."""

from minicosm.lab import Outcome

from ...common.checks import Results, both, identity
from ..study import STUDY
from .exact_trials import BOUND, DERIVED, IDENTITY, VGB, at_least, rows, table, trees, verdict

STUDY.claim(
    id="guided/vgb-stationary",
    title="VGB is a walk on a weighted tree, reversible with a law in closed form",
    source=f"{VGB}, with the law",
    statement=(
        "With c(u) = pi_ref(u) V(u) as the weight of the edge above u, VGB is the lazy walk on that weighted "
        "tree: mu(u) = w(u) / (2 sum_h C_h) is stationary and every edge carries the flow c / (2 M) in both "
        "directions."
    ),
    criterion=IDENTITY,
    trials=trees,
)(both(identity("stationarity"), identity("detailed_balance")))

STUDY.claim(
    id="guided/vgb-leaves",
    title="At the leaves VGB's stationary law is the wanted one, whatever the errors inside",
    source=f"{VGB}, property (3), with leaf errors added",
    statement=(
        "Given that the node is a leaf the stationary law is pi* if values of leaves are exact, and "
        "in proportion to pi* r otherwise: errors enter once, not H times."
    ),
    criterion=IDENTITY,
    trials=trees,
)(identity("leaf_law"))

STUDY.claim(
    id="guided/vgb-leaf-mass",
    title="The mass of the leaves is the inverse of the mean error, summed over levels",
    source=f"{VGB}, property (2), with its constant",
    statement="With exact leaves mu(leaves) = 1 / (2 sum_h E_{pi*}[r(y_{1:h})]).",
    criterion=IDENTITY,
    trials=trees,
)(identity("leaf_mass"))

STUDY.claim(
    id="guided/vgb-leaf-mass-bound",
    title="The leaves have a mass of order 1/H",
    source=f"{VGB}, property (2)",
    statement="With exact leaves and 1/kappa <= r <= kappa, mu(leaves) >= 1 / (2 (1 + kappa (H - 1))).",
    criterion=BOUND,
    trials=trees,
)(at_least("leaf_mass_bound"))

STUDY.claim(
    id="guided/vgb-exact-levels",
    title="With exact values every level has the same mass",
    source=DERIVED,
    statement=(
        "With exact values every inner level has mass 1/H, the root and all leaves together 1/(2H) "
        "each."
    ),
    criterion=IDENTITY,
    trials=trees,
    kind="lemma",
)(identity("exact-levels"))

STUDY.claim(
    id="guided/vgb-spectrum",
    title="With exact values the spectrum of VGB is a list of cosines",
    source=DERIVED,
    statement=(
        "The walk that is not lazy has the eigenvalues cos(pi j / H), j = 0..H, and for every node "
        "at depth h with m children of positive value m - 1 copies of cos((2j - 1) pi / (2 (H - "
        "h))), j = 1..H-h, and no others."
    ),
    criterion=IDENTITY,
    trials=trees,
)(identity("spectrum"))

STUDY.claim(
    id="guided/vgb-exact-at-every-time",
    title="With exact values VGB is right at every time",
    source=DERIVED,
    statement=(
        "From the root, given the level h, the node has the law pi*(y_{1:h}) after any number of "
        "steps."
    ),
    criterion=IDENTITY,
    trials=trees,
    kind="lemma",
)(identity("level_law"))

STUDY.claim(
    id="guided/sinclair-jerrum",
    title="For a uniform base law VGB moves in proportion to counts",
    source=f"{VGB}, the special case of Sinclair and Jerrum",
    statement=(
        "With uniform tokens, a set A and exact values, c(u) is the share of strings that begin "
        "with u in A."
    ),
    criterion=IDENTITY,
    trials=trees,
    kind="lemma",
)(identity("counting"))


@STUDY.claim(
    id="guided/footnote-12-as-printed",
    title="Laziness is needed for a stationary law",
    source=f"{VGB}, footnote 12",
    statement="Without staying in place half of the time the walk has no stationary distribution.",
    criterion="Fails if mu is stationary without laziness, to 1e-12, in some world.",
    trials=trees,
    kind="lemma",
    expected="fails",
    erratum=(
        "The same law is stationary with or without laziness. The walk that is not lazy has period "
        "two (levels alternate) and does not converge to it: laziness is needed for convergence."
    ),
    corrected_by="guided/footnote-12",
)
def footnote_printed(results: Results) -> Outcome:
    off = rows(results, "period")["stationary"]
    return verdict(min(off) > 1e-12, largest_change_of_mu_in_one_step=max(off))


@STUDY.claim(
    id="guided/footnote-12",
    title="Laziness is needed for convergence",
    source=f"{VGB}, footnote 12, corrected",
    statement=(
        "Without laziness the walk from the root stays at total variation at least 1/2 from its "
        "stationary law; with it the distance goes to zero."
    ),
    criterion=(
        "After 400 H steps the distance is at least 1/2 - 1e-9 without laziness and at most 1e-6 "
        "with it."
    ),
    trials=trees,
    kind="lemma",
)
def footnote(results: Results) -> Outcome:
    found = rows(results, "period")
    holds = min(found["tv"]) >= 0.5 - 1e-9 and max(found["lazy_tv"]) <= 1e-6
    return verdict(holds, distance_without=min(found["tv"]), distance_with=max(found["lazy_tv"]))


@STUDY.claim(
    id="guided/holding-on-rejection",
    title="Proposals may be rejected by staying, but not with a constant envelope",
    source=DERIVED,
    statement=(
        "Proposing parent or child with probability 1/2 each, accepting with weight / M and staying "
        "otherwise has the stationary law pi_ref, not pi_ref V. Going up with 1/(2M) and to child "
        "a with pi_ref(a|u) V(ua) / (2 M V(u)) has pi_ref V at every node, and pi* at the leaves."
    ),
    criterion=(
        "Both laws are stationary to 1e-9; the first is off pi* at the leaves in every world, the "
        "second nowhere."
    ),
    trials=trees,
    kind="lemma",
)
def holding(results: Results) -> Outcome:
    naive, right = rows(results, "holding-naive"), rows(results, "holding-right")
    holds = (
        max(*naive["error"], *right["error"]) <= 1e-9
        and min(naive["off_target"]) > 1e-3
        and max(right["off_target"]) <= 1e-9
    )
    return verdict(
        holds,
        total_variation_with_a_constant_envelope=max(naive["off_target"]),
        total_variation_of_the_right_form=max(right["off_target"]),
        worlds=len(naive["error"]),
    )


@STUDY.claim(
    id="guided/calibration",
    title="VGB needs values on one scale across levels, plain guidance does not",
    source=DERIVED,
    statement=(
        "V = s^h V* below the leaves leaves both laws exact but moves the leaf mass and the time to "
        "the first leaf: for H = 5 and s = 1/2, 1, 2 leaf mass 0.258, 0.100, 0.016 and 50.9, 25, "
        "69.3 steps."
    ),
    criterion="Laws to 1e-9, the numbers to the digits given.",
    trials=trees,
    kind="lemma",
)
def calibration(results: Results) -> Outcome:
    found = rows(results, "calibration")
    masses = [
        abs(a - b) <= 5.1e-4 for a, b in zip(found["leaf_mass"], (0.258, 0.1, 0.016), strict=True)
    ]
    times = [abs(a - b) <= 0.051 for a, b in zip(found["steps"], (50.9, 25.0, 69.3), strict=True)]
    columns = {"s": found["scale"], "leaf mass": found["leaf_mass"], "steps": found["steps"]}
    return Outcome(
        "holds" if max(found["error"]) <= 1e-9 and all(masses) and all(times) else "fails",
        {"largest error of the laws": max(found["error"])},
        (table("values scaled by s^h", columns),),
    )
