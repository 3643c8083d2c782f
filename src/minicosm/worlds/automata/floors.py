"""How often a label is guessed right by someone who knows only the position, or the last few symbols."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..arrays import AnyArray

MOST_NUMBERS = 2**24  # of the table of words, times states


def chains(
    delta: Int[AnyArray, "vocab states"],
    start: Any,
    law: Float[AnyArray, "modes vocab states"],
    length: int,
) -> Float[np.ndarray, "rows modes states"]:
    """`[t, k, q] = P(q_t = q | mode k)` for t = 0..length."""
    delta, law = np.asarray(delta), np.asarray(law, np.float64)
    modes, _, states = law.shape
    laws = np.zeros((length + 1, modes, states))
    laws[0, :, int(start)] = 1
    for t in range(length):
        for k in range(modes):
            flow = law[k] * laws[t, k]
            laws[t + 1, k] = np.bincount(delta.ravel(), flow.ravel(), minlength=states)
    return laws


def _labelled(
    law: Float[np.ndarray, "*batch states"], observation: Int[AnyArray, " states"]
) -> Float[np.ndarray, "*batch labels"]:
    """The law of the label."""
    labels = int(np.max(observation)) + 1
    found = np.zeros((*law.shape[:-1], labels))
    for q, y in enumerate(np.asarray(observation)):
        found[..., y] += law[..., q]
    return found


def position_accuracy(
    joint: Float[np.ndarray, "rows modes states"], observation: Int[AnyArray, " states"]
) -> float:
    """`mean_t max_y P(y_t = y)` over t = 1..T, from the laws of mode and state."""
    return float(_labelled(joint[1:].sum(axis=1), observation).max(axis=-1).mean())


def window_accuracy(
    joint: Float[np.ndarray, "rows modes states"],
    delta: Int[AnyArray, "vocab states"],
    law: Float[AnyArray, "modes vocab states"],
    observation: Int[AnyArray, " states"],
    w: int,
) -> float:
    """`mean_t sum_u max_y P(last w symbols = u, y_t = y)`; while t <= w every symbol is known, and so is
    the state."""
    length = len(joint) - 1
    w = min(w, length)
    ends, chances = words(delta, np.asarray(law, np.float64), w)
    labels = np.asarray(observation)[ends]  # [word, state before]: the label after the word
    right = float(w)
    for t in range(w + 1, length + 1):
        weights = np.einsum("kq,ukq->uq", joint[t - w], chances)
        found = np.zeros((len(ends), int(np.max(observation)) + 1))
        np.add.at(found, (np.arange(len(ends))[:, None], labels), weights)
        right += found.max(axis=1).sum()
    return float(right / length)


def words(
    delta: Int[AnyArray, "vocab states"], law: Float[np.ndarray, "modes vocab states"], w: int
) -> tuple[Int[np.ndarray, "words states"], Float[np.ndarray, "words modes states"]]:
    """The words of w symbols: where each leads from every state, and its probability given mode and
    state. If symbols are independent of modes and states, words that lead alike are put together."""
    delta = np.asarray(delta)
    modes, _, states = law.shape
    alike = bool((law == law[:1, :, :1]).all())
    ends = np.arange(states)[None]
    chances = np.ones((1, modes, states))
    for _ in range(w):
        if len(ends) * len(delta) * states > MOST_NUMBERS:
            raise ValueError(
                f"w is {w}; there are more than {MOST_NUMBERS // states // len(delta)} words of so many "
                "symbols that act differently, give a smaller w"
            )
        # [symbol, word, ...]: the word, then the symbol
        grown = delta[:, ends].reshape(-1, states)
        steps = law[:, :, ends]  # [mode, symbol, word, state]
        likely = chances * np.moveaxis(steps, 0, 2)  # [symbol, word, mode, state]
        likely = likely.reshape(-1, modes, states)
        if alike:
            ends, group = np.unique(grown, axis=0, return_inverse=True)
            chances = np.zeros((len(ends), modes, states))
            np.add.at(chances, group.ravel(), likely)
        else:
            kept = likely.reshape(len(grown), -1).any(axis=1)
            ends, chances = grown[kept], likely[kept]
    return ends, chances
