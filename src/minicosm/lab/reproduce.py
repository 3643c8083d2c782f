"""Run claims again and compare with their reference results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minicosm.lab.claims import Claim, LabError, Outcome, ProfileName, Study
from minicosm.lab.display import Display
from minicosm.lab.estimates import Estimate
from minicosm.lab.reference import Reference
from minicosm.lab.run import Checked, check
from minicosm.lab.store import Store


def reproduce(
    selection: Sequence[tuple[Study, Claim]],
    reference: Reference,
    store: Store,
    seed: int | None = None,
    jobs: int | None = None,
    display: Display | None = None,
) -> list[tuple[Checked, Checked]]:
    """Check claims at the profile and seed (or another seed) of their reference results: (kept, new)
    of each."""
    kept = [(reference.recall(study, claim), study, claim) for study, claim in selection]
    without = [claim.id for found, _, claim in kept if found is None]
    if without:
        more = f" and {len(without) - 1} more have" if len(without) > 1 else " has"
        raise LabError(f"{without[0]}{more} no reference result; check it by minicosm check.")
    pairs = []
    groups: dict[tuple[ProfileName, int], list[tuple[Checked, Study, Claim]]] = {}
    for found, study, claim in kept:
        if found is not None:
            key = (found.profile, found.seed if seed is None else seed)
            groups.setdefault(key, []).append((found, study, claim))
    for (profile, number), group in groups.items():
        again = check(
            [(study, claim) for _, study, claim in group],
            profile,
            number,
            store,
            jobs=jobs,
            display=display,
        )
        pairs += [(found, new) for (found, *_), new in zip(group, again, strict=True)]
    return pairs


def agreement(new: Outcome, kept: Outcome) -> list[tuple[str, Any, Any, bool]]:
    """(name, kept, new, whether they agree) of every number that both have, the verdict first.

    Estimates agree if their difference is at most the root of the sum of their squared half
    intervals, numbers to 1e-6 of their size or 1e-9, anything else if it is equal.
    """
    rows: list[tuple[str, Any, Any, bool]] = [
        ("verdict", kept.verdict, new.verdict, kept.verdict == new.verdict)
    ]
    for name, value in kept.numbers.items():
        if name in new.numbers:
            rows.append((name, value, new.numbers[name], _agree(value, new.numbers[name])))
    return rows


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, Estimate) and isinstance(other, Estimate):
        halves = [(each.high - each.low) / 2 for each in (one, other)]
        return abs(one.value - other.value) <= sum(half**2 for half in halves) ** 0.5 + 1e-9
    if isinstance(one, float) and isinstance(other, float | int):
        same = one == other or (one != one and other != other)
        return same or abs(one - other) <= max(1e-9, 1e-6 * abs(one))
    return bool(one == other)
