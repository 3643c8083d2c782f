"""Block dynamics and what their constants promise: Sections 4.1.2.2 and 4.1.3."""

from math import log

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import parallel as theory
from minicosm.theory.parallel import bounds, kernels, mixing
from minicosm.training import pseudolikelihood as mpl
from minicosm.worlds import CliqueIsing, Ising, Joint, MaskLaw
from minicosm.worlds.joint import random_ising
from minicosm.worlds.joint.counterexamples import independent_bits

from ..trials import Worlds
from .worlds import any_masks, key_of, random_worlds


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i, (rng, joint, _, _) in enumerate(random_worlds(config, longest=4)):
        progress(i, config.worlds, "random worlds")
        _kernels(ledger, rng, joint, i)
        _entropy(ledger, rng, joint, i)
        world = random_ising(key_of(config, i, 1), int(rng.integers(2, 7)), coupling=0.4)
        ledger.add(theory.independent_parallel_law(world))
    _products(ledger, config)
    _rare_bits(ledger)
    _learned(ledger, config)
    _one_pass(ledger)
    return ledger.result()


def _kernels(ledger: Ledger, rng: np.random.Generator, joint: Joint, i: int) -> None:
    """Rows are laws, block dynamics are reversible and positive; chi-squared decays as promised."""
    masks = any_masks(rng, joint, i)
    for P in (
        kernels.block_dynamics(joint, masks),
        kernels.independent_parallel(joint),
        kernels.denoiser(joint, rng.uniform(0, 0.9)),
    ):
        ledger.add(theory.rows_are_laws(P))
    ledger.add(theory.block_dynamics_are_reversible(joint, masks))
    start = rng.dirichlet(np.full(len(joint.probabilities), 0.3))
    ledger.add(theory.chi_squared_decay(joint, masks, start))


def _entropy(ledger: Ledger, rng: np.random.Generator, joint: Joint, i: int) -> None:
    """The bracket of the entropy constant, and the inequalities that it is for."""
    q, masks, V = joint.probabilities, any_masks(rng, joint, i), joint.vocab
    bracket = mixing.entropy_constant(joint, masks, starts=3, steps=20, seed=i)
    ledger.add(theory.entropy_bracket(bracket))
    for _ in range(10):
        r = rng.dirichlet(np.full(len(q), rng.choice([0.1, 1.0, 10.0])))
        ledger.add(theory.definition_4_1_9(r, q, masks, V, bracket.upper))
        ledger.add(theory.proposition_4_3_1(r, q, masks, V, bracket.upper))
        ledger.add(theory.proposition_4_3_1_as_printed(r, q, masks, V))
    start = rng.dirichlet(np.full(len(q), 0.3))
    ledger.add(theory.kl_decay(joint, masks, start, bracket.upper))


def _products(ledger: Ledger, config: Worlds) -> None:
    """Independent positions, where the entropy constant is N / k."""
    for seed in range(min(config.worlds, 10)):
        rng = np.random.default_rng([config.seed, 99, seed])
        N = int(rng.integers(2, 5))
        joint = Ising(rng.normal(size=N), np.zeros((N, N))).joint()
        for k in range(1, N + 1):
            start = np.eye(2**N)[rng.integers(2**N)]
            ledger.add(theory.kl_decay(joint, MaskLaw.uniform(N, k), start, N / k))


def _rare_bits(ledger: Ledger) -> None:
    """Four independent bits that are rarely 1, started at all ones, one bit a step: C_AT = 4."""
    joint, masks, start = independent_bits(4, 1e-4), MaskLaw.uniform(4, 1), np.eye(16)[-1]
    ledger.add(theory.kl_decay(joint, masks, start, 4.0))
    ledger.add(theory.kl_decay(joint, masks, start, 4.0, as_printed=True))
    kl = mixing.kl(kernels.evolve(kernels.k_gibbs(joint, 1), start, 8), joint.probabilities)
    for t, value in enumerate(kl):
        ledger.measure(
            "rare bits",
            steps=t,
            ratio=float(value / kl[0]),
            printed=bounds.printed_kl_rate(4.0) ** t,
            corrected=bounds.kl_rate(4.0) ** t,
        )


RADIUS = 0.1  # of the parameters for which the bound on the joint law is below 1
SIZES = bounds.Sizes(2, 2, 10**6, 10**12, 0.1, 0.05, 0.0, 0.0)
SAMPLES = ((0.5, 3, 0.7), (0.5, 10, 0.5), (0.3, 20, 0.3), (0.1, 40, 0.2))  # P(1), n, delta


def _learned(ledger: Ledger, config: Worlds) -> None:
    """Theorem 4.1.4 in two spins, at sizes at which its bound and those of its lemmas can be violated; and
    Equation 4.30, which holds on every sample."""
    masks = MaskLaw.uniform(2, 1)
    for seed in range(max(4, config.worlds // 4)):
        rng = np.random.default_rng([config.seed, 7, seed])
        world = random_ising(key_of(config, 7, seed), 2, field=0.03, coupling=0.03)
        ledger.add(theory.theorem_4_1_4(world, masks, SIZES, radius=RADIUS, samples=20, rng=rng))
        ledger.add(
            theory.lemma_4_3_5(
                world, masks, 10**4, 10**5, delta=0.1, radius=RADIUS, samples=20, rng=rng
            )
        )
        if seed < 8:
            _every_sample(ledger, config, seed)
    for one, n, delta in SAMPLES:
        ledger.add(theory.lemma_4_3_6(Joint([1 - one, one], 2, 1), n, delta))
    ledger.add(theory.lemma_4_3_6(Joint([0.2, 0.3, 0.5], 3, 1), 6, 0.9))
    ledger.add(theory.lemma_4_3_6(random_ising(key_of(config, 8), 2).joint(), 12, 0.9))
    for N, V, m, n, delta in (
        (2, 2, 50, 200, 0.1),
        (3, 3, 10**4, 10**3, 0.2),
        (5, 2, 7, 9, 0.5),
    ):
        ledger.add(theory.corollary_4_3_1(N, V, N * log(2 * V), m, n, delta))
    margin, cover = bounds.margin_and_cover(2, 3, 0.5, 0.05)
    for m, n in ((10**3, 10**4), (10**9, 10**6), (10**14, 10**8)):
        bound = bounds.joint_bound(bounds.Sizes(2, 2, n, m, 0.1, 0.05, cover, margin), 2.5, 0.0)
        ledger.measure("bound of Theorem 4.1.4", masks=m, examples=n, bound=bound)


def _every_sample(ledger: Ledger, config: Worlds, seed: int) -> None:
    """Small samples of three or four spins."""
    rng = np.random.default_rng([config.seed, 11, seed])
    N = int(rng.integers(3, 5))
    world = random_ising(key_of(config, 11, seed), N)
    joint, T = world.joint(), world.statistics()
    for k in range(1, N + 1):
        masks = MaskLaw.uniform(N, k)
        counts = mpl.draw_counts(rng, joint, masks, 300, repeats=4)
        fits = mpl.fit(counts, T, masks, 2)
        for theta, law in zip(fits.theta[fits.converged], counts[fits.converged], strict=True):
            learned = Ising.from_parameters(theta, N).joint()
            ledger.add(theory.equation_4_30(learned, law.sum(axis=0) / law.sum(), masks))


def _one_pass(ledger: Ledger) -> None:
    """A clique of six spins from uniform noise: one law that a pass finds, two that it does not."""
    for J, h in ((2.0, 0.3), (2.0, 0.05), (1.0, 0.0)):
        joint = CliqueIsing(6, 6, J, h).ising().joint()
        chains = {
            "denoiser 0.15": kernels.denoiser(joint, 0.15),
            "denoiser 0.5": kernels.denoiser(joint, 0.5),
            "independent": kernels.independent_parallel(joint),
        }
        for name, P in chains.items():
            laws = kernels.evolve(P, np.full(64, 1 / 64), 10)
            for t in range(11):
                ledger.measure(
                    "one pass",
                    J=J,
                    h=h,
                    chain=name,
                    passes=t,
                    equal=float(laws[t][[0, -1]].sum()),
                    mode=float(laws[t][-1]),
                    distance=float(mixing.total_variation(laws[t], joint.probabilities)),
                )
