"""The lemmas of the proofs: ReLU networks, and how errors grow (Sections 2.2.5.5 to 2.2.5.7)."""

from minicosm.lab import Erratum, holds, refuted

from ...common.figures import statement_figure
from .. import trials
from ..study import STUDY, THESIS
from .sentences import IDENTITY, PRINTED

claim = STUDY.section(__doc__)

claim(
    id="dyck/relu-lemmas",
    title="What ReLU networks of two layers compute exactly",
    source=f"{THESIS}, Lemmas 2.2.15 to 2.2.20",
    statement=(
        "2.2.15: for distinct points x_i and any y_i a network of 2n units has f(x_i) = y_i. 2.2.16: "
        "for nonzero vectors x_i in n dimensions there are n - 2 orthonormal vectors, orthogonal to "
        "the vector of ones, whose span holds no x_i. 2.2.17: for x in [0, M]^n and y in 1..n a "
        "network of 2n units has f(x, y) = x_y. 2.2.18: if x_i > M and all other entries are 0, sum_i "
        "i (relu(x_i) - relu(x_i - M)) / M = i, with 2n units. 2.2.19, corrected: with |z| <= M for "
        "all pre-activations z, sum_ki a_ki [relu(z_ki + 2M(y-k)) - relu(z_ki + 2M(y-k) - M)] + h(y) = "
        "f_y(x), where h(y) = b_y - M sum_(k<y) sum_i a_ki is interpolated, with 2Km + 2K units. "
        "2.2.20: W x = [I, -I] relu([W; -W] x) with 2n units, and for |W| <= 2 both matrices have norm "
        "at most 2 sqrt(2)."
    ),
    criterion=(
        f"Values to {IDENTITY:g} on random data of random sizes, and the width as stated; in 2.2.16 "
        f"every x_i is at a distance above {IDENTITY:g} from the span."
    ),
    trials=trials.lemmas,
    kind="lemma",
    figure=statement_figure("Lemma 2.2.15"),
    check=holds(*(f"Lemma 2.2.{number}" for number in range(15, 21))),
)

claim(
    id="dyck/lemma-2.2.19-as-printed",
    title="Lemma 2.2.19 with the printed formula",
    source=f"{THESIS}, proof of Lemma 2.2.19",
    statement=(
        "The units relu(z + M(y-k)) - relu(z + M(y-k-1)), the sum of all biases b_k and the terms "
        "c_ki relu(y + 1 - k) make a network with f(y, x) = f_y(x)."
    ),
    criterion=f"Fails if some value is off by more than {PRINTED:g}.",
    trials=trials.lemmas,
    kind="lemma",
    expected="fails",
    erratum=Erratum(
        "gap",
        "The construction adds all biases b_k, not that of network y; and where a pre-activation of "
        "network y - 1 is negative, its units give less than the M that is subtracted. It is right for "
        "networks without output biases and with pre-activations in [0, M]. The lemma is true with 2K "
        "units more. Checked on random networks.",
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
        "2.2.5: if f1, f2 approximate g1, g2 up to e1 |x|, e2 |x|, |g1(x)| <= l1 |x| and g2 is "
        "l2-Lipschitz, then f2 o f1 approximates g2 o g1 up to (l1 e2 + l2 e1 + e1 e2) |x|. 2.2.6: if "
        "|W_1|, |W_2| <= 2 sqrt(2) and both halves of the pruned MLP err by at most eps/8 |x|, the "
        "whole errs by at most eps |x|."
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
        "2.2.8: |softmax(x) - softmax(y)|_1 <= exp(2 |x - y|_inf) - 1. 2.2.10: |LN_C(x) - LN_C(y)| <= "
        "2 |x - y| / C. 2.2.11: if the columns of A are laws within e1 of softmax(x^T Q x) in 1-norm "
        "and those of B within e2 of P x, then |B A - P x softmax(x^T Q x)|_{1,2} <= e1 |P x|_{1,2} + "
        "e2, and 2/C times that after LN_C. 2.2.12: LN_C([P x; 0]) = [LN_C(x); 0] for every number of "
        "zeros. 2.2.13: with matrices of norm at most 1 and |X|_{1,2} <= 4L the attention module is "
        "200 L^2/C-Lipschitz in the norm |.|_{1,2}, and even 130 L^2/C-Lipschitz."
    ),
    criterion=f"{NO_VIOLATION} The identity 2.2.12 to {IDENTITY:g}.",
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
