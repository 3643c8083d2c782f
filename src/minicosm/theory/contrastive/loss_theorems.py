"""What a small contrastive loss says about the kernel: Lemmas 1 and 6, Theorems 2 and 3 and Remark 1 of
Section 2.1."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from minicosm.worlds.diffusions import (
    Contrast,
    GridDiffusion,
    OrnsteinUhlenbeck,
    contrast_moments,
    contrast_table,
)

from ..checks import kind, real, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .arguments import CONTRAST, kernels, law_of, like
from .quadrature import kernel_at, nodes

MOST_RATIO = 7 / 6  # of p / p*, in Theorem 2
Kernels = Float[np.ndarray, "*batch n n"]
Laws = Float[np.ndarray, "*batch n"]


# -- Lemma 1 ---------------------------------------------------------------------------------------


@checked(world=kind(GridDiffusion), contrast=CONTRAST, seed=whole(0, 2**62))
def lemma_1(world: GridDiffusion, contrast: Contrast, seed: int = 0) -> Theorem:
    """The best classifier is `h* = p* / (p* + q)`, whether q depends on the anchor or not.

    The law of (x, x', label) is written out; `P(label = 1 | x, x')` is h*, and the loss of another classifier
    is that of h* plus the mean of `(h - h*)^2` (Equation 2.10), for ten random ones. Then q h* / (1 - h*) is
    p*.
    """
    p, q = world.kernel, contrast_table(world, contrast)
    positive, negative = (world.law[:, None] * table / 2 for table in (p, q))
    total = positive + negative
    seen = total > 1e-250
    best = np.divide(positive, total, out=np.full_like(p, 0.5), where=seen)
    ratio = np.divide(p, p + q, out=np.full_like(p, 0.5), where=seen)
    errors = [np.abs(best - ratio)[seen].max()]

    def loss(h: np.ndarray) -> float:
        return float(np.sum(positive * (h - 1) ** 2 + negative * h**2))

    rng = np.random.default_rng(seed)
    for _ in range(10):
        h = rng.random(p.shape)
        errors.append(abs(loss(h) - loss(best) - np.sum(total * (h - best) ** 2)))
    back = np.divide(q * best, 1 - best, out=np.zeros_like(p), where=seen & (best < 1))
    known = seen & (best < 1 - 1e-6)
    errors.append(np.abs(back - p)[known].max())
    return Theorem.identity(
        "Lemma 1",
        float(np.max(errors)),
        cases=int(seen.sum()),
        details={"optimal loss": loss(best)},
    )


# -- Theorem 2 -------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """What a learned kernel p comes to beside the true one p*, with a contrast law q; arrays over the
    batch."""

    divergence: np.ndarray  # E_pi KL(p* || p)
    excess: np.ndarray  # E_pi E_mix (h - h*)^2, which is twice the training error of Theorem 2
    least_ratio: np.ndarray  # of p / p*
    largest_ratio: np.ndarray
    c_q: np.ndarray  # the largest of p* / q and q / p*


@checked(truth=kernels, learned=like("truth"), q=like("truth"), law=law_of("truth"))
def comparison(law: Laws, truth: Kernels, learned: Kernels, q: Kernels) -> Comparison:
    """Divergence, excess loss and ratios of kernels on a finite set, with a leading batch of them."""
    ratio, to_q = learned / truth, truth / q
    h, best = learned / (learned + q), truth / (truth + q)
    each = (truth * -np.log(ratio)).sum(axis=-1)
    off = ((truth + q) / 2 * (h - best) ** 2).sum(axis=-1)
    last = (-2, -1)
    return Comparison(
        (law * each).sum(axis=-1),
        (law * off).sum(axis=-1),
        ratio.min(axis=last),
        ratio.max(axis=last),
        np.maximum(to_q.max(axis=last), (1 / to_q).max(axis=last)),
    )


def _local(found: Comparison) -> Condition:
    top = float(found.largest_ratio.max())
    return Condition(
        "p / p* at most 7/6",
        top <= MOST_RATIO + 1e-12,
        {"largest ratio": top},
        reason=f"p / p* goes up to {top:.3g}",
    )


def _bounded(name: str, found: Comparison, factor: Any) -> Theorem:
    """`KL <= factor * excess / least_ratio^2`, in shares of the bound."""
    bound = factor * found.excess / found.least_ratio**2
    share = found.divergence / np.maximum(bound, 1e-300)
    return Theorem.inequality(
        name,
        float(1 - share.max()),
        cases=int(share.size),
        conditions=(_local(found),),
        details={
            "largest share of the bound": float(share.max()),
            "largest c_q": float(found.c_q.max()),
        },
    )


@checked(truth=kernels, learned=like("truth"), q=like("truth"), law=law_of("truth"))
def theorem_2(law: Laws, truth: Kernels, learned: Kernels, q: Kernels) -> Theorem:
    """`E KL(p* || p) <= 2 (1 + c_q)^5 eps / Dmin^2` with `2 eps` the excess loss, for `p / p*` in `[Dmin,
    7/6]`."""
    found = comparison(law, truth, learned, q)
    return _bounded("Theorem 2", found, (1 + found.c_q) ** 5)


@checked(truth=kernels, learned=like("truth"), q=like("truth"), law=law_of("truth"))
def theorem_2_sharper(law: Laws, truth: Kernels, learned: Kernels, q: Kernels) -> Theorem:
    """The same with a factor `c_q^2` less: with `u = p* / (p* + q)` the second derivative of the loss is at
    least `2 u^2 (1 - u)^3`, which is at least `2 c_q^2 / (1 + c_q)^5`."""
    found = comparison(law, truth, learned, q)
    return _bounded("Theorem 2, sharper", found, (1 + found.c_q) ** 5 / found.c_q**2)


@checked(world=kind(OrnsteinUhlenbeck), contrast=CONTRAST, radius=real(above=0, most=20))
def c_q(world: OrnsteinUhlenbeck, contrast: Contrast, radius: float) -> float:
    """`sup max(p* / q, q / p*)` over anchors and partners in `[-radius, radius]`, in one dimension; the
    supremum of a quadratic form of the exponents, taken on a fine grid."""
    if world.dimension != 1:
        raise ValueError(f"world has {world.dimension} dimensions; it must have one")
    slope, mean, covariance = contrast_moments(world, contrast)
    a, variance = (float(m.item()) for m in world.moments())
    v = float(covariance.item())
    z, y = np.meshgrid(*[np.linspace(-radius, radius, 801)] * 2, indexing="ij")
    log = -((y - a * z) ** 2) / (2 * variance) + (y - slope * z - mean) ** 2 / (2 * v)
    log += np.log(v / variance) / 2
    return float(np.exp(np.abs(log).max()))


# -- Theorem 3 -------------------------------------------------------------------------------------


class Global(NamedTuple):
    """The quantities of Theorem 3 for two Ornstein-Uhlenbeck kernels in one dimension."""

    distance: float  # E_{pi, p*} |p - p*|
    excess: float  # E_pi E_mix (h - h*)^2
    moment: float  # E_{pi, p*} (max(p, p*) + q)^4 / q^2


@checked(world=kind(OrnsteinUhlenbeck), other=kind(OrnsteinUhlenbeck), contrast=CONTRAST)
def global_quantities(
    world: OrnsteinUhlenbeck, other: OrnsteinUhlenbeck, contrast: Contrast
) -> Global:
    """Distance, excess loss and moment of the kernel of `other` where that of `world` is the truth."""
    if world.gap != other.gap:
        raise ValueError(
            f"other has the gap {other.gap:g}; it must have that of world, {world.gap:g}"
        )
    at = nodes(world, contrast)
    p = kernel_at(at, other)
    truth, q = at.kernel, at.contrast
    top = np.maximum(p, truth)
    # r(p) - r(p*) = q (p - p*) / ((p + q) (p* + q)), with r(p) = p / (p + q)
    below = (p + q) * (truth + q)
    off = np.divide(q * (p - truth), below, out=np.zeros_like(p), where=below > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        term = np.where(q > 0, (top + q) ** 4 / np.where(q > 0, q, 1) ** 2, 0)
        moment = float(np.sum(at.weights * truth * np.where(truth > 0, term, 0)))
    return Global(
        float(np.sum(at.weights * truth * np.abs(p - truth))),
        float(np.sum(at.weights * (truth + q) / 2 * off**2)),
        moment,
    )


@checked(world=kind(OrnsteinUhlenbeck), other=kind(OrnsteinUhlenbeck), contrast=CONTRAST)
def theorem_3(world: OrnsteinUhlenbeck, other: OrnsteinUhlenbeck, contrast: Contrast) -> Theorem:
    """Equation 2.32: `E |p - p*| <= sqrt(2 excess) sqrt(E (max(p, p*) + q)^4 / q^2)`, in shares of the
    bound."""
    found = global_quantities(world, other, contrast)
    share = found.distance / np.sqrt(2 * found.excess * found.moment)
    return Theorem.inequality(
        "Theorem 3, Equation 2.32", float(1 - share), details={"share of the bound": float(share)}
    )


@checked(gap=real(above=0, most=1))
def scaled_ratio(found: Global, gap: float) -> float:
    """`E|p - p*| gap^{1/2} / sqrt(excess)`, which Theorem 3 bounds as the gap falls, in one dimension."""
    return float(found.distance * np.sqrt(gap) / np.sqrt(found.excess))


@checked(d=whole(1, 64))
def moment_limit(d: int) -> float:
    """The limit of `gap^d E (max(p, p*) + q)^4 / q^2` for `q = N(x, 2 gap)`: all three densities become one,
    so that it is `16 E q^2 = 16 (4 pi sqrt(3))^{-d}`."""
    return 16 * (4 * np.pi * np.sqrt(3)) ** -d


@checked(gap=real(above=0, most=1), d=whole(1, 2), stiffer=real(above=0))
def local_moment(gap: float, d: int, stiffer: float = 1.5) -> float:
    """`gap^d E_{pi, p*} (max(p, p*) + q)^4 / q^2` for the local contrast law in d dimensions, with rho = 1
    for p* and `stiffer` for p. By rotation the anchor is on an axis."""
    worlds = [OrnsteinUhlenbeck(rho, gap) for rho in (1.0, stiffer)]
    (a, v), (b, w) = ([float(m.item()) for m in world.moments()] for world in worlds)
    u = np.linspace(-6.0, 6.0, 241)
    weight = np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi) * (u[1] - u[0])
    r = np.linspace(0.0, 7.0, 141)
    radial = np.exp(-(r**2) / 2) * (np.sqrt(2 / np.pi) if d == 1 else r) * (r[1] - r[0])
    radial[0] /= 2
    along = np.sqrt(v) * u[None] + (a - 1) * r[:, None]  # z' - z along the anchor, [anchor, node]
    across = np.sqrt(v) * u if d == 2 else np.zeros(1)
    rule = weight if d == 2 else np.ones(1)

    def density(shift: float, variance: float) -> np.ndarray:
        first = along + (1 - shift) * r[:, None]
        squares = first[:, :, None] ** 2 + across[None, None] ** 2
        return np.exp(-squares / (2 * variance)) / (2 * np.pi * variance) ** (d / 2)

    truth, p, q = density(a, v), density(b, w), density(1.0, 2 * gap)
    term = (np.maximum(p, truth) + q) ** 4 / q**2
    return float(gap**d * np.einsum("r,u,w,ruw->", radial, weight, rule, term))


@checked(truth=kernels, learned=like("truth"), q=like("truth"), law=law_of("truth"))
def remark_1(law: Laws, truth: Kernels, learned: Kernels, q: Kernels) -> Theorem:
    """With bounded ratios the moment is at most `(2 c_q + 1)^4 E p*^2`, and at most `(Dmax c_q + 1)^4 / c_q^2
    E p*^2`; both in shares of the bound, the sharper one decides."""
    found = comparison(law, truth, learned, q)
    top = np.maximum(learned, truth)
    moment = (law[..., None] * truth * (top + q) ** 4 / q**2).sum(axis=(-2, -1))
    square = (law[..., None] * truth**3).sum(axis=(-2, -1))
    ratio = np.maximum(found.largest_ratio, 1)
    printed = moment / ((2 * found.c_q + 1) ** 4 * square)
    sharper = moment / ((ratio * found.c_q + 1) ** 4 / found.c_q**2 * square)
    return Theorem.inequality(
        "Remark 1",
        float(1 - np.maximum(printed, sharper).max()),
        cases=int(moment.size),
        conditions=(_local(found),),
        details={"share, printed": float(printed.max()), "share, sharper": float(sharper.max())},
    )


# -- Lemma 6 ---------------------------------------------------------------------------------------


@checked(world=kind(OrnsteinUhlenbeck, GridDiffusion), c=real(above=1), C=real(above=1))
def lemma_6(world: OrnsteinUhlenbeck | GridDiffusion, c: float, C: float) -> Theorem:
    """`gap^{-1/2} e^{-C |z - z'|^2 / gap - C gap z^2} / c <= p* <= c gap^{-1/2} e^{-|z - z'|^2 / (C gap) + C
    gap z^2}` with these constants, in one dimension: of the logarithms, for anchors and partners up to
    three."""
    gap = world.gap
    if isinstance(world, GridDiffusion):
        inside = np.abs(world.points) <= 3
        x = world.points[inside]
        with np.errstate(divide="ignore"):
            logs = np.log(world.kernel[np.ix_(inside, inside)] / world.spacing)
        z, y = np.meshgrid(x, x, indexing="ij")
    else:
        if world.dimension != 1:
            raise ValueError(f"world has {world.dimension} dimensions; it must have one")
        z, y = np.meshgrid(*[np.linspace(-3, 3, 241)] * 2, indexing="ij")
        logs = world.log_kernel(z[..., None], y[..., None])
    squares, tilt = (z - y) ** 2 / gap, C * gap * z**2
    free = -np.log(gap) / 2
    low = logs - (free - C * squares - tilt - np.log(c))
    high = free - squares / C + tilt + np.log(c) - logs
    return Theorem.inequality(
        "Lemma 6",
        float(min(low.min(), high.min())),
        cases=int(logs.size),
        details={"lower slack": float(low.min()), "upper slack": float(high.min())},
    )
