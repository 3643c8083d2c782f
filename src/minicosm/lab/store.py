"""Where trials and verdicts are kept: folders that appear complete, by one rename, or not at all.

    trials/<address>-<function>/result.json, arrays.npz
    verdicts/<profile>/<claim>.json, <claim>.svg
    work/<address>/ the checkpoints of a trial that takes a folder, until its result is stored
    corrupt/        what could not be read, kept aside

Nothing is appended to and nothing is locked, so several processes, on one machine or on a network
file system, may use one store; the worst that a race costs is a trial computed twice. Arrays and
numbers are read without pickle.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicosm.lab.checking import (
    check_choice,
    check_flag,
    check_function,
    check_kind,
    check_mapping,
    check_number,
    check_text,
    shown,
)
from minicosm.lab.claims import PROFILES, LabError, ProfileName, Trial, TrialResult
from minicosm.lab.encoding import canonical, decode, encode
from minicosm.lab.files import (
    NEW,
    Corrupt,
    read_arrays,
    sealed,
    sha256,
    sync,
    unsealed,
    write,
    write_arrays,
    write_atomically,
)

if TYPE_CHECKING:
    pass

READING = (KeyError, TypeError, ValueError, OverflowError)
"""What reading an intact file raises that another version wrote."""
LEFTOVER_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class Kept:
    """A stored trial: its result and the seconds that it took when it ran."""

    result: TrialResult
    seconds: float


def home() -> Path:
    """`$MINICOSM_HOME`, or `.minicosm` in the current folder."""
    return Path(os.environ.get("MINICOSM_HOME") or ".minicosm")


def to_stderr(sentence: str) -> None:
    print(f"minicosm: {sentence}", file=sys.stderr)


@cache
def commit() -> str:
    """The commit of the source code, with a mark if files differ from it; `unknown` outside of its
    repository (an environment may stand in that of someone else)."""
    import subprocess

    def git(*words: str) -> str:
        found = subprocess.run(
            ["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=20
        )
        return found.stdout.strip() if found.returncode == 0 else ""

    try:
        if git("rev-parse", "--show-prefix") != "src/minicosm/lab/":
            return "unknown"
        words = ("describe", "--always", "--dirty=, changed", "--abbrev=12", "--exclude=*")
        return git(*words) or "unknown"
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on, not importing them."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in ("minicosm", "jax", "numpy", "scipy"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def address(study: str, code_version: str, trial: Trial) -> str:
    """Hash of what determines a trial's result: study, code (see `Code`), function, config.

    It ends in the function's name, so that a folder can be recognised by eye.
    """
    function = trial.run
    name = getattr(function, "__qualname__", "")
    if not name or "<" in name:
        raise LabError(
            f"a trial of {study!r} runs {function!r}; it must be a named module-level function"
        )
    try:
        config = encode(trial.config, f"the config of {name}")
    except TypeError as error:
        raise LabError(f"{error}.") from None
    identity = {
        "study": study,
        "code": code_version,
        "function": f"{function.__module__}.{name}",
        "config": config,
    }
    return f"{sha256(canonical(identity).encode())}-{name}"


class Store:
    """A folder of trials and verdicts. Reading makes nothing; `prepare` it before writing."""

    def __init__(self, path: Path | str, warn: Callable[[str], None] = to_stderr) -> None:
        check_kind("path", path, (str, os.PathLike), "the path of a folder")
        check_function("warn", warn)
        self.path = Path(path)
        self.warn = warn
        with self._clearly("use"):
            if self.path.exists() and not self.path.is_dir():
                raise LabError(f"the store {self.path} is a file; it must be a folder.")

    def prepare(self) -> None:
        """Make the folder, prove it writable before hours are spent, and remove old leftovers."""
        with self._clearly("use"):
            for folder in ("trials", "verdicts"):
                (self.path / folder).mkdir(parents=True, exist_ok=True)
            probe = self.path / "trials" / f"{NEW}{uuid.uuid4().hex}"
            probe.mkdir()
            probe.rmdir()
            self._remove_leftovers()

    def load(self, trial_address: str) -> Kept | None:
        """The stored trial, or None; an unreadable one is set aside, named, and counts as None."""
        folder = self._folder(trial_address)
        with self._clearly("read"):
            try:
                return self._read(folder, trial_address)
            except FileNotFoundError:
                return None
            except Corrupt as problem:
                self._set_aside(folder, f"{problem}; the trial will be computed again")
                return None

    def record(self, trial_address: str) -> Mapping[str, Any]:
        """Of a stored trial what `load` leaves out: function, config, versions."""
        with self._clearly("read"):
            try:
                return unsealed(self._folder(trial_address) / "result.json")
            except (FileNotFoundError, Corrupt):
                raise LabError(f"the store {self.path} has no trial {trial_address}.") from None

    def save(
        self,
        trial_address: str,
        trial: Trial,
        result: TrialResult,
        seconds: float,
        replace: bool = False,
    ) -> None:
        """Write a trial. If it is there already, the earlier one stays unless `replace`.

        Once the trial is there, its work folder is removed.
        """
        check_kind("trial", trial, Trial, "a Trial")
        check_kind("result", result, TrialResult, "a TrialResult")
        check_number("seconds", seconds, lambda x: 0 <= x < inf, "a number of at least 0")
        check_flag("replace", replace)
        folder = self._folder(trial_address)
        new = folder.with_name(f"{NEW}{uuid.uuid4().hex}")
        with self._clearly("write to"):
            try:
                new.mkdir()
                arrays = new / "arrays.npz"
                write_arrays(arrays, result.arrays)
                record = {
                    "address": trial_address,
                    "function": f"{trial.run.__module__}.{trial.run.__qualname__}",
                    "config": encode(trial.config),
                    "numbers": encode(result.numbers),
                    "arrays": sha256(arrays.read_bytes()),
                    "seconds": seconds,
                    "versions": versions(),
                }
                write(new / "result.json", sealed(record))
                sync(new)
                if replace and folder.exists():
                    _discard(folder)
                try:
                    new.rename(folder)
                except OSError:
                    if not folder.exists():  # if it does, another process was faster
                        raise
                sync(folder.parent)
            finally:
                shutil.rmtree(new, ignore_errors=True)
        self.discard_work(trial_address)

    def discard_work(self, trial_address: str) -> None:
        """Remove the checkpoints of a trial that is stored, if there are any."""
        with contextlib.suppress(OSError):
            _discard(self.work(trial_address))

    def work(self, trial_address: str) -> Path:
        """Where a trial may keep its checkpoints; the path is absolute and nothing is made."""
        _check_address(trial_address)
        return (self.path / "work" / trial_address).absolute()

    def save_verdict(
        self, profile: ProfileName, claim: str, record: Mapping[str, Any], svg: str | None
    ) -> None:
        """Write a claim's verdict and figure; the last writer wins."""
        check_mapping("record", record)
        if svg is not None:
            check_text("svg", svg)
        with self._clearly("write to"):
            path, figure = self._verdict(profile, claim)
            path.parent.mkdir(parents=True, exist_ok=True)
            if svg is None:
                figure.unlink(missing_ok=True)
            else:
                write_atomically(figure, svg)
            seal = None if svg is None else sha256(svg.encode())
            write_atomically(path, sealed(encode({**record, "svg": seal})))

    def load_verdict(
        self, profile: ProfileName, claim: str
    ) -> tuple[dict[str, Any], str | None] | None:
        """The last verdict record of a claim and its figure, or None."""
        path, figure = self._verdict(profile, claim)
        with self._clearly("read"):
            try:
                try:
                    record = decode(unsealed(path))
                except READING:
                    record = None
                if not isinstance(record, dict):
                    raise Corrupt(f"its {path.name} is of another version")
            except FileNotFoundError:
                return None
            except Corrupt as problem:
                self._set_aside(path, f"{problem}; check the claim again")
                return None
            try:
                svg = figure.read_text(encoding="utf-8")
            except (FileNotFoundError, UnicodeDecodeError):
                svg = None
            seal = record.pop("svg", None)
            if svg is not None and seal != sha256(svg.encode()):
                self.warn(
                    f"the figure {figure} is not the one that was drawn; check the claim again."
                )
                svg = None
            return record, svg

    def errors(self) -> dict[str, dict[ProfileName, str]]:
        """The sentence of every claim whose last check at a profile ended in an error."""
        found: dict[str, dict[ProfileName, str]] = {}
        with self._clearly("read"):
            for path in sorted((self.path / "verdicts").glob("*/*.json")):
                try:
                    if b'"verdict": null' not in path.read_bytes():  # `list` is to be immediate
                        continue
                    record = decode(unsealed(path))
                    if record["error"]:
                        found.setdefault(record["claim"], {})[record["profile"]] = record["error"]
                except (FileNotFoundError, Corrupt, *READING):
                    continue  # whoever asks for this claim is told
        return found

    def _folder(self, trial_address: str) -> Path:
        _check_address(trial_address)
        digest, _, name = trial_address.partition("-")
        return self.path / "trials" / f"{digest[:16]}-{name}"

    def _verdict(self, profile: ProfileName, claim: str) -> tuple[Path, Path]:
        check_choice("profile", profile, PROFILES)
        check_text("claim", claim)
        folder, name = self.path / "verdicts" / profile, claim.replace("/", "__")
        return folder / f"{name}.json", folder / f"{name}.svg"

    def _read(self, folder: Path, trial_address: str) -> Kept:
        if not folder.exists():
            raise FileNotFoundError(folder)
        try:
            record = unsealed(folder / "result.json")
            if record["address"] != trial_address:
                raise Corrupt("it holds another trial")
            arrays = (folder / "arrays.npz").read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as problem:
            missing = Path(str(problem.filename)).name
            raise Corrupt(f"its file {missing} is missing") from None
        except READING:
            raise Corrupt("its result.json is of another version") from None
        if sha256(arrays) != record.get("arrays"):
            raise Corrupt("its arrays.npz has the wrong checksum")
        try:
            numbers, seconds = decode(record["numbers"]), float(record["seconds"])
            result = TrialResult({**numbers}, read_arrays(folder / "arrays.npz"))
        except (*READING, EOFError, zipfile.BadZipFile):
            raise Corrupt("its result.json is of another version") from None
        return Kept(result, seconds)

    def _set_aside(self, path: Path, problem: str) -> None:
        aside = self.path / "corrupt" / f"{path.name}-{uuid.uuid4().hex[:8]}"
        aside.parent.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            path.rename(aside)
            self.warn(f"{path} cannot be used ({problem}); it is kept as {aside}.")

    def _remove_leftovers(self) -> None:
        """Remove what a killed process was writing, once it is surely not being written."""
        for new in self.path.glob(f"*/**/{NEW}*"):
            with contextlib.suppress(OSError):
                if time.time() - new.stat().st_mtime > LEFTOVER_SECONDS:
                    shutil.rmtree(new) if new.is_dir() else new.unlink()
        for work in self.path.glob("work/*"):  # of whoever ran a trial that another had stored
            with contextlib.suppress(OSError):
                old = time.time() - work.stat().st_mtime > LEFTOVER_SECONDS
                if old and self._folder(work.name).exists():
                    _discard(work)

    @contextlib.contextmanager
    def _clearly(self, action: str) -> Iterator[None]:
        """Turn what the file system refuses into one sentence."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise LabError(f"cannot {action} the store {self.path}: {reason}.") from error


def _check_address(trial_address: Any) -> None:
    """Raise unless it is an address, which is also a file's name."""
    if not isinstance(trial_address, str) or not re.fullmatch(
        r"[0-9a-f]{16,}-[^/\0]+", trial_address
    ):
        raise ValueError(
            f"trial_address is {shown(trial_address)}; it must be an address, as `address` makes them"
        )


def work_folder(path: Path, fresh: bool) -> Path:
    """Make a work folder unless it is there; if `fresh`, nothing earlier is in it."""
    if fresh:
        _discard(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def _discard(folder: Path) -> None:
    """Remove a folder, if it is there, by one rename, so that nobody sees half of it."""
    old = folder.with_name(f"{NEW}{uuid.uuid4().hex}")
    with contextlib.suppress(FileNotFoundError):  # another process was faster
        folder.rename(old)
        shutil.rmtree(old, ignore_errors=True)
