"""The referee: sums over hidden paths by itertools, sharing no code with the package."""

from itertools import product


def joint(world, shown):
    """`P[H_0 = h, what is shown]` and `P[H_1 = h, what is shown]`.

    `shown[j]` is a token, None for nothing, or a list with one number per state (a prompt row).
    """
    A, W, p0 = world.A.tolist(), world.W.tolist(), world.p0.tolist()
    states = range(len(p0))
    laws = [[0.0 for _ in states] for _ in range(len(shown) + 1)]
    for path in product(states, repeat=len(shown) + 1):
        weight = p0[path[0]]
        for before, now, what in zip(path, path[1:], shown, strict=False):
            weight *= A[now][before]
            if isinstance(what, list):
                weight *= what[now]
            elif what is not None:
                weight *= W[what][now]
        for time, state in enumerate(path):
            laws[time][state] += weight
    return laws


def start_score(world, mu, x):
    """`(mu . P[H_0 | x], Pr(x))`; the first is None for an impossible x."""
    law = joint(world, list(x))[0]
    total = sum(law)
    if total == 0:
        return None, 0.0
    return sum(m * p for m, p in zip(mu, law, strict=True)) / total, total


def output(world, shown, at):
    """The law of the token at index `at` of `shown`, which must show None there; None if impossible."""
    assert shown[at] is None
    law = joint(world, shown)[at + 1]
    total = sum(law)
    if total == 0:
        return None, 0.0
    W = world.W.tolist()
    return [sum(w * p for w, p in zip(row, law, strict=True)) / total for row in W], total
