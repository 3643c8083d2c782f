"""Small worlds of guided generation in which every value is known, and verifiers that are wrong."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..arrays import (
    check_count,
    check_kind,
    check_length,
    check_number,
    check_positive,
    check_size,
    check_whole_numbers,
)
from ..hmm.draws import generator
from .world import GuidedWorld, check_tree, log_truth, tree_world

MOST_TOKENS = 2**20
Table = Float[np.ndarray, "levels S"]


def _fair(step: np.ndarray, log_tilt: np.ndarray) -> GuidedWorld:
    return GuidedWorld(step, np.full(step.shape, 1 / step.shape[-1]), log_tilt)


def _every_level(rows: Sequence[Sequence[int]], horizon: int) -> np.ndarray:
    return np.repeat(np.array(rows, np.int32)[None], _horizon(horizon), axis=0)


def _horizon(horizon: Any) -> int:
    return check_length(horizon, MOST_TOKENS, "horizon")


def _world(world: Any) -> GuidedWorld:
    return check_kind("world", world, GuidedWorld, "a GuidedWorld")


def secret_parity(secret: Sequence[int]) -> GuidedWorld:
    """D = `len(secret)` + 1 bits; A: an even number of ones. The first D - 1 bits are fair; the last one
    makes the parity odd, except after the secret, where it makes it even.

    Exactly one string of A has positive probability. State: 2 (the secret is missed) + parity.
    """
    bits = np.asarray(check_whole_numbers("secret", secret, 0, 1, (None,)))
    horizon = len(bits) + 1
    states = np.arange(4)
    missed, parity = states // 2, states % 2
    step = np.zeros((horizon, 4, 2), np.int32)
    base = np.full((horizon, 4, 2), 0.5)
    for a in (0, 1):
        for h in range(horizon):
            wrong = missed | (a != bits[h]) if h < horizon - 1 else missed
            step[h, :, a] = 2 * wrong + (parity ^ a)
        base[-1, :, a] = (parity ^ a) == missed
    return GuidedWorld(step, base, np.where(parity == 0, 0.0, -np.inf))


def needle(horizon: int) -> GuidedWorld:
    """Fair bits; A has one string, all zeros."""
    return _fair(_every_level([[0, 1], [1, 1]], horizon), np.array([0.0, -np.inf]))


def some_zero(horizon: int) -> GuidedWorld:
    """Fair bits; A has every string but all ones."""
    return _fair(_every_level([[1, 0], [1, 1]], horizon), np.array([-np.inf, 0.0]))


def biased_coin(horizon: int) -> GuidedWorld:
    """Fair bits and tilt one. The state is the last bit, so that verifiers can be wrong about it."""
    return _fair(_every_level([[0, 1], [0, 1]], horizon), np.zeros(2))


def biased_coin_table(world: GuidedWorld, bias: float) -> Table:
    """`1 + bias` after a one, `1 - bias` after a zero; exact at the leaves and the root."""
    if check_number("bias", bias, 0, 1) == 1:
        raise ValueError(f"bias is {bias}; it must be at least 0 and less than 1")
    table = _world(world).log_values()
    if world.states != 2:
        raise ValueError(f"world has {world.states} states; it must be a `biased_coin`")
    table[1:-1] = np.log([1 - bias, 1 + bias])
    return table


def delayed_value(horizon: int, weight: float) -> GuidedWorld:
    """Fair bits with `tau = weight^(number of ones)`; `pi*` is independent bits that are one with
    probability weight / (1 + weight).

    State: 2 (ones before the last token) + the last token, so that a verifier can be one step late.
    """
    check_positive("weight", weight)
    counts = np.arange(check_length(horizon, 2**12, "horizon"))[:, None]
    last = np.arange(2)[None]
    ahead = np.minimum(counts + last, horizon - 1)
    step = np.stack([2 * ahead, 2 * ahead + 1], axis=-1).reshape(-1, 2).astype(np.int32)
    step = np.broadcast_to(step, (horizon, *step.shape))
    tilt = np.log(weight) * (counts + last).reshape(-1)
    return GuidedWorld(step, np.broadcast_to(0.5, step.shape), tilt)


def delayed_table(world: GuidedWorld, weight: float) -> Table:
    """The value of the prefix without its last token; exact at the leaves."""
    table = _world(world).log_values()
    check_positive("weight", weight)
    horizon, mean = world.horizon, np.log((1 + weight) / 2)
    before = np.arange(world.states) // 2
    for h in range(1, horizon):
        table[h] = np.log(weight) * before + mean * (horizon - h + 1)
    return table


def lagged_error(
    horizon: int, position: int, lag: int, chance: float, other: float = 0.5
) -> tuple[GuidedWorld, Table]:
    """Bits of which number `position` is one, which is bad, with probability `chance` < 1/2, the others
    with probability `other`; A: it is not bad. The verifier notices `lag` tokens later. State: is it bad.
    """
    _horizon(horizon)
    if not 1 <= check_count("position", position) <= horizon:
        raise ValueError(f"position is {position}; it must be at most the horizon, {horizon}")
    check_count("lag", lag, 0)
    check_number("other", other, 0, 1)
    if check_number("chance", chance, 0, 0.5) == 0.5:
        raise ValueError(f"chance is {chance}; it must be at least 0 and less than 1/2")
    step = _every_level([[0, 0], [1, 1]], horizon)
    step[position - 1] = [[0, 1], [0, 1]]
    base = np.tile(np.array([1 - other, other], float), (horizon, 2, 1))
    base[position - 1] = [1 - chance, chance]
    noticed = np.ones((horizon + 1, 2), bool)
    noticed[position + lag :, 1] = False
    return GuidedWorld(step, base, np.array([0.0, -np.inf])), log_truth(noticed)


def random_tree(
    key: PRNGKeyArray,
    vocab: int,
    horizon: int,
    *,
    zero_laws: float = 0.0,
    zero_tilts: float = 0.0,
) -> GuidedWorld:
    """Random laws after every prefix and a random tilt, each entry zero with the given probability
    (of every law at least one token is left)."""
    check_tree(check_count("vocab", vocab), check_count("horizon", horizon))
    check_number("zero_laws", zero_laws, 0, 1)
    check_number("zero_tilts", zero_tilts, 0, 1)
    laws, rng = [], generator(key)
    for h in range(horizon):
        law = rng.dirichlet(np.ones(vocab), size=vocab**h)
        keep = rng.random(law.shape) >= zero_laws
        keep[np.arange(len(law)), rng.integers(vocab, size=len(law))] = True
        law = np.where(keep, np.maximum(law, 1e-3), 0)
        laws.append(law / law.sum(axis=1, keepdims=True))
    tilt = rng.uniform(0.1, 2, size=vocab**horizon)
    with np.errstate(divide="ignore"):
        return tree_world(laws, np.log(np.where(rng.random(len(tilt)) < zero_tilts, 0, tilt)))


def coin_flip_tree(key: PRNGKeyArray, horizon: int, vocab: int = 2) -> GuidedWorld:
    """A uniform base law; every leaf has tilt 0.01 or 1.01, by a coin flip."""
    check_tree(check_count("vocab", vocab), check_count("horizon", horizon))
    laws = [np.full((vocab**h, vocab), 1 / vocab) for h in range(horizon)]
    return tree_world(laws, np.log(0.01 + generator(key).integers(2, size=vocab**horizon)))


def noisy_table(
    world: GuidedWorld,
    key: PRNGKeyArray,
    *,
    kappa: float | None = None,
    sigma: float | None = None,
) -> Table:
    """`V* r` with independent r at every state of levels 1..H-1: log-uniform in [1/kappa, kappa], or
    lognormal with mean one and log-deviation sigma. Unfold the world first for errors per prefix."""
    if (kappa is None) == (sigma is None):
        raise ValueError("give either kappa or sigma, and not both")
    table, rng = _world(world).log_values(), generator(key)
    inner = table[1:-1]
    if kappa is not None:
        kappa = float(check_number("kappa", kappa, least=1))
        inner += rng.uniform(-1, 1, size=inner.shape) * np.log(kappa)
    elif sigma is not None:
        sigma = float(check_number("sigma", sigma, least=0))
        inner += sigma * rng.normal(size=inner.shape) - sigma**2 / 2
    return table


def monte_carlo_table(world: GuidedWorld, key: PRNGKeyArray, rollouts: int) -> Table:
    """`(sum of tau over base rollouts through the state + Z) / (their number + 1)` at levels 1..H-1; exact
    at the leaves. Unfold the world first for one estimate per prefix."""
    check_size(f"rollouts = {rollouts}", check_count("rollouts", rollouts))
    table, rng = _world(world).log_values(), generator(key)
    state = np.zeros(rollouts, np.int64)
    path = []
    for h in range(world.horizon):
        cuts = np.cumsum(np.asarray(world.base[h]), axis=-1)[state]
        token = (rng.random((rollouts, 1)) * cuts[:, -1:] >= cuts[:, :-1]).sum(axis=1)
        state = np.asarray(world.step[h])[state, token].astype(np.int64)
        path.append(state)
    tau = np.exp(world.log_tilt[state])
    for h in range(1, world.horizon):
        total = np.bincount(path[h - 1], tau, minlength=world.states)
        count = np.bincount(path[h - 1], minlength=world.states)
        table[h] = np.log((total + np.exp(table[0, 0])) / (count + 1))
    return table
