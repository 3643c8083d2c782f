"""Table 3.6 with a pretrained code model that a user names: external, undecided without one."""

from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, ProfileName, Table, Trial, Verdict

from ...common.checks import Results
from ..study import STUDY
from .trained_trials import PAPER, standard_error

GIVE = (
    "No model was given: set model to a folder with a causal model and its tokenizer, or to a name that can "
    "be downloaded, such as codellama/CodeLlama-7b-hf, the source's (profile paper)."
)


def code_model(
    profile: ProfileName,
    seed: int,
    *,
    model: str | None = None,
    layer: int | None = None,
    names: int | None = None,
    texts: int | None = None,
    seeds: int | None = None,
    new_tokens: int | None = None,
    training_names: int | None = None,
    training_texts: int | None = None,
    dtype: str = "bfloat16",
    device: str = "",
) -> dict[str, Trial]:
    """The arms of a model; sizes are those of the profile where they are not set."""
    if model is None:
        return {}
    from ..experiments.code_model import CodeTask, run

    profiles: dict[str, dict[str, Any]] = {
        "smoke": {"names": 2, "texts": 1, "seeds": 2, "new_tokens": 32, "training_names": 8,
                  "training_texts": 1},
        "laptop": {"names": 4, "texts": 4, "seeds": 3, "training_names": 20, "training_texts": 4},
        "paper": {},
    }  # fmt: skip
    given = {
        "layer": layer, "names": names, "texts": texts, "seeds": seeds, "new_tokens": new_tokens,
        "training_names": training_names, "training_texts": training_texts,
    }  # fmt: skip
    sizes = profiles[profile] | {name: value for name, value in given.items() if value is not None}
    config = CodeTask(model=model, dtype=dtype, device=device, seed=seed, **sizes)
    return {"code": Trial(run, config)}


def _arm(results: Results, name: str, what: str = "accuracy") -> np.ndarray:
    return np.asarray(results["code"].numbers["arms"][name][what], float)


def _table(results: Results) -> Table:
    found = results["code"].numbers
    return Table(
        "Test cases of the model", ("arm", "different correct", "correct", "calls"),
        tuple(
            (name, *(Estimate.of(_arm(results, name, what)) for what in ("accuracy", "correct", "calls")))
            for name in found["arms"]
        ),
        note=f"{found['config']['model']}. Shares of all cases asked for; intervals over seeds.",
    )  # fmt: skip


@STUDY.claim(
    id="guided/code-model-backtracking",
    title="A pretrained code model writes more different correct test cases with backtracking",
    source=f"{PAPER}, Table 3.6",
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
    expected="undecided",
)
def backtracking(results: Results) -> Outcome:
    if not results:
        return Outcome("undecided", {"models": 0}, remark=GIVE)
    gain = _arm(results, "guided .95") - _arm(results, "baseline .95")
    verdict: Verdict = "undecided"
    if gain.mean() < 0:
        verdict = "fails"
    elif gain.mean() > standard_error(gain):
        verdict = "holds"
    return Outcome(verdict, {"gain": Estimate.of(gain)}, (_table(results),))


@STUDY.claim(
    id="guided/code-model-blocks",
    title="With a pretrained code model, block best-of-n finds fewer cases for its calls",
    source=f"{PAPER}, Table 3.6",
    statement=(
        "Block best-of-2 with a line verifier has fewer different correct cases for a call than Algorithm 1."
    ),
    criterion=(
        "The 95% interval over seeds of the difference for 1000 calls lies above 0: holds; below: fails; "
        "otherwise, or without a model, undecided."
    ),
    trials=code_model,
    kind="experiment",
    expected="undecided",
)
def blocks(results: Results) -> Outcome:
    if not results:
        return Outcome("undecided", {"models": 0}, remark=GIVE)

    def yields(name: str) -> np.ndarray:
        return 1000 * _arm(results, name) / _arm(results, name, "calls")

    more = Estimate.of(yields("guided .95") - yields("block best of 2"))
    verdict: Verdict = "holds" if more.low > 0 else "fails" if more.high < 0 else "undecided"
    return Outcome(verdict, {"more for 1000 calls": more}, (_table(results),))
