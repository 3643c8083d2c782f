"""Numbers that were computed beforehand, with other code: what exact results are compared with."""

# Figure 4.3, expected steps capped at 1000, for k = 1..10; by coupling. From 7 on they stay the same.
STEPS = {
    1.0: (20.9, 10.1, 6.5, 4.7, 3.6, 2.9, 2.3, 1.9, 1.4, 1),
    2.5: (447, 22.3, 10.1, 6.2, 4.3, 3.2, 2.4, 1.9, 1.4, 1),
    3.0: (954, 382, 29.5, 10.4, 5.6, 3.6, 2.6, 1.9, 1.4, 1),
    4.0: (1000, 999, 33.4, 10.8, 5.6, 3.6, 2.6, 1.9, 1.4, 1),
    5.0: (1000, 1000, 64.2, 19.0, 9.0, 5.2, 3.4, 2.3, 1.5, 1),
    6.0: (1000, 1000, 961, 198, 41.1, 13.9, 6.0, 3.0, 1.7, 1),
    7.0: (1000, 1000, 1000, 208, 42.0, 14.0, 6.0, 3.0, 1.7, 1),
}
FROZEN = 7.0


def unit(stated: float) -> float:
    """One in the last digit that is given above."""
    return 1.0 if stated >= 100 else 0.1


# The chance of the independent sampler to arrive within 1000 steps, and its mean steps.
ARRIVES = {1.0: 1.0, 2.5: 1.0, 3.0: 0.74, 4.0: 3e-3, 5.0: 7e-6, 6.0: 1e-9}
ALONE = {1.0: 1.1, 2.5: 39.7}

# Six coupled spins from noise, by J, h and chain: (all equal, larger mode, total variation) after 1, 2
# and 10 passes.
ONE_PASS = {
    (2.0, 0.3, "denoiser 0.15"): (
        (0.821, 0.821, 0.179), (0.969, 0.969, 0.031), (0.973, 0.973, 0.027)
    ),
    (2.0, 0.3, "independent"): (
        (0.650, 0.335, 0.639), (0.722, 0.371, 0.602), (0.898, 0.507, 0.467)
    ),
    (2.0, 0.05, "denoiser 0.15"): (
        (0.137, 0.122, 0.863), (0.243, 0.233, 0.757), (0.430, 0.429, 0.570)
    ),
    (2.0, 0.05, "denoiser 0.5"): (
        (0.468, 0.293, 0.532), (0.808, 0.510, 0.192), (0.991, 0.622, 0.023)
    ),
    (1.0, 0.0, "denoiser 0.15"): (
        (0.097, 0.048, 0.903), (0.132, 0.066, 0.868), (0.161, 0.080, 0.839)
    ),
    (1.0, 0.0, "independent"): (
        (0.498, 0.249, 0.502), (0.762, 0.381, 0.238), (0.998, 0.499, 0.002)
    ),
}  # fmt: skip

# Stutter of one exact pass, for three laws of phrase lengths: share of pairs, total variation of the
# alignment posteriors at these pairs, and elsewhere. From 400 sources; the error is 0.02.
SHARES, APART, ELSEWHERE = (0.10, 0.19, 0.29), (0.48, 0.44, 0.32), (0.82, 0.52, 0.34)

# Theorem 4.1.4 in two spins (|theta| <= 0.5, eps = 0.05, delta = 0.1, C_AT = 2.5, no loss): (m, n, bound).
BOUNDS = ((10**3, 10**4, 181.0), (10**9, 10**6, 5.7), (10**14, 10**8, 0.41))

# Corollary 4.1.1 with M = 1000, delta = 0.1: the least clique, and the chance of one joint step.
CLIQUE, JOINT_STEP = 93, 0.98734
