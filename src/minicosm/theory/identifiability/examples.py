"""Worlds and pairs of worlds that the study names."""

from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float

from minicosm.worlds import HMM, GaussianHMM

from ..checks import real, whole
from ..signatures import checked

SHIFT = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])  # a cycle of three states
CHAIN = ((0.6, 0.3, 0.1), (0.1, 0.6, 0.3), (0.3, 0.1, 0.6))


def stationary(O: Any, T: Any) -> HMM:
    """The world with these emissions and this doubly stochastic chain, from its uniform law."""
    k = len(T)
    return HMM(np.asarray(T, float), np.asarray(O, float), np.full(k, 1 / k))


def four_tokens() -> HMM:
    """Four tokens, three states: the world that students are fitted to."""
    O = ((0.6, 0.15, 0.15), (0.15, 0.5, 0.1), (0.1, 0.15, 0.45), (0.15, 0.2, 0.3))
    return stationary(O, CHAIN)


def clear_states() -> HMM:
    """Four tokens, three states that are easy to tell apart: the world that is sampled."""
    O = np.vstack([0.6 * np.eye(3) + 0.1, np.full(3, 0.1)])
    return stationary(O, CHAIN)


@checked(stretch=real(least=0.5, most=1.5))
def one_step_pair(stretch: float = 1.5) -> tuple[HMM, HMM]:
    """Two worlds of two states with one predictor of x2 from x1, joined by the S whose eigenvalues are 1 and
    `stretch`: above 1 the second chain keeps its state longer and its states emit more alike."""
    O = np.array([[0.6, 0.2], [0.2, 0.5], [0.2, 0.3]])
    T = np.array([[0.7, 0.3], [0.3, 0.7]])
    S = (1 + stretch) / 2 * np.eye(2) + (1 - stretch) / 2 * (1 - np.eye(2))
    return stationary(O, T), stationary(O @ np.linalg.inv(S), S @ T @ S.T)


@checked(persistence=real(above=0, below=1))
def every_gap_pair(persistence: float = 0.7) -> tuple[HMM, HMM]:
    """Two worlds of three states and tokens that agree on every token given any other one, at all gaps, with
    rational entries if the persistence of the chain is rational."""
    first, second, T = every_gap_fractions(Fraction(persistence))
    return stationary(first, T), stationary(second, T)


def every_gap_fractions(persistence: Fraction) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both emission matrices and the chain of `every_gap_pair`, in fractions."""
    one = Fraction(1)
    I = np.array([[one * int(i == j) for j in range(3)] for i in range(3)], object)
    J = np.full((3, 3), one, object)
    return (
        I / 2 + J / 6,
        (I + np.array(SHIFT, object)) / 2,
        persistence * I + (1 - persistence) * J / 3,
    )


@checked(gap=whole(2, 10_000))
def powers_pair(gap: int) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "3 3"]]:
    """Two doubly stochastic matrices of rank 3 with `T^gap = T'^gap` (the pair of Claim 3 with a = 1/2): T'
    is T turned by `2 pi / gap` in the plane orthogonal to the ones, `T'[i, j] = (1 + cos(2 pi / gap - 2 pi (i
    - j) / 3 + pi / 3)) / 3`."""
    i, j = np.indices((3, 3))
    turned = (1 + np.cos(2 * np.pi / gap - 2 * np.pi * (i - j) / 3 + np.pi / 3)) / 3
    return (np.eye(3) + SHIFT) / 2, turned


@checked(gap=whole(2, 10_000))
def across_a_gap_pair(gap: int) -> tuple[HMM, HMM]:
    """Two worlds that agree on the token `gap` steps after a given one, and share their emissions."""
    T, other = powers_pair(gap)
    O = 0.5 * np.eye(3) + 0.5 / 3
    return stationary(O, T), stationary(O, other)


@checked(gap=whole(2, 10_000))
def gaussian_gap_pair(gap: int) -> tuple[GaussianHMM, GaussianHMM]:
    """The same for orthonormal means."""
    T, other = powers_pair(gap)
    return GaussianHMM(T, np.eye(3)), GaussianHMM(np.maximum(other, 0), np.eye(3))


def printed_worlds() -> tuple[HMM, HMM]:
    """The pair of Equation 2.47, with the digits that are printed (columns scaled to sum to one)."""
    O = [
        [0.23016003, 0.3549092, 0.16493077],
        [0.30716059, 0.06962305, 0.37321636],
        [0.2580854, 0.26965425, 0.22226035],
        [0.20459398, 0.3058135, 0.23959252],
    ]
    other_O = [
        [0.24120928, 0.35062535, 0.15816537],
        [0.28937626, 0.07433156, 0.38629218],
        [0.26077674, 0.26749114, 0.22173212],
        [0.20863772, 0.30755194, 0.23381033],
    ]
    T = [
        [0.56893146, 0.35811118, 0.07295736],
        [0.35811118, 0.10805638, 0.53383243],
        [0.07295736, 0.53383243, 0.39321021],
    ]
    other_T = [
        [0.59740926, 0.30452087, 0.09806987],
        [0.30452087, 0.1331689, 0.56231024],
        [0.09806987, 0.56231024, 0.33961989],
    ]
    scaled = [np.array(m) / np.sum(m, axis=0) for m in (O, T, other_O, other_T)]
    return stationary(scaled[0], scaled[1]), stationary(scaled[2], scaled[3])


def middle_fractions() -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Pairs of Gaussian worlds, as `(M, T, M', T')` in fractions, with one predictor of x1 ⊗ x3 from x2: two
    with two states, one with three."""
    F = Fraction
    two = [[F(4, 5), F(1, 5)], [F(1, 5), F(4, 5)]]
    three = [
        [F(1, 2), F(3, 10), F(1, 5)],
        [F(1, 5), F(1, 2), F(3, 10)],
        [F(3, 10), F(1, 5), F(1, 2)],
    ]
    pairs: list[tuple[Any, Any, Any]] = [
        ([[F(1), F(0)], [F(0), F(1)]], two, [[F(0), F(-1)], [F(-1), F(0)]]),
        (
            [[F(3, 5), F(3, 5)], [F(4, 5), F(-4, 5)]],
            two,
            [[F(-3, 5), F(-3, 5)], [F(4, 5), F(-4, 5)]],
        ),
        (
            [[F(int(i == j)) for j in range(3)] for i in range(3)],
            three,
            [[F(int(i == j)) - F(2, 3) for j in range(3)] for i in range(3)],
        ),
    ]
    found = []
    for M, T, other in pairs:
        M, T, other = (np.array(a, object) for a in (M, T, other))
        found.append((M, T, other, F(2, len(T)) - T))
    return found


@checked(number=whole(0, 2))
def middle_pair(number: int = 0) -> tuple[GaussianHMM, GaussianHMM]:
    """One of the pairs of `middle_fractions`."""
    M, T, other_M, other_T = middle_fractions()[number]
    return (
        GaussianHMM(T.astype(float), M.astype(float)),
        GaussianHMM(other_T.astype(float), other_M.astype(float)),
    )
