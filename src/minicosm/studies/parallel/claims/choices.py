"""What the design of refinement is made of, one thing changed at a time, in the fertility world."""

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    all_above,
    all_below,
    all_of,
    all_within,
    counterexample,
    only_if,
    percent,
)

from ..readings import after, if_learned, of_seeds, points
from ..study import STUDY, THESIS
from ..trials import (
    DATA,
    KEPT,
    ONE_STAGE,
    PLAIN,
    more_noise_and_less,
    one_stage_and_two,
    refining,
    with_and_without_positions,
)
from .refinement import MARGIN, NOISE, UNLEARNED, passes_table

claim = STUDY.section(__doc__)


def _arms(results: Results, *arms: str) -> dict[str, Estimate]:
    return {
        f"valid after {n}, {arm} (per cent)": percent(after(results, arm, n))
        for arm in arms
        for n in (1, 4)
    }


@claim(
    id="parallel/noisier-training",
    title="Training on noisier targets decodes better from noise",
    source=f"{THESIS}, Section 4.2.2 and the design recommendations, in the fertility world",
    statement=(
        "Trained on inputs that keep 15% of the target's tokens, refinement from random tokens gives valid "
        "targets more often after four passes than trained on inputs that keep 85%."
    ),
    criterion=(
        "Share of valid targets, distilled, 15% less 85%, seed by seed: the 95% interval lies above 0: "
        "holds; below: fails; otherwise undecided." + UNLEARNED
    ),
    trials=more_noise_and_less,
    kind="experiment",
)
@if_learned
def noisier(results: Results) -> Outcome:
    gain = points(after(results, "distilled", 4), after(results, KEPT, 4))
    return all_of(all_above("points gained", gain), numbers=_arms(results, "distilled", KEPT))


@claim(
    id="parallel/positional-attention",
    title="Taking positional attention away does not help",
    source=f"{THESIS}, Chapter 4, the design recommendations, in the fertility world",
    statement=(
        "Without the attention of positions to positions in decoder layers, refinement gives valid targets "
        "no more often after four passes."
    ),
    criterion=(
        "Share of valid targets, undistilled, without less with, seed by seed: the 95% interval lies above "
        "0: fails; below 1 point: holds; otherwise undecided." + UNLEARNED
    ),
    trials=with_and_without_positions,
    kind="experiment",
)
@if_learned
def positional(results: Results) -> Outcome:
    gain = points(after(results, PLAIN, 4), after(results, "undistilled", 4))
    helps = counterexample("points gained without, at least", gain.low, beyond=0.0)
    numbers = {"points gained without": gain, **_arms(results, PLAIN, "undistilled")}
    return only_if(
        helps.verdict == "fails" or gain.high < NOISE,
        "The interval reaches from below 0 to above 1 point.",
        all_of(helps, numbers=numbers),
    )


@claim(
    id="parallel/one-stage-commits",
    title="Trained on noise alone, refinement makes up its mind",
    source=f"added to {THESIS}, Section 4.2.2, in the fertility world",
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
    trials=one_stage_and_two,
    kind="experiment",
)
@if_learned
def one_stage(results: Results) -> Outcome:
    gain, fewer = (
        points(after(results, ONE_STAGE, 4, name), after(results, "undistilled", 4, name))
        for name in ("given_length_valid", "given_length_stutter")
    )
    return all_of(
        all_above("points of valid targets gained", gain),
        all_below("points of repeating pairs", fewer),
        tables=(passes_table(results),),
    )


@claim(
    id="parallel/other-rejecters",
    title="What else is put back between passes changes little: less than 5 points",
    source=f"{THESIS}, Section 4.2.2, in the fertility world",
    statement=(
        "Putting back nothing, the least likely tokens (a share that falls to zero with the passes, or a "
        "quarter each time), or the tokens that a learned rejecter finds more likely wrong than right, in "
        "place of repeats, changes the share of valid targets after four passes by less than 5 points."
    ),
    criterion=(
        "Each rule less that of repeats, seed by seed, distilled, peaked and undistilled: all 95% intervals "
        "within 5 points: holds; one outside: fails; otherwise undecided." + UNLEARNED
    ),
    trials=refining,
    kind="experiment",
)
@if_learned
def rejecters(results: Results) -> Outcome:
    changes = {
        f"{name}, {data}": points(
            of_seeds(results, data, "rejecters", name, "valid"), after(results, data, 4)
        )
        for data in DATA
        for name in results[data].config.rejecters
    }
    return all_within("points gained", changes, MARGIN)
