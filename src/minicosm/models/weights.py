"""A model's weights by name, and as a safetensors file.

A name is the path of the array in the model, with the layer's number after `layers`:
`token_embedding`, `mask_embedding`, `position_embedding`, `layers.0.attention.qkv`,
`layers.0.attention_norm.scale`, `layers.1.mlp.up`, `final_norm.shift`, `output_bias`. Shapes are
those of the model's own arrays without the axis of layers; matrices act from the right, `x @ w`. An LSTM
has `token_embedding`, `output`, `output_bias`, and `cell.weight_ih`, `cell.weight_hh`, `cell.bias`, whose
matrices act from the left.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as safetensors_bytes

from .checks import check_file, check_kind, check_number, check_path, numbers_of
from .config import TransformerConfig
from .lstm import LSTM, LSTMConfig
from .transformer import Transformer

Model = Transformer | LSTM
Config = TransformerConfig | LSTMConfig
MODELS = (Transformer, LSTM)
FORMATS: dict[str, type[Config]] = {
    "minicosm.transformer": TransformerConfig,
    "minicosm.lstm": LSTMConfig,
}
"""What a file says that it holds, and of which kind its config is."""


def to_arrays(model: Model) -> dict[str, Float[np.ndarray, "..."]]:
    """Every array of the model by its name; a stack of models (an ensemble) is refused."""
    check_kind("model", model, MODELS, "a Transformer or an LSTM")
    config = model.config
    expected = shapes(config)
    arrays: dict[str, np.ndarray] = {}
    for path, leaf in jax.tree.leaves_with_path(model):
        name, value = _name(path), np.asarray(leaf)
        if name.startswith("layers."):
            layers = (_of_layer(name, i) for i in range(_layers(config)))
            arrays |= dict(zip(layers, value, strict=False))
        else:
            arrays[name] = value
    for name, value in arrays.items():
        if value.shape != expected[name]:
            raise ValueError(_wrong_shape(name, value, expected[name]))
    return arrays


@overload
def from_arrays(
    config: TransformerConfig, arrays: Mapping[str, Any], *, fill: float | int | None = None
) -> Transformer: ...


@overload
def from_arrays(
    config: LSTMConfig, arrays: Mapping[str, Any], *, fill: float | int | None = None
) -> LSTM: ...


def from_arrays(
    config: Config, arrays: Mapping[str, Any], *, fill: float | int | None = None
) -> Model:
    """The model with these weights, which are kept in the precision they come in.

    Every name of `shapes(config)` must be there, unless `fill` says what the others hold; a
    construction names the arrays it needs and sets `fill=0`.
    """
    _check_config(config)
    check_kind("arrays", arrays, Mapping, "a mapping from names to arrays")
    if fill is not None:
        check_number("fill", fill)
    elif _layers(config) > len(arrays):
        raise ValueError(
            f"arrays has {len(arrays)} entries; a config of {_layers(config):,} layers needs more"
        )
    expected = shapes(config)
    unknown = [name for name in arrays if name not in expected]
    if unknown:
        known = ", ".join(list(expected)[:40]) + (", ..." if len(expected) > 40 else "")
        raise ValueError(f"this config has no array {unknown[0]!r}; it has {known}")
    missing = [name for name in expected if name not in arrays]
    if missing and fill is None:
        raise ValueError(f"the array {missing[0]!r} is missing ({len(missing)} missing in all)")
    values = {}
    for name, shape in expected.items():
        value = arrays[name] if name in arrays else np.full(shape, fill, np.float64)
        value = numbers_of(f"arrays[{name!r}]", value)
        value = np.asarray(value)
        if value.shape != shape:
            raise ValueError(_wrong_shape(name, value, shape))
        if not jnp.issubdtype(value.dtype, jnp.floating):
            raise ValueError(f"{name} has dtype {value.dtype}; weights are floating-point numbers")
        values[name] = value
    skeleton, structure = jax.tree.flatten_with_path(_skeleton(config))
    leaves = []
    for path, _ in skeleton:
        name = _name(path)
        if name.startswith("layers."):
            leaves.append(np.stack([values[_of_layer(name, i)] for i in range(_layers(config))]))
        else:
            leaves.append(values[name])
    return jax.tree.unflatten(structure, leaves)


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """The names of the arrays that a model of this config has, and their shapes."""
    _check_config(config)
    named: dict[str, tuple[int, ...]] = {}
    for path, leaf in jax.tree.leaves_with_path(_skeleton(config)):
        name = _name(path)
        if name.startswith("layers."):
            named |= {_of_layer(name, i): leaf.shape[1:] for i in range(_layers(config))}
        else:
            named[name] = leaf.shape
    return named


def save(model: Model, path: str | os.PathLike) -> None:
    """Write weights and config to a safetensors file, which appears whole or not at all."""
    path, arrays = check_file("path", path), to_arrays(model)
    config = json.dumps(asdict(model.config), default=lambda number: number.item())
    name = next(name for name, kind in FORMATS.items() if isinstance(model.config, kind))
    write_atomically(path, safetensors_bytes(arrays, {"format": name, "config": config}))


def load(path: str | os.PathLike) -> Model:
    """Read a model that `save` wrote. What its config promises is compared with the file's table of
    contents before any array is read."""
    path = check_path("path", path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") not in FORMATS:
                raise ValueError(
                    f"{path} is a safetensors file, but not one of a Transformer here, or of an LSTM"
                )
            config = _config(path, FORMATS[metadata["format"]], metadata.get("config"))
            names = list(file.keys())
            if _layers(config) > len(names):
                raise ValueError(
                    f"{path} does not fit its own config: that has {_layers(config):,} layers, and the file "
                    f"{len(names)} arrays"
                )
            arrays = {name: file.get_tensor(name) for name in names}
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file ({error})") from None
    except (OSError, TypeError) as error:  # no permission, a dtype that NumPy does not know
        raise ValueError(f"{path} cannot be read: {error}") from None
    try:
        return from_arrays(config, arrays)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} does not fit its own config: {error}") from None


def _config(path: Path, kind: type[Config], text: Any) -> Config:
    """The config in a file's metadata."""
    try:
        return kind.from_dict(json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        what = "a Transformer" if kind is TransformerConfig else "an LSTM"
        raise ValueError(f"{path} has no config of {what}: {reason}") from None


def _check_config(config: Any) -> None:
    check_kind("config", config, tuple(FORMATS.values()), "a TransformerConfig or an LSTMConfig")


def _layers(config: Config) -> int:
    """How many layers are stacked."""
    return config.layers if isinstance(config, TransformerConfig) else 0


def write_atomically(path: str | os.PathLike, content: bytes) -> None:
    """Write next to the target, flush to disk and rename, so that no reader ever sees half a file.

    A target that exists and is no regular file (a device, a folder) is refused.
    """
    path = check_file("path", path)
    check_kind("content", content, bytes, "bytes")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):  # not every file system flushes folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _skeleton(config: Config) -> Model:
    """A model of this config with shapes in place of arrays."""

    def make(key: Any) -> Model:
        if isinstance(config, LSTMConfig):
            return LSTM(config, key=key)
        return Transformer(config, key=key)

    return jax.eval_shape(make, jax.random.key(0))


def _name(path: tuple) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _of_layer(name: str, layer: int) -> str:
    return name.replace("layers.", f"layers.{layer}.", 1)


def _wrong_shape(name: str, value: np.ndarray, shape: tuple) -> str:
    return f"{name} has shape {value.shape}; this config needs ({', '.join(map(str, shape))})"
