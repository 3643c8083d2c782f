"""Figures 4.1 and 4.2: fitting an Ising model by masked pseudolikelihood, many times."""

from dataclasses import dataclass
from math import inf

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.parallel import information as info
from minicosm.training import pseudolikelihood as mpl
from minicosm.worlds import CliqueIsing, Ising, Joint, MaskLaw

LENGTH = 4


@dataclass(frozen=True)
class Fits:
    """One world, how often it is fitted, and from how many examples."""

    seed: int
    coupling: float
    repeats: int
    examples: tuple[int, ...] = (200, 1000, 5000)


def run(config: Fits, progress: Progress) -> TrialResult:
    """`n |theta_hat - theta|^2` for every k and n, one mask per example; with all masks averaged on the
    same sequences; the form `n (theta_hat - theta)^T Gamma^-1 (theta_hat - theta)`; and what the theory
    says."""
    world = CliqueIsing(LENGTH, LENGTH, config.coupling, 0.0).ising()
    joint, T, theta = world.joint(), world.statistics(), world.parameters()
    shape = (LENGTH, len(config.examples), config.repeats)
    errors, averaged, forms = np.empty(shape), np.empty(shape), np.empty(shape)
    failed = 0
    for at, n in enumerate(config.examples):
        rng = np.random.default_rng([config.seed, n])
        sequences = rng.multinomial(n, joint.probabilities, size=config.repeats).astype(float)
        for k in range(1, LENGTH + 1):
            progress(LENGTH * at + k - 1, LENGTH * len(config.examples), f"n = {n}, k = {k}")
            masks = MaskLaw.uniform(LENGTH, k)
            counts = mpl.draw_counts(rng, joint, masks, n, repeats=config.repeats)
            found = mpl.fit(counts, T, masks, 2)
            whole = mpl.fit(mpl.averaged_counts(sequences, masks), T, masks, 2)
            failed += int((~found.converged).sum() + (~whole.converged).sum())
            off = found.theta - theta
            errors[k - 1, at] = n * (off**2).sum(axis=1)
            forms[k - 1, at] = n * ((off @ info.information(joint, T, masks)) * off).sum(axis=1)
            averaged[k - 1, at] = n * ((whole.theta - theta) ** 2).sum(axis=1)
    traces = [_trace(joint, T, k, 1) for k in range(1, LENGTH + 1)]
    sandwich = [_trace(joint, T, k, inf) for k in range(1, LENGTH + 1)]
    numbers = {"traces": traces, "sandwich": sandwich, "failed": failed, "J": config.coupling}
    return TrialResult(
        numbers | {"examples": list(config.examples), "parameters": len(theta)},
        {"errors": errors, "averaged": averaged, "forms": forms},
    )


def _trace(joint: Joint, T: np.ndarray, k: int, m: float) -> float:
    return info.asymptotic_covariance(joint, T, MaskLaw.uniform(LENGTH, k), m).trace


@dataclass(frozen=True)
class ManyMasks:
    """Several masks per example."""

    seed: int
    repeats: int
    examples: int = 2000
    masks: tuple[int, ...] = (1, 2, 4)


def many_masks(config: ManyMasks, progress: Progress) -> TrialResult:
    """`n |error|^2` with m masks per example (J = 0.3, k = 1), and the formula for Gamma_m."""
    world = CliqueIsing(LENGTH, LENGTH, 0.3, 0.0).ising()
    joint, T, theta = world.joint(), world.statistics(), world.parameters()
    law = MaskLaw.uniform(LENGTH, 1)
    rng = np.random.default_rng(config.seed)
    errors = []
    for at, m in enumerate(config.masks):
        progress(at, len(config.masks), f"{m} masks per example")
        counts = mpl.draw_counts(
            rng, joint, law, config.examples, masks_per_example=m, repeats=config.repeats
        )
        found = mpl.fit(counts, T, law, 2)
        errors.append(config.examples * ((found.theta - theta) ** 2).sum(axis=1))
    theory = [_trace(joint, T, 1, m) for m in config.masks]
    return TrialResult(
        {"masks": list(config.masks), "theory": theory}, {"errors": np.array(errors)}
    )


@dataclass(frozen=True)
class Larger:
    """Random graphs of more spins, by enumeration."""

    seed: int
    lengths: tuple[int, ...]
    degree: float = 3.0


def larger(config: Larger, progress: Progress) -> TrialResult:
    """Traces of the covariance against k in sparse random graphs, and their chain-rule order."""
    rows: dict[str, list] = {"N": [], "k": [], "trace": [], "least": []}
    for at, N in enumerate(config.lengths):
        progress(at, len(config.lengths), f"{N} spins")
        rng = np.random.default_rng([config.seed, N])
        J = np.triu(rng.normal(size=(N, N)) * 0.5, 1) * (
            rng.random((N, N)) < config.degree / (N - 1)
        )
        world = Ising(rng.normal(size=N) * 0.3, J + J.T)
        joint = world.joint()
        edges = np.argwhere(np.triu(J, 1) != 0)
        x = 2.0 * joint.states - 1
        T = np.hstack([x, x[:, edges[:, 0]] * x[:, edges[:, 1]]])
        before = None
        for k in (1, 2, 3, N):
            I_k = info.information(joint, T, MaskLaw.uniform(N, k))
            rows["N"].append(N)
            rows["k"].append(k)
            rows["trace"].append(float(np.trace(np.linalg.inv(I_k))))
            rows["least"].append(
                float("nan") if before is None else info.least_eigenvalue(I_k - before)
            )
            before = I_k
    return TrialResult(rows)
