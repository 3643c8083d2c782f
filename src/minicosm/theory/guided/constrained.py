"""Costs of constrained generation on an automaton: rejection, tokenwise rejection, enumeration."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from minicosm.worlds import GuidedWorld, TableVerifier

from ..checks import truths
from ..signatures import checked

_ACCEPTS = truths(lambda given: (given["world"].horizon + 1, given["world"].states))
Truths = Bool[np.ndarray, "levels S"]


@checked()
def rejection_calls(world: GuidedWorld) -> float:
    """`D / P(accepted)`; a string is accepted with probability `tau / max tau`."""
    log_partition = world.log_partition()
    if log_partition == -np.inf:
        return float("inf")
    return world.horizon / float(np.exp(log_partition - world.log_tilt.max()))


class Tokenwise(NamedTuple):
    """Tokenwise rejection: tokens are drawn again until the verifier accepts the longer prefix."""

    world: GuidedWorld  # its base law is the law of the output
    calls: float  # expected, one per draw; infinite if it can get stuck
    stuck: float  # probability to come to a prefix with no accepted token


@checked(accepts=_ACCEPTS)
def tokenwise_rejection(world: GuidedWorld, accepts: Truths) -> Tokenwise:
    """Tokens have the law `O(a | u) 1[ua accepted] / alpha(u)`, `alpha(u) = sum_a O(a | u) 1[ua accepted]`;
    `1 / alpha(u)` draws are expected after u. Where no token is accepted the base law stands in."""
    base = np.array(world.base)
    reach: Float[np.ndarray, " S"] = np.zeros(world.states)
    reach[0], calls, stuck = 1.0, 0.0, 0.0
    for h in range(world.horizon):
        kept = world.base[h] * accepts[h + 1][world.step[h]]
        alpha = kept.sum(axis=-1)
        here = reach[: len(alpha)]
        stuck += float(here[alpha == 0].sum())
        calls += float(np.sum(here[alpha > 0] / alpha[alpha > 0]))
        base[h] = np.where(
            alpha[:, None] > 0, kept / np.where(alpha > 0, alpha, 1)[:, None], base[h]
        )
        flow = np.where(alpha > 0, here, 0)[:, None] * base[h]
        reach = np.bincount(world.step[h].reshape(-1), flow.reshape(-1), minlength=world.states)
    tokenwise = GuidedWorld(world.step, base, np.zeros_like(world.log_tilt))
    return Tokenwise(tokenwise, float("inf") if stuck > 0 else calls, stuck)


@checked(accepts=_ACCEPTS)
def restart_calls(world: GuidedWorld, accepts: Truths) -> float:
    """Tokens are drawn once, and at the first rejected one the string starts over:
    `sum_{h < D} P(the first h tokens are accepted) / P(all are)`."""
    reach: Float[np.ndarray, " S"] = np.zeros(world.states)
    drawn = 0.0
    reach[0] = 1
    for h in range(world.horizon):
        drawn += float(reach.sum())
        flow = reach[: world.base.shape[1], None] * world.base[h] * accepts[h + 1][world.step[h]]
        reach = np.bincount(world.step[h].reshape(-1), flow.reshape(-1), minlength=world.states)
    return drawn / float(reach.sum()) if reach.sum() > 0 else float("inf")


class Enumerated(NamedTuple):
    string: tuple[int, ...] | None  # None: FAIL
    verifier_calls: int


@checked()
def verifier_enumeration(verifier: TableVerifier) -> Enumerated:
    """At every position try the tokens in order and keep the first whose prefix is accepted: no call to
    the generator and at most K D to the verifier."""
    step, table = np.asarray(verifier.step), np.asarray(verifier.log_table)
    state, string, calls = 0, [], 0
    for h in range(len(step)):
        for a in range(step.shape[2]):
            calls += 1
            if table[h + 1, step[h, state, a]] > -np.inf:
                state = int(step[h, state, a])
                string.append(a)
                break
        else:
            return Enumerated(None, calls)
    return Enumerated(tuple(string), calls)
