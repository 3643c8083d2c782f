"""Test cases from a pretrained code model (Table 3.6), through its Hugging Face adapter.

The defaults are the source's: CodeLlama-7b, 10 names x 10 texts x 8 cases, 5 seeds, 384 new tokens, a linear
verifier on layer 27, quota 4, stride 4, threshold .1, nucleus .95. It needs the weights, and for them a GPU;
every arm of every seed is written as it ends, so that a run that was stopped goes on where it was.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from minicosm.adaptation.probes import linear_probe
from minicosm.decoding import (
    Ancestral,
    Backtracking,
    BlockBestOfN,
    HuggingFaceGenerator,
    ProbeVerifier,
    Trace,
    sample,
)
from minicosm.lab import Progress, TrialResult

from ..trials import CodeTask
from . import code_texts as texts


def guided(**fields: Any) -> Backtracking:
    usual: dict[str, Any] = {"quota": 4, "stride": 4, "threshold": 0.1, "top_p": 0.95}
    return Backtracking(**(usual | fields), once_per_prefix=True)


ARMS: dict[str, Ancestral | Backtracking | BlockBestOfN] = {
    "baseline .95": Ancestral(top_p=0.95),
    "baseline 1": Ancestral(),
    "baseline 1, T 1.2": Ancestral(temperature=1.2),
    "argmax": Ancestral(temperature=0.0),
    "guided .95": guided(),
    "guided .95, threshold .5": guided(threshold=0.5),
    "guided .95, Q 10": guided(quota=10),
    "guided 1": guided(top_p=1.0),
    "guided 1, B 10": guided(top_p=1.0, stride=10),
    "guided 1, T 1.2": guided(top_p=1.0, temperature=1.2),
    "no refill .95": guided(refill="none"),
}
for count in (2, 4, 8):
    # A line ends where its token says so, not at one separator.
    ARMS[f"block best of {count}"] = BlockBestOfN(
        count=count, separator=0, blocks=texts.LINES, top_p=0.95
    )


def check_arms(arms: Sequence[str]) -> None:
    """Refuse names that are none of `ARMS`."""
    for arm in arms:
        if arm not in ARMS:
            raise ValueError(f"there is no arm {arm!r}; it must be one of {', '.join(ARMS)}")


class Coder(NamedTuple):
    """A model that reads, and its tokens as text."""

    generator: HuggingFaceGenerator
    tokenizer: Any

    def ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text)["input_ids"])

    def added(self, prompt: Sequence[int], tokens: Sequence[int]) -> str:
        """What `tokens` add to the prompt's text."""
        both = self.tokenizer.decode([*prompt, *tokens], skip_special_tokens=True)
        return both[len(self.tokenizer.decode(list(prompt), skip_special_tokens=True)) :]

    def line_ends(self) -> Int[np.ndarray, " k"]:
        """The tokens whose text ends a line."""
        every = range(self.generator.vocab)
        return np.array([t for t in every if "\n" in self.tokenizer.decode([t])], np.int32)


class Verifiers(NamedTuple):
    token: ProbeVerifier | None
    line: ProbeVerifier | None


def load(config: CodeTask) -> Coder:
    """The model and its tokenizer, or a sentence about what is missing."""
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        raise ValueError(
            "the code task needs torch and transformers; install them by pip install 'minicosm[hf]'"
        ) from None
    device = config.device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        tokenizer = AutoTokenizer.from_pretrained(config.model)
        model: Any = AutoModelForCausalLM.from_pretrained(
            config.model, dtype=getattr(torch, config.dtype)
        )
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(
            f"the model {config.model!r} cannot be loaded ({reason}); "
            "model must be a folder with weights and tokenizer, or a name that can be downloaded"
        ) from None
    count = model.config.num_hidden_layers
    if not 0 <= config.layer < count:
        raise ValueError(f"layer is {config.layer}; this model has the layers 0..{count - 1}")
    return Coder(HuggingFaceGenerator(model.to(device), layer=config.layer + 1), tokenizer)


def run(config: CodeTask, progress: Progress, folder: Path) -> TrialResult:
    """Train verifiers on the model's own completions, then every arm for every seed."""
    return measure(config, load(config), progress, folder)


def measure(config: CodeTask, coder: Coder, progress: Progress, folder: Path) -> TrialResult:
    """All arms; `folder` keeps what is done."""
    check_arms(config.arms)
    every = texts.names(config.training_names + config.names, config.seed)
    tested = every[config.training_names :]
    total = config.seeds * len(config.arms) + 1
    progress(0, total, "verifiers")
    verifiers = train(config, coder, every[: config.training_names], folder / "verifiers.npz")
    result: dict[str, list[dict[str, float]]] = {arm: [] for arm in config.arms}
    done = 1
    for seed in range(config.seeds):
        for arm in config.arms:
            progress(done, total, f"{arm}, seed {seed}")
            kept = folder / f"{arm.replace(' ', '-')}-{seed}.json"
            if not kept.exists():
                part = kept.with_suffix(".part")
                numbers = run_arm(config, coder, verifiers, arm, tested, seed)
                part.write_text(json.dumps(numbers))
                part.rename(kept)
            result[arm].append(json.loads(kept.read_text()))
            done += 1
    columns = {
        arm: {name: [row[name] for row in rows] for name in rows[0]} for arm, rows in result.items()
    }
    return TrialResult({"arms": columns})


def complete(
    config: CodeTask, coder: Coder, sampler: Any, probe: ProbeVerifier | None,
    named: Sequence[str], key: Any,
) -> tuple[Trace, list[str]]:  # fmt: skip
    """A completion for each name, and its text."""
    prompts = [coder.ids(texts.prompt(name, config.seed)) for name in named]
    sizes = np.array([len(prompt) for prompt in prompts], np.int32)
    padded = np.zeros((len(prompts), int(sizes.max())), np.int32)
    for row, prompt in zip(padded, prompts, strict=True):
        row[: len(prompt)] = prompt
    if isinstance(sampler, BlockBestOfN):
        sampler = replace(sampler, separator=coder.line_ends())
    trace = sample(
        sampler, coder.generator, probe, padded, key, prompt_lengths=sizes,
        length=sizes + config.new_tokens, end=coder.tokenizer.eos_token_id,
    )  # fmt: skip
    written = [coder.added(p, trace.completion(i).tolist()) for i, p in enumerate(prompts)]
    return trace, written


def run_arm(
    config: CodeTask, coder: Coder, verifiers: Verifiers, arm: str, tested: Sequence[str], seed: int,
) -> dict[str, float]:  # fmt: skip
    """Acc_distinct (different correct cases of each name over its texts, over all that were asked for), the
    share of correct cases, and the calls C."""
    sampler = ARMS[arm]
    probe = {Backtracking: verifiers.token, BlockBestOfN: verifiers.line}.get(type(sampler))
    named = [name for name in tested for _ in range(config.texts)]
    key = jax.random.fold_in(jax.random.key(config.seed + 1), seed)
    trace, written = complete(config, coder, sampler, probe, named, key)
    distinct = correct = 0
    for i, name in enumerate(tested):
        own = written[i * config.texts : (i + 1) * config.texts]
        distinct += len(texts.distinct(name, own))
        correct += sum(
            texts.correct(name, line) for text in own for line in texts.lines(text, finished=True)
        )
    asked = texts.LINES * len(named)
    return {
        "accuracy": distinct / asked, "correct": correct / asked,
        "calls": float(trace.calls.sum()), "verifier_calls": float(trace.verifier_calls.sum()),
        "backtracks": float(trace.backtracks.mean()),
    }  # fmt: skip


# -- verifiers --------------------------------------------------------------------------------


class Examples(NamedTuple):
    """Hidden states after prefixes, and whether these are right."""

    states: Float[np.ndarray, "n E"]
    labels: Int[np.ndarray, " n"]


def train(config: CodeTask, coder: Coder, named: Sequence[str], path: Path) -> Verifiers:
    """Linear probes on completions at top_p 1: one on the first error of each and a uniformly chosen right
    token before it, one on the ends of lines. Only those that the arms need; examples are kept."""
    kinds = {type(ARMS[arm]) for arm in config.arms}
    wanted = [kind for kind in (Backtracking, BlockBestOfN) if kind in kinds]
    if not wanted:
        return Verifiers(None, None)
    if not path.exists():
        rows = [name for name in named for _ in range(config.training_texts)]
        tokens, lines = examples(config, coder, rows)
        part = path.with_suffix(".part.npz")
        np.savez(part, *tokens, *lines)
        part.rename(path)
    kept = np.load(path)
    both = [Examples(kept[f"arr_{i}"], kept[f"arr_{i + 1}"]) for i in (0, 2)]
    probes: dict[type, ProbeVerifier | None] = {Backtracking: None, BlockBestOfN: None}
    for kind, result in zip(probes, both, strict=True):
        if kind in wanted:
            probes[kind] = _probe(result, "tokens" if kind is Backtracking else "lines")
    return Verifiers(*probes.values())


def _probe(result: Examples, what: str) -> ProbeVerifier:
    right = int(result.labels.sum())
    wrong = len(result.labels) - right
    if min(right, wrong) == 0:
        raise ValueError(
            f"the model's completions hold {right} right and {wrong} wrong {what}; "
            "verifiers need some of both: take more training_texts"
        )
    rng = np.random.default_rng(0)
    size = min(right, wrong)
    chosen = [rng.choice(np.flatnonzero(result.labels == k), size, replace=False) for k in (0, 1)]
    rows = np.concatenate(chosen)
    return linear_probe(result.states[rows], result.labels[rows])


def examples(config: CodeTask, coder: Coder, named: Sequence[str]) -> tuple[Examples, Examples]:
    """Of tokens and of lines."""
    trace, _ = complete(config, coder, Ancestral(), None, named, jax.random.key(config.seed))
    rng = np.random.default_rng(config.seed)
    token: list[tuple[np.ndarray, int]] = []
    line: list[tuple[np.ndarray, int]] = []
    for row, name in enumerate(named):
        string, begin = trace.string(row).tolist(), int(trace.prompt_lengths[row])
        own = string[begin:]
        states = coder.generator.states(string)
        written = list(texts.prefixes(own, lambda t, p=string[:begin]: coder.added(p, t)))
        right = [texts.viable(name, text) for text in written]
        error = right.index(False) if False in right else len(own)
        if error < len(own):
            token.append((states[begin + error], 0))
        if error > 0:
            token.append((states[begin + int(rng.integers(error))], 1))
        ended = 0
        for n, text in enumerate(written):
            there = texts.lines(text)
            if len(there) > ended:
                line.append((states[begin + n], int(texts.correct(name, there[-1]))))
                ended = len(there)
    width = len(states[0])
    return _stack(token, width), _stack(line, width)


def _stack(result: list[tuple[np.ndarray, int]], width: int) -> Examples:
    states = np.array([state for state, _ in result], np.float32).reshape(-1, width)
    return Examples(states, np.array([label for _, label in result], int))
