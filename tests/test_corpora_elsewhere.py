"""Corpora that `minicosm sample` writes, read by Hugging Face's datasets and by PyTorch."""

import json

import jax
import numpy as np
import pytest

from minicosm.cli import main
from minicosm.worlds import HMM

SAMPLES = {
    "hmm": ("--hidden 3 --vocab 5 --length 7", {"tokens": 7, "hidden": 8}),
    "memory-hmm": ("--hidden 2 --memory 2 --vocab 4 --length 6", {"tokens": 6, "hidden": 7, "memory": 1}),
    "dyck": ("--length 9", {"tokens": 9, "depths": 9, "length": 0}),
    "complete-dyck": ("--length 8", {"tokens": 8, "depths": 8, "length": 0}),
    "ising": ("--spins 4", {"tokens": 4}),
    "gaussian-hmm": ("--length 5", {"observations": 15, "hidden": 6}),
    "automaton": ("--length 5", {"tokens": 5, "states": 5}),
    "flip-flop": ("--length 8", {"tokens": 8, "memory": 4, "reads": 4}),
    "parity": ("--bits 6", {"tokens": 6, "label": 0}),
    "topics": ("--length 5 --topics 3", {"tokens": 5, "mixture": 3}),
    "lda": ("--length 5 --topics 3", {"tokens": 5, "mixture": 3}),
    "diffusion": ("--length 5 --potential log-cosh", {"observations": 5}),
    "fertility": ("--longest 6", {"source": 6, "source_length": 0, "target": 18, "target_length": 0}),
}  # fmt: skip
"""By world: options, and how many numbers a row has in each column, 0 for one that is no list."""


def write(path, world, options, count=11):
    with pytest.raises(SystemExit) as stop:
        main(["sample", world, *options.split(), "--count", str(count), "--out", str(path)])
    assert stop.value.code == 0


@pytest.fixture
def datasets():
    return pytest.importorskip("datasets", reason="needs datasets: make test-extras")


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="needs torch: make test-extras")


def load(datasets, path, folder):
    datasets.disable_progress_bars()
    files = {"data_files": str(path), "split": "train", "cache_dir": str(folder / "cache")}
    return datasets.load_dataset("parquet", **files)


@pytest.mark.parametrize("world", SAMPLES)
def test_load_dataset_reads_what_sample_writes(datasets, world, tmp_path):
    path = tmp_path / "corpus.parquet"
    options, widths = SAMPLES[world]
    write(path, world, options)
    found = load(datasets, path, tmp_path)
    assert len(found) == 11 and set(found.column_names) == set(widths)
    for name, width in widths.items():
        for row in found[name]:
            assert len(row) == width if width else isinstance(row, int)
    import pyarrow.parquet as pq

    for name, column in pq.read_table(path).to_pydict().items():
        assert list(found[name]) == column


def test_exact_laws_are_columns_and_are_those_of_the_world(datasets, tmp_path):
    path = tmp_path / "corpus.parquet"
    write(path, "hmm", "--hidden 3 --vocab 5 --length 7 --laws next --seed 4", count=3)
    found = load(datasets, path, tmp_path)
    import pyarrow.parquet as pq

    about = json.loads(pq.read_schema(path).metadata[b"minicosm"])["parameters"]
    world = HMM(*(np.array(about[name]) for name in ("A", "W", "p0")))
    (name,) = set(found.column_names) - {"tokens", "hidden"}
    for row in found:
        with jax.enable_x64(True):
            exact = np.exp(np.asarray(world.next_logits(np.array(row["tokens"]))))
        assert np.allclose(np.reshape(row[name], (7, 5)), exact, atol=1e-5)


def test_pytorch_takes_batches_and_a_model_learns_from_them(datasets, torch, tmp_path):
    path = tmp_path / "corpus.parquet"
    write(path, "hmm", "--hidden 2 --vocab 4 --length 12", count=64)
    found = load(datasets, path, tmp_path).with_format("torch")
    loader = torch.utils.data.DataLoader(found, batch_size=16)
    batch = next(iter(loader))["tokens"]
    assert batch.shape == (16, 12) and batch.dtype == torch.int64
    assert int(batch.min()) >= 0 and int(batch.max()) < 4
    model = torch.nn.Embedding(4, 4)  # logits of the next token by the last one
    optimiser = torch.optim.Adam(model.parameters(), 0.1)
    losses = []
    for _ in range(8):
        for rows in loader:
            tokens = rows["tokens"]
            logits = model(tokens[:, :-1]).reshape(-1, 4)
            loss = torch.nn.functional.cross_entropy(logits, tokens[:, 1:].reshape(-1))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    assert np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.2


def test_pytorch_reads_the_file_without_datasets(torch, tmp_path):
    import pyarrow.parquet as pq

    path = tmp_path / "corpus.parquet"
    write(path, "dyck", "--length 9", count=5)
    column = pq.read_table(path)["tokens"].combine_chunks()
    tokens = torch.from_numpy(column.flatten().to_numpy().copy()).reshape(5, 9)
    assert tokens.tolist() == column.to_pylist()
