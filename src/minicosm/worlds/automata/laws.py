"""The table of an automaton and the laws of its symbols, checked."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..arrays import (
    AnyArray,
    check_distribution,
    check_size,
    check_whole_numbers,
    is_concrete,
    numeric,
    parameter,
)


def check_table(name: str, delta: Any) -> Int[AnyArray, "vocab states"]:
    """Transitions `delta[symbol, state]`, each one of the states."""
    table = numeric(name, delta)
    if len(table.shape) != 2:
        raise ValueError(f"{name} has shape {table.shape}; it must have shape (symbols, states)")
    for size, what in zip(table.shape, ("symbols", "states"), strict=True):
        if size == 0:
            raise ValueError(f"{name} has no {what}; an automaton needs at least one of them")
    states = table.shape[1]
    table = check_whole_numbers(name, delta, 0, states - 1)
    return np.asarray(table, np.int32) if is_concrete(table) else table


def check_law(
    law: Any, weights: Any, vocab: int, states: int
) -> tuple[Float[AnyArray, "modes vocab states"], Float[AnyArray, " modes"]]:
    """The law of the symbols for every mode and state, and the weights of modes."""
    if law is None:
        law = np.full(vocab, 1 / vocab)
    law = numeric("law", law)
    axes = len(law.shape)
    if axes == 1:
        given = parameter("law", law, (vocab,))
        check_distribution("law", given, columns=False)
        given = given[None, :, None]
    elif axes == 2:
        given = parameter("law", law, (vocab, states))
        check_distribution("law", given, columns=True)
        given = given[None]
    else:
        given = parameter("law", law, (None, vocab, states))
        for mode in range(given.shape[0]):
            check_distribution(f"law[{mode}]", given[mode], columns=True)
    check_size("the law of the symbols", given.shape[0] * vocab * states)
    modes = given.shape[0]
    if weights is None:
        if modes > 1:
            raise ValueError(f"the law has {modes} modes; give the weights of each")
        weights = np.ones(1)
    weights = parameter("weights", weights, (modes,))
    check_distribution("weights", weights, columns=False)
    if is_concrete(given):
        given = np.broadcast_to(given, (modes, vocab, states)).copy()
    else:
        given = given + np.zeros((modes, vocab, states), given.dtype)
    return given, weights
