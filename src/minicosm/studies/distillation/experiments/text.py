"""BERT-like teachers and students of windows of a user's text.

Numbers: `floor`, the entropy of words; `loss`, `teacher_accuracy` and `accuracy` as for sentences of a
grammar, on held-out windows; `windows` and `words`, how many there are. Arrays: `steps`, `losses`, `top`,
`robust`, `close`.
"""

import hashlib
from pathlib import Path

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.text import TextWindows
from minicosm.text.windows import text_files

from ..transformer_trials import Text
from .sentences import final_scores, judge, students, teachers

HELD = 10
"""One window of so many is held out."""


def content(path: str) -> str:
    """A hash of the files of a text."""
    found = hashlib.sha256()
    for file in text_files(path):
        found.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def run(config: Text, progress: Progress, folder: Path) -> TrialResult:
    whole = TextWindows.read(config.text, vocab=config.words, window=config.window)
    world, held = whole.split(max(1, len(whole.lengths) // HELD))
    tests = judge(config, held, config.tests, "tests")
    trajectory, history = teachers(config, world, held, progress, folder)
    counts = np.bincount(np.asarray(whole.tokens).ravel(), minlength=whole.vocab)[: whole.vocab]
    law = counts[counts > 0] / counts.sum()
    numbers = final_scores(trajectory, tests) | {
        "floor": float(-(law * np.log(law)).sum()),
        "windows": len(whole.lengths),
        "words": whole.vocab,
    }
    numbers["accuracy"] = {
        str(steps): students(config, world, steps, trajectory, tests, progress, folder)[2]
        for steps in config.horizons
    }
    arrays = {"steps": history["step"], "losses": history["held loss"], "top": history["held top"]}
    return TrialResult(numbers, arrays | {n: history[n] for n in ("robust", "close")})
