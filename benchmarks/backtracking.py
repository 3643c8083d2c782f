"""Batched backtracking on a bracket model, against the same algorithm as a loop over strings in Python.

    python benchmarks/backtracking.py [--rows 1024] [--plain 32] [--top-p 1]

The model is a random causal Transformer (2 layers, width 64) over four brackets, B and E; strings have 32
brackets, prompts 8. Its verifier is a random linear probe that rejects about one token in ten. The loop
uses the same model with the same memory, one compiled call per token, and the same keys: it must give the
same strings, counters included, and the program stops if it does not. Prints tokens per second, best of
three, after compilation, by the clock and by processor time (which other programs disturb less).
"""

import argparse
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from minicosm.decoding import Backtracking, ProbeVerifier, Trace, sample, truncate
from minicosm.decoding.truncation import choose, likeliest
from minicosm.models import CachedTransformer, Transformer, TransformerConfig

BRACKETS, START, END = 32, 4, 5
LENGTH = BRACKETS + 1  # and E; B is the model's start token


def now() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


class Plain:
    """Algorithm 1 for one string after another."""

    def __init__(
        self, generator: CachedTransformer, verifier: ProbeVerifier, settings: Backtracking
    ) -> None:
        self.generator, self.verifier, self.settings = generator, verifier, settings

        @eqx.filter_jit
        def begin(generator: Any, verifier: Any) -> tuple[Any, Any]:
            memory = generator.begin(LENGTH)
            return memory, verifier.begin(LENGTH, memory)

        @eqx.filter_jit
        def read(
            generator: Any, verifier: Any, memory: Any, judgement: Any, n: Any, token: Any
        ) -> tuple[Any, Any]:
            memory = generator.read(memory, n, token)
            return memory, verifier.read(judgement, n, token, memory)

        @eqx.filter_jit
        def draw(generator: Any, settings: Any, memory: Any, n: Any, key: Any) -> tuple[Any, Any]:
            law = generator.law(memory, n)
            number = jax.random.uniform(key)
            return choose(number, jnp.exp(truncate(law, settings))), likeliest(law)

        self.begin, self.read, self.draw = begin, read, draw
        self.score = eqx.filter_jit(lambda verifier, judgement, n: verifier.score(judgement, n))
        self.numbers = jax.tree.map(jnp.asarray, settings)
        self.fold = jax.jit(jax.random.fold_in)

    def __call__(self, prompt: np.ndarray, key: PRNGKeyArray) -> tuple[list[int], int, int]:
        """The string, the calls and the backtracks."""
        memory, judgement = self.begin(self.generator, self.verifier)
        string: list[int] = []
        calls = backtracks = refill_to = 0

        def append(token: Any) -> None:
            nonlocal memory, judgement
            memory, judgement = self.read(
                self.generator, self.verifier, memory, judgement, jnp.int32(len(string)), token
            )
            string.append(int(token))

        for token in prompt:
            append(jnp.int32(token))
        quota = self.settings.quota
        while len(string) < LENGTH and string[-1] != END:
            step_key = self.fold(key, calls)
            n = jnp.int32(len(string))
            drawn, best = self.draw(self.generator, self.numbers, memory, n, step_key)
            refilling = len(string) < refill_to
            calls += 1
            append(best if refilling else drawn)
            if quota > 0 and not refilling:
                score = self.score(self.verifier, judgement, jnp.int32(len(string)))
                if float(score) < self.settings.threshold:
                    refill_to = len(string)
                    quota, backtracks = quota - 1, backtracks + 1
                    del string[max(len(prompt), len(string) - self.settings.stride) :]
        return string, calls, backtracks


def models(key: PRNGKeyArray) -> tuple[CachedTransformer, ProbeVerifier]:
    """A generator, and a probe on it."""
    config = TransformerConfig(6, causal=True, max_length=LENGTH + 1, init_std=0.15)
    model_key, probe_key = jax.random.split(key)
    generator = CachedTransformer(Transformer(config, key=model_key), start=START)
    # E is made unlikely, so that strings are long.
    bias = jnp.zeros(6).at[jnp.array([START, END])].set(-6.0)
    generator = eqx.tree_at(lambda g: g.model.output_bias, generator, bias)
    weight = np.asarray(jax.random.normal(probe_key, (64, 1)))
    return generator, ProbeVerifier((weight,), (np.full(1, 6.0),))


def main() -> None:
    parser = argparse.ArgumentParser(description="batched backtracking against a loop")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--plain", type=int, default=32)
    parser.add_argument("--top-p", type=float, default=1.0)
    a = parser.parse_args()
    generator, verifier = models(jax.random.key(0))
    settings = Backtracking(quota=4, stride=4, top_p=a.top_p)
    prompts = np.random.default_rng(0).integers(0, 4, (a.rows, 8))
    key = jax.random.key(1)

    def batched() -> Trace:
        return sample(settings, generator, verifier, prompts, key, length=LENGTH, end=END)

    trace = batched()
    plain = Plain(generator, verifier, settings)
    row_keys = [jax.random.fold_in(key, row) for row in range(a.plain)]
    plain(prompts[0], row_keys[0])
    fast, slow = [], []
    for _ in range(3):
        start = now()
        batched()
        fast.append(now() - start)
        start = now()
        rows = [plain(prompts[row], row_keys[row]) for row in range(a.plain)]
        slow.append(now() - start)
    for row, (string, calls, backtracks) in enumerate(rows):
        same = trace.string(row).tolist() == string
        if not (same and trace.calls[row] == calls and trace.backtracks[row] == backtracks):
            raise SystemExit(f"row {row} differs: {trace.string(row).tolist()} and {string}")
    each = f"{trace.calls.mean():.1f} calls and {trace.backtracks.mean():.2f} backtracks each"
    print(f"{a.rows} strings, {each}; the loop's {a.plain} are the same, counters too")
    for name, best, worst in zip(
        ("clock", "processor"), np.min(fast, 0), np.min(slow, 0), strict=True
    ):
        made, looped = trace.calls.sum() / best, trace.calls[: a.plain].sum() / worst
        print(
            f"  {name:10s} batched {made:8.0f} tokens/s, loop {looped:6.0f}: {made / looped:5.0f} x"
        )


if __name__ == "__main__":
    main()
