"""What backtracking buys a bracket generator: one function for each table of the source.

All take a `Bench`, whose sampler keeps the first four rejected prefixes of each row.
"""

from collections import Counter
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.decoding import Backtracking
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.dyck.errors import DyckError

from ..trials import BracketGenerators, Sandbox
from .dyck_generator import END, GLYPHS, START, Prompts
from .dyck_leaves import Leaves
from .dyck_verifier import Mistakes, parse
from .judges import Bench, Speaker

TOP_PS = (0.9, 1.0)
ALL = 10_000
"""More tokens than any prompt has; a number, so that it is no other program than 0."""
JUDGED = "guided, all strings judged"
MODES: dict[str, dict[str, Any]] = {
    "printed": {},
    "prompt checked": {"check_prompt": True},
    "refill checked": {"check_during_refill": True},
    "released": {"check_during_refill": True, "check_prompt": True, "refill": "index"},
}


def settings(**fields: Any) -> Backtracking:
    return Backtracking(**({"quota": 1, "record": 4} | fields))


def forced_backtracks(
    config: Sandbox, bench: Bench, mistakes: Mistakes, key: PRNGKeyArray
) -> dict[str, float]:
    """Table 3.1: one forced backtrack at the prefix before a mistake, then nucleus .9."""
    arms: dict[str, Backtracking] = {"nucleus": settings(top_p=0.9), "argmax": settings(top_p=0.0)}
    for stride in config.forced:
        arms[str(stride)] = settings(
            top_p=0.9, stride=stride, force_first=True, erasable_prompt=ALL
        )
    before = mistakes.lengths - 1
    return {
        name: _accuracy(config, bench(arm, mistakes.tokens, before, key))
        for name, arm in arms.items()
    }


def _accuracy(config: BracketGenerators, trace: Any) -> float:
    return float(parse(config, trace.tokens).right.mean())


def quota_by_stride(
    config: Sandbox,
    bench: Bench,
    mistakes: Mistakes,
    which: Int[np.ndarray, " m"],
    key: PRNGKeyArray,
) -> dict[str, Any]:
    """Tables 3.2 and 3.4: the trained verifier at held-out prefixes before mistakes, which may be
    erased, several times each; and the prefixes that it rejected, completed without backtracking."""
    rows = np.tile(which, config.draws)
    tokens, lengths = mistakes.tokens[rows], mistakes.lengths[rows] - 1
    result: dict[str, Any] = {"accuracy": {}, "preserved": {}, "fired": [], "unguided": {}}

    def each(speaker: Speaker, **mode: Any) -> list[list[Any]]:
        return [
            [
                bench(
                    settings(top_p=0.9, quota=q, stride=b, erasable_prompt=ALL, **mode),
                    tokens, lengths, key, speaker,
                )
                for b in config.strides
            ]
            for q in config.quotas
        ]  # fmt: skip

    for name in config.modes:
        traces = each(Speaker.PROBE, **MODES[name])
        result["accuracy"][name] = [[_accuracy(config, t) for t in row] for row in traces]
        result["preserved"][name] = [
            [float(t.prompt_preserved.mean()) for t in row] for row in traces
        ]
    result["unguided"] = {"nucleus": [], "argmax": []}
    for row in traces:
        rejected = [_rejected(trace) for trace in row]
        result["fired"].append([len(lengths) for _, lengths in rejected])
        for name, top_p in (("nucleus", 0.9), ("argmax", 0.0)):
            result["unguided"][name].append(
                [_accuracy(config, bench(settings(top_p=top_p), *r, key)) for r in rejected]
            )
    perfect = each(Speaker.PERFECT)
    result["accuracy"]["perfect, printed"] = [[_accuracy(config, t) for t in r] for r in perfect]
    baselines = {"nucleus": settings(top_p=0.9), "argmax": settings(top_p=0.0)}
    result["baseline"] = {
        name: _accuracy(config, bench(arm, tokens, lengths, key)) for name, arm in baselines.items()
    }
    return result


def _rejected(trace: Any) -> tuple[Int[np.ndarray, "m P"], Int[np.ndarray, " m"]]:
    """The prefixes at which the verifier fired; an empty one if it never did."""
    kept = trace.fired_lengths >= 0
    # The last token of a full string has nothing after it: such rows are complete as they stand.
    tokens, lengths = trace.fired[kept], trace.fired_lengths[kept]
    if len(lengths) == 0:
        return np.zeros((1, trace.tokens.shape[1] - 1), int), np.zeros(1, int)
    return np.where(tokens < 0, END, tokens), lengths


def unseen(
    config: Sandbox, bench: Bench, asked: Prompts, key: PRNGKeyArray
) -> tuple[dict[str, dict[str, float]], dict[str, list[Any]]]:
    """Tables 3.3 and 3.16: the share of wrong completions of fresh prompts, which are kept unless they
    are erasable; and the traces at nucleus .9 of Algorithm 1 as printed, in the last of the modes, and with
    a verifier that is asked about all strings."""
    quota = {"quota": 4, "stride": 4}
    learned = bench.judge.probe.at_leaves(Leaves.LEARNED)
    judged = eqx.tree_at(lambda b: b.judge.probe, bench, learned)
    arms: dict[str, tuple[dict[str, Any], Speaker]] = {
        "baseline": ({}, Speaker.NOBODY),
        "guided": (quota, Speaker.PROBE),
        f"guided, {config.modes[-1]}": (quota | MODES[config.modes[-1]], Speaker.PROBE),
        JUDGED: (quota, Speaker.PROBE),
        "no refill": (quota | {"refill": "none"}, Speaker.PROBE),
        "perfect": (quota, Speaker.PERFECT),
        "perfect, erasable": (quota | {"erasable_prompt": ALL}, Speaker.PERFECT),
        "perfect, erasable, no refill": (
            quota | {"erasable_prompt": ALL, "refill": "none"},
            Speaker.PERFECT,
        ),
    }
    errors: dict[str, dict[str, float]] = {name: {} for name in arms}
    kept: dict[str, list[Any]] = {}
    recorded = ("guided", f"guided, {config.modes[-1]}", JUDGED)
    for top_p in TOP_PS:
        for name, (fields, speaker) in arms.items():
            shares = []
            for i in range(config.unseen_repeats):
                used = judged if name == JUDGED else bench
                trace = used(
                    settings(top_p=top_p, **fields), asked.tokens, asked.lengths,
                    jax.random.fold_in(key, i), speaker,
                )  # fmt: skip
                shares.append(1 - _accuracy(config, trace))
                if name in recorded and top_p == TOP_PS[0]:
                    kept.setdefault(name, []).append(trace)
            errors[name][f"{top_p:g}"] = float(np.mean(shares))
    return errors, kept


def where_fired(traces: list[Any], length: int) -> list[int]:
    """How many of the recorded strings that the verifier rejected had 0, 1, ..., `length` tokens."""
    lengths = np.concatenate([t.fired_lengths.reshape(-1) for t in traces])
    return np.bincount(lengths[lengths >= 0], minlength=length + 1).tolist()


def remaining_mistakes(
    config: BracketGenerators, model: Any, traces: list[Any], most: int = 25
) -> dict[str, Any]:
    """Figure 3.2: how many strings are still wrong after Algorithm 1, in which way, and in how many the
    quota is used up and the wrong token is the likeliest."""
    tokens = np.concatenate([t.tokens for t in traces])
    quota = np.concatenate([t.quota_left for t in traces])
    parsed = parse(config, tokens)
    bad = np.flatnonzero(~parsed.right)
    counted = Counter(DyckError(e).name for e in parsed.error[bad].tolist())
    kinds = {error.name: counted[error.name] for error in DyckError}
    if len(bad) == 0:
        return {"count": 0, "kinds": kinds, "exhausted": 0, "argmax": 0, "rows": []}
    laws = np.asarray(_laws(model, np.where(tokens[bad] < 0, END, tokens[bad])))
    at = parsed.at[bad]
    rows = np.arange(len(bad))
    wrong = tokens[bad, at]
    law = laws[rows, at]
    best = law.argmax(axis=1)
    listed = [
        (
            DyckError(int(parsed.error[i])).name,
            "".join(GLYPHS[t] for t in tokens[i, : at[j]]),
            GLYPHS[wrong[j]], float(law[j, wrong[j]]),
            GLYPHS[best[j]], float(law[j, best[j]]), int(quota[i]),
        )
        for j, i in enumerate(bad[:most])
    ]  # fmt: skip
    return {
        "count": len(bad),
        "kinds": kinds,
        "exhausted": int((quota[bad] == 0).sum()),
        "argmax": int((wrong == best).sum()),
        "rows": listed,
    }


@eqx.filter_jit
def _laws(model: Any, tokens: Int[AnyArray, "n T"]) -> Float[Array, "n T V"]:
    def one(string: Int[Array, " T"]) -> Float[Array, "T V"]:
        ids = jnp.concatenate([jnp.full(1, START), string[:-1]]).astype(jnp.int32)
        return jax.nn.softmax(model.next_logits(ids))

    return jax.lax.map(one, tokens)


def diversity(
    config: BracketGenerators, bench: Bench, asked: Prompts, key: PRNGKeyArray, draws: int
) -> dict[str, float]:
    """Table 3.5: the mean number of different completions among `draws` of a prompt, and its exact
    mean under the world's law for the same prompts."""
    count = len(asked.lengths)
    rows = np.repeat(np.arange(count), draws)
    tokens, lengths = np.asarray(asked.tokens)[rows], np.asarray(asked.lengths)[rows]
    arms = {
        "guided": (settings(top_p=1.0, quota=4, stride=4), Speaker.PROBE),
        "nucleus 0.9": (settings(top_p=0.9), Speaker.NOBODY),
        "nucleus 1": (settings(top_p=1.0), Speaker.NOBODY),
    }
    result = {
        name: distinct(bench(arm, tokens, lengths, key, speaker).tokens, draws)
        for name, (arm, speaker) in arms.items()
    }
    depths = [
        int(sum(1 if t % 2 == 0 else -1 for t in string[:n]))
        for string, n in zip(np.asarray(asked.tokens), np.asarray(asked.lengths), strict=True)
    ]
    left = config.length - np.asarray(asked.lengths)
    ideal = [expected_distinct(config, int(m), d, draws) for m, d in zip(left, depths, strict=True)]
    return result | {"ideal": float(np.mean(ideal))}


def distinct(tokens: Int[np.ndarray, "n T"], draws: int) -> float:
    """The mean over prompts of the number of different strings among its `draws` rows."""
    groups = tokens.reshape(-1, draws, tokens.shape[1])
    return float(np.mean([len(np.unique(group, axis=0)) for group in groups]))


def expected_distinct(config: BracketGenerators, left: int, depth: int, draws: int) -> float:
    """`sum_c 1 - (1 - p(c))^draws` over all completions c of a prompt with `left` brackets to come at
    this depth."""
    p = np.asarray(completion_law(config, left, depth))
    return float(np.sum(1 - (1 - p) ** draws))


@cache
def completion_law(config: BracketGenerators, left: int, depth: int) -> tuple[float, ...]:
    """The probabilities of all completions; which brackets are open does not matter to them."""
    if left == 0:
        return (1.0,)
    if depth == left:
        return completion_law(config, left - 1, depth - 1)
    opening = 1.0 if depth == 0 else config.opening
    deeper = completion_law(config, left - 1, depth + 1)
    result = [opening * p * rest for p in (config.square, 1 - config.square) for rest in deeper]
    if depth > 0:
        result += [(1 - opening) * rest for rest in completion_law(config, left - 1, depth - 1)]
    return tuple(result)
