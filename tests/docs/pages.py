"""Pages of the documentation, read as Markdown."""

import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs").glob("add-a-*.md"))
PATHS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after its fence, what is in it, and its line on the page."""

    info: tuple[str, ...]
    text: str
    line: int

    @property
    def language(self) -> str:
        return self.info[0] if self.info else ""

    @property
    def file(self) -> str:
        """The name of the file that the block is, of `python file=NAME`."""
        names = [word.removeprefix("file=") for word in self.info if word.startswith("file=")]
        return names[0] if names else ""


@dataclass(frozen=True)
class Page:
    """One page; `str` of it is its path in the repository."""

    path: Path

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))

    @cached_property
    def tokens(self) -> list[Token]:
        return PARSER.parse(self.path.read_text())

    @cached_property
    def inline(self) -> list[Token]:
        return [child for token in self.tokens for child in token.children or ()]

    @property
    def blocks(self) -> list[Block]:
        return [
            Block(tuple(token.info.split()), token.content, token.map[0] + 1 if token.map else 0)
            for token in self.tokens
            if token.type == "fence"
        ]

    @property
    def code(self) -> list[str]:
        """Whatever stands in backticks within the text."""
        return [token.content for token in self.inline if token.type == "code_inline"]

    @property
    def links(self) -> list[str]:
        """Where links lead and pictures come from."""
        found = [token.attrGet("href") or token.attrGet("src") for token in self.inline]
        return [str(link) for link in found if link]

    @property
    def anchors(self) -> set[str]:
        """The headings as they stand in links."""
        titles = (
            after.content
            for token, after in zip(self.tokens, self.tokens[1:], strict=False)
            if token.type == "heading_open"
        )
        return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}

    @property
    def commands(self) -> list[list[str]]:
        """The words of every command in console blocks, without what a shell does with them."""
        found = []
        for block in self.blocks:
            if block.language != "console":
                continue
            for line in block.text.replace("\\\n", " ").splitlines():
                if line.startswith("$ "):
                    words: list[str] = []
                    for word in [*shlex.split(line[2:], comments=True), ";"]:
                        if word in ("&&", "||", "|", ";"):
                            found.append(_command(words))
                            words = []
                        else:
                            words.append(word)
        return [words for words in found if words]

    def write_files(self, folder: Path) -> None:
        """Write the files that the page shows."""
        for block in self.blocks:
            if block.file:
                (folder / block.file).parent.mkdir(exist_ok=True)
                (folder / block.file).write_text(block.text)


def _command(words: list[str]) -> list[str]:
    """Without leading `NAME=VALUE`, and without the path of the environment."""
    while words and re.fullmatch(r"\w+=.*", words[0]):
        words = words[1:]
    return [words[0].removeprefix(".venv/bin/"), *words[1:]] if words else []
