"""How long one translation takes: refinement of all positions against token by token.

    python benchmarks/translation.py          # about three minutes; --quick leaves the large size out

Weights are random, and the work is that of trained ones: targets have as many tokens as their sources (28 to
33, which no search may end before), refinement tries 5 lengths at once and makes all of its 4 passes, and a
search makes one pass for every token and for the end, with what it computed remembered. A search that
computes all positions again at every pass is measured as well. One source after another, every decoder takes
its turn; passes are those that the decoders count. The encoder's time is in all of them.

Matrix products and reading of a large array take their turns too: a pass cannot take less time than its
multiplications at the first rate, nor than reading the decoder's weights at the second.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from minicosm.decoding import beam, refine
from minicosm.decoding.refinement import stutter
from minicosm.models import Translator, TranslatorConfig

SHORTEST, LONGEST, PASSES, HYPOTHESES = 28, 33, 4, 5
SIZES = {
    "stand-in, width 64": (
        TranslatorConfig(48, max_length=LONGEST + 1, lengths=LONGEST),
        TranslatorConfig(48, max_length=LONGEST + 1, lengths=0, causal=True),
    ),
    "67 million parameters": (
        TranslatorConfig.paper(),
        TranslatorConfig.paper(causal=True, lengths=0, positional_attention=False),
    ),
}


class Again(eqx.Module):
    """Token by token, with all positions computed again at every step."""

    model: Translator
    targets: int = eqx.field(static=True)
    room: int = eqx.field(static=True)

    def begin(self, memory):
        return memory, jnp.zeros((self.targets, self.room + 1), jnp.int32)

    def step(self, past, at, parents, tokens):
        memory, read = past
        read = read[parents].at[:, at].set(tokens)
        known = jnp.arange(self.room + 1) <= at
        logits = jax.vmap(lambda row: self.model.decode(row, memory, known)[at])(read)
        return logits, (memory, read)


class Ending(eqx.Module):
    """A decoder whose targets end where their sources end, and not before."""

    reader: Any
    end: int = eqx.field(static=True)

    def begin(self, memory):
        return self.reader.begin(memory), jnp.asarray(memory.visible).sum()

    def step(self, past, at, parents, tokens):
        past, length = past
        logits, past = self.reader.step(past, at, parents, tokens)
        forced = jnp.where(at >= length, 1e4, -1e4)
        return logits.at[:, self.end].set(forced), (past, length)


class Forced(eqx.Module):
    """A causal translator whose targets have as many tokens as their sources."""

    model: Translator
    again: bool = eqx.field(static=True, default=False)

    @property
    def vocab(self) -> int:
        return self.model.vocab

    def encode(self, source, visible):
        return self.model.encode(source, visible)

    def by_token(self, targets, room):
        remembering = None if self.again else self.model.by_token(targets, room)
        return Ending(remembering or Again(self.model, targets, room), self.vocab)


def unsettled(seen):
    """Repeats, and the first token always: no pass returns what it read, so that all of them run."""
    return stutter(seen) | (jnp.arange(len(seen.tokens)) == 0)


def decoders(parallel: TranslatorConfig, causal: TranslatorConfig) -> dict[str, Callable]:
    """Functions of `(source, visible)` that translate a batch."""
    key = jax.random.key(0)
    model, writer = Translator(parallel, key=key), Translator(causal, key=key)
    search = partial(beam, longest=LONGEST)
    return {
        "refinement": lambda source, visible: refine(
            model, source, visible, key, steps=PASSES, candidates=HYPOTHESES, longest=LONGEST,
            rejecter=unsettled,
        ),
        "beam": partial(search, Forced(writer), width=HYPOTHESES),
        "greedy": partial(search, Forced(writer), width=1),
        "beam, all again": partial(search, Forced(writer, again=True), width=HYPOTHESES),
    }  # fmt: skip


def work_of_a_pass(config: TranslatorConfig, rows: int, positions: int, others: int) -> float:
    """Multiplications and additions of a decoder pass in products of matrices: of `rows` rows, each of which
    attends to `positions`, and of keys (and values) of the source and of positions, `others` of each (0 if
    they are remembered)."""
    E, layers, V = config.width, config.decoder_layers, config.vocab + config.causal
    row = 6 * E**2 + 2 * E * config.mlp_width + 2 * E * (positions + LONGEST)
    other = 2 * E**2
    if config.positional_attention:  # its queries and keys are the same for all targets
        row, other = row + 2 * E**2 + E * positions, other + 2 * E**2
    return 2 * (layers * (rows * row + others * other) + rows * E * V)


def weights_of_a_pass(config: TranslatorConfig) -> float:
    """Bytes of the weights that a pass with a known source reads."""
    E = config.width
    matrices = 6 * E**2 + 2 * E * config.mlp_width
    matrices += 2 * E**2 if config.positional_attention else 0
    return 4 * (config.decoder_layers * matrices + E * (config.vocab + config.causal))


class Machine:
    """What the machine does at its best, measured again and again while others are timed."""

    def __init__(self):
        self.matrix, self.long = jnp.ones((1024, 1024)), jnp.ones((4096, 8192))
        self.product, self.row = jax.jit(jnp.matmul), jnp.ones((1, 4096))
        self.times: list[tuple[float, float]] = []
        self.measure()
        self.times.clear()

    def measure(self) -> None:
        both = (self.matrix, self.matrix), (self.row, self.long)
        self.times.append(tuple(clock(partial(self.product, *pair))[0] for pair in both))

    def rates(self) -> tuple[float, float]:
        """Operations per second, and bytes per second."""
        product, reading = np.median(self.times, axis=0)
        return 2 * 1024**3 / product, 4 * self.long.size / reading


def clock(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds by the clock, of processor time, and what came out."""
    start = time.perf_counter(), time.process_time()
    found = jax.block_until_ready(work())
    return time.perf_counter() - start[0], time.process_time() - start[1], found


def sources(config: TranslatorConfig, count: int, batch: int):
    """Batches of sources of different lengths, padded to the longest."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        lengths = rng.integers(SHORTEST, LONGEST + 1, (batch, 1))
        yield rng.integers(0, config.vocab, (batch, LONGEST)), np.arange(LONGEST) < lengths


def measure(configs, machine: Machine, batch: int, count: int, slow: int) -> None:
    """Time `count` batches with every decoder, and `slow` of them with the one that computes all again."""
    parallel, causal = configs
    every = decoders(parallel, causal)
    if not slow:
        del every["beam, all again"]
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in every}
    passes: dict[str, list[int]] = {name: [] for name in every}
    work = list(sources(parallel, count, batch))
    for decode in every.values():
        jax.block_until_ready(decode(*work[0]))  # compiles
    for number, (source, visible) in enumerate(work):
        tokens = {}
        for name, decode in every.items():
            if name == "beam, all again" and number >= slow:
                continue
            clocked, processor, found = clock(partial(decode, source, visible))
            times[name].append((clocked, processor))
            passes[name] += np.asarray(found.passes).tolist()
            tokens[name] = np.asarray(found.tokens)
            wanted = PASSES if name == "refinement" else visible.sum(axis=1) + 1
            if (np.asarray(found.passes) != wanted).any():
                raise SystemExit(f"{name}: {found.passes} passes, not {wanted}")
        if number < slow and (tokens["beam"] != tokens["beam, all again"]).any():
            raise SystemExit("the two searches found different targets")
        machine.measure()

    rate, reading = machine.rates()
    fast = np.array(times["refinement"])
    print(f"  batches of {batch}: {count} in turns")
    for name, each in times.items():
        clocked, processor = 1e3 * np.array(each).T
        mean = float(np.mean(passes[name]))
        config = parallel if name == "refinement" else causal
        K = 1 if name == "greedy" else HYPOTHESES
        rows, positions, others = {
            "refinement": (K * LONGEST, LONGEST, LONGEST),
            "beam, all again": (K * (LONGEST + 1), LONGEST + 1, LONGEST),
        }.get(name, (K, K * (LONGEST + 1), 0))
        flops = batch * work_of_a_pass(config, rows, positions, others)
        least = 1e3 * flops / rate, 1e3 * weights_of_a_pass(config) / reading
        ratios = np.array(each) / fast[: len(each)]
        tail = np.quantile(clocked, 0.99) / (1e3 * np.quantile(fast[: len(each), 0], 0.99))
        print(
            f"    {name:16s}{mean:5.1f} passes, median {np.median(clocked):8.2f} ms, 99th percentile "
            f"{np.quantile(clocked, 0.99):8.2f} ms, processor {np.median(processor):8.2f} ms; to "
            f"refinement: {np.median(ratios[:, 0]):5.2f} (processor {np.median(ratios[:, 1]):5.2f}), "
            f"99th {tail:5.2f}, passes {mean / PASSES:4.2f}"
        )
        print(
            f"{'':20s}a pass: {flops / 1e9:8.3f} GFLOP, {np.median(clocked) / mean:7.2f} ms; multiplying "
            f"needs {least[0]:6.2f} ms, reading weights {least[1]:6.2f} ms"
        )
    print(
        f"    matrix products {rate / 1e9:.0f} GFLOP/s, reading {reading / 1e9:.1f} GB/s (medians)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the small size only")
    parser.add_argument("--sources", type=int, nargs=2, default=(150, 10), help="of either size")
    a = parser.parse_args()
    begun = time.perf_counter()
    for (name, configs), count, (batch, turns) in zip(
        SIZES.items(), a.sources, ((64, 3), (4, 3)), strict=True
    ):
        if a.quick and name != next(iter(SIZES)):
            break
        print(name)
        small = configs[0].width < 100
        measure(configs, Machine(), 1, count, count if small else 1)
        measure(configs, Machine(), batch, turns, turns if small else 0)
    print(f"{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
