"""Block dynamics and what their constants promise: Sections 4.1.2.2 and 4.1.3."""

from math import sqrt

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.parallel import bounds, kernels, mixing
from minicosm.training import pseudolikelihood as mpl
from minicosm.worlds import CliqueIsing, Ising, Joint, MaskLaw
from minicosm.worlds.joint.counterexamples import independent_bits
from minicosm.worlds.joint.ising import random_ising

from ...common.ledger import Ledger
from .worlds import Worlds, any_masks, random_worlds

STEPS = 20


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i, (rng, joint, _, _) in enumerate(random_worlds(config, longest=4)):
        progress(i, config.worlds, "random worlds")
        _kernels(ledger, rng, joint, i)
        _entropy(ledger, rng, joint, i)
        _parallel(ledger, rng)
    _products(ledger, config)
    _printed_rate(ledger)
    _learned(ledger, config)
    _one_pass(ledger)
    return ledger.result()


def _kernels(ledger: Ledger, rng, joint: Joint, i: int) -> None:
    """Rows are laws, block dynamics are reversible and positive; chi-squared decays as promised."""
    p = joint.probabilities
    P = kernels.block_dynamics(joint, any_masks(rng, joint, i))
    for Q in (P, kernels.independent_parallel(joint), kernels.denoiser(joint, rng.uniform(0, 0.9))):
        ledger.add("stochastic", error=kernels.stochastic_error(Q))
    ledger.add("reversible", error=kernels.reversibility_error(P, p))
    values = mixing.eigenvalues(P, p)
    ledger.add("positive", error=float(max(-values[0], values[-1] - 1, 0)))
    C = mixing.poincare(P, p)
    start = rng.dirichlet(np.full(len(p), 0.3))
    laws = kernels.evolve(P, start, STEPS)
    found = mixing.chi_squared(laws, p)
    t = np.arange(STEPS + 1)
    sharp = bounds.chi_squared_rate(C) ** t * found[0]
    loose = np.exp(-2 * t / C) * found[0]
    ledger.add(
        "chi-squared",
        holds=bool(
            (found <= sharp * (1 + 1e-9) + 1e-13).all() and (sharp <= loose * (1 + 1e-12)).all()
        ),
    )


def _entropy(ledger: Ledger, rng, joint: Joint, i: int) -> None:
    """The bracket of the entropy constant, and the inequalities that it is for."""
    q, masks = joint.probabilities, any_masks(rng, joint, i)
    bracket = mixing.entropy_constant(joint, masks, starts=3, steps=20, seed=i)
    ledger.add(
        "bracket", lower=bracket.lower, upper=bracket.upper, ordered=bracket.lower <= bracket.upper
    )
    table = masks.table(len(q))
    for _ in range(10):
        r = rng.dirichlet(np.full(len(q), rng.choice([0.1, 1.0, 10.0])))
        distance, inside = float(mixing.kl(r, q)), mixing.conditional_kl(r, q, masks, joint.vocab)
        loss = float(
            mpl.loss(np.ones(1), _counts(r, table), np.log(q)[:, None], masks, joint.vocab)
        )
        ledger.add(
            "tensorisation",
            holds=distance <= bracket.upper * inside * (1 + 1e-9),
            cross=distance <= bracket.upper * loss * (1 + 1e-9),
            gap=abs(loss - inside),
        )
    start = rng.dirichlet(np.full(len(q), 0.3))
    found = mixing.kl(kernels.evolve(kernels.block_dynamics(joint, masks), start, STEPS), q)
    bound = bounds.kl_rate(bracket.upper) ** np.arange(STEPS + 1) * found[0]
    ledger.add("kl-decay", holds=bool((found <= bound * (1 + 1e-9) + 1e-13).all()))


def _counts(r: np.ndarray, table: np.ndarray) -> np.ndarray:
    return (r[:, None] * table).T


def _products(ledger: Ledger, config: Worlds) -> None:
    """Independent positions: both constants are N / k."""
    for seed in range(min(config.worlds, 10)):
        rng = np.random.default_rng([config.seed, 99, seed])
        N = int(rng.integers(2, 5))
        world = Ising(rng.normal(size=N), np.zeros((N, N)))
        joint = world.joint()
        for k in range(1, N + 1):
            masks = MaskLaw.uniform(N, k)
            found = mixing.entropy_constant(joint, masks, starts=3, steps=20, seed=seed)
            C = mixing.poincare(kernels.k_gibbs(joint, k), joint.probabilities)
            ledger.add("product", error=max(abs(C * k / N - 1), abs(found.lower * k / N - 1)))
            start = np.zeros(2**N)
            start[rng.integers(2**N)] = 1
            kl = mixing.kl(
                kernels.evolve(kernels.k_gibbs(joint, k), start, STEPS), joint.probabilities
            )
            bound = bounds.kl_rate(N / k) ** np.arange(STEPS + 1) * kl[0]
            ledger.add("kl-decay", holds=bool((kl <= bound * (1 + 1e-9) + 1e-13).all()))


def _printed_rate(ledger: Ledger) -> None:
    """Four independent bits that are rarely 1, started at all ones, one bit a step."""
    joint = independent_bits(4, 1e-4)
    q = joint.probabilities
    start = np.zeros(16)
    start[-1] = 1
    kl = mixing.kl(kernels.evolve(kernels.k_gibbs(joint, 1), start, 8), q)
    for t, value in enumerate(kl):
        ledger.add(
            "printed-rate",
            steps=t,
            ratio=float(value / kl[0]),
            printed=bounds.printed_kl_rate(4.0) ** t,
            corrected=bounds.kl_rate(4.0) ** t,
        )


def _learned(ledger: Ledger, config: Worlds) -> None:
    """Theorem 4.1.4 in two spins, its parts, and Eq. 4.30, which holds on every sample."""
    masks = MaskLaw.uniform(2, 1)
    margin, cover = bounds.margin_and_cover(2, 3, 0.5, 0.05)
    for m, n in ((10**3, 10**4), (10**9, 10**6), (10**14, 10**8)):
        sizes = bounds.Sizes(2, 2, n, m, 0.1, 0.05, cover, margin)
        ledger.add("joint-bound", m=m, n=n, bound=bounds.joint_bound(sizes, 2.5, 0.0))
    worlds = max(4, config.worlds // 4)
    for seed in range(worlds):
        rng = np.random.default_rng([config.seed, 7, seed])
        world = random_ising(rng, 2, field=0.2, coupling=0.2)
        joint = world.joint()
        _coverage(ledger, rng, joint, world, masks, (margin, cover))
        if seed < 8:
            _every_sample(ledger, rng)


def _coverage(ledger: Ledger, rng, joint: Joint, world: Ising, masks: MaskLaw, constants) -> None:
    margin, cover = constants
    n, m, delta = 200, 50, 0.1
    p, T = joint.probabilities, world.statistics()
    counts = mpl.draw_counts(rng, joint, masks, n, masks_per_example=m, repeats=20)
    fits = mpl.fit(counts, T, masks, 2)
    empirical = counts.sum(axis=1) / n
    far = mixing.total_variation(empirical, p)
    gap = bounds.empirical_gap(2, 2, n, delta)
    ledger.add("lemma-4.3.6", share=float((far < gap).mean()), gap=gap, repeats=20)
    e, t = 0.3, 0.5 * n
    bound, fails = bounds.pointwise_gap(2, 2, margin, m, n, e, t)
    loss = mpl.loss(np.broadcast_to(world.parameters(), (20, 3)), counts, T, masks, 2)
    whole = mpl.averaged_counts(empirical, masks)
    exact = mpl.loss(np.broadcast_to(world.parameters(), (20, 3)), whole, T, masks, 2)
    ledger.add(
        "lemma-4.3.5",
        share=float((np.abs(loss - exact) < bound).mean()),
        promised=max(1 - fails, 0.0),
        gap=bound,
        largest=float(np.abs(loss - exact).max()),
    )
    for theta, ok, law in zip(fits.theta, fits.converged, empirical, strict=True):
        if not (ok and np.abs(theta).max() <= 0.5):
            continue  # the theorem is about parameters within the radius
        learned = Ising.from_parameters(theta, 2).joint()
        C = mixing.poincare(kernels.k_gibbs(learned, 1), learned.probabilities)
        upper = mixing.entropy_upper(C, float(learned.probabilities.min()))
        inside = mixing.conditional_kl(law, learned.probabilities, masks, 2)
        sizes = bounds.Sizes(2, 2, n, m, delta, 0.05, cover, margin)
        ledger.add(
            "theorem-4.1.4",
            inside=bool(
                mixing.total_variation(learned.probabilities, p)
                < bounds.joint_bound(sizes, upper, inside)
            ),
        )


def _every_sample(ledger: Ledger, rng) -> None:
    """`TV(p_emp, p_hat) <= sqrt(C_AT / 2 * L_tilde)` for small samples of three or four spins."""
    N = int(rng.integers(3, 5))
    world = random_ising(rng, N)
    joint, T = world.joint(), world.statistics()
    for k in range(1, N + 1):
        masks = MaskLaw.uniform(N, k)
        counts = mpl.draw_counts(rng, joint, masks, 300, repeats=4)
        fits = mpl.fit(counts, T, masks, 2)
        for theta, law in zip(fits.theta[fits.converged], counts[fits.converged], strict=True):
            learned = Ising.from_parameters(theta, N).joint()
            q, r = learned.probabilities, law.sum(axis=0) / law.sum()
            C = mixing.poincare(kernels.k_gibbs(learned, k), q)
            upper = mixing.entropy_upper(C, float(q.min()))
            inside = mixing.conditional_kl(r, q, masks, 2)
            found, bound = float(mixing.total_variation(r, q)), sqrt(upper * inside / 2)
            ledger.add("equation-4.30", holds=found <= bound, ratio=found / bound)


def _parallel(ledger: Ledger, rng) -> None:
    """The independent parallel sampler of an Ising world has a law of its own."""
    world = random_ising(rng, int(rng.integers(2, 7)), coupling=0.4)
    joint = world.joint()
    P = kernels.independent_parallel(joint)
    pi = kernels.parallel_stationary(world.h, world.J)
    ledger.add(
        "parallel-law",
        error=max(kernels.reversibility_error(P, pi), float(np.abs(pi @ P - pi).max())),
        positive=bool((P > 0).all()),
        distance=float(mixing.total_variation(pi, joint.probabilities)),
    )
    pair = Ising(np.zeros(2), 3 * (1 - np.eye(2))).joint()
    swap = kernels.independent_parallel(pair)[2, 1]  # (+, -) to (-, +)
    ledger.add("oscillation", probability=float(swap))


def _one_pass(ledger: Ledger) -> None:
    """A clique of six spins from uniform noise: one law that a pass finds, two that it does not."""
    for J, h in ((2.0, 0.3), (2.0, 0.05), (1.0, 0.0)):
        joint = CliqueIsing(6, 6, J, h).ising().joint()
        p = joint.probabilities
        chains = {
            "denoiser 0.15": kernels.denoiser(joint, 0.15),
            "denoiser 0.5": kernels.denoiser(joint, 0.5),
            "independent": kernels.independent_parallel(joint),
        }
        for name, P in chains.items():
            laws = kernels.evolve(P, np.full(64, 1 / 64), 10)
            for t in range(11):
                ledger.add(
                    "one-pass",
                    world=f"J = {J:g}, h = {h:g}",
                    chain=name,
                    steps=t,
                    equal=float(laws[t][[0, -1]].sum()),
                    mode=float(laws[t][-1]),
                    distance=float(mixing.total_variation(laws[t], p)),
                    truth=float(p[-1]),
                )
