"""Descent on the population losses: gradient descent and its variants, compiled, with a record or a count.

path = descend(Contrast(world), "ngd", 0.1, steps=2000)      # every iterate
count = steps_to(Contrast(world), "gd", 0.2, radius=0.5)     # how many steps, and no more
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
from .contrast import Contrast, log_loss_at, moments_at
from .moments import Moments

Method = Literal["gd", "ngd", "newton", "momentum", "adam"]
Status = Literal["reached", "steps", "stationary", "diverged"]
STATUS: tuple[Status, ...] = ("steps", "reached", "stationary", "diverged", "steps")
ENDED = 4
Precision = Literal["float64", "float32"]
MOST_RECORDED = 2**20
TINY = 1e-300  # in the place of Adam's epsilon: 0/0 is 0


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


class _Rule(NamedTuple):
    """A step: of plain and normalised descent, which are one program, `normal` says which is made, and
    `scaled` whether the gradient that is normalised comes without its factor."""

    rate: Float[Array, ""]
    normal: Bool[Array, ""]
    scaled: Bool[Array, ""]


def _optimiser(method: Method, rate: Array) -> optax.GradientTransformation:
    if method == "momentum":
        return optax.sgd(rate, momentum=0.9)
    if method == "adam":
        return optax.adam(rate, eps=TINY)
    return optax.sgd(rate)


def _step(method: Method, rule: _Rule, moments: Moments, state: Any) -> Any:
    """The change of τ, and the optimiser's next state."""
    if method == "newton":
        direction = moments.newton()
    else:
        gradient = moments.gradient()
        direction = gradient * jnp.exp(moments.log_gradient)
        if method == "gd":
            unit = normalised(jnp.where(rule.scaled, gradient, direction))
            direction = jnp.where(rule.normal, unit, direction)
    return _optimiser(method, rule.rate).update(direction, state)


class _State(NamedTuple):
    done: Array
    tau: Array
    optimiser: Any
    best: Array
    status: Array


def _advance(
    contrast: Contrast,
    method: Method,
    rule: _Rule,
    radius: Array,
    state: _State,
    moments: Moments,
) -> _State:
    """One step; a step that is not finite is not made."""
    change, optimiser = _step(method, rule, moments, state.optimiser)
    tau = optax.apply_updates(state.tau, change)
    finite = jnp.all(jnp.isfinite(change)) & jnp.all(jnp.isfinite(tau))
    if contrast.kind == "exponential":
        finite = finite & jnp.isfinite(log_loss_at(contrast, tau))
    rest = jnp.all(tau == state.tau)
    distance = jnp.linalg.norm(tau - jnp.asarray(contrast.world.truth))
    status = jnp.where(finite, jnp.where(distance <= radius, 1, jnp.where(rest, 2, 0)), 3)
    moved = finite & ~rest
    return _State(
        state.done + moved,
        jnp.where(moved, tau, state.tau),
        optimiser,
        jnp.where(moved, jnp.minimum(state.best, distance), state.best),
        status,
    )


def _begin(contrast: Contrast, method: Method, rate: Array, radius: Array, tau: Array) -> _State:
    distance = jnp.linalg.norm(tau - jnp.asarray(contrast.world.truth))
    state = _optimiser(method, rate).init(tau)
    return _State(jnp.asarray(0), tau, state, distance, jnp.where(distance <= radius, 1, 0))


@eqx.filter_jit
def _count(
    contrast: Contrast, method: Method, rule: _Rule, radius: Array, tau: Array, most: Array
) -> _State:
    def goes_on(state: _State) -> Bool[Array, ""]:
        return (state.status == 0) & (state.done < most)

    def body(state: _State) -> _State:
        moments = moments_at(contrast, state.tau)
        return _advance(contrast, method, rule, radius, state, moments)

    return jax.lax.while_loop(goes_on, body, _begin(contrast, method, rule.rate, radius, tau))


@eqx.filter_jit
def _record(
    contrast: Contrast,
    method: Method,
    rows: int,
    rule: _Rule,
    tau: Array,
    steps: Array,
) -> tuple[_State, Array]:
    """The last state, and of every row τ, the log of the loss and of the gradient's norm. A turn of the loop
    writes the row of its state and then steps; after the last row it writes, it does not."""
    never = jnp.asarray(-1.0, tau.dtype)

    def body(carry: tuple[_State, Array]) -> tuple[_State, Array]:
        state, table = carry
        moments = moments_at(contrast, state.tau)
        norm = jnp.log(jnp.linalg.norm(moments.gradient())) + moments.log_gradient
        row = jnp.append(state.tau, jnp.stack([log_loss_at(contrast, state.tau), norm]))
        table = table.at[state.done].set(row)
        after = _advance(contrast, method, rule, never, state, moments)
        ended = state._replace(status=jnp.asarray(ENDED, state.status.dtype))
        over = state.done >= steps
        return jax.tree.map(lambda a, b: jnp.where(over, a, b), ended, after), table

    begin = _begin(contrast, method, rule.rate, never, tau)
    table = jnp.zeros((rows, tau.size + 2), tau.dtype)
    return jax.lax.while_loop(lambda carry: carry[0].status == 0, body, (begin, table))


def _program(method: Method, rate: float, scaled: bool, dtype: Any) -> tuple[Method, _Rule]:
    flags = (jnp.asarray(flag) for flag in (method == "ngd", scaled))
    return "gd" if method == "ngd" else method, _Rule(jnp.asarray(rate, dtype), *flags)


def _start(name: str, value: Any, given: Any) -> np.ndarray:
    size = given["contrast"].world.parameters + 1
    return np.asarray(check_reals(name, value, (size,)), np.float64)


def _flag(name: str, value: Any, given: Any) -> bool:
    return check_flag(name, value)


def _note(status: Status, method: Method, rate: float, done: int) -> str:
    if status == "diverged":
        return (
            f"step {done + 1} of {method} with step size {rate:g} is not finite or leaves the "
            "domain of the loss; what was before it is kept, and a smaller step size is needed"
        )
    return f"the step after {done} has length 0" if status == "stationary" else ""


@checked(rate=POSITIVE, radius=POSITIVE, start=_start, most=COUNT)
def steps_to(
    contrast: Contrast,
    method: Method,
    rate: float,
    radius: float,
    start: Float[np.ndarray, " extended"] | None = None,
    most: int = 10**7,
) -> Steps:
    """Steps until `|τ - τ*| <= radius`, from the noise or from `start`, at most `most` of them."""
    tau = np.asarray(contrast.world.noise if start is None else start, np.float64)
    with jax.enable_x64(True):
        program, rule = _program(method, rate, True, jnp.float64)
        numbers = (rule, jnp.asarray(radius), jnp.asarray(tau), jnp.asarray(most))
        state = jax.tree.map(np.asarray, _count(contrast, program, *numbers))
    status, done = STATUS[int(state.status)], int(state.done)
    return Steps(done, state.tau, float(state.best), status, _note(status, method, rate, done))


@checked(rate=POSITIVE, start=_start, steps=whole(0, MOST_RECORDED), scaled=_flag)
def descend(
    contrast: Contrast,
    method: Method,
    rate: float,
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
    rows = max(2**11, 1 << int(steps).bit_length())  # few sizes, since each is a program
    with jax.enable_x64(precision == "float64"):
        dtype = jnp.float64 if precision == "float64" else jnp.float32
        program, rule = _program(method, rate, scaled, dtype)
        begin = jnp.asarray(tau, dtype)
        found = _record(contrast, program, rows, rule, begin, jnp.asarray(steps))
        state, table = jax.tree.map(np.asarray, found)
    status, done = STATUS[int(state.status)], int(state.done)
    table = np.asarray(table[: done + 1], np.float64)
    tau = table[:, :-2]
    distance = np.linalg.norm(tau - np.asarray(contrast.world.truth), axis=1)
    note = _note(status, method, rate, done)
    return Path(tau, table[:, -2], table[:, -1], distance, status, note)
