"""The network of Theorem 12, a gridworld in two layers of attention, and Algorithm 1 that it runs.

Places 0..S on a line, moves -1, 0, +1 that walls stop. Free prefix sums z_t ignore the walls; the state is
`q_t = z_t - min z` over the shortest suffix that has S + 1 distinct sums. Layer 1 computes the sums. Head s
of layer 2, s = 0..2S, looks for the latest position with sum `z_t + s - S` and returns when that was (gamma)
and what sum it found there (x); the MLP after it compares. Lengths in formulas are those with the moves that
are put in front: S + 1 to the left, then as many to the right as the start.
"""

from math import cos, log, pi, sin
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Int

from .counters import countdown
from .gadgets import lookup_1d
from .gridworld_reading import (
    COS,
    GAMMA,
    MOVE,
    ONE,
    PAD,
    SIN,
    STATE,
    Grid,
    Printed,
    X,
    count_reading,
    deep_reading,
    wide_reading,
)
from .layers import Head, Layer
from .network import Decoder, Network

Reading = Literal["count", "deep", "wide"]
"""How the second MLP finds the state: see `gridworld_reading`."""


def sharpness_for(T: int) -> float:
    """`beta = 40 T^3`: scores of the latest and the next position differ by at least .445 / T^3."""
    return 40.0 * T**3


def grid_network(
    grid: Grid,
    moves: Int[np.ndarray, " symbols"],
    *,
    read: Reading = "count",
    sharpness: float | None = None,
    printed: Printed = "nothing",
) -> Network:
    """Two layers of attention, 1 and 2S + 1 heads.

    `printed` says what of the deep reading is as printed; see `deep_reading`.
    """
    T, d = grid.T, grid.width
    beta = sharpness_for(T) if sharpness is None else sharpness
    encoder = np.zeros((len(moves), d))
    encoder[:, MOVE], encoder[:, ONE] = moves, 1
    pads = np.zeros((1 + grid.walls + grid.start, d))
    pads[:, ONE] = 1
    pads[0, PAD] = 1
    pads[1:, MOVE] = [-1] * grid.walls + [1] * grid.start
    positions = np.zeros((T + 1, d))
    positions[:, GAMMA] = countdown(T)
    return Network(
        encoder,
        pads,
        positions,
        (sum_layer(grid), match_layer(grid, beta, read, printed)),
        Decoder.of_scalar(STATE, np.arange(grid.S + 1)),
    )


def sum_layer(grid: Grid) -> Layer:
    """`x_t = z_t / 2T` by the head of Lemma 15, and `(cos pi x, sin pi x)` by a table of 2T + 1 values."""
    e, T = np.eye(grid.width), grid.T
    head = Head(e[:, [GAMMA]], e[:, [PAD]], e[:, [MOVE]], e[[X]])
    sums = np.arange(-T, T + 1) / (2 * T)
    circle = np.stack([np.cos(pi * sums), np.sin(pi * sums)], axis=1)
    table = lookup_1d(sums, circle, X, [COS, SIN], gap=1 / (2 * T))
    keep = np.ones(grid.width, bool)
    return Layer((head,), (table,), keep, keep)


def match_head(grid: Grid, s: int, beta: float) -> Head:
    """Scores `beta [cos(pi (x_t - x_i) + theta_s) - c gamma_i - 4 pad_i]`, `theta_s = (s - S) pi / 2T` and
    `c = pi^2 / (16 ln 2 T^2)`: the latest i with `z_i = z_t + s - S`, if there is one, else the latest with
    the nearest value. The last term leaves out the pad at position 0, which is no prefix."""
    T, root = grid.T, beta**0.5
    theta = (s - grid.S) * pi / (2 * T)
    c = pi**2 / (16 * log(2) * T**2)
    W_Q, W_K = np.zeros((grid.width, 3)), np.zeros((grid.width, 3))
    W_V, W_C = np.zeros((grid.width, 2)), np.zeros((2, grid.width))
    W_Q[[COS, SIN], :2] = root * np.array([[cos(theta), sin(theta)], [-sin(theta), cos(theta)]])
    W_Q[ONE, 2] = root
    W_K[COS, 0] = W_K[SIN, 1] = root
    W_K[[GAMMA, PAD], 2] = -root * c, -4 * root
    W_V[GAMMA, 0] = W_V[X, 1] = 1
    W_C[[0, 1], [grid.gamma[s], grid.x[s]]] = 1
    return Head(W_Q, W_K, W_V, W_C)


def match_layer(grid: Grid, beta: float, read: Reading, printed: Printed = "nothing") -> Layer:
    """The 2S + 1 heads, and the MLP that reads the state off them."""
    keep = np.ones(grid.width, bool)
    mlp_keep = keep.copy()
    mlp_keep[STATE] = False
    if read == "deep":
        mlp = deep_reading(grid, printed)
    else:
        mlp = {"count": count_reading, "wide": wide_reading}[read](grid)
    heads = tuple(match_head(grid, s, beta) for s in range(grid.heads))
    return Layer(heads, (mlp,), keep, mlp_keep)


# -- Algorithm 1 --------------------------------------------------------------------------------


class Suffix(NamedTuple):
    """What Algorithm 1 finds for every prefix of every sequence, positions in the padded sequence from 1."""

    states: Int[np.ndarray, "n T"]
    start: Int[np.ndarray, "n T"]
    """t_uniq: where the shortest suffix with S + 1 distinct sums begins."""
    wall_at: Int[np.ndarray, "n T"]
    """t_final: the later of the last minimum and the last maximum in it."""
    wall: Int[np.ndarray, "n T"]
    """The wall there: 0 or S."""
    sums: Int[np.ndarray, "n padded"]


def algorithm_1(
    moves: Int[np.ndarray, "n T"], S: int, start: int = 0, walls: int | None = None
) -> Suffix:
    """The state of every prefix from its free sums alone, without running the gridworld.

    For the prefix up to t: t_uniq is the largest position from which on there are S + 1 distinct sums;
    t_final is the later of the last minimum and the last maximum since; the state is `z_t - z_{t_final} +
    wall` with the wall 0 for a minimum and S for a maximum.
    """
    walls = S + 1 if walls is None else walls
    n = len(moves)
    front = np.concatenate([np.full(walls, -1), np.full(start, 1)])
    z = np.cumsum(np.concatenate([np.broadcast_to(front, (n, len(front))), moves], axis=1), axis=1)
    found: list[list[Int[np.ndarray, " n"]]] = [[], [], [], []]
    rows = np.arange(n)
    for t in range(len(front), z.shape[1]):
        back = z[:, t::-1]  # from t to the first
        high, low = np.maximum.accumulate(back, axis=1), np.minimum.accumulate(back, axis=1)
        length = np.argmax(high - low >= S, axis=1)  # steps are at most 1: so many distinct sums
        least, most = low[rows, length], high[rows, length]
        t_min = t - np.argmax(back == least[:, None], axis=1)
        t_max = t - np.argmax(back == most[:, None], axis=1)
        at = np.maximum(t_min, t_max)
        wall = np.where(t_min > t_max, 0, S)
        state = z[:, t] - z[rows, at] + wall
        for list_, value in zip(found, (state, t - length + 1, at + 1, wall), strict=True):
            list_.append(value)
    states, begins, ends, at_wall = (np.stack(values, axis=1) for values in found)
    return Suffix(states, begins, ends, at_wall, z)
