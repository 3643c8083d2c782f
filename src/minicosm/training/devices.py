"""One training run on several devices, described by a mesh with the axes "ensemble" and "batch".

Members of an ensemble never talk to each other: each device trains its own. Sequences of a batch do:
the compiler splits what is computed from them and adds up the gradients.
"""

import contextlib
from typing import Any, TypeVar

import equinox as eqx
import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Key

ENSEMBLE, BATCH = "ensemble", "batch"
Tree = TypeVar("Tree")


def check_mesh(mesh: Mesh, members: int | None) -> Mesh:
    """The mesh with axes that the compiler may use freely, if it fits the members (None: `fit`)."""
    unknown = [name for name in mesh.axis_names if name not in (ENSEMBLE, BATCH)]
    if unknown:
        raise ValueError(
            f"sharding has the axis {unknown[0]!r}; its axes may be 'ensemble' and 'batch'"
        )
    size = mesh.shape.get(ENSEMBLE)
    if size is not None and members is None:
        raise ValueError("sharding has the axis 'ensemble'; fit trains one model, use fit_ensemble")
    if size is not None and members is not None and members % size:
        raise ValueError(
            f"{members} members cannot be divided equally among {size} devices of the axis 'ensemble'"
        )
    return Mesh(mesh.devices, mesh.axis_names)


def place(tree: Tree, mesh: Mesh | None) -> Tree:
    """Arrays on the devices of the mesh: members apart if it has that axis, all else everywhere."""
    if mesh is None:
        return tree
    sharding = NamedSharding(mesh, _members(mesh))
    return jax.tree.map(lambda x: jax.device_put(x, sharding) if eqx.is_array(x) else x, tree)


def on(mesh: Mesh | None) -> contextlib.AbstractContextManager:
    """Where `over_batch` finds the mesh."""
    return contextlib.nullcontext() if mesh is None else jax.set_mesh(mesh)


def members_apart(function: Any, mesh: Mesh | None) -> Any:
    """`function` of trees with a leading axis of members, each device computing only its own."""
    if mesh is None or ENSEMBLE not in mesh.axis_names:
        return function

    def apart(*trees: Any) -> Any:
        arrays, rest = eqx.partition(trees, eqx.is_array)
        return jax.shard_map(
            lambda arrays: function(*eqx.combine(arrays, rest)),
            mesh=mesh,
            in_specs=(_members(mesh),),
            out_specs=_members(mesh),
            axis_names={ENSEMBLE},
            check_vma=False,
        )(arrays)

    return apart


def over_batch(keys: Key[Array, " batch"]) -> Key[Array, " batch"]:
    """The keys of a batch's sequences, divided among the devices of the axis "batch" if there is one.

    What is computed from them by `jax.vmap` is divided with them.
    """
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.empty or BATCH not in mesh.axis_names:
        return keys
    size = mesh.shape[BATCH]
    if keys.shape[0] % size:
        raise ValueError(
            f"a batch of {keys.shape[0]} cannot be divided equally among {size} devices of the "
            "axis 'batch'"
        )
    return jax.lax.with_sharding_constraint(keys, PartitionSpec(BATCH))


def _members(mesh: Mesh) -> PartitionSpec:
    return PartitionSpec(ENSEMBLE) if ENSEMBLE in mesh.axis_names else PartitionSpec()
