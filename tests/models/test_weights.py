"""Weights survive a file, and a file that is not whole or not ours is refused with a sentence."""

import json
import os
import tracemalloc

import jax
import numpy as np
import pytest
import random_models
from safetensors import safe_open
from safetensors.numpy import save_file

from minicosm.models import TransformerConfig, from_arrays, load, save, to_arrays

CONFIGS = [
    TransformerConfig(5, layers=3, width=8, heads=2, mlp_width=32, max_length=6),
    TransformerConfig.bert(5, layers=1, width=8, heads=2),
    TransformerConfig.gpt2(5, layers=2, width=8, heads=2, tied=False),
    TransformerConfig(5, layers=1, width=8, positions="sinusoidal", normaliser="unit"),
]


@pytest.mark.parametrize(("config", "double"), list(zip(CONFIGS, [False, True] * 2, strict=True)))
def test_a_saved_model_comes_back_bit_by_bit(config, double, tmp_path):
    with jax.enable_x64(double):
        kind = np.float64 if double else np.float32
        model = jax.tree.map(lambda leaf: leaf.astype(kind), random_models.transformer(config))
        save(model, tmp_path / "folder" / "model.safetensors")
        again = load(tmp_path / "folder" / "model.safetensors")
        assert again.config == config
        assert jax.tree.structure(again) == jax.tree.structure(model)
        for mine, theirs in zip(jax.tree.leaves(model), jax.tree.leaves(again), strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)
    assert os.listdir(tmp_path / "folder") == ["model.safetensors"]


def test_names_can_be_guessed(tmp_path):
    model = random_models.transformer(CONFIGS[0])
    save(model, tmp_path / "m.safetensors")
    with safe_open(tmp_path / "m.safetensors", "numpy") as file:
        assert {
            "token_embedding",
            "mask_embedding",
            "position_embedding",
            "layers.0.attention.qkv",
            "layers.2.mlp.down_bias",
            "layers.1.attention_norm.scale",
            "final_norm.shift",
            "output_bias",
        } <= set(file.keys())
        np.testing.assert_array_equal(
            file.get_tensor("layers.2.attention.out"), model.layers.attention.out[2]
        )


def test_a_construction_names_only_what_it_needs():
    """Unnamed arrays are filled; here only the output bias is not zero, and it is the law."""
    config = CONFIGS[0]
    bias = np.log([0.1, 0.2, 0.3, 0.2, 0.2])
    model = from_arrays(config, {"output_bias": bias}, fill=0)
    laws = jax.jit(lambda model: model.predict(model.embed(np.arange(2))))(model)
    np.testing.assert_allclose(laws, np.exp([bias, bias]), rtol=1e-5)


def test_bad_arrays():
    config = CONFIGS[0]
    arrays = to_arrays(random_models.transformer(config))
    for change, sentence in [
        ({"output_bias": np.zeros(4)}, "output_bias has shape (4,); this config needs (5)"),
        ({"layers.1.mlp.up": np.zeros((8, 3))}, "layers.1.mlp.up has shape (8, 3)"),
        ({"layers.9.mlp.up": np.zeros((8, 32))}, "no array 'layers.9.mlp.up'"),
        ({"output_bias": np.zeros(5, int)}, "output_bias has dtype int64"),
    ]:
        with pytest.raises(ValueError) as raised:
            from_arrays(config, arrays | change)
        assert sentence in str(raised.value)
    del arrays["final_norm.scale"]
    with pytest.raises(ValueError, match=r"the array 'final_norm\.scale' is missing"):
        from_arrays(config, arrays)
    members = [random_models.transformer(config, seed) for seed in range(2)]
    ensemble = jax.tree.map(lambda *leaves: np.stack(leaves), *members)
    with pytest.raises(ValueError, match=r"token_embedding has shape \(2, 5, 8\)"):
        to_arrays(ensemble)


def test_bad_files(tmp_path):
    whole = tmp_path / "whole.safetensors"
    save(random_models.transformer(CONFIGS[0]), whole)
    (tmp_path / "half.safetensors").write_bytes(whole.read_bytes()[:2000])
    (tmp_path / "text.safetensors").write_text("not weights")
    save_file({"x": np.zeros(3)}, tmp_path / "other.safetensors")
    with safe_open(whole, "numpy") as file:
        metadata = file.metadata()
    arrays = to_arrays(load(whole)) | {"output_bias": np.zeros(7, np.float32)}
    save_file(arrays, tmp_path / "shape.safetensors", metadata)
    for name, sentence in [
        ("none", "there is no file"),
        ("half", "is not a whole safetensors file"),
        ("text", "is not a whole safetensors file"),
        ("other", "but not one of a Transformer here"),
        ("shape", "does not fit its own config: output_bias has shape (7,)"),
    ]:
        with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
            load(tmp_path / f"{name}.safetensors")
        assert sentence in str(raised.value)


def test_a_small_file_with_ten_million_layers_takes_no_memory(tmp_path):
    path = tmp_path / "deep.safetensors"
    for fields, sentence in [
        (
            {"layers": 10**7, "width": 1, "heads": 1, "mlp_width": 0},
            "has 10,000,000 layers, and the",
        ),
        ({"vocab": 2**40}, "this machine has"),
        ({"max_length": 10**6}, "position_embedding has shape (2,)"),
    ]:
        config = {"vocab": 3, "layers": 1} | fields
        arrays = {"position_embedding": np.zeros(2, np.float32)}
        save_file(arrays, path, {"format": "minicosm.transformer", "config": json.dumps(config)})
        assert path.stat().st_size < 1000
        tracemalloc.start()
        with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
            load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3e7
        assert sentence in str(raised.value) or "is missing" in str(raised.value)
    for text in ("[", "[1]", '{"layers": 2}', '{"vocab": "3"}', "null"):
        save_file(arrays, path, {"format": "minicosm.transformer", "config": text})
        with pytest.raises(ValueError, match=r"^[^\n]*has no config of a Transformer: [^\n]*$"):
            load(path)


def test_only_regular_files_are_written_over(tmp_path):
    """A device at the place of a file would be renamed away, if root asks for it."""
    model, pipe = random_models.transformer(CONFIGS[0]), tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    for target, what in [(pipe, "no regular file"), (tmp_path, "a folder"), (link, "no regular")]:
        with pytest.raises(ValueError, match=f"path is '.*', which is {what}"):
            save(model, target)
    assert pipe.is_fifo() and link.is_symlink()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.safetensors"
    save(random_models.transformer(CONFIGS[0]), path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(OSError, match="disk"):
        save(random_models.transformer(CONFIGS[0], seed=1), path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["m.safetensors"]
