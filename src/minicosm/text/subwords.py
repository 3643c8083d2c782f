"""Text as numbers: SentencePiece models and Hugging Face tokenizers, one vocabulary for both sides."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from .checks import (
    check_count,
    check_kind,
    check_path,
    check_text,
    check_texts,
    check_token_lists,
    shown,
)
from .parallel_text import ParallelText

NEEDED = "{what} needs the package {package}: pip install 'minicosm[text]'"
MOST_LINES = 10_000_000  # that SentencePiece learns from; of more it takes a random part


@runtime_checkable
class Subwords(Protocol):
    """Sentences as lists of numbers in `0..vocab-1`, and back."""

    @property
    def vocab(self) -> int: ...

    def encode(self, sentences: Sequence[str]) -> list[list[int]]: ...

    def decode(self, tokens: Sequence[Sequence[int]]) -> list[str]: ...


class SentencePiece:
    """A SentencePiece model, given by the bytes of its file."""

    def __init__(self, model: bytes):
        if not isinstance(model, bytes):
            raise TypeError(
                f"model is {shown(model)}; it must be the bytes of a SentencePiece file"
            )
        processor = _sentencepiece().SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(model)
            self.vocab = int(processor.get_piece_size())
        except (RuntimeError, TypeError):
            raise ValueError("the bytes of model are no SentencePiece model") from None
        if self.vocab < 1:
            raise ValueError("the SentencePiece model has no pieces")
        self.model, self._processor = model, processor

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        check_texts("sentences", sentences)
        return self._processor.encode(list(sentences), num_threads=os.cpu_count() or 1)

    def decode(self, tokens: Sequence[Sequence[int]]) -> list[str]:
        rows = check_token_lists("tokens", tokens, self.vocab)
        return self._processor.decode(rows) if rows else []


class HuggingFace:
    """A tokenizer of the package `tokenizers`, given by its json text. Nothing is added or cut."""

    def __init__(self, text: str):
        check_text("text", text)
        try:
            import tokenizers
        except ImportError:
            raise ImportError(
                NEEDED.format(what="a json tokenizer", package="tokenizers")
            ) from None
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the package raises no class of its own
            raise ValueError(f"this is no tokenizer of the package tokenizers ({error})") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.vocab = int(self._tokenizer.get_vocab_size(with_added_tokens=True))

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        check_texts("sentences", sentences)
        found = self._tokenizer.encode_batch(list(sentences), add_special_tokens=False)
        return [one.ids for one in found]

    def decode(self, tokens: Sequence[Sequence[int]]) -> list[str]:
        return self._tokenizer.decode_batch(check_token_lists("tokens", tokens, self.vocab))


def load_subwords(path: str | Path) -> Subwords:
    """A SentencePiece file, which ends in .model, or a file of `tokenizers`, which ends in .json."""
    path = check_path("path", path)
    if path.suffix not in (".model", ".json"):
        raise ValueError(
            f"the path of the tokenizer {path} ends in {path.suffix or 'nothing'}; it must be that of a "
            "SentencePiece .model file or a .json file of the package tokenizers"
        )
    if not path.is_file():
        raise ValueError(f"the tokenizer {path} is not there")
    try:
        if path.suffix == ".model":
            return SentencePiece(path.read_bytes())
        return HuggingFace(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise ValueError(f"the tokenizer {path} cannot be read: {error}") from None


def train_sentencepiece(
    text: ParallelText, vocab: int = 32_000, *, coverage: float = 1.0
) -> SentencePiece:
    """One vocabulary learned from both sides, by SentencePiece's unigram model. `coverage` is the share
    of characters that get pieces of their own (0.9995 for Chinese or Japanese)."""
    check_kind("text", text, ParallelText, "a ParallelText")
    check_count("vocab", vocab, least=2)
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 < coverage <= 1:
        raise ValueError(
            f"coverage is {shown(coverage)}; it must be a share, above 0 and at most 1"
        )
    spm, written = _sentencepiece(), io.BytesIO()
    spm.set_random_generator_seed(0)
    text.survey()  # the trainer itself would say less clearly what is wrong with the files
    try:
        spm.SentencePieceTrainer.train(
            sentence_iterator=(line for pair in text.pairs() for line in pair),
            model_writer=written,
            vocab_size=vocab,
            character_coverage=coverage,
            bos_id=-1,
            eos_id=-1,
            input_sentence_size=MOST_LINES,
            shuffle_input_sentence=True,
            num_threads=os.cpu_count() or 1,
            minloglevel=3,
        )
    except RuntimeError as error:
        said = str(error).strip().rpartition("] ")[2] or "no reason given"
        raise ValueError(
            f"vocab is {vocab}; SentencePiece cannot learn that many pieces from {text.source} and "
            f"{text.target}: {said}"
        ) from None
    return SentencePiece(written.getvalue())


def _sentencepiece() -> Any:
    try:
        import sentencepiece
    except ImportError:
        raise ImportError(NEEDED.format(what="SentencePiece", package="sentencepiece")) from None
    return sentencepiece
