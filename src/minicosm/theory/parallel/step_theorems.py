"""Which chains a Transformer can run in parallel (Sections 4.1.4.1 and 4.3.9)."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import xlogy

from minicosm.worlds.joint.joint import all_sequences, product_rows, row_marginals, xlogx

from ..checks import probabilities, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from . import kernels, transformers
from .rules import NOT_NEGATIVE, STEP
from .transformers import IMAGE

PRODUCT = 1e-10  # nats of total correlation that rounding may leave in a row that is a product


@checked(**IMAGE)
def proposition_4_1_2(image: Int[np.ndarray, "states N"], vocab: int) -> Theorem:
    """Any step `f` of sequences is taken by a one-layer Transformer whose most likely tokens are f;
    `certify` runs it on its own output, from every sequence, and counts wrong sequences."""
    model = transformers.deterministic(image, vocab)

    @checked(iterates=whole(1))
    def check(iterates: int = 1) -> Theorem:
        N = image.shape[1]
        place = vocab ** np.arange(N)[::-1]
        tokens, wanted, wrong = all_sequences(vocab, N), np.arange(vocab**N), 0
        for _ in range(iterates):
            tokens = transformers.predict_all(model, tokens).argmax(axis=2)
            wanted = image[wanted] @ place
            wrong += int((tokens @ place != wanted).sum())
        return Theorem.identity(
            "Proposition 4.1.2", float(wrong), within=0.0, cases=iterates * vocab**N
        )

    return Theorem("Proposition 4.1.2", construction=model, check=check)


@checked(**STEP, within=NOT_NEGATIVE)
def product_step(
    P: kernels.Kernel, vocab: int, length: int, name: str = "product step", within: float = PRODUCT
) -> Theorem:
    """Every row of a chain is a product over positions; the error is the largest total correlation."""
    error = float(transformers.row_dependence(P, vocab, length).max())
    return Theorem.identity(name, error, within=within, cases=len(P))


@checked(**STEP)
def proposition_4_1_3(P: kernels.Kernel, vocab: int, length: int) -> Theorem:
    """A chain can be taken in parallel iff each of its rows is a product over positions; the
    construction is the Transformer, with probabilities below 1e-26 raised to it."""
    dependence = transformers.row_dependence(P, vocab, length)
    worst = int(dependence.argmax())
    holds = bool(dependence[worst] <= PRODUCT)
    reason = (
        ""
        if holds
        else f"the row of {all_sequences(vocab, length)[worst].tolist()} has a total correlation of "
        f"{dependence[worst]:.4g} nats; it must be a product"
    )
    numbers: dict[str, Any] = {"largest total correlation": float(dependence[worst])}
    conditions = (Condition("every row is a product", holds, numbers, reason, worst),)
    if not holds:
        return Theorem("Proposition 4.1.3", conditions)
    laws = row_marginals(P, vocab, length)
    model = transformers.product(laws)

    def check() -> Theorem:
        found = transformers.laws_of(model, length)
        apart = np.abs(product_rows(found) - P).sum(axis=1).max() / 2
        error = float(np.max([np.abs(found - laws).max(), apart]))
        return Theorem.identity("Proposition 4.1.3", error, within=1e-12, cases=len(P))

    return Theorem("Proposition 4.1.3", conditions, construction=model, check=check)


@checked(
    **STEP,
    laws=probabilities(lambda given: (len(given["P"]), given["length"], given["vocab"])),
)
def best_product(
    P: kernels.Kernel, vocab: int, length: int, laws: Float[np.ndarray, "states N vocab"]
) -> Theorem:
    """`KL(row || product)` is at least the row's total correlation, with equality for the product of its
    marginals: what no parallel step can do. The error is the largest by which one of the two misses."""
    entropies = xlogx(P).sum(axis=1)

    def away(laws: np.ndarray) -> np.ndarray:
        return np.asarray(entropies - xlogy(P, product_rows(laws)).sum(axis=1))

    correlation = transformers.row_dependence(P, vocab, length)
    equal = np.abs(away(row_marginals(P, vocab, length)) - correlation).max()
    below = (correlation - away(laws)).max()
    error = float(np.max([equal, below]))
    return Theorem.identity("Proposition 4.3.5", error, within=PRODUCT, cases=len(P))
