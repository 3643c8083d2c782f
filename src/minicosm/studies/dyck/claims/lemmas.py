"""The lemmas of the proofs: ReLU networks, and how errors grow (Sections 2.2.5.5 to 2.2.5.7)."""

from minicosm.lab import Erratum, holds, refuted

from ...common.figures import statement_figure
from .. import trials
from ..study import OTHER, STUDY, THESIS
from .sentences import IDENTITY, PRINTED, power

claim = STUDY.section(__doc__)

claim(
    id="dyck/relu-lemmas",
    title="What ReLU networks of two layers compute exactly",
    source=f"{THESIS}, Lemmas 2.2.15 to 2.2.20",
    statement=(
        "2.2.15: for distinct points $x_i$ and any $y_i$ a network of $2n$ units has $f(x_i) = "
        "y_i$."
        "\n\n"
        "2.2.16: for nonzero vectors $x_i$ in $n$ dimensions there are $n - 2$ orthonormal "
        "vectors, orthogonal to the vector of ones, whose span holds no $x_i$."
        "\n\n"
        r"2.2.17: for $x \in [0, M]^n$ and $y \in \{1, \dots, n\}$ a network of $2n$ units has "
        "$f(x, y) = x_y$."
        "\n\n"
        r"2.2.18: if $x_i > M$ and all other entries are 0, $\sum_i i\,(\mathrm{relu}(x_i) - "
        r"\mathrm{relu}(x_i - M)) / M = i$, with $2n$ units."
        "\n\n"
        r"2.2.19, corrected: with $|z| \le M$ for all pre-activations $z$, $\sum_{k,i} "
        r"a_{ki}\,[\mathrm{relu}(z_{ki} + 2M(y-k)) - \mathrm{relu}(z_{ki} + 2M(y-k) - M)] + h(y) = "
        r"f_y(x)$, where $h(y) = b_y - M \sum_{k<y} \sum_i a_{ki}$ is interpolated, with $2Km + "
        "2K$ units."
        "\n\n"
        r"2.2.20: $W x = [I, -I]\,\mathrm{relu}([W; -W]\,x)$ with $2n$ units, and for $\|W\| \le "
        r"2$ both matrices have norm at most $2\sqrt{2}$."
    ),
    criterion=(
        f"Values to {power(IDENTITY)} on random data of random sizes, and the width as stated; in "
        f"2.2.16 every $x_i$ is at a distance above {power(IDENTITY)} from the span."
    ),
    trials=trials.lemmas,
    kind="lemma",
    figure=statement_figure("Lemma 2.2.15"),
    check=holds(*(f"Lemma 2.2.{number}" for number in range(15, 21))),
)

claim(
    id="dyck/lemma-2.2.19-as-printed",
    title="Lemma 2.2.19 with the printed formula",
    source=f"{THESIS}, proof of Lemma 2.2.19 ({OTHER}, Lemma 42)",
    statement=(
        r"The units $\mathrm{relu}(z + M(y-k)) - \mathrm{relu}(z + M(y-k-1))$, the sum of all "
        r"biases $b_k$ and the terms $c_{ki}\,\mathrm{relu}(y + 1 - k)$ make a network with $f(y, "
        "x) = f_y(x)$."
    ),
    criterion=f"Fails if some value is off by more than {PRINTED:g}.",
    trials=trials.lemmas,
    kind="lemma",
    expected="fails",
    erratum=Erratum(
        "gap",
        "The construction adds all biases $b_k$, not that of network $y$; and where a "
        "pre-activation of network $y - 1$ is negative, its units give less than the $M$ that is "
        "subtracted. It is right for networks without output biases and with pre-activations in "
        "$[0, M]$. With $2K$ units more the lemma is true, and what rests on it needs no more "
        "than a constant times the width. Checked on random networks.",
        corrected_by="dyck/relu-lemmas",
    ),
    check=refuted("Lemma 2.2.19 as printed"),
)

NO_VIOLATION = "No violation on random inputs, rounding apart."

claim(
    id="dyck/composition-lemmas",
    title="How errors compose, and what four pruned layers approximate",
    source=f"{THESIS}, Lemmas 2.2.5 (as its proof has it) and 2.2.6",
    statement=(
        r"2.2.5: if $f_1, f_2$ approximate $g_1, g_2$ up to $\epsilon_1 \|x\|$, $\epsilon_2 "
        r"\|x\|$, $\|g_1(x)\| \le \lambda_1 \|x\|$ and $g_2$ is $\lambda_2$-Lipschitz, then $f_2 "
        r"\circ f_1$ approximates $g_2 \circ g_1$ up to $(\lambda_1 \epsilon_2 + \lambda_2 "
        r"\epsilon_1 + \epsilon_1 \epsilon_2) \|x\|$."
        "\n\n"
        r"2.2.6: if $\|W_1\|, \|W_2\| \le 2\sqrt{2}$ and both halves of the pruned MLP err by at "
        r"most $(\epsilon/8) \|x\|$, the whole errs by at most $\epsilon \|x\|$."
    ),
    criterion=NO_VIOLATION,
    trials=trials.inequalities,
    kind="lemma",
    check=holds("Lemma 2.2.5", "Lemma 2.2.6"),
)

claim(
    id="dyck/lipschitz-lemmas",
    title="Softmax, norm and attention are Lipschitz",
    source=f"{THESIS}, Lemmas 2.2.8 and 2.2.10 to 2.2.13; the smaller constant of the last is added",
    statement=(
        r"2.2.8: $\|\mathrm{softmax}(x) - \mathrm{softmax}(y)\|_1 \le \exp(2 \|x - y\|_\infty) - "
        "1$."
        "\n\n"
        r"2.2.10: $\|\mathrm{LN}_C(x) - \mathrm{LN}_C(y)\| \le 2 \|x - y\| / C$."
        "\n\n"
        r"2.2.11: if the columns of $A$ are laws within $\epsilon_1$ of $\mathrm{softmax}(x^\top Q "
        r"x)$ in 1-norm and those of $B$ within $\epsilon_2$ of $P x$, then $\|B A - P "
        r"x\,\mathrm{softmax}(x^\top Q x)\|_{1,2} \le \epsilon_1 \|P x\|_{1,2} + \epsilon_2$, and "
        r"$2/C$ times that after $\mathrm{LN}_C$."
        "\n\n"
        r"2.2.12: $\mathrm{LN}_C([\mathcal{P}_\perp x; 0]) = [\mathrm{LN}_C(x); 0]$ for every "
        "number of zeros."
        "\n\n"
        r"2.2.13: with matrices of norm at most 1 and $\|X\|_{1,2} \le 4L$ the attention module is "
        r"$200 L^2/C$-Lipschitz in the norm $\|\cdot\|_{1,2}$, and even $130 L^2/C$-Lipschitz."
    ),
    criterion=f"{NO_VIOLATION} The identity 2.2.12 to {power(IDENTITY)}.",
    trials=trials.inequalities,
    kind="lemma",
    check=holds(
        "Lemma 2.2.8",
        "Lemma 2.2.10",
        "Lemma 2.2.11",
        "Lemma 2.2.11, after the norm",
        "Lemma 2.2.12",
        "Lemma 2.2.13",
        "Lemma 2.2.13 with 130",
    ),
)
