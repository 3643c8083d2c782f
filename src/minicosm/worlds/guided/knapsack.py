"""Knapsack: strings of zeros and ones whose chosen weights add up to a target."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log2

import numpy as np
from jaxtyping import PRNGKeyArray

from ..arrays import check_count, check_kind, check_length, check_reals
from ..hmm.draws import generator
from .world import GuidedWorld

MOST_WEIGHTS = 4096


@dataclass(frozen=True)
class Knapsack:
    """`A = {s in {0,1}^D: sum_i s_i X_i = c}`; weights and target are whole numbers of any size."""

    weights: tuple[int, ...]
    target: int

    def __post_init__(self) -> None:
        check_kind("weights", self.weights, tuple, "a tuple of whole numbers")
        if not self.weights:
            raise ValueError("weights are empty; give at least one")
        for i, weight in enumerate(self.weights):
            check_count(f"weights[{i}]", weight, 0)
        check_count("target", self.target, 0)
        object.__setattr__(self, "weights", tuple(int(w) for w in self.weights))

    @classmethod
    def random(cls, key: PRNGKeyArray, size: int, largest: int) -> "Knapsack":
        """Uniform weights up to `largest`; the target is the weight of a random choice."""
        rng = generator(key)
        check_length(size, MOST_WEIGHTS, "size")
        check_length(largest, 2**62, "largest")
        weights = [int(w) for w in rng.integers(0, largest + 1, size=size)]
        return cls(tuple(weights), sum(w for w in weights if rng.random() < 0.5))

    @classmethod
    def superincreasing(cls, key: PRNGKeyArray, size: int, step: int = 3) -> "Knapsack":
        """Every weight exceeds the sum of those before by 1..`step`, so solutions are unique."""
        weights: list[int] = []
        rng = generator(key)
        check_length(step, 2**62, "step")
        for _ in range(check_length(size, MOST_WEIGHTS, "size")):
            weights.append(sum(weights) + int(rng.integers(1, step + 1)))
        return cls(tuple(weights), sum(w for w in weights if rng.random() < 0.5))

    @property
    def density(self) -> float:
        """`D / log2(max X)`; infinite if no weight exceeds one."""
        largest = max(self.weights)
        return len(self.weights) / log2(largest) if largest > 1 else inf

    def counts(self) -> list[dict[int, int]]:
        """For h = 0..D and every sum s <= c of the first h weights chosen, in how many ways the others
        complete it: `N_h(s) = N_{h+1}(s) + N_{h+1}(s + X_{h+1})`, `N_D(s) = 1[s = c]`."""
        levels: list[dict[int, int]] = [dict.fromkeys(sums, 0) for sums in self._sums()]
        levels[-1] = {s: int(s == self.target) for s in levels[-1]}
        for h in range(len(self.weights) - 1, -1, -1):
            ahead = levels[h + 1]
            for s in levels[h]:
                levels[h][s] = ahead.get(s, 0) + ahead.get(s + self.weights[h], 0)
        return levels

    def count(self) -> int:
        """`|A|`."""
        return self.counts()[0][0]

    def greedy(self) -> tuple[int, ...] | None:
        """Take from the largest weight down what still fits. For superincreasing weights it finds a
        solution if there is one; for others it may miss all."""
        left, chosen = self.target, [0] * len(self.weights)
        for i in sorted(range(len(self.weights)), key=lambda i: (self.weights[i], i), reverse=True):
            if self.weights[i] <= left:
                chosen[i], left = 1, left - self.weights[i]
        return tuple(chosen) if left == 0 else None

    def world(self, one: float | Sequence[float] = 0.5) -> GuidedWorld:
        """Base law: bits are independent, the i-th is one with probability `one[i]`, strictly between 0
        and 1. States are the sums reached, in order, then one for sums above the target."""
        given = np.asarray(check_reals("one", one), np.float64)
        if given.shape not in ((), (len(self.weights),)):
            raise ValueError(
                f"one has shape {given.shape}; it must be a number or one for each of the "
                f"{len(self.weights)} weights"
            )
        chances = np.broadcast_to(given, len(self.weights))
        if not ((chances > 0) & (chances < 1)).all():
            raise ValueError(f"one is {one}; every probability must lie strictly between 0 and 1")
        levels = self._sums()
        over = max(map(len, levels))
        places = [{s: i for i, s in enumerate(sums)} for sums in levels]
        step = np.full((len(self.weights), over + 1, 2), over, np.int32)
        for h, weight in enumerate(self.weights):
            for s, i in places[h].items():
                step[h, i] = places[h + 1][s], places[h + 1].get(s + weight, over)
        base = np.stack([1 - chances, chances], axis=-1)[:, None]
        log_tilt = np.full(over + 1, -np.inf)
        if self.target in places[-1]:
            log_tilt[places[-1][self.target]] = 0
        return GuidedWorld(step, np.repeat(base, over + 1, axis=1), log_tilt)

    def _sums(self) -> list[list[int]]:
        """The sums of at most c that the first h weights can give; zero stands first."""
        levels = [[0]]
        for weight in self.weights:
            both = {*levels[-1], *(s + weight for s in levels[-1] if s + weight <= self.target)}
            levels.append(sorted(both))
        return levels
