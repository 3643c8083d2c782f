"""The guides are followed literally: their files are written and their commands run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FILE = re.compile(r"```python file=(\S+)\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ (.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", ["add-a-world.md", "add-a-claim.md"])
def test_every_command_of_the_guide_succeeds(page: str, tmp_path: Path) -> None:
    text = (DOCS / page).read_text()
    files, commands = FILE.findall(text), COMMAND.findall(text)
    assert files and commands
    for name, source in files:
        (tmp_path / name).write_text(source)
    for command in commands:
        words = shlex.split(command)
        program = {"python": [sys.executable], "minicosm": [sys.executable, "-m", "minicosm.cli"]}
        run = subprocess.run(
            [*program[words[0]], *words[1:]], cwd=tmp_path, capture_output=True, text=True
        )
        assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
        assert run.stdout.strip()
