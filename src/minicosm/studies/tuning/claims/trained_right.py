"""Figure 3, right, on pretrained Transformers: worlds with memory against worlds without."""

from minicosm.lab import Cell, Estimate, Outcome, Table

from ...common.checks import Results
from ...common.statistics import all_above, all_within, paired, percent, unpaired
from ..figures import trained as figures
from ..study import STUDY
from .checks import PAPER
from .trained_trials import STATES, by_memory, right_trials

SOURCE = f"{PAPER}, Figure 3 (right)"

COLUMNS = {
    "majority": "majority",
    "trained_attention": "attention",
    "trained_mean": "mean law + LR",
    "trained_best": "best head at the mask",
    "exact_attention": "exact, attention",
    "exact_mean": "exact, mean law + LR",
    "first_tokens": "5 tokens",
    "histogram": "counts",
    "posterior": "posterior",
}


def table(results: Results) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (m, *(percent(memory[name]) for name in COLUMNS), percent(vanilla["trained_head"]),
         percent(vanilla["exact_head"]), Estimate.of(memory["mask_tv"]),
         Estimate.of(memory["held_out"]))
        for m, (memory, vanilla) in by_memory(results).items()
    ]  # fmt: skip
    columns = ("no memory, head", "no memory, exact head", "TV at the mask", "excess, nats")
    return Table(
        "Test accuracy, per cent; distance to the exact model",
        ("|M|", *COLUMNS.values(), *columns),
        tuple(rows),
        "Means over worlds with 95% intervals; the tasks of a world are averaged first. “No memory” is "
        "a vanilla HMM with 4|M| states and a tuned linear head.",
    )


@STUDY.claim(
    id="trained-right/near-perfect",
    title="On pretrained models of worlds with memory an attention head is nearly always right",
    source=SOURCE,
    statement=(
        "On Transformers pretrained in worlds with memory (4 states, 2 to 7 memory values) a tuned "
        "attention head has a test accuracy of at least 95% at every memory size."
    ),
    criterion=(
        "The 95% interval over worlds of the mean accuracy lies above 95% at every |M|: holds; below at "
        "some: fails; otherwise undecided."
    ),
    trials=right_trials,
    kind="figure",
    figure=figures.trained_right,
)
def near_perfect(results: Results) -> Outcome:
    found = {m: percent(n["trained_attention"]) for m, (n, _) in by_memory(results).items()}
    return Outcome(
        all_above(found.values(), 95),
        {f"accuracy, |M|={m}": e for m, e in reversed(found.items())},
        (table(results),),
    )


@STUDY.claim(
    id="trained-right/memory-beats-vanilla",
    title="On pretrained models, worlds with memory are easier than vanilla worlds of the same size",
    source=SOURCE,
    statement=(
        "At 12 and more states in total, an attention head on a model pretrained with memory is more "
        "accurate than a linear head on one pretrained in a vanilla world with as many states."
    ),
    criterion="Welch's 95% interval of the difference lies above 0 at every size >= 12 (below: fails).",
    trials=right_trials,
    kind="figure",
)
def beats_vanilla(results: Results) -> Outcome:
    return _difference(results, "trained_attention", "trained_head")


@STUDY.claim(
    id="trained-right/exact-too",
    title="Memory helps when the models are exact, in the same worlds",
    source="our own, on the setting of Figure 3 (right)",
    statement="In the same worlds and on the same tasks, the same difference is there on exact models.",
    criterion="Welch's 95% interval of the difference lies above 0 at every size >= 12 (below: fails).",
    trials=right_trials,
    kind="experiment",
)
def exact_too(results: Results) -> Outcome:
    return _difference(results, "exact_attention", "exact_head")


def _difference(results: Results, memory_name: str, vanilla_name: str) -> Outcome:
    found = {
        STATES * m: unpaired(memory[memory_name], vanilla[vanilla_name])
        for m, (memory, vanilla) in by_memory(results).items()
        if m >= 3 and len(memory[memory_name]) > 1
    }
    if not found:
        return Outcome("undecided", {"sizes with two worlds or more": 0})
    return Outcome(
        all_above(found.values()),
        {f"difference in points, {size} states": e for size, e in reversed(found.items())},
        remark="The two tasks differ: the memory is read from all positions, H_1 from its neighbours.",
    )


@STUDY.claim(
    id="trained-right/attention-is-not-needed",
    title="On pretrained models, averaging outputs or counting tokens does as well as attention",
    source="control for Figure 3 (right)",
    statement=(
        "Logistic regression on the mean output of the pretrained model, and on token counts with no "
        "model, stays within 5 points of the attention head."
    ),
    criterion=(
        "The 95% intervals of both paired differences lie within 5 points at every |M|: holds; one "
        "outside: fails; otherwise undecided."
    ),
    trials=right_trials,
    kind="control",
)
def not_needed(results: Results) -> Outcome:
    found = {
        (m, name): paired(memory["trained_attention"], memory[name])
        for m, (memory, _) in by_memory(results).items()
        for name in ("trained_mean", "histogram")
    }
    text = {"trained_mean": "mean output", "histogram": "token counts"}
    return Outcome(
        all_within(found.values(), 5),
        {f"attention - {text[name]}, |M|={m}": e for (m, name), e in reversed(found.items())},
    )
