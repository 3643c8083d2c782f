"""Corpora come back from every format as they were written."""

import json
import os
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from minicosm.lab import LabError
from minicosm.lab.export import export

TOKENS = np.arange(35, dtype=np.int32).reshape(7, 5)
HIDDEN = np.arange(42, dtype=np.int32).reshape(7, 6)
LABEL = np.linspace(0, 1, 7)
METADATA = {"world": "hmm", "parameters": {"A": [[0.1, 0.7], [0.9, 0.3]]}}


def chunks():
    for part in (slice(0, 3), slice(3, 6), slice(6, 7)):
        yield {"tokens": TOKENS[part], "hidden": HIDDEN[part], "label": LABEL[part]}


def test_parquet_has_list_columns_and_metadata_in_its_schema(tmp_path):
    path = tmp_path / "corpus.parquet"
    export(path, chunks(), METADATA)
    table = pq.read_table(path)
    np.testing.assert_array_equal(table["tokens"].to_pylist(), TOKENS)
    np.testing.assert_array_equal(table["hidden"].to_pylist(), HIDDEN)
    np.testing.assert_array_equal(table["label"].to_numpy(), LABEL)
    assert str(table.schema.field("tokens").type) in ("list<element: int32>", "list<item: int32>")
    assert json.loads(table.schema.metadata[b"minicosm"]) == METADATA


def test_jsonl_begins_with_its_metadata(tmp_path):
    path = tmp_path / "corpus.jsonl"
    export(path, chunks(), METADATA)
    first, *rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert first == {"metadata": METADATA}
    np.testing.assert_array_equal([row["tokens"] for row in rows], TOKENS)
    np.testing.assert_array_equal([row["label"] for row in rows], LABEL)


def test_npz_is_read_without_pickle(tmp_path):
    path = tmp_path / "corpus.npz"
    export(path, chunks(), METADATA)
    with np.load(path, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["tokens"], TOKENS)
        np.testing.assert_array_equal(archive["hidden"], HIDDEN)
        np.testing.assert_array_equal(archive["label"], LABEL)
        assert archive["tokens"].dtype == np.int32
        assert json.loads(str(archive["metadata"])) == METADATA


@pytest.mark.parametrize("name", ["corpus.csv", "corpus", "no/such/folder/corpus.npz"])
def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path, name):
    with pytest.raises(LabError, match="corpus"):
        export(tmp_path / name, chunks(), METADATA)


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "npz"])
def test_an_interrupted_export_leaves_the_old_file_and_nothing_else(tmp_path, ending):
    path = tmp_path / f"corpus.{ending}"
    path.write_text("old")

    def stopped():
        yield from list(chunks())[:1]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(path, stopped(), METADATA)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_export_left_is_removed_a_day_later(tmp_path):
    """Its file, and the columns of an npz; nothing else that is there."""
    old, young = (tmp_path / f".new-{digit * 32}" for digit in "ab")
    for file in (old, young):
        file.touch()
        columns = file.with_name(f"{file.name}-columns")
        columns.mkdir()
        (columns / "tokens").touch()
    other = tmp_path / ".new-plan"
    other.touch()
    yesterday = time.time() - 25 * 3600
    for path in (old, old.with_name(f"{old.name}-columns"), other):
        os.utime(path, (yesterday, yesterday))
    export(tmp_path / "corpus.npz", chunks(), METADATA)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"corpus.npz", ".new-plan", young.name, f"{young.name}-columns"}
