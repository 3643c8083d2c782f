"""Files that appear complete or not at all, with seals, and arrays without pickle."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import uuid
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicosm.lab.encoding import canonical

if TYPE_CHECKING:
    import numpy as np

NEW = ".new-"  # the prefix of whatever is still being written


class Corrupt(Exception):
    """A stored file that is not what was written; says how."""


def write_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], compression: int = zipfile.ZIP_STORED
) -> None:
    """Write an `.npz` without pickle, byte for byte the same for the same arrays."""
    import numpy as np

    with path.open("wb") as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                info = zipfile.ZipInfo(f"{name}.npy")
                info.compress_type = compression
                with archive.open(info, "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    import numpy as np

    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def sealed(record: Any) -> str:
    seal = sha256(canonical(record).encode())
    return json.dumps({"sha256": seal, "record": record}, indent=1, allow_nan=False) + "\n"


def unsealed(path: Path) -> Any:
    """The record of a sealed JSON file; `Corrupt` unless it is exactly what was written."""
    data = path.read_bytes()
    try:
        sealed = json.loads(data.decode("utf-8"))
        record, seal = sealed["record"], sealed["sha256"]
        intact = sha256(canonical(record).encode()) == seal
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Corrupt(f"its {path.name} is not the JSON that was written") from None
    if not intact:
        raise Corrupt(f"its {path.name} has the wrong checksum")
    return record


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, text: str) -> None:
    new = path.with_name(f"{NEW}{uuid.uuid4().hex}")
    try:
        write(new, text)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)
    sync(path.parent)


def sync(path: Path) -> None:
    """Flush a folder to disk, where the file system can do that for folders."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
