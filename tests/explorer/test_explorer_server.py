"""The command: a missing extra, a port in use, a port that is none; the notebook runs."""

import importlib.util
import socket

import pytest

from minicosm.cli import main
from minicosm.explorer import server
from minicosm.lab import LabError

with_marimo = pytest.mark.skipif(
    importlib.util.find_spec("marimo") is None, reason="needs marimo: make test-extras"
)


def said_by(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    return stop.value.code, capsys.readouterr().err


def test_without_the_extra_a_sentence_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    code, said = said_by(["explore"], capsys)
    assert code == 2
    assert said == "minicosm: the explorer needs marimo: pip install 'minicosm[explore]'.\n"


def test_a_port_in_use_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(server, "find_spec", lambda name: True)
    with socket.socket() as other:
        other.bind((server.HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        code, said = said_by(["explore", "--port", str(port)], capsys)
    assert code == 2 and said.startswith(f"minicosm: port {port} is in use; choose another one")


@pytest.mark.parametrize("port", [-1, 65536, 10**9])
def test_a_port_that_is_none_is_a_sentence(port):
    with pytest.raises(LabError, match=f"port is {port}; it must be a number from 0 to 65535"):
        server.listen(port)


def test_port_zero_is_any_that_is_free():
    with server.listen(0) as bound:
        assert bound.getsockname()[1] > 0


@with_marimo
def test_every_cell_of_the_notebook_runs():
    from minicosm.explorer.app import app

    _, names = app.run()
    assert names["chosen"] == "markov" and names["text"].value.startswith("(")
