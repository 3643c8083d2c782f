"""Whole texts through a decoder, in batches of few shapes."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Int

from minicosm.decoding import beam as search
from minicosm.decoding import refine
from minicosm.lab import Progress
from minicosm.models import Translator
from minicosm.text import TokenPairs

from ..trials import TextRun
from .text_data import widths, write

PART = 32  # batches that are written together
SCORES = {"": True, ", chosen by tokens alone": False}  # whether the length's probability counts

System = Callable[..., list[tuple[Any, Any, Any]]]
"""`(source, visible, key, longest) -> [(tokens, lengths, passes), ...]`, one or more translations of a
batch."""


class Translated(NamedTuple):
    """Targets in the order of the sources, and decoder passes of each."""

    tokens: list[Int[np.ndarray, " _"]]
    passes: Int[np.ndarray, " rows"]


def beam(model: Translator, config: TextRun) -> System:
    """The most likely translation that a beam finds, token by token."""

    def run(source: Any, visible: Any, key: Any, longest: int) -> list[tuple[Any, Any, Any]]:
        found = search(model, source, visible, width=config.hypotheses, longest=longest)
        return [(found.tokens[:, 0], found.lengths[:, 0], found.passes)]

    return run


def refined(model: Translator, config: TextRun) -> System:
    """The best of several lengths, after each of the numbers of passes in `config.passes`: first all by
    the probability of length and tokens together, then all by that of the tokens alone.

    The source does not say how it chooses, and its release goes by the tokens. On text whose length
    the source determines, this prefers lengths that are too short (see `Refinement.scored`).
    """

    def run(source: Any, visible: Any, key: Any, longest: int) -> list[tuple[Any, Any, Any]]:
        found = refine(
            model, source, visible, key, steps=max(config.passes), longest=longest,
            candidates=min(config.hypotheses, longest),
        )  # fmt: skip
        both = (found.scored(joint=joint) for joint in SCORES.values())
        each = [one.after(passes) for one in both for passes in config.passes]
        return [(one.tokens, one.lengths, one.passes) for one in each]

    return run


def translate(
    system: System, pairs: TokenPairs, config: TextRun, progress: Progress, parts: Path | None
) -> list[Translated]:
    """Every source of `pairs`, in batches of sources of about the same length.

    A target may have twice as many tokens as the shape of its source, and 16 more. With `parts`, what
    was translated is kept in that folder and not translated again.
    """
    if parts is not None:
        parts.mkdir(exist_ok=True)
    batches = _batches(pairs, config)
    found: list[dict[str, np.ndarray]] = []
    key = jax.random.fold_in(jax.random.key(config.seed), 100)
    for first in range(0, len(batches), PART):
        progress(first, len(batches), f"{first * config.together} of {len(pairs)}")
        path = None if parts is None else parts / f"{first:08d}.npz"
        if path is not None and path.exists():
            with np.load(path) as kept:
                found.append(dict(kept))
            continue
        found.append(_part(system, pairs, config, batches[first : first + PART], key, first))
        if path is not None:
            file = io.BytesIO()
            np.savez(file, **found[-1])  # type: ignore[arg-type]
            write(path, file.getvalue())
    return [_joined(found, i, len(pairs)) for i in range(len(found[0]) // 3)]


def _batches(pairs: TokenPairs, config: TextRun) -> list[tuple[int, Int[np.ndarray, " _"]]]:
    """Shapes with the rows that are translated together, at most `together`."""
    shapes = widths(config)
    which = np.searchsorted(shapes, pairs.source.lengths)
    found: list[tuple[int, Int[np.ndarray, " _"]]] = []
    for number, width in enumerate(shapes):
        rows = np.flatnonzero(which == number)
        pieces = range(0, len(rows), config.together)
        found += [(width, rows[at : at + config.together]) for at in pieces]
    return found


def _part(
    system: System,
    pairs: TokenPairs,
    config: TextRun,
    batches: list[tuple[int, Int[np.ndarray, " _"]]],
    key: Any,
    first: int,
) -> dict[str, np.ndarray]:
    """Of some batches: the rows, and for translation i "flat i", "lengths i" and "passes i"."""
    found: dict[str, list[np.ndarray]] = {"rows": [here for _, here in batches]}
    for number, (width, here) in enumerate(batches, start=first):
        full = np.resize(here, config.together)  # the last batch of a shape has rows twice
        source = pairs.source.padded(full, width, 0)
        visible = np.arange(width) < pairs.source.lengths[full][:, None]
        longest = min(config.longest, 2 * width + 16)
        each = system(source, visible, jax.random.fold_in(key, number), longest)
        for i, one in enumerate(each):
            tokens, sizes, passes = (np.asarray(array)[: len(here)] for array in one)
            flat = tokens[np.arange(tokens.shape[1]) < sizes[:, None]]
            for name, array in (("flat", flat), ("lengths", sizes), ("passes", passes)):
                found.setdefault(f"{name} {i}", []).append(array)
    return {name: np.concatenate(arrays) for name, arrays in found.items()}


def _joined(parts: list[dict[str, np.ndarray]], i: int, count: int) -> Translated:
    """Translation i of all parts, in the order of the sources."""
    tokens: list[Any] = [None] * count
    passes = np.zeros(count, np.int32)
    for part in parts:
        ends = np.cumsum(part[f"lengths {i}"])[:-1]
        for row, target in zip(part["rows"], np.split(part[f"flat {i}"], ends), strict=True):
            tokens[row] = target
        passes[part["rows"]] = part[f"passes {i}"]
    return Translated(tokens, passes)
