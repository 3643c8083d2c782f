"""Strings from a Hugging Face model: all rows in one batch against one row after another.

    python benchmarks/hugging_face.py         # about two minutes; needs torch and transformers

A Llama of random weights (4 layers of width 128) writes 256 strings of 32 tokens after a prompt of 8, by
ancestral sampling and by VGB with proposals under a verifier. Peers: the same engine with rows one after
another, and for ancestral sampling the library's own `generate` with the same batch. Every time is the
second of two runs, so that no compiling is in it.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from minicosm.decoding import VGB, Ancestral, HuggingFaceGenerator, generate

ROWS, PROMPT, NEW, FEW = 256, 8, 32, 8


def seconds(run: Callable[[], Any]) -> float:
    run()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=128,
        bos_token_id=None, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model: Any = LlamaForCausalLM(config).eval()
    generator = HuggingFaceGenerator(model)
    prompts = np.random.default_rng(0).integers(0, 512, (ROWS, PROMPT))
    key = jax.random.key(0)

    def even(tokens: np.ndarray) -> float:
        return 0.9 if tokens[-1] % 2 == 0 else 0.3

    samplers: dict[str, tuple[Any, Any]] = {
        "ancestral": (Ancestral(), None),
        "VGB by proposals, first leaf": (VGB(output="first_leaf", proposals="repeat"), even),
    }
    print(f"{ROWS} strings of {NEW} tokens after {PROMPT}, seconds a string")
    for name, (sampler, verifier) in samplers.items():

        def run(rows: int, chunk: int, sampler: Any = sampler, verifier: Any = verifier) -> None:
            generate(
                generator, sampler, key=key, length=PROMPT + NEW, prompts=prompts[:rows],
                verifier=verifier, chunk=chunk, max_calls=10**6,
            )  # fmt: skip

        together = seconds(lambda: run(ROWS, ROWS)) / ROWS
        apart = seconds(lambda: run(FEW, 1)) / FEW
        print(
            f"{name}: in one batch {together:.4f}, one after another {apart:.4f}, {apart / together:.1f} x"
        )
        if verifier is None:
            own = seconds(lambda: library(model, prompts)) / ROWS
            print(f"  generate of transformers {own:.4f}, {own / together:.1f} x")


def library(model: Any, prompts: np.ndarray) -> None:
    """The strings of the same number and lengths by transformers itself."""
    import torch

    ids = torch.from_numpy(prompts)
    mask = torch.ones_like(ids)
    model.generate(ids, attention_mask=mask, do_sample=True, min_new_tokens=NEW, max_new_tokens=NEW)


if __name__ == "__main__":
    main()
