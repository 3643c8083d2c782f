"""Windows of a user's text as a world of sentences: words, the rare ones as one."""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from minicosm.worlds.arrays import AnyArray, check_key, check_whole_numbers

from .checks import check_count, check_kind, check_path, check_text

RARE = "<rare>"
WORD = re.compile(r"\w+|[^\w\s]")


class WindowSample(NamedTuple):
    """A window, padded with the id V, and how many words it has."""

    tokens: Int[Array, "*n T"]
    length: Int[Array, "*n"]


class TextWindows(eqx.Module):
    """Consecutive windows of the files of a text; `sample` draws one of them, each equally likely.

    Words are in lower case, marks are words. The last token stands for all words that are too rare.
    """

    tokens: Int[AnyArray, "n T"]
    lengths: Int[AnyArray, " n"]
    words: tuple[str, ...] = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_kind("words", self.words, tuple, "a tuple of words")
        for word in self.words:
            check_text("a word of words", word)
        tokens = check_whole_numbers("tokens", self.tokens, 0, len(self.words), (None, None))
        if 0 in tokens.shape:
            raise ValueError(f"tokens has shape {tokens.shape}; there must be a window with words")
        check_whole_numbers("lengths", self.lengths, 1, tokens.shape[1], tokens.shape[:1])

    @classmethod
    def read(cls, path: str | Path, *, vocab: int = 2000, window: int = 32) -> "TextWindows":
        """The windows of a .txt file, or of all in a folder; the `vocab - 1` most frequent words have
        tokens."""
        texts = [WORD.findall(text.lower()) for text in _texts(path)]
        most = check_count("vocab", vocab, least=2)
        size = check_count("window", window, least=2, most=2**16)
        counts = Counter(word for text in texts for word in text)
        kept = sorted(counts, key=lambda word: (-counts[word], word))[: most - 1]
        number = {word: i for i, word in enumerate(kept)}
        rows, lengths = [], []
        for text in texts:
            ids = [number.get(word, len(kept)) for word in text]
            for first in range(0, len(ids), size):
                part = ids[first : first + size]
                rows.append(part + [len(kept) + 1] * (size - len(part)))
                lengths.append(len(part))
        if len(rows) < 2:
            raise ValueError(
                f"the text of {path} has {sum(lengths)} words; there must be more than one window of {size}"
            )
        return cls(np.array(rows, np.int32), np.array(lengths, np.int32), (*kept, RARE))

    def __hash__(self) -> int:
        """Of words and sizes: `jax.jit` hashes what the methods that it compiles belong to."""
        return hash((self.words, np.shape(self.tokens)))

    @property
    def vocab(self) -> int:
        return len(self.words)

    @property
    def longest(self) -> int:
        """Words of a window."""
        return int(np.shape(self.tokens)[-1])

    def sample(self, key: PRNGKeyArray) -> WindowSample:
        """One of the windows."""
        i = jax.random.randint(check_key(key), (), 0, np.shape(self.tokens)[0])
        return WindowSample(jnp.asarray(self.tokens)[i], jnp.asarray(self.lengths)[i])

    def split(self, held: int) -> tuple["TextWindows", "TextWindows"]:
        """All windows but the last `held`, and those."""
        count = len(self.lengths)
        if check_count("held", held) >= count:
            raise ValueError(f"held is {held}; the text has {count} windows, and one must be left")
        rest, last = slice(0, count - held), slice(count - held, count)
        return (
            TextWindows(self.tokens[rest], self.lengths[rest], self.words),
            TextWindows(self.tokens[last], self.lengths[last], self.words),
        )


def text_files(path: str | Path) -> list[Path]:
    """The .txt files of a folder, or the one file."""
    place = check_path("path", path)
    if not place.exists():
        raise ValueError(f"path is {place}; there is no such file or folder")
    files = sorted(place.glob("*.txt")) if place.is_dir() else [place]
    if not files:
        raise ValueError(f"the folder {place} has no .txt files")
    return files


def _texts(path: str | Path) -> list[str]:
    found = []
    for file in text_files(path):
        try:
            found.append(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ValueError(f"{file} is no text in UTF-8") from None
    return found
