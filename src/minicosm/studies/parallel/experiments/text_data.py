"""From four files to arrays, and to teachers' targets, written to disk as they are made."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from minicosm.models import TranslatorConfig
from minicosm.text import (
    ParallelText,
    Ragged,
    SentencePiece,
    Subwords,
    Survey,
    TokenPairs,
    buckets,
    encode,
    load_subwords,
    train_sentencepiece,
)
from minicosm.training import OneOf, Pairs

from ..trials import TextRun


def widths(config: TextRun) -> tuple[int, ...]:
    """Shapes to which pairs are padded: powers of two up to `longest`."""
    return (*(2**i for i in range(4, 12) if 2**i < config.longest), config.longest)


def shape(config: TextRun, vocab: int, *, causal: bool) -> TranslatorConfig:
    """The model: one that decodes in parallel, or its autoregressive counterpart."""
    return TranslatorConfig.paper(
        vocab=vocab, encoder_layers=config.layers, decoder_layers=config.layers, heads=config.heads,
        width=config.width, mlp_width=config.mlp_width, dropout=config.dropout,
        positions=config.positions, max_length=config.longest + 1,
        lengths=0 if causal else config.longest, positional_attention=not causal, causal=causal,
    )  # fmt: skip


def subwords_of(config: TextRun, folder: Path) -> Subwords:
    """The tokenizer that was given, or one learned from the training text, once."""
    if config.tokenizer:
        return load_subwords(config.tokenizer)
    path = folder / "subwords.model"
    if not path.exists():
        text = ParallelText(Path(config.source), Path(config.target))
        write(path, train_sentencepiece(text, config.vocab, coverage=config.coverage).model)
    return SentencePiece(path.read_bytes())


def training_pairs(config: TextRun, subwords: Subwords) -> tuple[TokenPairs, Survey]:
    """The training text as tokens."""
    text = ParallelText(Path(config.source), Path(config.target))
    return encode(text, subwords, config.longest), text.survey()


def test_pairs(config: TextRun, subwords: Subwords) -> tuple[TokenPairs, Survey]:
    """The test text: tokens, and targets as they are written."""
    text = ParallelText(Path(config.test_source), Path(config.test_target))
    return encode(text, subwords, config.longest, test=True), text.survey()


def loss_over(pairs: TokenPairs, config: TextRun, objective: Any, **fields: Any) -> OneOf:
    """A loss that draws batches of one shape at a time, every pair as likely as another."""
    found = buckets(pairs, widths(config))
    size = config.batch // config.pieces
    losses = [objective(Pairs(*bucket.pairs), batch=size, **fields) for bucket in found]
    return OneOf(losses, [len(bucket.rows) / len(pairs) for bucket in found])


def with_targets(pairs: TokenPairs, targets: Sequence[Int[np.ndarray, " _"]]) -> TokenPairs:
    """The same sources with these targets; pairs whose target is empty are left out."""
    keep = np.array([len(target) > 0 for target in targets])
    if not keep.any():
        raise ValueError("the teacher translated every source by nothing; train it for longer")
    rows = np.flatnonzero(keep)
    lengths = pairs.source.lengths[rows]
    inside = np.repeat(pairs.source.starts[rows], lengths) + _ranges(lengths)
    source = Ragged.of(pairs.source.tokens[inside], lengths)
    kept = [target for target in targets if len(target)]
    target = Ragged.of(np.concatenate(kept), [len(row) for row in kept])
    empty = pairs.empty + int((~keep).sum())
    return replace(pairs, source=source, target=target, empty=empty)


def _ranges(lengths: Int[np.ndarray, " n"]) -> Int[np.ndarray, " total"]:
    """0..l-1 for every length l, one after the other."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def write(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(content)
    part.replace(path)
