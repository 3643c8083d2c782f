"""The guides are followed literally: their files are written and their commands run, in one process."""

import os
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from minicosm.cli import main

DOCS = Path(__file__).parents[2] / "docs"
FILE = re.compile(r"```python file=(\S+)\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ (.+)$", re.MULTILINE)
GUIDES = sorted(page.name for page in DOCS.glob("add-a-*.md"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in; modules and settings that a guide leaves are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("MINICOSM_HOME", str(tmp_path / "home"))
    for name in ("JAX_COMPILATION_CACHE_DIR", "JAX_DISABLE_MOST_OPTIMIZATIONS", "XLA_FLAGS"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def run(words: list[str]) -> int:
    """The exit code of a command."""
    if words[0] == "python":
        runpy.run_path(words[1], run_name="__main__")
        return 0
    assert words[0] == "minicosm", f"a guide may not run {words[0]!r}"
    with pytest.raises(SystemExit) as stop:
        main(words[1:])
    return int(stop.value.code or 0)


@pytest.mark.parametrize("page", GUIDES)
def test_every_command_of_the_guide_succeeds(
    page: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / page).read_text()
    files, commands = FILE.findall(text), COMMAND.findall(text)
    assert files and commands
    for name, source in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(source)
    for command in commands:
        code = run(shlex.split(command))
        out, err = capsys.readouterr()
        assert code == 0, f"{command}\n{out}\n{err}"
        assert out.strip()
        said = re.findall(r"(\d+) of (\d+) claims? came out as registered", out)
        assert all(right == total for right, total in said)
