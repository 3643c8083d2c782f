"""Models of natural language that a user names: external, undecided without one. Section 3.5.2 (R3)."""

from minicosm.lab import Outcome, Results, Table, all_above, all_of

from .. import readings
from ..experiment_trials import language_models
from ..study import STUDY, THESIS

claim = STUDY.section(__doc__)

GIVE = (
    "No model was given: --set models=NAME, a folder with a causal model and its tokenizer or a name that "
    "can be downloaded; needs minicosm[hf]."
)


@claim(
    id="flipflop/language-models",
    title="Natural language models answer less well the longer the string",
    source=f"{THESIS}, Section 3.5.2 (R3), Section 3.5.6.2 and Figure 3.24 (right)",
    statement=(
        "Language models can complete flip-flop strings told as sentences about a light, but not robustly: "
        "wrong answers become more frequent as the strings grow."
    ),
    criterion=(
        "For every model that is given, the share of right answers on the shortest strings less that on the "
        "longest: Newcombe's 95% interval lies above 0: holds; one below: fails; otherwise, or without a "
        "model, undecided."
    ),
    trials=language_models,
    kind="experiment",
)
def lengths(results: Results) -> Outcome:
    if not results:
        return all_of(numbers={"models": 0}, remark=GIVE)
    falls, lines = {}, []
    for name, result in results.items():
        right, count = result.numbers["right"], result.numbers["strings"]
        falls[name] = readings.share_less((right[0], count), (right[-1], count))
        lines += [(name, T, n / count) for T, n in zip(result.config.lengths, right, strict=True)]
    table = Table("Share of right answers", ("model", "tokens", "right"), tuple(lines))
    return all_of(all_above("share of right answers lost", falls), tables=(table,))
