"""Constrained generation without a verifier and with one (Section 3.1): functions that return a `Theorem`."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from jaxtyping import Int, PRNGKeyArray

from minicosm.worlds import GuidedWorld, Knapsack, needle, secret_parity, some_zero
from minicosm.worlds.arrays import check_size
from minicosm.worlds.hmm.draws import generator

from ..checks import whole, wholes
from ..signatures import checked
from ..theorem import Condition, Theorem
from . import constrained, laws
from .closed_forms import fewest_queries, needle_costs, parity_queries, some_zero_tv
from .conditions import largest, least
from .distances import tv
from .rules import MOST_BITS


@checked(bits=whole(1, 1000))
def theorem_3_1_1_as_printed(bits: int) -> Theorem:
    """Every algorithm needs at least `2^(D-1)` expected queries on some secret. The slack is by how much a
    search in random order, which needs as many for every secret, needs more."""
    candidates = 2 ** (bits - 1)
    queries = float(parity_queries(candidates))
    details = {"D": bits, "printed": candidates, "random_order": queries}
    name = "Theorem 3.1.1 as printed"
    return Theorem.inequality(name, queries - candidates, within=0.0, details=details)


@checked(bits=whole(1, 16))  # 2^15 secrets
def theorem_3_1_1(bits: int) -> Theorem:
    """With N = `2^(D-1)` secrets the least worst-case expected number of queries is `(N + 1)/2 - 1/N`: what a
    search in random order takes for every secret, and what no search of a uniform secret undercuts."""
    candidates = 2 ** (bits - 1)
    error = abs(float(fewest_queries(candidates) - parity_queries(candidates)))
    details = {"D": bits, "queries": float(parity_queries(candidates))}
    return Theorem.identity("Theorem 3.1.1", error, within=0.0, details=details)


@checked(secrets=wholes(2, (None, None)))
def short_queries(secrets: Sequence[Sequence[int]]) -> Theorem:
    """Queries of fewer than D - 1 bits have answers of the same law for all secrets."""
    if not len(secrets):
        raise ValueError("secrets are none; give at least one")
    bases = np.stack([secret_parity(secret).base[:-1] for secret in secrets])
    error = float(np.abs(bases - bases[0]).max(initial=0.0))
    return Theorem.identity("short queries tell nothing", error, cases=len(secrets))


@checked(secret=wholes(2), count=whole(1))
def searches(secret: Sequence[int], key: PRNGKeyArray, count: int) -> Int[np.ndarray, " count"]:
    """Queries of searches in random order. A query of D - 1 bits is answered by the last bit, which makes
    the parity even for the secret only; the last candidate left is known by elimination."""
    world, length = secret_parity(secret), len(secret)
    check_size(f"{count} orders of the secrets of {length} bits", count * 2**length)
    codes = np.arange(2**length)[:, None]
    strings = codes >> np.arange(length - 1, -1, -1) & 1 if length else np.zeros((1, 0), int)
    states = world.state_paths(strings)[:, -1]
    hits = world.base[-1, states, strings.sum(axis=1) % 2] == 1
    orders = generator(key).permuted(np.tile(np.arange(len(hits)), (count, 1)), axis=1)
    return np.minimum(np.argmax(hits[orders], axis=1) + 1, len(hits) - 1)


@checked(secret=wholes(2))
def verifier_calls(secret: Sequence[int]) -> Theorem:
    """A verifier that accepts a prefix iff some completion lies in A and has positive probability solves
    secret parity by trying tokens in order: with at most `|Sigma| D` calls to it, and none to the generator.
    """
    world = secret_parity(secret)
    result = constrained.verifier_enumeration(world.feasibility_verifier())
    wrong = result.string != (*map(int, secret), int(sum(secret) % 2))
    late = result.verifier_calls > world.vocab * world.horizon
    details = {"D": world.horizon, "calls": result.verifier_calls}
    return Theorem.identity(
        "calls to the verifier", float(wrong + late), within=0.0, details=details
    )


@checked()
def theorem_3_1_2(knapsack: Knapsack) -> Theorem:
    """A solver of constrained generation returns a solution of the knapsack iff there is one: against all
    `2^D` choices. Hardness itself cannot be run."""
    size = len(knapsack.weights)
    if size > MOST_BITS:
        raise ValueError(
            f"the knapsack has {size} weights; all choices are tried up to {MOST_BITS}"
        )
    exact = np.int64 if sum(knapsack.weights) < 2**63 else object
    bits = np.arange(2**size)[:, None] >> np.arange(size) & 1
    solutions = int(np.sum(bits @ np.array(knapsack.weights, exact) == knapsack.target))
    result = constrained.verifier_enumeration(knapsack.world().feasibility_verifier()).string
    wrong = (result is None) != (solutions == 0)
    if result is not None:
        chosen = sum(w for bit, w in zip(result, knapsack.weights, strict=True) if bit)
        wrong |= chosen != knapsack.target
    counted = knapsack.count() != solutions
    details = {"size": size, "solutions": solutions}
    return Theorem.identity("Theorem 3.1.2", float(wrong + counted), within=0.0, details=details)


@checked()
def superincreasing_weights(knapsack: Knapsack) -> Theorem:
    """If every weight exceeds the sum of those before it, taking from the largest down what still fits
    decides the instance, and there is at most one solution."""
    before = accumulate((0, *knapsack.weights[:-1]))
    strict = Condition(
        "weights are superincreasing",
        all(weight > sum_ for weight, sum_ in zip(knapsack.weights, before, strict=True)),
        reason="some weight is at most the sum of those before it",
    )
    count = knapsack.count()
    wrong = ((knapsack.greedy() is not None) != (count > 0)) + (count > 1)
    name = "superincreasing weights"
    return Theorem.identity(name, float(wrong), within=0.0, conditions=(strict,))


@checked(length=whole(1, 1000))
def proposition_3_1_1(length: int) -> Theorem:
    """A needle of D fair bits: rejection takes `D 2^D` expected calls, starting over at the first rejected
    token `2^(D+1) - 2`, tokenwise rejection `2D`. The error is relative."""
    world, closed = needle(length), needle_costs(length)
    accepts = world.feasible()
    result = {
        "rejection": constrained.rejection_calls(world),
        "restart": constrained.restart_calls(world, accepts),
        "tokenwise": constrained.tokenwise_rejection(world, accepts).calls,
    }
    wanted = (closed.rejection, closed.restart, closed.tokenwise)
    error = largest(*(abs(a / b - 1) for a, b in zip(result.values(), wanted, strict=True)))
    return Theorem.identity("Proposition 3.1.1", error, details={"D": length, **result})


@checked()
def tokenwise_calls_of_uniform_bits(world: GuidedWorld) -> Theorem:
    """With uniform bits and the perfect verifier tokenwise rejection takes between D and 2D calls."""
    solvable = Condition(
        "some string is accepted", bool(world.feasible()[0, 0]), reason="A has no string"
    )
    calls = constrained.tokenwise_rejection(world, world.feasible()).calls
    D = world.horizon
    details = {"D": D, "tokenwise": calls, "rejection": constrained.rejection_calls(world)}
    slack = least(calls - D, 2 * D - calls)
    name = "tokenwise calls of uniform bits"
    return Theorem.inequality(name, slack, conditions=(solvable,), details=details)


@checked(length=whole(1, MOST_BITS))
def proposition_3_1_2(length: int) -> Theorem:
    """With A all strings of D >= 2 bits but 1...1, tokenwise rejection gives 1...10 the probability
    `2^-(D-1)` and every other string of A `2^-D`; its total variation is `(2^D - 2) / (2^D (2^D - 1))` from
    the uniform law on A, the detail `distance`."""
    several = Condition("there are two bits or more", length >= 2, reason=f"there is {length}")
    world = some_zero(length)
    law = laws.tokenwise_rejection(world, np.where(world.feasible(), 0.0, -np.inf)).law
    wanted = np.full(2**length, 2.0**-length)
    wanted[-2:] = 2.0 ** -(length - 1), 0
    distance = tv(law, laws.rejection(world).law)
    off = abs(distance - float(some_zero_tv(length)))
    return Theorem.identity(
        "Proposition 3.1.2",
        largest(float(np.abs(law - wanted).max()), off),
        within=1e-12,
        conditions=(several,),
        details={"D": length, "distance": distance},
    )
