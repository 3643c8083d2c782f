"""Write a corpus that any other framework can read: Parquet, JSON Lines or NumPy's npz.

Rows come in chunks, so memory stays bounded; the file appears by one rename when it is complete.
What made the corpus is one JSON document: in the Parquet schema under the key `minicosm`, in the
first line of a `.jsonl` under the key `metadata`, in an `.npz` as the string array `metadata`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicosm.lab.claims import LabError
from minicosm.lab.store import LEFTOVER_SECONDS

if TYPE_CHECKING:
    import numpy as np

FORMATS = (".parquet", ".jsonl", ".npz")

Chunk = Mapping[str, "np.ndarray"]
"""Columns of equal length; a column of shape (n, k) has one list of k numbers per row."""


def export(path: Path | str, chunks: Iterable[Chunk], metadata: Mapping[str, Any]) -> None:
    """Write the chunks, one below the other, in the format that the ending of `path` names."""
    target = writable(path)
    require_format(target)
    _remove_leftovers(target.parent)
    writer = {".parquet": _parquet, ".jsonl": _jsonl, ".npz": _npz}[target.suffix]
    new = target.with_name(f".new-{uuid.uuid4().hex}")
    try:
        writer(new, chunks, json.dumps(metadata, allow_nan=False))
        os.replace(new, target)
    except OSError as error:
        raise LabError(f"cannot write {target}: {error.strerror or error}.") from error
    finally:
        new.unlink(missing_ok=True)


def require_format(path: Path) -> None:
    """Say so at once, before anything is computed, if the file could not be written."""
    if path.suffix not in FORMATS:
        raise LabError(f"cannot tell the format of {path}; it must end in {', '.join(FORMATS)}.")
    writable(path)


def writable(path: Path | str) -> Path:
    """The file that a path means, links followed; `LabError` if none could be put there.

    Files appear by one rename, which would also put one in the place of a device.
    """
    path = Path(path)
    try:
        target = path.resolve()
        if not target.parent.is_dir():
            raise LabError(f"cannot write {path}: there is no folder {path.parent}.")
        if target.is_dir():
            raise LabError(f"cannot write {path}: it is a folder.")
        if target.exists() and not target.is_file():
            raise LabError(f"cannot write {path}: it is no regular file.")
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror or error}.") from None
    except RuntimeError:
        raise LabError(f"cannot write {path}: its links lead in a circle.") from None
    return target


def _remove_leftovers(folder: Path) -> None:
    """Remove what a killed process was writing here, once it is surely not being written."""
    for new in folder.glob(".new-" + "[0-9a-f]" * 32 + "*"):
        with contextlib.suppress(OSError):
            if time.time() - new.stat().st_mtime > LEFTOVER_SECONDS:
                shutil.rmtree(new) if new.is_dir() else new.unlink()


def _parquet(path: Path, chunks: Iterable[Chunk], metadata: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    try:
        for chunk in chunks:
            table = pa.table({name: _arrow(column) for name, column in chunk.items()})
            table = table.replace_schema_metadata({"minicosm": metadata})
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _arrow(column: np.ndarray) -> Any:
    import numpy as np
    import pyarrow as pa

    if column.ndim == 1:
        return pa.array(column)
    rows, width = column.shape
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * np.int32(width))
    return pa.ListArray.from_arrays(offsets, pa.array(column.reshape(-1)))


def _jsonl(path: Path, chunks: Iterable[Chunk], metadata: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"metadata": {metadata}}}\n')
        for chunk in chunks:
            columns = [column.tolist() for column in chunk.values()]
            for row in zip(*columns, strict=True):
                named = dict(zip(chunk, row, strict=True))
                try:
                    file.write(json.dumps(named, allow_nan=False) + "\n")
                except ValueError:
                    raise LabError(
                        f"cannot write {path.name} as JSON, which has no infinite numbers and no NaN; "
                        "choose .parquet or .npz, or other sizes."
                    ) from None


def _npz(path: Path, chunks: Iterable[Chunk], metadata: str) -> None:
    """Columns are gathered in raw files first, since an npz holds one column after the other."""
    import numpy as np

    scratch = path.with_name(f"{path.name}-columns")
    scratch.mkdir()
    try:
        kinds: dict[str, np.ndarray] = {}  # an empty array per column: its type and row shape
        rows = 0
        for chunk in chunks:
            rows += len(next(iter(chunk.values())))
            for name, column in chunk.items():
                kinds.setdefault(name, column[:0])
                with (scratch / name).open("ab") as raw:
                    np.ascontiguousarray(column).tofile(raw)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, kind in kinds.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    header = np.lib.format.header_data_from_array_1_0(kind)
                    header["shape"] = (rows, *kind.shape[1:])
                    header["fortran_order"] = False
                    np.lib.format.write_array_header_1_0(file, header)
                    with (scratch / name).open("rb") as raw:
                        shutil.copyfileobj(raw, file)
            with archive.open("metadata.npy", "w") as file:
                np.lib.format.write_array(file, np.array(metadata), allow_pickle=False)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
