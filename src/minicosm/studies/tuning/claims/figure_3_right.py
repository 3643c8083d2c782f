"""Figure 3, right, on exact models: worlds with memory against worlds without."""

from minicosm.lab import Outcome, ProfileName, Table, Trial

from ...common.checks import Results
from ...common.statistics import all_above, all_within, paired, percent, unpaired
from ..figures import oracle as figures
from ..study import STUDY
from .checks import PAPER
from .figure_3_left import SIZES, heads_trial

STATES = 4
MEMORY = {"smoke": (7,), "laptop": (2, 3, 5, 7), "paper": (2, 3, 5, 7)}
SOURCE = f"{PAPER}, Figure 3 (right)"


def trials(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..experiments.oracle_memory import OracleMemory, run

    found = {}
    for memory in MEMORY[profile]:
        config = OracleMemory(memory=memory, seed=seed, worlds=20)
        if profile == "smoke":
            config = OracleMemory(
                memory=memory, seed=seed, worlds=4, length=33,
                train=1000, validation=100, test=300, steps=500, warmup=100,
            )  # fmt: skip
        found[f"|M|={memory}"] = Trial(run, config)
        total = STATES * memory
        found[f"|H|={total}"] = heads_trial(profile, seed, total, prompts=total in SIZES[profile])
    return found


def by_memory(results: Results) -> dict[int, tuple[dict, dict]]:
    """Numbers of each memory size, and of the vanilla worlds with as many states in total."""
    sizes = [int(name.removeprefix("|M|=")) for name in results if name.startswith("|M|")]
    return {
        m: (dict(results[f"|M|={m}"].numbers), dict(results[f"|H|={STATES * m}"].numbers))
        for m in sizes
    }


COLUMNS = {
    "majority": "majority",
    "attention_slow": "attention, rate .01",
    "attention_fast": "attention, rate .1",
    "token_attention": "token values, rate .1",
    "mean_output": "mean output + LR",
    "first_output": "first output + LR",
    "histogram": "counts, no model",
}


def table(results: Results) -> Table:
    rows = [
        (m, *(percent(memory[name]) for name in COLUMNS), percent(vanilla["head"]),
         sum(memory["certainty"]) / len(memory["certainty"]))
        for m, (memory, vanilla) in by_memory(results).items()
    ]  # fmt: skip
    return Table(
        "Test accuracy on the exact model, per cent",
        ("|M|", *COLUMNS.values(), "no memory, head", "max P[M|x]"),
        tuple(rows),
        "“No memory” is a vanilla HMM with 4|M| states and a tuned linear head. The last column is the "
        "mean of the largest entry of the exact posterior of the memory.",
    )


@STUDY.claim(
    id="figure-3-right/near-perfect",
    title="With memory an attention head is nearly always right",
    source=SOURCE,
    statement=(
        "On exact models of worlds with memory (4 states, 2 to 7 memory values) a tuned attention head "
        "has a test accuracy of at least 95% at every memory size."
    ),
    criterion=(
        "The 95% interval of the mean accuracy lies above 95% at every |M|: holds; below at some: fails; "
        "otherwise undecided."
    ),
    trials=trials,
    kind="figure",
    figure=figures.figure_3_right,
)
def near_perfect(results: Results) -> Outcome:
    found = {m: percent(memory["attention_fast"]) for m, (memory, _) in by_memory(results).items()}
    return Outcome(
        all_above(found.values(), 95),
        {f"accuracy, |M|={m}": e for m, e in reversed(found.items())},
        (table(results),),
    )


@STUDY.claim(
    id="figure-3-right/memory-beats-vanilla",
    title="Worlds with memory are easier than vanilla worlds of the same size",
    source=SOURCE,
    statement=(
        "At 12 and more states in total, an attention head on a world with memory is more accurate than a "
        "linear head on a vanilla HMM with as many states."
    ),
    criterion="Welch's 95% interval of the difference lies above 0 at every size >= 12 (below: fails).",
    trials=trials,
    kind="figure",
)
def beats_vanilla(results: Results) -> Outcome:
    found = {
        STATES * m: unpaired(memory["attention_fast"], vanilla["head"])
        for m, (memory, vanilla) in by_memory(results).items()
        if STATES * m >= 12
    }
    return Outcome(
        all_above(found.values()),
        {f"difference in points, {size} states": e for size, e in reversed(found.items())},
        remark="The two tasks differ: the memory is read from all positions, H_1 from its neighbours.",
    )


@STUDY.claim(
    id="figure-3-right/attention-is-not-needed",
    title="Averaging outputs, or counting tokens, does as well as attention",
    source="control for Figure 3 (right)",
    statement=(
        "After 128 tokens the memory is almost surely known: logistic regression on the mean output, and "
        "on token counts with no model, stays within 5 points of the attention head."
    ),
    criterion=(
        "The 95% intervals of both paired differences lie within 5 points at every |M|: holds; one "
        "outside: fails; otherwise undecided."
    ),
    trials=trials,
    kind="control",
)
def not_needed(results: Results) -> Outcome:
    found = {
        (m, name): paired(memory["attention_fast"], memory[name])
        for m, (memory, _) in by_memory(results).items()
        for name in ("mean_output", "histogram")
    }
    text = {"mean_output": "mean output", "histogram": "token counts"}
    return Outcome(
        all_within(found.values(), 5),
        {f"attention - {text[name]}, |M|={m}": e for (m, name), e in reversed(found.items())},
    )
