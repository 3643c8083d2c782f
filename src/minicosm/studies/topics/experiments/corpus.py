"""The measures of the study on a user's own corpus: masked models of its words, and its own topics."""

import hashlib
from pathlib import Path
from typing import Any

import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.text import read_topic_corpus
from minicosm.training import fit_ensemble
from minicosm.worlds import topic_pairs

from ..trials import FOLD, Corpus
from .language import Measured, adam, fresh, objective_of, shape_of


def content(path: str) -> str:
    """A hash of the files of a corpus."""
    place = Path(path)
    files = sorted(place.glob("*.txt")) if place.is_dir() else [place]
    found = hashlib.sha256()
    for file in files:
        if file.is_file():
            found.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def run(config: Corpus, progress: Progress) -> TrialResult:
    """Train all seeds on windows of the documents; pairs of words in each and in an untrained copy."""
    others: Any = config.others
    corpus = read_topic_corpus(config.corpus, others=others)
    windows = corpus.windows(config.window)
    key = jax.random.fold_in(jax.random.key(config.seed), FOLD)
    start_key, train_key = jax.random.split(key)
    models = fresh(shape_of(config, corpus.vocab), jax.random.split(start_key, config.seeds))
    trained, history = fit_ensemble(
        objective_of([windows] * config.seeds, config),
        models,
        adam(config.rate),
        config.steps,
        jax.random.split(train_key, config.seeds),
        chunk=max(1, config.steps // 10),
        progress=lambda done, total, note="": progress(done, total, note),
    )
    pairs = topic_pairs(corpus.members)
    relation = {"same": pairs.same, "different": pairs.different}
    some = [d[: 2 * config.window] for d in corpus.documents[: config.evaluated] if len(d) > 1]
    counts = np.bincount(np.concatenate(corpus.documents), minlength=corpus.vocab)
    law = counts / counts.sum()
    numbers: dict[str, Any] = {
        "documents": len(corpus.documents),
        "words": corpus.vocab,
        "topics": len(corpus.topics),
        "words in no topic": int((~corpus.members.any(axis=1)).sum()),
        "loss": history["loss"][-1].tolist(),
        "unigram entropy": float(-(law[law > 0] * np.log(law[law > 0])).sum()),
    }
    for name, stacked in (("trained", trained), ("untrained", models)):
        numbers[name] = []
        for i in range(config.seeds):
            progress(config.steps, config.steps, f"attention, {name}")
            measured = Measured(jax.tree.map(lambda leaf, i=i: leaf[i], stacked), some)
            numbers[name].append({kind: measured.of(r) for kind, r in relation.items()})
    return TrialResult(numbers)
