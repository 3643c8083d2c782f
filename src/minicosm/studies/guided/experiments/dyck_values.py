"""A value that is learned from a bracket generator's own completions, and the samplers that use it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.adaptation.probes import linear_probe
from minicosm.decoding import (
    VGB,
    BlockBestOfN,
    ProbeVerifier,
    TokenwiseRejection,
    ValueGuided,
    sample,
)
from minicosm.worlds.arrays import AnyArray

from ..trials import BracketGenerators
from .dyck_generator import END, START, Prompts, prompts
from .dyck_leaves import LearnedValue, Leaves
from .dyck_tables import distinct, settings
from .dyck_verifier import parse
from .judges import Bench, Speaker

REDRAWS = 50
"""For one token. Twenty times as many change no accuracy: what is refused is refused for good, and a rare
token that the verifier accepts is as a rule wrong."""


def learn_value(
    config: BracketGenerators, bench: Bench, key: PRNGKeyArray, rollouts: int, rows: int
) -> ProbeVerifier:
    """Logistic regression of "the completion is valid" on the hidden states of the prefixes of
    untruncated completions, from the prompt on; `rows` prefixes, drawn with replacement."""
    prompt_key, sample_key, row_key = jax.random.split(key, 3)
    asked = prompts(config, prompt_key, rollouts)
    trace = bench(settings(top_p=1.0), asked.tokens, asked.lengths, sample_key)
    right = parse(config, trace.tokens).right
    tokens = np.where(trace.tokens < 0, END, trace.tokens)
    states = np.asarray(_states(bench.generator.model, tokens))
    places = np.arange(states.shape[1])
    within = (places >= np.asarray(asked.lengths)[:, None]) & (places <= trace.lengths[:, None])
    string, place = np.nonzero(within)
    chosen = np.asarray(jax.random.randint(row_key, (rows,), 0, len(string)))
    labels = right[string].astype(int)[chosen]
    if labels.all() or not labels.any():  # nothing to tell apart: one prefix of each kind
        labels[:2] = 0, 1
    return linear_probe(states[string[chosen], place[chosen]], labels)


@eqx.filter_jit
def _states(model: Any, tokens: Int[AnyArray, "n T"]) -> Float[Array, "n T+1 E"]:
    """Hidden states after 0, 1, ... tokens."""

    def one(string: Int[Array, " T"]) -> Float[Array, "T+1 E"]:
        ids = jnp.concatenate([jnp.full(1, START), string]).astype(jnp.int32)
        return model.hidden(model.embed(ids))

    return jax.lax.map(one, tokens, batch_size=min(100, len(tokens)))


def trade_off(
    config: BracketGenerators, bench: Bench, value: ProbeVerifier, asked: Prompts, key: PRNGKeyArray,
    draws: int, blocks: tuple[int, ...] = (2, 4, 8),
) -> dict[str, dict[str, float]]:  # fmt: skip
    """For every sampler: the share of valid completions, how many of `draws` of a prompt differ, and
    the calls of generator and verifier for a completion. Without `blocks` only those that weigh
    tokens by the value."""
    rows = np.repeat(np.arange(len(asked.lengths)), draws)
    tokens, lengths = np.asarray(asked.tokens)[rows], np.asarray(asked.lengths)[rows]
    arms: dict[str, tuple[Any, Any]] = {}
    learned, strict = LearnedValue.of(value, config.length), bench.judge.probe
    rules = {"": Leaves.LEARNED, ", exact leaves": Leaves.EXACT}
    for name, leaves in rules.items():
        judge = learned.at_leaves(leaves)
        arms[f"value-guided{name}"] = ValueGuided(), judge
        arms[f"VGB, first leaf{name}"] = VGB(output="first_leaf", lazy=False), judge
    for n in blocks:
        arms[f"block best of {n}"] = BlockBestOfN(count=n, size=4), learned
    if blocks:
        redraw = TokenwiseRejection(threshold=0.5, redraws=REDRAWS)
        arms["tokenwise rejection"] = redraw, strict
        arms["tokenwise rejection, exact leaves"] = redraw, strict.at_leaves(Leaves.EXACT)
    traces = {
        name: sample(
            arm, bench.generator, judge, tokens, key, length=bench.length, prompt_lengths=lengths,
            end=END, chunk=bench.chunk, max_calls=2_000,
        )
        for name, (arm, judge) in arms.items()
    }  # fmt: skip
    traces["Algorithm 1"] = bench(settings(quota=4, stride=4), tokens, lengths, key, Speaker.PROBE)
    traces["none"] = bench(settings(), tokens, lengths, key)
    return {name: _summary(config, trace, draws) for name, trace in traces.items()}


def _summary(config: BracketGenerators, trace: Any, draws: int) -> dict[str, float]:
    right = parse(config, trace.tokens).right & trace.done
    return {
        "accuracy": float(right.mean()),
        "distinct": distinct(trace.tokens, draws),
        "calls": float(trace.calls.mean()),
        "verifier_calls": float(trace.verifier_calls.mean()),
        "unfinished": float((~trace.done).mean()),
    }
