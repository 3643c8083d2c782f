"""Backtracking at the places where bracket generators err: Tables 3.1, 3.2 and 3.4."""

from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, Results, Table, all_above, all_of, all_within

from ..figures.trained import stride_figure
from ..readings import cell, column, config, lower, rising
from ..study import STUDY, THESIS
from ..trials import brackets
from .dyck_verifier import UNLEARNED, judged

claim = STUDY.section(__doc__)

FORCED = {1: 0.366, 2: 0.438, 4: 0.591, 8: 0.790}
"""Table 3.1, by stride."""
PRINTED = {1: (0.421, 0.500, 0.604), 2: (0.457, 0.634, 0.762), 4: (0.518, 0.762, 0.921)}
"""Table 3.2, by quota, for strides 2, 4, 6."""


def _forced_table(results: Results) -> Table:
    strides = config(results).forced
    rows = [("nucleus .9", "nucleus", 0.331), ("argmax", "argmax", 0.334)]
    rows += [(f"stride {b}, then nucleus .9", str(b), FORCED.get(b, np.nan)) for b in strides]
    cells = ((name, Estimate.of(column(results, "forced", arm)), p) for name, arm, p in rows)
    columns = ("decoding", "accuracy", "source")
    return Table("One forced backtrack before a mistake", columns, tuple(cells))


@claim(
    id="guided/dyck-forced-backtrack",
    title="A longer forced backtrack repairs more mistakes, one of eight tokens a quarter and more",
    source=f"{THESIS}, Table 3.1",
    statement=(
        "At prefixes before which the generator erred, one forced backtrack with argmax refill and then "
        "nucleus sampling at .9 completes more strings rightly the longer its stride (1, 2, 4, 8), and with "
        "a stride of 8 at least 0.25 more than nucleus sampling."
    ),
    criterion=(
        "The mean accuracy over generators rises with every stride (fails: a fall whose 95% interval "
        f"excludes 0), and the 95% interval of the gain lies above 0.25 (fails: below). {UNLEARNED}"
    ),
    trials=brackets,
    uses=("guided/dyck-generators",),
    kind="experiment",
)
def forced(results: Results) -> Outcome:
    columns = [column(results, "forced", str(b)) for b in config(results).forced]
    gain = Estimate.of(columns[-1] - column(results, "forced", "nucleus"))
    outcome = all_of(
        rising("rise with the stride", columns),
        all_above("gain of the longest stride", gain, 0.25),
        tables=(_forced_table(results),),
    )
    return judged(results, outcome)


def _quota_table(results: Results) -> Table:
    sizes = config(results)
    rows: list[tuple[Any, ...]] = []
    for mode in (*sizes.modes, "perfect, printed"):
        for q in sizes.quotas:
            data = (cell(results, "accuracy", mode, quota=q, stride=b) for b in sizes.strides)
            rows.append((mode, q, *map(Estimate.of, data)))
    rows += [("source", q, *printed) for q, printed in PRINTED.items()]
    baseline = (
        float(column(results, "quota", "baseline", n).mean()) for n in ("nucleus", "argmax")
    )
    return Table(
        "Accuracy at held-out prefixes before mistakes, which may be erased",
        ("mode", "quota", *(f"stride {b}" for b in sizes.strides)),
        tuple(rows),
        note="Without a verifier: nucleus .9 {:.3f}, argmax {:.3f}.".format(*baseline),
    )


@claim(
    id="guided/dyck-stride-helps",
    title="With a trained verifier, a longer stride completes more strings rightly",
    source=f"{THESIS}, Table 3.2",
    statement=(
        "At held-out prefixes before mistakes, the accuracy of Algorithm 1 with a trained verifier rises "
        "with the stride (2, 4, 6) at every quota (1, 2, 4), whether refilled tokens are verified or not."
    ),
    criterion=(
        "In every row the mean accuracy over generators rises with the stride (fails: a fall whose 95% "
        f"interval excludes 0). {UNLEARNED}"
    ),
    trials=brackets,
    uses=("guided/dyck-linear-verifier", "guided/dyck-forced-backtrack"),
    figure=stride_figure,
    kind="figure",
)
def stride_helps(results: Results) -> Outcome:
    sizes = config(results)
    parts = [
        rising(
            f"rise with the stride, {mode}, quota {q}",
            [cell(results, "accuracy", mode, quota=q, stride=b) for b in sizes.strides],
        )
        for mode in sizes.modes
        for q in sizes.quotas
    ]
    return judged(results, all_of(*parts, tables=(_quota_table(results),)))


def _quota_gain(results: Results, mode: str) -> Estimate:
    quotas, strides = config(results).quotas, config(results).strides
    last, first = (
        cell(results, "accuracy", mode, quota=q, stride=strides[-1])
        for q in (quotas[-1], quotas[0])
    )
    return Estimate.of(last - first)


@claim(
    id="guided/dyck-quota-checked",
    title="A larger quota helps if refilled tokens are verified too",
    source=f"{THESIS}, Table 3.2; the released code",
    statement=(
        "With the verifier consulted during the refill, a quota of 4 gains at least 0.1 in accuracy over "
        "a quota of 1 at stride 6."
    ),
    criterion=(
        f"The 95% interval over generators of the gain lies above 0.1 (fails: below). {UNLEARNED}"
    ),
    trials=brackets,
    kind="experiment",
)
def quota_checked(results: Results) -> Outcome:
    gain = all_above("gain", _quota_gain(results, "refill checked"), 0.1)
    return judged(results, all_of(gain, tables=(_quota_table(results),)))


@claim(
    id="guided/dyck-quota-printed",
    title="As Algorithm 1 is printed, the quota hardly matters",
    source=f"{THESIS}, Algorithm 1 and Table 3.2",
    statement=(
        "With refilled tokens unverified, as printed, a quota of 4 and a quota of 1 differ by at most 0.1 "
        "in accuracy at stride 6: repeated backtracks cannot reach further back than the first."
    ),
    criterion=(
        f"The 95% interval over generators of the difference lies within ±0.1 (fails: outside). {UNLEARNED}"
    ),
    trials=brackets,
    kind="experiment",
)
def quota_printed(results: Results) -> Outcome:
    difference = all_within("difference", _quota_gain(results, "printed"), 0.1)
    return judged(results, all_of(difference, tables=(_quota_table(results),)))


@claim(
    id="guided/dyck-backtracks-needed",
    title="Where the verifier fired, going on without backtracking does worse",
    source=f"{THESIS}, Table 3.4",
    statement=(
        "Completed without backtracking, by nucleus .9 or argmax, the prefixes that the verifier rejected "
        "come out right less often than with backtracking, at every quota and stride."
    ),
    criterion=(
        "In all 18 comparisons the mean over generators is lower (fails: the 95% interval of one difference "
        f"lies above 0). {UNLEARNED}"
    ),
    trials=brackets,
    uses=("guided/dyck-stride-helps",),
    kind="experiment",
)
def needed(results: Results) -> Outcome:
    sizes = config(results)
    mode = sizes.modes[-1]
    rows: list[tuple[Any, ...]] = []
    differences = {}
    for q in sizes.quotas:
        for b in sizes.strides:
            guided = cell(results, "accuracy", mode, quota=q, stride=b)
            alone = {
                name: cell(results, "unguided", name, quota=q, stride=b)
                for name in ("nucleus", "argmax")
            }
            for name, data in alone.items():
                differences[f"{name}, quota {q}, stride {b}"] = Estimate.of(data - guided)
            fired = cell(results, "fired", quota=q, stride=b)
            rows.append((q, b, float(fired.mean()), *map(Estimate.of, [*alone.values(), guided])))
    columns = ("quota", "stride", "rejected", "nucleus .9", "argmax", "with backtracking")
    shown = Table(f"Prefixes that the verifier rejected ({mode})", columns, tuple(rows))
    return judged(results, all_of(lower("difference", differences), tables=(shown,)))
