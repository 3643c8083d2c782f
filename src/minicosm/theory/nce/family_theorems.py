"""What holds in every exponential family: Lemmas 44, 45, 52 to 54, 60 and 61.

Where a statement has constants of a set Θ, it is given points of Θ. Fewer points make λ_max smaller and
λ_min larger, and with them the bounds tighter: what holds with these constants holds with those of Θ.
"""

import math

import numpy as np
from jaxtyping import Float

from minicosm.worlds import ExponentialFamily, FiniteFamily

from ..checks import POSITIVE, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .assumptions import Constants, constants, directions, segment
from .contrast import Contrast, answers
from .rules import EXPONENTIAL, NCE, loss_of, points

CONVEX = 1e-10  # how negative rounding may make the least eigenvalue of a Hessian of size 1


@checked(contrast=loss_of(), taus=points)
def lemma_44(contrast: Contrast, taus: Float[np.ndarray, "n extended"]) -> Theorem:
    """τ* minimises the loss: the gradient is 0 there, and every other τ has a larger loss. The error is
    the norm of the gradient, or by how much a loss is too small; unique if Assumption 13 holds."""
    truth = np.asarray(contrast.world.truth)
    gradient = np.linalg.norm(answers(contrast, "gradient by differentiation", truth[None])[0])
    best = contrast.loss(truth)
    more = answers(contrast, "loss", taus) - best
    apart = np.linalg.norm(taus - truth, axis=1) > 0
    error = np.max([gradient, *np.where(more[apart] > 0, 0, 1 - more[apart])])
    known = constants(contrast.world, truth[None, :-1])
    return Theorem.identity(
        "Lemma 44",
        float(error),
        within=1e-10,
        cases=int(apart.sum()),
        conditions=(known.assumption_13(),),
        details={"least excess": float(more[apart].min(initial=np.inf))},
    )


@checked(contrast=loss_of(world=FiniteFamily))
def lemma_44_dependent(contrast: Contrast) -> Theorem:
    """Where statistics are affinely dependent the minimisers are an affine set, on which the density is the
    same: the error is the largest change of loss or log density along the null space of F."""
    world, truth = contrast.world, np.asarray(contrast.world.truth)
    table = np.asarray(world.table)[np.isfinite(world.log_weights)]  # type: ignore[attr-defined]
    extended = np.hstack([table, -np.ones((len(table), 1))])
    _, sizes, null = np.linalg.svd(extended)
    rank = int((sizes > 1e-10 * sizes[0]).sum())
    moves = null[rank:]
    dependent = Condition(
        "affinely dependent statistics",
        rank < truth.size,
        {"rank": rank, "of": truth.size},
        "" if rank < truth.size else f"the extended statistics have full rank, {rank}",
    )
    if not len(moves):
        return Theorem("Lemma 44, dependent statistics", (dependent,))
    taus = np.concatenate([truth + size * moves for size in (-2.0, 0.5, 3.0)])
    losses = np.abs(answers(contrast, "loss", taus) - contrast.loss(truth)).max()
    densities = np.abs(extended @ (taus - truth).T).max()
    return Theorem.identity(
        "Lemma 44, dependent statistics",
        float(np.max([losses, densities])),
        cases=len(taus),
        conditions=(dependent,),
    )


@checked(contrast=loss_of(), taus=points)
def lemma_45(contrast: Contrast, taus: Float[np.ndarray, "n extended"]) -> Theorem:
    """The loss is convex in τ: no Hessian, by differentiating the loss twice, has an eigenvalue below
    -1e-10 of the size of its largest, or of 1."""
    found = np.linalg.eigvalsh(answers(contrast, "hessian by differentiation", taus))
    least = found[:, 0] / np.maximum(1, found[:, -1])
    return Theorem.inequality(
        "Lemma 45",
        float(least.min()),
        within=CONVEX,
        cases=len(taus),
        details={"kind": contrast.kind},
    )


@checked()
def lemma_52(world: ExponentialFamily) -> Theorem:
    """`BC >= 1 - (λ_max/8) |θ_1 - θ_2|²` on the segment between the two laws, hence at least 1/2 where
    `|θ_1 - θ_2|² <= 4/λ_max`."""
    known = constants(world, segment(world))
    truth, noise = np.asarray(world.truth)[:-1], np.asarray(world.noise)[:-1]
    loss = -math.expm1(_log_bc(world))
    bound = known.largest / 8 * float(((truth - noise) ** 2).sum())
    slack = bound - loss
    if bound <= 0.5:
        slack = min(slack, 0.5 - loss)
    return Theorem.inequality(
        "Lemma 52",
        float(slack),
        details={"share": loss / bound if bound > 0 else 0.0, "near": bound <= 0.5},
    )


def _log_bc(world: ExponentialFamily) -> float:
    """`log BC` of data and noise, from double precision."""
    optimum = Contrast(world, "exponential").optimum()
    return optimum.log_loss  # the eNCE loss at the optimum is the Bhattacharyya coefficient


@checked(contrast=EXPONENTIAL)
def lemma_53(contrast: Contrast) -> Theorem:
    """eNCE: `cond(H*) = cond(F((θ* + θ_q)/2)) <= λ_max/λ_min`, the Hessian by differentiating the loss."""
    world, truth = contrast.world, np.asarray(contrast.world.truth)
    middle = (truth + np.asarray(world.noise))[None, :-1] / 2
    known = constants(world, np.concatenate([segment(world), middle]))
    exact = constants(world, middle).ratio
    values = np.linalg.eigvalsh(answers(contrast, "hessian by differentiation", truth[None])[0])
    found = values[-1] / values[0]
    # the least eigenvalue of a matrix is found up to the largest times 1e-16
    error = abs(found / exact - 1) / max(1.0, exact * 1e-6)
    return Theorem.identity(
        "Lemma 53",
        float(np.max([error, exact / known.ratio - 1])),
        conditions=(known.assumption_13(),),
        details={"condition": float(found), "bound": known.ratio},
    )


class _Near:
    """τ with `|τ - τ*| <= 1/β_Z`, how far the Hessian is there from that at τ*, and constants of a Θ that
    holds the segment between the laws and, unless it is `fixed`, the laws that τ leads to."""

    def __init__(
        self, contrast: Contrast, unit: np.ndarray, lipschitz: float | None, fixed: bool = False
    ):
        world = contrast.world
        truth, noise = np.asarray(world.truth), np.asarray(world.noise)
        middle, theta = (truth + noise)[:-1] / 2, segment(world)

        def ends(reach: float) -> np.ndarray:
            moves = [middle + sign * unit[:, :-1] * reach / 2 for sign in (-1, 1)]
            return np.concatenate([theta, *moves])

        if (
            lipschitz is None
        ):  # the log-partition is convex: its slopes at the ends bound those between
            known = constants(world, theta).lipschitz
            lipschitz = constants(world, ends(1 / known)).lipschitz if known > 0 else 1.0
        self.lipschitz = lipschitz
        self.known: Constants = constants(world, theta if fixed else ends(1 / lipschitz))
        self.taus = np.concatenate([truth + r * unit / lipschitz for r in (1, 0.5)] + [truth[None]])
        self.away = np.linalg.norm(self.taus - truth, axis=1)
        found = answers(contrast, "extremes", self.taus)
        with np.errstate(divide="ignore"):
            logs = np.log(found[:, :2]) + found[:, 2:]
        self.log_lower, self.log_upper = (logs - logs[-1]).T  # σ_min and σ_max over those at τ*


@checked(contrast=EXPONENTIAL, angles=whole(1, 2**16))
def lemma_54(contrast: Contrast, angles: int = 24) -> Theorem:
    """eNCE satisfies Assumption 15 with `β_u = 2e λ_max/λ_min` for a Lipschitz constant `β_Z >= 1`, and with
    `β_l = 1`: as `L = ∫ sqrt(p* q) cosh((τ - τ*)·T/2)`, the Hessian is nowhere below that at τ*. Slack: the
    least eigenvalue of `H(τ) - H*` over the size of H*, or the share of β_u that is left."""
    truth = np.asarray(contrast.world.truth)
    unit = directions(angles, truth.size)
    near = _Near(contrast, unit, None)
    if near.lipschitz < 1:
        near = _Near(contrast, unit, 1.0)
    hessians = answers(contrast, "hessian by differentiation", near.taus)
    rise = np.linalg.eigvalsh(hessians[:-1] - hessians[-1])[:, 0].min()
    rise = float(rise / np.linalg.eigvalsh(hessians[-1])[-1])
    share = math.exp(near.log_upper.max()) / (2 * math.e * near.known.ratio)
    return Theorem.inequality(
        "Lemma 54",
        float(np.min([rise, 1 - share])),
        within=CONVEX,
        cases=len(near.taus),
        conditions=(near.known.assumption_13(),),
        details={"share of beta_u": share, "least rise": rise},
    )


@checked(contrast=EXPONENTIAL)
def lemma_54_as_printed(contrast: Contrast) -> Theorem:
    """`β_u = 2e λ_max/λ_min` for every Lipschitz constant, the least one of Θ among them: along α, where no
    law leaves Θ, the segment between the two."""
    unit = np.eye(contrast.world.parameters + 1)[-1:]
    least = constants(contrast.world, segment(contrast.world)).lipschitz
    positive = Condition(
        "β_Z positive", least > 0, {"beta_Z": least}, "" if least > 0 else "A is constant on Θ"
    )
    if not positive.holds:
        return Theorem("Lemma 54 as printed", (positive,))
    near = _Near(contrast, unit, least, fixed=True)
    upper, bound = math.exp(near.log_upper.max()), 2 * math.e * near.known.ratio
    return Theorem.inequality(
        "Lemma 54 as printed",
        1 - upper / bound,
        cases=len(near.taus),
        conditions=(near.known.assumption_13(),),
        details={"lipschitz": least, "beta_u": upper, "bound": bound},
    )


def _kappa(world: ExponentialFamily, power: int, factor: float, name: str) -> Theorem:
    known = constants(world, segment(world))
    log_bound = math.log(factor) + power * math.log(known.ratio) - _log_bc(world)
    kappa = Contrast(world).optimum().condition
    share = math.exp(math.log(kappa) - log_bound) if math.isfinite(log_bound) else 0.0
    return Theorem.inequality(
        name,
        1 - share,
        conditions=(known.assumption_13(),),
        details={"share": share, "condition": kappa, "ratio": known.ratio},
    )


@checked()
def lemma_60(world: ExponentialFamily) -> Theorem:
    """`κ* <= (λ_max/λ_min)² / BC` for NCE.

    With `f = (v·T)²`: by Cauchy and Schwarz `(∫ sqrt(p* q) f)² <= ∫ p* q/(p* + q) f · ∫ (p* + q) f`, and
    `p* q/(p* + q) <= sqrt(p* q)/2`; `∫ sqrt(p* q) f` is BC times an expectation of the family."""
    return _kappa(world, 2, 1.0, "Lemma 60")


@checked()
def lemma_60_as_printed(world: ExponentialFamily) -> Theorem:
    """`κ* <= λ_max / (2 λ_min BC)` for NCE."""
    return _kappa(world, 1, 0.5, "Lemma 60 as printed")


def _ratios(
    contrast: Contrast, lipschitz: float | None, angles: int, lower: float, name: str
) -> Theorem:
    """Both sides of Lemma 61 at distances 1/β_Z, half of it and 0, with this factor of the lower ratio."""
    world = contrast.world
    near = _Near(contrast, directions(angles, world.parameters + 1), lipschitz)
    known, log_bc, ratio = near.known, _log_bc(world), near.known.ratio
    both = -2 - 1 / near.lipschitz
    top = np.minimum(2 * ratio, 2 + known.largest_slope * near.away / known.smallest)
    bottom = np.maximum(1 / ratio, 1 - known.smallest_slope * near.away / known.smallest)
    log_upper = -log_bc + np.log(8 * ratio * top) - both - 0.5
    log_lower = log_bc + np.log(lower * bottom / ratio) + both
    pairs = ((near.log_upper, log_upper), (log_lower, near.log_lower))
    shares = [math.exp(min(float((a - b).max()), 700.0)) for a, b in pairs]
    return Theorem.inequality(
        name,
        1 - max(shares),
        cases=len(near.taus),
        conditions=(known.assumption_13(),),
        details={
            "share of the upper": shares[0],
            "share of the lower": shares[1],
            "lipschitz": near.lipschitz,
        },
    )


@checked(contrast=NCE, lipschitz=POSITIVE, angles=whole(1, 2**16))
def lemma_61(contrast: Contrast, lipschitz: float | None = None, angles: int = 24) -> Theorem:
    """For `|τ - τ*| <= 1/β_Z`, `σ_max(H(τ))/σ_max(H*)` is at most
    `(8/BC) exp(3/2 + 1/β_Z) (λ_max/λ_min) min(2 λ_max/λ_min, 2 + γ_max/(β_Z λ_min))`, and
    `σ_min(H(τ))/σ_min(H*)` at least
    `(BC/16) exp(-2 - 1/β_Z) (λ_min/λ_max) max(λ_min/λ_max, 1 - γ_min/(β_Z λ_min))`, with any Lipschitz
    constant, or with the least."""
    return _ratios(contrast, lipschitz, angles, 1 / 16, "Lemma 61")


@checked(contrast=NCE, lipschitz=POSITIVE, angles=whole(1, 2**16))
def lemma_61_as_printed(
    contrast: Contrast, lipschitz: float | None = None, angles: int = 24
) -> Theorem:
    """The same with 16 in the place of 1/16."""
    return _ratios(contrast, lipschitz, angles, 16.0, "Lemma 61 as printed")
