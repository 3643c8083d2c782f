"""What finite samples say: of two worlds that no pairs tell apart, and of the parameters."""

import itertools

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.identifiability import clear_states, distance, every_gap_pair, recover
from minicosm.worlds import HMM

from ..suites.worlds import START
from ..trials import Counting, TwinData


def law_of_triples(world: HMM) -> np.ndarray:
    """`P(x1, x2, x3)`, by a sum over hidden paths."""
    O, T = np.asarray(world.W), np.asarray(world.A)
    first = np.asarray(world.A @ world.p0)
    return np.einsum("i,ai,ji,bj,kj,ck->abc", first, O, T, O, T, O)


def twins(config: TwinData, progress: Progress) -> TrialResult:
    """How often the likelihood ratio picks the right one of two twins, by counts of triples; and the largest
    log likelihood ratio by counts of pairs, for all three pairs of positions."""
    rng = np.random.default_rng([START + config.seed, 50])
    worlds = every_gap_pair(config.persistence)
    laws = [law_of_triples(world) for world in worlds]
    numbers: dict[str, list] = {"right": [], "pairs": [], "ratios": []}
    for true, (p, q) in enumerate((laws, laws[::-1])):
        progress(true, 2)
        counts = rng.multinomial(config.triples, p.ravel(), size=config.sets)
        ratios = counts @ np.log(p / q).ravel()
        numbers["right"].append(int((ratios > 0).sum()))
        numbers["ratios"].append(ratios.mean())
        tables = counts.reshape(-1, *p.shape)
        largest = 0.0
        for gone in range(3):
            log = np.log(p.sum(axis=gone) / q.sum(axis=gone))
            each = np.einsum("sab,ab->s", tables.sum(axis=1 + gone), log)
            largest = max(largest, float(np.abs(each).max()))
        numbers["pairs"].append(largest)
    return TrialResult(numbers)


def counted(config: Counting, progress: Progress) -> TrialResult:
    """Distance of what is recovered from predictors that are estimated by counting n triples, before and
    after negative entries are set to zero: arrays of [task, set, n]. A table that has no three terms is
    NaN."""
    rng = np.random.default_rng([START + config.seed, 51])
    world = clear_states()
    law = law_of_triples(world)
    tasks = (("x2,x3|x1", (0, 1, 2)), ("x1,x3|x2", (1, 0, 2)))
    shape = (len(tasks), config.sets, len(config.sizes))
    distances, raw = np.full(shape, np.nan), np.full(shape, np.nan)
    for done, (s, i) in enumerate(itertools.product(range(shape[1]), range(shape[2]))):
        progress(done, shape[1] * shape[2])
        counts = rng.multinomial(config.sizes[i], law.ravel()).reshape(law.shape)
        for t, (task, axes) in enumerate(tasks):
            table = np.transpose(counts, axes).astype(float)
            table /= np.maximum(table.sum(axis=(1, 2), keepdims=True), 1)
            try:
                found = recover(table, task, hidden=3, within=np.inf, seed=done)
            except ValueError:
                continue
            distances[t, s, i] = distance(world, found.world)
            raw[t, s, i] = _unclipped(world, found.O, found.T)
    return TrialResult({"tasks": [task for task, _ in tasks]}, {"distances": distances, "raw": raw})


def _unclipped(world: HMM, O: np.ndarray, T: np.ndarray) -> float:
    from minicosm.theory.identifiability.distance import matched_distance

    return matched_distance(np.asarray(world.W), np.asarray(world.A), O, T)
