"""Which chains a Transformer takes in parallel: Propositions 4.1.2 and 4.1.3."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import parallel as theory
from minicosm.theory.parallel import kernels, transformers
from minicosm.worlds.joint import random_ising
from minicosm.worlds.joint.joint import product_rows

from ..trials import Worlds
from .worlds import key_of

SIZES = ((2, 2), (3, 2), (3, 3), (2, 4))  # positions, tokens


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    sizes = SIZES[:2] if config.worlds < 50 else SIZES
    for at, (N, V) in enumerate(sizes):
        progress(at, len(sizes), f"{N} positions, {V} tokens")
        rng = np.random.default_rng([config.seed, N, V])
        for alpha in (1.0, 0.05):  # without and with zeros
            laws = rng.dirichlet(np.full(V, alpha), size=(V**N, N))
            ledger.add(theory.proposition_4_1_3(product_rows(laws), V, N).certify())
        image = rng.integers(V, size=(V**N, N))
        ledger.add(theory.proposition_4_1_2(image, V).certify(iterates=7))
    for seed in range(max(2, config.worlds // 10)):
        _samplers(ledger, config, seed)
    return ledger.result()


def _samplers(ledger: Ledger, config: Worlds, seed: int) -> None:
    """Total correlation of the rows of samplers of three spins; a chosen block as a product."""
    joint = random_ising(key_of(config, 31, seed), 3, field=0.5, coupling=1.0).joint()
    one = kernels.fixed_block(joint, np.array([True, False, False]))
    products = {
        "fixed block of 1": one,
        "independent parallel": kernels.independent_parallel(joint),
        "denoiser": kernels.denoiser(joint, 0.15),
    }
    for P in products.values():
        ledger.add(theory.product_step(P, 2, 3))
    if seed < 2:
        ledger.add(theory.proposition_4_1_3(one, 2, 3).certify())
    gibbs = {f"{k}-Gibbs": kernels.k_gibbs(joint, k) for k in (1, 2, 3)}
    ledger.add(theory.product_step(gibbs["1-Gibbs"], 2, 3, "1-Gibbs as printed", 1e-3))
    fixed = kernels.fixed_block(joint, np.array([True, True, False]))
    chains = {**products, "fixed block of 2": fixed, **gibbs}
    ledger.measure(
        "total correlation",
        **{name: float(transformers.row_dependence(P, 2, 3).max()) for name, P in chains.items()},
    )
    rng = np.random.default_rng([config.seed, 31, seed])
    laws = rng.dirichlet(np.ones(2), size=(8, 3))
    ledger.add(theory.best_product(gibbs["3-Gibbs"], 2, 3, laws))
