"""An Ising model under block dynamics and under parallel sampling: exact mixing, and chains to watch."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from minicosm.lab import figure
from minicosm.lab.figures import BLUE, GREY, ORANGE, PURPLE
from minicosm.theory.parallel.kernels import evolve, independent_parallel, k_gibbs, stationary
from minicosm.theory.parallel.mixing import poincare, total_variation
from minicosm.worlds import Ising, Joint

from .settings import CHAIN_STEPS, SHAPES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEVER = 2**40  # steps after which a chain counts as never mixed
NEAR = 0.25
"""The total variation at which a chain counts as mixed, from its worst start."""

Kernel = Float[np.ndarray, "states states"]


class Dynamics(NamedTuple):
    """A law over all configurations, and two chains that are to sample it."""

    joint: Joint
    block: Kernel
    parallel: Kernel
    k: int

    @property
    def law(self) -> Float[np.ndarray, " states"]:
        return self.joint.probabilities


def couplings(shape: str, spins: int) -> Float[np.ndarray, "N N"]:
    """Who wants to be like whom: 1 for every pair of neighbours, over their mean number."""
    i, j = np.indices((spins, spins))
    if shape == "clique":
        J = np.ones((spins, spins))
    elif shape == "ring":
        J = (((i - j) % spins == 1) | ((j - i) % spins == 1)).astype(float)
    elif shape == "two cliques":  # with one pair between them
        half = spins // 2
        J = ((i < half) == (j < half)).astype(float)
        J[half - 1, half] = J[half, half - 1] = 1
    else:
        raise ValueError(f"shape is {shape!r}; it must be one of {', '.join(SHAPES)}")
    np.fill_diagonal(J, 0)
    return J / max(J.sum(axis=1).mean(), 1e-12)


def dynamics(shape: str, spins: int, temperature: float, field: float, k: int) -> Dynamics:
    """`p(x) ∝ exp((h sum_i x_i + sum_{i<j} J_ij x_i x_j) / temperature)`; blocks of k spins."""
    if not 1 <= k <= spins:
        raise ValueError(f"blocks have {k} spins; there are {spins}, a block has 1 to {spins}")
    world = Ising(np.full(spins, field / temperature), couplings(shape, spins) / temperature)
    joint = world.joint()
    return Dynamics(joint, k_gibbs(joint, k), independent_parallel(joint), k)


def distances(
    P: Kernel, law: Float[np.ndarray, " states"], steps: int = CHAIN_STEPS
) -> Float[np.ndarray, " times"]:
    """Total variation from `law` after 0..steps steps, from all spins down."""
    return total_variation(evolve(P, np.eye(len(P))[0], steps), law)


def mixing_time(P: Kernel, law: Float[np.ndarray, " states"], near: float = NEAR) -> int | None:
    """The least number of steps after which the law from every start is within `near` of `law`; None
    if that takes more than `NEVER`. P must have the stationary law `law`, so that distances fall."""

    def far(Q: Kernel) -> bool:
        return float(np.abs(Q - law).sum(axis=1).max() / 2) > near

    powers = [P]
    while far(powers[-1]):
        if 2 ** len(powers) > NEVER:
            return None
        powers.append(powers[-1] @ powers[-1])
    steps, at = 0, np.eye(len(P))
    for i in reversed(range(len(powers))):  # the largest number of steps that leaves it far
        further = at @ powers[i]
        if far(further):
            steps, at = steps + 2**i, further
    return steps + 1 if far(np.eye(len(P))) else 0


def numbers(found: Dynamics) -> list[list[Any]]:
    """Rows of a table: the chain, its Poincaré constant, its mixing time, and how far from the law it
    stays for ever."""
    gibbs, own = k_gibbs(found.joint, 1), stationary(found.parallel)
    rows: list[list[Any]] = []
    named = {"one spin at a time": gibbs, f"blocks of {found.k}": found.block}
    for label, P in named.items():
        rows.append([label, poincare(P, found.law), _steps(mixing_time(P, found.law)), 0.0])
    bias = float(total_variation(own, found.law))
    time = _steps(mixing_time(found.parallel, own))  # to its own law, for which it is reversible
    rows.append(["all spins in parallel", poincare(found.parallel, own), time, bias])
    return rows


def _steps(count: int | None) -> str | int:
    return f"more than {NEVER:.0e}" if count is None else count


def chain(P: Kernel, seed: int, spins: int, steps: int = CHAIN_STEPS) -> Int[np.ndarray, "times N"]:
    """One run from all spins down: tokens after 0..steps steps."""
    uniform = np.random.default_rng(seed).random(steps)
    sums = np.cumsum(P, axis=1)
    states = [0]
    for u in uniform:
        row = sums[states[-1]]
        states.append(int(np.searchsorted(row, u * row[-1], side="right")))
    return np.array(states)[:, None] >> np.arange(spins - 1, -1, -1) & 1


# -- pictures -----------------------------------------------------------------------------------------


def picture_of_distances(found: Dynamics, step: int) -> "Figure":
    """Total variation from the law by steps, from all spins down."""
    fig = figure(8.6, 2.5)
    ax = fig.subplots()
    curves = {
        "one spin at a time": (k_gibbs(found.joint, 1), GREY),
        f"blocks of {found.k}": (found.block, BLUE),
        "all in parallel": (found.parallel, ORANGE),
    }
    for label, (P, colour) in curves.items():
        ax.plot(distances(P, found.law), color=colour, label=label)
    bias = float(total_variation(stationary(found.parallel), found.law))
    ax.axhline(bias, color=ORANGE, ls="--", lw=1.2, label="in parallel, for ever")
    ax.axvline(step, color=PURPLE, lw=1.2)
    ax.set(
        ylim=(0, 1.02), xlim=(0, CHAIN_STEPS), xlabel="steps", ylabel="total variation from the law"
    )
    ax.legend(ncols=2, loc="upper right")
    return fig


def picture_of_spins_up(found: Dynamics, step: int) -> "Figure":
    """The law of the number of spins up: wanted, and under each chain after `step` steps."""
    start = np.eye(len(found.law))[0]
    laws = {
        "wanted": (found.law, GREY),
        f"blocks of {found.k}": (evolve(found.block, start, step)[-1], BLUE),
        "all in parallel": (evolve(found.parallel, start, step)[-1], ORANGE),
    }
    up = found.joint.states.sum(axis=1)
    fig = figure(8.6, 2.4)
    ax = fig.subplots()
    for i, (label, (law, colour)) in enumerate(laws.items()):
        ax.bar(
            np.arange(found.joint.length + 1) + (i - 1) * 0.28, np.bincount(up, law), 0.27,
            color=colour, label=label,
        )  # fmt: skip
    ax.set(xlabel="spins up", ylabel="probability", title=f"after {step} steps from all spins down")
    ax.set_xticks(range(found.joint.length + 1))
    ax.legend(ncols=3, loc="upper center")
    return fig
