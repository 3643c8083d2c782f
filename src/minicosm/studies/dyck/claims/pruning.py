"""Theorem 2.2.3: a random Transformer contains every smaller one."""

import numpy as np

from minicosm.lab import Outcome, ProfileName, Table, Trial

from ...common.checks import Results
from ..figures.pruning import error_against_size, kept_entries
from ..study import STUDY

PAPER = "Wen et al. 2023"
ACCURACY = 1e-4  # the eps at which the theorem is run
SIZE = 24  # values per subset sum that are to suffice for it
UNITS = 709  # hidden units of one matrix that are to suffice for it


def pruned(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites.pruning import Pruning, run

    config = {
        "smoke": Pruning(seed, 2, sizes=(16, 24), deep=0, inputs=30, widths=200),
        "laptop": Pruning(seed, 8),
        "paper": Pruning(seed, 50, sizes=(16, 20, 24, 28, 32), deep=5, inputs=1000, widths=20_000),
    }[profile]
    return {"suite": Trial(run, config)}


def shared(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites.pruning import Sharing, share

    config = {
        "smoke": Sharing(seed, 1, size=20, layers=(2,)),
        "laptop": Sharing(seed, 1),
        "paper": Sharing(seed, 5),
    }[profile]
    return {"suite": Trial(share, config)}


def _columns(results: Results, statement: str) -> dict[str, np.ndarray]:
    return {name: np.array(c) for name, c in results["suite"].numbers[statement].items()}


def _table(rows: dict[str, np.ndarray]) -> Table:
    cells = []
    for size in np.unique(rows["size"]):
        for offers in np.unique(rows["offers"]):
            at = (rows["size"] == size) & (rows["offers"] == offers)
            errors = rows["error"][at]
            cells.append(
                (
                    int(size), int(offers), float(np.median(errors)), float(errors.max()),
                    float(rows["budget"][at].max()), int(rows["units"][at].max()),
                    float(rows["kept_mlp"][at].mean()),
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


@STUDY.claim(
    id="dyck/theorem-2.2.3",
    title="A random Transformer can be pruned to any smaller one",
    source=f"{PAPER}, Theorem 2.2.3",
    statement=(
        "A Transformer with 4L layers of random weights from U(-1, 1), whose g has four layers of "
        "weights, contains an eps-approximation of any Transformer with L layers and matrices of norm "
        "at most 1: entries are set to zero, none is changed. Run for eps = 1e-4 on targets of width "
        f"3, by subset sums over {SIZE} or more values."
    ),
    criterion=(
        f"In every draw the error is at most {ACCURACY:g} |X| on every input with |X| from 1e-3 to 1, at "
        f"most {UNITS} hidden units of a matrix are used, and every entry is zero or as drawn."
    ),
    trials=pruned,
    figure=error_against_size,
)
def theorem(results: Results) -> Outcome:
    rows = _columns(results, "theorem-2.2.3")
    at = (rows["size"] >= SIZE) & (rows["offers"] > 1)
    worst, units = float(rows["error"][at].max()), int(rows["units"][at].max())
    holds = worst <= ACCURACY and units <= UNITS and bool(rows["kept_as_drawn"].all())
    numbers = {
        "largest relative error": worst,
        "most hidden units used": units,
        "share of MLP entries kept": float(rows["kept_mlp"][at].mean()),
        "pruned models": int(at.sum()),
    }
    if "two-layers" in results["suite"].numbers:
        deep = _columns(results, "two-layers")
        numbers["largest relative error, two layers"] = float(deep["error"].max())
        holds = holds and bool(deep["error"].max() <= ACCURACY and deep["kept_as_drawn"].all())
    return Outcome("holds" if holds else "fails", numbers, (_table(rows),))


@STUDY.claim(
    id="dyck/theorem-2.2.3-budget",
    title="The proof's error budget covers what is measured",
    source=f"{PAPER}, Theorem 2.2.3, with the errors that the subset sums leave",
    statement=(
        "Carrying the spectral norms of the errors of all pruned pairs through the steps of the proof "
        "(Lemmas 2.2.5, 2.2.8, 2.2.10 and 2.2.11) bounds the error of the pruned model."
    ),
    criterion="In every draw and at every size the measured error is at most the budget.",
    trials=pruned,
    kind="relation",
)
def budget(results: Results) -> Outcome:
    rows = _columns(results, "theorem-2.2.3")
    error, allowed = rows["error"], rows["budget"]
    if "two-layers" in results["suite"].numbers:
        deep = _columns(results, "two-layers")
        error, allowed = np.append(error, deep["error"]), np.append(allowed, deep["budget"])
    share = float((error / allowed).max())
    return Outcome(
        "holds" if share <= 1 else "fails",
        {"largest share of the budget": share, "pruned models": len(error)},
    )


@STUDY.claim(
    id="dyck/theorem-2.2.3-logarithm",
    title="Units needed grow with the logarithm of the accuracy",
    source=f"{PAPER}, Theorem 2.2.3 and Lemma 2.2.2",
    statement=(
        "The width needed for an error eps grows as log(1/eps): the error falls geometrically with the "
        "values per subset sum."
    ),
    criterion=(
        "A line through the logarithm of the median error against the values per sum falls by at least "
        "log(2)/2 per value (all subsets being used evenly it would fall by log 2)."
    ),
    trials=pruned,
    kind="lemma",
    figure=kept_entries,
)
def logarithm(results: Results) -> Outcome:
    rows = _columns(results, "theorem-2.2.3")
    sizes = np.unique(rows["size"])
    at = rows["offers"] > 1
    medians = [np.median(rows["error"][at & (rows["size"] == size)]) for size in sizes]
    slope = float(np.polyfit(sizes, np.log(medians), 1)[0])
    return Outcome(
        "holds" if slope <= -np.log(2) / 2 else "fails",
        {"slope of log error per value": slope, "ideal": -float(np.log(2))},
    )


@STUDY.claim(
    id="dyck/corollary-2.2.3",
    title="No single matrix tells two Transformers apart",
    source=f"{PAPER}, Corollary 2.2.3",
    statement=(
        "For any matrix of the large random Transformer and any two targets there are prunings to both "
        "that agree on this matrix. Query and key matrices are even kept whole."
    ),
    criterion=(
        f"For every matrix tried the two pruned copies are equal, each model is within {ACCURACY:g} |X| "
        "of its target, every entry is zero or as drawn, and the targets differ by more than 0.1 |X|."
    ),
    trials=shared,
)
def corollary(results: Results) -> Outcome:
    rows = _columns(results, "corollary-2.2.3")
    worst, apart = float(rows["error"].max()), float(rows["apart"].min())
    same = bool(rows["equal"].all() and rows["kept_as_drawn"].all())
    holds = same and worst <= ACCURACY and apart > 0.1
    kept = rows["kept"]
    return Outcome(
        "holds" if holds else "fails",
        {
            "matrices": len(kept),
            "matrices equal in both": int(rows["equal"].sum()),
            "matrices with entries kept": int((kept > 0).sum()),
            "largest relative error": worst,
            "difference of the targets": apart,
        },
        remark=(
            "The value matrix of a layer that is the identity is zero in both models: the theorem's "
            "construction prunes it away."
        ),
    )


@STUDY.claim(
    id="dyck/lemma-2.2.9",
    title="A random value matrix has large entries where they are needed",
    source=f"{PAPER}, Lemma 2.2.9, with its probability",
    statement=(
        "Cut into m x m pieces, the upper right quarter of a random matrix has an entry of at least 1/2 "
        "in every piece on the diagonal with probability (1 - (3/4)^area)^m; their rows and columns are "
        "disjoint."
    ),
    criterion="At every size the frequency is within four standard errors of this probability.",
    trials=pruned,
    kind="lemma",
)
def entries(results: Results) -> Outcome:
    rows = _columns(results, "lemma-2.2.9")
    chance, draws = rows["chance"], rows["draws"]
    allowed = 4 * np.sqrt(chance * (1 - chance) / draws) + 1 / draws
    off = np.abs(rows["found"] / draws - chance) / allowed
    return Outcome(
        "holds" if off.max() <= 1 else "fails",
        {
            "side of a piece": ", ".join(map(str, rows["side"])),
            "frequency": ", ".join(f"{f:.4f}" for f in rows["found"] / draws),
            "probability": ", ".join(f"{c:.4f}" for c in chance),
        },
    )
