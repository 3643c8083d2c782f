"""Parallel text of one's own: two files, line i of one translates line i of the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from .checks import check_count, check_path

LONGEST_LINE = 10_000  # bytes; longer lines are broken files more often than sentences
FATES = ("kept", "empty", "not UTF-8", "too long")


class Survey(NamedTuple):
    """What two files hold: how many lines there are and what became of them."""

    lines: int
    fates: dict[str, int]  # of pairs; the names are FATES
    source_words: int  # in pairs that were kept, between blanks
    target_words: int

    @property
    def kept(self) -> int:
        return self.fates["kept"]

    def __str__(self) -> str:
        skipped = ", ".join(f"{n} {fate}" for fate, n in self.fates.items() if n and fate != "kept")
        words = (
            f"; {self.source_words / self.kept:.1f} words translate to "
            f"{self.target_words / self.kept:.1f} on average"
            if self.kept
            else ""
        )
        return f"{self.lines} pairs of lines, {self.kept} kept ({skipped or 'none skipped'}){words}"


@dataclass(frozen=True)
class ParallelText:
    """Two files of UTF-8 text with as many lines each. They are read line by line, never as a whole.

    A pair is skipped, and counted, if one of its lines is empty, is not UTF-8, or has more than
    `longest_line` bytes.
    """

    source: Path
    target: Path
    longest_line: int = LONGEST_LINE

    def __post_init__(self) -> None:
        check_count("longest_line", self.longest_line)
        for side in ("source", "target"):
            path = check_path(side, getattr(self, side))
            object.__setattr__(self, side, path)
            if not path.is_file():
                what = "a folder" if path.is_dir() else "not there"
                raise ValueError(f"the {side} text {path} is {what}; a text file is needed")

    def lines(self) -> Iterator[tuple[str, str, str]]:
        """Fate (one of FATES), source and target of every pair; ValueError if one file ends first."""
        with self.source.open("rb") as source, self.target.open("rb") as target:
            sides = [_lines(source, self.longest_line), _lines(target, self.longest_line)]
            count = 0
            while True:
                pair = [next(side, None) for side in sides]
                if pair[0] is None or pair[1] is None:
                    break
                count += 1
                fates = {fate for fate, _ in pair}  # type: ignore[misc]
                fate = next(f for f in (*FATES[1:], "kept") if f in fates)
                yield fate, pair[0][1], pair[1][1]
            sizes = [
                count + (here is not None) + sum(1 for _ in side)
                for here, side in zip(pair, sides, strict=True)
            ]
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"{self.source} has {sizes[0]} lines and {self.target} has {sizes[1]}; "
                "line i of one must translate line i of the other"
            )

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Source and target of every pair that is kept."""
        return ((source, target) for fate, source, target in self.lines() if fate == "kept")

    def survey(self) -> Survey:
        """Read both files once and count; ValueError if no pair is left."""
        fates = dict.fromkeys(FATES, 0)
        words = [0, 0]
        for fate, source, target in self.lines():
            fates[fate] += 1
            if fate == "kept":
                words[0] += len(source.split())
                words[1] += len(target.split())
        found = Survey(sum(fates.values()), fates, *words)
        if not found.kept:
            raise ValueError(f"{self.source} and {self.target} hold no text: {found}")
        return found


def batched(pairs: Iterator[tuple[str, str]], size: int = 10_000) -> Iterator[tuple[list, list]]:
    """Sources and targets of `size` pairs at a time."""
    while chunk := list(islice(pairs, size)):
        yield [source for source, _ in chunk], [target for _, target in chunk]


def _lines(file: BinaryIO, longest: int) -> Iterator[tuple[str, str]]:
    """Fate and text of every line. Only `\\n` ends a line: text may hold other separators."""
    first = True
    while line := file.readline(longest + 2):
        whole = line.endswith(b"\n")
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if first:
            text, first = text.removeprefix(b"\xef\xbb\xbf"), False
        if len(text) > longest:
            while line and not whole:
                line = file.readline(2**16)
                whole = line.endswith(b"\n")
            yield "too long", ""
            continue
        if b"\0" in text:  # as in UTF-16
            yield "not UTF-8", ""
            continue
        try:
            decoded = text.decode("utf-8").strip()
        except UnicodeDecodeError:
            yield "not UTF-8", ""
            continue
        yield ("kept" if decoded else "empty"), decoded
