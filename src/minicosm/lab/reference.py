"""Reference results: what the last full run of every study found, kept in the repository.

    <study>/verdicts.json   the record of every claim, with the commit, the machine and the date
    <study>/trials.json     of every trial the configuration, and the numbers that are read of it
    <study>/arrays.npz      likewise its arrays

Of a trial only what checks and figures read is kept. JSON and plain arrays, nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minicosm.lab.claims import Claim, LabError, Outcome, ProfileName, Results, Study, TrialResult
from minicosm.lab.display import Display
from minicosm.lab.encoding import decode, encode
from minicosm.lab.reads import Path as Read
from minicosm.lab.reads import watched
from minicosm.lab.run import Checked, check, recalled
from minicosm.lab.store import Store, read_arrays, write_arrays

FOLDER = Path(__file__).parents[1] / "reference"


class Reference:
    """The reference results in a folder; each file is read when it is first needed."""

    def __init__(self, folder: Path | str = FOLDER) -> None:
        self.folder = Path(folder)
        self._read: dict[Path, Any] = {}

    def recall(self, study: Study, claim: Claim) -> Checked | None:
        """The kept verdict of a claim, marked by `Checked.reference`; None if there is none."""
        record = self._json(study.name, "verdicts").get(claim.id)
        if record is None:
            return None
        try:
            checked = recalled(study, claim, record["profile"], record, None)
            return replace(checked, reference=record["reference"])
        except (KeyError, TypeError, ValueError):
            raise LabError(
                f"the reference result of {claim.id} in {self.folder} is of another version; "
                "keep it again, by minicosm keep."
            ) from None

    def results(self, checked: Checked) -> Results | None:
        """What the check and the figure of a kept verdict read; None if its trials are configured
        otherwise by now."""
        try:
            trials = checked.claim.trials(checked.profile, checked.seed)
        except Exception:
            return None
        if set(trials) != set(checked.trials):
            return None
        kept = self._json(checked.study.name, "trials")
        arrays = self._arrays(checked.study.name)
        found = {}
        for name, address in checked.trials.items():
            trial = kept.get(address)
            config = trials[name].config
            if trial is None or trial["config"] != encode(config):
                return None
            found[name] = TrialResult(
                decode(trial["numbers"]),
                {array: arrays[f"{address}/{array}"] for array in trial["arrays"]},
                config,
            )
        return found

    def figure(self, checked: Checked) -> str | None:
        """The figure of a kept verdict as SVG, drawn now from what is kept; None if that cannot be."""
        from minicosm.lab.figures import house_style, to_svg

        results = self.results(checked) if checked.claim.figure is not None else None
        if results is None or checked.claim.figure is None:
            return None
        try:
            with house_style():
                return to_svg(checked.claim.figure(results), name=checked.claim.id)
        except (KeyError, TypeError, ValueError):  # the figure has come to read something else
            return None

    def _json(self, study: str, name: str) -> dict[str, Any]:
        path = self.folder / study / f"{name}.json"
        if path not in self._read:
            try:
                found = json.loads(path.read_text(encoding="utf-8"))
                if not isinstance(found, dict):
                    raise ValueError
            except FileNotFoundError:
                found = {}
            except (OSError, ValueError) as error:
                raise LabError(f"the reference results {path} cannot be read.") from error
            self._read[path] = decode(found) if name == "verdicts" else found
        return self._read[path]

    def _arrays(self, study: str) -> Mapping[str, Any]:
        path = self.folder / study / "arrays.npz"
        if path not in self._read:
            try:
                self._read[path] = read_arrays(path)
            except FileNotFoundError:
                self._read[path] = {}
            except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
                raise LabError(f"the reference results {path} cannot be read.") from error
        return self._read[path]


def keep(
    selection: Sequence[tuple[Study, Claim]],
    profile: ProfileName,
    store: Store,
    folder: Path | str = FOLDER,
) -> dict[str, int]:
    """Make the stored verdicts of these claims their reference results; bytes by study.

    What stands there of other claims of the studies stays. A claim without a verdict, with options of
    its own, or whose check says something else of what is kept than it said of the whole, is refused.
    """
    reference = Reference(folder)
    where = {"commit": _commit(), "machine": _machine()}
    sizes = {}
    for study in dict.fromkeys(study for study, _ in selection):
        chosen = [claim for each, claim in selection if each is study]
        known = {claim.id for claim in study.claims}
        verdicts = {
            claim: record
            for claim, record in reference._json(study.name, "verdicts").items()
            if claim in known
        }
        trials = dict(reference._json(study.name, "trials"))
        arrays = dict(reference._arrays(study.name))
        reads: dict[str, set[Read]] = {}
        whole: dict[str, TrialResult] = {}
        for claim in chosen:
            verdicts[claim.id] = {**_verdict(store, study, claim, profile), "reference": where}
            whole |= _read_by(store, study, claim, profile, reads)
        for address, result in whole.items():
            record = store.record(address)
            numbers, found = _pruned(result, reads[address])
            trials[address] = {
                "function": record["function"],
                "config": record["config"],
                "seconds": record["seconds"],
                "numbers": encode(numbers),
                "arrays": sorted(found),
            }
            arrays |= {f"{address}/{name}": array for name, array in found.items()}
        used = {address for record in verdicts.values() for address in record["trials"].values()}
        trials = {address: trial for address, trial in trials.items() if address in used}
        arrays = {name: array for name, array in arrays.items() if name.split("/")[0] in used}
        sizes[study.name] = _write(Path(folder) / study.name, verdicts, trials, arrays)
        _verify(Reference(folder), study, chosen)
    return sizes


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
    from minicosm.lab.estimates import Estimate

    if isinstance(one, Estimate) and isinstance(other, Estimate):
        halves = [(each.high - each.low) / 2 for each in (one, other)]
        return abs(one.value - other.value) <= sum(half**2 for half in halves) ** 0.5 + 1e-9
    if isinstance(one, float) and isinstance(other, float | int):
        same = one == other or (one != one and other != other)
        return same or abs(one - other) <= max(1e-9, 1e-6 * abs(one))
    return bool(one == other)


def _verdict(store: Store, study: Study, claim: Claim, profile: ProfileName) -> dict[str, Any]:
    found = store.load_verdict(profile, claim.id)
    if found is None or found[0].get("verdict") is None:
        raise LabError(
            f"{claim.id} has no verdict at profile {profile}; run "
            f"minicosm check {claim.id} --profile {profile} first."
        )
    record = found[0]
    if record.get("options"):
        raise LabError(f"{claim.id} was checked with --set; check it without, then keep it.")
    return {**record, "profile": profile}


def _read_by(
    store: Store,
    study: Study,
    claim: Claim,
    profile: ProfileName,
    reads: dict[str, set[Read]],
) -> dict[str, TrialResult]:
    """The results of a claim's trials by their addresses; adds to `reads` what is read of each."""
    record = _verdict(store, study, claim, profile)
    trials = claim.trials(profile, record["seed"])
    results = {}
    for name, address in record["trials"].items():
        kept = store.load(address)
        if kept is None or name not in trials:
            raise LabError(f"a trial of {claim.id} is not in the store; check it again.")
        results[name] = replace(kept.result, config=trials[name].config)
    read: set[Read] = set()
    seen = watched(results, read)
    claim.check(seen)
    if claim.figure is not None:
        claim.figure(seen)
    for name, address in record["trials"].items():
        reads.setdefault(address, set()).update(path[1:] for path in read if path[0] == name)
    return {address: results[name] for name, address in record["trials"].items()}


def _pruned(result: TrialResult, paths: Iterable[Read]) -> tuple[dict[str, Any], dict[str, Any]]:
    numbers: dict[str, Any] = {}
    arrays = {}
    for part, *keys in paths:
        if part == "arrays":
            arrays[keys[0]] = result.arrays[keys[0]]
            continue
        inner, source = numbers, result.numbers
        for key in keys[:-1]:
            inner, source = inner.setdefault(key, {}), source[key]
        inner[keys[-1]] = source[keys[-1]]
    return _in_order(numbers, result.numbers), arrays


def _in_order(part: dict[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """With the keys in the order that they had."""
    return {
        key: _in_order(part[key], value) if isinstance(value, Mapping) else part[key]
        for key, value in whole.items()
        if key in part
    }


def _verify(reference: Reference, study: Study, claims: Sequence[Claim]) -> None:
    """Refuse to keep what a check judges otherwise than it judged the whole."""
    for claim in claims:
        checked = reference.recall(study, claim)
        assert checked is not None and checked.outcome is not None
        results = reference.results(checked)
        if results is None:
            raise LabError(f"the trials of {claim.id} are configured otherwise by now; check it.")
        again = claim.check(results)
        if encode(again.numbers) != encode(checked.outcome.numbers):
            raise LabError(f"{claim.id} says something else of what is kept; check it again.")


def _write(
    folder: Path, verdicts: Mapping[str, Any], trials: Mapping[str, Any], arrays: Mapping[str, Any]
) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, document in (("verdicts", encode(verdicts)), ("trials", trials)):
            text = json.dumps(document, indent=0, sort_keys=name == "trials", allow_nan=False)
            _replace(folder / f"{name}.json", (text + "\n").encode())
        new = folder / ".new-arrays.npz"
        write_arrays(new, dict(sorted(arrays.items())), zipfile.ZIP_DEFLATED)
        os.replace(new, folder / "arrays.npz")
    except OSError as error:
        raise LabError(f"cannot write {folder}: {error.strerror or error}.") from error
    return sum(path.stat().st_size for path in folder.iterdir())


def _replace(path: Path, data: bytes) -> None:
    new = path.with_name(f".new-{path.name}")
    new.write_bytes(data)
    os.replace(new, path)


def _commit() -> str:
    """The commit of the source code, with a mark if files differ from it; or `unknown`."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty=, changed", "--abbrev=12", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return found.stdout.strip() if found.returncode == 0 else "unknown"


def _machine() -> str:
    """The processor and the number of cores that this process may use."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            models = [
                line.partition(":")[2].strip() for line in file if line.startswith("model name")
            ]
        name = models[0] if models else name
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} cores"
