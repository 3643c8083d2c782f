"""A corpus of one's own with topics of words: a folder of text, or a Parquet file of tokens and topics."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int

from .checks import (
    check_choice,
    check_count,
    check_path,
    check_texts,
    check_token_lists,
    shown,
)

TOPICS = "topics.txt"
Others = Literal["refuse", "leave"]


@dataclass(frozen=True)
class TopicCorpus:
    """Documents as whole numbers, the words that these stand for, and the topics of the words."""

    words: tuple[str, ...]
    documents: tuple[np.ndarray, ...]
    """Words of each, as places in `words`."""
    topics: tuple[str, ...]
    members: Bool[np.ndarray, "V K"]
    """Which words belong to which topics; a word of none counts as a stop word."""

    def __post_init__(self) -> None:
        for name in ("words", "topics"):
            check_texts(name, getattr(self, name))
            if not getattr(self, name):
                raise ValueError(f"{name} is empty; there must be at least one")
        rows = check_token_lists("documents", self.documents, len(self.words))
        if not rows or not all(rows):
            raise ValueError("documents must be at least one, and none may be empty")
        shape = (len(self.words), len(self.topics))
        found = np.asarray(self.members) if isinstance(self.members, np.ndarray) else None
        if found is None or found.dtype != bool or found.shape != shape:
            raise ValueError(
                f"members is {shown(self.members)}; it must be a boolean array of shape {shape}, a row for "
                "every word and a column for every topic"
            )

    @property
    def vocab(self) -> int:
        return len(self.words)

    def windows(self, length: int) -> Int[np.ndarray, "windows length"]:
        """All whole windows of `length` words that follow one another in a document."""
        check_count("length", length)
        rows = [
            document[start : start + length]
            for document in self.documents
            for start in range(0, len(document) - length + 1, length)
        ]
        if not rows:
            longest = max(map(len, self.documents))
            raise ValueError(
                f"length is {length}; the longest document has {longest} words, so no window fits"
            )
        return np.stack(rows)


def read_topic_corpus(path: str | Path, *, others: Others = "refuse") -> TopicCorpus:
    """Read a corpus with topics.

    A **folder** has one document in each `.txt` file, words between blanks, and a file `topics.txt` with one
    topic in each line: its words between blanks. A **Parquet file** has a row for each document, a column
    `tokens` (a list of words or of whole numbers) and a column `topics` (a list as long: the topic of each
    token, a text or a whole number, null for none); a word belongs to every topic that it has in some place.

    A word in no topic is refused; with `others="leave"` it is kept, as stop words are: it is read and
    predicted, and stands in no pair of words of the same or of different topics.
    """
    place = check_path("path", path)
    check_choice("others", others, ("refuse", "leave"))
    if place.is_dir():
        texts, names, topics = _folder(place)
    elif place.is_file():
        texts, names, topics = _parquet(place)
    else:
        raise ValueError(
            f"path is {str(place)!r}, which is not there; a folder or a file is needed"
        )
    words = sorted({word for text in texts for word in text})
    index = {word: i for i, word in enumerate(words)}
    members = np.zeros((len(words), len(topics)), bool)
    for k, (topic, own) in enumerate(topics.items()):
        for word in own:
            if word not in index:
                raise ValueError(f"the word {word!r} of topic {topic} of {place} is in no document")
            members[index[word], k] = True
    lost = np.flatnonzero(~members.any(axis=1))
    if others == "refuse" and len(lost):
        word = words[lost[0]]
        where = next(name for name, text in zip(names, texts, strict=True) if word in text)
        raise ValueError(
            f"the word {word!r} of {where} is in no topic, and {len(lost) - 1} others are not; give each "
            "a topic, or let them be stop words by others='leave'"
        )
    documents = tuple(np.array([index[word] for word in text]) for text in texts)
    return TopicCorpus(tuple(words), documents, tuple(topics), members)


Read = tuple[list[list[str]], list[str], dict[str, set[str]]]
"""The documents, their names, and the words of each topic."""


def _folder(folder: Path) -> Read:
    listed = folder / TOPICS
    files = sorted(file for file in folder.glob("*.txt") if file != listed)
    if not files:
        raise ValueError(f"the folder {folder} has no .txt file; each is one document")
    if not listed.is_file():
        raise ValueError(
            f"the folder {folder} has no {TOPICS}; each line lists the words of a topic"
        )
    lines = [line.split() for line in _text(listed).splitlines() if line.strip()]
    texts = [_text(file).split() for file in files]
    names = [str(file) for file in files]
    return (
        *_not_empty(texts, names, str(folder)),
        {str(k): set(line) for k, line in enumerate(_several(lines, str(listed)))},
    )


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not UTF-8; text files must be") from None
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None


def _not_empty(
    texts: list[list[str]], names: list[str], where: str
) -> tuple[list[list[str]], list[str]]:
    """The documents that have a word, and their names."""
    kept = [i for i, text in enumerate(texts) if text]
    if not kept:
        raise ValueError(f"{where} has no document with a word")
    return [texts[i] for i in kept], [names[i] for i in kept]


def _several(topics: Sequence[Any], where: str) -> Sequence[Any]:
    if len(topics) < 2:
        raise ValueError(f"{where} has {len(topics)} topics; at least two are needed")
    return topics


def _parquet(file: Path) -> Read:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
    except (pa.ArrowException, OSError, ValueError):
        raise ValueError(f"{file} is no Parquet file that can be read") from None
    for column in ("tokens", "topics"):
        if column not in table.column_names:
            raise ValueError(
                f"{file} has the columns {', '.join(table.column_names)}; it needs {column!r}"
            )
    rows = zip(table["tokens"].to_pylist(), table["topics"].to_pylist(), strict=True)
    texts: list[list[str]] = []
    topics: dict[str, set[str]] = {}
    for row, (tokens, labels) in enumerate(rows):
        words, own = (
            _list(tokens, f"tokens of row {row}", file, "words or whole numbers"),
            _list(labels, f"topics of row {row}", file, "texts, whole numbers or null", none=True),
        )
        if len(words) != len(own):
            raise ValueError(
                f"row {row} of {file} has {len(words)} tokens and {len(own)} topics; "
                "each token needs a topic, or null"
            )
        for word, topic in zip(words, own, strict=True):
            if topic is not None:
                topics.setdefault(str(topic), set()).add(str(word))
        texts.append([str(word) for word in words])
    names = [f"row {row} of {file}" for row in range(len(texts))]
    _several(list(topics), str(file))
    return (*_not_empty(texts, names, str(file)), dict(sorted(topics.items())))


def _list(values: Any, what: str, file: Path, wanted: str, none: bool = False) -> list[Any]:
    good = isinstance(values, list) and all(map(_is_name, _present(values, none)))
    if not good:
        raise ValueError(f"the {what} of {file} are no list of {wanted}")
    return values


def _present(values: Iterable[Any], none: bool) -> list[Any]:
    return [value for value in values if not (none and value is None)]


def _is_name(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
