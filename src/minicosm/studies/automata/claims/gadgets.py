"""Lookups, thresholds and attention that selects: Section 3.4.4.1."""

from minicosm.lab import (
    Erratum,
    Outcome,
    Results,
    all_of,
    at_most,
    holds,
    least,
    refuted,
    rows,
    worst,
)

from ..study import STUDY, THESIS
from ..trials import gadgets

claim = STUDY.section(__doc__)

PLACE = f"{THESIS}, Section 3.4.4.1"
PERTURBED = "at 17 perturbations of every point, up to the largest that is allowed"

claim(
    id="automata/lemma-10",
    title="A table of one variable in two layers",
    source=f"{PLACE}, Lemma 10",
    statement=(
        r"For a finite set $\mathcal{X} \subset \mathbb{R}$ whose points are $\Delta$ apart, a ReLU "
        r"network of two layers and $4|\mathcal{X}|$ units gives $f(x)$ at $x + \xi$ for all $|\xi| \le "
        r"\Delta/4$, with $\|W_1\|_\infty \le 4/\Delta$, $\|b_1\|_\infty \le 4 B_x/\Delta + 2$ and "
        r"$\|W_2\|_\infty \le B_y$."
    ),
    criterion=(
        f"On random tables, {PERTURBED}, the output is off by at most $10^{{-9}}$, and no size or norm "
        f"is above "
        "the claim."
    ),
    trials=gadgets,
    check=holds("Lemma 10", "Lemma 10, sizes"),
    kind="lemma",
)

claim(
    id="automata/lemma-11",
    title="A table of several variables in three layers",
    source=f"{PLACE}, Lemma 11",
    statement=(
        r"For points of $\mathbb{R}^{d_\mathrm{in}}$ that are $\Delta$ apart in the $\infty$-norm, a "
        r"ReLU network of three layers with $4 \sum_i |\mathcal{X}_i|$ and $|\mathcal{X}|$ units gives "
        r"$f(x)$ at $x + \xi$ for all $\|\xi\|_\infty \le \Delta/4$, with the stated norms, also where "
        r"single "
        "coordinates lie arbitrarily close."
    ),
    criterion=(
        f"On random tables with coordinates as close as $10^{{-6}}$, {PERTURBED}, the output is off by "
        f"at most "
        "$10^{-9}$, and no size or norm is above the claim."
    ),
    trials=gadgets,
    check=holds("Lemma 11", "Lemma 11, sizes"),
    kind="lemma",
)

claim(
    id="automata/lemma-12-as-printed",
    title="A threshold with the printed units",
    source=f"{PLACE}, proof of Lemma 12",
    statement=(
        r"$\psi(x) = \left(\frac{x + \Delta}{2\Delta}\right)_+ - \left(\frac{x - "
        r"\Delta}{2\Delta}\right)_+$ is $\mathbb{1}[x > 0]$ at $x + \xi$ for $|x| \ge \Delta$ and $|\xi| "
        r"\le \Delta/4$."
    ),
    criterion="A point and a perturbation where it is off by more than $10^{-9}$ refute it.",
    trials=gadgets,
    check=refuted("Lemma 12 as printed"),
    expected="fails",
    erratum=Erratum(
        "constant",
        r"At $x = \Delta$, $\xi = -\Delta/4$ the printed units give $7/8$: they rise over $[-\Delta, "
        r"\Delta]$ and leave no room for a perturbation. With $\Delta/2$ for $\Delta$ they bear $|\xi| "
        r"\le \Delta/2$ and have exactly the norms that the lemma states.",
        corrected_by="automata/lemma-12",
    ),
    kind="lemma",
)

claim(
    id="automata/lemma-12",
    title="A threshold in two units",
    source=f"{PLACE}, Lemma 12",
    statement=(
        r"$\left(\frac{x + \Delta/2}{\Delta}\right)_+ - \left(\frac{x - \Delta/2}{\Delta}\right)_+$ is "
        r"$\mathbb{1}[x > 0]$ at $x + \xi$ for $|x| \ge \Delta$ and $|\xi| \le \Delta/4$; "
        r"$\|W_1\|_\infty \le 1/\Delta$, $\|b_1\|_\infty \le 1/2$, $\|W_2\|_\infty \le 1$."
    ),
    criterion=(
        r"For gaps from $10^{-3}$ to 100 and points on both sides, $\pm\Delta$ among them, "
        f"{PERTURBED}, the output is off by at most $10^{{-9}}$, and no norm is above the claim."
    ),
    trials=gadgets,
    check=holds("Lemma 12", "Lemma 12, sizes"),
    kind="lemma",
)


@claim(
    id="automata/lemma-13",
    title="Softmax is close to hard attention",
    source=f"{PLACE}, Lemma 13",
    statement=(
        r"If all other scores are at most the largest less $\gamma$, then $\|\mathrm{softmax}(z) - "
        r"e_{t^*}\|_1 \le 2 T e^{-\gamma}$."
    ),
    criterion=(
        "On random scores of 1 to 256 positions and spreads from 0.1 to 100 the slack is at least "
        "$-10^{-9}$. The largest ratio of both sides is reported."
    ),
    trials=gadgets,
    kind="lemma",
)
def softmax(results: Results) -> Outcome:
    ratio = worst(rows(results, "Lemma 13")["ratio"])
    return all_of(holds("Lemma 13")(results), numbers={"largest ratio": ratio})


claim(
    id="automata/proposition-2-as-printed",
    title="Points on a circle, with the printed constant",
    source=f"{PLACE}, Proposition 2",
    statement=(
        r"For $T$ equally spaced points of the circle and $t \ne t'$, $|\langle p_t, p_{t'} \rangle| \le "
        r"1 - 2\pi^2/T^2$."
    ),
    criterion="A number of points for which the slack is below $-10^{-9}$ refutes it.",
    trials=gadgets,
    check=refuted("Proposition 2 as printed"),
    expected="fails",
    erratum=Erratum(
        "constant",
        r"Neighbours have $\cos(2\pi/T) > 1 - 2\pi^2/T^2$, so that the bound is just missed, by a "
        r"term of order $T^{-4}$, for every $T$; and for even $T$ antipodes have $|\langle p_t, "
        r"p_{t'} \rangle| = 1$, which is harmless where only the largest score counts. With $8$ "
        r"for $2\pi^2$ and without the absolute value it is true. The same constant returns as "
        r"$\pi^2/8T^2$ in the scores of Theorem 12; the choices made with it have room to spare.",
        corrected_by="automata/proposition-2",
    ),
    kind="lemma",
)


@claim(
    id="automata/proposition-2",
    title="Points on a circle",
    source=f"{PLACE}, Proposition 2",
    statement=(
        r"For $T$ equally spaced points of the circle and $t \ne t'$, $\langle p_t, p_{t'} \rangle \le "
        r"\cos(2\pi/T) \le 1 - 8/T^2$, and 8 is the largest constant."
    ),
    criterion=(
        "For every number of points from 2 on the slack is at least $-10^{-9}$, and for one of them the "
        "constant 8 leaves no more room than $10^{-9}$."
    ),
    trials=gadgets,
    kind="lemma",
)
def circle(results: Results) -> Outcome:
    room = least(rows(results, "Proposition 2, constant")["room"])
    return all_of(
        holds("Proposition 2", "Proposition 2, constant")(results),
        at_most("least room above the constant 8", [room], 1e-9),
    )


claim(
    id="automata/lemma-14",
    title="Composition of two functions in three layers",
    source=f"{THESIS}, Section 3.4.4.2, Lemma 14",
    statement=(
        r"An MLP of three layers with $|Q|^2 + |Q|$ and $|Q|^2$ units and norms at most $4|Q| + 2$ turns "
        r"the transition maps of $g$ and $f$ into that of $f \circ g$, for all $f, g : Q \to Q$."
    ),
    criterion=(
        r"For all pairs with $|Q| \le 4$ (65,536 of four states) and random ones with $|Q| \le 8$ no value "
        r"is off by more than $10^{-9}$, with the indicators of Lemma 10 and with hats that share units, "
        r"which reach the stated width."
    ),
    trials=gadgets,
    check=holds("Lemma 14", "Lemma 14, sizes"),
    kind="lemma",
)
