"""The process that computes: it answers as panels do, is started again if it dies, ends with its server."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from minicosm.explorer import computing, panels, settings

MATRIX = "0.9 0.2\n0.1 0.8"
NUMBER = re.compile(r"(-?\d+\.?\d*(?:e[-+]?\d+)?)")


@pytest.fixture(scope="module", autouse=True)
def no_process_is_left():
    yield
    computing.stop()


def test_it_answers_as_the_panel_does():
    asked = (MATRIX, MATRIX, "1 0", "0 ? 1")
    assert computing.compute("answers", *asked) == panels.answers(*asked)
    assert computing.compute("answers", *asked[:3], "7") == panels.answers(*asked[:3], "7")


def test_one_that_died_is_started_again():
    computing.start()
    (before,) = computing._computers
    os.kill(before.process.pid, signal.SIGKILL)
    before.process.join()
    asked = (MATRIX, MATRIX, "1 0", "0 1 1")
    assert computing.compute("answers", *asked) == panels.answers(*asked)
    assert computing._computers[0].process.pid != before.process.pid


def test_an_accident_in_a_panel_is_told_and_the_next_question_answered():
    texts, said = computing.compute("texts_of_world", "covered")
    assert "alert" in said and "TypeError" in said and not any(texts.values())
    assert "alert" in computing.compute("brackets", "(]", 0)


def test_what_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(computing, "LIMIT", 0.0)
    assert "it was given up" in computing.compute("brackets", "([", 1)
    monkeypatch.setattr(computing, "LIMIT", 60.0)
    assert "<figure" in computing.compute("brackets", "([", 1)


def test_it_ends_with_its_server(tmp_path):
    """Also where the server is killed."""
    script = (
        "from minicosm.explorer import computing\nif __name__ == '__main__':\n    computing.start()\n"
        "    print(computing._computers[0].process.pid, flush=True)\n    input()\n"
    )
    (tmp_path / "server.py").write_text(script)
    server = subprocess.Popen(
        [sys.executable, tmp_path / "server.py"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    child = int(server.stdout.readline())
    server.kill()
    server.communicate()
    for _ in range(600):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the process outlived its server by a minute")


@pytest.mark.usefixtures("unchecked_types")
def test_what_is_shown_at_first_is_what_the_panels_answer():
    """`python -m minicosm.explorer.computing` writes it again."""
    shipped, made = computing.first_view(), computing.compute_first_view()
    assert shipped.keys() == made.keys() and len(made) == 6
    for key, before in shipped.items():
        for old, new in zip(texts(before), texts(made[key]), strict=True):
            old, new = (NUMBER.split(text.replace("−", "-")) for text in (old, new))
            assert old[::2] == new[::2], key
            # What is rounding differs between machines, and so do last digits of coordinates.
            numbers = (np.array(each[1::2], float) for each in (old, new))
            assert np.allclose(*numbers, rtol=1e-3, atol=1e-3)


def texts(answer):
    """The texts of an answer: a panel's HTML, or the matrices of a world."""
    if isinstance(answer, str):
        return [answer]
    made, refused = answer
    return [*made.values(), refused]


def test_what_is_shown_at_first_takes_no_process(monkeypatch):
    monkeypatch.setattr(computing, "start", lambda: pytest.fail("a process was started"))
    monkeypatch.setattr(computing, "_computers", [])
    assert "<figure" in computing.compute("brackets", *settings.BRACKETS.values())
    texts, refused = computing.compute("texts_of_world", *settings.WORLD.values())
    assert "<table" in computing.compute("answers", *list(texts.values())[:3], texts["tokens"])
    assert refused == ""


def test_the_server_needs_no_jax():
    script = "import sys, minicosm.explorer.server as s, minicosm.explorer.page; print('jax' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.stdout == "False\n"
