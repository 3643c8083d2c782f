"""What the design of refinement is made of, one thing changed at a time, in the fertility world."""

from minicosm.lab import Estimate, Outcome, Verdict

from ...common.checks import Results
from ...common.statistics import all_above, all_within
from ..readings import DATA, after, of_seeds
from ..study import STUDY
from .refinement_trials import (
    KEPT,
    MARGIN,
    NOISE,
    ONE_STAGE,
    PLAIN,
    UNLEARNED,
    if_learned,
    passes_table,
    points,
    share,
    translators,
)
from .trials import PAPER


@STUDY.claim(
    id="refinement/noisier-training",
    title="Training on noisier targets decodes better from noise",
    source=f"{PAPER}, Section 4.2.2 and the design recommendations, in the fertility world",
    statement=(
        "Trained on inputs that keep 15% of the target's tokens, refinement from random tokens gives valid "
        "targets more often after four passes than trained on inputs that keep 85%."
    ),
    criterion=(
        "Share of valid targets, distilled, 15% less 85%, seed by seed: the 95% interval lies above 0: "
        "holds; below: fails; otherwise undecided." + UNLEARNED
    ),
    trials=translators("distilled", KEPT),
    kind="experiment",
)
@if_learned
def noisier(results: Results) -> Outcome:
    gain = points(after(results, "distilled", 4), after(results, KEPT, 4))
    return Outcome(all_above([gain]), {"points gained": gain} | _arms(results, "distilled", KEPT))


@STUDY.claim(
    id="refinement/positional-attention",
    title="Taking positional attention away does not help",
    source=f"{PAPER}, the design recommendations, in the fertility world",
    statement=(
        "Without the attention of positions to positions in decoder layers, refinement gives valid targets "
        "no more often after four passes."
    ),
    criterion=(
        "Share of valid targets, undistilled, without less with, seed by seed: the 95% interval lies above "
        "0: fails; below 1 point: holds; otherwise undecided." + UNLEARNED
    ),
    trials=translators("undistilled", PLAIN),
    kind="experiment",
)
@if_learned
def positional(results: Results) -> Outcome:
    gain = points(after(results, PLAIN, 4), after(results, "undistilled", 4))
    verdict: Verdict = "fails" if gain.low > 0 else "holds" if gain.high < NOISE else "undecided"
    return Outcome(verdict, {"points gained without": gain} | _arms(results, PLAIN, "undistilled"))


def _arms(results: Results, *arms: str) -> dict[str, Estimate]:
    found = {}
    for arm in arms:
        for n in (1, 4):
            found[f"valid after {n}, {arm} (per cent)"] = share(after(results, arm, n))
    return found


@STUDY.claim(
    id="refinement/one-stage-commits",
    title="Trained on noise alone, refinement makes up its mind",
    source=f"added to {PAPER}, Section 4.2.2, in the fertility world",
    statement=(
        "Where the length leaves the target open, the exact posterior given noise takes its own first guess "
        "for evidence and settles on one target in two passes. A decoder trained in one stage, on noise "
        "alone, does the same; one trained in two stages has seen its own guesses, knows that they tell "
        "nothing new, and keeps to the marginals. With the true length given, the first gives more valid "
        "targets after four passes and repeats fewer tokens."
    ),
    criterion=(
        "Undistilled, one stage less two stages, seed by seed: the 95% interval of valid targets lies above "
        "0 and that of repeating pairs below 0: holds; one on the other side: fails; otherwise undecided."
        + UNLEARNED
    ),
    trials=translators("undistilled", ONE_STAGE, exact=("undistilled",)),
    kind="experiment",
)
@if_learned
def one_stage(results: Results) -> Outcome:
    gain, fewer = (
        points(after(results, ONE_STAGE, 4, name), after(results, "undistilled", 4, name))
        for name in ("told_valid", "told_stutter")
    )
    verdict: Verdict = "undecided"
    if gain.high < 0 or fewer.low > 0:
        verdict = "fails"
    elif gain.low > 0 and fewer.high < 0:
        verdict = "holds"
    numbers = {"points of valid targets gained": gain, "points of repeating pairs": fewer}
    return Outcome(verdict, numbers, (passes_table(results),))


@STUDY.claim(
    id="refinement/other-rejecters",
    title="What else is put back between passes makes no difference",
    source=f"{PAPER}, Section 4.2.1, in the fertility world",
    statement=(
        "Putting back nothing, or the least likely tokens (a share that falls to zero with the passes, or a "
        "quarter each time), in place of repeats, changes the share of valid targets after four passes by "
        "little."
    ),
    criterion=(
        "Each rule less that of repeats, seed by seed, distilled, peaked and undistilled: all 95% intervals "
        "within 5 points: holds; one outside: fails; otherwise undecided." + UNLEARNED
    ),
    trials=translators(*DATA),
    kind="experiment",
)
@if_learned
def rejecters(results: Results) -> Outcome:
    changes = {}
    for data in DATA:
        for name in results[data].numbers["seeds"][0]["rejecters"]:
            found = of_seeds(results, data, "rejecters", name, "valid")
            changes[f"{name}, {data}"] = points(found, after(results, data, 4))
    verdict: Verdict = all_within(changes.values(), MARGIN) if changes else "undecided"
    return Outcome(verdict, changes or {"rules tried": 0})
