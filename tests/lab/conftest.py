"""The toy study as the only study, a fresh store, and the command line in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import toy_study

from minicosm.lab import Store

HERE = Path(__file__).parent


@pytest.fixture
def store(tmp_path):
    """A store whose warnings are collected in `store.warnings`."""
    warnings: list[str] = []
    store = Store(tmp_path / "store", warn=warnings.append)
    store.prepare()
    store.warnings = warnings
    return store


@pytest.fixture
def study():
    return toy_study.STUDY


@pytest.fixture
def pairs(study):
    return [(study, claim) for claim in study.claims]


@pytest.fixture
def start(tmp_path):
    """Start `minicosm WORDS...` on the toy study in a process of its own."""
    running = []

    def launch(*words, **variables):
        process = subprocess.Popen(
            [sys.executable, str(HERE / "toy_cli.py"), *words],
            env={
                **os.environ,
                "MINICOSM_HOME": str(tmp_path / "home"),
                "COLUMNS": "80",
                **variables,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield launch
    for process in running:
        process.kill()
        process.communicate()
