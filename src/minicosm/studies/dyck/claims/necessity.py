"""Why exact models are balanced, and what else they need (Sections 2.2.2, 2.2.5.8)."""

from minicosm.lab import (
    Erratum,
    Estimate,
    Outcome,
    Results,
    Table,
    above,
    agrees,
    all_of,
    at_most,
    below,
    holds,
    least,
    refuted,
    rows,
)

from .. import trials
from ..figures import theory as figures
from ..study import OTHER, STUDY, THESIS
from .sentences import IDENTITY, ROUNDING, power

claim = STUDY.section(__doc__)

claim(
    id="dyck/theorem-2.2.1-necessity",
    title="At an exact optimum matched values cancel",
    source=f"{THESIS}, Theorem 2.2.1 (necessity), Equation 2.50",
    statement=(
        r"$u(\text{open}; b) + u(\text{closed}; b) = 0$, key first, for all matched pairs and "
        r"closed queries $b$ of depth $1, \dots, D-1$: the projected values are antiparallel and "
        r"$(e(\text{open}) - e(\text{closed}))^\top M e(b) = \ln(\|\mathcal{P}_\perp W_V "
        r"e(\text{closed})\| / \|\mathcal{P}_\perp W_V e(\text{open})\|)$, whatever $b$ is."
    ),
    criterion=f"Errors of at most {power(IDENTITY)}.",
    trials=trials.necessity,
    uses=("dyck/pumping",),
    check=holds("Theorem 2.2.1, necessity"),
)


def _rate(results: Results, name: str) -> Outcome:
    """The log-log slope from 10^5 to 10^6 pairs is -1, within 0.1, in every draw."""
    slopes = rows(results, name)["slope"]
    rate = agrees("largest distance of a slope from -1", slopes, [-1] * len(slopes), 0.1)
    return all_of(rate, numbers={"slope": Estimate.of(slopes), "draws": len(slopes)})


@claim(
    id="dyck/pumping",
    title="Without balance, matched pairs drown what has to be remembered",
    source=f"{THESIS}, proof of Theorem 2.2.1 (necessity)",
    statement=(
        "Take two prefixes that differ only in the last unmatched type and insert $n$ matched "
        "pairs. Under balance the distance of the normalised attention outputs does not depend on "
        "$n$; with noise on $M$ it falls as $1/n$, so no continuous $g$ predicts both at every "
        "length."
    ),
    criterion=(
        "Balanced: up to $10^4$ pairs the distance changes by less than $10^{-9}$. Perturbed "
        "(deviation 0.1): the log-log slope from $10^5$ to $10^6$ pairs lies in $[-1.1, -0.9]$ in "
        "every draw. Outputs are computed from counts, which agree with explicit strings to "
        f"{power(IDENTITY)}."
    ),
    trials=trials.necessity,
    figure=figures.pumping,
)
def pumping(results: Results) -> Outcome:
    exact = rows(results, "pumping, exact")
    return all_of(
        below("largest change under balance", exact["spread"], 1e-9),
        _rate(results, "pumping, noise"),
        holds("closed form")(results),
        numbers={"smallest distance under balance": least(exact["distance"])},
    )


@claim(
    id="dyck/logits-alone",
    title="Balanced logits do not make an optimum; the values have to fit",
    source=f"added to {THESIS}, Theorem 2.2.1",
    statement=(
        "Equation 2.50 is stronger than 2.47: with a balanced $M$ and generic values, matched "
        "pairs do not cancel and the distance of twin prefixes still falls as $1/n$."
    ),
    criterion="The log-log slope from $10^5$ to $10^6$ pairs lies in $[-1.1, -0.9]$ in every draw.",
    trials=trials.necessity,
)
def logits_alone(results: Results) -> Outcome:
    return _rate(results, "pumping, values")


@claim(
    id="dyck/nonzero-values",
    title="Balance is only needed where values are not zero",
    source=f"added to {THESIS}, Theorem 2.2.1 (necessity)",
    statement=(
        "If pairs of depth $D$ have value zero, the model stays exact with logits that are not "
        "balanced there, because an open bracket of depth $D$ is never unmatched before a closed "
        "one; with values that are not zero the same logits give wrong predictions after many "
        "pairs of depth $D$."
    ),
    criterion=(
        "In every draw Equation 2.47 is off by more than 0.1, the error with zero values is at "
        f"most {power(ROUNDING)}, and with nonzero values it exceeds 0.1."
    ),
    trials=trials.necessity,
)
def nonzero(results: Results) -> Outcome:
    draws = rows(results, "zero values")
    return all_of(
        at_most("largest error with zero values", draws["error"], ROUNDING),
        above("smallest error with values", draws["heard_error"], 0.1),
        above("least violation of balance", draws["unbalanced"], 0.1),
    )


INSIDE = (0.233, 0.056, 0.0071, 0.00073, 0.000073)


@claim(
    id="dyck/residual-inside",
    title="With the residual inside the norm, balanced attention fades with length",
    source=f"{THESIS}, Section 2.2.5.8, Equation 2.85",
    statement=(
        "For the exact model with uniform attention the outputs of two twin prefixes of depth 3 "
        r"stay $\sqrt{2/3}$ apart at every length $N$ with $g(\mathrm{LN}(a) + x)$, but with "
        r"$g(\mathrm{LN}(a + x))$ their distance is 0.233, 0.056, 0.0071, 0.00073, 0.000073 at $N "
        "= 5, 25, 205, 2005, 20005$."
    ),
    criterion="The first to $10^{-9}$; the others to the two digits given (2%).",
    trials=trials.necessity,
    uses=("dyck/theorem-2.2.1-sufficiency",),
    figure=figures.residual,
)
def inside(results: Results) -> Outcome:
    distances = rows(results, "residual")
    shares = [value / stated for value, stated in zip(distances["inside"], INSIDE, strict=True)]
    columns = (distances["length"], distances["outside"], distances["inside"], INSIDE)
    table = Table(
        "distance of the outputs of twin prefixes",
        ("length", "residual outside", "residual inside", "stated inside"),
        tuple(zip(*columns, strict=True)),
    )
    constant = [(2 / 3) ** 0.5] * distances.count
    return all_of(
        agrees("largest error outside", distances["outside"], constant, IDENTITY),
        agrees("largest relative error inside", shares, [1] * len(shares), 0.02),
        tables=(table,),
    )


claim(
    id="dyck/start-token",
    title="Without a start token no Transformer without positions counts depth",
    source=f"corrects {THESIS}, footnote 12",
    statement=(
        r"On a bracket repeated $1, \dots, D$ times, any causal Transformer without positions and "
        "start token gives the same output, whatever its attention, while the next-token laws "
        r"differ. One layer of uniform attention gives the same output after $p$ and $p\,p$ for "
        "every $p$."
    ),
    criterion=(
        f"Outputs agree to {power(IDENTITY)} on random models of one and two layers; the laws "
        "differ by more than 0.1."
    ),
    trials=trials.necessity,
    check=holds("a repeated bracket", "p and p p"),
)

claim(
    id="dyck/start-token-as-printed",
    title=r"Uniform attention without a start token cannot tell $p$ from $p\,p$",
    source=f"{THESIS}, footnote 12 of Corollary 2.2.1 ({OTHER}, footnote 53)",
    statement=(
        "A Transformer of two layers with uniform causal attention and no start token has the same "
        r"output after $p$ and $p\,p$."
    ),
    criterion="Fails if some random model differs by more than $10^{-3}$ on $p$ = ([])().",
    trials=trials.necessity,
    kind="lemma",
    expected="fails",
    erratum=Erratum(
        "missing hypothesis",
        "The footnote's sentence is right for one layer, and for any number of layers if $p$ is "
        "one bracket (or one repeated), which is all that its conclusion needs: ( and (( get the "
        "same output, so a start token is necessary. For other $p$ and two layers it is not: with "
        "a causal mask the first layer's outputs inside the second copy of $p$ differ from those "
        "inside the first, and a second layer averages them. Checked on random two-layer models "
        "and $p$ = ([])().",
        corrected_by="dyck/start-token",
    ),
    check=refuted("p and p p as printed"),
)
