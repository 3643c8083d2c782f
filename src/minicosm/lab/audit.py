"""A mutation test of claims: do their verdicts depend on what was measured?

For every claim the stored results are corrupted one entry at a time, and one column at a time, among
those that its check reads, and the check is run again. A claim whose verdict no corruption turns cannot
fail. An entry is
decisive if another number in its place turns the verdict; a NaN there must not leave it standing, nor
may a claim stand when everything it reads is NaN or is gone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from minicosm.lab.claims import Check, Claim, LabError, Outcome, ProfileName, Study, TrialResult
from minicosm.lab.fingerprints import Fingerprints
from minicosm.lab.reads import Path, watched
from minicosm.lab.store import Store, address

ENTRIES = 6  # of a column that are corrupted, the largest and the smallest among them
MOST = 3000  # corruptions of one claim
LARGEST = 1e300  # numbers beyond are left as they are
CORRUPTIONS = ("NaN", "sign", "shift", "flip", "empty")


@dataclass(frozen=True)
class Audited:
    """What corrupting its results did to a claim's verdict."""

    study: Study
    claim: Claim
    verdict: str  # of the results as they are, or "error"
    tried: Mapping[str, int] = field(default_factory=dict)
    turned: Mapping[str, int] = field(default_factory=dict)
    reached: tuple[str, ...] = ()  # verdicts that corrupted results came to
    raised: int = 0
    findings: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """What the store keeps of it and what `--json` prints."""
        return {
            "claim": self.claim.id,
            "verdict": self.verdict,
            "tried": dict(self.tried),
            "turned": dict(self.turned),
            "reached": list(self.reached),
            "raised": self.raised,
            "findings": list(self.findings),
        }


def audit(
    selection: Sequence[tuple[Study, Claim]], profile: ProfileName, seed: int, store: Store
) -> list[Audited]:
    """Audit the claims by their stored results; a claim whose trials are not stored is left out.

    What was found is kept with the claim's verdict, if there is one, for the lab book.
    """
    code = Fingerprints()
    done = []
    for study, claim in selection:
        trials = claim.trials(profile, seed)
        results: dict[str, TrialResult] = {}
        for name, trial in trials.items():
            kept = store.load(address(study.name, code.of_trial(trial), trial))
            if kept is not None:
                results[name] = replace(kept.result, config=trial.config)
        if len(results) < len(trials) or not trials:
            continue
        item = audit_claim(study, claim, results)
        verdict = store.load_verdict(profile, claim.id)
        if verdict is not None:
            store.save_verdict(
                profile, claim.id, {**verdict[0], "audit": item.record()}, verdict[1]
            )
        done.append(item)
    if not done:
        raise LabError(
            f"no results of these claims are stored at profile {profile} and seed {seed}; "
            f"check them first, by minicosm check with --profile {profile} --seed {seed}."
        )
    return done


def audit_claim(study: Study, claim: Claim, results: Mapping[str, TrialResult]) -> Audited:
    """Corrupt what the claim's check reads, entry by entry, and say what its verdict does."""
    read: set[Path] = set()
    verdict = _verdict(claim.check, watched(results, read))
    paths = sorted(path for path in read if not isinstance(_at(results, path), str))
    tried: Counter[str] = Counter()
    turned: Counter[str] = Counter()
    reached: set[str] = set()
    raised = 0
    findings: list[str] = []

    def attempt(kind: str, corrupted: Mapping[str, TrialResult]) -> str:
        nonlocal raised
        found = _verdict(claim.check, corrupted)
        tried[kind] += 1
        reached.add(found)
        if found == "error":
            raised += 1
        elif found != verdict:
            turned[kind] += 1
        return found

    blind: list[str] = []  # decisive entries at which a NaN leaves the verdict standing
    for path in paths:
        value = _at(results, path)
        for index in _entries(value):
            if tried.total() >= MOST:
                break
            found = {
                (kind, i): attempt(kind, _with(results, path, _replaced(value, index, other)))
                for i, (kind, other) in enumerate(_corrupted(_entry(value, index), value))
            }
            passes = any(kind == "NaN" and v == verdict for (kind, _), v in found.items())
            if passes and not set(found.values()) <= {verdict, "error"}:
                blind.append(".".join(path[2:]))
        if isinstance(value, list) and value:
            attempt("empty", _with(results, path, []))
            for shift in (_shift(value), -_shift(value)):
                attempt("shift", _with(results, path, _mapped(value, partial(_moved, by=shift))))
    if blind and verdict == "holds":
        findings.append(f"a NaN passes in {', '.join(dict.fromkeys(blind))}")
    for name, change in (("NaN", _all_nan), ("nothing", _emptied)):
        everything: Mapping[str, TrialResult] = results
        for path in paths:
            everything = _with(everything, path, change(_at(results, path)))
        after = attempt("NaN" if name == "NaN" else "empty", everything) if paths else ""
        if after == verdict != "undecided":
            findings.append(f"it {verdict} if all it reads is {name}")
    if verdict == "holds" and not turned.total():
        findings.insert(0, "cannot fail: no corruption turns its verdict")
    return Audited(
        study, claim, verdict, tried, turned, tuple(sorted(reached)), raised, tuple(findings)
    )


def _verdict(check: Check, results: Mapping[str, TrialResult]) -> str:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = check(results)
    except (Exception, SystemExit):
        return "error"
    return outcome.verdict if isinstance(outcome, Outcome) else "error"


def _at(results: Mapping[str, TrialResult], path: Path) -> Any:
    value: Any = getattr(results[path[0]], path[1])
    for key in path[2:]:
        value = value[key]
    return value.tolist() if hasattr(value, "tolist") else value


def _with(results: Mapping[str, TrialResult], path: Path, value: Any) -> dict[str, TrialResult]:
    """The results with another value at a path; nothing else is copied."""
    import numpy as np

    trial, part, *keys = path
    result = results[trial]
    whole: Any = dict(getattr(result, part))
    inner = whole
    for key in keys[:-1]:
        inner[key] = dict(inner[key])
        inner = inner[key]
    inner[keys[-1]] = np.array(value) if part == "arrays" else value
    return {**results, trial: replace(result, **{part: whole})}


Index = tuple[int, ...]


def _leaves(value: Any, at: Index = ()) -> Iterator[tuple[Index, Any]]:
    if isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _leaves(inner, (*at, i))
    else:
        yield at, value


def _entries(value: Any) -> list[Index]:
    """First, last, least, largest and a few more of the numbers and truth values in a value."""
    leaves = [(at, leaf) for at, leaf in _leaves(value) if isinstance(leaf, bool | int | float)]
    if len(leaves) <= ENTRIES:
        return [at for at, _ in leaves]
    order = sorted(leaves, key=lambda item: math.inf if item[1] != item[1] else item[1])
    step = len(leaves) // (ENTRIES - 3)
    picked = [leaves[0], leaves[-1], order[0], order[-1], *leaves[step // 2 :: step]]
    return list(dict.fromkeys(at for at, _ in picked))


def _entry(value: Any, index: Index) -> Any:
    for i in index:
        value = value[i]
    return value


def _replaced(value: Any, index: Index, other: Any) -> Any:
    if not index:
        return other
    copy = list(value)
    copy[index[0]] = _replaced(value[index[0]], index[1:], other)
    return copy


def _corrupted(entry: Any, column: Any) -> list[tuple[str, Any]]:
    """Other numbers, a NaN last."""
    if isinstance(entry, bool):
        return [("flip", not entry)]
    shift = _shift(column)
    base = entry if _number(entry) else 0.0
    moved = [("shift", base + shift), ("shift", base - shift)]
    return [*moved, *([("sign", -base)] if base else []), ("NaN", math.nan)]


def _shift(column: Any) -> float:
    """Ten times more than any number of the column is large."""
    sizes = (abs(leaf) for _, leaf in _leaves(column) if _number(leaf))
    return 10.0 * (1 + max(sizes, default=0.0))


def _moved(leaf: Any, by: float) -> Any:
    return leaf + by if _number(leaf) else leaf


def _number(leaf: Any) -> bool:
    """Whether it can be moved: no NaN, and not beyond what a float can be."""
    return (
        isinstance(leaf, int | float) and not isinstance(leaf, bool) and bool(abs(leaf) < LARGEST)
    )


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    return [_mapped(v, change) for v in value] if isinstance(value, list) else change(value)


def _all_nan(value: Any) -> Any:
    return _mapped(value, lambda leaf: math.nan if isinstance(leaf, bool | int | float) else leaf)


def _emptied(value: Any) -> Any:
    return [] if isinstance(value, list) else math.nan if _number(value) else value
