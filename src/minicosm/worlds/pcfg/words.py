"""Grammars with many words, as stand-ins for natural text.

"words-100" has a hundred words. Its phrases 13..22 are those of cfg3f. Each of its phrases 10, 11, 12 has
rules that lead to two or three parts of speech, and each part of speech leads to one of its words, of which
the r-th has a probability in proportion to 1 / r. Some words belong to several parts of speech. All of it
is drawn once, from the number of words.
"""

from typing import Any

import numpy as np

from ..arrays import short
from .grammar import named_rules, reached

FEWEST, MOST = 50, 200
PART, WORD = 100, 1000
"""The symbols of the first part of speech and of the first word."""
PHRASES = (10, 11, 12)
IN_A_PART = 10
"""Words of a part of speech that belong to it first of all; it has a few others besides."""
SHARED = 3


def is_word_grammar(name: Any) -> bool:
    return isinstance(name, str) and name.startswith("words-")


def word_rules(
    name: str, below: int = 22
) -> tuple[dict[int, list[list[int]]], dict[int, list[float]]]:
    """Rules and their probabilities, of those symbols that can be reached from `below`."""
    digits = name.removeprefix("words-")
    count = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 5 else 0
    if not FEWEST <= count <= MOST:
        raise ValueError(
            f"name is {short(name)}; after words- there must be a number of words from {FEWEST} to {MOST}"
        )
    rng = np.random.default_rng(count)
    parts = count // IN_A_PART
    rules = {s: children for s, children in named_rules("cfg3f").items() if s > max(PHRASES)}
    each = max(4, parts // 3)  # rules of a phrase: every part of speech is in one
    order: list[int] = []
    for phrase in PHRASES:
        made: list[list[int]] = []
        while len(made) < each:
            if len(order) < 3:
                order += rng.permutation(parts).tolist()
            size = 2 if len(made) < 2 else int(rng.integers(2, 4))
            children, order = [PART + p for p in order[:size]], order[size:]
            if children not in made:
                made.append(children)
        rules[phrase] = made
    owned = np.array_split(rng.permutation(count), parts)
    probabilities = {}
    for p, own in enumerate(owned):
        others = rng.choice(np.setdiff1d(np.arange(count), own), SHARED, replace=False)
        words = rng.permutation(np.concatenate([own, others]))
        rules[PART + p] = [[WORD + int(word)] for word in words]
        weights = 1 / np.arange(1, len(words) + 1)
        probabilities[PART + p] = (weights / weights.sum()).tolist()
    kept = reached(rules, below)
    return kept, {s: law for s, law in probabilities.items() if s in kept}
