"""Small pretraining runs. As a script:

    python runs.py CHECKPOINT RESULT            one that prints a line after every chunk
    python runs.py CHECKPOINT RESULT MESH ...   one on each mesh, in double precision, into RESULT.MESH.npz

A mesh is written `ensemble=4,batch=2`.
"""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from minicosm.models import Transformer, TransformerConfig
from minicosm.training import MaskedObjective, adamw, fit, fit_ensemble
from minicosm.worlds import HMM

CONFIG = TransformerConfig(4, layers=1, heads=2, width=8, max_length=8)
MEMBERS = 8
STEPS = 12
OPTIMISER = adamw(0.01, STEPS, 3)  # one object, so that the tests of a process compile once


class Neighbours(eqx.Module):
    """A small network on a token's own row and its neighbours', or on its own alone if causal."""

    rows: jax.Array
    weight: jax.Array

    def __init__(self, key):
        self.rows = jax.random.normal(key, (5, 6))
        self.weight = jax.random.normal(jax.random.fold_in(key, 1), (6, 4))

    def embed(self, tokens, observed):
        return self.rows[jnp.where(observed, tokens, 4)]

    def logits(self, x, at=slice(None)):
        near = jnp.tanh(x + jnp.roll(x, 1, axis=0) + 2 * jnp.roll(x, -1, axis=0))
        return near[at] @ self.weight

    def next_logits(self, tokens):
        return jnp.tanh(self.rows[tokens]) @ self.weight


def make_world(member: int) -> HMM:
    """Drawn by NumPy, which has nothing to compile."""
    rng = np.random.default_rng(member)
    A, W = rng.dirichlet(np.full(3, 0.5), 3).T, rng.dirichlet(np.full(4, 0.5), 3).T
    return HMM(A, W, rng.dirichlet(np.ones(3)))


def objective(world: HMM) -> MaskedObjective:
    return MaskedObjective(world, length=8, batch=4, rate=0.25, exact=True)


def transformer(key) -> Transformer:
    return Transformer(CONFIG, key=key)


def alone(member: int = 0, steps: int = STEPS, model=Neighbours, **options):
    """One member of the ensemble, by itself."""
    key = jax.random.split(jax.random.key(0), MEMBERS)[member]
    loss, start = objective(make_world(member)), jax.jit(model)(key)
    return fit(loss, start, OPTIMISER, steps, key, chunk=3, **options)


def ensemble(model=Neighbours, **options):
    """Eight members, each with a world and a start of its own."""
    keys = jax.random.split(jax.random.key(0), MEMBERS)
    loss = objective(HMM.stack([make_world(member) for member in range(MEMBERS)]))
    start = jax.jit(jax.vmap(model))(keys)
    return fit_ensemble(loss, start, OPTIMISER, STEPS, keys, chunk=3, **options)


def arrays(model, history) -> dict[str, np.ndarray]:
    leaves = jax.tree.leaves(eqx.filter(model, eqx.is_array))
    named = {f"param{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    return named | {f"history.{name}": values for name, values in history.items()}


def on_mesh(text: str, kind=transformer) -> dict[str, np.ndarray]:
    """The ensemble, or the first member if the mesh has no such axis, on a mesh "ensemble=4,batch=2"."""
    sizes = {name: int(size) for name, size in (part.split("=") for part in text.split(","))}
    devices = np.array(jax.devices())[: np.prod(list(sizes.values()))]
    mesh = jax.sharding.Mesh(devices.reshape(*sizes.values()), tuple(sizes))
    if "ensemble" not in sizes:
        return arrays(*alone(sharding=mesh))
    model, history = ensemble(kind, sharding=mesh)
    for leaf in jax.tree.leaves(model):
        assert len(leaf.sharding.device_set) == len(devices)
        assert not leaf.sharding.is_fully_replicated
    return arrays(model, history)


def main(checkpoint: str, result: str, *meshes: str) -> None:
    jax.config.update("jax_disable_most_optimizations", True)
    if not meshes:
        found = alone(checkpoint=checkpoint, progress=lambda done, _: print(done, flush=True))
        np.savez(result, **arrays(*found))
    for mesh in meshes:
        jax.config.update("jax_enable_x64", True)
        np.savez(f"{result}.{mesh}.npz", **on_mesh(mesh))


if __name__ == "__main__":
    main(*sys.argv[1:])
