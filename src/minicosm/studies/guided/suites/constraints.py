"""Constrained generation without a verifier and with one: parity, knapsack, needle, some zero."""

from dataclasses import dataclass

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.guided import constrained, laws
from minicosm.theory.guided.backtracking import Backtracking, backtracking
from minicosm.theory.guided.closed_forms import (
    fewest_queries,
    lagged_outcome,
    needle_costs,
    parity_queries,
    some_zero_tv,
)
from minicosm.theory.guided.distances import tv
from minicosm.worlds import Knapsack, lagged_error, needle, secret_parity, some_zero

from ...common.ledger import Ledger


@dataclass(frozen=True)
class Constraints:
    """How many random knapsacks are solved, and how many searches for a secret are simulated."""

    seed: int
    knapsacks: int
    searches: int


def run(config: Constraints, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i, part in enumerate((_parity, _knapsack, _needle, _some_zero, _lagged)):
        progress(i, 5, part.__name__.strip("_"))
        part(config, ledger)
    return ledger.result()


def _parity(config: Constraints, ledger: Ledger) -> None:
    for D in (1, 2, 3, 5, 8):
        rng = np.random.default_rng([config.seed, D])
        N = 2 ** (D - 1)
        strings = (
            (np.arange(N)[:, None] >> np.arange(D - 2, -1, -1)) % 2
            if D > 1
            else np.zeros((1, 0), int)
        )
        secrets = strings if N <= 16 else strings[rng.choice(N, 16, replace=False)]
        worlds = [secret_parity(secret) for secret in secrets]
        counts = []
        for world in worlds:
            # What a search sees: the law of the last bit behind every string of D - 1 bits.
            states = world.state_paths(strings)[:, -1]
            parity = strings.sum(axis=1) % 2
            hit = np.flatnonzero(world.base[-1, states, parity] == 1)
            assert len(hit) == 1
            orders = rng.permuted(
                np.tile(np.arange(N), (config.searches // len(worlds), 1)), axis=1
            )
            asked = np.argmax(orders == hit[0], axis=1) + 1
            counts.append(np.minimum(asked, N - 1))  # the last one left is known by elimination
        sample = np.concatenate(counts)
        ledger.add(
            "theorem-3.1.1",
            D=D,
            printed=N,
            exact=float(parity_queries(N)),
            fewest=float(fewest_queries(N)),
            mean=float(sample.mean()),
            error=float(sample.std() / np.sqrt(len(sample))),
        )
        early = [
            np.abs(world.base[: D - 1] - worlds[0].base[: D - 1]).max(initial=0) for world in worlds
        ]
        ledger.add("uninformative", error=float(max(early)))
        for world, secret in zip(worlds, secrets, strict=True):
            reach = world.reach() > 0
            literal = world.feasible(oracle=False)
            with_oracle = constrained.verifier_enumeration(world.feasibility_verifier())
            without = constrained.verifier_enumeration(world.feasibility_verifier(oracle=False))
            wanted = (*map(int, secret), int(sum(secret) % 2))
            ledger.add(
                "parity-verifiers",
                D=D,
                literal_constant=bool(literal[:-1][reach[:-1]].all()),
                solved=with_oracle.string == wanted,
                calls=with_oracle.verifier_calls,
                literal_solved=without.string == wanted,
                stuck=constrained.tokenwise_rejection(world, literal).stuck,
            )


def _knapsack(config: Constraints, ledger: Ledger) -> None:
    rng = np.random.default_rng([config.seed, 31])
    instances = [Knapsack(tuple(range(1, 13)), 39), Knapsack((0, 0, 3), 0), Knapsack((2, 4, 6), 5)]
    instances += [Knapsack((0, 0), 1), Knapsack((5,), 5), Knapsack((7, 1), 100)]
    for _ in range(config.knapsacks):
        size = int(rng.integers(1, 15))
        drawn = Knapsack.random(rng, size, int(rng.choice([5, 50, 10**6])))
        missed = Knapsack(drawn.weights, int(rng.integers(0, sum(drawn.weights) + 2)))
        instances += [drawn, missed]
    for instance in instances:
        D = len(instance.weights)
        bits = (np.arange(2**D)[:, None] >> np.arange(D)) % 2
        solutions = int(np.sum(bits @ np.array(instance.weights) == instance.target))
        world = instance.world()
        found = constrained.verifier_enumeration(world.feasibility_verifier()).string
        right = (found is None) == (solutions == 0)
        if found is not None:
            right &= (
                sum(b * w for b, w in zip(found, instance.weights, strict=True)) == instance.target
            )
        calls = constrained.tokenwise_rejection(world, world.feasible()).calls if solutions else D
        ledger.add(
            "theorem-3.1.2",
            right=bool(right and instance.count() == solutions),
            size=D,
            solutions=solutions,
            density=instance.density,
            tokenwise=calls,
            rejection=D * 2**D / solutions if solutions else float("inf"),
        )
        ledger.add("tokenwise-range", slack=min(calls - D, 2 * D - calls))
    for _ in range(config.knapsacks):
        drawn = Knapsack.superincreasing(rng, int(rng.integers(1, 13)))
        other = Knapsack(drawn.weights, int(rng.integers(0, sum(drawn.weights) + 1)))
        for instance in (drawn, other):
            count = instance.count()
            ledger.add(
                "superincreasing",
                right=(instance.greedy() is not None) == (count > 0) and count <= 1,
            )
    world = instances[0].world()
    feasible = np.where(world.feasible(), 0.0, -np.inf)
    out = laws.tokenwise_rejection(world, feasible)
    ledger.add(
        "knapsack-reference",
        solutions=instances[0].count(),
        rejection=constrained.rejection_calls(world),
        tokenwise=out.calls,
        tv=tv(out.law, laws.rejection(world).law),
    )


def _needle(config: Constraints, ledger: Ledger) -> None:
    for D in range(1, 13):
        world, closed = needle(D), needle_costs(D)
        accepts = world.feasible()
        found = (
            constrained.rejection_calls(world),
            constrained.restart_calls(world, accepts),
            constrained.tokenwise_rejection(world, accepts).calls,
        )
        wanted = (closed.rejection, closed.restart, closed.tokenwise)
        error = max(abs(a / b - 1) for a, b in zip(found, wanted, strict=True))
        ledger.add(
            "proposition-3.1.1",
            D=D,
            error=error,
            rejection=found[0],
            restart=found[1],
            tokenwise=found[2],
        )


def _some_zero(config: Constraints, ledger: Ledger) -> None:
    for D in range(1, 9):
        world = some_zero(D)
        out = laws.tokenwise_rejection(world, np.where(world.feasible(), 0.0, -np.inf)).law
        target = laws.rejection(world).law
        wanted = np.full(2**D, 2.0**-D)
        wanted[-2:] = 2.0 ** -(D - 1), 0
        distance = tv(out, target)
        ledger.add(
            "proposition-3.1.2",
            D=D,
            tv=distance,
            error=float(np.abs(out - wanted).max()),
            tv_error=abs(distance - float(some_zero_tv(D))),
            all_ones=float(out[-1]),
        )


def _lagged(config: Constraints, ledger: Ledger) -> None:
    for D, position, lag, chance in ((8, 3, 2, 0.3), (7, 2, 1, 0.1), (6, 1, 3, 0.45)):
        world, log_table = lagged_error(D, position, lag, chance)
        for quota in (1, 2, 4):
            for stride in range(1, D):
                for refill in ("argmax", "none"):
                    found = backtracking(
                        world, log_table, Backtracking(quota, stride, refill=refill)
                    )
                    right = sum(m for s, m in found.law.items() if s[position - 1] == 0)
                    wanted = lagged_outcome(
                        D, position, lag, chance, quota=quota, stride=stride, refill=refill
                    )
                    off = 0.0 if wanted.calls is None else abs(found.calls - wanted.calls)
                    ledger.add("lagged", error=max(abs(right - wanted.accuracy), off))
