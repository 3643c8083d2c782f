"""Two and eight simulated devices against one."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import optax
import pytest
from runs import OPTIMISER, Neighbours, alone, arrays, ensemble, on_mesh, transformer

from minicosm.training import CausalObjective, fit, fit_ensemble
from minicosm.training.devices import check_mesh

RUNS = Path(__file__).with_name("runs.py")


MESHES = ("ensemble=4,batch=2", "batch=4")


def same(found, expected, mesh):
    """Parameters and metrics agree to 1e-8 in double precision: sums are taken in another order, and Adam
    divides the rounding of gradients that vanish by its epsilon, 1e-8."""
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=1e-8, err_msg=(mesh, name))


@pytest.mark.skipif(jax.device_count() < 2, reason="conftest.py makes two devices of the processor")
def test_two_devices_give_what_one_gives():
    with jax.enable_x64(True):
        same(on_mesh("ensemble=2", Neighbours), arrays(*ensemble()), "ensemble")
    corpus, key = np.random.default_rng(0).integers(0, 4, (5, 8)), jax.random.key(0)
    objective = CausalObjective(length=8, batch=4, corpus=corpus)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("batch",))
    with jax.enable_x64(True):
        runs = [
            arrays(*fit(objective, Neighbours(key), OPTIMISER, 6, key, chunk=3, sharding=where))
            for where in (mesh, None)
        ]
    same(*runs, "batch")


@pytest.mark.long
def test_eight_devices_give_what_one_gives(tmp_path):
    # With the other flags of this process: they decide the last bit of the weights that are drawn.
    devices = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    flags = {"XLA_FLAGS": devices, "JAX_PLATFORMS": "cpu"}
    result = tmp_path / "result"
    command = [sys.executable, RUNS, "", result, *MESHES]
    subprocess.run(command, env=os.environ | flags, check=True, timeout=120)
    for mesh in MESHES:
        with jax.enable_x64(True):
            expected = arrays(*(ensemble(transformer) if "ensemble" in mesh else alone()))
        with np.load(f"{result}.{mesh}.npz") as found:
            same(found, expected, mesh)


def test_a_mesh_that_does_not_fit_is_named():
    device = np.array(jax.devices()[:1])
    keys = jax.random.split(jax.random.key(0), 3)

    def mesh(*names):
        return jax.sharding.Mesh(device.reshape((1,) * len(names)), names)

    with pytest.raises(ValueError, match="the axis 'data'"):
        fit_ensemble(lambda *_: None, {}, optax.sgd(0.1), 1, keys, sharding=mesh("data"))
    with pytest.raises(ValueError, match="use fit_ensemble"):
        fit(lambda *_: None, {}, optax.sgd(0.1), 1, keys[0], sharding=mesh("ensemble"))
    with pytest.raises(ValueError, match="3 members cannot be divided equally among 2"):
        check_mesh(jax.sharding.Mesh(np.repeat(device, 2), ("ensemble",)), 3)
