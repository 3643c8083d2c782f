"""Figure 3, left, on pretrained Transformers, beside the exact models of the same worlds."""

import numpy as np

from minicosm.lab import Cell, Estimate, Outcome, Table, Verdict

from ...common.checks import Results
from ...common.statistics import all_above, first_line, paired, percent, unpaired
from ..figures import trained as figures
from ..study import STUDY
from .checks import PAPER
from .figure_3_left import TOKENS, degenerate
from .trained_trials import by_size, left_trials, pooled

SOURCE = f"{PAPER}, Figure 3 (left)"
TV_LIMITS = {8: 0.15, 25: 0.2}

COLUMNS = {
    "majority": "majority",
    "trained_head": "head",
    "trained_best": "best head",
    "trained_prompt": "prompt",
    "fine_tuned": "all weights",
    "exact_head": "exact, head",
    "exact_best": "exact, best head",
    "exact_prompt": "exact, prompt",
    "first_tokens": "5 tokens",
    "histogram": "counts",
    "posterior": "posterior",
}


def table(results: Results) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (size, *(percent(n[name]) for name in COLUMNS), Estimate.of(n["mask_tv"]),
         Estimate.of(n["held_out"]))
        for size, n in by_size(results).items()
    ]  # fmt: skip
    return Table(
        "Test accuracy, per cent; distance to the exact model",
        ("|H|", *COLUMNS.values(), "TV at the mask", "excess, nats"),
        tuple(rows),
        "Means over worlds with 95% intervals; the tasks of a world are averaged first. “Best head” is "
        "logistic regression to convergence. The last three accuracies are regressions without a "
        "language model: on five tokens, on token counts, on the exact posterior of the state.",
    )


def gains(results: Results, better: str, worse: str, least: int = TOKENS + 1) -> dict:
    return {
        f"|H|={size}": paired(n[better], n[worse])
        for size, n in by_size(results).items()
        if size >= least
    }


SAME = "the 95% interval over worlds of the paired difference lies above 0"


@STUDY.claim(
    id="trained-left/prompt-beats-head",
    title="On pretrained models, prompt tuning beats head tuning when states outnumber tokens",
    source=SOURCE,
    statement=(
        "On Transformers pretrained by masked prediction in worlds with more states than tokens, a soft "
        "prompt of 20 rows with a linear head has a higher test accuracy than a linear head alone."
    ),
    criterion=f"At every |H| > 10 {SAME}: holds; below 0 at some: fails; otherwise undecided.",
    trials=left_trials,
    kind="figure",
    figure=figures.trained_left,
)
def prompt_beats_head(results: Results) -> Outcome:
    found = gains(results, "trained_prompt", "trained_head")
    return Outcome(
        all_above(found.values()), first_line(found, "gain in points"), (table(results),)
    )


@STUDY.claim(
    id="trained-left/prompt-beats-head-everywhere",
    title="On pretrained models, prompt tuning beats head tuning from 8 states on",
    source=f"{SOURCE} and Section 5",
    statement="The improvement is there at every hidden size from 8 on.",
    criterion=f"At every |H| >= 8 {SAME}: holds; below 0 at some: fails; otherwise undecided.",
    trials=left_trials,
    kind="figure",
)
def everywhere(results: Results) -> Outcome:
    found = gains(results, "trained_prompt", "trained_head", 8)
    return Outcome(all_above(found.values()), first_line(found, "gain in points"))


@STUDY.claim(
    id="trained-left/prompt-beats-best-head",
    title="On pretrained models, prompt tuning beats every linear head",
    source="our own, on the setting of Figure 3 (left)",
    statement=(
        "With more states than tokens the tuned prompt is also more accurate than the best linear head, "
        "found by logistic regression to convergence: the gain is not one of optimisation."
    ),
    criterion=f"At every |H| > 10 {SAME}: holds; below 0 at some: fails; otherwise undecided.",
    trials=left_trials,
    kind="experiment",
)
def beats_best(results: Results) -> Outcome:
    found = gains(results, "trained_prompt", "trained_best")
    return Outcome(all_above(found.values()), first_line(found, "gain in points"))


@STUDY.claim(
    id="trained-left/head-declines",
    title="On pretrained models, head tuning gets worse with the number of states",
    source=SOURCE,
    statement="Head tuning is less accurate with more states than tokens than with 4 or 8 states.",
    criterion="Welch's 95% interval of the difference of means over worlds lies above 0 (below: fails).",
    trials=left_trials,
    kind="figure",
)
def head_declines(results: Results) -> Outcome:
    sizes = by_size(results)
    few = list(pooled({s: n for s, n in sizes.items() if s <= 8}, "trained_head"))
    many = list(pooled(degenerate(sizes), "trained_head"))
    if len(few) < 2 or len(many) < 2:
        return Outcome("undecided", {"worlds with few states": len(few), "with many": len(many)})
    drop = unpaired(few, many)
    return Outcome(
        all_above([drop]),
        {"drop in points": drop, "few states": percent(few), "many states": percent(many)},
    )


@STUDY.claim(
    id="trained-left/exact-too",
    title="The gain of prompt tuning is there when the model is exact",
    source="our own, on the setting of Figure 3 (left)",
    statement=(
        "In the same worlds and on the same tasks, prompt tuning beats head tuning on the exact model "
        "as well: the finding is not an artefact of imperfect pretraining."
    ),
    criterion=f"At every |H| > 10 {SAME}: holds; below 0 at some: fails; otherwise undecided.",
    trials=left_trials,
    kind="experiment",
)
def exact_too(results: Results) -> Outcome:
    found = gains(results, "exact_prompt", "exact_head")
    return Outcome(all_above(found.values()), first_line(found, "gain in points, exact model"))


@STUDY.claim(
    id="trained-left/close-to-exact",
    title="Small pretrained models come close to the exact conditional at the mask",
    source="reference values for Figure 3 (left) on small models",
    statement=(
        "The mean total variation between the model's law at the mask and the exact conditional is "
        "below 0.15 at 8 states and below 0.2 at 25."
    ),
    criterion=(
        "The 95% interval over worlds lies below the limit at the sizes of these that were run: holds; "
        "above at one: fails; otherwise undecided."
    ),
    trials=left_trials,
    kind="experiment",
    figure=figures.pretraining_curves,
)
def close(results: Results) -> Outcome:
    sizes = by_size(results)
    room, numbers = [], dict[str, Estimate | float]()
    for size, limit in TV_LIMITS.items():
        if size in sizes:
            tv = np.array(sizes[size]["mask_tv"])
            room.append(Estimate.of(limit - tv))
            numbers[f"total variation, |H|={size}"] = Estimate.of(tv)
    numbers |= {f"excess in nats, |H|={s}": Estimate.of(n["held_out"]) for s, n in sizes.items()}
    return Outcome(all_above(room) if room else "undecided", numbers)


@STUDY.claim(
    id="trained-left/head-beats-majority",
    title="On pretrained models, head tuning beats the majority label at 25 and 30 states",
    source="control for Figure 3 (left)",
    statement=(
        "At 25 and 30 states a tuned head on a small pretrained model is more accurate than always "
        "answering the more frequent label, which the published head accuracies are not."
    ),
    criterion=f"At every |H| >= 25 {SAME}: holds; below 0 at some: fails; otherwise undecided.",
    trials=left_trials,
    kind="control",
)
def beats_majority(results: Results) -> Outcome:
    found = gains(results, "trained_head", "majority", 25)
    verdict: Verdict = all_above(found.values()) if found else "undecided"
    return Outcome(verdict, first_line(found, "head - majority"))


@STUDY.claim(
    id="trained-left/five-tokens",
    title="Five tokens and no language model beat head tuning of pretrained models",
    source="control for Figure 3 (left)",
    statement=(
        "Logistic regression on the one-hot code of the first five observed tokens is more accurate than "
        "head tuning on a pretrained model whenever states outnumber tokens."
    ),
    criterion=f"At every |H| > 10 {SAME}: holds; below 0 at some: fails; otherwise undecided.",
    trials=left_trials,
    kind="control",
)
def five_tokens(results: Results) -> Outcome:
    found = gains(results, "first_tokens", "trained_head")
    prompts = gains(results, "first_tokens", "trained_prompt")
    numbers = first_line(found, "five tokens - head")
    return Outcome(all_above(found.values()), numbers | first_line(prompts, "five tokens - prompt"))


@STUDY.claim(
    id="trained-left/better-models-better-heads",
    title="The lower the excess loss of a checkpoint, the better the best head on it",
    source="our own; pretraining quality against downstream accuracy",
    statement=(
        "Along the checkpoints of a pretraining run with more states than tokens, the test accuracy of "
        "the best linear head rises as the excess loss falls."
    ),
    criterion=(
        "The 95% interval over worlds of Spearman's correlation between excess loss and accuracy lies "
        "below 0: holds; above: fails; otherwise undecided."
    ),
    trials=left_trials,
    kind="experiment",
    figure=figures.excess_and_accuracy,
)
def better_models(results: Results) -> Outcome:
    from scipy.stats import rankdata

    def spearman(x: np.ndarray, y: np.ndarray) -> float:
        a, b = (rankdata(v) - (len(v) + 1) / 2 for v in (x, y))
        size = float(np.sqrt((a @ a) * (b @ b)))
        return float(a @ b) / size if size else 0.0

    found, early = [], []
    for result in results.values():
        arrays = result.arrays
        if result.numbers["hidden"] > TOKENS:
            found.append(spearman(arrays["checkpoint_excess"], arrays["checkpoint_best"].mean(1)))
            if "early_prompt" in result.numbers:
                late = result.numbers["trained_prompt"][0]
                early.append(late - np.array(result.numbers["early_prompt"]))
    minus = Estimate.of([-value for value in found])
    numbers: dict[str, Estimate | float] = {
        "correlation": Estimate(-minus.value, -minus.high, -minus.low, minus.count)
    }
    if early:
        for i, when in enumerate(("first early checkpoint", "second early checkpoint")):
            numbers[f"prompt, end - {when}, points"] = percent(np.array(early)[:, i])
    return Outcome(all_above([minus]), numbers)


@STUDY.claim(
    id="trained-left/prompt-shifts-the-prior",
    title="What a trained prompt does is mostly a change of the prior of the hidden state",
    source=f"{PAPER}, Lemma C.2, asked of trained models",
    statement=(
        "The exact model with another law of H_1 reproduces more than half of what a prompt changes in a "
        "pretrained model's output at the mask (total variation, mean over sequences)."
    ),
    criterion=(
        "The 95% interval over worlds with |H| > 10 of `1 - misfit / change` lies above 1/2: holds; "
        "below: fails; otherwise undecided."
    ),
    trials=left_trials,
    kind="experiment",
    figure=figures.prompt_effect,
)
def prior_shift(results: Results) -> Outcome:
    sizes = degenerate(by_size(results))
    change, misfit = (np.array(pooled(sizes, f"prompt_{n}")) for n in ("change", "misfit"))
    share = Estimate.of(1 - misfit / change)
    return Outcome(
        all_above([share], 0.5),
        {
            "share explained": share,
            "change (total variation)": Estimate.of(change),
            "misfit with the prompt": Estimate.of(misfit),
            "misfit without it": Estimate.of(pooled(sizes, "bare_misfit")),
        },
        remark="The misfit includes what the pretrained model gets wrong without any prompt.",
    )


@STUDY.claim(
    id="trained-left/prompt-keeps-what-matters",
    title="A trained prompt moves the posterior to the states that the label depends on",
    source=f"{PAPER}, Theorem 3.6, asked of trained models",
    statement=(
        "As the theorem's prompt does, a prompt trained on a pretrained model raises the posterior mass "
        "(with the prior that fits its effect best) of the states on which the label depends."
    ),
    criterion=(
        "The 95% interval over worlds with |H| > 10 of the rise lies above 0: holds; below: fails; "
        "otherwise undecided."
    ),
    trials=left_trials,
    kind="experiment",
)
def keeps_what_matters(results: Results) -> Outcome:
    sizes = degenerate(by_size(results))
    before, after, exact = (
        list(pooled(sizes, f"relevant_{n}")) for n in ("before", "after", "exact")
    )
    rise = paired(after, before)
    return Outcome(
        all_above([rise]),
        {
            "rise in points": rise,
            "rise on the exact model": paired(exact, before),
            "mass before": percent(before),
            "mass after": percent(after),
        },
    )
