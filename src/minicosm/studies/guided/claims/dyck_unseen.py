"""Algorithm 1 on fresh prompts: Tables 3.3, 3.5 and 3.16, Figure 3.2, and learned values."""

from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, Results, Table, all_above, all_of, all_within

from ..figures.trained import trade_off_figure, unseen_figure
from ..readings import TOP_PS, column, config, counted, errors, names, share, total
from ..study import STUDY, THESIS
from ..trials import brackets
from .dyck_verifier import UNLEARNED, judged

claim = STUDY.section(__doc__)

JUDGED = "guided, all strings judged"
LEAST = {"0.9": 0.10, "1": 0.30}
"""Of the errors that are to be removed, by top_p."""


def _table(results: Results) -> Table:
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (arm, *(Estimate.of(100 * errors(results, arm, p)) for p in TOP_PS))
        for arm in names(results, "unseen")
    )
    return Table(
        "Wrong completions of fresh prompts, in per cent", ("decoding", "top_p .9", "top_p 1"), rows,
        note=(
            "Quota 4, stride 4; source: 2.40 and 1.79 at .9, 4.62 and 2.00 at 1, 2.46 without refill. The "
            "verifier is asked about strings of lengths of which it has examples (a hundredth of its "
            "mistakes or more). \"All strings judged\": about all; of lengths without examples, such as "
            "whole strings of a generator that never errs in its last bracket, it refuses nearly every "
            "one."
        ),
    )  # fmt: skip


def _removed(results: Results, arm: str, top_p: str) -> Estimate:
    """The share of the errors of plain sampling that an arm does not make."""
    before = errors(results, "baseline", top_p)
    return Estimate.of(1 - errors(results, arm, top_p) / np.where(before > 0, before, 1e-12))


@claim(
    id="guided/dyck-fewer-errors",
    title="Backtracking removes errors on fresh prompts",
    source=f"{THESIS}, Table 3.3",
    statement=(
        "On fresh prompts, which are kept, Algorithm 1 with quota 4 and stride 4 removes at least 10% of the "
        "errors of sampling at top_p .9, and at least 30% at top_p 1."
    ),
    criterion=(
        "The 95% intervals over generators of the two shares lie above 0.10 and 0.30 (fails: one below). "
        + UNLEARNED
    ),
    trials=brackets,
    uses=("guided/dyck-linear-verifier",),
    figure=unseen_figure,
    kind="experiment",
)
def fewer_errors(results: Results) -> Outcome:
    parts = [
        all_above(f"share of errors removed at top_p {p}", _removed(results, "guided", p), least)
        for p, least in LEAST.items()
    ]
    shown = {
        f"share removed at top_p {p}, all strings judged": _removed(results, JUDGED, p)
        for p in TOP_PS
    }
    return judged(results, all_of(*parts, numbers=shown, tables=(_table(results),)))


def _more_errors(results: Results, first: str, second: str) -> dict[str, Estimate]:
    """By how much the first arm errs more often than the second, in points, by top_p."""
    return {
        f"top_p {p}": Estimate.of(100 * (errors(results, first, p) - errors(results, second, p)))
        for p in TOP_PS
    }


@claim(
    id="guided/dyck-refill-argmax",
    title="Refilling with the likeliest tokens leaves fewer errors than drawing them",
    source=f"{THESIS}, Table 3.16",
    statement=(
        "With the trained verifier on fresh prompts, Algorithm 1 errs less often if erased places are "
        "refilled with the likeliest tokens than if they are drawn, at top_p .9 and at 1."
    ),
    criterion=(
        "Both 95% intervals over generators of the difference lie above 0 (fails: one below). "
        + UNLEARNED
    ),
    trials=brackets,
    kind="experiment",
)
def refill(results: Results) -> Outcome:
    saved = _more_errors(results, "no refill", "guided")
    outcome = all_above("points of errors saved by the refill", saved)
    return judged(results, all_of(outcome, tables=(_table(results),)))


@claim(
    id="guided/dyck-refill-perfect-verifier",
    title="With a perfect verifier the order reverses",
    source=f"added to {THESIS}, Table 3.16",
    statement=(
        "With the perfect verifier and erasable prompts, Algorithm 1 errs more often if erased places are "
        "refilled with the likeliest tokens than if they are drawn, at top_p .9 and at 1."
    ),
    criterion=(
        "Both 95% intervals over generators of the difference lie above 0 (fails: one below). "
        + UNLEARNED
    ),
    trials=brackets,
    kind="control",
)
def refill_perfect(results: Results) -> Outcome:
    made = _more_errors(results, "perfect, erasable", "perfect, erasable, no refill")
    outcome = all_above("points of errors made by the refill", made)
    return judged(results, all_of(outcome, tables=(_table(results),)))


def _words(error: str) -> str:
    """The name of an error, such as WRONG_END, for a reader."""
    return error.lower().replace("_", " ")


def _where(results: Results) -> Table:
    """How long the strings were that the verifier rejected, and those that it was trained on."""
    kinds = names(results, "where")
    counts = {kind: column(results, "where", kind).sum(axis=0) for kind in kinds}
    some = np.flatnonzero(np.sum(list(counts.values()), axis=0))
    return Table(
        "Tokens of the strings that the verifier rejected at top_p .9, all generators",
        ("tokens", *kinds),
        tuple((int(n), *(int(c[n]) for c in counts.values())) for n in some),
        note="Mistakes, and as many right prefixes of the same lengths, are what it is trained on.",
    )


@claim(
    id="guided/dyck-remaining-mistakes",
    title="What remains are wrong closing brackets, made with the quota spent",
    source=f"{THESIS}, Figure 3.2",
    statement=(
        "Of the mistakes that Algorithm 1 as printed leaves at top_p .9, at least 90% are wrong closing "
        "brackets, and most are in strings that have used their quota up."
    ),
    criterion=(
        "The 95% interval (Wilson, over the mistakes of all generators) of the first share lies above 0.9 "
        f"and that of the second above 0.5 (fails: one lies below). {UNLEARNED}"
    ),
    trials=brackets,
    uses=("guided/dyck-fewer-errors",),
    kind="figure",
)
def remaining(results: Results) -> Outcome:
    def among(what: str, *path: str) -> Estimate:
        return share(total(results, what, *path), total(results, what, "count"))

    kinds = {
        name: total(results, "remaining", "kinds", name)
        for name in names(results, "remaining", "kinds")
    }
    rows = [rows for one in results.values() for rows in one.numbers["remaining"]["rows"]]
    listed = [(_words(row[0]), *row[1:]) for i in counted(results) for row in rows[i]][:23]
    tables = (
        Table(
            "Kinds of mistakes",
            ("kind", "count"),
            tuple((_words(k), n) for k, n in kinds.items() if n),
        ),
        Table(
            "Mistakes that Algorithm 1 leaves",
            ("error", "prefix", "token", "probability", "likeliest", "probability", "quota left"),
            tuple(listed),
        ),
        _where(results),
    )
    shown: dict[str, Any] = {
        "wrong token is the likeliest": among("remaining", "argmax"),
        f"quota used up, {config(results).modes[-1]}": among("remaining_other", "exhausted"),
        "quota used up, all strings judged": among("remaining_judged", "exhausted"),
        "mistakes": total(results, "remaining", "count"),
    }
    wrong = among("remaining", "kinds", "WRONG_CLOSING_BRACKET")
    outcome = all_of(
        all_above("wrong closing brackets", wrong, 0.9),
        all_above("quota used up", among("remaining", "exhausted"), 0.5),
        numbers=shown,
        tables=tables,
    )
    return judged(results, outcome)


def _diversity(results: Results) -> Table:
    printed = {"guided": 5.52, "nucleus 0.9": 5.47, "nucleus 1": 5.84}
    arms = names(results, "diversity")
    rows = ((n, Estimate.of(column(results, "diversity", n)), printed.get(n, "")) for n in arms)
    return Table(
        "Different ones of ten completions of a fresh prompt",
        ("decoding", "different", "source"),
        tuple(rows),
        note=(
            "Ideal is the exact mean under the world's law for the same prompts. What made the source's "
            "numbers larger than it is not known to us."
        ),
    )


@claim(
    id="guided/dyck-diversity-kept",
    title="Backtracking costs no diversity",
    source=f"{THESIS}, Table 3.5",
    statement=(
        "Of ten completions of a fresh prompt, as many differ with Algorithm 1 (quota 4, stride 4) as "
        "with plain sampling at top_p 1, within 0.7."
    ),
    criterion=(
        f"The 95% interval over generators of the difference lies within ±0.7 (fails: outside). {UNLEARNED}"
    ),
    trials=brackets,
    kind="experiment",
)
def diversity(results: Results) -> Outcome:
    guided, plain = (column(results, "diversity", name) for name in ("guided", "nucleus 1"))
    kept = all_within("difference", Estimate.of(guided - plain), 0.7)
    return judged(results, all_of(kept, tables=(_diversity(results),)))


@claim(
    id="guided/dyck-diversity-ideal",
    title="Plain sampling is about as diverse as the world's own law",
    source=f"{THESIS}, Table 3.5; the ideal is exact",
    statement=(
        "The number of different completions among ten drawn at top_p 1 is within 15% of its exact mean "
        "under the world's law for the same prompts."
    ),
    criterion=(
        "The 95% interval over generators of ratio minus one lies within ±0.15 (fails: outside). "
        + UNLEARNED
    ),
    trials=brackets,
    uses=("guided/ideal-diversity",),
    kind="experiment",
)
def ideal(results: Results) -> Outcome:
    drawn, exact = column(results, "diversity", "nucleus 1"), column(results, "diversity", "ideal")
    ratio = all_within("ratio minus one", Estimate.of(drawn / exact - 1), 0.15)
    return judged(results, all_of(ratio, tables=(_diversity(results),)))


def _trade_off(results: Results) -> Table:
    columns = ("accuracy", "distinct", "calls", "verifier_calls", "unfinished")
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (name, *(Estimate.of(column(results, "trade_off", name, c)) for c in columns))
        for name in names(results, "trade_off")
    )
    heads = ("sampler", "accuracy", "different of ten", "calls", "verifier calls", "unfinished")
    return Table(
        "Samplers with learned verifiers and values on fresh prompts, top_p 1", heads, rows,
        note=(
            "Calls are for one completion. Rejection and Algorithm 1 ask the verifier about lengths that "
            "it knows, the rest the value about all. Exact leaves: a whole string has the value 1 if it "
            "is valid, else 0, as in line 2 of Algorithm 2. Tokenwise rejection cannot take an earlier "
            "token back: where the verifier refuses the one right bracket the token is drawn again until "
            "a rare wrong one is accepted; rows that find none end unfinished after 50 draws."
        ),
    )  # fmt: skip


@claim(
    id="guided/dyck-learned-value",
    title="The first leaf of VGB with a learned value errs less than the generator",
    source=f"{THESIS}, Algorithm 2 (Rohatgi et al. 2025); the task is that of Table 3.3",
    statement=(
        "With a value learned from the generator's own completions, and exact at the leaves as in line 2 of "
        "Algorithm 2, the first leaf of VGB is a valid string more often than a plain sample and than "
        "value-guided sampling with the same values, which cannot go back; and of ten completions as many "
        "differ as of plain samples, within 0.7."
    ),
    criterion=(
        "The 95% intervals over generators of both gains in accuracy lie above 0 and that of the change in "
        f"different completions within ±0.7 (fails: one lies below or outside). {UNLEARNED}"
    ),
    trials=brackets,
    uses=("guided/dyck-generators", "guided/first-leaf-law"),
    figure=trade_off_figure,
    kind="experiment",
)
def learned_value(results: Results) -> Outcome:
    def change(what: str, arm: str, other: str = "none") -> Estimate:
        first, second = (column(results, "trade_off", name, what) for name in (arm, other))
        return Estimate.of(first - second)

    vgb, exact = "VGB, first leaf", ", exact leaves"
    outcome = all_of(
        all_above("gain in accuracy", change("accuracy", vgb + exact)),
        all_above(
            "gain over value guidance",
            change("accuracy", vgb + exact, f"value-guided{exact}"),
        ),
        all_within("change in different completions", change("distinct", vgb + exact), 0.7),
        numbers={
            "gain in accuracy, leaves learned too": change("accuracy", vgb),
            "gain of value guidance, leaves learned too": change("accuracy", "value-guided"),
            "gain of Algorithm 1": change("accuracy", "Algorithm 1"),
            "calls of VGB": Estimate.of(column(results, "trade_off", vgb + exact, "calls")),
        },
        tables=(_trade_off(results),),
    )
    return judged(results, outcome)
