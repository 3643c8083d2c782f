"""Brackets closed with errors: a base law that leaves the Dyck language, tilted back into it."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..arrays import check_count, check_number, check_reals
from .world import GuidedWorld

DEEPEST = 12  # stacks are written out: 2^(depth + 1) of them


def noisy_dyck(
    length: int, square: float = 0.2, opening: float = 0.5, errors: Any = (0.3, 0.1)
) -> GuidedWorld:
    """D = `length` brackets `[ ] ( )` = 0 1 2 3 that follow the Dyck law with forced closing, except that
    a bracket of type b is closed by the other type with probability `errors[b]`. Tilt: `1[balanced]`.

    At depth d with R brackets left: open if d = 0, close if d = R, otherwise open with probability q =
    `opening`; an opening bracket is square with probability p = `square`. A wrong closing bracket takes
    one off the stack too. After a wrong one the base law goes on by the stack.

    With `m = sum_t p_t (1 - errors[t])`: `Z = m^(D/2)`, and `pi*` is the Dyck law with
    `p' = p (1 - errors[0]) / m`.
    """
    eta = _check(length, square, opening, errors)
    half = length // 2
    # A stack is a binary number with a leading one: pushing type t is 2 c + t, popping is c // 2.
    codes = np.arange(1, 2 ** (half + 1))
    depth = np.floor(np.log2(codes)).astype(int)
    types = np.array([square, 1 - square])
    step = np.zeros((length, 2 * len(codes), 4), np.int32)
    base = np.zeros((length, 2 * len(codes), 4))
    for h in range(length):
        opens = np.where(depth == 0, 1.0, np.where(depth >= length - h, 0.0, opening))
        opens = np.where((depth == half) & (depth > 0), 0.0, opens)
        wrong = eta[codes % 2]
        for t in (0, 1):
            mine = codes % 2 == t
            closes = np.where(depth == 0, 0.0, (1 - opens) * np.where(mine, 1 - wrong, wrong))
            base[h, :, 2 * t] = np.repeat(opens * types[t], 2)
            base[h, :, 2 * t + 1] = np.repeat(closes, 2)
            for invalid in (0, 1):
                full, empty = depth == half, depth == 0
                pushed, popped = (
                    np.where(full, codes, 2 * codes + t),
                    np.where(empty, codes, codes // 2),
                )
                step[h, invalid::2, 2 * t] = _state(pushed, np.maximum(invalid, full))
                step[h, invalid::2, 2 * t + 1] = _state(popped, np.maximum(invalid, empty | ~mine))
    log_tilt = np.full(2 * len(codes), -np.inf)
    log_tilt[0] = 0
    return GuidedWorld(step, base, log_tilt)


def _check(length: Any, square: Any, opening: Any, errors: Any) -> Float[np.ndarray, " 2"]:
    """The errors; raise for what no such world has."""
    if check_count("length", length, 2) % 2:
        raise ValueError(f"length is {length}; balanced strings have an even length")
    if length // 2 > DEEPEST:
        raise ValueError(f"length is {length}; at most {2 * DEEPEST} is written out stack by stack")
    check_number("square", square, 0, 1)
    check_number("opening", opening, 0, 1)
    eta = np.asarray(check_reals("errors", errors, (2,)), np.float64)
    for t in (0, 1):
        check_number(f"errors[{t}]", eta[t], 0, 1)
    return eta


def _state(codes: Int[np.ndarray, " n"], invalid: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    return 2 * (codes - 1) + invalid


def noisy_dyck_log_values(
    length: int, square: float = 0.2, opening: float = 0.5, errors: Any = (0.3, 0.1)
) -> Float[np.ndarray, "levels S"]:
    """`V*` in closed form: `prod_{b on the stack} (1 - errors[b]) m^((D - h - d) / 2)` after a valid
    prefix that can be completed, zero elsewhere."""
    keep = 1 - _check(length, square, opening, errors)
    half = length // 2
    mean = square * keep[0] + (1 - square) * keep[1]
    codes = np.arange(1, 2 ** (half + 1))
    depth = np.floor(np.log2(codes)).astype(int)
    bits = np.sum([(codes >> i) % 2 * (depth > i) for i in range(half + 1)], axis=0)
    with np.errstate(divide="ignore"):
        log_keep, log_mean = np.log(keep), np.log(mean)
    stack = _times(bits, log_keep[1]) + _times(depth - bits, log_keep[0])
    table = np.full((length + 1, 2 * len(codes)), -np.inf)
    for h in range(length + 1):
        left = length - h - depth
        fits = (left >= 0) & (left % 2 == 0)
        table[h, ::2] = np.where(fits, stack + _times(np.maximum(left, 0) // 2, log_mean), -np.inf)
    return table


def _times(count: Int[np.ndarray, " n"], log: float) -> Float[np.ndarray, " n"]:
    """`count log`, zero for a count of zero even if the logarithm is -inf."""
    return np.where(count > 0, np.maximum(count, 1) * log, 0.0)
