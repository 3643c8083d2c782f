"""Which chains a Transformer takes in parallel: Propositions 4.1.2 and 4.1.3."""

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.parallel import kernels, mixing, theorems, transformers
from minicosm.worlds.joint.ising import random_ising
from minicosm.worlds.joint.joint import all_sequences, product_rows, row_marginals

from ...common.ledger import Ledger
from .worlds import Worlds

SIZES = ((2, 2), (3, 2), (3, 3), (2, 4))  # positions, tokens


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    sizes = SIZES[1:3] if config.worlds < 50 else SIZES
    for at, (N, V) in enumerate(sizes):
        progress(at, len(sizes), f"{N} positions, {V} tokens")
        rng = np.random.default_rng([config.seed, N, V])
        _product(ledger, rng, N, V)
        _deterministic(ledger, rng, N, V)
    _samplers(ledger, config)
    return ledger.result()


def _product(ledger: Ledger, rng, N: int, V: int) -> None:
    """Random product kernels, with and without zeros."""
    for alpha in (1.0, 0.05):
        laws = rng.dirichlet(np.full(V, alpha), size=(V**N, N))
        made = theorems.proposition_4_1_3(product_rows(laws), V, N).construction
        found = transformers.laws_of(made, N)
        ledger.add("product", error=float(np.abs(found - laws).max()))
        P, Q = product_rows(found), product_rows(laws)
        ledger.add("product-kernel", error=float(np.abs(P - Q).sum(axis=1).max() / 2))


def _deterministic(ledger: Ledger, rng, N: int, V: int) -> None:
    """A random map, and seven iterates by running the model on its own output."""
    image = rng.integers(V, size=(V**N, N))
    model = theorems.proposition_4_1_2(image, V).construction
    place = V ** np.arange(N)[::-1]
    tokens, wanted, wrong = all_sequences(V, N), np.arange(V**N), 0
    for _ in range(7):
        tokens = transformers.predict_all(model, tokens).argmax(axis=2)
        wanted = image[wanted] @ place
        wrong += int((tokens @ place != wanted).sum())
    ledger.add("deterministic", error=float(wrong), sequences=7 * V**N)


def _samplers(ledger: Ledger, config: Worlds) -> None:
    """Total correlation of the rows of samplers of three spins; a chosen block as a product."""
    for seed in range(max(2, config.worlds // 10)):
        rng = np.random.default_rng([config.seed, 31, seed])
        joint = random_ising(rng, 3, field=0.5, coupling=1.0).joint()
        one = _block(joint, [0])
        rows = {
            "fixed block of 1": one,
            "fixed block of 2": _block(joint, [0, 1]),
            "1-Gibbs, random block": kernels.k_gibbs(joint, 1),
            "2-Gibbs": kernels.k_gibbs(joint, 2),
            "3-Gibbs": kernels.k_gibbs(joint, 3),
            "independent parallel": kernels.independent_parallel(joint),
            "denoiser": kernels.denoiser(joint, 0.15),
        }
        found = {
            name: float(transformers.row_dependence(P, 2, 3).max()) for name, P in rows.items()
        }
        ledger.add("dependence", **{name.replace(" ", "_"): value for name, value in found.items()})
        # What no product can do: KL(row || product) is the total correlation and what the best lacks.
        P = rows["3-Gibbs"]
        laws = rng.dirichlet(np.ones(2), size=(len(P), 3))
        away = mixing.kl(P, np.ones(len(P))) - (P * np.log(product_rows(laws))).sum(axis=1)
        correlation = transformers.row_dependence(P, 2, 3)
        best = mixing.kl(P, np.ones(len(P))) - (
            P * np.log(product_rows(row_marginals(P, 2, 3)))
        ).sum(axis=1)
        ledger.add(
            "projection",
            error=float(np.abs(best - correlation).max()),
            least=float((away - correlation).min()),
        )
        if seed < 2:
            laws = row_marginals(one, 2, 3)
            made = transformers.laws_of(transformers.product(laws), 3)
            ledger.add("chosen-block", error=float(np.abs(made - laws).max()))


def _block(joint, block: list[int]) -> np.ndarray:
    """Resample one chosen block."""
    members = kernels.contexts(joint, np.isin(np.arange(joint.length), block))
    p = joint.probabilities[members]
    P = np.zeros((len(joint.probabilities),) * 2)
    P[members[:, :, None], members[:, None, :]] = (p / p.sum(axis=1, keepdims=True))[:, None]
    return P
