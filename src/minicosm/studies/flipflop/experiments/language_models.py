"""Pretrained models of natural language, asked whether a light is on.

The numbers of a trial: `right`, right answers at each length, of `strings`.
"""

from typing import Any

import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.worlds import FlipFlop, flip_flop

from ..experiment_trials import Asked

DEMONSTRATION = 16
"""Tokens of the string that is told before the one that is asked about."""


def run(config: Asked, progress: Progress) -> TrialResult:
    """Ask about every string; the answer is the likelier of " off" and " on"."""
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        raise ImportError(
            "models of natural language need torch and transformers; install them by "
            "pip install 'minicosm[hf]'"
        ) from None
    tokenizer = AutoTokenizer.from_pretrained(config.model)
    model = AutoModelForCausalLM.from_pretrained(config.model).eval()
    answers = {
        word: tokenizer(f" {word}", add_special_tokens=False)["input_ids"][0]
        for word in ("off", "on")
    }
    right = []
    for length in config.lengths:
        count = 0
        for i, (text, answer) in enumerate(questions(config, length)):
            progress(i, config.strings, f"{config.model}, T {length}")
            with torch.no_grad():
                logits = model(**tokenizer(text.rstrip(), return_tensors="pt")).logits[0, -1]
            said: Any = {word: float(logits[token]) for word, token in answers.items()}
            count += max(said, key=said.get) == answer
        right.append(count)
    return TrialResult({"right": right, "strings": config.strings})


def questions(config: Asked, length: int) -> list[flip_flop.LightQuestion]:
    """Strings of a length as questions, each after one demonstration."""
    key = jax.random.fold_in(jax.random.key(config.seed), length)
    shown = FlipFlop(DEMONSTRATION, p_ignore=config.p_ignore)
    asked = FlipFlop(length, p_ignore=config.p_ignore)

    def draw(key: Any) -> tuple[Any, Any]:
        first, second = jax.random.split(key)
        return shown.sample(first).tokens, asked.sample(second).tokens

    told, tokens = jax.jit(jax.vmap(draw))(jax.random.split(key, config.strings))
    return [
        flip_flop.question(string, before)
        for string, before in zip(np.asarray(tokens), np.asarray(told), strict=True)
    ]
