"""Hierarchical parity: a decision tree whose nodes branch on parities of blocks of coordinates."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..arrays import AnyArray, check_count, check_size, short
from .sparse import (
    MOST,
    ParitySample,
    bits_log_prob,
    check_coordinates,
    check_signs,
    signs_of,
    uniform_bits,
)

MOST_DEPTH = 10


class HierarchicalParity(eqx.Module):
    r"""`x` uniform on `{±1}^d` and a complete binary tree of depth D with `K = 2^D` leaves, the classes.

    Inner nodes are `1..K-1` in heap order; node v owns the block `F_v` of k coordinates and the parity
    `T_v(x) = prod_{i in F_v} x_i`. From the root one goes left (to 2v) where it is -1 and right (to 2v+1)
    where it is +1; the class is the leaf's index less K. Blocks are `F_1 = {0..k-1}, F_2 = {k..2k-1}, ...`
    unless they are given. Where the blocks on every way down are disjoint, classes are equally likely.
    With D = 1 it is the sparse parity of k coordinates with the classes exchanged.
    """

    d: int = eqx.field(static=True)
    blocks: tuple[tuple[int, ...], ...] = eqx.field(static=True)

    def __init__(
        self, d: int, k: int, depth: int = 3, blocks: Sequence[Sequence[int]] | None = None
    ):
        check_size(f"d = {d} coordinates", check_count("d", d), MOST)
        if check_count("depth", depth) > MOST_DEPTH:
            raise ValueError(f"depth is {depth}; it must be at most {MOST_DEPTH}")
        nodes = 2**depth - 1
        if check_count("k", k) > d:
            raise ValueError(f"k is {k} and d is {d}; a block has at most d coordinates")
        if blocks is None:
            if nodes * k > d:
                raise ValueError(
                    f"{nodes} blocks of k = {k} coordinates need d of at least {nodes * k}; d is {d}"
                )
            blocks = np.arange(nodes * k).reshape(nodes, k).tolist()
        if not isinstance(blocks, list | tuple | np.ndarray) or len(blocks) == 0:
            raise ValueError(f"blocks is {short(blocks)}; it must be a list of {nodes} blocks")
        if len(blocks) != nodes:
            raise ValueError(
                f"blocks has {len(blocks)} blocks; a tree of depth {depth} has {nodes}"
            )
        self.d = int(d)
        self.blocks = tuple(
            check_coordinates(f"blocks[{i}]", block, k, d) for i, block in enumerate(blocks)
        )

    @property
    def k(self) -> int:
        return len(self.blocks[0])

    @property
    def depth(self) -> int:
        return (len(self.blocks) + 1).bit_length() - 1

    @property
    def vocab(self) -> int:
        return 2

    @property
    def classes(self) -> int:
        return len(self.blocks) + 1

    def parities(self, x: Float[AnyArray, "*n d"]) -> Float[Array, "*n nodes"]:
        """`T_v(x)` of every inner node v = 1..K-1."""
        return jnp.prod(check_signs(x, self.d)[..., jnp.asarray(self.blocks)], axis=-1)

    def labels(self, x: Float[AnyArray, "*n d"]) -> Int[Array, "*n"]:
        """The class of each sign vector."""
        right = (self.parities(x) > 0).astype(jnp.int32)
        node = jnp.ones(right.shape[:-1], jnp.int32)
        for _ in range(self.depth):
            turn = jnp.take_along_axis(right, node[..., None] - 1, axis=-1)[..., 0]
            node = 2 * node + turn
        return node - self.classes

    def way(self, label: int) -> tuple[int, ...]:
        """The inner nodes on the way to a class, from the root."""
        if check_count("label", label, least=0) >= self.classes:
            raise ValueError(f"label is {label}; it must be in 0..{self.classes - 1}")
        leaf = label + self.classes
        return tuple(leaf >> up for up in range(self.depth, 0, -1))

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> ParitySample:
        """d uniform bits and their class; `length`, if given, must be d."""
        tokens = uniform_bits(key, self.d, length)
        return ParitySample(tokens, self.labels(signs_of(tokens)))

    def log_prob(self, tokens: Int[AnyArray, " d"]) -> Float[Array, ""]:
        """`-d log 2`."""
        return bits_log_prob(tokens, self.d)
