"""Figures 4.1 and 4.2: fitting an Ising model by masked pseudolikelihood, many times."""

from math import inf

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.parallel import information as info
from minicosm.training import pseudolikelihood as mpl
from minicosm.worlds import CliqueIsing, Joint, MaskLaw

from ..trials import Fits

LENGTH = 4


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
    numbers = {"traces": traces, "sandwich": sandwich, "failed": failed, "parameters": len(theta)}
    return TrialResult(numbers, {"errors": errors, "averaged": averaged, "forms": forms})


def _trace(joint: Joint, T: np.ndarray, k: int, m: float) -> float:
    return info.asymptotic_covariance(joint, T, MaskLaw.uniform(LENGTH, k), m).trace
