"""Two Gaussians at many distances: how flat the loss is, and where (Sections 4.1.3 and 4.1.7 to 4.1.9)."""

import math

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import nce as theory
from minicosm.theory.nce import Contrast
from minicosm.theory.nce.contrast import answers
from minicosm.worlds import GaussianMean

from ..arms import FIRST, KINDS
from ..trials import Gaussians

DELTAS = (0.5, 0.9)  # beside 1/(2R) and 1/R, in Proposition 8
MAP = 10.0  # the R of the map
SIDE = 96  # points of a side of the map


def run(config: Gaussians, progress: Progress) -> TrialResult:
    ledger = Ledger()
    nodes = config.nodes
    for i, R in enumerate(config.distances):
        progress(i, len(config.distances), f"R = {R:g}")
        world = GaussianMean(R)
        rng = np.random.default_rng([FIRST + config.seed, i])
        for statement in (theory.proposition_7, theory.proposition_7_as_printed, theory.lemma_46):
            ledger.add(statement(world, nodes=nodes))
        ledger.add(theory.lemma_47(world, nodes=nodes))
        for statement in (theory.lemma_48, theory.lemma_48_as_printed):
            ledger.add(statement(world, nodes=nodes))
        for in_ring in (
            theory.lemma_49,
            theory.lemma_49_as_printed,
            theory.figure_4_1,
            theory.theorem_18_inequality,
        ):
            ledger.add(in_ring(world, nodes=nodes))
        taus = random_taus(rng, world, config.taus)
        ledger.add(theory.claim_6(world, taus, nodes=nodes))
        if R >= 5:
            ledger.add(theory.lemma_50(world, taus, nodes=nodes))
        if R in (4, 6, 8, 10):
            for delta in (1 / (2 * R), 1 / R, *DELTAS):
                ledger.add(theory.proposition_8(world, delta, nodes=nodes))
        _along_least(ledger, world, config)
        ledger.add(theory.free_partition(world, np.linspace(0, R, 257), nodes=nodes))
        _optimum(ledger, world, nodes)
    large = [R for R in config.distances if R >= 10]
    if len(large) > 1:
        ends = GaussianMean(large[0]), GaussianMean(large[-1])
        ledger.add(theory.lemma_47_as_printed(*ends, nodes=nodes))
    _map(ledger, nodes)
    _segments(ledger, config)
    return ledger.result()


def random_taus(rng: np.random.Generator, world: GaussianMean, count: int) -> np.ndarray:
    """Parameters about noise and data, near and far: half of them on the scale of R and R², half of them
    around the data."""
    R = float(world.R)
    wide = rng.normal(size=(count - count // 2, 2)) * [2 * R, R**2]
    near = np.asarray(world.truth) + rng.normal(size=(count // 2, 2)) * R / 3
    return np.concatenate([wide, near])


def _along_least(ledger: Ledger, world: GaussianMean, config: Gaussians) -> None:
    """Equation 4.60 in the ring, within two degrees of the directions of least curvature at the optimum."""
    R, reach = float(world.R), math.radians(2)
    middle = math.atan2(R / 2, 1)
    angles = middle + np.linspace(-reach, reach, config.fine)
    angles = np.concatenate([angles, angles + math.pi])
    unit = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    taus = np.concatenate([world.truth + r * R * unit for r in (0.1, 0.15, 0.2)])
    least, largest = theory.curvature(world, nodes=config.nodes)
    ledger.add(
        theory.theorem_18_inequality_as_printed(world, taus, least / largest, nodes=config.nodes)
    )


def _optimum(ledger: Ledger, world: GaussianMean, nodes: int) -> None:
    """Condition numbers of both losses at the optimum, with their asymptotes."""
    R = float(world.R)
    nce, exponential = (Contrast(world, kind, nodes).optimum() for kind in KINDS)
    ledger.measure(
        "condition numbers",
        R=R,
        nce=nce.condition,
        exponential=exponential.condition,
        nce_scaled=nce.condition * 16 * math.pi**2 / R**6,
        exponential_scaled=exponential.condition * 16 / R**4,
    )


def _map(ledger: Ledger, nodes: int) -> None:
    """`log10 |grad L|` over (b, c) at R = 10, with the paths of gradient and normalised descent."""
    world = GaussianMean(MAP)
    contrast = Contrast(world, nodes=min(nodes, 4001))
    b, c = np.linspace(-1, 15, SIDE), np.linspace(-8, 80, SIDE)
    taus = np.stack(np.meshgrid(b, c, indexing="ij"), axis=-1).reshape(-1, 2)
    gradient = np.linalg.norm(answers(contrast, "gradient", taus), axis=1).reshape(SIDE, SIDE)
    standard = 8 / (MAP**2 + 2)
    slow = theory.descend(contrast, "gd", standard, steps=2000).tau
    fast = theory.descend(contrast, "ngd", 0.1, steps=2000).tau
    kept = np.unique(np.geomspace(1, len(slow), 80).astype(int) - 1)
    ledger.picture(
        map_b=b,
        map_c=c,
        map_gradient=np.log10(gradient).astype(np.float32),
        map_gd=slow[kept].astype(np.float32),
        map_ngd=fast[::20].astype(np.float32),
    )


def _segments(ledger: Ledger, config: Gaussians) -> None:
    """Loss, gradient and curvature from the noise to the data, along the segment of τ."""
    for R in (4.0, 8.0, 12.0):
        world = GaussianMean(R)
        share = np.linspace(0, 1, 129)
        noise, truth = np.asarray(world.noise), np.asarray(world.truth)
        taus = noise + share[:, None] * (truth - noise)
        columns = {}
        for kind in KINDS:
            contrast = Contrast(world, kind, config.nodes)
            gradient = answers(contrast, "scaled gradient", taus)
            with np.errstate(divide="ignore"):
                norm = np.log(np.linalg.norm(gradient[:, :-1], axis=1)) + gradient[:, -1]
            extremes = answers(contrast, "extremes", taus)
            curvature = np.log(extremes[:, :2]) + extremes[:, 2:]
            columns[kind] = np.stack([answers(contrast, "log loss", taus), norm, *curvature.T])
        ledger.picture(
            **{f"segment_{kind}_{R:g}": rows.astype(np.float32) for kind, rows in columns.items()}
        )
