"""Table 3.6 with a pretrained code model that a user names: external, undecided without one."""

import numpy as np

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    Table,
    above,
    all_above,
    all_of,
    at_least,
    only_if,
)

from ..readings import column, config, standard_error
from ..study import STUDY, THESIS
from ..trials import code_model

claim = STUDY.section(__doc__)

GIVE = (
    "No model was given: set model to a folder with a causal model and its tokenizer, or to a name that can "
    "be downloaded, such as codellama/CodeLlama-7b-hf, the source's (profile paper)."
)


def _arm(results: Results, name: str, what: str = "accuracy") -> np.ndarray:
    return column(results, "arms", name, what)


def _table(results: Results) -> Table:
    sizes, columns = config(results), ("accuracy", "correct", "calls")
    rows = tuple(
        (name, *(Estimate.of(_arm(results, name, what)) for what in columns)) for name in sizes.arms
    )
    note = f"{sizes.model}. Shares of all cases asked for; intervals over seeds."
    heads = ("arm", "different correct", "correct", "calls")
    return Table("Test cases of the model", heads, rows, note)


@claim(
    id="guided/code-model-backtracking",
    title="A pretrained code model writes more different correct test cases with backtracking",
    source=f"{THESIS}, Table 3.6",
    statement=(
        "Algorithm 1 (quota 4, stride 4, threshold .1, top_p .95) with a linear verifier on one layer writes "
        "more different correct test cases than nucleus sampling at top_p .95 (.714 and .660 in print)."
    ),
    criterion=(
        "The mean gain exceeds one standard error over seeds: holds; it is below 0: fails; otherwise, or "
        "without a model, undecided."
    ),
    trials=code_model,
    kind="experiment",
)
def backtracking(results: Results) -> Outcome:
    if not results:
        return all_of(numbers={"models": 0}, remark=GIVE)
    gain = _arm(results, "guided .95") - _arm(results, "baseline .95")
    mean = float(gain.mean())
    clear = above("mean gain less one standard error", mean - standard_error(gain), 0.0)
    outcome = only_if(
        clear.verdict == "holds" or mean < 0,
        "The gain is within one standard error.",
        at_least("mean gain", mean, 0.0),
    )
    return all_of(outcome, numbers={"gain": Estimate.of(gain)}, tables=(_table(results),))


@claim(
    id="guided/code-model-blocks",
    title="With a pretrained code model, block best-of-$n$ has fewer cases for its calls",
    source=f"{THESIS}, Table 3.6",
    statement=(
        "Block best-of-2 with a line verifier has fewer different correct cases for a call than Algorithm 1."
    ),
    criterion=(
        "The 95% interval over seeds of the difference for 1000 calls lies above 0: holds; below: fails; "
        "otherwise, or without a model, undecided."
    ),
    trials=code_model,
    kind="experiment",
)
def blocks(results: Results) -> Outcome:
    if not results:
        return all_of(numbers={"models": 0}, remark=GIVE)

    def yields(name: str) -> np.ndarray:
        return 1000 * _arm(results, name) / _arm(results, name, "calls")

    more = Estimate.of(yields("guided .95") - yields("block best of 2"))
    return all_of(all_above("more for 1000 calls", more), tables=(_table(results),))
