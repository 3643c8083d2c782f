"""ReLU networks with explicit weights (Lemmas 2.2.15 to 2.2.20)."""

from minicosm.lab import Outcome

from ...common.checks import TOLERANCE, Results, always, both, identity, never_close
from ...common.figures import identity_figure
from ..study import STUDY
from .theory_trials import PAPER, rows, suite, verdict

LEMMAS = suite("lemmas")


def lemma(number: str, title: str, statement: str) -> None:
    """A lemma whose network has to be exact and as wide as stated."""
    name = f"lemma-{number}"
    STUDY.claim(
        id=f"dyck/{name}",
        title=title,
        source=f"{PAPER}, Lemma {number}",
        statement=statement,
        criterion=f"Values to {TOLERANCE:g} on random data of random sizes, and the width as stated.",
        trials=LEMMAS,
        kind="lemma",
        figure=identity_figure("suite", name, TOLERANCE),
    )(both(identity(name), always(name, "width")))


lemma(
    "2.2.15",
    "Two layers of ReLU interpolate n points with 2n units",
    "For distinct points x_i and any y_i a ReLU network of two layers and 2n units has f(x_i) = y_i.",
)


@STUDY.claim(
    id="dyck/lemma-2.2.16",
    title="Directions orthogonal to ones that hide no given vector",
    source=f"{PAPER}, Lemma 2.2.16",
    statement=(
        "For nonzero vectors x_i in n dimensions there are n - 2 orthonormal vectors, orthogonal to the "
        "vector of ones, whose span holds no x_i."
    ),
    criterion=f"Orthonormal to {TOLERANCE:g}; every x_i is at a distance above {TOLERANCE:g} from the span.",
    trials=LEMMAS,
    kind="lemma",
)
def orthonormal(results: Results) -> Outcome:
    found = rows(results, "lemma-2.2.16")
    holds = max(found["error"]) <= TOLERANCE and min(found["outside"]) > TOLERANCE
    return verdict(holds, largest_error=max(found["error"]), least_distance=min(found["outside"]))


lemma(
    "2.2.17",
    "A ReLU network reads the entry of an index",
    "For x in [0, M]^n and y in 1..n a ReLU network of two layers and 2n units has f(x, y) = x_y.",
)
lemma(
    "2.2.18",
    "A ReLU network names the only active entry",
    "If x_i > M and all other entries are 0, sum_i i (relu(x_i) - relu(x_i - M)) / M = i, with 2n units.",
)
lemma(
    "2.2.19",
    "A ReLU network switches between K networks",
    "With |z| <= M for all pre-activations z, sum_ki a_ki [relu(z_ki + 2M(y-k)) - relu(z_ki + 2M(y-k) - M)] "
    "+ h(y) = f_y(x), where h(y) = b_y - M sum_(k<y) sum_i a_ki is interpolated, with 2Km + 2K units.",
)
lemma(
    "2.2.20",
    "A ReLU network is linear",
    "W x = [I, -I] relu([W; -W] x) with 2n units, and for |W| <= 2 both matrices have norm at most "
    "2 sqrt(2).",
)

STUDY.claim(
    id="dyck/lemma-2.2.18-as-printed",
    title="Lemma 2.2.18 with the printed formula",
    source=f"{PAPER}, proof of Lemma 2.2.18",
    statement="sum_i i (relu(x_i) - relu(x_i - M) + M) / M = i.",
    criterion="Fails if some value is off by more than 1e-3.",
    trials=LEMMAS,
    kind="lemma",
    expected="fails",
    erratum="The + M makes every entry contribute: the value is i + n (n + 1) / 2.",
    corrected_by="dyck/lemma-2.2.18",
)(never_close("lemma-2.2.18-printed", "error"))


@STUDY.claim(
    id="dyck/lemma-2.2.19-as-printed",
    title="Lemma 2.2.19 with the printed formula",
    source=f"{PAPER}, proof of Lemma 2.2.19",
    statement=(
        "The units relu(z + M(y-k)) - relu(z + M(y-k-1)), the sum of all biases b_k and the terms "
        "c_ki relu(y + 1 - k) make a network with f(y, x) = f_y(x)."
    ),
    criterion="Fails if some value is off by more than 1e-3.",
    trials=LEMMAS,
    kind="lemma",
    expected="fails",
    erratum=(
        "Two slips: all biases b_k are added, not that of network y; and where a pre-activation of network "
        "y - 1 is negative, its units give less than the M that is subtracted. It is right for networks "
        "without output biases and with pre-activations in [0, M]."
    ),
    corrected_by="dyck/lemma-2.2.19",
)
def switch_printed(results: Results) -> Outcome:
    found = rows(results, "lemma-2.2.19-printed")
    return verdict(
        max(found["error"]) <= 1e-3,
        largest_error=max(found["error"]),
        largest_error_without_biases=max(found["without_biases"]),
        largest_error_with_positive_preactivations=max(found["positive"]),
        largest_error_with_neither_fault=max(found["neither"]),
    )


@STUDY.claim(
    id="dyck/lemma-2.2.20-as-printed",
    title="Lemma 2.2.20 with the printed transpose",
    source=f"{PAPER}, proof of Lemma 2.2.20",
    statement="[I, -I]^T relu([Wx; -Wx]) is defined and equals Wx.",
    criterion="Fails if the product is not defined.",
    trials=LEMMAS,
    kind="lemma",
    expected="fails",
    erratum="The transpose has n columns for a vector of 2n entries; without it the formula is right.",
    corrected_by="dyck/lemma-2.2.20",
)
def linear_printed(results: Results) -> Outcome:
    defined = rows(results, "lemma-2.2.20-printed")["defined"]
    return verdict(all(defined), products_that_are_defined=sum(defined), of=len(defined))
