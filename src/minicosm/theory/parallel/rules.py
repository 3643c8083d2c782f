"""Rules for what many functions of this folder are given: joint laws, masks, kernels, scores."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from minicosm.adaptation.checks import check_reals
from minicosm.worlds import CliqueIsing, Ising, Joint, MaskLaw
from minicosm.worlds.joint.masks import check_k

from ..checks import Given, Rule, kind, probabilities, real, reals, truths, whole

JOINT, SPINS, CLIQUE = kind(Joint), kind(Ising), kind(CliqueIsing)
SIZE = whole(1, None)  # of which only the logarithm or the root enters
POSITIVE, NOT_NEGATIVE, SHARE = real(above=0), real(least=0), real(least=0, most=1)
DELTA = real(above=0, below=1)
CONSTANT = real(least=1 - 1e-9, infinite=True)  # of Poincaré, or of block entropy, up to rounding


def masks(name: str, value: Any, given: Given) -> MaskLaw:
    """A mask law, for the sequences of `joint` where there is one."""
    kind(MaskLaw)(name, value, given)
    if "joint" in given:
        value.check(given["joint"])
    return value


def positions(of: str) -> Rule:
    """How many positions of `of` are hidden."""

    def rule(name: str, value: Any, given: Given) -> int:
        return whole(1, given[of].length)(name, value, given)

    return rule


def hidden(name: str, value: Any, given: Given) -> int:
    """k, for the sequences of `joint` or of a world."""
    return check_k(value, given["joint" if "joint" in given else "world"].length)


def _states(given: Given) -> int:
    """How many states there are, by the first argument that has a row for each."""
    if "joint" in given:
        return len(given["joint"].probabilities)
    return len(next(given[name] for name in ("P", "r", "mu", "weights") if name in given))


FUNCTION = reals(lambda given: (_states(given),))
SCORES = reals(lambda given: (_states(given), None))
MASK = truths(lambda given: (given["joint"].length,))
LAW = probabilities(lambda given: (_states(given),))


def parameters(of: str) -> Rule:
    """An entry for each column of the statistics called `of`."""
    return reals(lambda given: (given[of].shape[1],))


def target(name: str, value: Any, given: Given) -> np.ndarray:
    """States of which one at least is wanted."""
    found = truths((_states(given),))(name, value, given)
    if not found.any():
        raise ValueError(f"{name} has no state; it must be true for at least one")
    return found


def square(name: str, value: Any, given: Given) -> Float[np.ndarray, "d d"]:
    """A square matrix of finite numbers."""
    matrix = np.asarray(check_reals(name, value, (None, None)), np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} has shape {matrix.shape}; it must be square")
    return matrix


def kernel(name: str, value: Any, given: Given) -> Float[np.ndarray, "states states"]:
    """A square matrix whose rows are laws."""
    return probabilities((None, None))(name, square(name, value, given), given)


def symmetric(like: str | None = None, *, definite: bool = False) -> Rule:
    """A symmetric matrix, of the size of the argument `like`; positive definite if wanted."""

    def rule(name: str, value: Any, given: Given) -> np.ndarray:
        matrix = square(name, value, given)
        if like is not None and matrix.shape != given[like].shape:
            raise ValueError(
                f"{name} has shape {matrix.shape}; {like} has shape {given[like].shape}"
            )
        if np.abs(matrix - matrix.T).max() > 1e-8 * np.abs(matrix).max():
            raise ValueError(f"{name} is not symmetric; it must be")
        if definite and not np.linalg.eigvalsh(matrix)[0] > 0:
            raise ValueError(f"{name} has an eigenvalue that is not positive; all must be")
        return matrix

    return rule


def laws_over(other: str) -> Rule:
    """A law over the states of another, or an array of laws along its last axis."""

    def rule(name: str, value: Any, given: Given) -> np.ndarray:
        found, states = check_reals(name, value), len(given[other])
        if found.ndim == 0 or found.shape[-1] != states:
            raise ValueError(f"{name} has shape {found.shape}; {other} has {states} entries")
        return probabilities(None)(name, found, given)

    return rule


def vocab_of(rows: str, length: Callable[[Given], int]) -> Rule:
    """The number of tokens, so that the argument `rows` has a row for every sequence."""

    def rule(name: str, value: Any, given: Given) -> int:
        found, positions, states = whole(1)(name, value, given), length(given), len(given[rows])
        if positions > 64 or found**positions != states:
            raise ValueError(
                f"vocab is {found} and the length {positions}: that makes {found}^{positions} "
                f"sequences; {rows} has {states} rows"
            )
        return found

    return rule


# r, q, masks and vocab; P, vocab and length: the check of vocab comes last
MASKED_LAWS = {
    "r": probabilities((None,)),
    "q": LAW,
    "masks": masks,
    "vocab": vocab_of("r", lambda given: given["masks"].length),
}
STEP = {"P": kernel, "length": SIZE, "vocab": vocab_of("P", lambda given: given["length"])}
