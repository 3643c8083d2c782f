"""How fast strings of the flip-flop language are drawn with what their reads have to say.

    python benchmarks/flip_flop.py [--count 4096] [--length 512]

Prints, after compilation and as the best of five runs that take turns: tokens for a second of processor
time, in which other programs do not count, by the compiled sampler for all strings at once, by NumPy for all
strings at once, by NumPy string by string, by a loop over pairs that asks NumPy's generator for each, and by
a loop over pairs in plain Python with its own generator (the loops on fewer strings). What reads say is
checked, and shares of instructions are compared.
"""

import argparse
import random
import time
from collections.abc import Callable

import jax
import numpy as np

from minicosm.worlds import FlipFlop

Strings = tuple[np.ndarray, np.ndarray]
"""Tokens (strings, T), and what is remembered after each pair (strings, T/2)."""


def numpy_together(draw: np.random.Generator, count: int, pairs: int, p: np.ndarray) -> Strings:
    """All strings at once."""
    instructions = draw.choice(3, (count, pairs), p=p)
    instructions[:, 0], instructions[:, -1] = 0, 1
    bits = draw.integers(3, 5, (count, pairs))
    last = np.maximum.accumulate(np.where(instructions == 0, np.arange(pairs), -1), 1)
    memory = np.take_along_axis(bits, last, 1)
    told = np.where(instructions == 1, memory, bits)
    return np.stack([instructions, told], 2).reshape(count, -1), memory


def numpy_each(draw: np.random.Generator, count: int, pairs: int, p: np.ndarray) -> Strings:
    """One string at a time."""
    rows = [numpy_together(draw, 1, pairs, p) for _ in range(count)]
    return np.concatenate([row[0] for row in rows]), np.concatenate([row[1] for row in rows])


def numpy_pairs(draw: np.random.Generator, count: int, pairs: int, p: np.ndarray) -> Strings:
    """One pair at a time, each drawn by NumPy's generator."""
    tokens, memory = np.empty((count, 2 * pairs), int), np.empty((count, pairs), int)
    for row in range(count):
        held = 0
        for pair in range(pairs):
            instruction = 0 if pair == 0 else 1 if pair == pairs - 1 else draw.choice(3, p=p)
            bit = held if instruction == 1 else draw.integers(3, 5)
            held = bit if instruction == 0 else held
            tokens[row, 2 * pair], tokens[row, 2 * pair + 1] = instruction, bit
            memory[row, pair] = held
    return tokens, memory


def plain_python(draw: random.Random, count: int, pairs: int, p: np.ndarray) -> Strings:
    """One pair at a time, in lists, with Python's own generator."""
    uniform, until_w, until_r = draw.random, float(p[0]), float(p[0] + p[1])
    all_tokens, all_memory = [], []
    for _ in range(count):
        tokens: list[int] = []
        memory: list[int] = []
        held = 0
        for pair in range(pairs):
            u = uniform()
            if pair == 0 or (u < until_w and pair < pairs - 1):
                held = 3 if uniform() < 0.5 else 4
                tokens += (0, held)
            elif pair == pairs - 1 or u < until_r:
                tokens += (1, held)
            else:
                tokens += (2, 3 if uniform() < 0.5 else 4)
            memory.append(held)
        all_tokens.append(tokens)
        all_memory.append(memory)
    return np.array(all_tokens), np.array(all_memory)


def main() -> None:
    parser = argparse.ArgumentParser(description="strings of the flip-flop language")
    parser.add_argument("--count", type=int, default=4096)
    parser.add_argument("--length", type=int, default=512)
    a = parser.parse_args()
    world = FlipFlop(a.length, p_ignore=0.8)
    p, pairs = np.asarray(world.p, float), a.length // 2
    compiled = jax.jit(lambda key: jax.vmap(world.sample)(jax.random.split(key, a.count))[:2])
    some, few = max(1, a.count // 16), max(1, a.count // 256)
    draw, own = np.random.default_rng(0), random.Random(0)
    ways: dict[str, tuple[int, Callable[[int], Strings]]] = {
        "compiled": (a.count, lambda turn: jax.block_until_ready(compiled(jax.random.key(turn)))),
        "NumPy, all strings": (a.count, lambda _: numpy_together(draw, a.count, pairs, p)),
        "NumPy, string by string": (some, lambda _: numpy_each(draw, some, pairs, p)),
        "NumPy, pair by pair": (few, lambda _: numpy_pairs(draw, few, pairs, p)),
        "plain Python, pair by pair": (some, lambda _: plain_python(own, some, pairs, p)),
    }
    best: dict[str, float] = {}
    for turn in range(6):
        for name, (count, way) in ways.items():
            start = time.process_time()
            tokens, memory = way(turn)
            seconds = (time.process_time() - start) / (count * a.length)
            if turn:  # the first compiles
                best[name] = min(best.get(name, np.inf), seconds)
            tokens, memory = np.asarray(tokens), np.asarray(memory)
            instructions, told = tokens[:, ::2], tokens[:, 1::2]
            assert np.array_equal(told[instructions == 1], memory[instructions == 1]), name
            shares = np.bincount(instructions[:, 1:-1].ravel(), minlength=3) / (count * (pairs - 2))
            assert np.abs(shares - p).max() < 5 / np.sqrt(count * pairs), name
    for name, seconds in best.items():
        print(f"{name:28} {1 / seconds:12.3g} tokens/s   ratio {seconds / best['compiled']:8.1f}")


if __name__ == "__main__":
    main()
