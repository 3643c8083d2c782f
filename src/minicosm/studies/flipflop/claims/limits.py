"""What keeps attention from it: Sections 3.5.7.2 and 3.5.7.3."""

from minicosm.lab import Outcome, Results, all_of, holds, rows

from ..figures.exact import failure_figure, leak_figure
from ..study import STUDY, THESIS
from ..trials import heads

claim = STUDY.section(__doc__)

SOFT = f"{THESIS}, Section 3.5.7.2"
HARD = f"{THESIS}, Section 3.5.7.3, Proposition 5"

claim(
    id="flipflop/proposition-4",
    title="Soft attention leaks",
    source=f"{SOFT}, Proposition 4",
    statement=(
        r"For latents of norm at most 1 and $\sigma$ the largest singular value of $W_K^\top W_Q$, no weight "
        r"of attention over $T$ positions is above $e^{2\sigma} / (e^{2\sigma} + T - 1)$, and the bound is "
        "attained."
    ),
    criterion=(
        r"On random matrices and latents the slack is at least $-10^{-9}$; with $-\sigma u u^\top$, one key "
        r"$-u$ and all others $u$ both sides agree within $10^{-12}$."
    ),
    trials=heads,
    check=holds("Proposition 4", "Proposition 4, equality"),
    figure=leak_figure,
    kind="theorem",
)

claim(
    id="flipflop/dilution-by-writes",
    title="What dilutes is the number of writes",
    source=f"{SOFT}, remark after Proposition 4; the numbers are ours",
    statement=(
        r"Where what is ignored has value zero, a head with scores in a range of $2\sigma$ errs once there "
        r"are more than $e^{2\sigma}$ writes of the other bit, and ignored tokens change nothing. With "
        r"weights that fall by $e^{-g}$ from write to write it errs from $N = \lceil -\ln(2 - e^g) / g "
        r"\rceil$ on, and never for $g \ge \ln 2$."
    ),
    criterion=(
        "On random scores the read-out has the wrong sign, and ignored tokens change it by at most "
        "$10^{-9}$; for nine slopes the first wrong number of writes up to 200 is the stated one."
    ),
    trials=heads,
    check=holds("Dilution by writes", "Dilution by recency"),
    kind="theorem",
    uses=("flipflop/proposition-4",),
)

claim(
    id="flipflop/proposition-5",
    title="Hard attention with linear positions must satisfy an equation",
    source=HARD,
    statement=(
        r"Hard attention with positions $i/C$ that is right on the flip-flop automaton at every length has "
        r"$W_{Qp}^\top W_{Kp} = 0$: if it is positive the head fails on $[1, 0, \dots, "
        r"0]$, if it is negative "
        r"on $[1, 0, \dots, 0, 2, 0]$."
    ),
    criterion=(
        "Every random head fails on the stated string by the length that the quadratic of the proof gives."
    ),
    trials=heads,
    check=holds("Proposition 5"),
    figure=failure_figure,
    kind="theorem",
)


@claim(
    id="flipflop/proposition-5-exact",
    title="Exactly which heads are right at every length",
    source=f"{HARD}; the converse is ours",
    statement=(
        r"Let $\alpha_x = e_\bot^\top W_{Qe}^\top W_{Ke} e_x$, $\beta = e_\bot^\top W_{Qe}^\top W_{Kp} / C$ "
        r"and $\gamma_x = e_x^\top W_{Ke}^\top W_{Qp} / C$. The head is right at every length iff "
        r"$W_{Qp}^\top W_{Kp} = 0$, $\gamma_1 = \gamma_2 = \gamma_w$, $\beta > |\alpha_1 - \alpha_2|$, "
        r"$\gamma_w - \gamma_\bot \ge \beta$ and $2(\gamma_w - \gamma_\bot - \beta) + \alpha_x - \alpha_\bot "
        r"+ \beta > 0$ for $x = 1, 2$."
    ),
    criterion=(
        "On random heads that meet each condition about as often as not, brute force over all pairs of "
        "positions agrees: up to length 120, and beyond to the length at which a head that misses only "
        r"$\gamma_w - \gamma_\bot \ge \beta$ must fail. Heads of both kinds occur."
    ),
    trials=heads,
    figure=failure_figure,
    kind="theorem",
    uses=("flipflop/proposition-5",),
)
def exact(results: Results) -> Outcome:
    right = [value is True for value in rows(results, "Proposition 5, exactly")["right"]]
    return all_of(
        holds("Proposition 5, exactly")(results),
        numbers={"heads right at every length": sum(right), "heads": len(right)},
    )


claim(
    id="flipflop/proposition-5-solution",
    title="One such head, and how soon it fails if it is disturbed",
    source=f"{HARD}; the solution is ours",
    statement=(
        r"The score $j/C + (i/C) 1[x_j \ne \bot]$ is right at every length. With $W_{Qp}^\top W_{Kp} = a > "
        r"0$ added it first fails at the least $T$ with $T(T-1) \ge C/a$, with $a < 0$ at "
        r"the least $T \ge C/|a|$."
    ),
    criterion=r"With $C = 7$: no failure up to length 2000, and six disturbances fail first where stated.",
    trials=heads,
    check=holds("Proposition 5, a solution"),
    figure=failure_figure,
    kind="theorem",
    uses=("flipflop/proposition-5-exact",),
)
