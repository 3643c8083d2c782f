"""Next tokens of a grammar with GPT-like models, and natural text. Sections 4.2.9 and 4.2.3.2."""

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    Table,
    all_above,
    all_of,
    at_most,
    only_if,
    percent,
)

from .. import readings
from .. import transformer_readings as reading
from ..figures.next_tokens import heights_figure, teachers_figure, text_figure
from ..study import STUDY, THESIS
from ..transformer_trials import next_tokens, text

claim = STUDY.section(__doc__)

GUARD = (
    " Undecided where one-shot students are, in the mean, within half a point of the exact law at some "
    "height: there is nothing to gain. Only students count whose teachers have closed 65% of the gap "
    "between the loss of single tokens and the exact one at every height; with fewer than four the claim "
    "is undecided."
)
FEW = "Fewer than four have teachers that have learned."


def guarded(results: Results, outcome: Outcome) -> Outcome:
    """The outcome, if enough teachers have learned and students can still gain."""
    room = only_if(reading.next_room(results), "There is nothing to gain.", outcome)
    return only_if(len(reading.next_taught(results)) >= readings.FEWEST, FEW, room)


def accuracies(results: Results) -> Table:
    """Top-1 accuracy by height and arm, with the teachers' and the exact one."""
    lines = []
    for height in reading.next_config(results).heights:
        numbers = results[reading.NEXT].numbers[str(height)]
        lines.append((height, "exact", 100 * numbers["ceiling"]))
        lines.append((height, "teachers", percent(numbers["teacher_accuracy"])))
        lines += [(height, arm, percent(found)) for arm, found in numbers["accuracy"].items()]
    return Table("Top-1 accuracy (%)", ("height", "who", "accuracy"), tuple(lines))


@claim(
    id="distillation/next-token-progressive",
    title="Progressive distillation is better than one-shot for next tokens",
    source=f"{THESIS}, (R7) and Figures 4.33 and 4.34",
    statement=(
        "At every height of nodes whose last tokens are predicted, a student that follows the checkpoints "
        "has a higher top-1 accuracy than one that follows the final teacher throughout."
    ),
    criterion=(
        "The 95% intervals of the paired differences in points lie above 0 at every height: holds; one below "
        "0.5: fails; otherwise undecided." + GUARD
    ),
    trials=next_tokens,
    figure=heights_figure,
    kind="figure",
)
def progressive(results: Results) -> Outcome:
    gaps = {
        f"height {height}": Estimate.of(
            reading.next_points(results, height, "progressive", "one-shot")
        )
        for height in reading.next_config(results).heights
    }
    better, tiny = all_above("points", gaps), all_above("points", gaps, 0.5)
    outcome = better if better.verdict == "holds" else tiny
    return guarded(results, all_of(outcome, tables=(accuracies(results),)))


@claim(
    id="distillation/next-token-gap-grows",
    title="The gain is larger for the ends of higher nodes",
    source=f"{THESIS}, Section 4.2.9.1 and Figures 4.33 and 4.34",
    statement=(
        "The gain of progressive over one-shot distillation is larger for the last tokens of the highest "
        "nodes than for those of the lowest."
    ),
    criterion=(
        "The 95% interval of the paired gain at the largest height less that at the smallest, in points, "
        "lies above 0: holds; below: fails; otherwise undecided." + GUARD
    ),
    trials=next_tokens,
    uses=("distillation/next-token-progressive",),
    figure=heights_figure,
    kind="figure",
)
def gap_grows(results: Results) -> Outcome:
    heights = sorted(reading.next_config(results).heights)
    low, high = (
        reading.next_points(results, height, "progressive", "one-shot")
        for height in (heights[0], heights[-1])
    )
    outcome = all_of(all_above("points", Estimate.of(high - low)), tables=(accuracies(results),))
    return guarded(results, outcome)


@claim(
    id="distillation/next-token-ceiling",
    title="No trained model predicts next tokens better than the exact law",
    source=f"our control; the picture is that of {THESIS}, Figure 4.32",
    statement="The top-1 accuracy of every teacher and student is at most that of the exact predictor.",
    criterion="At most the exact predictor's on the same sentences plus two standard errors.",
    trials=next_tokens,
    figure=teachers_figure,
    kind="control",
)
def ceiling(results: Results) -> Outcome:
    excess = reading.next_above_ceiling(results)
    return all_of(at_most("largest excess", excess, 0.0), tables=(accuracies(results),))


GIVE = "No text was given: set text to a .txt file, or to a folder of them (--set text=PATH)."


@claim(
    id="distillation/natural-text",
    title="On your text, reliance on neighbours rises and falls, and progressive distillation is better",
    source=f"{THESIS}, Section 4.2.3.2 and Figure 4.9, on a text that you give",
    statement=(
        r"$L_\mathrm{robust}$ of the teacher for $n = 2$ is larger at its peak than at the end, and at the "
        "shortest horizon a student that follows three early checkpoints, then the final teacher, has a "
        "higher top-1 accuracy than one that follows the final teacher throughout."
    ),
    criterion=(
        "The 95% intervals of the largest median less the last and of the paired difference in points lie "
        "above 0: holds; one below: fails; otherwise undecided. Undecided without a text, or with fewer than "
        "four students whose teacher is 0.4 nats below the entropy of words."
    ),
    trials=text,
    figure=text_figure,
    kind="figure",
)
def natural_text(results: Results) -> Outcome:
    if not results:
        return all_of(numbers={"models": 0}, remark=GIVE)
    outcome = all_of(
        all_above("largest less last", Estimate.of(reading.text_falls(results))),
        all_above("points", Estimate.of(reading.text_points(results))),
        numbers={name: results["sentences"].numbers[name] for name in ("windows", "words")},
    )
    enough = len(reading.text_learned(results)) >= readings.FEWEST
    return only_if(
        enough, "Fewer than four students have a teacher that has learned the text.", outcome
    )
