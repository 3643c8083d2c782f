"""Strings from a Hugging Face model: all rows in one batch with a shared cache against a loop over rows.

    python benchmarks/hugging_face.py         # about four minutes; needs torch and transformers

A Llama of random weights (4 layers of width 128) writes 256 strings of 32 tokens after a prompt of 8, by
ancestral sampling, by backtracking, and by VGB with proposals to its first leaf (8 tokens: its walk takes the
square of the length), under a verifier that is a Python function. VGB is run on a second model as well, with
8 layers of width 512 (34 million parameters) and a thread for each core. The peer is the same algorithm as a
loop: one row after another, one row a call of the model, keys and values kept and cut when tokens are taken
back, laws of all prefixes of the row kept. Both are timed in one run, after a first run in which programs are
compiled. Calls a string have to agree.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from minicosm.decoding import VGB, Ancestral, Backtracking, HuggingFaceGenerator, generate

ROWS, PROMPT, VOCAB = 256, 8, 512
QUOTA, STRIDE = 4, 4


def verifier(tokens: np.ndarray) -> float:
    return 0.9 if tokens[-1] % 4 else 0.3


class Loop:
    """One string, read token by token."""

    def __init__(self, model: Any, prompt: list[int], draw: np.random.Generator) -> None:
        from transformers import DynamicCache

        self.model, self.draw = model, draw
        self.cache = DynamicCache(config=model.config)
        self.tokens = list(prompt)
        self.laws: dict[int, np.ndarray] = {}
        self.read = self.calls = 0

    def law(self) -> np.ndarray:
        import torch

        self.calls += 1
        n = len(self.tokens)
        if n not in self.laws:
            with torch.inference_mode():
                answer = self.model(
                    input_ids=torch.tensor([self.tokens[self.read :]]),
                    past_key_values=self.cache,
                    use_cache=True,
                )
            self.read = n
            self.laws[n] = torch.softmax(answer.logits[0, -1].double(), -1).numpy()
        return self.laws[n]

    def token(self, law: np.ndarray) -> int:
        return int(np.searchsorted(np.cumsum(law), self.draw.random() * law.sum()))

    def back(self, n: int) -> None:
        del self.tokens[n:]
        self.laws = {k: law for k, law in self.laws.items() if k <= n}
        if n < self.read:
            self.cache.crop(n - self.read)  # negative: the number of tokens to cut off
            self.read = n


def ancestral(row: Loop, new: int) -> None:
    while len(row.tokens) < PROMPT + new:
        row.tokens.append(row.token(row.law()))


def backtracking(row: Loop, new: int) -> None:
    quota, refill_to = QUOTA, 0
    while len(row.tokens) < PROMPT + new:
        law = row.law()
        refilling = len(row.tokens) < refill_to
        row.tokens.append(int(np.argmax(law)) if refilling else row.token(law))
        if quota and not refilling and verifier(np.array(row.tokens)) < 0.5:
            quota, refill_to = quota - 1, max(refill_to, len(row.tokens))
            row.back(max(PROMPT, len(row.tokens) - STRIDE))


def vgb(row: Loop, new: int) -> None:
    while len(row.tokens) < PROMPT + new:
        while True:
            if row.draw.random() < 0.5:
                at_root = len(row.tokens) == PROMPT
                if not at_root and row.draw.random() < verifier(np.array(row.tokens)):
                    row.back(len(row.tokens) - 1)
                    break
            else:
                token = row.token(row.law())
                if row.draw.random() < verifier(np.array([*row.tokens, token])):
                    row.tokens.append(token)
                    break


def both_clocks() -> np.ndarray:
    """Seconds on the clock, and of the processor in this process."""
    return np.array([time.perf_counter(), time.process_time()])


def llama(width: int, inner: int, layers: int, heads: int) -> Any:
    """A model of random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCAB, hidden_size=width, intermediate_size=inner, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=heads, max_position_embeddings=128,
        bos_token_id=None, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model: Any = LlamaForCausalLM(config)
    return model.eval()


def main() -> None:
    import torch

    small, large = llama(128, 256, 4, 4), llama(512, 2048, 8, 8)
    prompts = np.random.default_rng(0).integers(0, VOCAB, (ROWS, PROMPT))
    walk = VGB(output="first_leaf", lazy=False, proposals="repeat")
    back = Backtracking(quota=QUOTA, stride=STRIDE)
    cores = os.cpu_count() or 1
    # For the small model more threads than one would wait for each other.
    runs: dict[str, tuple[Any, int, int, Any, Any, Callable[[Loop, int], None]]] = {
        "ancestral": (small, 1, 32, Ancestral(), None, ancestral),
        "backtracking": (small, 1, 32, back, verifier, backtracking),
        "VGB": (small, 1, 8, walk, verifier, vgb),
        "VGB, 34 million parameters": (large, cores, 8, walk, verifier, vgb),
    }
    print(
        f"{ROWS} strings after prompts of {PROMPT}; one thread of torch, for the large model {cores}"
    )
    for name, (model, threads, new, sampler, judge, algorithm) in runs.items():
        torch.set_num_threads(threads)
        generator = HuggingFaceGenerator(model)

        for seed in (0, 1):  # a generator knows what it has read: each time other prompts
            generator.passes, start = 0, both_clocks()
            trace = generate(
                generator, sampler, key=jax.random.key(seed), length=PROMPT + new,
                prompts=np.roll(prompts, seed, 0), verifier=judge, chunk=ROWS, max_calls=10**6,
            )  # fmt: skip
        ours = both_clocks() - start
        draw = np.random.default_rng(1)
        start = both_clocks()
        loops = [Loop(model, prompt.tolist(), draw) for prompt in prompts]
        for row in loops:
            algorithm(row, new)
        theirs = both_clocks() - start
        calls = [row.calls for row in loops]
        error = np.hypot(np.std(calls), np.std(trace.calls)) / ROWS**0.5
        print(
            f"{name}, {new} tokens: {ours[1]:.2f} s of processor time in one batch "
            f"({generator.passes} passes), {theirs[1]:.1f} s by the loop, ratio "
            f"{theirs[1] / ours[1]:.1f}, by the clock {theirs[0] / ours[0]:.1f}; calls a string "
            f"{trace.calls.mean():.1f} and {np.mean(calls):.1f} (standard error of the difference "
            f"{error:.1f})"
        )


if __name__ == "__main__":
    main()
