"""How fast diffusions and their contrastive pairs forget: Equation 2.2 and Lemmas 3 to 5 of Liu's thesis,
Section 2.1."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from minicosm.worlds.diffusions import Contrast, GridDiffusion, OrnsteinUhlenbeck, contrast_table

from ..checks import kind, real, reals, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .arguments import CONTRAST, WORLD, kernels, law_of, like

TIME = real(above=0, most=1e6)


def _rho(world: OrnsteinUhlenbeck | GridDiffusion) -> tuple[float, int, float]:
    """Strong convexity, dimension, and the stationary density at the minimiser."""
    if isinstance(world, GridDiffusion):
        at = int(np.argmin(np.abs(world.points)))
        return world.potential.rho, 1, float(world.law[at] / world.spacing)
    d = world.dimension
    values = np.linalg.eigvalsh(world.stiffness)
    return float(values[0]), d, float(np.sqrt(np.prod(values / (2 * np.pi))))


@checked(world=WORLD)
def equation_2_2(world: OrnsteinUhlenbeck | GridDiffusion) -> Theorem:
    """`B = E|x| <= sqrt(d / rho)`: since `E<x, grad f(x)> = d` and `<x, grad f(x)> >= rho |x|^2`."""
    rho, d, _ = _rho(world)
    B = world.mean_norm()
    return Theorem.inequality("Equation 2.2", np.sqrt(d / rho) - B, details={"B": B, "d": d})


@checked(world=WORLD)
def equation_2_2_as_printed(world: OrnsteinUhlenbeck | GridDiffusion) -> Theorem:
    """`B <= pi(z*) sqrt(d / rho)`, as printed."""
    rho, d, top = _rho(world)
    B = world.mean_norm()
    bound = top * np.sqrt(d / rho)
    return Theorem.inequality(
        "Equation 2.2 as printed", bound - B, details={"B": B, "bound": float(bound), "d": d}
    )


# -- Lemmas 3 and 4: pairs -------------------------------------------------------------------------


class PairMixing(NamedTuple):
    """Mixing coefficients after 2i gaps: of pairs, of pairs with their labels, and of points after 2i gaps
    and one gap less."""

    pairs: float
    labelled: float
    points: float
    nearer: float


@checked(P=kernels, law=law_of("P"), q=like("P"), i=whole(1, 64))
def pair_mixing(
    P: Float[np.ndarray, "n n"], law: Float[np.ndarray, " n"], q: Float[np.ndarray, "n n"], i: int
) -> PairMixing:
    """Of a stationary chain with kernel P for one gap and contrast laws q.

    Given a pair (z, z') the anchor 2i gaps later has the law `w P^{2i-1}(z', .) + (1 - w) P^{2i}(z, .)`, with
    `w = P / (P + q)` the probability that z' was the next observation; its partner adds nothing.
    """
    if P.ndim != 2:
        raise ValueError(f"P has shape {P.shape}; it must be one kernel")
    return _pair_mixing(P, law, q, i)


def _pair_mixing(P: np.ndarray, law: np.ndarray, q: np.ndarray, i: int) -> PairMixing:
    near, far = (np.linalg.matrix_power(P, n) for n in (2 * i - 1, 2 * i))
    w = P / (P + q)
    mixed = w[:, :, None] * near[None] + (1 - w)[:, :, None] * far[:, None]
    spread = np.abs(mixed - law).sum(axis=2) / 2
    weights = law[:, None] * (P + q) / 2
    of_near, of_far = (np.abs(K - law).sum(axis=1) / 2 for K in (near, far))
    labelled = law @ (P @ of_near) / 2 + law @ of_far / 2
    return PairMixing(
        float(np.sum(weights * spread)), float(labelled), float(law @ of_far), float(law @ of_near)
    )


@checked(P=kernels, law=law_of("P"), q=like("P"), i=whole(1, 64))
def lemma_4(
    P: Float[np.ndarray, "n n"], law: Float[np.ndarray, " n"], q: Float[np.ndarray, "n n"], i: int
) -> Theorem:
    """`beta_L(2i gap) <= beta_S(2i gap) <= (beta_L((2i - 1) gap) + beta_L(2i gap)) / 2`, the right side
    attained when labels are part of the pair: a positive partner is one gap nearer to the future."""
    found = pair_mixing(P, law, q, i)
    mean = (found.points + found.nearer) / 2
    slack = min(found.pairs - found.points, mean - found.pairs, -abs(found.labelled - mean))
    return Theorem.inequality("Lemma 4", slack, within=1e-12, details=found._asdict())


@checked(P=kernels, law=law_of("P"), q=like("P"), i=whole(1, 64))
def lemma_4_as_printed(
    P: Float[np.ndarray, "n n"], law: Float[np.ndarray, " n"], q: Float[np.ndarray, "n n"], i: int
) -> Theorem:
    """`beta_S(t) = beta_L(t)`, as printed."""
    found = pair_mixing(P, law, q, i)
    return Theorem.identity(
        "Lemma 4 as printed", abs(found.pairs - found.points), details=found._asdict()
    )


@checked(world=kind(GridDiffusion), contrast=CONTRAST, i=whole(1, 64))
def lemma_3(world: GridDiffusion, contrast: Contrast, i: int) -> Theorem:
    """`beta_S(2i gap) <= B / sqrt(pi (2i - 1) gap)`, where that is below one: the mixing coefficients of
    pairs fall as `B / sqrt(t)`."""
    bound = world.mean_norm() / np.sqrt(np.pi * (2 * i - 1) * world.gap)
    says = Condition(
        "a bound below one",
        bool(bound < 1),
        {"bound": float(bound)},
        reason=f"the bound is {bound:.3g}",
    )
    if not says.holds:
        return Theorem("Lemma 3", (says,))
    P = np.maximum(world.kernel, 1e-300)
    q = np.maximum(contrast_table(world, contrast), 1e-300)
    found = _pair_mixing(P, world.law, q, i)
    return Theorem.inequality(
        "Lemma 3",
        bound - found.pairs,
        conditions=(says,),
        details={"pairs": found.pairs, "bound": float(bound)},
    )


# -- Lemma 5: points -------------------------------------------------------------------------------


def normal_distance(mean: float, variance: float, other: float) -> float:
    """The total variation between `N(mean, variance)` and `N(0, other)`, by the points where densities
    cross."""
    if abs(variance - other) < 1e-14 * other:
        return float(2 * ndtr(abs(mean) / np.sqrt(other) / 2) - 1)
    A, B = 1 / other - 1 / variance, 2 * mean / variance
    C = -(mean**2) / variance + np.log(other / variance)
    root = np.sqrt(max(B * B - 4 * A * C, 0.0))
    low, high = sorted(((-B - root) / (2 * A), (-B + root) / (2 * A)))
    first = ndtr((high - mean) / np.sqrt(variance)) - ndtr((low - mean) / np.sqrt(variance))
    return float(abs(first - (ndtr(high / np.sqrt(other)) - ndtr(low / np.sqrt(other)))))


def distances_after(
    world: OrnsteinUhlenbeck | GridDiffusion, starts: Any, time: float
) -> tuple[np.ndarray, np.ndarray]:
    """`TV(P(z_t | z_0 = z), pi)` and `E_pi |z - y|`, for every start z (on a grid, for the nearest point)."""
    if isinstance(world, GridDiffusion):
        at = np.abs(world.points[None] - np.asarray(starts)[:, None]).argmin(axis=1)
        rows = world.kernel_after(time)[at]
        apart = np.abs(world.points[at, None] - world.points[None]) @ world.law
        return np.abs(rows - world.law).sum(axis=1) / 2, apart
    if world.dimension != 1:
        raise ValueError(f"world has {world.dimension} dimensions; it must have one")
    a, variance = (float(m.item()) for m in world.moments(time))
    other = 1 / float(world.stiffness.item())
    found = np.array([normal_distance(a * z, variance, other) for z in starts])
    z = np.asarray(starts) / np.sqrt(other)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return found, np.sqrt(other) * (z * (2 * ndtr(z) - 1) + 2 * density)


STARTS = reals((None,))


@checked(world=WORLD, starts=STARTS, time=TIME)
def lemma_5(
    world: OrnsteinUhlenbeck | GridDiffusion, starts: Float[np.ndarray, " n"], time: float
) -> Theorem:
    """`TV(P(z_t | z_0 = z), pi) <= E_pi |z - y| / (2 sqrt(pi t))` for every start z: of two copies whose
    noises are mirrored, one from z and one from pi, the distance is at most a Brownian motion of twice the
    variance, which has to reach 0."""
    found, apart = distances_after(world, starts, time)
    slack = apart / (2 * np.sqrt(np.pi * time)) - found
    return Theorem.inequality(
        "Lemma 5", float(slack.min()), cases=len(starts), details={"time": time}
    )


@checked(world=WORLD, starts=STARTS, time=TIME)
def lemma_5_as_printed(
    world: OrnsteinUhlenbeck | GridDiffusion, starts: Float[np.ndarray, " n"], time: float
) -> Theorem:
    """`TV(P(z_t | z_0 = z), pi) <= B / sqrt(2 pi t)` for all z, as printed."""
    found, _ = distances_after(world, starts, time)
    bound = world.mean_norm() / np.sqrt(2 * np.pi * time)
    wrong = np.asarray(starts)[found > bound]
    details = {"time": time, "largest distance": float(found.max()), "bound": float(bound)}
    if len(wrong):
        details["least start that violates it"] = float(np.abs(wrong).min())
    return Theorem.inequality(
        "Lemma 5 as printed", float((bound - found).min()), cases=len(starts), details=details
    )


@checked(world=kind(OrnsteinUhlenbeck), time=TIME)
def beta(world: OrnsteinUhlenbeck, time: float) -> float:
    """The mixing coefficient `E_pi TV(P^time(z, .), pi)` of an Ornstein-Uhlenbeck world in one dimension."""
    if world.dimension != 1:
        raise ValueError(f"world has {world.dimension} dimensions; it must have one")
    u = np.linspace(-8.5, 8.5, 801)
    law = np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi) * (u[1] - u[0])
    s = 1 / np.sqrt(float(world.stiffness.item()))
    return float(law @ distances_after(world, s * u, time)[0])
