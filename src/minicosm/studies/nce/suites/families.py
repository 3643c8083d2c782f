"""What holds in every exponential family, on random finite ones and on Gaussians."""

import math

import jax
import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import nce as theory
from minicosm.theory.nce import Contrast
from minicosm.theory.nce.descent_theorems import COUNTED
from minicosm.worlds import ExponentialFamily, FiniteFamily, GaussianMean

from ..arms import FIRST, KINDS
from ..trials import Families
from .landscape import random_taus

SMALL_RATIO = (
    12.0  # λ_max/λ_min up to which Theorem 21 is run on a family: its steps grow as the cube
)


def run(config: Families, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i in range(config.families):
        progress(i, config.families, "families")
        rng = np.random.default_rng([FIRST + config.seed, i])
        world = random_family(config, i, rng)
        taus = np.asarray(world.truth) + rng.normal(size=(config.taus, world.truth.size))
        for kind in KINDS:
            contrast = Contrast(world, kind)
            ledger.add(theory.lemma_44(contrast, taus), kind=kind)
            ledger.add(theory.lemma_45(contrast, taus))
        _bounds(ledger, world)
        _balls(ledger, world, rng)
    _dependent(ledger, config)
    _gaussians(ledger, config)
    _counterexamples(ledger)
    return ledger.result()


def random_family(config: Families, i: int, rng: np.random.Generator) -> FiniteFamily:
    """The i-th family: p parameters, from p + 2 points on, statistics of deviation in [0.3, 2]."""
    p = config.parameters[i % len(config.parameters)]
    points = int(rng.integers(p + 2, config.points + 1))
    scale = float(rng.uniform(0.3, 2))
    key = jax.random.fold_in(jax.random.key(FIRST + config.seed), i)
    return FiniteFamily.random(key, points, p, scale, padded=config.points - points)


def _bounds(ledger: Ledger, world: ExponentialFamily) -> None:
    """The lemmas that bound κ*, BC and the Hessian about τ*."""
    nce, exponential = (Contrast(world, kind) for kind in KINDS)
    ledger.add(theory.lemma_52(world))
    ledger.add(theory.lemma_53(exponential))
    ledger.add(theory.lemma_54(exponential))
    ledger.add(theory.lemma_60(world))
    ledger.add(theory.lemma_60_as_printed(world))
    ledger.add(theory.lemma_61(nce))
    ledger.add(theory.lemma_61_as_printed(nce))


def _balls(ledger: Ledger, world: FiniteFamily, rng: np.random.Generator) -> None:
    """Lemma 51 with δ = 1/β_Z, and Theorem 21 where its steps are few."""
    known = theory.constants(world, theory.segment(world))
    delta = 1 / known.lipschitz if known.lipschitz > 0 else 1.0
    near, far = rng.normal(size=(2, 64, world.truth.size)) * delta
    for kind in KINDS:
        ledger.add(
            theory.lemma_51(Contrast(world, kind), delta, world.truth + near, world.truth + 3 * far)
        )
    if known.ratio <= SMALL_RATIO:
        contrast = Contrast(world, "exponential")
        start = float(np.linalg.norm(world.truth - world.noise))
        ledger.add(theory.theorem_21(contrast, min(1 / max(1.0, known.lipschitz), start / 4)))


def _dependent(ledger: Ledger, config: Families) -> None:
    """A statistic that is there twice, and one that is an affine function of another."""
    rng = np.random.default_rng([FIRST + config.seed, config.families])
    for i in range(max(3, config.families // 20)):
        column = rng.normal(size=(config.points, 1))
        twice = np.hstack([column, (1.0 if i % 2 else -0.5) * column + (i % 3)])
        base = rng.dirichlet(np.ones(config.points))
        world = FiniteFamily(twice, base, rng.normal(size=2), rng.normal(size=2))
        for kind in KINDS:
            ledger.add(theory.lemma_44_dependent(Contrast(world, kind)))


def _gaussians(ledger: Ledger, config: Families) -> None:
    """The same on two Gaussians."""
    for R in config.gaussians:
        world = GaussianMean(R)
        rng = np.random.default_rng([FIRST + config.seed, config.families, round(10 * R)])
        near, far = rng.normal(size=(2, 1000, 2)) / R
        taus = random_taus(rng, world, 128)
        for kind in KINDS:
            contrast = Contrast(world, kind, COUNTED)
            ledger.add(theory.lemma_51(contrast, 1 / R, world.truth + near, world.truth + 3 * far))
        ledger.add(theory.lemma_45(Contrast(world, nodes=COUNTED), taus))
        exponential = Contrast(world, "exponential")
        ledger.add(theory.lemma_52(world))
        ledger.add(theory.lemma_53(exponential))
        ledger.add(theory.lemma_54(exponential))
    for R in config.theorem_21:
        exponential = Contrast(GaussianMean(R), "exponential")
        ledger.add(theory.theorem_21(exponential, min(1.0, 1 / R)), R=R)


def _on_line(points: list, base: list, data: float, noise: float, size: int = 8) -> FiniteFamily:
    """A family on points of a line, with points of base 0 up to the size of the random ones."""
    rest = [0.0] * (size - len(points))
    return FiniteFamily(np.array([*points, *rest], float)[:, None], [*base, *rest], [data], [noise])


def _counterexamples(ledger: Ledger) -> None:
    """The worlds in which the printed forms of Lemmas 54, 60 and 61 fail, and what the corrected ones say."""
    same = _on_line([-1, 1], [1, 1], 0.0, 0.0)
    ledger.add(theory.lemma_60(same), "Lemma 60, worlds of its counterexample")
    ledger.add(theory.lemma_60_as_printed(same), "Lemma 60 as printed, its counterexample")
    ledger.add(theory.lemma_61(Contrast(same), 5.0), "Lemma 61, worlds of its counterexample")
    ledger.add(
        theory.lemma_61_as_printed(Contrast(same), 5.0), "Lemma 61 as printed, its counterexample"
    )
    near = Contrast(_on_line([-1, 1], [1, 1], 0.1, -0.1), "exponential")
    ledger.add(theory.lemma_54(near), "Lemma 54, worlds of its counterexample")
    ledger.add(theory.lemma_54_as_printed(near), "Lemma 54 as printed, its counterexample")
    for e in (0.1, 0.01, 0.001):
        world = _on_line([-1, 0, 1], [e, 1, e], math.log(1 / e), -math.log(1 / e))
        ledger.add(theory.lemma_60(world), "Lemma 60, worlds of its counterexample", e=e)
        ledger.add(
            theory.lemma_60_as_printed(world), "Lemma 60 as printed, its counterexample", e=e
        )
