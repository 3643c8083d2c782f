"""Strings longer than those of training, and positions: Sections 3.4.3.2 and 3.4.5.2.4."""

from minicosm.lab import (
    Outcome,
    Results,
    all_above,
    all_below,
    all_of,
    all_within,
    at_least,
    paired,
    percent,
)

from .. import experiment_readings as readings
from ..experiment_trials import (
    DYCK,
    DYCK_LSTM,
    DYCK_NONE,
    DYCK_RECENCY,
    DYCK_SHIFT,
    GRID,
    GRID_LINEAR,
    PARITY,
    PARITY_LSTM,
    PARITY_NONE,
    PARITY_PAD,
    PARITY_RECENCY,
    PARITY_SHIFT,
    arms,
)
from ..figures.trained_length import length_figure
from ..study import STUDY, THESIS
from .trained_guards import IF_LEARNED, beyond, fails_only_if, if_learned

claim = STUDY.section(__doc__)


@claim(
    id="automata/length-transformer",
    title="Beyond the length of training a Transformer is a coin flip",
    source=f"{THESIS}, Section 3.4.5.2.4 and Figures 3.9 and 3.21",
    statement="On parity, a Transformer's accuracy falls sharply beyond the length of training.",
    criterion=(
        "Trained at 20 and tested at 40, accuracy at positions 21 to 40 alone: the 95% interval "
        "over members "
        r"lies within $50 \pm 3\%$: holds; above 60%: fails; otherwise undecided." + IF_LEARNED
    ),
    trials=arms(PARITY),
    figure=length_figure,
    kind="experiment",
)
def length_transformer(results: Results) -> Outcome:
    after = percent(readings.span(results, PARITY, 1, 2))
    outcome = all_of(
        all_within("accuracy at positions T+1 to 2 T", after, 3.0, around=50.0),
        tables=(beyond(results),),
    )
    far = all_above("", after, 60.0).verdict == "holds"
    return if_learned(results, fails_only_if(far, "Not a coin flip, and not above 60%.", outcome))


def exact_beyond(results: Results, *names: str) -> tuple[Outcome, ...]:
    """Every member that has learned is exact at one and a half and at twice the length of training."""
    return tuple(
        at_least(f"least accuracy up to {end:g} T, {arm}", readings.span(results, arm, 0, end),
                 readings.EXACT)
        for arm in names
        for end in (1.5, 2)
    )  # fmt: skip


@claim(
    id="automata/length-recurrent",
    title="An LSTM, and a scratchpad with recency, stay exact at twice the length",
    source=f"{THESIS}, Section 3.4.5.2.4 and Figures 3.9 and 3.21",
    statement=(
        "On parity, an LSTM and a Transformer with a scratchpad and a bias to recent positions are "
        "perfect on "
        "strings longer than those of training."
    ),
    criterion=(
        "Every member that has learned has at least 99.9% on strings of 1.5 and of 2 times the length of "
        "training: holds; otherwise fails." + IF_LEARNED
    ),
    trials=arms(PARITY_LSTM, PARITY_RECENCY),
    figure=length_figure,
    kind="experiment",
)
def length_recurrent(results: Results) -> Outcome:
    outcome = all_of(*exact_beyond(results, *results), tables=(beyond(results),))
    return if_learned(results, outcome)


def helps(results: Results, pairs: tuple[tuple[str, str], ...]) -> Outcome:
    """Each variant is better beyond the length of training than the plain model, and not perfect; parity
    counts only where it was trained and has learned."""
    counted = [
        (plain, variant)
        for plain, variant in pairs
        if plain == DYCK or (variant in results and readings.enough(results, plain, variant))
    ]
    gains = {
        variant: readings.span_less(results, variant, plain, 1, 1.5) for plain, variant in counted
    }
    own = {variant: percent(readings.span(results, variant, 1, 1.5)) for _, variant in counted}
    outcome = all_of(
        all_above("points gained at T+1 to 1.5 T", gains),
        all_below("accuracy at T+1 to 1.5 T", own, 100 * readings.EXACT),
        tables=(beyond(results),),
        remark=""
        if len(counted) == len(pairs)
        else "Parity is not counted: an arm has not learned it.",
    )
    return if_learned(results, outcome, *pairs[0])


HELPS = (
    "At positions 21 to 30, after training at 20, the 95% intervals over members of the variant "
    "less the plain "
    "model lie above 0, and those of the variant itself below 99.9%: holds; one on the other side: "
    "fails; "
    "otherwise undecided. Parity counts where the variant has learned it." + IF_LEARNED
)


@claim(
    id="automata/length-shift",
    title="Shifted positions in training help with length, but not perfectly",
    source=f"{THESIS}, Section 3.4.5.2.4 and Figure 3.21",
    statement=(
        "Trained with positions that begin at a random number, Transformers are more accurate "
        "beyond the length "
        r"of training than plain ones, and not perfect, on $\mathrm{Dyck}_{4,2}$ and $C_2$."
    ),
    criterion=HELPS,
    trials=arms(DYCK, DYCK_SHIFT, PARITY, PARITY_SHIFT),
    figure=length_figure,
    kind="experiment",
)
def length_shift(results: Results) -> Outcome:
    return helps(results, ((DYCK, DYCK_SHIFT), (PARITY, PARITY_SHIFT)))


@claim(
    id="automata/length-none",
    title="Without positions length is easier, but not perfect",
    source=f"{THESIS}, Section 3.4.5.2.4 and Figure 3.21",
    statement=(
        "Transformers without positions are more accurate beyond the length of training than plain "
        "ones, and not "
        r"perfect, on $\mathrm{Dyck}_{4,2}$ and $C_2$."
    ),
    criterion=HELPS,
    trials=arms(DYCK, DYCK_NONE, PARITY, PARITY_NONE),
    figure=length_figure,
    kind="experiment",
)
def length_none(results: Results) -> Outcome:
    return helps(results, ((DYCK, DYCK_NONE), (PARITY, PARITY_NONE)))


@claim(
    id="automata/length-scratchpad-alone",
    title="A scratchpad without recency does not help with length",
    source=f"{THESIS}, Section 3.4.5.2.4 and Figure 3.21",
    statement=(
        "On parity, a Transformer with a scratchpad and no bias to recent positions is no better "
        "beyond the "
        "length of training than a plain one."
    ),
    criterion=(
        "At positions 21 to 30, after training at 20, the 95% interval over members of the "
        "scratchpad less the "
        r"plain model lies within $\pm 5$ points: holds; outside: fails; otherwise undecided."
        + IF_LEARNED
    ),
    trials=arms(PARITY, PARITY_PAD),
    figure=length_figure,
    kind="experiment",
)
def length_scratchpad_alone(results: Results) -> Outcome:
    gain = readings.span_less(results, PARITY_PAD, PARITY, 1, 1.5)
    outcome = all_of(
        all_within("points gained at T+1 to 1.5 T", gain, 5.0), tables=(beyond(results),)
    )
    return if_learned(results, outcome)


@claim(
    id="automata/length-dyck",
    title="The same on brackets: a Transformer falls, recurrences do not",
    source=f"{THESIS}, Section 3.4.5.2.4 and Figures 3.9 and 3.21",
    statement=(
        r"On $\mathrm{Dyck}_{4,2}$, a Transformer's accuracy falls sharply beyond the length of "
        r"training; an LSTM "
        "and a Transformer with a scratchpad and a bias to recent positions stay perfect."
    ),
    criterion=(
        "After training at 20, the 95% interval over members of the plain model's accuracy up to "
        "20 less that at "
        "positions 21 to 40 lies above 10 points, and every member of the other two has at least "
        "99.9% on "
        "strings of 1.5 and 2 times the length: holds; the interval below 10 or a member below "
        "99.9%: fails; "
        "otherwise undecided." + IF_LEARNED
    ),
    trials=arms(DYCK, DYCK_LSTM, DYCK_RECENCY),
    figure=length_figure,
    kind="experiment",
)
def length_dyck(results: Results) -> Outcome:
    fall = paired(readings.span(results, DYCK, 0, 1), readings.span(results, DYCK, 1, 2))
    outcome = all_of(
        all_above("points lost by the plain model", fall, 10.0),
        *exact_beyond(results, DYCK_LSTM, DYCK_RECENCY),
        tables=(beyond(results),),
    )
    return if_learned(results, outcome)


@claim(
    id="automata/linear-positions",
    title="Linear positions reach further than sinusoidal ones",
    source=f"{THESIS}, Section 3.4.5.2.4 and Figure 3.22 ($\\mathrm{{Grid}}_9$)",
    statement=(
        r"On a gridworld, Transformers with positions $p_i \propto i$ are as accurate at the "
        r"length of training as "
        "those with sinusoidal ones, and much more accurate on longer strings."
    ),
    criterion=(
        r"On $\mathrm{Grid}_4$, linear less sinusoidal: the 95% interval over members lies above 5 "
        r"points at "
        r"positions 21 to 30, after training at 20, and within $\pm 2$ points up to 20: holds; one "
        r"of them on "
        "the other side or outside: fails; otherwise undecided. Positions 21 to 40 are shown beside."
        + IF_LEARNED
    ),
    trials=arms(GRID, GRID_LINEAR),
    figure=length_figure,
    kind="experiment",
)
def linear_positions(results: Results) -> Outcome:
    after, twice, within = (
        readings.span_less(results, GRID_LINEAR, GRID, *span) for span in ((1, 1.5), (1, 2), (0, 1))
    )
    outcome = all_of(
        all_above("points gained at T+1 to 1.5 T", after, 5.0),
        all_within("points gained up to T", within, 2.0),
        numbers={"points gained at T+1 to 2 T": twice},
        tables=(beyond(results),),
    )
    return if_learned(results, outcome)
