"""`generate`: strings from a world, a trained model or a Hugging Face model, alone or under a verifier."""

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Int, PRNGKeyArray

from minicosm.models import Generator, Transformer, Verifier
from minicosm.worlds.arrays import (
    AnyArray,
    check_count,
    check_flag,
    check_length,
    check_size,
    native,
    short,
)

from .ancestral import Ancestral
from .engine import Sampler, check_sampler, final_scores, sample
from .hugging_face import HuggingFaceGenerator
from .settings import MOST
from .trace import Trace
from .verifiers import FunctionVerifier

LAWS_PER_TOKEN = 200
"""Without `max_calls` a row may ask for so many laws for each token of its longest string."""

Strings = Sequence[int] | Sequence[Sequence[int]] | Int[AnyArray, "batch P"] | None
Score = Callable[[Int[np.ndarray, " n"]], float]


def generate(
    model: Any,
    sampler: Sampler | None = None,
    *,
    key: PRNGKeyArray,
    length: int,
    count: int | None = None,
    prompts: Strings = None,
    verifier: Verifier | Score | None = None,
    end: int | None = None,
    max_calls: int | None = None,
    progress: bool = True,
    **budget: Any,
) -> Trace:
    """Strings of at most `length` tokens, prompts included, by a sampler's rule (default: `Ancestral`).

        generate(world, key=key, length=16, count=100)
        generate(world, VGB(steps=400), key=key, length=16, count=100, verifier=is_right)

    `model` is a world, a causal `Transformer` trained with a start token, anything with the methods of
    `Generator`, or a causal model of Hugging Face's transformers. `prompts` are the beginnings of the
    strings, one each, of any lengths; a single one is continued `count` times, and without any there are
    `count` empty ones. `verifier` has the methods of `Verifier`, or is a Python function from the tokens
    of an unfinished string (a NumPy array) to its score. A string is complete at `length` or at the token
    `end`. A row stops after `max_calls` laws (default: 200 for each token); other budgets are those of
    `sample`. The trace's `accepted` says which strings the verifier accepts in the end.
    """
    check_length(length)
    sampler = Ancestral() if sampler is None else sampler
    check_sampler(sampler)
    check_flag("progress", progress)
    generator = as_generator(model)
    judge = None if verifier is None else as_verifier(verifier)
    if count is not None:
        check_size(f"count is {short(count)}; its strings", check_count("count", count) * length)
    rows, sizes = _prompts(prompts, count)
    most = min(LAWS_PER_TOKEN * length, MOST) if max_calls is None else max_calls
    with _shown(progress, len(rows)) as report:
        trace = sample(
            sampler,
            generator,
            judge,
            rows,
            key,
            length=length,
            prompt_lengths=sizes,
            end=end,
            max_calls=most,
            progress=report,
            **budget,
        )
    if judge is None:
        return trace
    return final_scores(trace, generator, judge)


def as_generator(model: Any) -> Generator:
    """The generator that a model means; `TypeError` if it means none."""
    if isinstance(model, Transformer):
        from minicosm.models import CachedTransformer

        if not model.config.extra_inputs:
            raise ValueError(
                "this Transformer knows no start token; train one with extra_inputs=1 and a "
                "CausalObjective that has a start token, or wrap it: CachedTransformer(model, start)"
            )
        return CachedTransformer(model, model.config.vocab)
    if isinstance(model, Generator) and not isinstance(model, type):
        return model
    if "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module):
        return _kept(model, _around)
    raise TypeError(
        f"model is a {type(model).__name__}; it must be a world that generates, a causal Transformer, a "
        "causal model of transformers, or have the methods vocab, begin, read and law of Generator"
    )


def as_verifier(verifier: Any) -> Verifier:
    """A verifier, or a Python function as one."""
    if isinstance(verifier, Verifier) and not isinstance(verifier, type):
        return verifier
    if callable(verifier) and not isinstance(verifier, type):
        return _kept(verifier, FunctionVerifier)
    raise TypeError(
        f"verifier is a {type(verifier).__name__}; it must be a function of the tokens or have the methods "
        "begin, read and score of Verifier"
    )


_KEPT: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _kept(thing: Any, wrap: Callable[[Any], Any]) -> Any:
    """What wraps a function or a model, the same at every call: another one would compile anew."""
    try:
        if thing not in _KEPT:
            _KEPT[thing] = wrap(thing)
        return _KEPT[thing]
    except TypeError:  # neither hashed nor referred to weakly
        return wrap(thing)


def _around(model: Any) -> HuggingFaceGenerator:
    return HuggingFaceGenerator(model, start=getattr(model.config, "bos_token_id", None))


def _prompts(
    prompts: Any, count: int | None
) -> tuple[Int[np.ndarray, "batch P"], Int[np.ndarray, " batch"]]:
    """Prompts as one array, and their lengths."""
    if prompts is None:
        return np.zeros((count or 1, 0), np.int32), np.zeros(count or 1, np.int32)
    if isinstance(prompts, str | bytes | dict | set):
        kind = "text" if isinstance(prompts, str | bytes) else type(prompts).__name__
        raise TypeError(f"prompts is a {kind}; they must be tokens, whole numbers")
    try:
        rows = [np.asarray(native("prompts", row)) for row in prompts]
    except TypeError:
        raise TypeError(
            f"prompts is a {type(prompts).__name__}; it must be a prompt or a list of prompts"
        ) from None
    if rows and all(row.ndim == 0 for row in rows):
        rows = [np.asarray(prompts)] * (count or 1)
    elif count is not None and len(rows) != count:
        if len(rows) != 1:
            raise ValueError(
                f"count is {count} and there are {len(rows)} prompts; give one of the two"
            )
        rows *= count
    if not rows:
        raise ValueError("prompts is empty; give at least one prompt, or a count of empty ones")
    for i, row in enumerate(rows):
        if row.ndim != 1 or (row.size and row.dtype.kind not in "iu"):
            raise ValueError(
                f"prompt {i} has shape {row.shape} and dtype {row.dtype}; it must be a list of tokens"
            )
    sizes = np.array([len(row) for row in rows], np.int32)
    whole = np.zeros((len(rows), int(sizes.max())), np.int64)
    for row, prompt in zip(whole, rows, strict=True):
        row[: len(prompt)] = prompt
    return whole, sizes


@contextmanager
def _shown(wanted: bool, total: int) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal."""
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("strings", total=total)
        yield lambda done, _: bar.update(task, completed=done)
