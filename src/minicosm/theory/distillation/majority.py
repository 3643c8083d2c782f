"""Fourier coefficients of the majority function, on which the analysis of the first step stands."""

from collections.abc import Sequence
from math import comb, lgamma, log

import numpy as np

from ..checks import whole
from ..signatures import checked
from ..theorem import Condition, Theorem

TIGHT = 2.0
"""By which factor a ratio may vary over all dimensions where one side is said to be of the order of the
other."""


@checked(d=whole(1, 10**6), i=whole(0, 10**6))
def majority_coefficient(d: int, i: int) -> float:
    r"""`zeta_i = E Maj(x) x_1 ... x_i` for odd d: 0 for even i, else

    `(-1)^((i-1)/2) C((d-1)/2, (i-1)/2) / C(d-1, i-1) * 2 C(d-1, (d-1)/2) / 2^d`.
    """
    if d % 2 == 0:
        raise ValueError(f"d is {d}; the closed form is for odd d")
    if i > d:
        raise ValueError(f"i is {i}; it must be at most d = {d}")
    if i % 2 == 0:
        return 0.0
    half, j = (d - 1) // 2, (i - 1) // 2
    size = _log_comb(half, j) - _log_comb(d - 1, i - 1) + _log_comb(d - 1, half) + (1 - d) * log(2)
    return float((-1) ** j * np.exp(size))


def _log_comb(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


@checked(i=whole(1, 99))
def majority_scaling(i: int, dims: Sequence[int], *, printed: bool = False) -> Theorem:
    r"""The order of `|zeta_i|` over odd dimensions: `i^(-3/4) C(d, i)^(-1/2)`, as printed `i^(-1/3) /
    C(d, i)`.

    Holds iff the ratio of the two sides varies by at most a factor of 2; as corrected the ratio itself, to
    the constant `(2/pi)^(3/4)`, is within a factor of 2 of one besides.
    """
    odd = Condition(
        "odd degree and dimensions",
        i % 2 == 1 and all(d % 2 == 1 and d >= i for d in dims) and len(dims) > 1,
        {"i": i},
        reason=f"i is {i} and the dimensions are {list(dims)}; all must be odd, and not below i",
    )
    name = "Order of the majority coefficients" + (" as printed" if printed else "")
    if not odd.holds:
        return Theorem(name, (odd,))
    exact = np.array([abs(majority_coefficient(d, i)) for d in dims])
    binomials = np.array([float(comb(d, i)) for d in dims])
    if printed:
        ratio = exact * binomials * i ** (1 / 3)
    else:
        ratio = exact / ((2 / np.pi) ** 0.75 * i**-0.75 / np.sqrt(binomials))
    spread = float(ratio.max() / ratio.min())
    off = spread if printed else max(spread, float(ratio.max()), float(1 / ratio.min()))
    return Theorem.inequality(
        name,
        TIGHT - off,
        within=0.0,
        conditions=(odd,),
        details={"least": float(ratio.min()), "largest": float(ratio.max()), "i": i},
    )


@checked(d=whole(3, 10**5), k=whole(2, 60))
def majority_gap(d: int, k: int) -> Theorem:
    """`|zeta_{k-1}| - |zeta_{k+1}| >= 0.03 (d-1)^(-(k-1)/2)` for even k and odd d > 2k - 1, which is the gap
    between the first gradients on and off the support."""
    meets = Condition(
        "k even, d odd and above 2k - 1",
        k % 2 == 0 and d % 2 == 1 and d > 2 * k - 1,
        {"d": d, "k": k},
        reason=f"d is {d} and k is {k}",
    )
    if not meets.holds:
        return Theorem("Gap of the majority coefficients", (meets,))
    gap = abs(majority_coefficient(d, k - 1)) - abs(majority_coefficient(d, k + 1))
    bound = 0.03 * (d - 1.0) ** (-(k - 1) / 2)
    return Theorem.inequality(
        "Gap of the majority coefficients",
        gap / bound - 1,
        within=0.0,
        conditions=(meets,),
        details={"times the bound": float(gap / bound), "d": d, "k": k},
    )
