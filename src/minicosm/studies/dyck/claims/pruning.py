"""Theorem 2.2.3: a random Transformer contains every smaller one."""

import numpy as np

from minicosm.lab import Outcome, Results, Table, all_of, at_most, holds, rows, worst

from .. import trials
from ..figures import pruning as figures
from ..study import STUDY, THESIS
from .sentences import ACCURACY, UNITS

claim = STUDY.section(__doc__)

SIZE = 24  # values per subset sum that are to suffice


def _columns(results: Results, name: str) -> dict[str, np.ndarray]:
    return {column: np.array(values) for column, values in rows(results, name).items()}


def _table(models: dict[str, np.ndarray]) -> Table:
    cells = []
    for size in np.unique(models["size"]):
        for offers in np.unique(models["offers"]):
            at = (models["size"] == size) & (models["offers"] == offers) & (models["layers"] == 1)
            if not at.any():
                continue
            errors = models["relative error"][at]
            cells.append(
                (
                    int(size), int(offers), float(np.median(errors)), worst(errors),
                    worst(models["budget"][at]), int(worst(models["units"][at])),
                    float(models["kept of MLPs"][at].mean()),
                )
            )  # fmt: skip
    return Table(
        "Relative error of the pruned model over draws",
        ("values", "offers", "median", "largest", "budget", "most units", "MLP entries kept"),
        tuple(cells),
        note=(
            "values: per subset sum; offers: how many sets of units each sum may try; budget: the "
            "largest error bound; units: hidden units that one matrix uses."
        ),
    )


@claim(
    id="dyck/theorem-2.2.3",
    title="A random Transformer can be pruned to any smaller one",
    source=f"{THESIS}, Theorem 2.2.3",
    statement=(
        "A Transformer with $4L$ layers of random weights from $U(-1, 1)$, whose $g$ has four "
        r"layers of weights, contains an $\epsilon$-approximation of any Transformer with $L$ "
        "layers and matrices of norm at most 1: entries are set to zero, none is changed. Run for "
        rf"$\epsilon = 10^{{-4}}$ on targets of width 3, by subset sums over {SIZE} or more "
        "values. Carrying the errors of all pruned pairs through the steps of the proof (Lemmas "
        "2.2.5, 2.2.8, 2.2.10 and 2.2.11) bounds the error of the pruned model."
    ),
    criterion=(
        rf"In every draw the error is at most ${ACCURACY:g}\,\|X\|$ on every input with $\|X\|$ "
        f"from $10^{{-3}}$ to 1, at most {UNITS} hidden units of a matrix are used, and every "
        "entry is zero or as drawn; at every size the measured error is at most the error budget."
    ),
    trials=trials.pruning,
    uses=(
        "dyck/lemma-2.2.2",
        "dyck/composition-lemmas",
        "dyck/lipschitz-lemmas",
        "dyck/lemma-2.2.9",
        "dyck/relu-lemmas",
    ),
    figure=figures.error_against_size,
)
def theorem(results: Results) -> Outcome:
    models = _columns(results, "Theorem 2.2.3")
    return all_of(
        holds("Theorem 2.2.3", "Theorem 2.2.3, error budget")(results),
        numbers={
            "most hidden units used": worst(models["units"]),
            "share of MLP entries kept": float(models["kept of MLPs"].mean()),
        },
        tables=(_table(_columns(results, "pruning")),),
    )


@claim(
    id="dyck/lemma-2.2.2",
    title="Units needed grow with the logarithm of the accuracy",
    source=f"{THESIS}, Theorem 2.2.3 and Lemma 2.2.2",
    statement=(
        r"The width needed for an error $\epsilon$ grows as $\log(1/\epsilon)$: the error falls "
        "geometrically with the values per subset sum."
    ),
    criterion=(
        "A line through the logarithm of the median error against the values per sum falls by at "
        r"least $\log(2)/2$ per value (all subsets being used evenly it would fall by $\log 2$)."
    ),
    trials=trials.pruning,
    kind="lemma",
    figure=figures.kept_entries,
)
def logarithm(results: Results) -> Outcome:
    models = _columns(results, "pruning")
    sizes = np.unique(models["size"])
    at = (models["offers"] > 1) & (models["layers"] == 1)
    errors = models["relative error"]
    medians = [float(np.median(errors[at & (models["size"] == size)])) for size in sizes]
    steps = sizes - sizes.mean()
    slope = float(steps @ np.log(medians) / (steps @ steps))
    return all_of(
        at_most("slope of log error per value", slope, -float(np.log(2)) / 2),
        numbers={"ideal": -float(np.log(2))},
    )


@claim(
    id="dyck/corollary-2.2.3",
    title="No single matrix tells two Transformers apart",
    source=f"{THESIS}, Corollary 2.2.3",
    statement=(
        "For any matrix of the large random Transformer and any two targets there are prunings to both "
        "that agree on this matrix. Query and key matrices are even kept whole."
    ),
    criterion=(
        "For every matrix tried the two pruned copies are equal, each model is within "
        rf"${ACCURACY:g}\,\|X\|$ of its target, every entry is zero or as drawn, and the targets "
        r"differ by more than $0.1\,\|X\|$."
    ),
    trials=trials.sharing,
    uses=("dyck/theorem-2.2.3",),
)
def corollary(results: Results) -> Outcome:
    kept = _columns(results, "Corollary 2.2.3")["entries kept"]
    return all_of(
        holds("Corollary 2.2.3")(results),
        numbers={"matrices with entries kept": int((kept > 0).sum())},
        remark=(
            "The value matrix of a layer that is the identity is zero in both models: the theorem's "
            "construction prunes it away."
        ),
    )


@claim(
    id="dyck/lemma-2.2.9",
    title="A random value matrix has large entries where they are needed",
    source=f"{THESIS}, Lemma 2.2.9, with its probability",
    statement=(
        r"Cut into $m \times m$ pieces, the upper right quarter of a random matrix has an entry of "
        "at least 1/2 in every piece on the diagonal with probability $(1 - (3/4)^a)^m$, $a$ being "
        "the area of a piece; their rows and columns are disjoint."
    ),
    criterion="At every size the frequency is within four standard errors of this probability.",
    trials=trials.pruning,
    kind="lemma",
)
def entries(results: Results) -> Outcome:
    pieces = _columns(results, "Lemma 2.2.9")
    chance, draws = pieces["chance"], results["suite"].config.widths
    allowed = 4 * np.sqrt(chance * (1 - chance) / draws) + 1 / draws
    off = np.abs(pieces["frequency"] - chance) / allowed
    table = Table(
        "all pieces have a large entry",
        ("side of a piece", "frequency", "probability"),
        tuple(zip(*(pieces[n].tolist() for n in ("side", "frequency", "chance")), strict=True)),
    )
    return all_of(at_most("largest share of the allowed deviation", off, 1.0), tables=(table,))
