"""Theorem 2.2.3 and Corollary 2.2.3 on given Transformers: what pruning comes to on inputs."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from minicosm.models import Transformer

from ..signatures import checked
from ..theorem import Condition, Theorem
from .lipschitz import error_budget
from .matrices import matrices_of, relative_error
from .pruned_pairs import SEARCH, Search
from .pruning import Which, is_pruning, prune_transformer, shared_matrix_pair

ACCURACY = 1e-4
"""The eps at which the theorem is run: the error on X is at most eps |X|."""
UNITS = 709
"""Hidden units of one matrix that are to suffice for it."""


@checked()
def theorem_2_2_3(
    target: Transformer,
    large: Transformer,
    *,
    search: Search = SEARCH,
    places: Sequence[int] | None = None,
) -> Theorem:
    """A random Transformer contains an eps-approximation of the target, by setting entries to zero.

    The construction is `Pruned`, and `certify(inputs=...)` compares its model with the target's on
    sequences of vectors, relative to the size of each. An entry that is neither zero nor as drawn,
    or more than `UNITS` hidden units of a matrix in use, is a whole error.
    """
    pruned = prune_transformer(target, large, search=search, places=places)
    report, kept = pruned.report, is_pruning(matrices_of(pruned.model), matrices_of(large))

    def check(*, inputs: Float[np.ndarray, "n T m"]) -> Theorem:
        error = float(relative_error(pruned.model, target, inputs).max())
        return Theorem.identity(
            "",
            error + (not kept) + (report.units > UNITS),
            within=ACCURACY,
            cases=len(inputs),
            details={
                "relative error": error,
                "size": search.size,
                "offers": search.offers,
                "units": report.units,
                "worst sum": report.worst,
                "kept of MLPs": report.kept_mlp,
                "kept of attention": report.kept_attention,
                "budget": error_budget(report, target.config.epsilon, target.config.layers),
            },
        )

    return Theorem("Theorem 2.2.3", construction=pruned, check=check)


@checked()
def theorem_2_2_3_budget(certified: Theorem) -> Theorem:
    """The errors of all pruned pairs, carried through the steps of the proof, bound that of the
    pruned model; the slack is 1 less the share of the budget that is used. `certified` is
    `theorem_2_2_3(...).certify(...)`."""
    if not {"relative error", "budget"} <= set(certified.details):
        raise ValueError(
            f"certified is {certified!r}; it must be theorem_2_2_3(...).certify(inputs=...)"
        )
    share = certified.details["relative error"] / certified.details["budget"]
    return Theorem.inequality(
        "Theorem 2.2.3, error budget", 1 - share, within=0.0, details={"share": share}
    )


@checked()
def corollary_2_2_3(
    first: Transformer,
    second: Transformer,
    large: Transformer,
    layer: int,
    which: Which,
    inputs: Float[np.ndarray, "n T m"],
    *,
    search: Search = SEARCH,
) -> Theorem:
    """Two prunings of one large model to two targets that differ, which agree on one matrix of one
    layer.

    The error is the larger of the two relative errors; a matrix that is not shared, or an entry
    that is neither zero nor as drawn, is a whole one.
    """
    pair = shared_matrix_pair(first, second, large, layer, which, search=search)
    drawn, (one, two) = matrices_of(large), (matrices_of(pruned.model) for pruned in pair)
    shared = getattr(one, which)[layer]
    equal = bool(np.array_equal(shared, getattr(two, which)[layer]))
    kept = is_pruning(one, drawn) and is_pruning(two, drawn)
    errors = [
        relative_error(pruned.model, target, inputs).max()
        for pruned, target in zip(pair, (first, second), strict=True)
    ]
    apart = float(relative_error(first, second, inputs).max())
    return Theorem.identity(
        "Corollary 2.2.3",
        float(np.max(errors)) + (not equal) + (not kept),
        within=ACCURACY,
        cases=len(inputs),
        conditions=(Condition("the targets differ", apart > 0.1, {"relative distance": apart}),),
        details={"layer": layer, "matrix": which, "entries kept": int(np.count_nonzero(shared))},
    )
