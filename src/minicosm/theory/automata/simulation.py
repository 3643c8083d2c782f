"""Whether a network simulates a semiautomaton, and whether its size is what is claimed."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from minicosm.adaptation.checks import as_numbers, check_kind, check_token_rows, check_whole
from minicosm.worlds import Semiautomaton

from ..certify import all_sequences
from ..theorem import IDENTITY, Condition, Theorem
from .network import Network

EXHAUSTIVE = 100_000  # all strings are run if there are so many or fewer
MOST_STRINGS = 2**20
MOST_LENGTH = 4096  # of a compiled network
MOST_STATES = 1024  # of a network whose MLPs have a unit for every pair of states


def automaton(world: Semiautomaton) -> tuple[Int[np.ndarray, "symbols states"], int]:
    """Transition table and start of one automaton."""
    check_kind("world", world, Semiautomaton)
    delta = np.asarray(world.delta)
    if delta.ndim != 2:
        raise ValueError(f"world is a stack of shape {delta.shape[:-2]}; it must be one automaton")
    return delta.astype(np.int64), int(world.start)


def check_network_length(length: Any) -> int:
    """A length that is compiled."""
    return check_whole("length", length, 1, MOST_LENGTH)


def exact_states(world: Semiautomaton, inputs: Int[np.ndarray, "n T"]) -> Int[np.ndarray, "n T"]:
    """`q_t = delta[s_t, q_{t-1}]`, step by step for all strings at once."""
    delta, start = automaton(world)
    inputs = np.asarray(check_token_rows("inputs", inputs, world.vocab))
    states = np.empty(inputs.shape, np.int64)
    state = np.full(len(inputs), start)
    for t in range(inputs.shape[1]):
        state = delta[inputs[:, t], state]
        states[:, t] = state
    return states


def strings(
    world: Semiautomaton, length: int, count: int, seed: int = 0, *, all_up_to: int = EXHAUSTIVE
) -> Int[np.ndarray, "n length"]:
    """All strings if there are at most `all_up_to`, else `count`: every symbol alone, pairs of symbols in
    turns, and equal shares of strings of the world's own law, uniform ones, and ones that repeat
    symbols."""
    automaton(world)
    check_network_length(length)
    check_whole("count", count, 1, MOST_STRINGS)
    check_whole("seed", seed)
    check_whole("all_up_to", all_up_to, 0, 16 * MOST_STRINGS)
    vocab = world.vocab
    if length * np.log(vocab) <= np.log(max(all_up_to, 0.5)) + 1e-9:
        return all_sequences(vocab, length)
    rng = np.random.default_rng([seed, length])
    t = np.arange(length)
    alone = [np.full(length, s) for s in range(vocab)]
    turns = [np.where(t % 2, a, b) for a in range(vocab) for b in range(vocab) if a != b]
    fixed = np.array([*alone, *turns])[: max(1, count // 4)]
    rest = max(0, count - len(fixed))
    uniform = rng.integers(0, vocab, (rest, length))
    changes = rng.random((rest, length)) < 2 * world.states**-1.0 * rng.random((rest, 1))
    changes[:, 0] = True
    last = np.maximum.accumulate(np.where(changes, t, 0), axis=1)
    runs = np.take_along_axis(uniform, last, axis=1)
    own = _own_law(world, rest, length, rng)
    kinds = np.arange(rest) % 3
    return np.concatenate([fixed, np.choose(kinds[:, None], [own, uniform, runs])])


def _own_law(world: Semiautomaton, count: int, length: int, rng: Any) -> Int[np.ndarray, "n T"]:
    """Strings as the world draws them."""
    delta, start = automaton(world)
    law = np.asarray(world.symbol_law, np.float64).cumsum(axis=1)  # modes, symbols, states
    weights = np.asarray(world.weights, np.float64)
    modes = rng.choice(len(weights), size=count, p=weights / weights.sum())
    state, drawn = np.full(count, start), np.empty((count, length), np.int64)
    for t in range(length):
        below = rng.random((count, 1)) > law[modes, :, state]
        drawn[:, t] = np.minimum(below.sum(axis=1), world.vocab - 1)
        state = delta[drawn[:, t], state]
    return drawn


def simulates(
    name: str,
    network: Network,
    world: Semiautomaton,
    inputs: Int[np.ndarray, "n T"],
    conditions: tuple[Condition, ...] = (),
) -> Theorem:
    """Holds iff every state at every position is the exact one and what is read is within 1e-9 of a code.

    The error is the largest distance to a code, or 1 if that is less and a state differs.
    """
    values = network.values(inputs)
    exact = exact_states(world, inputs)
    wrong = network.decoder(values) != exact
    deviation = float(np.abs(values - np.rint(values)).max())
    return Theorem.identity(
        name,
        max(deviation, 1.0) if wrong.any() else deviation,
        within=IDENTITY,
        cases=wrong.size,
        conditions=conditions,
        details={
            "strings": len(inputs),
            "wrong": int(wrong.sum()),
            "wrong strings": int(wrong.any(axis=1).sum()),
            "deviation": deviation,
            "length": inputs.shape[1],
            "depth": len(network.layers),
        },
    )


def certifier(name: str, network: Network, world: Semiautomaton) -> Callable[..., Theorem]:
    """The `check` of a construction: `certify(count=200, seed=0)` on `strings`, or
    `certify(inputs=...)`."""

    def check(
        *, count: int = 200, seed: int = 0, all_up_to: int = EXHAUSTIVE, inputs: Any = None
    ) -> Theorem:
        if inputs is None:
            given = strings(world, network.length, count, seed, all_up_to=all_up_to)
        else:
            given = np.atleast_2d(np.asarray(as_numbers("inputs", inputs, "iu")))
        return simulates(name, network, world, given)

    return check


def constructed(
    name: str, conditions: tuple[Condition, ...], network: Network | None, world: Semiautomaton
) -> Theorem:
    """A theorem with its network, if its conditions are met."""
    if network is None:
        return Theorem(name, conditions)
    return Theorem(name, conditions, construction=network, check=certifier(name, network, world))


def sizes_within(name: str, network: Network, claimed: Mapping[str, float]) -> Theorem:
    """The sizes of a network are at most those claimed; keys are fields of its audit.

    The slack is the least of `1 - measured / claimed` over them; what is claimed to be 0 must be 0.
    """
    audit = network.audit()._asdict()
    shares = {
        key: audit[key] / bound if bound else (0.0 if audit[key] == 0 else np.inf)
        for key, bound in claimed.items()
    }
    tightest = max(shares, key=lambda key: shares[key])
    return Theorem.inequality(
        name,
        1 - shares[tightest],
        cases=len(shares),
        details={
            "tightest": tightest,
            **{key: float(audit[key]) for key in claimed},
            **{f"claimed {key}": float(bound) for key, bound in claimed.items()},
        },
    )
