"""A training run on disk: one file that appears whole, by one rename, at the end of every chunk.

The file is a NumPy archive without pickle: `params.<path>` and `state.<path>` for every array that
training changes, `history.<metric>` with a row per chunk, and `about`, the bytes of a JSON text with
the number of steps done and the fingerprint of the run.
"""

import hashlib
import io
import json
import os
import uuid
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from minicosm.models.checks import check_file
from minicosm.models.weights import write_atomically
from minicosm.worlds.arrays import check_count

FORMAT = "minicosm.checkpoint.1"


class RunState(NamedTuple):
    """How far a run has come."""

    learned: PyTree
    state: PyTree
    history: dict[str, np.ndarray]
    step: int


def fingerprint(program: str, arrays: PyTree) -> str:
    """A hash of what determines a run: the text of its compiled step (which holds the optimiser, its
    schedule and every static setting) and the arrays it starts from (data, parameters, keys)."""
    digest = hashlib.sha256(program.encode())
    for path, leaf in jax.tree.leaves_with_path(arrays):
        value = _plain(leaf)
        digest.update(f"{_name(path)} {value.dtype} {value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


def save_run(path: str | os.PathLike, run: str, progress: RunState) -> None:
    """Write the progress of the run with this fingerprint."""
    about = {"format": FORMAT, "run": run, "step": progress.step}
    arrays = {f"history.{name}": values for name, values in progress.history.items()}
    arrays |= _named("params", progress.learned) | _named("state", progress.state)
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_atomically(path, content.getvalue())


def load_run(path: str | os.PathLike, run: str, learned: PyTree, state: PyTree) -> RunState | None:
    """The progress of this run, in trees like those given; None if there is no file yet.

    A file that is not whole, or that does not hold what a checkpoint of this run must hold, is set
    aside with a warning, and counts as none.
    """
    path = check_file("path", path)
    if not path.exists():
        return None
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(arrays.pop("about").tobytes())
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']!r}")
        name = about["run"]
        if name == run:
            return _progress(about["step"], arrays, learned, state)
    except _DAMAGE as error:
        _set_aside(path, " ".join(str(error).split()) or type(error).__name__)
        return None
    raise ValueError(
        f"{path} is the checkpoint of another run (other data, params, optimiser or key, or "
        "another version of the code); remove it or give another path"
    )


_DAMAGE = (
    OSError, ValueError, KeyError, EOFError, AttributeError, TypeError, IndexError, OverflowError,
    NotImplementedError, RecursionError, MemoryError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def _progress(step: Any, arrays: dict[str, np.ndarray], learned: PyTree, state: PyTree) -> RunState:
    """What was read, if its names, shapes, dtypes and steps are those of this run."""
    check_count("step", step)
    history = {
        name.removeprefix("history."): values
        for name, values in arrays.items()
        if name.startswith("history.")
    }
    steps = history.get("step", np.zeros(0, int))
    rows = steps.shape[0] if steps.ndim == 1 else 0
    rising = rows and steps.dtype.kind in "iu" and steps[0] >= 1 and (np.diff(steps) > 0).all()
    if not rising or steps[-1] != step or any(v.shape[:1] != (rows,) for v in history.values()):
        raise ValueError(f"its history does not lead to step {step}")
    found = RunState(
        _filled("params", learned, arrays), _filled("state", state, arrays), history, step
    )
    known = len(history) + len(jax.tree.leaves((learned, state)))
    if known != len(arrays):
        raise ValueError(f"it holds {len(arrays)} arrays; this run has {known}")
    return found


def _set_aside(path: Path, problem: str) -> None:
    """Rename a file that cannot be used, and say so; where it cannot be renamed, say what to do."""
    aside = path.with_name(f"{path.name}.corrupt-{uuid.uuid4().hex[:8]}")
    try:
        path.rename(aside)
    except OSError as error:
        raise ValueError(
            f"checkpoint {path} cannot be used ({problem}) nor set aside ({error.strerror}); remove it"
        ) from None
    warnings.warn(
        f"{path} cannot be used ({problem}); it is kept as {aside.name}, and training starts again.",
        stacklevel=2,
    )


def _name(path: tuple) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(leaf: Any) -> np.ndarray:
    """A leaf as an array that NumPy can write: keys as their data, bfloat16 as its bits."""
    value = np.asarray(
        jax.random.key_data(leaf) if hasattr(leaf, "dtype") and _is_key(leaf) else leaf
    )
    return value.view(f"u{value.dtype.itemsize}") if value.dtype.kind == "V" else value


def _named(kind: str, tree: PyTree) -> dict[str, np.ndarray]:
    return {f"{kind}.{_name(path)}": _plain(leaf) for path, leaf in jax.tree.leaves_with_path(tree)}


def _filled(kind: str, tree: PyTree, arrays: dict[str, np.ndarray]) -> PyTree:
    def leaf(path: tuple, like: Any) -> Any:
        name = f"{kind}.{_name(path)}"
        if name not in arrays:
            raise ValueError(f"{name} is missing")
        value, expected = arrays[name], _plain(like)
        if value.shape != expected.shape or value.dtype != expected.dtype:
            raise ValueError(
                f"{name} has shape {value.shape} and dtype {value.dtype}; this run has "
                f"{expected.shape} and {expected.dtype}"
            )
        if _is_key(like):
            return jax.random.wrap_key_data(jnp.asarray(value), impl=jax.random.key_impl(like))
        return jnp.asarray(value.view(like.dtype) if value.dtype != like.dtype else value)

    return jax.tree.map_with_path(leaf, tree)
