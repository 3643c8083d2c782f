"""How fast states of an automaton are computed, and how long every automaton takes to decompose.

    python benchmarks/automata.py [--count 1024] [--length 1000]

Prints, after compilation and as the best of twenty runs that take turns: seconds of processor time, in which
other programs do not count, for the states of `count` words of `length` symbols by the compiled scan (`run`),
by the parallel scan of compositions (`maps`, its column of the start), by a loop over time in NumPy for all
words at once, and by one for each word (run on fewer words and scaled). Then the seconds for the holonomy
decomposition of every automaton of the library, multiplied back.
"""

import argparse
import time

import jax
import numpy as np

from minicosm.theory.automata import holonomy, multiplied_back
from minicosm.worlds import automata


def numpy_together(delta: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """One step of all words at a time."""
    states, now = np.empty_like(inputs), np.zeros(len(inputs), int)
    for t in range(inputs.shape[1]):
        now = delta[inputs[:, t], now]
        states[:, t] = now
    return states


def numpy_each(delta: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """One step of one word at a time."""
    states = np.empty_like(inputs)
    for row, word in enumerate(inputs):
        now = 0
        for t in range(len(word)):
            now = delta[word[t], now]
            states[row, t] = now
    return states


def main() -> None:
    parser = argparse.ArgumentParser(description="states of automata, and decompositions")
    parser.add_argument("--count", type=int, default=1024)
    parser.add_argument("--length", type=int, default=1000)
    a = parser.parse_args()
    world = automata.dihedral(4)
    delta = np.asarray(world.delta)
    inputs = np.random.default_rng(0).integers(0, world.vocab, (a.count, a.length)).astype(np.int32)
    few = max(1, a.count // 64)
    run = jax.jit(jax.vmap(lambda word: world.run(word)))
    maps = jax.jit(jax.vmap(lambda word: world.maps(word)[:, world.start]))
    given = jax.device_put(inputs)
    ways = {
        "compiled scan": (lambda: run(given), 1),
        "parallel scan of compositions": (lambda: maps(given), 1),
        "NumPy, all words at once": (lambda: numpy_together(delta, inputs), 1),
        "NumPy, word by word": (lambda: numpy_each(delta, inputs[:few]), a.count / few),
    }
    expected = numpy_together(delta, inputs)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(21):
        for name, (way, scale) in ways.items():
            start = time.process_time()
            found = jax.block_until_ready(way())
            if turn:  # the first compiles
                times[name].append((time.process_time() - start) * scale)
            else:
                np.testing.assert_array_equal(np.asarray(found), expected[: len(found)])
    ours = min(times["compiled scan"])
    print(f"states of {a.count} words of {a.length} symbols, {world.name}")
    for name, seconds in times.items():
        print(f"{name:32s} {1e3 * min(seconds):9.2f} ms  {min(seconds) / ours:7.1f} times ours")

    more = (automata.flip_flop(), automata.memory(4), automata.gridworld_2d(3), automata.abab())
    worlds = [*automata.source_tasks().values(), *more]
    start = time.process_time()
    wrong = sum(multiplied_back(holonomy(world), most=1000)[0] for world in worlds)
    seconds = time.process_time() - start
    print(
        f"{len(worlds)} automata decomposed and multiplied back in {seconds:.1f} s, {wrong} wrong steps"
    )


if __name__ == "__main__":
    main()
