"""Networks that remember a bit, n-gram models, the smallest monoids and the carry of an addition."""

from typing import Any

import jax
import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import Theorem
from minicosm.theory import flip_flop as theory
from minicosm.worlds import FlipFlop, flip_flop

from ..trials import Exact

DENSITIES = (0.1, 0.8, 0.98)
ALL_UP_TO = 12
DIGITS = 20
FAR = 20_000  # pairs between a write and its read
RATIOS = (2.2, 2.5, 3.0, None)
"""`c / T` for which margin and error of the network are shown; None: `2 ln(8 T)`."""


def run(config: Exact, progress: Progress) -> TrialResult:
    ledger = Ledger()
    ledger.add(theory.smallest_monoid())
    _windows(ledger)
    for done, length in enumerate(config.lengths):
        progress(done, len(config.lengths), "networks")
        _networks(ledger, config, length)
    _recurrent(ledger, config)
    ledger.add(theory.proposition_3_horizon(config.horizon))
    ledger.add(addition(config.seed, config.pairs))
    shown = [[_dense(config, length, ratio) for length in config.lengths] for ratio in RATIOS]
    found, pictures = ledger.result(), np.moveaxis(np.array(shown), -1, 0)
    return TrialResult(
        found.numbers, {**found.arrays, "ratios": pictures[0], "margins": pictures[1]}
    )


def strings(config: Exact, length: int, p_ignore: float) -> np.ndarray:
    """All strings where they are few, else a sample."""
    if length <= ALL_UP_TO:
        return theory.all_strings(length)
    world = FlipFlop(length, p_ignore=p_ignore)
    keys = jax.random.split(jax.random.fold_in(jax.random.key(config.seed), length), config.strings)
    return np.asarray(jax.jit(jax.vmap(lambda key: world.sample(key).tokens))(keys))


def _densities(length: int) -> tuple[float, ...]:
    return (0.5,) if length <= ALL_UP_TO else DENSITIES


def _networks(ledger: Ledger, config: Exact, length: int) -> None:
    for p in _densities(length):
        drawn = strings(config, length, p)
        for make in (theory.proposition_3, theory.proposition_3_linear, theory.recurrent_memory):
            theorem = make(FlipFlop(length, p_ignore=p))
            for precise in (True, False):
                found = theorem.certify(strings=drawn, precise=precise)
                ledger.add(found, length=length, density=p, precise=precise)


def _recurrent(ledger: Ledger, config: Exact) -> None:
    """Long strings with few writes, and a bit that gates which are less sure lose."""
    world = FlipFlop(config.longest, p_ignore=0.999)
    few = Exact(config.seed, strings=20)
    drawn = strings(few, config.longest, 0.999)
    for precise in (True, False):
        found = theory.recurrent_memory(world).certify(strings=drawn, precise=precise)
        ledger.add(found, length=config.longest, density=0.999, precise=precise)
    far = theory.distant_read(FAR)[None]
    sure = theory.wrong_reads(theory.two_unit_lstm(), far)[0]
    unsure = theory.wrong_reads(theory.two_unit_lstm(10.0), far)[0]
    ledger.add(
        Theorem.identity(
            "Two-unit LSTM, gates", sure + (1 - unsure), within=0, cases=2,
            details={"sure": sure, "unsure": unsure},
        )
    )  # fmt: skip


def _dense(config: Exact, length: int, ratio: float | None) -> tuple[float, float]:
    """The share of reads that the network with `c = ratio T` gets wrong on dense strings, and the least
    margin of a read."""
    drawn = strings(config, length, 0.1)
    model = theory.two_layer_transformer(length, None if ratio is None else ratio * length)
    wrong, reads = theory.wrong_reads(model, drawn)
    return wrong / reads, theory.least_margin(model, drawn)


def _windows(ledger: Ledger) -> None:
    for length in (4, 6, 8, 10):
        for p in ((0.1, 0.1, 0.8), (0.5, 0.2, 0.3), (0.3, 0.7, 0.0), (0.0, 0.4, 0.6)):
            world = FlipFlop(length, p)
            for window in range(1, length + 1):
                ledger.add(theory.n_gram_error(world, window), length=length, window=window)
    for p_ignore in (0.9, 0.98, 0.995):
        ledger.add(theory.n_gram_guesses(FlipFlop(512, p_ignore=p_ignore)), p_ignore=p_ignore)


def addition(seed: int, pairs: int) -> Theorem:
    """Sums of random numbers of 20 digits by the carries that the automaton gives, against Python's whole
    numbers; the error counts wrong sums."""
    rng = np.random.default_rng([seed, 3])
    a, b = rng.integers(0, 10, (2, pairs, DIGITS))
    symbols = flip_flop.carry_symbols(a, b)
    carries = np.asarray(jax.jit(jax.vmap(flip_flop.carry_automaton().run))(symbols))
    before = np.pad(carries, ((0, 0), (1, 0)))
    digits = np.concatenate([(a + b + before[:, :-1]) % 10, carries[:, -1:]], axis=1)
    wrong = sum(_number(x) + _number(y) != _number(z) for x, y, z in zip(a, b, digits, strict=True))
    rates = np.bincount(symbols.ravel(), minlength=3)
    details: dict[str, Any] = {
        name: int(count) for name, count in zip(("keep", "set 0", "set 1"), rates, strict=True)
    }
    return Theorem.identity("Addition", wrong, within=0, cases=pairs, details=details)


def _number(digits: np.ndarray) -> int:
    return int("".join(map(str, digits[::-1])))
