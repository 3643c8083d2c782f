"""Mistakes of a bracket generator, and a linear verifier trained on its hidden states."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.adaptation import probes
from minicosm.decoding import Backtracking
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.dyck.errors import DyckReferee

from ..trials import BracketGenerators
from .dyck_generator import END, START, draw, prompt_world, prompts, referee
from .judges import Bench


class Parsed(NamedTuple):
    """Where strings go wrong; see `DyckReferee.first_error`."""

    at: Int[np.ndarray, " n"]
    error: Int[np.ndarray, " n"]
    right: np.ndarray
    """Complete and without an error."""


def parse(config: BracketGenerators, tokens: Int[AnyArray, "n T"]) -> Parsed:
    at, error, ended = map(np.asarray, _parse(referee(config), jnp.asarray(tokens)))
    return Parsed(at, error, (error == 0) & ended)


@eqx.filter_jit
def _parse(judge: DyckReferee, tokens: Int[Array, "n T"]) -> tuple[Array, Array, Array]:
    return jax.vmap(judge.first_error)(tokens)


class Mistakes(NamedTuple):
    """Strings cut right after their first wrong token."""

    tokens: Int[np.ndarray, "n T"]
    lengths: Int[np.ndarray, " n"]
    """The last of them is the wrong token."""
    asked: int
    wrong: int
    """How many of all prompts that were asked were completed wrongly."""


def collect(
    config: BracketGenerators, bench: Bench, key: PRNGKeyArray, wanted: int, most: int
) -> Mistakes:
    """Complete prompts by nucleus .9 until `wanted` mistakes are collected or `most` prompts are asked."""
    nucleus = Backtracking(top_p=0.9, quota=1, record=4)
    result, asked, wrong = [], 0, 0
    rounds = 0
    while asked < most and wrong < wanted:
        prompt_key, sample_key = jax.random.split(jax.random.fold_in(key, rounds))
        size = min(4 * bench.chunk, most - asked)
        given = prompts(config, prompt_key, size)
        trace = bench(nucleus, given.tokens, given.lengths, sample_key)
        parsed = parse(config, trace.tokens)
        bad = ~parsed.right
        result.append((trace.tokens[bad], parsed.at[bad] + 1))
        asked, wrong, rounds = asked + size, wrong + int(bad.sum()), rounds + 1
    tokens, lengths = (np.concatenate(part)[:wanted] for part in zip(*result, strict=True))
    if len(lengths) < 2:
        raise ValueError(
            f"the generator made {len(lengths)} mistakes on {asked} prompts; verifiers need at least 2: "
            "ask more prompts or keep the generator earlier"
        )
    return Mistakes(np.where(tokens < 0, END, tokens), lengths, asked, wrong)


def prefixes_of_length(
    config: BracketGenerators, key: PRNGKeyArray, lengths: Int[np.ndarray, " n"]
) -> Int[np.ndarray, "n T"]:
    """Strings of the shifted law whose first `lengths` tokens are right prefixes of those lengths."""
    strings = np.asarray(draw(prompt_world(config), key, len(lengths)))
    return np.concatenate([strings, np.full((len(lengths), 1), END)], axis=1)


@eqx.filter_jit
def hidden_states(
    model: Any, tokens: Int[AnyArray, "n T"], lengths: Int[AnyArray, " n"]
) -> Float[Array, "n E"]:
    """The normalised last layer at the last token of each prefix."""

    def one(args: tuple[Array, Array]) -> Float[Array, " E"]:
        string, length = args
        ids = jnp.concatenate([jnp.full(1, START), string]).astype(jnp.int32)
        return model.hidden(model.embed(ids), length[None])[0]

    return jax.lax.map(one, (tokens, lengths), batch_size=min(100, len(lengths)))


class Trained(NamedTuple):
    """A verifier, the pairs that it has not seen, and how well it does."""

    probe: Any
    held_out: Int[np.ndarray, " m"]
    """Which mistakes were not used for training."""
    accuracies: Float[np.ndarray, " repeats"]
    """On held-out pairs, for repeated splits; the first is that of `probe`."""
    features: Float[np.ndarray, "2n E"]
    labels: Int[np.ndarray, " 2n"]


def train_verifier(
    config: BracketGenerators,
    model: Any,
    mistakes: Mistakes,
    key: PRNGKeyArray,
    repeats: int,
    share: float,
) -> Trained:
    """A linear probe on as many right prefixes as wrong ones, of the same lengths; `share` of the
    pairs are for training."""
    pair_key, split_key = jax.random.split(key)
    right = prefixes_of_length(config, pair_key, mistakes.lengths)
    n = len(mistakes.lengths)
    tokens = np.concatenate([mistakes.tokens, right])
    features = np.asarray(hidden_states(model, tokens, np.tile(mistakes.lengths, 2)))
    labels = np.repeat([0, 1], n)
    train = max(1, min(n - 1, round(share * n)))
    pairs = np.asarray(probes.split_orders(jax.random.split(split_key, repeats), n))
    orders = np.concatenate(
        [pairs[:, :train], n + pairs[:, :train], pairs[:, train:], n + pairs[:, train:]], axis=1
    )
    accuracies = probes.held_out_accuracy(features, labels, orders, 2 * train)
    seen = orders[0, : 2 * train]
    probe = probes.linear_probe(features[seen], labels[seen])
    return Trained(probe, pairs[0, train:], accuracies, features, labels)
