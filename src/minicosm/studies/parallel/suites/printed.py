"""Constants and steps of proofs that are wrong as printed, beside what they should be; all exact."""

from math import exp, log, sqrt

import numpy as np
from scipy.stats import binom

from minicosm.lab import Progress, TrialResult
from minicosm.theory.parallel import bounds, hitting
from minicosm.worlds import CliqueIsing, MaskLaw

from ...common.ledger import Ledger
from .worlds import Worlds


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    progress(0, 3, "constants of Proposition 4.1.4")
    for c in range(2, 9):
        _reach(ledger, c)
    for budget, delta in ((10, 0.5), (100, 0.2), (1000, 0.1), (10**5, 0.05)):
        _one_step(ledger, budget, delta)
    progress(1, 3, "steps of Corollaries 4.1.1 and 4.3.1")
    for c in range(2, 201):
        square = 2 * (-1 + c / 4) ** 2 / c
        ledger.add(
            "square",
            clique=c,
            exact=square,
            printed=2 * (1 - c / 2 + c**2 / 4) / c,
            corrected=2 * (1 - c / 2 + c**2 / 16) / c,
            most=2 * (-1 + c / 2) ** 2 / c,  # of c_stuck, as tanh(J_0) < 1
        )
    for N, vocab, m, n, delta in (
        (2, 2, 50, 200, 0.1),
        (3, 3, 10**4, 10**3, 0.2),
        (5, 2, 7, 9, 0.5),
    ):
        _choice(ledger, N, vocab, m, n, delta)
    progress(2, 3, "samples")
    for n in (1, 2, 10):
        for p in (0.1, 0.5, 0.8):
            for epsilon in (0.1, 0.25, 0.5):
                _chebyshev(ledger, p, n, epsilon)
    _population(ledger)
    return ledger.result()


def _reach(ledger: Ledger, c: int) -> None:
    """A clique of c spins that hardly feel each other, and of spins that do: the exact chance of entering
    R_1 in one step of N-Gibbs and the lower bounds on it."""
    for slack, field in ((0.01, 0.001), (0.5, 0.05), (1.0, 0.5)):
        world = CliqueIsing(c, c, slack + c * field, field)
        joint = world.ising().joint()
        exact = float(hitting.reach_in_one(joint, MaskLaw.uniform(c, c), world.mode(1)).min())
        top = exp(2 * (world.slack + world.clique_field))
        ledger.add(
            "reach",
            clique=c,
            slack=slack,
            exact=exact,
            corrected=bounds.reach_probability(world, c),
            product=top / (top + exp(2 * world.slack) + 2 * c - 2),
            exponent=top / (top + exp(2 * world.slack + 2 * c - 2)),
        )


def _one_step(ledger: Ledger, budget: int, delta: float) -> None:
    """`c_R1` at the least sizes of Corollary 4.1.1 with k = N = c, where it must be at most delta / 2."""
    sizes = bounds.separation(budget, delta)
    c, field = sizes.clique, sizes.clique_field
    world = CliqueIsing(c, c, sizes.slack + field, field / c)
    others = exp(min(2 * c - 2 - 2 * field, 700.0))  # e^(2 J_0 + 2c - 2) over e^(2 (J_0 + h_G))
    ledger.add(
        "one-step",
        delta=delta,
        clique=c,
        corrected=1 - bounds.reach_probability(world, c),
        exponent=1 - 1 / (1 + others),
    )


def _choice(ledger: Ledger, N: int, vocab: int, m: int, n: int, delta: float) -> None:
    """What Lemma 4.3.5 says with the printed and the corrected e, beside Corollary 4.3.1."""
    margin = N * log(2 * vocab)
    e, t = bounds.corollary_choice(N, vocab, margin, m, n, delta)
    stated = bounds.corollary_gap(N, vocab, margin, m, n, delta)
    gap, fails = bounds.pointwise_gap(N, vocab, margin, m, n, e, t)
    printed = sqrt(2.0 ** (3 * N - 1) * vocab**N / (m * delta))
    loose, rarer = bounds.pointwise_gap(N, vocab, margin, m, n, printed, t)
    ledger.add(
        "choice",
        length=N,
        error=max(abs(gap / stated - 1), abs(fails / delta - 1)),
        printed=loose / stated,
        printed_fails=rarer / delta,
    )


def _chebyshev(ledger: Ledger, p: float, n: int, epsilon: float) -> None:
    """`P(|p_emp(x) - p(x)| >= eps)` of a state of probability p in n examples, by the binomial law."""
    counts = np.arange(n + 1)
    far = np.abs(counts / n - p) >= epsilon - 1e-12
    ledger.add(
        "chebyshev",
        p=p,
        examples=n,
        epsilon=epsilon,
        exact=float(binom.pmf(counts, n, p)[far].sum()),
        corrected=1 / (4 * epsilon**2 * n),
        printed=1 / (4 * epsilon**2 * 1000 * n),  # m = 1000 n masks
    )


def _population(ledger: Ledger) -> None:
    """Ten fair bits, all of them hidden, 512 examples, the true parameters. A sample has at most 512
    states, so `KL(p_emp || p) >= ln(1024 / 512)` whatever was drawn, while `KL(p || p) = 0`. With one
    possible mask `L_hat = L_tilde` on every sample."""
    N, n, m, delta, epsilon = 10, 512, 10**18, 0.1, 0.01
    margin = N * log(2)
    sizes = bounds.Sizes(N, 2, n, m, delta, epsilon, 0.0, margin)
    draws = np.random.default_rng(0).multinomial(n, np.full(2**N, 2.0**-N), size=20) / n
    found = (draws * np.log(np.where(draws > 0, draws * 2**N, 1))).sum(axis=1)
    ledger.add(
        "population",
        least=log(2**N / n),
        drawn=float(found.min()),
        pointwise=bounds.corollary_gap(N, 2, margin, m, n, delta),  # Equation 4.38, one parameter
        uniform=bounds.loss_gap(sizes),  # Equation 4.31
    )
