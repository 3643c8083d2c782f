"""Checks of what is continued or translated: a model, and a batch of prompts or sources."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from minicosm.models import Generator, Translator
from minicosm.models.exact_translator import ExactRefiner
from minicosm.worlds.arrays import (
    check_count,
    check_shape,
    check_size,
    check_whole_numbers,
    is_concrete,
    native,
    numeric,
    short,
)

from .settings import MOST


def check_most(name: str, value: Any, least: int = 1) -> None:
    """Raise unless `value` is a whole number that the compiled program can count to."""
    if check_count(name, value, least) > MOST:
        raise ValueError(f"{name} is {value}; it must be at most {MOST}")


def check_prompts(
    generator: Generator, prompts: Any, prompt_lengths: Any, length: Any, end: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Prompts, their lengths and the rows' limits as arrays."""
    prompts = np.asarray(native("prompts", prompts))
    if prompts.ndim != 2 or prompts.shape[0] == 0:
        raise ValueError(
            f"prompts have shape {prompts.shape}; they must have shape (batch, P), batch >= 1"
        )
    if prompts.shape[1] and prompts.dtype.kind not in "iu":
        raise ValueError(f"prompts have dtype {prompts.dtype}; they must be integers")
    batch, wide = prompts.shape
    sizes = np.full(batch, wide)
    if prompt_lengths is not None:
        sizes = np.asarray(native("prompt_lengths", prompt_lengths))
    if sizes.shape != (batch,) or sizes.dtype.kind not in "iu":
        raise ValueError(
            f"prompt_lengths have shape {sizes.shape} and dtype {sizes.dtype}; "
            f"they must be integers of shape ({batch},)"
        )
    if (sizes < 0).any() or (sizes > wide).any():
        bad = sizes[(sizes < 0) | (sizes > wide)][0]
        raise ValueError(f"a prompt length is {bad}; the prompts have room for {wide} tokens")
    real = np.arange(wide) < sizes[:, None]
    outside = real & ((prompts < 0) | (prompts >= generator.vocab))
    if outside.any():
        row, at = (int(i) for i in np.argwhere(outside)[0])
        raise ValueError(
            f"prompt {row} has token {prompts[row, at]} at index {at}; "
            f"it must be one of 0..{generator.vocab - 1}"
        )
    given = np.asarray(check_whole_numbers("length", length, 1, 2**26))
    if given.shape not in ((), (batch,)):
        raise ValueError(
            f"length has shape {given.shape}; it must be one number, or one for each of {batch} prompts"
        )
    limits = np.broadcast_to(given, (batch,))
    check_size(f"{batch} strings of length {limits.max()}", batch * int(limits.max()))
    if (sizes > limits).any():
        row = int(np.argmax(sizes > limits))
        raise ValueError(
            f"prompt {row} has {sizes[row]} tokens; "
            f"the string, prompt included, may have at most {limits[row]}"
        )
    context = getattr(generator, "context", None)
    if context is not None and limits.max() > context:
        raise ValueError(
            f"strings of {limits.max()} tokens are asked for, prompt included; "
            f"the generator's context has room for {context}"
        )
    if end is not None and check_count("end", end, least=0) >= generator.vocab:
        raise ValueError(f"the end token is {end}; it must be one of 0..{generator.vocab - 1}")
    prompts = np.where(real, prompts, 0).astype(np.int32) if wide else prompts.astype(np.int32)
    return prompts, sizes.astype(np.int32), limits.astype(np.int32)


def check_sources(
    model: Any, methods: tuple[str, ...], source: Any, visible: Any
) -> tuple[Int[Array, "batch S"], Bool[Array, "batch S"]]:
    """Sources and their masks if the model has these methods; a source that is not visible may hold any
    number."""
    missing = [m for m in ("vocab", *methods) if isinstance(model, type) or not hasattr(model, m)]
    if missing:
        raise TypeError(f"model is {short(model)}; it must have {', '.join(('vocab', *methods))}")
    source = check_whole_numbers("source", source, -(2**31), 2**31 - 1, (None, None))
    visible = numeric("visible", visible)
    check_shape("visible", visible, source.shape)
    if visible.dtype != bool:
        raise ValueError(f"visible has dtype {visible.dtype}; it must hold True and False")
    if 0 in source.shape:
        raise ValueError(f"source has shape {source.shape}; there must be a source, with a token")
    if isinstance(model, Translator | ExactRefiner) and is_concrete(source, visible):
        own = model.config.source_vocab if isinstance(model, Translator) else None
        vocab = model.vocab if own is None else own
        known = np.where(np.asarray(visible), np.asarray(source), 0)
        check_whole_numbers("source", known, 0, vocab - 1)
        if isinstance(model, Translator):
            model.check_length(source.shape[1], decoder=False)
    return jnp.asarray(source, jnp.int32), jnp.asarray(visible)
