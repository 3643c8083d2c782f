"""The claim about a user's text, from the command line to the verdict."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest


@pytest.mark.long
def test_a_text_made_on_the_spot_is_trained_on_and_judged(tmp_path):
    rng = np.random.default_rng(0)
    parts = (
        ["the", "a"],
        ["old", "red"],
        ["cat", "dog", "bird"],
        ["sees", "likes"],
        ["it", "them"],
    )
    text = " ".join(" ".join(map(rng.choice, parts)) + "." for _ in range(3000))
    (tmp_path / "text.txt").write_text(text)
    words = ["check", "distillation/natural-text", "--profile", "smoke", "--json"]
    words += ["--set", f"text={tmp_path / 'text.txt'}"]
    done = subprocess.run(
        [sys.executable, "-m", "minicosm", *words],
        env={**os.environ, "MINICOSM_HOME": str(tmp_path / "home")}, capture_output=True, text=True,
    )  # fmt: skip
    (found,) = json.loads(done.stdout)
    assert found["error"] is None and found["verdict"] in ("holds", "fails", "undecided")
    assert np.isfinite(found["numbers"]["largest less last"]["value"])
