"""Descent on the population losses: gradient descent and its variants, compiled, with a record or a count.

path = descend(Contrast(world), ngd(0.1), steps=2000)     # every iterate
count = steps_to(Contrast(world), gd(0.2), radius=0.5)    # how many steps, and no more
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float

from minicosm.adaptation.checks import check_flag, check_real, check_reals
from minicosm.training.schedules import normalised

from ..checks import COUNT, POSITIVE, whole
from ..signatures import checked
from .contrast import Contrast
from .moments import Moments

Method = Literal["gd", "ngd", "newton", "momentum", "adam"]
Status = Literal["reached", "steps", "stationary", "diverged"]
STATUS: tuple[Status, ...] = ("steps", "reached", "stationary", "diverged")
Precision = Literal["float64", "float32"]
MOST_RECORDED = 2**20
TINY = 1e-300  # in the place of Adam's epsilon, which would make it plain descent where gradients are tiny


class Rule(NamedTuple):
    """How a step is made: a method and its step size η."""

    method: Method
    rate: float


@checked(rate=POSITIVE)
def gd(rate: float) -> Rule:
    """`τ - η g`."""
    return Rule("gd", rate)


@checked(rate=POSITIVE)
def ngd(rate: float) -> Rule:
    """`τ - η g/|g|`; the gradient is taken without its common factor, so that it never underflows."""
    return Rule("ngd", rate)


@checked(rate=POSITIVE)
def newton(rate: float = 1.0) -> Rule:
    """`τ - η H^-1 g`."""
    return Rule("newton", rate)


@checked(rate=POSITIVE)
def momentum(rate: float) -> Rule:
    """Gradient descent with momentum 0.9."""
    return Rule("momentum", rate)


@checked(rate=POSITIVE)
def adam(rate: float) -> Rule:
    """Adam without its epsilon."""
    return Rule("adam", rate)


class Steps(NamedTuple):
    """How many steps a run made and how it ended."""

    steps: int
    tau: Float[np.ndarray, " extended"]
    """The last iterate that is finite."""
    distance: float
    """The least `|τ - τ*|` of all iterates."""
    status: Status
    """"reached" the radius, out of "steps", "stationary" (a step of length 0), or "diverged"."""
    note: str = ""

    @property
    def reached(self) -> bool:
        return self.status == "reached"


class Path(NamedTuple):
    """All iterates of a run; rows 0..n, of which row 0 is the start. A run that diverged or came to rest has
    fewer rows than it was given steps, and says so in `note`."""

    tau: Float[np.ndarray, "rows extended"]
    log_loss: Float[np.ndarray, " rows"]
    log_gradient: Float[np.ndarray, " rows"]
    """The logarithm of the norm of the gradient."""
    distance: Float[np.ndarray, " rows"]
    """`|τ - τ*|`."""
    status: Status
    note: str = ""

    @property
    def best(self) -> Float[np.ndarray, " rows"]:
        """The least distance so far."""
        return np.minimum.accumulate(self.distance)

    def first_within(self, radius: float) -> int | None:
        """The first row whose distance is at most `radius`; None if there is none."""
        near = self.distance <= check_real("radius", radius, above=0)
        return int(np.argmax(near)) if near.any() else None


def _optimiser(method: Method, rate: Array) -> optax.GradientTransformation:
    if method == "momentum":
        return optax.sgd(rate, momentum=0.9)
    if method == "adam":
        return optax.adam(rate, eps=TINY)
    if method == "ngd":
        return optax.chain(optax.stateless(normalised), optax.scale_by_learning_rate(rate))
    return optax.sgd(rate)


def _step(method: Method, scaled: bool, rate: Array, moments: Moments, state: Any) -> Any:
    """The change of τ, and the optimiser's next state."""
    if method == "newton":
        direction = moments.newton()
    else:
        direction = moments.gradient()
        if not (scaled and method == "ngd"):
            direction = direction * jnp.exp(moments.log_gradient)
    return _optimiser(method, rate).update(direction, state)


class _State(NamedTuple):
    done: Array
    tau: Array
    optimiser: Any
    best: Array
    status: Array


def _advance(
    contrast: Contrast, method: Method, scaled: bool, rate: Array, radius: Array, state: _State
) -> tuple[_State, Moments]:
    """One step; a step that is not finite is not made."""
    moments = contrast.moments_at(state.tau)
    change, optimiser = _step(method, scaled, rate, moments, state.optimiser)
    tau = optax.apply_updates(state.tau, change)
    finite = jnp.all(jnp.isfinite(change)) & jnp.all(jnp.isfinite(tau))
    rest = jnp.all(tau == state.tau)
    if contrast.kind == "exponential":
        finite = finite & jnp.isfinite(contrast.log_loss_at(tau))
    distance = jnp.linalg.norm(tau - jnp.asarray(contrast.world.truth))
    status = jnp.where(finite, jnp.where(distance <= radius, 1, jnp.where(rest, 2, 0)), 3)
    moved = finite & ~rest
    return (
        _State(
            state.done + moved,
            jnp.where(moved, tau, state.tau),
            optimiser,
            jnp.where(moved, jnp.minimum(state.best, distance), state.best),
            status,
        ),
        moments,
    )


def _begin(contrast: Contrast, method: Method, rate: Array, radius: Array, tau: Array) -> _State:
    distance = jnp.linalg.norm(tau - jnp.asarray(contrast.world.truth))
    state = _optimiser(method, rate).init(tau)
    return _State(jnp.asarray(0), tau, state, distance, jnp.where(distance <= radius, 1, 0))


@eqx.filter_jit
def _count(
    contrast: Contrast, method: Method, rate: Array, radius: Array, tau: Array, most: Array
) -> _State:
    def goes_on(state: _State) -> Bool[Array, ""]:
        return (state.status == 0) & (state.done < most)

    return jax.lax.while_loop(
        goes_on,
        lambda state: _advance(contrast, method, True, rate, radius, state)[0],
        _begin(contrast, method, rate, radius, tau),
    )


@eqx.filter_jit
def _record(
    contrast: Contrast,
    method: Method,
    scaled: bool,
    rows: int,
    rate: Array,
    tau: Array,
    steps: Array,
) -> tuple[_State, Array]:
    """The last state, and of every row τ, the log of the loss and of the gradient's norm."""
    never = jnp.asarray(-1.0, tau.dtype)

    def row_of(tau: Array) -> Array:
        moments = contrast.moments_at(tau)
        norm = jnp.log(jnp.linalg.norm(moments.gradient())) + moments.log_gradient
        return jnp.append(tau, jnp.stack([contrast.log_loss_at(tau), norm]))

    def body(carry: tuple[_State, Array]) -> tuple[_State, Array]:
        state, table = carry
        state, _ = _advance(contrast, method, scaled, rate, never, state)
        return state, table.at[state.done].set(row_of(state.tau))

    begin = _begin(contrast, method, rate, never, tau)
    table = jnp.zeros((rows, tau.size + 2), tau.dtype).at[0].set(row_of(tau))
    return jax.lax.while_loop(
        lambda carry: (carry[0].status == 0) & (carry[0].done < steps), body, (begin, table)
    )


def _rule(name: str, value: Any, given: Any) -> Rule:
    if not isinstance(value, Rule):
        raise TypeError(f"{name} is no Rule; give one that gd, ngd or newton makes")
    return value


def _start(name: str, value: Any, given: Any) -> np.ndarray:
    size = given["contrast"].world.parameters + 1
    return np.asarray(check_reals(name, value, (size,)), np.float64)


def _flag(name: str, value: Any, given: Any) -> bool:
    return check_flag(name, value)


def _note(status: Status, rule: Rule, done: int) -> str:
    if status == "diverged":
        return (
            f"step {done + 1} of {rule.method} with step size {rule.rate:g} is not finite or leaves the "
            "domain of the loss; what was before it is kept, and a smaller step size is needed"
        )
    return f"the step after {done} has length 0" if status == "stationary" else ""


@checked(rule=_rule, radius=POSITIVE, start=_start, most=COUNT)
def steps_to(
    contrast: Contrast,
    rule: Rule,
    radius: float,
    start: Float[np.ndarray, " extended"] | None = None,
    most: int = 10**7,
) -> Steps:
    """Steps until `|τ - τ*| <= radius`, from the noise or from `start`, at most `most` of them."""
    tau = np.asarray(contrast.world.noise if start is None else start, np.float64)
    with jax.enable_x64(True):
        numbers = (jnp.asarray(rule.rate), jnp.asarray(radius), jnp.asarray(tau), jnp.asarray(most))
        state = jax.tree.map(np.asarray, _count(contrast, rule.method, *numbers))
    status, done = STATUS[int(state.status)], int(state.done)
    return Steps(done, state.tau, float(state.best), status, _note(status, rule, done))


@checked(rule=_rule, start=_start, steps=whole(0, MOST_RECORDED), scaled=_flag)
def descend(
    contrast: Contrast,
    rule: Rule,
    start: Float[np.ndarray, " extended"] | None = None,
    steps: int = 1000,
    precision: Precision = "float64",
    scaled: bool = True,
) -> Path:
    """`steps` steps from the noise or from `start`, all of them recorded.

    `precision` is that of all that is computed. With `scaled=False` the gradient of normalised descent is
    computed with its common factor, as a program would that does not know better: it underflows.
    """
    tau = np.asarray(contrast.world.noise if start is None else start, np.float64)
    rows = 1 << max(int(steps), 1).bit_length()
    with jax.enable_x64(precision == "float64"):
        dtype = jnp.float64 if precision == "float64" else jnp.float32
        rate, begin = jnp.asarray(rule.rate, dtype), jnp.asarray(tau, dtype)
        found = _record(contrast, rule.method, scaled, rows, rate, begin, jnp.asarray(steps))
        state, table = jax.tree.map(np.asarray, found)
    status, done = STATUS[int(state.status)], int(state.done)
    table = np.asarray(table[: done + 1], np.float64)
    tau = table[:, :-2]
    distance = np.linalg.norm(tau - np.asarray(contrast.world.truth), axis=1)
    note = _note(status, rule, done)
    return Path(tau, table[:, -2], table[:, -1], distance, status, note)
