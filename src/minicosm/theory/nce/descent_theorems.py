"""How many steps descent takes: Theorems 17 to 21, Lemma 51, Corollary 2."""

import math

import numpy as np
from jaxtyping import Float

from minicosm.worlds import GaussianMean

from ..checks import COUNT, POSITIVE, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .assumptions import Neighbourhood, constants, neighbourhood, ring, segment
from .contrast import Contrast, answers
from .descent import MOST_RECORDED, Steps, descend, steps_to
from .rules import EXPONENTIAL, GAUSSIAN, loss_of, points

COUNTED = 1201  # nodes of the integrals in runs of many steps


@checked(points=whole(2, 2**16), nodes=whole(2, 2**20))
def curvature(world: GaussianMean, points: int = 65, nodes: int = COUNTED) -> tuple[float, float]:
    """λ_ρ and λ_M: the least σ_min and the largest σ_max of the NCE Hessian at τ(θ), θ from noise to data."""
    taus = np.array([_extended(world, theta) for theta in segment(world, points)])
    found = answers(Contrast(world, nodes=nodes), "extremes", taus)
    scale = np.exp(found[:, 2])
    return float((found[:, 0] * scale).min()), float((found[:, 1] * scale).max())


def _extended(world: GaussianMean, theta: np.ndarray) -> np.ndarray:
    return np.append(theta, theta[0] ** 2 / 2 + float(world.noise[1]))


def _ended(run: Steps, radius: float) -> Condition:
    reason = (
        "" if run.reached else f"{run.steps} steps did not lead within {radius:g}: {run.status}"
    )
    return Condition("the run arrives", run.reached, {"steps": run.steps}, reason)


@checked(rate=POSITIVE, most=COUNT, nodes=whole(2, 2**20))
def theorem_17(
    world: GaussianMean, rate: float | None = None, most: int = 10**7, nodes: int = COUNTED
) -> Theorem:
    """Gradient descent from the noise needs at least `0.05 R / (η max |<∇L, u>|)` steps to come within 0.1 R
    of τ*, with the maximum over the ring of Lemma 49. The step size is the standard one,
    `8/(R² + 2)`, which is about `1/σ_max(∇²L(τ_q))`, unless it is given; `details` has the steps."""
    R = abs(float(world.R))
    eta = 8 / (R**2 + 2) if rate is None else rate
    run = steps_to(Contrast(world, nodes=nodes), "gd", eta, 0.1 * R, most=most)
    taus = ring(world)
    away = np.asarray(world.truth) - taus
    gradients = answers(Contrast(world, nodes=nodes), "gradient", taus)
    along = np.abs((gradients * away).sum(axis=1)) / np.linalg.norm(away, axis=1)
    bound = 0.05 * R / (eta * float(along.max()))
    return Theorem.inequality(
        "Theorem 17",
        run.steps / bound - 1,
        conditions=(_ended(run, 0.1 * R),),
        details={"R": R, "steps": run.steps, "bound": bound, "rate": eta,
                 "scaled": run.steps * math.exp(-(R**2) / 8)},
    )  # fmt: skip


@checked(most=COUNT, nodes=whole(2, 2**20))
def theorem_18(world: GaussianMean, most: int = 10**7, nodes: int = COUNTED) -> Theorem:
    """Newton's method from the noise with `η = λ_ρ/λ_M` needs at least
    `0.05 R λ_M / max |∇L|` steps to come within 0.1 R of τ*, with the maximum over the ring."""
    R = abs(float(world.R))
    least, largest = curvature(world, nodes=nodes)
    contrast = Contrast(world, nodes=nodes)
    run = steps_to(contrast, "newton", least / largest, 0.1 * R, most=most)
    taus = ring(world)
    found = answers(contrast, "extremes", taus)
    outside = float(
        (found[:, 0] * np.exp(found[:, 2])).min()
    )  # σ_min may be less in the ring than on Θ
    norm = float(np.linalg.norm(answers(contrast, "gradient", taus), axis=1).max())
    bound = 0.05 * R * largest / norm * min(1.0, outside / least)
    return Theorem.inequality(
        "Theorem 18",
        run.steps / bound - 1,
        conditions=(_ended(run, 0.1 * R),),
        details={"R": R, "steps": run.steps, "bound": bound, "rate": least / largest,
                 "lambda_rho": least, "lambda_M": largest, "scaled": run.steps * math.exp(-(R**2) / 8)},
    )  # fmt: skip


@checked(most=COUNT, nodes=whole(2, 2**20))
def newton_undamped(world: GaussianMean, most: int = 10**4, nodes: int = COUNTED) -> Theorem:
    """Newton's method from the noise with step size 1 comes within 1/R of τ* in at most 2R steps."""
    R = abs(float(world.R))
    run = steps_to(Contrast(world, nodes=nodes), "newton", 1.0, 1 / R, most=most)
    steps = run.steps if run.reached else math.inf
    return Theorem.inequality(
        "Newton with step size 1", 2 * R - steps, details={"R": R, "steps": run.steps}
    )


# -- normalised descent ---------------------------------------------------------------------------


@checked(contrast=loss_of(), delta=POSITIVE, near=points, far=points, gamma=POSITIVE)
def lemma_51(
    contrast: Contrast,
    delta: float,
    near: Float[np.ndarray, "m extended"],
    far: Float[np.ndarray, "n extended"],
    gamma: float | None = None,
) -> Theorem:
    """With `γ = sqrt(β_l/(β_u κ*)) δ`, every τ at distance at least δ of τ* has at least the loss of every τ
    at distance at most γ. Points are moved along their rays to where the lemma needs them, on the rims."""
    truth = np.asarray(contrast.world.truth)
    if gamma is None:
        gamma = delta / math.sqrt(neighbourhood(contrast, delta).factor)

    def at(taus: np.ndarray, radius: float, inside: bool) -> np.ndarray:
        away = taus - truth
        norm = np.linalg.norm(away, axis=1, keepdims=True)
        keep = norm[:, 0] > 0
        limit = np.minimum if inside else np.maximum
        return truth + away[keep] * (limit(norm[keep], radius) / norm[keep])

    inner, outer = at(near, gamma, True), at(far, delta, False)
    if not len(inner) or not len(outer):
        return Theorem.inequality("Lemma 51", math.nan, cases=0)
    most = float(answers(contrast, "log loss", inner).max())
    least = float(answers(contrast, "log loss", outer).min())
    return Theorem.inequality(
        "Lemma 51",
        math.expm1(min(least - most, 700.0)),
        cases=len(inner) * len(outer),
        details={"kind": contrast.kind, "gamma": gamma, "delta": delta},
    )


def _descent(
    name: str, contrast: Contrast, delta: float, gamma: float, bound: float, more: dict
) -> Theorem:
    """NGD with step γ, recorded until it is within δ: outside δ every step takes γ² from the squared
    distance, and there are at most `bound` steps. Slack: the least decrease over γ², less 1. A run that has
    not arrived after `bound` steps refutes it; nothing is known if so many cannot be recorded."""
    allowed = math.floor(bound) + 1
    run = steps_to(contrast, "ngd", gamma, delta, most=min(allowed, MOST_RECORDED - 1))
    decided = run.reached or run.status != "steps" or allowed < MOST_RECORDED
    share = run.steps / bound if run.reached else math.inf
    path = descend(contrast, "ngd", gamma, steps=run.steps)
    squares = path.distance**2
    outside = path.distance[:-1] >= delta
    falls = (squares[:-1] - squares[1:])[outside] / gamma**2
    if not len(falls):
        return Theorem.inequality(name, math.nan, cases=0)
    return Theorem.inequality(
        name,
        float(np.min([falls.min() - 1, 1 - share])),
        cases=len(falls),
        conditions=(
            Condition(
                "a run that can be recorded",
                decided,
                {"steps": run.steps},
                "" if decided else f"{run.steps} steps did not lead within {delta:g}",
            ),
        ),
        details={"kind": contrast.kind, "steps": run.steps, "bound": bound, "share": share,
                 "least decrease": float(falls.min()), "gamma": gamma, "delta": delta, **more},
    )  # fmt: skip


def _distance(contrast: Contrast) -> float:
    world = contrast.world
    return float(np.linalg.norm(np.asarray(world.truth) - np.asarray(world.noise)))


@checked(contrast=loss_of(), delta=POSITIVE, beta=POSITIVE)
def theorem_19(contrast: Contrast, delta: float, beta: float | None = None) -> Theorem:
    """NGD from the noise with `η = γ = sqrt(β_l/(β_u κ*)) δ` is within δ of τ* after at most
    `(β_u κ*/β_l) |τ_0 - τ*|²/δ²` steps; each step outside δ takes at least γ² from the squared distance. β_u
    and β_l are measured on a grid of the ball of radius δ, unless their quotient `beta` is given."""
    near: Neighbourhood = neighbourhood(contrast, delta)
    factor = near.factor if beta is None else beta * near.condition
    if near.lower == 0:
        singular = Condition(
            "β_l above zero",
            False,
            {"delta": delta},
            f"the Hessian is singular within {delta:g} of τ*",
        )
        return Theorem("Theorem 19", (singular,))
    gamma, start = delta / math.sqrt(factor), _distance(contrast)
    bound = factor * (start / delta) ** 2
    more = {"beta_u / beta_l": near.upper / near.lower, "condition": near.condition}
    return _descent("Theorem 19", contrast, delta, gamma, bound, more)


@checked(contrast=EXPONENTIAL, delta=POSITIVE)
def theorem_21(contrast: Contrast, delta: float) -> Theorem:
    """NGD on eNCE with the constants of Lemmas 53 and 54 is within `δ <= 1/β_Z` after at most
    `4e² (λ_max/λ_min)³ |τ_0 - τ*|²/δ²` steps, the step size being `δ/sqrt(4e² (λ_max/λ_min)³)`."""
    known = constants(contrast.world, segment(contrast.world))
    lipschitz = max(1.0, known.lipschitz)
    small = Condition(
        "δ at most 1/β_Z",
        delta <= 1 / lipschitz + 1e-12,
        {"delta": delta, "beta_Z": lipschitz},
        f"δ is {delta:g}, more than 1/β_Z = {1 / lipschitz:g}",
    )
    independent = known.assumption_13()
    if not small.holds or not independent.holds:
        return Theorem("Theorem 21", (independent, small))
    factor = 4 * math.e**2 * known.ratio**3
    bound = factor * (_distance(contrast) / delta) ** 2
    return _descent(
        "Theorem 21", contrast, delta, delta / math.sqrt(factor), bound, {"ratio": known.ratio}
    )


@checked(contrast=GAUSSIAN, delta=POSITIVE)
def corollary_2(contrast: Contrast, delta: float) -> Theorem:
    """NGD on NCE from the noise, with η = γ, is within `δ <= 1/R` after at most `R⁶/δ²` steps."""
    R = abs(float(contrast.world.truth[0]))
    small = Condition("δ at most 1/R", delta * R <= 1 + 1e-12, {"delta": delta}, f"δ is {delta:g}")
    if not small.holds:
        return Theorem("Corollary 2", (small,))
    near = neighbourhood(contrast, delta)
    gamma = delta / math.sqrt(near.factor)
    run = steps_to(contrast, "ngd", gamma, delta)
    share = (run.steps if run.reached else math.inf) * delta**2 / R**6
    return Theorem.inequality(
        "Corollary 2",
        1 - share,
        conditions=(small,),
        details={"R": R, "delta": delta, "steps": run.steps, "share": share},
    )


@checked(nodes=whole(2, 2**20))
def theorem_20_bound(world: GaussianMean, nodes: int = COUNTED) -> tuple[float, int]:
    """The logarithm of `C BC^-3 |τ_0 - τ*|²/δ²` of Theorem 20 at `δ = 1/β_Z = 1/R`, and the steps that NGD
    with η = γ takes (β_u and β_l measured, as in Theorem 19); -1 if it does not arrive."""
    contrast, R = Contrast(world, nodes=nodes), abs(float(world.R))
    known, delta = constants(world, segment(world)), 1 / R
    rest = known.smallest - known.smallest_slope * delta
    parts = [2 * known.ratio**2]
    if rest > 0:  # where it is not, the second form says nothing
        parts.append((2 * known.smallest + known.largest_slope * delta) / rest)
    log_c = math.log(18 * known.ratio**3 * min(parts)) + 2 / R
    log_bound = log_c + 3 * R**2 / 8 + 2 * math.log(_distance(contrast) / delta)
    run: Steps = steps_to(
        contrast, "ngd", delta / math.sqrt(neighbourhood(contrast, delta).factor), delta
    )
    return log_bound, run.steps if run.reached else -1
