"""Algorithm 1 on fresh prompts: Tables 3.3, 3.5 and 3.16, Figure 3.2, and learned values."""

from collections import Counter
from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, Table

from ...common.checks import Results
from ...common.statistics import all_above, all_within
from ..figures.trained import trade_off_figure, unseen_figure
from ..study import STUDY
from .trained_trials import PAPER, column, numbers, sandbox, share, worst

UNASKED = "guided, whole strings accepted"


def _errors(results: Results, arm: str, top_p: str) -> np.ndarray:
    return column(results, "unseen", f"{arm} {top_p}")


def _table(results: Results) -> Table:
    arms = [
        name.removesuffix(" 0.9") for name in numbers(results)["unseen"][0] if name.endswith(" 0.9")
    ]
    rows = tuple(
        (arm, *(Estimate.of(100 * _errors(results, arm, p)) for p in ("0.9", "1"))) for arm in arms
    )
    return Table(
        "Wrong completions of fresh prompts, in per cent", ("decoding", "top_p .9", "top_p 1"), rows,
        note=(
            "Quota 4, stride 4; source: 2.40 and 1.79 at .9, 4.62 and 2.00 at 1, 2.46 without refill. "
            "The verifier is trained on strings cut behind a first error and on right prefixes of the same "
            "lengths, so it has seen no whole string, and its score of one says nothing. Where it is low, "
            "every string that comes to its end is taken back and refilled until the quota is spent. "
            "\"Whole strings accepted\" is Algorithm 1 with a verifier that is not asked about these."
        ),
    )  # fmt: skip


def _reduces(top_p: str, least: float) -> None:
    def check(results: Results) -> Outcome:
        before, after = _errors(results, "baseline", top_p), _errors(results, "guided", top_p)
        saved = Estimate.of(1 - after / np.maximum(before, 1e-12))
        return Outcome(
            all_above([saved], least),
            {
                "share of errors removed": saved,
                "errors without, per cent": Estimate.of(100 * before),
                "errors with, per cent": Estimate.of(100 * after),
                "share removed, whole strings accepted": Estimate.of(
                    1 - _errors(results, UNASKED, top_p) / np.maximum(before, 1e-12)
                ),
            },
            (_table(results),),
        )

    STUDY.claim(
        id=f"guided/dyck-fewer-errors-{'nucleus' if top_p == '0.9' else 'full'}",
        title=f"Backtracking removes errors on fresh prompts at top_p {top_p}",
        source=f"{PAPER}, Table 3.3",
        statement=(
            f"On fresh prompts, which are kept, Algorithm 1 with quota 4 and stride 4 removes at least "
            f"{least:.0%} of the errors of sampling at top_p {top_p}."
        ),
        criterion=f"The 95% interval over generators of the share lies above {least} (fails: below).",
        trials=sandbox,
        figure=unseen_figure,
        kind="experiment",
    )(check)


_reduces("0.9", 0.10)
_reduces("1", 0.30)


@STUDY.claim(
    id="guided/dyck-refill-argmax",
    title="Refilling with the likeliest tokens leaves fewer errors than drawing them",
    source=f"{PAPER}, Table 3.16",
    statement=(
        "With the trained verifier on fresh prompts, Algorithm 1 errs less often if erased places are "
        "refilled with the likeliest tokens than if they are drawn, at top_p .9 and at 1."
    ),
    criterion="Both 95% intervals over generators of the difference lie above 0 (fails: one below).",
    trials=sandbox,
    kind="experiment",
)
def refill(results: Results) -> Outcome:
    found = {
        f"errors saved by the refill at top_p {p}, points": Estimate.of(
            100 * (_errors(results, "no refill", p) - _errors(results, "guided", p))
        )
        for p in ("0.9", "1")
    }
    return Outcome(all_above(found.values()), found, (_table(results),))


@STUDY.claim(
    id="guided/dyck-refill-perfect-verifier",
    title="With a perfect verifier the order reverses",
    source="added to Table 3.16",
    statement=(
        "With the perfect verifier and erasable prompts, Algorithm 1 errs more often if erased places are "
        "refilled with the likeliest tokens than if they are drawn, at top_p .9 and at 1."
    ),
    criterion="Both 95% intervals over generators of the difference lie above 0 (fails: one below).",
    trials=sandbox,
    kind="control",
)
def refill_perfect(results: Results) -> Outcome:
    arms = "perfect, erasable", "perfect, erasable, no refill"
    found = {
        f"errors made by the refill at top_p {p}, points": Estimate.of(
            100 * (_errors(results, arms[0], p) - _errors(results, arms[1], p))
        )
        for p in ("0.9", "1")
    }
    return Outcome(all_above(found.values()), found, (_table(results),))


@STUDY.claim(
    id="guided/dyck-remaining-mistakes",
    title="What remains are wrong closing brackets, made with the quota spent",
    source=f"{PAPER}, Figure 3.2",
    statement=(
        "Of the mistakes that Algorithm 1 as printed leaves at top_p .9, at least 90% are wrong closing "
        "brackets, and most are in strings that have used their quota up."
    ),
    criterion=(
        "The 95% interval (Wilson, over the mistakes of all generators) of the first share lies above 0.9 "
        "and that of the second above 0.5 (fails: one lies below)."
    ),
    trials=sandbox,
    kind="figure",
)
def remaining(results: Results) -> Outcome:
    found, other = numbers(results)["remaining"], numbers(results)["remaining_other"]
    unasked = numbers(results)["remaining_unasked"]
    count = sum(part["count"] for part in found)
    kinds: Counter[str] = Counter()
    for part in found:
        kinds.update(part["kinds"])

    def among(parts: list[Any], what: str) -> int:
        return sum(round(part[what] * part["count"]) for part in parts if part["count"])

    spent, argmax = among(found, "exhausted"), among(found, "argmax")
    elsewhere = share(among(other, "exhausted"), sum(part["count"] for part in other))
    closing, exhausted = share(kinds["WRONG_CLOSING_BRACKET"], count), share(spent, count)
    rows = [tuple(row) for part in found for row in part["rows"]][:23]
    tables = (
        Table("Kinds of mistakes", ("kind", "count"), tuple(sorted(kinds.items()))),
        Table(
            "Mistakes that Algorithm 1 leaves",
            ("error", "prefix", "token", "probability", "likeliest", "probability", "quota left"),
            tuple(rows),
        ),
    )
    named: dict[str, Any] = {
        "wrong closing brackets": closing,
        "quota used up": exhausted,
        "wrong token is the likeliest": share(argmax, count),
        f"quota used up, {numbers(results)['other_mode'][0]}": elsewhere,
        "quota used up, whole strings accepted": share(
            among(unasked, "exhausted"), sum(part["count"] for part in unasked)
        ),
        "rejected strings that were whole": Estimate.of(column(results, "fired_at_end")),
        "mistakes": count,
    }
    return Outcome(worst([all_above([closing], 0.9), all_above([exhausted], 0.5)]), named, tables)


@STUDY.claim(
    id="guided/dyck-diversity-kept",
    title="Backtracking costs no diversity",
    source=f"{PAPER}, Table 3.5",
    statement=(
        "Of ten completions of a fresh prompt, as many differ with Algorithm 1 (quota 4, stride 4) as "
        "with plain sampling at top_p 1, within 0.7."
    ),
    criterion="The 95% interval over generators of the difference lies within ±0.7 (fails: outside).",
    trials=sandbox,
    kind="experiment",
)
def diversity(results: Results) -> Outcome:
    found = {
        n: column(results, "diversity", n) for n in ("guided", "nucleus 1", "nucleus 0.9", "ideal")
    }
    change = Estimate.of(found["guided"] - found["nucleus 1"])
    named = {"difference": change} | {name: Estimate.of(c) for name, c in found.items()}
    return Outcome(all_within([change], 0.7), named)


@STUDY.claim(
    id="guided/dyck-diversity-ideal",
    title="Plain sampling is about as diverse as the world's own law",
    source=f"{PAPER}, Table 3.5; the ideal is exact",
    statement=(
        "The number of different completions among ten drawn at top_p 1 is within 15% of its exact mean "
        "under the world's law for the same prompts."
    ),
    criterion="The 95% interval over generators of ratio minus one lies within ±0.15 (fails: outside).",
    trials=sandbox,
    kind="experiment",
)
def ideal(results: Results) -> Outcome:
    drawn, exact = column(results, "diversity", "nucleus 1"), column(results, "diversity", "ideal")
    ratio = Estimate.of(drawn / exact - 1)
    named = {"ratio minus one": ratio, "drawn": Estimate.of(drawn), "exact": Estimate.of(exact)}
    return Outcome(all_within([ratio], 0.15), named)


def _trade_off(results: Results) -> Table:
    columns = ("accuracy", "distinct", "calls", "verifier_calls", "unfinished")
    rows = tuple(
        (name, *(Estimate.of(column(results, "trade_off", name, c)) for c in columns))
        for name in numbers(results)["trade_off"][0]
    )
    heads = ("sampler", "accuracy", "different of ten", "calls", "verifier calls", "unfinished")
    return Table(
        "Samplers with learned verifiers and values on fresh prompts, top_p 1", heads, rows,
        note=(
            "Calls are for one completion. Rejection and Algorithm 1 ask the verifier, the rest the value. "
            "Tokenwise rejection cannot take an earlier token back. If the verifier refuses the end token "
            "(of which it has seen none in training) no string is ever finished; with exact leaves it "
            "is asked about unfinished strings only. Where it refuses the one right bracket the token is "
            "drawn again until a rare wrong one is accepted, and from there no token is right: "
            "such rows end unfinished after 50 draws."
        ),
    )  # fmt: skip


@STUDY.claim(
    id="guided/dyck-learned-value",
    title="The first leaf of VGB with a learned value errs less than the generator",
    source="Rohatgi et al. 2025, as told in Li's thesis, Section 3.3; the task is that of Table 3.3",
    statement=(
        "With a value learned from the generator's own completions, the first leaf of VGB is a valid "
        "string more often than a plain sample, and of ten completions as many differ, within 0.7."
    ),
    criterion=(
        "The 95% interval over generators of the gain in accuracy lies above 0 and that of the change in "
        "different completions within ±0.7 (fails: one lies below or outside)."
    ),
    trials=sandbox,
    figure=trade_off_figure,
    kind="experiment",
)
def learned_value(results: Results) -> Outcome:
    def change(what: str, arm: str = "VGB, first leaf") -> Estimate:
        return Estimate.of(
            column(results, "trade_off", arm, what) - column(results, "trade_off", "none", what)
        )

    gain, spread = change("accuracy"), change("distinct")
    named = {
        "gain in accuracy": gain,
        "change in different completions": spread,
        "gain, plain value guidance": change("accuracy", "value-guided"),
        "gain, Algorithm 1": change("accuracy", "Algorithm 1"),
        "calls of VGB": Estimate.of(column(results, "trade_off", "VGB, first leaf", "calls")),
    }
    verdict = worst([all_above([gain]), all_within([spread], 0.7)])
    return Outcome(verdict, named, (_trade_off(results),))
