"""Backtracking at the places where bracket generators err: Tables 3.1, 3.2 and 3.4."""

from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, Table

from ...common.checks import Results
from ...common.statistics import all_above, all_within
from ..figures.trained import QUOTAS, STRIDES, stride_figure
from ..study import STUDY
from .trained_trials import PAPER, below, column, numbers, rising, sandbox, worst

FORCED = ("1", "2", "4", "8")


def _forced_table(results: Results) -> Table:
    rows = tuple(
        (name, Estimate.of(column(results, "forced", arm)), printed)
        for name, arm, printed in [
            ("nucleus .9", "nucleus", 0.331),
            ("argmax", "argmax", 0.334),
            *((f"stride {b}, then nucleus .9", b, p)
              for b, p in zip(FORCED, (0.366, 0.438, 0.591, 0.790), strict=True)),
        ]
    )  # fmt: skip
    return Table("One forced backtrack before a mistake", ("decoding", "accuracy", "source"), rows)


@STUDY.claim(
    id="guided/dyck-forced-stride",
    title="A longer forced backtrack repairs more mistakes",
    source=f"{PAPER}, Table 3.1",
    statement=(
        "At prefixes before which the generator erred, one forced backtrack with argmax refill and then "
        "nucleus sampling at .9 completes more strings rightly the longer its stride (1, 2, 4, 8)."
    ),
    criterion=(
        "The mean accuracy over generators rises with every stride (fails: a fall whose 95% interval "
        "excludes 0)."
    ),
    trials=sandbox,
    kind="experiment",
)
def forced_stride(results: Results) -> Outcome:
    columns = [column(results, "forced", b) for b in FORCED]
    found = {f"stride {b}": Estimate.of(c) for b, c in zip(FORCED, columns, strict=True)}
    return Outcome(rising(columns), found, (_forced_table(results),))


@STUDY.claim(
    id="guided/dyck-forced-gain",
    title="A backtrack of eight tokens repairs a quarter of the mistakes and more",
    source=f"{PAPER}, Table 3.1",
    statement="A forced backtrack of 8 tokens gains at least 0.25 in accuracy over nucleus sampling.",
    criterion="The 95% interval over generators of the gain lies above 0.25 (fails: below).",
    trials=sandbox,
    kind="experiment",
)
def forced_gain(results: Results) -> Outcome:
    gain = Estimate.of(column(results, "forced", "8") - column(results, "forced", "nucleus"))
    return Outcome(all_above([gain], 0.25), {"gain": gain}, (_forced_table(results),))


PRINTED = ((0.421, 0.500, 0.604), (0.457, 0.634, 0.762), (0.518, 0.762, 0.921))


def _cell(results: Results, mode: str, q: int, b: int) -> np.ndarray:
    return column(results, "quota", "accuracy", mode, q, b)


def _modes(results: Results) -> list[str]:
    return list(numbers(results)["quota"][0]["accuracy"])


def _quota_table(results: Results) -> Table:
    rows: list[tuple[Any, ...]] = []
    for mode in _modes(results):
        for i, q in enumerate(QUOTAS):
            rows.append((mode, q, *(Estimate.of(_cell(results, mode, i, j)) for j in range(3))))
    rows += [("source", q, *PRINTED[i]) for i, q in enumerate(QUOTAS)]
    baseline = {
        n: Estimate.of(column(results, "quota", "baseline", n)) for n in ("nucleus", "argmax")
    }
    return Table(
        "Accuracy at held-out prefixes before mistakes, which may be erased",
        ("mode", "quota", *(f"stride {b}" for b in STRIDES)),
        tuple(rows),
        note=(
            f"Without a verifier: nucleus .9 {baseline['nucleus'].value:.3f}, argmax "
            f"{baseline['argmax'].value:.3f}."
        ),
    )


@STUDY.claim(
    id="guided/dyck-stride-helps",
    title="With a trained verifier, a longer stride completes more strings rightly",
    source=f"{PAPER}, Table 3.2",
    statement=(
        "At held-out prefixes before mistakes, the accuracy of Algorithm 1 with a trained verifier rises "
        "with the stride (2, 4, 6) at every quota (1, 2, 4), whether refilled tokens are verified or not."
    ),
    criterion=(
        "In every row the mean accuracy over generators rises with the stride (fails: a fall whose 95% "
        "interval excludes 0)."
    ),
    trials=sandbox,
    figure=stride_figure,
    kind="figure",
)
def stride_helps(results: Results) -> Outcome:
    modes = [m for m in _modes(results) if "perfect" not in m]
    verdict = worst(
        rising(_cell(results, mode, i, j) for j in range(3)) for mode in modes for i in range(3)
    )
    found = {
        f"{mode}, quota 4, stride 6 minus 2": Estimate.of(
            _cell(results, mode, 2, 2) - _cell(results, mode, 2, 0)
        )
        for mode in modes
    }
    return Outcome(verdict, found, (_quota_table(results),))


def _quota_gain(results: Results, mode: str) -> Estimate:
    return Estimate.of(_cell(results, mode, 2, 2) - _cell(results, mode, 0, 2))


@STUDY.claim(
    id="guided/dyck-quota-checked",
    title="A larger quota helps if refilled tokens are verified too",
    source=f"{PAPER}, Table 3.2; the released code",
    statement=(
        "With the verifier consulted during the refill, a quota of 4 gains at least 0.1 in accuracy over "
        "a quota of 1 at stride 6."
    ),
    criterion="The 95% interval over generators of the gain lies above 0.1 (fails: below).",
    trials=sandbox,
    kind="experiment",
)
def quota_checked(results: Results) -> Outcome:
    gain = _quota_gain(results, "refill checked")
    return Outcome(all_above([gain], 0.1), {"gain": gain}, (_quota_table(results),))


@STUDY.claim(
    id="guided/dyck-quota-printed",
    title="As Algorithm 1 is printed, the quota hardly matters",
    source=f"{PAPER}, Algorithm 1 and Table 3.2",
    statement=(
        "With refilled tokens unverified, as printed, a quota of 4 and a quota of 1 differ by at most 0.1 "
        "in accuracy at stride 6: repeated backtracks cannot reach further back than the first."
    ),
    criterion="The 95% interval over generators of the difference lies within ±0.1 (fails: outside).",
    trials=sandbox,
    kind="experiment",
)
def quota_printed(results: Results) -> Outcome:
    gain = _quota_gain(results, "printed")
    return Outcome(all_within([gain], 0.1), {"difference": gain}, (_quota_table(results),))


@STUDY.claim(
    id="guided/dyck-backtracks-needed",
    title="Where the verifier fired, going on without backtracking does worse",
    source=f"{PAPER}, Table 3.4",
    statement=(
        "Completed without backtracking, by nucleus .9 or argmax, the prefixes that the verifier rejected "
        "come out right less often than with backtracking, at every quota and stride."
    ),
    criterion=(
        "In all 18 comparisons the mean over generators is lower (fails: the 95% interval of one difference "
        "lies above 0)."
    ),
    trials=sandbox,
    kind="experiment",
)
def needed(results: Results) -> Outcome:
    mode = numbers(results)["quota"][0]["fired_in"]
    rows: list[tuple[Any, ...]] = []
    differences = []
    for i, q in enumerate(QUOTAS):
        for j, b in enumerate(STRIDES):
            guided = _cell(results, mode, i, j)
            alone = [column(results, "quota", "unguided", n, i, j) for n in ("nucleus", "argmax")]
            differences += [Estimate.of(a - guided) for a in alone]
            fired = column(results, "quota", "fired", i, j)
            rows.append((q, b, float(fired.mean()), *map(Estimate.of, [*alone, guided])))
    table = Table(
        f"Prefixes that the verifier rejected ({mode})",
        ("quota", "stride", "rejected", "nucleus .9", "argmax", "with backtracking"),
        tuple(rows),
    )
    closest = max(differences, key=lambda e: e.value)
    return Outcome(below(differences), {"closest difference": closest}, (table,))
