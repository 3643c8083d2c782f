"""Why exact models are balanced, and what else they need (Sections 2.2.2, 2.2.5.8)."""

from minicosm.lab import Estimate, Outcome, Table

from ...common.checks import EXACT as IDENTITY
from ...common.checks import TOLERANCE, Results, identity, never_close
from ..figures import theory as figures
from ..study import STUDY
from .theory_trials import PAPER, ROUNDING, rows, suite, verdict

NECESSITY = suite("necessity")

STUDY.claim(
    id="dyck/necessity-value-balance",
    title="At an exact optimum matched values cancel",
    source=f"{PAPER}, Theorem 2.2.1 (necessity), Equation 2.50",
    statement=(
        "u(open; b) + u(closed; b) = 0, key first, for all matched pairs and closed queries b of depth "
        "1..D-1: the projected values are antiparallel and (e(open) - e(closed))^T M e(b) = "
        "ln(|P W_V e(closed)| / |P W_V e(open)|), whatever b is."
    ),
    criterion=IDENTITY,
    trials=NECESSITY,
)(identity("value-balance"))


@STUDY.claim(
    id="dyck/pumping",
    title="Without balance, matched pairs drown what has to be remembered",
    source=f"{PAPER}, proof of Theorem 2.2.1 (necessity)",
    statement=(
        "Take two prefixes that differ only in the last unmatched type and insert n matched pairs. Under "
        "balance the distance of the normalised attention outputs does not depend on n; with noise on M it "
        "falls as 1/n, so no continuous g predicts both at every length."
    ),
    criterion=(
        "Balanced: up to 10^4 pairs the distance changes by less than 1e-9. Perturbed (deviation 0.1): the "
        "log-log slope from 10^5 to 10^6 pairs lies in [-1.1, -0.9] in every draw."
    ),
    trials=NECESSITY,
    figure=figures.pumping,
)
def pumping(results: Results) -> Outcome:
    exact, noisy = rows(results, "pumping-exact"), rows(results, "pumping-noise")
    holds = max(exact["spread"]) < 1e-9 and all(-1.1 <= slope <= -0.9 for slope in noisy["late"])
    return verdict(
        holds,
        largest_change_under_balance=max(exact["spread"]),
        smallest_distance_under_balance=min(exact["distance"]),
        slope_with_noise=Estimate.of(noisy["late"]),
        draws=len(noisy["late"]),
    )


@STUDY.claim(
    id="dyck/pumping-soon",
    title="A thousand matched pairs are enough to see the rate 1/n",
    source=f"added to {PAPER}, proof of Theorem 2.2.1 (necessity)",
    statement=(
        "With noise of deviation 0.1 on M the distance of the normalised outputs falls as 1/n already "
        "from 10^3 to 10^4 pairs."
    ),
    criterion="The log-log slope from 10^3 to 10^4 pairs lies in [-1.1, -0.9] in every draw.",
    trials=NECESSITY,
    kind="control",
)
def soon(results: Results) -> Outcome:
    slopes = rows(results, "pumping-noise")["early"]
    near = [-1.1 <= slope <= -0.9 for slope in slopes]
    return verdict(
        all(near), draws_at_the_rate=sum(near), draws=len(near), slope=Estimate.of(slopes)
    )


STUDY.claim(
    id="dyck/pumping-closed-form",
    title="Outputs behind pumped strings follow from counts",
    source=f"{PAPER}, proof of Theorem 2.2.1 (necessity)",
    statement=(
        "Without positions the layer's output at the last token is a sum over how often each bracket with "
        "its depth occurs, with the residual outside or inside the norm."
    ),
    criterion=IDENTITY,
    trials=NECESSITY,
    kind="lemma",
)(identity("closed-form"))


@STUDY.claim(
    id="dyck/logits-alone",
    title="Balanced logits do not make an optimum; the values have to fit",
    source=f"added to {PAPER}, Theorem 2.2.1",
    statement=(
        "Equation 2.50 is stronger than 2.47: with a balanced M and generic values, matched pairs do not "
        "cancel and the distance of twin prefixes still falls as 1/n."
    ),
    criterion="The log-log slope from 10^5 to 10^6 pairs lies in [-1.1, -0.9] in every draw.",
    trials=NECESSITY,
)
def logits_alone(results: Results) -> Outcome:
    found = rows(results, "pumping-values")
    holds = all(-1.1 <= slope <= -0.9 for slope in found["late"])
    return verdict(holds, slope=Estimate.of(found["late"]), draws=len(found["late"]))


@STUDY.claim(
    id="dyck/nonzero-values",
    title="Balance is only needed where values are not zero",
    source=f"added to {PAPER}, Theorem 2.2.1 (necessity)",
    statement=(
        "If pairs of depth D have value zero, the model stays exact with logits that are not balanced there, "
        "because an open bracket of depth D is never unmatched behind a closed one; with values that are "
        "not zero the same logits give wrong predictions behind many pairs of depth D."
    ),
    criterion=(
        f"In every draw Equation 2.47 is off by more than 0.1, the error with zero values is at most "
        f"{ROUNDING:g}, and with nonzero values it exceeds 0.1."
    ),
    trials=NECESSITY,
)
def nonzero(results: Results) -> Outcome:
    found = rows(results, "silent")
    holds = max(found["error"]) <= ROUNDING and min(found["unbalanced"]) > 0.1
    return verdict(
        holds and min(found["heard_error"]) > 0.1,
        largest_error_with_zero_values=max(found["error"]),
        smallest_error_with_values=min(found["heard_error"]),
        least_violation_of_balance=min(found["unbalanced"]),
    )


@STUDY.claim(
    id="dyck/hypothesis-as-printed",
    title="Values need only be nonzero for the first k tokens",
    source=f"{PAPER}, Theorem 2.2.1 (necessity)",
    statement=(
        "If P W_V e(t, d) is not zero for all t in [k] (of 2k tokens) and d, every exact model is balanced."
    ),
    criterion=(
        f"Fails if a model with these values nonzero predicts to {ROUNDING:g} while 2.47 is off by "
        "more than 0.1."
    ),
    trials=NECESSITY,
    expected="fails",
    erratum=(
        "The hypothesis is printed for t in [k]; it is needed for all 2k tokens. With two types, a model "
        "that gives value zero to the second type at depth D is exact and not balanced there."
    ),
    corrected_by="dyck/nonzero-values",
)
def hypothesis(results: Results) -> Outcome:
    found = rows(results, "silent-half")
    shown = [
        error <= ROUNDING and gap > 0.1 and value > 1e-3
        for error, gap, value in zip(
            found["error"], found["unbalanced"], found["least_listed_value"], strict=True
        )
    ]
    return verdict(
        not any(shown),
        counterexamples=sum(shown),
        largest_error=max(found["error"]),
        least_violation_of_balance=min(found["unbalanced"]),
        least_value_of_the_first_k_tokens=min(found["least_listed_value"]),
    )


@STUDY.claim(
    id="dyck/residual-inside",
    title="With the residual inside the norm, balanced attention fades with length",
    source=f"{PAPER}, Section 2.2.5.8, Equation 2.85",
    statement=(
        "For the exact model with uniform attention the outputs of two twin prefixes of depth 3 stay "
        "sqrt(2/3) apart at every length N with g(LN(a) + x), but with g(LN(a + x)) their distance is "
        "0.233, 0.056, 0.0071, 0.00073, 0.000073 at N = 5, 25, 205, 2005, 20005."
    ),
    criterion="The first to 1e-9; the others to the two digits given (2%).",
    trials=NECESSITY,
    figure=figures.residual,
)
def inside(results: Results) -> Outcome:
    found = rows(results, "residual")
    stated = (0.233, 0.056, 0.0071, 0.00073, 0.000073)
    fixed = max(abs(value - (2 / 3) ** 0.5) for value in found["outside"])
    near = all(abs(a / b - 1) <= 0.02 for a, b in zip(found["inside"], stated, strict=True))
    table = Table(
        "distance of the outputs of twin prefixes",
        ("length", "residual outside", "residual inside", "stated inside"),
        tuple(zip(found["length"], found["outside"], found["inside"], stated, strict=True)),
    )
    numbers = {"largest error outside": fixed, "inside at length 20005": found["inside"][-1]}
    return Outcome("holds" if fixed <= TOLERANCE and near else "fails", numbers, (table,))


@STUDY.claim(
    id="dyck/start-token",
    title="Without a start token no Transformer without positions counts depth",
    source=f"corrects {PAPER}, footnote 12",
    statement=(
        "On a bracket repeated 1..D times, any causal Transformer without positions and start token gives "
        "the same output, whatever its attention, while the next-token laws differ. One layer of uniform "
        "attention gives the same output behind p and p p for every p."
    ),
    criterion=(
        "Outputs agree to 1e-9 on random models of one and two layers; the laws differ by more than 0.1."
    ),
    trials=NECESSITY,
)
def start_token(results: Results) -> Outcome:
    repeated, once = rows(results, "repeated"), rows(results, "repeat-1")
    worst = max(*repeated["error"], *once["error"], *rows(results, "repeat-construction")["error"])
    least = min(repeated["laws"])
    return verdict(
        worst <= TOLERANCE and least > 0.1, largest_difference=worst, laws_differ_by=least
    )


STUDY.claim(
    id="dyck/start-token-as-printed",
    title="Uniform attention without a start token cannot tell p from p p",
    source=f"{PAPER}, footnote 12 of Corollary 2.2.1",
    statement=(
        "A Transformer of two layers with uniform causal attention and no start token has the same output "
        "behind p and p p."
    ),
    criterion="Fails if some random model differs by more than 1e-3 on p = ([])().",
    trials=NECESSITY,
    kind="lemma",
    expected="fails",
    erratum=(
        "This is so for one layer. With a causal mask the first layer's outputs inside the second copy of p "
        "differ from those inside the first, and a second layer averages them. What no such model can do is "
        "to tell ( from ((, which is enough to need the start token."
    ),
    corrected_by="dyck/start-token",
)(never_close("repeat-2", "error"))
