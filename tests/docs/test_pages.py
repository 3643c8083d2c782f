"""What the pages name exists: claims, commands, options, make targets, links, imports; and blocks run."""

import ast
import contextlib
import importlib.util
import io
import re
from dataclasses import fields
from fnmatch import filter as matching
from pathlib import Path
from typing import Any, get_args

import pytest
import tyro
from pages import GUIDES, PATHS, ROOT, Page

from minicosm.cli import Audit, Check, Command, List, Report, Show
from minicosm.lab import LabError
from minicosm.lab.catalogue import select, select_studies
from minicosm.lab.options import assign, split
from minicosm.studies import STUDIES

PAGES = [Page(path) for path in PATHS]
RUN = [
    page
    for page in PAGES
    if page.path in (ROOT / "README.md", ROOT / "docs" / "concepts.md", *GUIDES)
]
"""Pages whose Python blocks are run; a block marked `python fragment` is not, nor is one that is a file."""

PACKAGE = ROOT / "src" / "minicosm"
IDS = [claim.id for study in STUDIES for claim in study.claims]
TARGETS = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
SUBCOMMANDS = {part.__metadata__[0].name: part.__origin__ for part in get_args(Command)}

every_page = pytest.mark.parametrize("page", PAGES, ids=str)


def hooks() -> Any:
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_mathematics_between_dollars_is_set_and_code_is_not() -> None:
    page = hooks().on_page_markdown(
        "| $|x|$ | `$y$` costs $ 3\n```console\n$ ls $HOME\n```\n$n$-th"
    )
    assert page.count("<math") == 2 and page.count("|") == 2 and "`$y$` costs $ 3" in page
    assert "$ ls $HOME" in page and page.endswith("</math></span>-th")


@every_page
def test_the_site_knows_how_every_block_of_code_begins(page: Page) -> None:
    opened = re.findall(r"^```.+$", hooks().on_page_markdown(page.path.read_text()), re.MULTILINE)
    known = r'```[a-z]+( title="[^"]+")?'
    assert not [line for line in opened if not re.fullmatch(known, line)]


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "tutorials").glob("*.md")), ids=str)
def test_a_tutorial_has_a_picture_and_the_example_that_it_names(path: Path) -> None:
    assert re.search(r"^!\[.+\]\(\S+\.svg\)$", path.read_text(), re.MULTILINE)
    block = re.search(r'^```py title="(.+)"\n(.*)\n```$', path.read_text(), re.MULTILINE)
    assert block and block[2] == f'--8<-- "{block[1]}"' and (ROOT / block[1]).is_file()


@every_page
def test_the_mathematics_of_a_page_can_be_set(page: Page) -> None:
    made = hooks().on_page_markdown(page.path.read_text())
    outside = re.sub(r"^```.*?^```|`[^`]+`", "", made, flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"\$\S[^$\n]*\\\w[^$\n]*\$|\\(?:vert|Vert|mathrm|frac)\b", outside)


@every_page
def test_claims_and_files_exist(page: Page) -> None:
    words = [*page.code, *(word for command in page.commands for word in command[1:])]
    named = {word for word in words if re.fullmatch(r"[a-z][a-z-]+/[\w.*-]+", word)}
    missing = [word for word in named if not _is_claim(word) and not _is_file(page, word)]
    assert not missing, f"{page} names {', '.join(sorted(missing))}"


def _is_claim(word: str) -> bool:
    """Whether it is the id of a claim, or of several with `*` or `...` for a part of it."""
    return bool(matching(IDS, word.replace("...", "*")))


def _is_file(page: Page, word: str) -> bool:
    if word in (block.file for block in page.blocks):
        return True
    return any((folder / word).exists() for folder in (ROOT, page.path.parent, PACKAGE))


@every_page
def test_commands_can_be_given(page: Page, folder: Path) -> None:
    page.write_files(folder)
    for words in page.commands:
        try:
            _try(words, folder)
        except (LabError, AssertionError) as error:
            pytest.fail(f"{page}: {' '.join(words)}: {error}")


def _try(words: list[str], folder: Path) -> None:
    program, *rest = words
    if program == "make":
        _make(rest)
    elif program == "python" and not rest[0].startswith("-"):
        assert (folder / rest[0]).exists() or (ROOT / rest[0]).exists(), "there is no such file"
    elif program == "minicosm" and rest != ["--version"]:
        command = _parsed(rest)
        if isinstance(command, List | Report):
            select_studies(STUDIES, command.studies)
        elif isinstance(command, Show):
            assert len(select(STUDIES, [command.claim])) == 1, "it must name one claim"
        elif isinstance(command, Check | Audit):
            claims = [claim for _, claim in select(STUDIES, command.names)]
            assign(claims, split(command.set) if isinstance(command, Check) else {})


def _parsed(words: list[str]) -> Any:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            return tyro.cli(
                Command,
                prog="minicosm",
                args=words,
                config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes),
            )
    except SystemExit:
        raise AssertionError(said.getvalue()) from None


def _make(words: list[str]) -> None:
    wanted = [word for word in words if "=" not in word]
    assert set(wanted) <= set(TARGETS), f"the Makefile has {', '.join(TARGETS)}"


@every_page
def test_commands_within_the_text_exist(page: Page) -> None:
    for text in page.code:
        program, *words = text.split() or [""]
        if program == "make" and words:
            _make(words)
        elif program == "minicosm" and words and words[0].isalpha():
            assert words[0] in SUBCOMMANDS, text
            known = {f"--{field.name}" for field in fields(SUBCOMMANDS[words[0]])}
            flags = {word for word in words if word.startswith("--")}
            assert flags <= known or words[0] == "sample", text


@every_page
def test_links_lead_to_files_and_headings(page: Page) -> None:
    for link in page.links:
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.path.parent / name if name else page.path
        assert target.exists(), f"{page} leads to {link}"
        assert not anchor or anchor in Page(target).anchors, f"{page} leads to {link}"


@every_page
def test_names_of_modules_and_of_what_is_in_them_exist(page: Page) -> None:
    for name in page.code:
        if re.fullmatch(r"minicosm(\.\w+)+", name):
            module, _, inner = name.rpartition(".")
            assert _has(module, inner), f"{page} names {name}"


@every_page
def test_python_compiles_and_its_imports_exist(page: Page) -> None:
    for block in page.blocks:
        if block.language != "python":
            continue
        tree = ast.parse(block.text, f"{page}:{block.line}")
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.partition(".")[0] == "minicosm":
                        importlib.import_module(alias.name)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names if str(node.module).startswith("minicosm") else ():
                    where = f"{page}:{block.line} imports {alias.name} from {node.module}"
                    assert _has(str(node.module), alias.name), where


def _has(module: str, name: str) -> bool:
    try:
        if hasattr(importlib.import_module(module), name):
            return True
        importlib.import_module(f"{module}.{name}")
    except ImportError:
        return False
    return True


@pytest.mark.parametrize("page", RUN, ids=str)
def test_python_runs_and_prints_what_is_said(page: Page, folder: Path) -> None:
    for block in page.blocks:
        if block.language != "python" or block.file or "fragment" in block.info:
            continue
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(block.text, f"{page}:{block.line}", "exec"), {"__name__": "page"})
        lines = said.getvalue().splitlines()
        for wanted in re.findall(r"^print\(.*\)\s*# (.+)$", block.text, re.MULTILINE):
            start = wanted.removesuffix("...").rstrip()
            assert any(line.startswith(start) for line in lines), f"{wanted!r} is not in {lines}"
