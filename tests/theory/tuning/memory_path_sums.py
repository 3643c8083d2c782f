"""The referee of the memory theorems: sums over configurations and hidden paths by itertools.

It shares no code with the package.
"""

from itertools import product


def joint(world, shown):
    """A dictionary `(memory, path h_0..h_T) -> probability` of those and of what is shown.

    `shown[i]` is a token, None for nothing, or a function of (memory, state), for a prompt.
    """
    A, W, p0 = world.A.tolist(), world.W.tolist(), world.p0.tolist()
    values, cells, syntax = len(W[0]), len(W[0][0]), len(W[0][0][0])
    states = range(cells * syntax)
    table = {}
    for number, memory in enumerate(product(range(values), repeat=cells)):
        for path in product(states, repeat=len(shown) + 1):
            weight = float(world.pM[number]) * p0[path[0]]
            for before, now, what in zip(path, path[1:], shown, strict=False):
                weight *= A[now][before]
                if callable(what):
                    weight *= what(memory, now)
                elif what is not None:
                    j, s = divmod(now, syntax)
                    weight *= W[what][memory[j]][j][s]
            if weight > 0:
                table[memory, path] = weight
    return table


def cell_law(world, shown, cell):
    """`P[M_cell | what is shown]` as a list; None if it is impossible."""
    table = joint(world, shown)
    law = [0.0] * world.values
    for (memory, _), weight in table.items():
        law[memory[cell]] += weight
    total = sum(law)
    return None if total == 0 else [p / total for p in law]


def without(shown, i):
    return [None if k == i else what for k, what in enumerate(shown)]


def states_at(world, shown, i):
    """`{(memory, h): P[M = memory, H_{i+1} = h | everything shown but index i]}`; {} if impossible."""
    law = {}
    for (memory, path), weight in joint(world, without(shown, i)).items():
        law[memory, path[i + 1]] = law.get((memory, path[i + 1]), 0) + weight
    total = sum(law.values())
    return {key: weight / total for key, weight in law.items()}


def output(world, shown, i):
    """`P[X_{i+1} | everything shown but index i]`, with the ordinary emissions; zeros if impossible."""
    W = world.W.tolist()
    syntax = len(W[0][0][0])
    law = [0.0] * len(W)
    for (memory, h), weight in states_at(world, shown, i).items():
        j, s = divmod(h, syntax)
        for z in range(len(W)):
            law[z] += weight * W[z][memory[j]][j][s]
    return law


def sure(world, shown, star):
    """The indices i where every possible H_{i+1}, given everything but index i, lies in H*."""
    found = []
    for i in range(len(shown)):
        law = states_at(world, shown, i)
        if law and all(h in star for _, h in law):
            found.append(i)
    return found
