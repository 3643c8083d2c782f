"""Training finds shortcuts, and how deep a network must be: Section 3.4.2."""

from minicosm.lab import Outcome, Results, above, all_above, all_of, at_least, only_if

from .. import experiment_readings as readings
from ..experiment_trials import GRID, PARITY, STAY, arms, cell
from ..figures.trained_depth import curves_figure, depth_figure
from ..study import STUDY, THESIS
from .trained_guards import IF_RECIPE, accuracies, fails_only_if, if_recipe

claim = STUDY.section(__doc__)


@claim(
    id="automata/learns-shortcuts",
    title="Training finds shallow networks that simulate automata",
    source=f"{THESIS}, Section 3.4.2 and Figure 3.15",
    statement=(
        "For every automaton that is tried, some training run of a Transformer of at most 16 layers has "
        r"more than 99% of the states right at $T = 100$. Here: $C_2$ and $\mathrm{Grid}_4$ with "
        r"two layers "
        "at $T = 20$, $D_8$ with three at $T = 12$."
    ),
    criterion=(
        "The best member of each of the three has at least 99%: holds; one has less than 97%: fails; "
        "otherwise undecided." + IF_RECIPE
    ),
    trials=arms(PARITY, GRID, cells=(("D_8", "deep"),)),
    figure=curves_figure,
    kind="experiment",
)
def learns_shortcuts(results: Results) -> Outcome:
    bests = {arm: readings.best(results, arm) for arm in results if arm != cell("Grid_4", 2)}
    name = "accuracy of the best member"
    outcome = all_of(at_least(name, bests, 0.99), tables=(accuracies(results),))
    far = at_least(name, bests, 0.97).verdict == "fails"
    return if_recipe(results, fails_only_if(far, "The worst is between 97% and 99%.", outcome))


@claim(
    id="automata/depth-helps",
    title="Deeper networks simulate a non-abelian group better",
    source=f"{THESIS}, Section 3.4.2 and Figure 3.15, row $D_6$ (25.4, 27.2, 47.4, ..., 100%)",
    statement=r"The accuracy on $D_6$ grows from one layer to two and from two to three.",
    criterion=(
        r"The 95% intervals of both differences over members, at $T = 12$, lie above 0: holds; one "
        r"below: "
        "fails; otherwise undecided." + IF_RECIPE
    ),
    trials=arms(table=True),
    figure=depth_figure,
    kind="experiment",
)
def depth_helps(results: Results) -> Outcome:
    steps = {
        f"from {depth} to {depth + 1} layers": readings.less(
            results, cell("D_6", depth + 1), cell("D_6", depth)
        )
        for depth in (1, 2)
        if cell("D_6", depth) in results and cell("D_6", depth + 1) in results
    }
    outcome = all_of(all_above("points gained on D_6", steps), tables=(accuracies(results),))
    whole = only_if(len(steps) == 2, "Depths 1, 2 and 3 of D_6 are needed.", outcome)
    return if_recipe(results, whole)


def compares(first: str, *others: str, depth: int) -> tuple[tuple[str, int], ...]:
    """The cells of a comparison at one depth."""
    return tuple((task, depth) for task in (first, *others))


def better(results: Results, first: str, *others: str, depth: int) -> Outcome:
    """One task is more accurate than others at a depth."""
    points = {
        f"{first} less {other}": readings.less(results, cell(first, depth), cell(other, depth))
        for other in others
    }
    outcome = all_of(all_above("points", points), tables=(accuracies(results),))
    return if_recipe(results, outcome)


@claim(
    id="automata/gridworld-first",
    title="Automata that only remember are the easiest",
    source=f"{THESIS}, Section 3.4.5.1 and Figure 3.15",
    statement=(
        r"With one layer, $\mathrm{Grid}_4$, which has no groups in it, is simulated more "
        r"accurately than "
        "$C_2$, $D_6$, $D_8$ and $Q_8$ (99.9% in the source)."
    ),
    criterion=(
        "The 95% intervals of all four differences over members, at $T = 12$, lie above 0: holds; one "
        "below: fails; otherwise undecided." + IF_RECIPE
    ),
    trials=arms(cells=compares("Grid_4", "C_2", "D_6", "D_8", "Q_8", depth=1)),
    figure=depth_figure,
    kind="experiment",
)
def gridworld_first(results: Results) -> Outcome:
    return better(results, "Grid_4", "C_2", "D_6", "D_8", "Q_8", depth=1)


@claim(
    id="automata/d8-before-d6",
    title="The car on a circle of four places is learned before that on three",
    source=f"{THESIS}, Figure 3.15 (98.0 and 27.2% with two layers)",
    statement="With two layers, $D_8$ is simulated more accurately than $D_6$.",
    criterion=(
        "The 95% interval of the difference over members, at $T = 12$, lies above 0: holds; below: "
        "fails; "
        "otherwise undecided." + IF_RECIPE
    ),
    trials=arms(cells=compares("D_8", "D_6", depth=2)),
    figure=depth_figure,
    kind="experiment",
)
def d8_before_d6(results: Results) -> Outcome:
    return better(results, "D_8", "D_6", depth=2)


@claim(
    id="automata/d8-before-d6-no-leak",
    title="The same where the position does not tell a part of the state",
    source=f"our control of {THESIS}, Figure 3.15",
    statement=(
        "With the symbols advance and reverse and an even circle, place and direction together have the "
        "parity of $t$, so that in $D_8$ the position alone tells one bit. With a third symbol "
        "that changes "
        "nothing this bit is gone, and $D_8$ is still simulated more accurately than $D_6$ with "
        "two layers."
    ),
    criterion=(
        "The 95% interval of the difference over members, at $T = 12$ and with the third symbol in both, "
        "lies above 0: holds; below: fails; otherwise undecided." + IF_RECIPE
    ),
    trials=arms(cells=compares(STAY["D_8"], STAY["D_6"], depth=2)),
    figure=depth_figure,
    kind="experiment",
)
def no_leak(results: Results) -> Outcome:
    return better(results, STAY["D_8"], STAY["D_6"], depth=2)


@claim(
    id="automata/q8-after-d8",
    title="A group that is no semidirect product of smaller ones is learned later",
    source=f"{THESIS}, Section 3.4.5.1 and Figure 3.15 (49.2 and 98.0% with two layers)",
    statement="With two layers, $Q_8$ is simulated less accurately than $D_8$, which is of the same size.",
    criterion=(
        "The 95% interval of $D_8$ less $Q_8$ over members, at $T = 12$, lies above 0: holds; "
        "below: fails; "
        "otherwise undecided. $D_8$ with a no-op is shown beside it: $Q_8$ has neither its leak "
        "nor its two "
        "symbols." + IF_RECIPE
    ),
    trials=arms(cells=compares("D_8", "Q_8", STAY["D_8"], depth=2)),
    figure=depth_figure,
    kind="experiment",
)
def q8_after_d8(results: Results) -> Outcome:
    return better(results, "D_8", "Q_8", depth=2)


@claim(
    id="automata/instability",
    title="Training on parity is unstable",
    source=f"{THESIS}, Section 3.4.2, Figures 3.5(b), 3.15 and 3.16 (best 99.8, median 83.0%)",
    statement="With two layers, the best run on $C_2$ is far better than the median run.",
    criterion=(
        r"Over at least 10 members at $T \ge 40$, the best less the median is more than 10 points: "
        r"holds; "
        "otherwise fails. With fewer members or shorter strings undecided."
    ),
    trials=arms(PARITY, cells=(("C_2", 2),)),
    figure=curves_figure,
    kind="experiment",
)
def instability(results: Results) -> Outcome:
    arm = cell("C_2", 2)
    config = readings.config_of(results, arm)
    points = 100 * (readings.best(results, arm) - readings.median(results, arm))
    outcome = all_of(
        above("best less median, in points", points, 10.0),
        numbers={"members": config.members, "length": config.length},
        tables=(accuracies(results),),
    )
    large = config.members >= 10 and config.length >= 40
    return only_if(large, "It takes 10 members at a length of 40 (profile paper).", outcome)
