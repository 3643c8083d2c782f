"""Figure 3 on pretrained Transformers, with the exact models of the same worlds."""

import numpy as np

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    all_above,
    all_below,
    all_of,
    all_within,
    at_least,
    paired,
    percent,
    unpaired,
)

from ..figures import trained as figures
from ..readings import (
    LEAST_LEAD,
    accuracy_table,
    differences,
    least_accuracy,
    pooled,
    same_size,
    vanilla,
    with_memory,
)
from ..study import PAPER, STUDY
from ..trials import STATES, TOKENS, trained_left, trained_right

claim = STUDY.section(__doc__)

LEFT, RIGHT = f"{PAPER}, Figure 3 (left)", f"{PAPER}, Figure 3 (right)"
TV_LIMITS = {8: 0.15, 25: 0.2}
SAME = "the 95% interval over worlds of the paired difference lies above 0"
DECIDES = f"{SAME}: holds; below 0 at some: fails; otherwise undecided."

COLUMNS = {
    "majority": "majority", "trained_head": "head", "trained_best": "best head", "trained_prompt": "prompt",
    "exact_head": "exact, head", "exact_best": "exact, best head", "exact_prompt": "exact, prompt",
    "first_tokens": "5 tokens", "histogram": "counts", "posterior": "posterior",
}  # fmt: skip


@claim(
    id="tuning/trained-prompt-beats-head",
    title="On pretrained models, prompt tuning beats head tuning from 8 states on",
    source=f"{LEFT} and Section 5",
    statement=(
        "On Transformers pretrained by masked prediction in worlds with 8 and more states, a soft prompt of "
        "20 rows with a linear head has a higher test accuracy than a linear head alone."
    ),
    criterion=rf"At every $|\mathcal{{H}}| \ge 8$ {DECIDES}",
    trials=trained_left,
    uses=("tuning/theorem-3.6",),
    kind="figure",
    figure=figures.trained_left,
)
def prompt_beats_head(results: Results) -> Outcome:
    table = accuracy_table(
        "Test accuracy, per cent; distance to the exact model",
        "$|H|$",
        {label: vanilla(results, name) for name, label in COLUMNS.items()},
        {
            "TV at the mask": vanilla(results, "mask_tv"),
            "excess, nats": vanilla(results, "held_out"),
        },
        "Means over worlds with 95% intervals; the tasks of a world are averaged first. “Best head” is "
        "logistic regression to convergence. The last three accuracies are regressions without a "
        "language model: on five tokens, on token counts, on the exact posterior of the state.",
    )
    gains = differences(results, "trained_prompt", "trained_head", least=8)
    return all_of(all_above("gain in points", gains), tables=(table,))


@claim(
    id="tuning/trained-gain-of-five",
    title="On pretrained models, the gain of a prompt is at least 5 points in every world that leaves room",
    source="reference values for Figure 3 (left) on small models",
    statement=(
        "In every world with 8 or 25 states in which the head on the exact model is below 90% and the "
        "majority rate below 70%, prompt tuning gains at least 5 points on head tuning."
    ),
    criterion="The least gain over these worlds, the tasks of a world averaged first, is at least 5 points.",
    trials=trained_left,
    kind="experiment",
)
def gain_of_five(results: Results) -> Outcome:
    prompt, head, exact, majority = (
        pooled({size: vanilla(results, name).get(size, []) for size in TV_LIMITS}, 0)
        for name in ("trained_prompt", "trained_head", "exact_head", "majority")
    )
    gains = [
        100 * (a - b)
        for a, b, reached, share in zip(prompt, head, exact, majority, strict=True)
        if reached < 0.9 and share < 0.7
    ]
    return all_of(at_least("least gain in points", gains, 5), numbers={"worlds": len(gains)})


@claim(
    id="tuning/trained-prompt-beats-best-head",
    title="On pretrained models, prompt tuning beats every linear head",
    source="our own, on the setting of Figure 3 (left)",
    statement=(
        "With more states than tokens the tuned prompt is also more accurate than the best linear head, "
        "found by logistic regression to convergence: the gain is not one of optimisation."
    ),
    criterion=rf"At every $|\mathcal{{H}}| > 10$ {DECIDES}",
    trials=trained_left,
    kind="experiment",
)
def beats_best(results: Results) -> Outcome:
    return all_above("gain in points", differences(results, "trained_prompt", "trained_best"))


@claim(
    id="tuning/trained-prompt-length",
    title="On pretrained models, one prompt row does as well as 20",
    source="our own; on the exact model all lengths are equal (tuning/prompt-length)",
    statement=(
        "With more states than tokens a prompt of one row is as accurate as one of 20 rows, within 5 points."
    ),
    criterion=(
        r"The 95% interval over worlds with $|\mathcal{H}| > 10$ of the paired difference on the first task "
        "lies within 5 points of 0: holds; outside: fails; otherwise undecided."
    ),
    trials=trained_left,
    uses=("tuning/prompt-length",),
    kind="experiment",
)
def prompt_length(results: Results) -> Outcome:
    runs = [r.numbers for r in results.values() if r.config.hidden > TOKENS]
    long = [run["trained_prompt"][0] for run in runs]
    short = [run["trained_prompt_1"][0] for run in runs]
    return all_of(
        all_within("20 rows less 1", paired(long, short), 5),
        numbers={"1 row": percent(short), "20 rows": percent(long)},
    )


@claim(
    id="tuning/trained-head-declines",
    title="On pretrained models, head tuning gets worse with the number of states",
    source=LEFT,
    statement="Head tuning is less accurate with more states than tokens than with 4 or 8 states.",
    criterion="Welch's 95% interval of the difference of means over worlds lies above 0 (below: fails).",
    trials=trained_left,
    kind="figure",
)
def head_declines(results: Results) -> Outcome:
    heads = vanilla(results, "trained_head")
    few, many = pooled(heads, 0, 8), pooled(heads)
    return all_of(
        all_above("drop in points", unpaired(few, many)),
        numbers={"few states": percent(few), "many states": percent(many)},
    )


@claim(
    id="tuning/trained-close-to-exact",
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
    trials=trained_left,
    kind="experiment",
    figure=figures.pretraining_curves,
)
def close(results: Results) -> Outcome:
    distances, excess = vanilla(results, "mask_tv"), vanilla(results, "held_out")
    parts = [
        all_below(f"total variation, $|H| = {size}$", Estimate.of(distances[size]), limit)
        for size, limit in TV_LIMITS.items()
        if size in distances
    ]
    shown = {f"excess in nats, $|H| = {size}$": Estimate.of(v) for size, v in excess.items()}
    return all_of(*parts, numbers=shown)


@claim(
    id="tuning/trained-head-beats-majority",
    title="On pretrained models, head tuning beats the majority label at 25 and 30 states",
    source="control for Figure 3 (left)",
    statement=(
        "At 25 and 30 states a tuned head on a small pretrained model is more accurate than always "
        "answering the more frequent label, which the published head accuracies are not."
    ),
    criterion=rf"At every $|\mathcal{{H}}| \ge 25$ {DECIDES}",
    trials=trained_left,
    kind="control",
)
def beats_majority(results: Results) -> Outcome:
    return all_above("head - majority", differences(results, "trained_head", "majority", 25))


@claim(
    id="tuning/trained-better-models-better-heads",
    title="The closer a checkpoint is to the exact model, the better the best head on it",
    source="our own; pretraining quality against downstream accuracy",
    statement=(
        "Along the checkpoints of a pretraining run with more states than tokens, the test accuracy of "
        "the best linear head rises as the excess loss falls, and as the total variation at the mask does."
    ),
    criterion=(
        "The 95% intervals over worlds of Spearman's correlations between excess loss and accuracy, and "
        "between total variation at the mask and accuracy, lie below 0: holds; one above: fails; "
        "otherwise undecided."
    ),
    trials=trained_left,
    kind="experiment",
    figure=figures.distance_and_accuracy,
)
def better_models(results: Results) -> Outcome:
    from scipy.stats import rankdata

    def spearman(x: np.ndarray, y: np.ndarray) -> float:
        a, b = (rankdata(v) - (len(v) + 1) / 2 for v in (x, y))
        size = float(np.sqrt((a @ a) * (b @ b)))
        return 0.0 if size == 0 else float(a @ b) / size

    runs = [r.arrays for r in results.values() if r.config.hidden > TOKENS]
    return all_of(
        *(
            all_below(
                f"correlation with the {text}",
                Estimate.of([spearman(run[name], run["checkpoint_best"].mean(1)) for run in runs]),
            )
            for name, text in (
                ("checkpoint_excess", "excess loss"),
                ("checkpoint_tv", "total variation at the mask"),
            )
        )
    )


@claim(
    id="tuning/trained-prompt-shifts-the-prior",
    title="What a trained prompt does is mostly a change of the prior of the hidden state",
    source=f"{PAPER}, Lemma C.2, asked of trained models",
    statement=(
        "The exact model with another law of $H_1$ reproduces more than half of what a prompt changes in a "
        "pretrained model's output at the mask (total variation, mean over sequences)."
    ),
    criterion=(
        r"The 95% interval over worlds with $|\mathcal{H}| > 10$ of $1 - \text{misfit}/\text{change}$ lies "
        "above $1/2$: holds; below: fails; otherwise undecided."
    ),
    trials=trained_left,
    uses=("tuning/lemmas-c.1-and-c.2",),
    kind="experiment",
    figure=figures.prompt_effect,
)
def prior_shift(results: Results) -> Outcome:
    change, misfit, bare = (
        np.array(pooled(vanilla(results, name)))
        for name in ("prompt_change", "prompt_misfit", "bare_misfit")
    )
    return all_of(
        all_above("share explained", Estimate.of(1 - misfit / change), 0.5),
        numbers={
            "change (total variation)": Estimate.of(change),
            "misfit with the prompt": Estimate.of(misfit),
            "misfit without it": Estimate.of(bare),
        },
        remark="The misfit includes what the pretrained model gets wrong without any prompt.",
    )


@claim(
    id="tuning/trained-prompt-keeps-what-matters",
    title="A trained prompt moves the posterior to the states that the label depends on",
    source=f"{PAPER}, Theorem 3.6, asked of trained models",
    statement=(
        "As the theorem's prompt does, a prompt trained on a pretrained model raises the posterior mass "
        "(with the prior that fits its effect best) of the states on which the label depends."
    ),
    criterion=(
        r"The 95% interval over worlds with $|\mathcal{H}| > 10$ of the rise lies above 0: holds; below: "
        "fails; otherwise undecided."
    ),
    trials=trained_left,
    uses=("tuning/theorem-3.6",),
    kind="experiment",
)
def keeps_what_matters(results: Results) -> Outcome:
    before, after, exact = (
        pooled(vanilla(results, f"relevant_{name}")) for name in ("before", "after", "exact")
    )
    return all_of(
        all_above("rise in points", paired(after, before)),
        numbers={
            "rise on the exact model": paired(exact, before),
            "mass before": percent(before),
            "mass after": percent(after),
        },
    )


# -- Figure 3, right --------------------------------------------------------------------------

MEMORY_COLUMNS = {
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


@claim(
    id="tuning/trained-attention",
    title="On pretrained models of worlds with memory an attention head is nearly always right",
    source=RIGHT,
    statement=(
        "On Transformers pretrained in worlds with memory (4 states) a tuned attention head has a test "
        "accuracy of at least 97% with 2 to 5 memory values and of at least 95% with 7."
    ),
    criterion=(
        r"The 95% interval over worlds of the mean accuracy lies above 97% at every $|\mathcal{M}| \le 5$, "
        "and above 95% beyond: holds; below at some: fails; otherwise undecided."
    ),
    trials=trained_right,
    uses=("tuning/theorem-4.3",),
    kind="figure",
    figure=figures.trained_right,
)
def near_perfect(results: Results) -> Outcome:
    table = accuracy_table(
        "Test accuracy, per cent; distance to the exact model",
        "$|M|$",
        {label: with_memory(results, name) for name, label in MEMORY_COLUMNS.items()}
        | {
            "no memory, head": same_size(results, "trained_head"),
            "no memory, exact head": same_size(results, "exact_head"),
        },
        {
            "TV at the mask": with_memory(results, "mask_tv"),
            "excess, nats": with_memory(results, "held_out"),
        },
        "Means over worlds with 95% intervals; the tasks of a world are averaged first. “No memory” is "
        "a vanilla HMM with $4|M|$ states and a tuned linear head.",
    )
    shown = {
        f"{name.replace('_', ' ')}, $|M| = {r.config.memory}$ #{r.config.member + 1}": np.mean(
            r.numbers[name]
        )
        for r in results.values()
        if getattr(r.config, "masked", 0)
        for name in ("masked_attention", "shown_attention", "masked_tv", "shown_tv")
    }
    return all_of(
        *(
            all_above(f"accuracy, $|M| = {m}$", percent(values), least_accuracy(m))
            for m, values in with_memory(results, "trained_attention").items()
        ),
        numbers={name: float(value) for name, value in shown.items()},
        tables=(table,),
    )


@claim(
    id="tuning/trained-memory-beats-vanilla",
    title="On pretrained models, worlds with memory are easier than vanilla worlds of the same size",
    source=RIGHT,
    statement=(
        "At 12 and more states in total, an attention head on a model pretrained with memory is more "
        "accurate than a linear head on one pretrained in a vanilla world with as many states, by at "
        "least 8 points."
    ),
    criterion=(
        r"Welch's 95% interval of the difference lies above 8 points at every size $\ge 12$: holds; below at "
        "one: fails; otherwise undecided."
    ),
    trials=trained_right,
    kind="figure",
)
def beats_vanilla(results: Results) -> Outcome:
    alone = same_size(results, "trained_head")
    found = {
        f"{STATES * m} states": unpaired(values, alone[m])
        for m, values in with_memory(results, "trained_attention").items()
        if STATES * m >= 12
    }
    return all_of(
        all_above("difference in points", found, LEAST_LEAD),
        remark="The two tasks differ: the memory is read from all positions, $H_1$ from its neighbours.",
    )
