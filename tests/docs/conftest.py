"""A folder in which the files and commands of a page are tried."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in; modules and settings that a page leaves are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("MINICOSM_HOME", str(tmp_path / "home"))
    for name in (
        "JAX_COMPILATION_CACHE_DIR",
        "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES",
        "JAX_DISABLE_MOST_OPTIMIZATIONS",
        "XLA_FLAGS",
    ):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
