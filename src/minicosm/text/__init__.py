"""Real text and code: files in two languages, a corpus with topics, windows of a text, subwords, BLEU, and
running a program that is judged.

Its modules are imported when a name is asked for: whoever only names a tokenizer does not wait for JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bleu_score import Bleu, bleu
    from .code_cases import Case, read_case
    from .code_runner import Limits, Outcome, judge, run, walls
    from .parallel_text import ParallelText, Survey
    from .subwords import (
        HuggingFace,
        SentencePiece,
        Subwords,
        load_subwords,
        train_sentencepiece,
    )
    from .token_pairs import Bucket, Ragged, TokenPairs, buckets, encode
    from .topic_corpus import TopicCorpus, read_topic_corpus
    from .windows import TextWindows, WindowSample

_HOMES = {
    "bleu_score": ("Bleu", "bleu"),
    "code_cases": ("Case", "read_case"),
    "code_runner": ("Limits", "Outcome", "judge", "run", "walls"),
    "parallel_text": ("ParallelText", "Survey"),
    "subwords": (
        "HuggingFace",
        "SentencePiece",
        "Subwords",
        "load_subwords",
        "train_sentencepiece",
    ),
    "token_pairs": ("Bucket", "Ragged", "TokenPairs", "buckets", "encode"),
    "topic_corpus": ("TopicCorpus", "read_topic_corpus"),
    "windows": ("TextWindows", "WindowSample"),
}

__all__ = [
    "Bleu",
    "Bucket",
    "Case",
    "HuggingFace",
    "Limits",
    "Outcome",
    "ParallelText",
    "Ragged",
    "SentencePiece",
    "Subwords",
    "Survey",
    "TextWindows",
    "TokenPairs",
    "TopicCorpus",
    "WindowSample",
    "bleu",
    "buckets",
    "encode",
    "judge",
    "load_subwords",
    "read_case",
    "read_topic_corpus",
    "run",
    "train_sentencepiece",
    "walls",
]


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
