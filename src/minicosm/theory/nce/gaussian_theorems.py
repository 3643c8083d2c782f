"""How flat the NCE loss of two Gaussians is: Section 4.1.3 and its proofs, Sections 4.1.7 to 4.1.9.

The landscape underflows where it is interesting, so both sides of an inequality are divided by the size that
the source gives it, and the slack is that of the quotient: 1 less the share of the bound that is used.
"""

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from minicosm.worlds import GaussianMean

from ..checks import POSITIVE, reals, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .assumptions import directions, ring
from .contrast import NODES, Contrast, answers
from .moments import nce_loss
from .rules import points

RING = 0.5625
"""The exponent of Lemma 49: the least `(2 - 1/β)²` of the ring, at `b = 0.8 R`."""
RING_CONSTANT = 0.53
LARGE = 8.0  # what is called "R ≫ 1"


def _large(world: GaussianMean) -> Condition:
    R = abs(float(world.R))
    reason = "" if R >= LARGE else f"R is {R:g}, less than {LARGE:g}"
    return Condition("R ≫ 1", R >= LARGE, {"R": R}, reason)


def _log_size(world: GaussianMean) -> float:
    """`-R²/8`, the logarithm of the size of everything at τ*."""
    return -(float(world.R) ** 2) / 8


@checked(nodes=whole(2, 2**20))
def proposition_7(world: GaussianMean, nodes: int = NODES) -> Theorem:
    """`L* = c sqrt(2π)/R e^{-R²/8}` with `1 - (8 + π²)/(2R²) <= c <= 1`, and the loss at the noise is log 2.

    With `v = R (x - R/2)` the loss is `φ(R/2)/R ∫ e^{-v²/(2R²)} e^{v/2} log(1 + e^{-v}) dv`. Without the
    Gaussian factor, which lies between `1 - v²/(2R²)` and 1, the integral is 2π, with v² it is
    `2π (8 + π²)`.
    """
    R, contrast = abs(float(world.R)), Contrast(world, nodes=nodes)
    log = contrast.optimum().log_loss - _log_size(world)
    c = math.exp(log) * R / math.sqrt(2 * math.pi)
    least = 1 - (8 + math.pi**2) / (2 * R**2)
    start = abs(contrast.loss(np.asarray(world.noise)) - math.log(2))
    return Theorem.inequality(
        "Proposition 7",
        float(np.min([1 - c, c - least, -start])),
        details={
            "R": R,
            "c": c,
            "least c": least,
            "printed c": math.exp(log),
            "at the noise": start,
        },
    )


@checked(nodes=whole(2, 2**20))
def proposition_7_as_printed(world: GaussianMean, nodes: int = NODES) -> Theorem:
    """`L* = c e^{-R²/8}` with c in [1/2, 2]."""
    c = math.exp(Contrast(world, nodes=nodes).optimum().log_loss - _log_size(world))
    return Theorem.inequality(
        "Proposition 7 as printed",
        float(np.min([c - 0.5, 2 - c])),
        conditions=(_large(world),),
        details={"R": abs(float(world.R)), "c": c},
    )


@checked(delta=POSITIVE, angles=whole(1, 2**16), nodes=whole(2, 2**20))
def proposition_8(
    world: GaussianMean, delta: float, angles: int = 73, nodes: int = NODES
) -> Theorem:
    """`|τ - τ*| <= δ < 1` gives `L(τ) - L* <= R e^{-R²/8} δ²`, on circles of radius δ and δ/2."""
    R, contrast = abs(float(world.R)), Contrast(world, nodes=nodes)
    taus = np.concatenate([world.truth + r * directions(angles) for r in (delta, delta / 2)])
    best = contrast.optimum().log_loss
    more = math.exp(best - _log_size(world)) * np.expm1(answers(contrast, "log loss", taus) - best)
    share = float(more.max()) / (R * delta**2)
    small = Condition(
        "δ < 1", delta < 1, {"delta": delta}, "" if delta < 1 else f"δ is {delta:g}, not below 1"
    )
    return Theorem.inequality(
        "Proposition 8",
        1 - share,
        cases=len(taus),
        conditions=(small,),
        details={"R": R, "delta": delta, "share": share},
    )


@checked(nodes=whole(2, 2**20))
def lemma_46(world: GaussianMean, nodes: int = NODES) -> Theorem:
    """`σ_max(H*) <= R/sqrt(2π) e^{-R²/8}`."""
    R, optimum = abs(float(world.R)), Contrast(world, nodes=nodes).optimum()
    bound = math.log(R / math.sqrt(2 * math.pi)) + _log_size(world)
    share = math.exp(optimum.log_largest - bound)
    return Theorem.inequality("Lemma 46", 1 - share, details={"R": R, "share": share})


def _log_smallest(world: GaussianMean) -> float:
    """`log(2π³ R^-5 φ(R/2))`."""
    R = abs(float(world.R))
    return math.log(2 * math.pi**3 / math.sqrt(2 * math.pi)) - 5 * math.log(R) + _log_size(world)


@checked(nodes=whole(2, 2**20))
def lemma_47(world: GaussianMean, nodes: int = NODES) -> Theorem:
    """`σ_min(H*) = c 2π³ R^-5 φ(R/2)` with `(1 - 5π²/(2R²)) / (1 + 4/R² + 4π²/R⁴) <= c <= 1`.

    About `x = R/2` the weight of the Hessian is even, so `H* = m_0 (1, R/2)-part + m_2 e_1 e_1^T` and
    `σ_min σ_max = m_0 m_2`; the moments `∫ v^{2n} / (2 cosh(v/2)) dv` are π, π³, 5π⁵.
    """
    R, optimum = abs(float(world.R)), Contrast(world, nodes=nodes).optimum()
    c = math.exp(optimum.log_smallest - _log_smallest(world))
    least = (1 - 5 * math.pi**2 / (2 * R**2)) / (1 + 4 / R**2 + 4 * math.pi**2 / R**4)
    scaled = math.exp(optimum.log_smallest - _log_size(world)) * R
    return Theorem.inequality(
        "Lemma 47",
        float(np.min([1 - c, c - least])),
        details={"R": R, "c": c, "least c": least, "printed size": scaled},
    )


@checked(nodes=whole(2, 2**20))
def lemma_47_as_printed(near: GaussianMean, far: GaussianMean, nodes: int = NODES) -> Theorem:
    """`σ_min(H*)` is `R^-1 e^{-R²/8}` up to factors between 1/2 and 2, as the source's Θ says: of two R the
    quotients differ by a factor of at most 4."""
    sizes = []
    for world in (near, far):
        log = Contrast(world, nodes=nodes).optimum().log_smallest
        sizes.append(log - _log_size(world) + math.log(abs(float(world.R))))
    factor = math.exp(abs(sizes[0] - sizes[1]))
    return Theorem.inequality(
        "Lemma 47 as printed",
        4 - factor,
        conditions=(_large(near), _large(far)),
        details={"near": float(near.R), "far": float(far.R), "factor": factor},
    )


@checked(nodes=whole(2, 2**20))
def lemma_48(world: GaussianMean, nodes: int = NODES) -> Theorem:
    """At P = Q the Hessian is `[[R²+2, -R], [-R, 2]]/8`, so `σ_max = (R² + 4 + sqrt(R⁴ + 4R²))/16`, which is
    at least `(R² + 2)/8`; against the Hessian by differentiating the loss."""
    R = float(world.R)
    found = answers(
        Contrast(world, nodes=nodes), "hessian by differentiation", np.asarray(world.noise)[None]
    )[0]
    matrix = np.array([[R**2 + 2, -R], [-R, 2]]) / 8
    largest = np.linalg.eigvalsh(found)[-1]
    closed = (R**2 + 4 + math.sqrt(R**4 + 4 * R**2)) / 16
    error = np.max([np.abs(found - matrix).max(), abs(largest - closed)]) / closed
    least = (R**2 + 2) / 8
    return Theorem.identity(
        "Lemma 48",
        float(np.max([error, least - closed])),
        details={"R": abs(R), "largest": float(largest), "least": least},
    )


@checked(nodes=whole(2, 2**20))
def lemma_48_as_printed(world: GaussianMean, nodes: int = NODES) -> Theorem:
    """`σ_max >= R²/2` at P = Q."""
    tau = np.asarray(world.noise)[None]
    found = answers(Contrast(world, nodes=nodes), "hessian by differentiation", tau)[0]
    largest, R = float(np.linalg.eigvalsh(found)[-1]), float(world.R)
    return Theorem.inequality(
        "Lemma 48 as printed",
        largest - R**2 / 2,
        details={"R": abs(R), "largest": largest, "printed": R**2 / 2},
    )


@checked(taus=points, nodes=whole(2, 2**20))
def claim_6(world: GaussianMean, taus: Float[np.ndarray, "n 2"], nodes: int = NODES) -> Theorem:
    """`|∇L| <= (sqrt(2) + sqrt(R² + 2))/2` at every τ, which is below the `32 max(R, |b|)` of the source for
    R >= 1: both expectations of |T| are at most the roots of those of its square."""
    R = abs(float(world.R))
    norm = np.linalg.norm(answers(Contrast(world, nodes=nodes), "gradient", taus), axis=1)
    share = float(norm.max()) / ((math.sqrt(2) + math.sqrt(R**2 + 2)) / 2)
    printed = float((norm / (32 * np.maximum(R, np.abs(taus[:, 0])))).max())
    return Theorem.inequality(
        "Claim 6",
        1 - float(np.max([share, printed])),
        cases=len(taus),
        details={"R": R, "share": share, "share of the printed bound": printed},
    )


def _along_ring(
    world: GaussianMean, radii: int, angles: int, nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """At the points of the ring the gradient along `u = (τ* - τ)/|τ* - τ|`, and its norm."""
    return _ring_gradients(float(world.R), radii, angles, nodes)


@functools.lru_cache(maxsize=64)
def _ring_gradients(R: float, radii: int, angles: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    world = GaussianMean(R)
    taus = ring(world, radii, angles)
    away = np.asarray(world.truth) - taus
    gradients = answers(Contrast(world, nodes=nodes), "gradient", taus)
    along = np.abs((gradients * away).sum(axis=1)) / np.linalg.norm(away, axis=1)
    return along, np.linalg.norm(gradients, axis=1)


RING_SIZES = {"radii": whole(1, 2**12), "angles": whole(1, 2**16), "nodes": whole(2, 2**20)}


@checked(**RING_SIZES)
def lemma_49(world: GaussianMean, radii: int = 5, angles: int = 181, nodes: int = NODES) -> Theorem:
    """In the ring `0.1 R <= |τ - τ*| <= 0.2 R`, `|<∇L, u>| <= 0.53 e^{-0.5625 R²/8}`.

    The gradient there is of the size `exp(-min(x, R - x)²/2)` at the place `x = c/b` where p = q; at
    `b = 0.8 R` this is 0.625 R, and `4 (R - x)² / R² = (2 - 1/0.8)² = 0.5625`."""
    along, _ = _along_ring(world, radii, angles, nodes)
    scaled = float(along.max()) * math.exp(RING * float(world.R) ** 2 / 8)
    return Theorem.inequality(
        "Lemma 49",
        RING_CONSTANT - scaled,
        cases=len(along),
        conditions=(_large(world),),
        details={"R": abs(float(world.R)), "scaled": scaled, "largest": float(along.max())},
    )


@checked(**RING_SIZES)
def lemma_49_as_printed(
    world: GaussianMean, radii: int = 5, angles: int = 181, nodes: int = NODES
) -> Theorem:
    """In the ring `|<∇L, u>| <= 2 e^{-0.75 R²/8}`: the least exponent that is printed, and the largest
    constant that the source's O(1) may hide."""
    along, _ = _along_ring(world, radii, angles, nodes)
    scaled = float(along.max()) * math.exp(0.75 * float(world.R) ** 2 / 8)
    return Theorem.inequality(
        "Lemma 49 as printed",
        2 - scaled,
        cases=len(along),
        conditions=(_large(world),),
        details={"R": abs(float(world.R)), "scaled": scaled},
    )


@checked(taus=points, rate=POSITIVE, nodes=whole(2, 2**20))
def lemma_50(
    world: GaussianMean, taus: Float[np.ndarray, "n 2"], rate: float = 0.05, nodes: int = NODES
) -> Theorem:
    """A step of gradient descent with `η <= 0.05` from `|τ - τ*| >= 0.2 R` stays outside 0.15 R."""
    R, truth = abs(float(world.R)), np.asarray(world.truth)
    start = np.linalg.norm(taus - truth, axis=1)
    outside = taus[start >= 0.2 * R]
    if not len(outside):
        return Theorem.inequality("Lemma 50", math.nan, cases=0)
    after = outside - rate * answers(Contrast(world, nodes=nodes), "gradient", outside)
    nearest = float(np.linalg.norm(after - truth, axis=1).min()) / R
    small = Condition(
        "η small", rate <= 0.05, {"rate": rate}, "" if rate <= 0.05 else f"η is {rate:g}"
    )
    return Theorem.inequality(
        "Lemma 50",
        nearest - 0.15,
        within=0.0,
        cases=len(outside),
        conditions=(small,),
        details={"R": R, "nearest": nearest},
    )


@checked(**RING_SIZES)
def figure_4_1(
    world: GaussianMean, radii: int = 5, angles: int = 181, nodes: int = NODES
) -> Theorem:
    """The ring lies in the region `b >= R/2, b(R - b) <= c <= b min(b, R)` of Equation 4.17, with c less
    `log sqrt(2π)`, which the source leaves out; and the gradient in it is below 1e-3 for R >= 10."""
    R = abs(float(world.R))
    b, c = ring(world, radii, angles).T
    c = c - float(world.noise[1])
    inside = np.stack([b - R / 2, c - b * (R - b), b * np.minimum(b, R) - c])
    _, norm = _along_ring(world, radii, angles, nodes)
    far = Condition("R >= 10", R >= 10, {"R": R}, "" if R >= 10 else f"R is {R:g}, less than 10")
    return Theorem.inequality(
        "Figure 4.1",
        float(np.min([inside.min(), 1e-3 - norm.max()])),
        within=0.0,
        cases=len(b),
        conditions=(far,),
        details={"R": R, "largest gradient": float(norm.max()), "room": float(inside.min())},
    )


@checked(**RING_SIZES)
def theorem_18_inequality(
    world: GaussianMean, radii: int = 5, angles: int = 181, nodes: int = NODES
) -> Theorem:
    """In the ring `|∇L| <= 0.53 e^{-0.5625 R²/8}`, so that a Newton step, at most `η |∇L| / σ_min(H)`
    long, comes exponentially little nearer: what the proof of Theorem 18 needs of Equation 4.60."""
    along, norm = _along_ring(world, radii, angles, nodes)
    scaled = float(norm.max()) * math.exp(RING * float(world.R) ** 2 / 8)
    return Theorem.inequality(
        "Theorem 18, inequality",
        RING_CONSTANT - scaled,
        cases=len(along),
        conditions=(_large(world),),
        details={"R": abs(float(world.R)), "scaled": scaled},
    )


@checked(taus=points, rate=POSITIVE, nodes=whole(2, 2**20))
def theorem_18_inequality_as_printed(
    world: GaussianMean, taus: Float[np.ndarray, "n 2"], rate: float, nodes: int = NODES
) -> Theorem:
    """A Newton step of size η decreases `|τ - τ*|` by at most `η |<∇L, u>| / σ_min(H)`, with
    `u = (τ - τ*)/|τ - τ*|` (Equation 4.60). It is not true of convex functions in general: in the
    direction of the least eigenvalue both sides are equal up to the third derivative."""
    contrast, away = Contrast(world, nodes=nodes), taus - np.asarray(world.truth)
    far = np.linalg.norm(away, axis=1)
    steps = answers(contrast, "newton", taus)
    # (|d| - |d - ηn|)/η without a difference of two nearly equal numbers
    left = (2 * (steps * away).sum(axis=1) - rate * (steps**2).sum(axis=1)) / (
        far + np.linalg.norm(away - rate * steps, axis=1)
    )
    # the factors of gradient and Hessian underflow; they are put back as a difference of logarithms
    scaled = answers(contrast, "scaled gradient", taus)
    along = np.abs((scaled[:, :-1] * away).sum(axis=1)) / far
    least, _, log_hessian = answers(contrast, "extremes", taus).T
    right = along / least * np.exp(scaled[:, -1] - log_hessian)
    shares = left / right
    lost = np.flatnonzero(~np.isfinite(shares))
    if lost.size:
        raise ValueError(
            f"taus[{lost[0]}] is {taus[lost[0]]}; steps must be finite there, and it must not be τ*"
        )
    share = float(shares.max())
    return Theorem.inequality(
        "Theorem 18, inequality as printed",
        1 - share,
        cases=len(taus),
        details={"R": abs(float(world.R)), "share": share},
    )


@eqx.filter_jit
def _curvature_along(world: GaussianMean, nodes: int, thetas: Array) -> Array:
    grid = world.grid(nodes)

    def loss(theta: Array) -> Array:
        return nce_loss(world, grid, world.extended(theta[None]))

    return jax.vmap(jax.grad(jax.grad(loss)))(thetas)


@checked(thetas=reals((None,)), nodes=whole(2, 2**20))
def free_partition(
    world: GaussianMean, thetas: Float[np.ndarray, " n"], nodes: int = NODES
) -> Theorem:
    """With the log-partition tied to θ, `α = A(θ)`, the NCE loss is convex along these θ (it is not, for
    large R: Lemma 45 needs α to be free)."""
    with jax.enable_x64(True):
        curvature = np.asarray(_curvature_along(world, nodes, jnp.asarray(thetas)))
    at = int(curvature.argmin())
    return Theorem.inequality(
        "tied partition, convexity",
        float(curvature[at]),
        cases=len(thetas),
        details={
            "R": abs(float(world.R)),
            "least": float(curvature[at]),
            "theta": float(thetas[at]),
        },
    )
