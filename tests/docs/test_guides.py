"""The guides are followed literally: their files are written and their commands run, in one process."""

import re
import runpy
from pathlib import Path

import pytest
from pages import GUIDES, Page

from minicosm.cli import main


def run(words: list[str]) -> int:
    """The exit code of a command."""
    if words[0] == "python":
        runpy.run_path(words[1], run_name="__main__")
        return 0
    assert words[0] == "minicosm", f"a guide may not run {words[0]!r}"
    with pytest.raises(SystemExit) as stop:
        main(words[1:])
    return int(stop.value.code or 0)


@pytest.mark.parametrize("page", [Page(path) for path in GUIDES], ids=str)
def test_every_command_of_the_guide_succeeds(
    page: Page, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page.write_files(folder)
    assert page.commands
    for command in page.commands:
        code = run(command)
        out, err = capsys.readouterr()
        assert code == 0, f"{' '.join(command)}\n{out}\n{err}"
        assert out.strip()
        said = re.findall(r"(\d+) of (\d+) claims? came out as registered", out)
        assert all(right == total for right, total in said)
