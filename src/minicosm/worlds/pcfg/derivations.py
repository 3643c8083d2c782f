"""Random derivations of layered grammars, from the root down, compiled.

The number of tokens is drawn first (or given). A node that has n tokens chooses its rule, and how its
tokens are divided among its children, from the length laws of the symbols: so sentences of one length
are drawn exactly."""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from .grammar import Grammar


class Tables(NamedTuple):
    """Of one layer; `[A, r, ...]` for the rules of each symbol, filled up with impossible ones."""

    log_rules: np.ndarray  # [A, r, n]: log p + log P[children have n tokens]
    children: np.ndarray  # [A, r, m]; -1: none
    log_own: np.ndarray  # [child, l]: log P[child has l tokens]; the row -1 is of no child
    log_rest: np.ndarray  # [A, r, m, n]: log P[children m+1, ... have n tokens]


@lru_cache(maxsize=64)
def tables(grammar: Grammar) -> tuple[Tables, ...]:
    """Of every layer, from the one above the terminals up."""
    made = []
    longest = grammar.lengths[-1].shape[1] - 1
    for layer, law in zip(grammar.layers, grammar.lengths, strict=False):
        own = np.zeros((law.shape[0] + 1, longest + 1))
        own[:-1, : law.shape[1]] = law[:, : longest + 1]
        own[-1, 0] = 1
        rows = np.bincount(layer.parents, minlength=len(layer.symbols)).max()
        most = layer.most_children
        shape = (len(layer.symbols), int(rows))
        chance = np.zeros((*shape, longest + 1))
        children = np.full((*shape, most), -1)
        rest = np.zeros((*shape, most, longest + 1))
        taken = [0] * shape[0]
        for parent, kids, p in zip(layer.parents, layer.children, layer.probabilities, strict=True):
            r = taken[parent]
            taken[parent] += 1
            children[parent, r, : len(kids)] = kids
            after = np.eye(1, longest + 1)[0]
            for m in range(most - 1, -1, -1):
                rest[parent, r, m] = after
                if m < len(kids):
                    after = np.convolve(after, own[kids[m]])[: longest + 1]
            chance[parent, r] = p * after
        with np.errstate(divide="ignore"):
            made.append(Tables(np.log(chance), children, np.log(own), np.log(rest)))
    return tuple(made)


class Derivation(NamedTuple):
    """Nodes of one height, in order: symbols within their height (-1: no node), tokens under each, and the
    number of each node's parent one height up."""

    symbols: Int[Array, " nodes"]
    sizes: Int[Array, " nodes"]
    parents: Int[Array, " nodes"]


def derive(grammar: Grammar, key: PRNGKeyArray, length: Int[Array, ""]) -> list[Derivation]:
    """A derivation with `length` tokens: the nodes of every height, from the terminals up."""
    nodes = Derivation(
        jnp.zeros(1, jnp.int32), jnp.reshape(length, 1).astype(jnp.int32), jnp.zeros(1, jnp.int32)
    )
    found = [nodes]
    counts = grammar.counts
    for h in range(len(grammar.layers) - 1, -1, -1):
        key, sub = jax.random.split(key)
        nodes = _expand(tables(grammar)[h], nodes, sub, counts[h])
        found.append(nodes)
    return found[::-1]


def _expand(table: Tables, nodes: Derivation, key: PRNGKeyArray, room: int) -> Derivation:
    """The children of all nodes of one height, in order."""
    symbols, sizes, _ = nodes
    there = symbols >= 0
    a, n = jnp.maximum(symbols, 0), jnp.maximum(sizes, 0)
    rule_key, *split_keys = jax.random.split(key, 1 + table.children.shape[2])
    rules = jnp.asarray(table.log_rules)[a, :, n]
    r = jax.random.categorical(rule_key, jnp.where(there[:, None], rules, 0.0))
    kids = jnp.asarray(table.children)[a, r]
    longest = table.log_own.shape[1] - 1
    parts, left = [], n
    for m, split_key in enumerate(split_keys):
        own = jnp.asarray(table.log_own)[kids[:, m]]  # of the last row where there is no child
        rest = jnp.asarray(table.log_rest)[a, r, m]
        after = left[:, None] - jnp.arange(longest + 1)
        logits = own + jnp.where(
            after >= 0, jnp.take_along_axis(rest, jnp.maximum(after, 0), axis=1), -jnp.inf
        )
        part = jax.random.categorical(split_key, jnp.where(there[:, None], logits, 0.0))
        parts.append(jnp.where(kids[:, m] >= 0, part, 0))
        left = left - parts[-1]
    valid = there[:, None] & (kids >= 0)
    place = jnp.where(valid, jnp.cumsum(valid).reshape(valid.shape) - 1, room)
    empty = jnp.full(room + 1, -1, jnp.int32)
    flat = place.reshape(-1)
    owner = jnp.broadcast_to(jnp.arange(len(symbols))[:, None], valid.shape)

    def scatter(values: Array) -> Array:
        return empty.at[flat].set(values.reshape(-1).astype(jnp.int32), mode="drop")[:room]

    return Derivation(scatter(kids), scatter(jnp.stack(parts, axis=1)), scatter(owner))
