"""How fast the exact Dyck world draws and reads strings, against a plain Python automaton.

    python benchmarks/brackets.py [--count 10000] [--length 500]

Prints, after compilation and as the best of three runs: seconds to draw `count` prefixes, to give the
next-token law at every position of each, and to score them; and the same for a stack automaton written in
Python, run on fewer strings and scaled. As a limit, the time to write as many bytes as the laws have.
"""

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from minicosm.worlds import Dyck


def best(function: Callable[..., Any], *arguments: Any) -> float:
    """Seconds of the best of three calls, after one that compiles."""
    jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(3):
        start = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - start)
    return min(times)


def plain(length: int, depth: int = 4, types: int = 2, q: float = 0.5) -> list[list[float]]:
    """One prefix with the law of every next token, by a stack in Python."""
    stack: list[int] = []
    laws = []
    for _ in range(length):
        p = 1.0 if not stack else 0.0 if len(stack) == depth else q
        law = [0.0] * (2 * types)
        for t in range(types):
            law[2 * t] = p / types
        if stack:
            law[2 * stack[-1] + 1] = 1 - p
        laws.append(law)
        token = random.choices(range(2 * types), law)[0]
        if token % 2:
            stack.pop()
        else:
            stack.append(token // 2)
    return laws


def main() -> None:
    parser = argparse.ArgumentParser(description="exact Dyck worlds against plain Python")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--length", type=int, default=500)
    a = parser.parse_args()
    world = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), Dyck())
    keys = jax.random.split(jax.random.key(0), a.count)
    draw = jax.jit(jax.vmap(lambda key: world.sample(key, a.length).tokens))
    laws = jax.jit(jax.vmap(world.next_logits))
    score = jax.jit(jax.vmap(world.log_prob))
    both = jax.jit(jax.vmap(lambda key: world.next_logits(world.sample(key, a.length).tokens)))
    tokens = draw(keys)
    size = a.count * a.length * world.vocab * 4
    source = np.zeros(size // 4, np.float32)
    rows = {
        "draw": best(draw, keys),
        "next-token laws": best(laws, tokens),
        "log-probabilities": best(score, tokens),
        "draw and laws in one program": best(both, keys),
        f"copy of {size / 1e6:.0f} MB (limit)": best(np.copy, source),
    }
    few = max(1, a.count // 100)
    start = time.perf_counter()
    for _ in range(few):
        plain(a.length)
    python = (time.perf_counter() - start) * a.count / few
    print(f"{a.count} prefixes of length {a.length}, {jax.local_device_count()} device(s)")
    for name, seconds in rows.items():
        print(f"  {name:32s} {seconds:8.3f} s")
    ratio = python / rows["draw and laws in one program"]
    print(f"  {'plain Python, draw and laws':32s} {python:8.1f} s   ({ratio:.0f} x)")


if __name__ == "__main__":
    main()
