"""Inside and outside probabilities of layered grammars in plain NumPy, as a referee: dense matrices, explicit
outside sums, and a reading of the rules of its own."""

import numpy as np

CFG3G = """
22: 19 20 | 20 20 19 | 20 19 21
21: 16 16 | 16 16 18 | 18 16
20: 16 17 | 18 18 | 16 17 17
19: 17 17 16 | 18 17 16 | 18 16 17
18: 15 13 | 15 15 | 14 13 15
17: 14 13 14 | 14 15 13 | 15 14
16: 14 13 13 | 13 14 | 13 13
15: 10 11 | 12 10 10 | 12 11
14: 11 12 | 10 11 10 | 10 10
13: 10 12 | 11 11 11 | 11 11
12: 7 9 | 7 8 | 9 9 9
11: 8 8 9 | 9 7 | 8 9 7
10: 8 8 8 | 7 7 7 | 7 7
9: 2 3 3 | 2 3 | 2 1
8: 1 3 2 | 1 3 | 3 3 1
7: 2 3 1 | 1 1 | 2 2
"""


def read(text):
    """`{symbol: [children, ...]}`; the tokens are 1, 2, 3."""
    rules = {}
    for line in text.strip().splitlines():
        head, rest = line.split(":")
        rules[int(head)] = [[int(child) for child in part.split()] for part in rest.split("|")]
    return rules


def sentence(rules, root, rng):
    """Tokens 0, 1, 2 of one derivation, from the root down."""
    symbols = [root]
    while any(symbol in rules for symbol in symbols):
        drawn = [
            rules[s][rng.integers(len(rules[s]))] if s in rules else [s] for s in symbols
        ]  # every symbol of a layered grammar is replaced in every round
        symbols = [child for children in drawn for child in children]
    return np.array(symbols) - 1


def hidden(tokens, rng, rate=0.3):
    """BERT's corruption of `max(1, round(rate * n))` positions: what is shown (-1: the mask), and where."""
    at = rng.permutation(len(tokens))[: max(1, round(rate * len(tokens)))]
    shown = tokens.copy()
    for i in at:
        draw = rng.random()
        shown[i] = -1 if draw < 0.8 else rng.integers(3) if draw < 0.9 else tokens[i]
    return shown, at


def token_posterior(rules, root, shown, rate=0.3):
    """`[i, w]`: the law of every token given what is shown, where a token that is seen is right with the
    probability that it was not chosen, or was and is shown all the same."""
    n = len(shown)
    rows = np.ones((n, 3))
    seen = shown >= 0
    rows[seen] = 0.1 * rate / 3
    rows[seen, shown[seen]] += 1 - 0.9 * rate
    rows *= 2.0  # near the entropy of a token, so that products stay in range
    inside = {}
    for w in range(3):
        inside[w + 1] = np.zeros((n + 1, n + 1))
        inside[w + 1][np.arange(n), np.arange(1, n + 1)] = rows[:, w]
    for symbol in sorted(rules):
        if symbol <= root:
            inside[symbol] = sum(_product(inside, c) for c in rules[symbol]) / len(rules[symbol])
    outside = {symbol: np.zeros((n + 1, n + 1)) for symbol in inside}
    outside[root][0, n] = 1
    for symbol in sorted(rules, reverse=True):
        if symbol > root:
            continue
        for children in rules[symbol]:
            for m, child in enumerate(children):
                left, right = _product(inside, children[:m]), _product(inside, children[m + 1 :])
                part = outside[symbol] / len(rules[symbol])
                if left is not None:
                    part = left.T @ part
                if right is not None:
                    part = part @ right.T
                outside[child] = outside[child] + part
    found = np.stack(
        [outside[w + 1][np.arange(n), np.arange(1, n + 1)] * rows[:, w] for w in range(3)], axis=1
    )
    return found / inside[root][0, n]


def _product(inside, children):
    """Of the matrices of these symbols; None of no symbol."""
    total = None
    for child in children:
        total = inside[child] if total is None else total @ inside[child]
    return total


def asked(posterior, shown, at, rate=0.3):
    """The law at the chosen positions, of which one knows that they are chosen: what they show says less."""
    laws = posterior[at].copy()
    for row, i in zip(laws, at, strict=True):
        if shown[i] >= 0:
            own = np.eye(3)[shown[i]]
            row *= (0.1 * own + 0.1 / 3) / ((1 - 0.9 * rate) * own + 0.1 * rate / 3)
            row /= row.sum()
    return laws
