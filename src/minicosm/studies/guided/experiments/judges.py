"""One verifier that can be any of several, completions in batches of one shape, and what is kept of them.

Which verifier speaks is a number that the compiled program takes as an input, so that baselines,
trained, perfect and random verifiers are one program.
"""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from minicosm.decoding import RandomVerifier, Trace, sample
from minicosm.worlds.arrays import AnyArray


class Speaker(IntEnum):
    """Who judges; `NOBODY` accepts everything."""

    NOBODY = 0
    PROBE = 1
    PERFECT = 2
    RANDOM = 3


class Judge(eqx.Module):
    """A `Verifier` that asks one of three; the random one may be left out."""

    probe: Any
    perfect: Any
    random: RandomVerifier | None
    speaker: Int[AnyArray, ""]

    def begin(self, room: int, source: PyTree) -> PyTree:
        return tuple(part.begin(room, source) for part in self._parts)

    def read(
        self, memory: PyTree, n: Int[Array, ""], token: Int[Array, ""], source: PyTree
    ) -> PyTree:
        pairs = zip(self._parts, memory, strict=True)
        return tuple(part.read(own, n, token, source) for part, own in pairs)

    def score(self, memory: PyTree, n: Int[Array, ""]) -> Float[Array, ""]:
        pairs = zip(self._parts, memory, strict=True)
        scores = [part.score(own, n).astype(jnp.float32) for part, own in pairs]
        return jnp.stack([jnp.ones(()), *scores])[self.speaker]

    @property
    def _parts(self) -> tuple[Any, ...]:
        known = self.probe, self.perfect
        return known if self.random is None else (*known, self.random)

    def by(self, speaker: Speaker) -> "Judge":
        return Judge(self.probe, self.perfect, self.random, np.asarray(speaker, np.int32))


class Bench(eqx.Module):
    """Completes prompts with one generator, always `chunk` rows at a time."""

    generator: Any
    judge: Judge
    length: int = eqx.field(static=True)
    """Tokens of the longest string."""
    end: int = eqx.field(static=True)
    chunk: int = eqx.field(static=True)

    def __call__(
        self,
        sampler: Any,
        prompts: Int[AnyArray, "n P"],
        lengths: Int[AnyArray, " n"],
        key: PRNGKeyArray,
        speaker: Speaker = Speaker.NOBODY,
    ) -> Trace:
        """Continue the prompts. So that all calls have one shape, few prompts become a chunk by
        repeating the last (cut off again), and narrow ones as wide as strings."""
        count = len(lengths)
        padded = np.minimum(np.arange(max(count, self.chunk)), count - 1)
        prompts = np.asarray(prompts)
        prompts = np.pad(prompts, ((0, 0), (0, self.length - prompts.shape[1])))
        trace = sample(
            sampler,
            self.generator,
            self.judge.by(speaker),
            prompts[padded],
            key,
            length=self.length,
            prompt_lengths=np.asarray(lengths)[padded],
            end=self.end,
            chunk=self.chunk,
        )
        cut = {
            field.name: value[:count]
            for field in fields(trace)
            if (value := getattr(trace, field.name)) is not None
        }
        return replace(trace, **cut)


def member(stacked: Any, i: int) -> Any:
    """The model of one member of an ensemble."""
    return jax.tree.map(lambda leaf: leaf[i], stacked)


def stacked(parts: list[Any]) -> Any:
    """Numbers of several members under the same nested names, as lists over members."""
    if not isinstance(parts[0], dict):
        return list(parts)
    return {name: stacked([part[name] for part in parts]) for name in parts[0]}


Measured = tuple[dict[str, Any], dict[str, np.ndarray]]


def kept_in(path: Path, measure: Callable[[], Measured]) -> Measured:
    """The numbers and arrays of one member, from a file if a run that was stopped had come so far."""
    if path.exists():
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files if name != "numbers"}
            return json.loads(str(file["numbers"])), arrays
    numbers, arrays = measure()
    part = path.with_suffix(".part.npz")
    contents: dict[str, Any] = {"numbers": np.asarray(json.dumps(numbers)), **arrays}
    np.savez(part, **contents)
    part.rename(path)
    return numbers, arrays
