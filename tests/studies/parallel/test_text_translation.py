"""Runs on files of one's own: the machinery by tiny models and by systems that copy."""

from dataclasses import replace

import numpy as np
import optax
import pytest

pytest.importorskip("sentencepiece")
pytest.importorskip("sacrebleu")

from minicosm.lab import TrialResult, silent
from minicosm.studies.parallel.claims import text as claims
from minicosm.studies.parallel.experiments import text_data as data
from minicosm.studies.parallel.experiments import text_run as trial
from minicosm.studies.parallel.experiments.text_translation import translate
from minicosm.studies.parallel.trials import TextRun, text
from minicosm.text.token_pairs import Ragged, TokenPairs

TINY = {
    "vocab": 35, "longest": 16, "layers": 1, "heads": 1, "width": 8, "mlp_width": 8, "steps": 4,
    "warmup": 2, "batch": 4, "pieces": 1, "together": 8, "hypotheses": 2, "passes": (1, 3),
    "dropout": 0.0, "stages": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Sources of three to five words; each is translated by one or two words."""
    folder, rng = tmp_path_factory.mktemp("text"), np.random.default_rng(0)
    for name, count in (("train", 40), ("test", 11)):
        sources, targets = [], []
        for _ in range(count):
            a = rng.choice(8, rng.integers(3, 6), replace=False)
            sources.append(" ".join("bcdfghjk"[i] + "a" for i in a))
            words = ("lmnpqrst"[i] + "o" * int(rng.integers(1, 3)) for i in a)
            targets.append(" ".join(words))
        for side, lines in (("source", sources), ("target", targets)):
            (folder / f"{name}.{side}").write_text("\n".join(lines) + "\n")
    return folder


def settings(files, **fields) -> TextRun:
    names = ("train.source", "train.target", "test.source", "test.target")
    return TextRun(0, *(str(files / name) for name in names), **(TINY | fields))


@pytest.mark.long
def test_a_run_scores_every_system(files, tmp_path, monkeypatch):
    """A tiny model after four steps; the teacher and its pupil repeat the source, without a model."""
    config = settings(files, outputs=str(tmp_path / "out"))
    asked = []

    def copying(model, _):
        def run(source, visible, key, longest):
            asked.append(len(source))
            return [(source, visible.sum(axis=1), visible.sum(axis=1) + 1)]

        return run

    monkeypatch.setattr(trial, "beam", copying)
    sgd = optax.sgd(0.1)  # compiles in half the time
    monkeypatch.setattr(trial, "adafactor", lambda *sizes, **more: sgd)
    train = trial._trained
    nothing = (None, {"loss": np.zeros(1)})
    monkeypatch.setattr(
        trial, "_trained", lambda name, *rest: train(name, *rest) if name == "parallel" else nothing
    )
    found = trial.run(config, silent, tmp_path).numbers
    assert asked == [8] * (5 + 2)  # 40 sources of the text, 11 of the test, in batches of 8
    parallel = {f"parallel, {n} passes" for n in (1, 3)}
    alone = {f"{name}, chosen by tokens alone" for name in parallel}
    assert set(found["systems"]) == {"autoregressive"} | parallel | alone
    assert found["pairs"] == 40 and found["sentences"] == 11 and found["taught_nothing"] == 0
    for name, system in found["systems"].items():
        assert 0 <= system["bleu"] <= 100 and np.isfinite(system["stutter"])
        assert 0 <= system["intl"] <= 100
        lines = (tmp_path / "out" / f"{name.replace(',', '').replace(' ', '-')}.txt").read_text()
        assert lines.count("\n") == 11 and lines.split("\n")[0] == system["first"]
    sources = (files / "test.source").read_text()
    assert (tmp_path / "out" / "autoregressive.txt").read_text() == sources
    assert found["systems"]["parallel, 1 passes"]["passes"] == 1
    assert np.isfinite(found["loss"]["parallel"])


def test_references_that_are_copied_have_100(files, tmp_path):
    config = settings(files)
    subwords = data.subwords_of(config, tmp_path)
    test, _ = data.test_pairs(config, subwords)

    def copying(source, visible, key, longest):
        rows = [_row_of(test, s[v]) for s, v in zip(source, visible, strict=True)]
        targets = test.target.padded(np.array(rows), longest, 0)
        return [(targets, test.target.lengths[rows], np.ones(len(rows)))] * 2

    found = translate(copying, test, config, silent, None)
    scores = trial._scores("copy", found[1], test, subwords, config)
    assert scores["bleu"] == pytest.approx(100) and scores["stutter"] == 0


def _row_of(pairs: TokenPairs, tokens) -> int:
    """The first row with this source."""
    a = pairs.source
    rows = [a.tokens[a.starts[i] : a.starts[i + 1]] for i in range(len(pairs))]
    return next(i for i, row in enumerate(rows) if row.tolist() == tokens.tolist())


def ragged(rows) -> Ragged:
    return Ragged.of([t for row in rows for t in row], [len(row) for row in rows])


def test_translations_stand_in_order_and_are_kept(files, tmp_path):
    rng = np.random.default_rng(3)
    rows = [rng.integers(0, 9, rng.integers(1, 40)).tolist() for _ in range(300)]
    pairs = TokenPairs(ragged(rows), ragged(rows), 9, 0, 0, ())
    config, calls = settings(files, longest=40, together=4), []

    def backwards(source, visible, key, longest):
        calls.append(source.shape)
        lengths = visible.sum(axis=1)
        flipped = np.stack([np.roll(s[::-1], n) for s, n in zip(source, lengths, strict=True)])
        return [(flipped, lengths, lengths + 1)]

    (found,) = translate(backwards, pairs, config, silent, tmp_path / "parts")
    assert [t.tolist() for t in found.tokens] == [row[::-1] for row in rows]
    assert found.passes.tolist() == [len(row) + 1 for row in rows]
    assert {shape[1] for shape in calls} == {16, 32, 40} and {s[0] for s in calls} == {4}
    first = len(calls)
    sorted((tmp_path / "parts").iterdir())[1].unlink()
    (again,) = translate(backwards, pairs, config, silent, tmp_path / "parts")
    assert 0 < len(calls) - first <= 32 and len(calls) - first < first
    assert all((a == b).all() for a, b in zip(found.tokens, again.tokens, strict=True))


def test_teachers_targets_replace_those_of_the_text():
    pairs = TokenPairs(ragged([[1, 2], [3], [4, 5, 6]]), ragged([[7], [8], [9]]), 10, 0, 0, ())
    found = data.with_targets(pairs, [np.array([5, 5]), np.array([], int), np.array([1])])
    assert found.source.tokens.tolist() == [1, 2, 4, 5, 6]
    assert found.source.starts.tolist() == [0, 2, 5]
    assert found.target.tokens.tolist() == [5, 5, 1] and found.empty == 1 and len(found) == 2
    with pytest.raises(ValueError, match="translated every source by nothing"):
        data.with_targets(pairs, [np.array([], int)] * 3)


def test_without_files_claims_are_undecided():
    assert text("paper", 0) == {}
    for check in (claims.table, claims.stutter):
        found = check({})
        assert found.verdict == "undecided"
        assert "No text was given: set source, target" in found.remark


def results(slow, fast, slow_stutter=1.0, fast_stutter=2.0):
    rows = {
        "autoregressive": (slow, slow_stutter, 30.0),
        "parallel, 4 passes": (fast, fast_stutter, 4.0),
        "parallel, 4 passes, chosen by tokens alone": (0.0, 0.0, 4.0),
    }
    systems = {
        name: {
            "bleu": b,
            "intl": b + 0.5,
            "stutter": s,
            "passes": p,
            "length": 29.0,
            "signature": "t",
        }
        for name, (b, s, p) in rows.items()
    }
    numbers = {"systems": systems, "mean_target": 29.0, "training": "", "test": ""}
    numbers |= {"left_out": 17, "cut": 3}
    return {"text": TrialResult(numbers, {}, TextRun(0))}


def test_the_criteria_decide():
    assert claims.table(results(33.5, 32.0)).verdict == "holds"
    assert claims.table(results(33.5, 31.9)).verdict == "fails"
    assert claims.table(results(33.5, 33.0)).numbers["times fewer decoder passes"] == 7.5
    assert claims.table(results(1.6, 0.1)).verdict == "holds"
    nothing = claims.table(results(1.5, 0.0))
    assert nothing.verdict == "undecided" and "has not learned to translate" in nothing.remark
    assert "17 with more than 128 tokens" in nothing.tables[0].note
    assert claims.stutter(results(1, 1)).verdict == "holds"
    assert claims.stutter(results(1, 1, 1.0, 1.9)).verdict == "fails"
    assert claims.stutter(results(1, 1, 0.0, 0.1)).verdict == "holds"
    assert claims.stutter(results(1, 1, 0.0, 0.0)).verdict == "undecided"


@pytest.mark.usefixtures("unchecked_types")
def test_bad_input_is_one_sentence(files):
    train = {"source": str(files / "train.source"), "target": str(files / "train.target")}
    with pytest.raises(ValueError, match="test_source is not set; source, target"):
        text("paper", 0, **train)
    both = train | {"test_source": str(files / "no"), "test_target": str(files / "test.target")}
    with pytest.raises(ValueError, match="no cannot be read: no such file"):
        text("paper", 0, **both)
    both["test_source"] = str(files / "test.source")
    config = text("paper", 3, **both)["text"].config
    assert (config.layers, config.width, config.batch, config.steps) == (6, 512, 2048, 500_000)
    assert config.seed == 3 and len(config.contents) == 4
    with pytest.raises(ValueError, match="steps is 0; it must be at least 1"):
        text("paper", 0, steps=0, **both)
    with pytest.raises(ValueError, match="cannot be divided into 3 equal pieces"):
        text("paper", 0, pieces=3, **both)
    with pytest.raises(
        ValueError, match="positions is 'sinusoidal'; it must be one of relative, learned"
    ):
        text("paper", 0, positions="sinusoidal", **both)
    with pytest.raises(ValueError, match="has its own pieces; coverage is for"):
        text("paper", 0, tokenizer="my.model", coverage=0.99, **both)
    for field, value, said in (
        ("heads", 7, "multiple of heads"),
        ("tokenize", "flores", "'flores'; it must be one of 13a, zh"),
        ("steps", 9000, "warmup is 10000 and steps is 9000; warmup must be less"),
        ("rate", 0.0, "rate is 0.0; it must be positive"),
        ("coverage", 0.5, "coverage is 0.5; it must be from 0.98 to 1"),
        ("dropout", 1.0, "dropout is 1.0; it must be from 0 to 0.99"),
    ):
        with pytest.raises(ValueError, match=said):
            replace(config, **{field: value})


def test_what_is_needed_at_the_end_is_asked_for_before_training(files, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("")
    with pytest.raises(ValueError, match="taken, which cannot be a folder: file exists"):
        trial.run(settings(files, outputs=str(taken)), silent, tmp_path)
    assert list(tmp_path.iterdir()) == [taken]  # nothing was learned


def test_long_pairs_are_left_out_or_cut(files, tmp_path):
    """Not trained on; of the test text all sentences stay, as a score over fewer is another score."""
    config = settings(files, longest=6)
    subwords = data.subwords_of(config, tmp_path)
    full = data.training_pairs(settings(files), subwords)[0]
    size = np.maximum(full.source.lengths, full.target.lengths)
    pairs, test = (part(config, subwords)[0] for part in (data.training_pairs, data.test_pairs))
    assert 0 < len(pairs) == (size <= 6).sum() < len(full) and pairs.longer == (size > 6).sum()
    assert len(test) == 11 and test.longer > 0
    assert max(test.source.lengths.max(), test.target.lengths.max()) == 6
    assert list(test.references) == (files / "test.target").read_text().splitlines()
