"""Sequences of tokens as text that people read."""

from typing import Any

import numpy as np

from .arrays import check_whole_numbers

PAIRS = ("()", "[]", "{}", "<>")


def plain_tokens(tokens: Any, vocab: int) -> list[int]:
    """One sequence without its padding, which is the id `vocab`, or -1 in what a sampler returns."""
    values = np.asarray(check_whole_numbers("tokens", tokens, -1, vocab, (None,)))
    padding = (values == -1) | (values == vocab)
    if padding.any():
        end = int(np.argmax(padding))
        if not padding[end:].all():
            at = end + int(np.argmin(padding[end:]))
            raise ValueError(
                f"token {values[at]} at index {at} stands after padding; "
                "tokens must be padded after their end only"
            )
        values = values[:end]
    return [int(token) for token in values]


def numbers_text(tokens: Any, vocab: int) -> str:
    """The tokens as numbers with spaces between them."""
    return " ".join(map(str, plain_tokens(tokens, vocab)))


def brackets_text(tokens: Any, types: int) -> str:
    """Brackets ()[]{}<> for up to four types; for more `(t` and `)t`, with spaces between them."""
    plain = plain_tokens(tokens, 2 * types)
    if types <= len(PAIRS):
        return "".join(PAIRS[token // 2][token % 2] for token in plain)
    return " ".join(f"{'()'[token % 2]}{token // 2}" for token in plain)
