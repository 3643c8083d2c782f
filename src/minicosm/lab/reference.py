"""Reference results: what the last full run of every study found, kept in the repository.

    <study>/verdicts.json   the record of every claim, with the commit, the machine and the date
    <study>/trials.json.gz  of every trial the configuration, and the numbers that are read of it
    <study>/arrays.npz      likewise its arrays
    <study>/figures.zip     the figure of every claim

Of a trial only what checks and figures read is kept; arrays that only figures read have three digits. JSON
and plain arrays, nothing is unpickled.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from minicosm.lab.claims import Claim, LabError, ProfileName, Results, Study, TrialResult
from minicosm.lab.encoding import decode, encode
from minicosm.lab.figures import compact
from minicosm.lab.files import read_arrays, write_arrays
from minicosm.lab.fingerprints import Fingerprints
from minicosm.lab.reads import Path as Read
from minicosm.lab.reads import watched
from minicosm.lab.run import Checked, judge, recalled
from minicosm.lab.store import Store, address, commit

FOLDER = Path(__file__).parents[1] / "reference"
VERDICTS, TRIALS = "verdicts.json", "trials.json.gz"
DRAWN = 10  # bits of the numbers that are only drawn


class Reference:
    """The reference results in a folder; each file is read when it is first needed."""

    def __init__(self, folder: Path | str = FOLDER) -> None:
        self.folder = Path(folder)
        self._read: dict[Path, Any] = {}

    def recall(self, study: Study, claim: Claim) -> Checked | None:
        """The kept verdict of a claim, marked by `Checked.reference`; None if there is none."""
        record = self._json(study.name, VERDICTS).get(claim.id)
        if record is None:
            return None
        try:
            checked = recalled(study, claim, record["profile"], record, None)
            return replace(checked, reference=record["reference"], svg=self.figure(checked))
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
        kept = self._json(checked.study.name, TRIALS)
        arrays = self._arrays(checked.study.name)
        found = {}
        for name, key in checked.trials.items():
            trial = kept.get(key)
            config = trials[name].config
            if trial is None or trial["config"] != encode(config):
                return None
            found[name] = TrialResult(
                decode(trial["numbers"]),
                {array: arrays[f"{key}/{array}"] for array in trial["arrays"]},
                config,
            )
        return found

    def figure(self, checked: Checked) -> str | None:
        """The figure of a kept verdict as SVG, or None."""
        path = self.folder / checked.study.name / "figures.zip"
        if path not in self._read:
            try:
                with zipfile.ZipFile(path) as archive:
                    self._read[path] = {n: archive.read(n).decode() for n in archive.namelist()}
            except FileNotFoundError:
                self._read[path] = {}
            except (OSError, ValueError, zipfile.BadZipFile) as error:
                raise LabError(f"the reference results {path} cannot be read.") from error
        return self._read[path].get(_figure_name(checked.claim))

    def _json(self, study: str, name: str) -> dict[str, Any]:
        path = self.folder / study / name
        if path not in self._read:
            try:
                data = path.read_bytes()
                found = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
                if not isinstance(found, dict):
                    raise ValueError
            except FileNotFoundError:
                found = {}
            except (OSError, EOFError, ValueError, zlib.error) as error:
                raise LabError(f"the reference results {path} cannot be read.") from error
            self._read[path] = decode(found) if name == VERDICTS else found
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


class Size(NamedTuple):
    """The bytes of a study's reference results; how many claims were kept from the store, and how many
    were judged and drawn again from what was kept of them before."""

    bytes: int
    stored: int
    again: int


def keep(
    selection: Sequence[tuple[Study, Claim]],
    profile: ProfileName,
    store: Store,
    folder: Path | str = FOLDER,
) -> dict[str, Size]:
    """Make what the store has of these claims their reference results.

    Claims are judged and drawn by the present code, on the stored trials; where the store has no verdict, on
    what was kept of them before. What stands there of other claims of the studies stays: every claim has the
    commit, date and seed of its own run. A claim without any results, with options of its own, or whose check
    says something else of what is kept than of the whole, is refused, and nothing is changed.
    """
    reference = Reference(folder)
    code, sizes = Fingerprints(), {}
    for study in dict.fromkeys(study for study, _ in selection):
        chosen = [claim for each, claim in selection if each is study]
        known = {claim.id for claim in study.claims}
        verdicts = {
            claim: record
            for claim, record in reference._json(study.name, VERDICTS).items()
            if claim in known
        }
        trials = dict(reference._json(study.name, TRIALS))
        arrays = dict(reference._arrays(study.name))
        figures = {
            _figure_name(claim): svg
            for claim in study.claims
            if (before := reference.recall(study, claim)) is not None and (svg := before.svg)
        }
        reads = _Reads()
        whole: dict[str, TrialResult] = {}
        again = 0
        for claim in chosen:
            if stored := _stored(store, claim, profile):
                record, results = stored
                where = {"commit": _commit(record, code.of_claim(claim)), "machine": _machine()}
                record = {**record, "reference": where}
            else:
                record, results = _kept(reference, study, claim, profile)
                again += 1
            verdicts[claim.id], svg = _judged(study, claim, record, results, code)
            figures |= {_figure_name(claim): svg} if svg is not None else {}
            reads.watch(claim, results, record["trials"])
            for name, result in results.items():
                if stored or record["trials"][name] not in whole:
                    whole[record["trials"][name]] = result
        for claim in study.claims:  # others, which read the same trials
            before = None if claim in chosen else reference.recall(study, claim)
            if before is not None and whole.keys() & set(before.trials.values()):
                kept = reference.results(before)
                if kept is not None:
                    reads.watch(claim, kept, before.trials)
        arrays = {name: array for name, array in arrays.items() if name.split("/")[0] not in whole}
        for key, result in whole.items():
            facts = store.record(key) if store.load(key) is not None else trials[key]
            numbers, found = _pruned(result, reads.all[key])
            for name in found:
                if ("arrays", name) not in reads.decisive[key]:
                    found[name] = _rounded(found[name])
            trials[key] = {
                **{fact: facts[fact] for fact in ("function", "config", "seconds")},
                "numbers": encode(numbers),
                "arrays": sorted(found),
            }
            arrays |= {f"{key}/{name}": array for name, array in found.items()}
        used = {key for record in verdicts.values() for key in record["trials"].values()}
        trials = {key: trial for key, trial in trials.items() if key in used}
        arrays = {name: array for name, array in arrays.items() if name.split("/")[0] in used}
        new = Path(folder) / f".new-{study.name}"
        try:
            _write(new / study.name, verdicts, trials, arrays, figures)
            _verify(Reference(new), study, chosen)
            size = _install(new / study.name, Path(folder) / study.name)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        sizes[study.name] = Size(size, len(chosen) - again, again)
    return sizes


def _figure_name(claim: Claim) -> str:
    return claim.id.partition("/")[2].replace("/", "__") + ".svg"


def _stored(
    store: Store, claim: Claim, profile: ProfileName
) -> tuple[dict[str, Any], Results] | None:
    """The stored verdict of a claim and the results of its trials."""
    found = store.load_verdict(profile, claim.id)
    if found is None or found[0].get("verdict") is None:
        return None
    record = {**found[0], "profile": profile}
    if record.get("options"):
        raise LabError(f"{claim.id} was checked with --set; check it without, then keep it.")
    trials = claim.trials(profile, record["seed"])
    results = {}
    for name, key in record["trials"].items():
        kept = store.load(key)
        if kept is None or name not in trials:
            raise LabError(f"a trial of {claim.id} is not in the store; check it again.")
        results[name] = replace(kept.result, config=trials[name].config)
    return record, results


def _kept(
    reference: Reference, study: Study, claim: Claim, profile: ProfileName
) -> tuple[dict[str, Any], Results]:
    """The same of what was kept before."""
    before = reference.recall(study, claim)
    results = reference.results(before) if before is not None else None
    if before is None or results is None:
        state = (
            f"has no verdict at profile {profile}"
            if before is None
            else "has trials that are configured otherwise by now"
        )
        raise LabError(
            f"{claim.id} {state}; run minicosm check {claim.id} --profile {profile} first."
        )
    return dict(reference._json(study.name, VERDICTS)[claim.id]), results


def _judged(
    study: Study, claim: Claim, record: dict[str, Any], results: Results, code: Fingerprints
) -> tuple[dict[str, Any], str | None]:
    """The record and the figure as the present code makes them of the results: since these were computed
    a check may have changed, or the name of a number. If it would run the same trials, it is its own."""
    try:
        outcome, svg = judge(claim, results)
    except LabError as error:
        raise LabError(f"{claim.id} cannot be kept; {error}") from error
    base = recalled(study, claim, record["profile"], record, None)
    trials = claim.trials(record["profile"], record["seed"])
    if base.trials == {n: address(study.name, code.of_trial(t), t) for n, t in trials.items()}:
        base = replace(base, code_version=code.of_claim(claim))
    base = replace(base, outcome=outcome)
    extra = {"audit": record["audit"]} if "audit" in record else {}
    return {**base.record(), **extra, "reference": record["reference"]}, svg


class _Reads:
    """What is read of every trial: by checks, and by checks and figures."""

    def __init__(self) -> None:
        self.decisive: dict[str, set[Read]] = {}
        self.all: dict[str, set[Read]] = {}

    def watch(self, claim: Claim, results: Results, addresses: Mapping[str, str]) -> None:
        read: set[Read] = set()
        seen = watched(results, read)
        claim.check(seen)
        self._add(self.decisive, read, addresses)
        if claim.figure is not None:
            claim.figure(seen)
        self._add(self.all, read, addresses)

    def _add(self, to: dict[str, set[Read]], read: set[Read], addresses: Mapping[str, str]) -> None:
        for name, key in addresses.items():
            to.setdefault(key, set()).update(path[1:] for path in read if path[0] == name)


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


def _rounded(array: Any) -> Any:
    """Floats to `DRAWN` bits, in their own type, so that they are packed into half of the room."""
    import numpy as np

    if not np.issubdtype(array.dtype, np.floating) or array.dtype == np.float16:
        return array
    mantissa, exponent = np.frexp(array)
    return np.ldexp(np.round(mantissa * 2**DRAWN) / 2**DRAWN, exponent).astype(array.dtype)


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
            raise LabError(
                f"{claim.id} says something else of what is kept than of the whole: its check counts "
                "entries that it does not read."
            )


def _write(
    folder: Path,
    verdicts: Mapping[str, Any],
    trials: Mapping[str, Any],
    arrays: Mapping[str, Any],
    figures: Mapping[str, str],
) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(encode(verdicts), indent=0, allow_nan=False)
        (folder / VERDICTS).write_bytes((text + "\n").encode())
        text = json.dumps(trials, sort_keys=True, allow_nan=False)
        (folder / TRIALS).write_bytes(gzip.compress(text.encode(), mtime=0))
        write_arrays(folder / "arrays.npz", dict(sorted(arrays.items())), zipfile.ZIP_DEFLATED)
        with zipfile.ZipFile(folder / "figures.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(figures):  # dated 1980, so that the same figures are the same bytes
                svg = compact(figures[name])
                archive.writestr(zipfile.ZipInfo(name), svg, zipfile.ZIP_DEFLATED, 9)
    except OSError as error:
        raise LabError(f"cannot write {folder}: {error.strerror or error}.") from error


def _install(new: Path, folder: Path) -> int:
    """Put the files in place; their bytes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(new.iterdir()):
            os.replace(path, folder / path.name)
    except OSError as error:
        raise LabError(f"cannot write {folder}: {error.strerror or error}.") from error
    return sum(path.stat().st_size for path in folder.iterdir())


def _commit(record: Mapping[str, Any], code_version: str) -> str:
    """That of the run; for a verdict of an older lab, which did not note it, that of the present code if
    it is the same."""
    if record.get("commit"):
        return str(record["commit"])
    return commit() if record["code_version"] == code_version else f"before {commit()}"


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
