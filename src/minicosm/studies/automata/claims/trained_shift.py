"""Parity where ones are rarer or more frequent than in training: Section 3.4.3.2."""

from minicosm.lab import (
    Outcome,
    Results,
    Table,
    all_above,
    all_below,
    all_of,
    at_least,
    paired,
    percent,
)

from .. import experiment_readings as readings
from ..experiment_trials import PARITY, PARITY_LSTM, PARITY_RECENCY, arms
from ..figures.trained_shift import brittle_figure, chances_figure, counts_figure
from ..study import STUDY, THESIS
from .trained_guards import IF_LEARNED, if_learned

claim = STUDY.section(__doc__)


def _table(results: Results) -> Table:
    """Accuracy by the chance of a one."""
    chances = readings.config_of(results, next(iter(results))).chances
    shown = [p for p in (0.05, 0.25, 0.5, 0.75, 0.95) if p in chances]
    return Table(
        "Accuracy in per cent of the members that have learned, by the chance of a one",
        ("arm", *map(str, shown)),
        tuple(
            (arm, *(percent(readings.at_chance(results, arm, p)) for p in shown)) for arm in results
        ),
    )


@claim(
    id="automata/shift-transformer",
    title="A Transformer that is right at one half fails at other chances",
    source=f"{THESIS}, Section 3.4.5.2.3 and Figures 3.8 and 3.20 (left)",
    statement=(
        r"Trained on parity with $P[\sigma = 1] = 1/2$, a Transformer loses accuracy as that "
        r"chance moves "
        "away from one half, at the same length."
    ),
    criterion=(
        "The 95% interval over members of the accuracy at a chance of .95 less that at .5 lies "
        "below $-5$ "
        "points: holds; above: fails; otherwise undecided." + IF_LEARNED
    ),
    trials=arms(PARITY),
    figure=chances_figure,
    kind="experiment",
)
def shift_transformer(results: Results) -> Outcome:
    change = paired(*(readings.at_chance(results, PARITY, p) for p in (0.95, 0.5)))
    outcome = all_of(
        all_below("points at .95 less those at .5", change, -5.0), tables=(_table(results),)
    )
    return if_learned(results, outcome)


@claim(
    id="automata/shift-recurrent",
    title="An LSTM, and a scratchpad with recency, stay exact at all chances",
    source=f"{THESIS}, Section 3.4.5.2.3 and Figures 3.8 and 3.20 (left)",
    statement=(
        "Trained on parity with a chance of one half, an LSTM and a Transformer that writes states on a "
        "scratchpad, with a bias to recent positions, are right at all other chances."
    ),
    criterion=(
        r"Every member that has learned has at least 99.9% at each chance in $\{.05, .10, \dots, .95\}$: "
        "holds; otherwise fails." + IF_LEARNED
    ),
    trials=arms(PARITY_LSTM, PARITY_RECENCY),
    figure=chances_figure,
    kind="experiment",
)
def shift_recurrent(results: Results) -> Outcome:
    values = {arm: readings.at_all_chances(results, arm) for arm in results}
    outcome = all_of(
        *(
            at_least(f"least accuracy, {arm}", found, readings.EXACT)
            for arm, found in values.items()
        ),
        tables=(_table(results),),
    )
    return if_learned(results, outcome)


@claim(
    id="automata/shift-counts",
    title="Shortcuts fail on counts that training has rarely shown",
    source=f"{THESIS}, Section 3.4.3.2 and Figures 3.8 and 3.20 (right)",
    statement=(
        "A Transformer trained on parity is right at position $t$ after $m$ ones where training "
        "has shown $m$ "
        "ones among $t$ symbols often, and wrong where it has hardly shown them: it counts, and "
        "knows the "
        "parity of the counts that it has seen."
    ),
    criterion=(
        r"The mean accuracy over cells $(t, m)$ that training is expected to show at least 100 "
        r"times, $N\, "
        r"\mathrm{Binom}(t, 1/2)(m)$ for $N$ strings, less that over cells expected fewer than 3 "
        r"times: the "
        "95% interval over members lies above 20 points: holds; below: fails; otherwise undecided."
        + IF_LEARNED
    ),
    trials=arms(PARITY, PARITY_LSTM, PARITY_RECENCY),
    figure=brittle_figure,
    kind="experiment",
)
def shift_counts(results: Results) -> Outcome:
    gap = percent(readings.often_less_rare(results, PARITY))
    outcome = all_above("points, often less rare", gap, 20.0)
    return if_learned(results, outcome, PARITY)


@claim(
    id="automata/shift-low-counts",
    title="Few ones are worse than many",
    source=f"{THESIS}, Section 3.4.5.2.3 and Figure 3.20 (right), $T = 40$ and eight layers",
    statement=(
        "A Transformer trained on parity fails more where ones are rare than where they are "
        "frequent: a low "
        "count late in a string was not seen in training."
    ),
    criterion=(
        "The 95% interval over members of the accuracy at a chance of .05 less that at .95 lies below 0: "
        "holds; above: fails; otherwise undecided." + IF_LEARNED
    ),
    trials=arms(PARITY),
    figure=counts_figure,
    kind="experiment",
)
def shift_low_counts(results: Results) -> Outcome:
    change = paired(*(readings.at_chance(results, PARITY, p) for p in (0.05, 0.95)))
    outcome = all_of(
        all_below("points at .05 less those at .95", change), tables=(_table(results),)
    )
    return if_learned(results, outcome)
