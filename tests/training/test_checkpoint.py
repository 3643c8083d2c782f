"""Runs that are killed, interrupted, continued or confused with another one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from runs import alone, arrays, ensemble

from minicosm.training import Stopped, fit
from minicosm.training.checkpoint import RunState, load_run, save_run

RUNS = Path(__file__).with_name("runs.py")


def same(found, expected):
    found, expected = arrays(*found), arrays(*expected)
    assert set(found) == set(expected)
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_a_run_that_breaks_off_continues_bit_by_bit(tmp_path):
    """An error in the middle of a run; the same call again ends as if nothing had happened."""
    path, reports = tmp_path / "run.npz", []
    with pytest.raises(RuntimeError):
        alone(checkpoint=path, progress=lambda *_: fails())
    again = alone(checkpoint=path, progress=lambda done, _: reports.append(done))
    assert reports == [6, 9, 12]
    same(again, alone())


@pytest.mark.long
def test_a_killed_run_continues_bit_by_bit(tmp_path):
    """`kill -9` in the middle of a run; the same command again ends as if nothing had happened."""
    command = [sys.executable, RUNS, tmp_path / "run.npz", tmp_path / "result.npz"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "3\n"
        run.kill()
    assert run.returncode == -signal.SIGKILL
    again = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert "3" not in again.stdout.split() and again.stdout.endswith("12\n")
    expected = arrays(*alone())
    with np.load(tmp_path / "result.npz") as found:
        assert set(found) == set(expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_ctrl_c_ends_after_the_chunk_and_keeps_everything(tmp_path):
    """Two chunks, Ctrl-C; the rest later gives the run that was never interrupted."""
    path = tmp_path / "run.npz"

    def press(done, steps):
        if done == 6:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="after 6 of 12") as caught:
        alone(checkpoint=path, progress=press)
    assert isinstance(caught.value, Stopped)
    np.testing.assert_array_equal(caught.value.history["step"], [3, 6])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    whole = alone()
    same(alone(checkpoint=path), whole)
    same(alone(checkpoint=path), whole)  # and a finished run is only read


def test_an_ensemble_continues_too_and_steps_may_be_raised(tmp_path):
    path, key = tmp_path / "run.npz", jax.random.key(0)
    with pytest.raises(RuntimeError):
        ensemble(checkpoint=path, progress=lambda *_: fails())
    same(ensemble(checkpoint=path), ensemble())

    def run(steps, **options):
        return fit(parabola, jnp.ones(3), optax.adam(0.1), steps, key, chunk=2, **options)

    run(4, checkpoint=tmp_path / "short.npz")
    same(run(8, checkpoint=tmp_path / "short.npz"), run(8))
    with pytest.raises(ValueError, match="is 8 steps along; steps is 4"):
        run(4, checkpoint=tmp_path / "short.npz")


def fails():
    raise RuntimeError


def parabola(x, key, step):
    return jnp.sum((x - jax.random.normal(key)) ** 2), {}


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    path, key = tmp_path / "run.npz", jax.random.key(0)
    data = np.arange(3.0, dtype=np.float32)

    def run(start=1.0, rate=0.1, key=key, shift=0.0, data=data):
        def loss(x, key, step):
            return jnp.sum((x - data - shift) ** 2), {}

        fit(loss, jnp.full(3, start), optax.adam(rate), 2, key, checkpoint=path)

    run()
    run()
    others = [{"start": 2.0}, {"rate": 0.2}, {"key": jax.random.key(1)}, {"shift": 1.0}]
    for other in [*others, {"data": data + 1}]:
        with pytest.raises(ValueError, match="checkpoint of another run"):
            run(**other)


def damaged(path, change):
    """The checkpoint at `path` with its arrays changed by `change(arrays, about)`."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    about = json.loads(arrays.pop("about").tobytes())
    change(arrays, about)
    np.savez(path, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)


DAMAGE = {
    "half": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "empty": lambda path: path.write_bytes(b""),
    "a flipped byte": lambda path: path.write_bytes(flipped(path.read_bytes())),
    "another archive": lambda path: np.savez(path, other=np.zeros(2)),
    "step -3": lambda path: damaged(path, lambda arrays, about: about.update(step=-3)),
    "step 2.5": lambda path: damaged(path, lambda arrays, about: about.update(step=2.5)),
    "step 3": lambda path: damaged(path, lambda arrays, about: about.update(step=3)),
    "no step": lambda path: damaged(path, lambda arrays, about: about.pop("step")),
    "a list": lambda path: damaged(path, lambda arrays, about: about.update(format=[])),
    "shape": lambda path: damaged(path, lambda arrays, _: arrays.update({"params.": np.ones(2, "f4")})),
    "dtype": lambda path: damaged(path, lambda arrays, _: arrays.update({"params.": np.ones(3)})),
    "name": lambda path: damaged(path, lambda arrays, _: arrays.pop("params.")),
    "more": lambda path: damaged(path, lambda arrays, _: arrays.update({"params.x": np.ones(3)})),
    "history": lambda path: damaged(path, lambda arrays, _: arrays.update({"history.loss": np.ones(9)})),
}  # fmt: skip


def flipped(content):
    at = content.index(b"params.") + 200
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


ADAM = optax.adam(0.1)


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_checkpoint_is_set_aside_and_the_run_begins_again(damage, tmp_path):
    path = tmp_path / "run.npz"

    def run(steps):
        key = jax.random.key(0)
        return fit(parabola, jnp.ones(3), ADAM, steps, key, chunk=2, checkpoint=path)

    run(4)
    damage(path)
    content = path.read_bytes()
    with pytest.warns(
        UserWarning, match=r"run.npz cannot be used \(.*training starts again"
    ) as said:
        again = run(6)
    assert len(said) == 1 and "\n" not in str(said[0].message)
    same(again, fit(parabola, jnp.ones(3), ADAM, 6, jax.random.key(0), chunk=2))
    (aside,) = tmp_path.glob("run.npz.corrupt-*")
    assert aside.read_bytes() == content
    same(run(6), again)  # and the new one is whole


def test_every_kind_of_array_survives_the_file(tmp_path):
    """bfloat16, whole numbers and random keys, which NumPy's files do not know, come back as they were."""
    learned = {"half": jnp.arange(3, dtype=jnp.bfloat16) / 7, "whole": jnp.asarray(5)}
    state = (jax.random.split(jax.random.key(3), 2), jnp.zeros((0, 2)))
    history = {"step": np.array([4]), "loss": np.array([np.nan])}
    save_run(tmp_path / "a.npz", "run", RunState(learned, state, history, 4))
    found = load_run(tmp_path / "a.npz", "run", learned, state)
    assert found.step == 4 and np.isnan(found.history["loss"]).all()
    for a, b in zip(jax.tree.leaves(found[:2]), jax.tree.leaves((learned, state)), strict=True):
        assert a.dtype == b.dtype and bool(jnp.all(a == b))
