"""Where attention goes, on the automaton itself: Sections 3.5.4.3 and 3.5.6.5 (R8)."""

import numpy as np

from minicosm.lab import Estimate, Outcome, Results, all_above, all_below, all_of, below

from .. import readings
from ..experiment_trials import (
    DEEP,
    DEEP_01,
    DEEP_FIRST,
    PLAIN,
    SHARP_01,
    SHARP_1,
    SPARSE_1,
    simulations,
)
from ..figures.simulation import drift_figure, entropy_figure, maps_figure, norms_figure
from ..study import STUDY, THESIS
from .guards import IF_SOLVED, if_solved, looks

claim = STUDY.section(__doc__)

PLACE = f"{THESIS}, Section 3.5.6.5 (R8)"
BAD, SHARP = 0.1, 0.7
RECIPE = (
    " All runs count; undecided if fewer than six without a penalty have at most one wrong state of a "
    "thousand."
)


@claim(
    id="flipflop/simulation-drift",
    title="Attention is right early and drifts away",
    source=f"{PLACE} and Figure 3.33",
    statement=(
        "A Transformer of one layer and one head with linear positions that simulates the flip-flop attends "
        "to the latest write at early positions; on a long string with one write its attention drifts to the "
        "recent symbols that keep."
    ),
    criterion=(
        "On one write and 800 symbols that keep, in every run that has learned, the "
        "largest weight leaves the "
        "write for good before the end, where the write has a weight below $10^{-6}$: holds; otherwise fails."
        + IF_SOLVED
    ),
    trials=simulations(PLAIN),
    figure=drift_figure,
    kind="experiment",
    uses=("flipflop/proposition-5",),
)
def drift(results: Results) -> Outcome:
    kept = readings.solved(results, PLAIN)
    length = readings.simulated(results, PLAIN).probe
    outcome = all_of(
        below("last onset of the drift", readings.values(results, PLAIN, "onset")[kept], length),
        below("largest weight at the end", readings.values(results, PLAIN, "end")[kept], 1e-6),
        tables=(looks(results),),
    )
    return if_solved(results, outcome, PLAIN)


@claim(
    id="flipflop/simulation-sparser",
    title="The same models err on sparser strings",
    source=PLACE,
    statement="Models that simulate the automaton where half of the symbols keep err where most of them do.",
    criterion=(
        r"The 95% intervals over runs of the share of wrong states at $p(\bot)$ = .9 and .98 lie above 0: "
        "holds; otherwise undecided; no wrong state in any run: fails." + IF_SOLVED
    ),
    trials=simulations(PLAIN),
    figure=drift_figure,
    kind="experiment",
    uses=("flipflop/simulation-drift",),
)
def sparser(results: Results) -> Outcome:
    kept = readings.solved(results, PLAIN)
    shares = {
        name: Estimate.of(readings.values(results, PLAIN, f"error_{name}")[kept])
        for name in (".9", ".98")
    }
    found = {name: _or_none(share) for name, share in shares.items()}
    outcome = all_of(all_above("wrong states, p(keep)", found), tables=(looks(results),))
    return if_solved(results, outcome, PLAIN)


def _or_none(share: Estimate) -> Estimate:
    """A share of exactly zero in all runs as an interval below it, so that it fails."""
    if share.value == 0 and share.high == 0:
        return Estimate(-1.0, -1.0, -1.0, share.count)
    return share


@claim(
    id="flipflop/sharp",
    title="The penalty makes attention hard",
    source=f"{PLACE} and Figure 3.34",
    statement="Attention-sharpening regularisers promote hard attention.",
    criterion=(
        "Mean entropy of a row of attention at the end, with penalties .01 and .1 less without: both of "
        "Welch's 95% intervals over runs lie below 0: holds; one above: fails; otherwise undecided."
        + RECIPE
    ),
    trials=simulations(PLAIN, SHARP_01, SHARP_1),
    figure=maps_figure,
    kind="experiment",
)
def sharp(results: Results) -> Outcome:
    plain = readings.values(results, PLAIN, "entropy")
    lower = {
        arm: readings.difference(readings.values(results, arm, "entropy"), plain)
        for arm in (SHARP_01, SHARP_1)
    }
    outcome = all_of(all_below("nats", lower), tables=(looks(results),))
    return if_solved(results, outcome, PLAIN)


@claim(
    id="flipflop/sharp-and-wrong",
    title="Sharp attention can be wrong",
    source=f"{PLACE} and Figure 3.34d",
    statement=(
        "Sharpened attention can confidently attend to wrong positions: the penalty "
        "leads to bad local minima."
    ),
    criterion=(
        "Share of runs with penalty .1 from the first step that end with a mean entropy "
        "of rows below .7 nats "
        "and more than 10% wrong states: its exact 95% interval lies above .1: holds; "
        "below: fails; otherwise "
        "undecided. How many of them look at the first write is reported." + RECIPE
    ),
    trials=simulations(SHARP_1, PLAIN),
    figure=entropy_figure,
    kind="experiment",
    uses=("flipflop/sharp", "flipflop/proposition-5"),
)
def sharp_and_wrong(results: Results) -> Outcome:
    entropy, error, first = (
        readings.values(results, SHARP_1, name) for name in ("entropy", "error", "first")
    )
    hit = (entropy < SHARP) & (error > BAD)
    known = np.isfinite(entropy).all() and np.isfinite(error).all()
    share = readings.share(float(hit.sum()) if known else np.nan, len(hit))
    outcome = all_of(
        all_above("share of runs that are sharp and wrong", share, 0.1),
        numbers={"of them, look at the first write": int(np.sum(first[hit] > 0.5))},
        tables=(looks(results),),
    )
    return if_solved(results, outcome, PLAIN)


@claim(
    id="flipflop/hurdle",
    title="Bad minima are more frequent where strings are dense",
    source=PLACE,
    statement=(
        r"With the penalty, models are much more likely to get stuck at a bad local "
        r"minimum at $p(\bot) = .5$ "
        r"than at $p(\bot) = .9$."
    ),
    criterion=(
        "Difference of the shares of runs with more than 10% wrong states at the density "
        "of training, penalty "
        ".1: Newcombe's 95% interval lies above 0: holds; below: fails; otherwise undecided."
    ),
    trials=simulations(SHARP_1, SPARSE_1),
    figure=entropy_figure,
    kind="experiment",
    uses=("flipflop/sharp-and-wrong",),
)
def hurdle(results: Results) -> Outcome:
    counts = {}
    for arm in (SHARP_1, SPARSE_1):
        error = readings.values(results, arm, "error")
        known = bool(np.isfinite(error).all())
        counts[arm] = (int(np.sum(error > BAD)), len(error) if known else 0)
    return all_of(
        all_above("difference of shares", readings.share_less(counts[SHARP_1], counts[SPARSE_1])),
        numbers={f"stuck, {arm}": hits for arm, (hits, _) in counts.items()},
        tables=(looks(results),),
    )


@claim(
    id="flipflop/misleading",
    title="The largest weight can mislead where the output is right",
    source=f"{THESIS}, Section 3.5.6.5, Figure 3.35 and footnote 44",
    statement=(
        "In models of several layers and heads a wrong token may have the largest weight "
        "although the output is "
        "right; weighted by the norm of its value, the right token has the most influence."
    ),
    criterion=(
        "Two layers of four heads, without a penalty, rows of symbols that keep with the right output, last "
        "layer, a right token being a write of the bit that is remembered. Over runs: "
        "the 95% interval of the "
        "share of rows whose largest weight is on a wrong token lies above 0, and so does that of this share "
        "less the share whose most influential token is wrong: holds; one below: fails; otherwise undecided."
        + IF_SOLVED
    ),
    trials=simulations(DEEP),
    figure=maps_figure,
    kind="experiment",
)
def misleading(results: Results) -> Outcome:
    kept = readings.solved(results, DEEP)
    misled, influence = (
        readings.values(results, DEEP, name)[kept] for name in ("misled", "influence")
    )
    outcome = all_of(
        all_above("largest weight on a wrong token", _or_none(Estimate.of(misled))),
        all_above("less: most influence", Estimate.of(misled - influence)),
        tables=(looks(results),),
    )
    return if_solved(results, outcome, DEEP)


@claim(
    id="flipflop/sharpened-norms",
    title="Sharpening shrinks the weights",
    source=f"{THESIS}, Section 3.5.6.5, Figure 3.36",
    statement="Sharpened attention has a regularising effect on the norms of weights.",
    criterion=(
        "The 2-norm of all weights, two layers of four heads, with penalty .01 less without: Welch's 95% "
        "interval lies below 0: holds; above: fails; otherwise undecided." + RECIPE
    ),
    trials=simulations(DEEP, DEEP_01, DEEP_FIRST),
    figure=norms_figure,
    kind="experiment",
    uses=("flipflop/sharp",),
)
def sharpened_norms(results: Results) -> Outcome:
    smaller = readings.difference(
        *(readings.values(results, arm, "norm") for arm in (DEEP_01, DEEP))
    )
    outcome = all_of(all_below("difference of norms", smaller), tables=(looks(results),))
    return if_solved(results, outcome, DEEP)
