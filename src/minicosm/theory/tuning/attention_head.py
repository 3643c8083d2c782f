"""Theorem 4.3: with recoverable states, an attention head on the frozen model finds the memory."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.adaptation import AttentionHead, Classifier
from minicosm.adaptation.checks import brief, check_choice, unshared
from minicosm.adaptation.heads import TIE
from minicosm.worlds import MemoryHMM, PosteriorTask, Supports
from minicosm.worlds.arrays import AnyArray

from ..certify import Evidence, certify, explained
from ..checks import check_sequences, reals
from ..signatures import checked
from ..theorem import Theorem
from .assumptions import one, regular
from .recoverable import (
    Columns,
    check_task,
    columns,
    recoverable_states,
    recovery,
    relevant_values,
    some_states,
    star_states,
)
from .scope import sure_in, why_empty

ATTENDED = 1e-12  # a position with more weight than this is attended to
ZERO = 1e-9  # times the scale of the head: how a score whose target is exactly zero is decided


def theorem_4_3(
    world: MemoryHMM, task: PosteriorTask, *, star: Sequence[int] | None = None
) -> Theorem:
    """Under Assumptions 4.2 and 3.2 an attention head computes the labels on R.

    For x in R, with I^ the positions i where `supp P[H_i | x_-i]` lies in H*:

        Attn(x) = mean_{i in I^} G_i(x)[x_i] * mu . P[M_{j*} | x]

    `star` is S*; by default the largest admissible one, which makes R largest too.
    """
    mu, cell = check_task(world, task)
    found = recoverable_states(world, cell, star=star)
    conditions = (found, regular(world))
    if not all(condition.holds for condition in conditions):
        return Theorem("Theorem 4.3", conditions)
    head = recovering_head(world, mu, cell, found.witness, columns(world, cell))
    construction = Classifier(head)
    check = partial(certify_attention, world, task, construction, found.witness)
    return Theorem("Theorem 4.3", conditions, construction=construction, check=check)


@checked(
    star=some_states,
    which=lambda name, value, given: _columns(name, value, given["world"]),
    positions=reals(lambda given: (None, given["world"].hidden + 1)),
)
def recovering_head(
    world: MemoryHMM,
    mu: Float[np.ndarray, "*rows M"],
    cell: int,
    star: Sequence[int],
    which: Columns,
    *,
    last: float = 0.0,
    positions: Float[np.ndarray, "P D"] | None = None,
) -> AttentionHead:
    """The head of Lemmas D.2 and D.4 from the recovery map theta of the given columns.

    Key rows (j*, s), s in S*, are `sum_m theta[m, s]`, one row outside H* is the complement, the
    others and the last one (of |H| + 1) are zero; the query is the indicator of H*, then `last`.
    Value rows (m, j*, s) are `theta[m, s]`, the readout there is mu_m; token rows are those of W.
    """
    relevant_values(world, mu)
    theta, complement, _ = recovery(world, cell, star, which)
    values, cells, syntax = world.W.shape[1:]
    H = star_states(world, cell, star)
    key = np.zeros((world.hidden + 1, world.vocab))
    key[:-1][H] = theta.sum(axis=0)[sorted(star)]
    if not H.all():
        key[np.flatnonzero(~H)[0]] = complement
    value = np.zeros((values, cells, syntax, world.vocab))
    value[:, cell] = theta
    readout = np.zeros((*mu.shape, cells, syntax))
    readout[..., cell, :] = mu[..., None]
    return AttentionHead(
        query=np.append(H.astype(np.float64), last),
        key=key,
        value=value.reshape(-1, world.vocab),
        readout=readout.reshape(*mu.shape[:-1], -1),
        tokens=np.asarray(world.W, np.float64).reshape(world.vocab, -1),
        positions=positions,
    )


def _columns(name: str, value: Any, world: MemoryHMM) -> Columns:
    shapes = [world.W.shape[1:], (world.values, world.W.shape[-1])]
    fits = isinstance(value, Columns) and [np.shape(part) for part in value] == shapes
    if not fits or any(np.asarray(part).dtype != bool for part in value):
        raise TypeError(f"{name} is {brief(value)}; it must be what columns(world, cell) returns")
    return value


# -- run on sequences -------------------------------------------------------------------------


class AttentionStatement(eqx.Module):
    """What Theorem 4.3 states about one sequence; with `outside`, the possible sequences not in R
    (no identity is claimed there, only the labels mean something).

    The hard head takes scores within 1e-9 for equal, so it also attends to positions that are sure
    but for a probability below that. Such near ties are counted, and belong to the attended set.
    """

    star: Bool[np.ndarray, " H"]
    outside: bool = eqx.field(static=True, default=False)

    def __call__(
        self,
        world: MemoryHMM,
        task: PosteriorTask,
        classifier: Classifier,
        tokens: Int[Array, " T"],
    ) -> Evidence:
        seen = jnp.asarray(task.observed(tokens.shape[0]))
        rows, star = world.embed(tokens, seen), jnp.asarray(self.star)
        support = world.supports(rows)
        sure = sure_in(world, support, star)
        if self.outside:
            return Evidence(jnp.ones(()), ~sure.any())
        near = ~sure & nearly_sure(world, rows, star)
        outputs, padded, known = classifier.outputs(world, tokens, seen)
        head = classifier.head
        assert isinstance(head, AttentionHead)
        factor = mean_over(sure | near, token_chance(outputs, padded, known))
        given = head(outputs, padded, known)
        error = jnp.abs(given - factor * task.scores(world, tokens)).max()
        attended = head.weights(outputs) > ATTENDED
        details = {
            "attended differs from sure": (attended != (sure | near)).any(),
            "near ties": near.any(),
            "absolute error without near ties": jnp.where(near.any(), 0, error),
            **zero_target(head, given, ~relevant_possible(world, task, support)),
        }
        return Evidence(factor, sure.any(), details)


def certify_attention(
    world: MemoryHMM,
    task: PosteriorTask,
    classifier: Classifier,
    star: Sequence[int],
    *,
    scope: Literal["R", "outside"] = "R",
    **how: Any,
) -> Theorem:
    """Run the head of Theorem 4.3 on the sequences of R, or on those outside (labels only).

    `how` is passed to `certify`: `length=`, or `key=, length=, count=`, or `sequences=`.
    `details` counts sequences where the attended set is not I^ and near ties, and the zero targets:
    sequences that rule out every value in supp(mu), the head's largest output on them, and how often
    it would label them wrongly with the tolerance `1e-9 * scale` and without.
    """
    check_choice("scope", scope, ("R", "outside"))
    states = star_states(world, task.cell, star)
    run = certify(world, task, classifier, AttentionStatement(states, scope == "outside"), **how)
    return run if scope == "outside" else explained(run, lambda: why_empty(world, states, **how))


def token_chance(
    outputs: Float[Array, "L V"], tokens: Int[Array, " L"], known: Bool[Array, " L"]
) -> Float[Array, " L"]:
    """`G_i[x_i]`, and `sum_z G_i[z]` where no token is known."""
    own = jnp.take_along_axis(outputs, tokens[:, None], axis=1)[:, 0]
    return jnp.where(known, own, outputs.sum(axis=1))


def mean_over(chosen: Bool[Array, " L"], values: Float[Array, " L"]) -> Float[Array, ""]:
    """The mean of the chosen values; 0 if there are none."""
    return jnp.sum(jnp.where(chosen, values, 0)) / jnp.maximum(chosen.sum(), 1)


def nearly_sure(
    world: MemoryHMM, rows: Float[Array, "L CH"], star: Bool[Array, " H"]
) -> Bool[Array, " L"]:
    """Where `Pr(H_i not in H* | the other rows)` is at most the tolerance for ties."""
    law = world.aggregate(rows).sum(axis=1)
    return (law.sum(axis=1) > 0) & (jnp.where(star, 0, law).sum(axis=1) <= TIE)


def relevant_possible(world: MemoryHMM, task: PosteriorTask, found: Supports) -> Bool[Array, ""]:
    """Whether x, of which `found` are the supports, leaves some value in supp(mu) possible."""
    alive = found.start.reshape(-1, world.hidden).any(axis=1)
    relevant = (jnp.asarray(task.mu) != 0).reshape(-1, world.values).any(axis=0)
    return (alive & relevant[world.cell_values()[:, task.cell]]).any()


def zero_target(
    head: AttentionHead, given: Float[Array, "*rows"], zero: Bool[Array, ""]
) -> dict[str, Array]:
    """What the head says where `mu . P = 0` because no value in supp(mu) is possible."""
    scale = jnp.abs(jnp.asarray(head.value)).max() * jnp.abs(jnp.asarray(head.readout)).max()
    details = {"zero targets": zero, "zero target output": jnp.where(zero, jnp.abs(given).max(), 0)}
    if given.ndim == 0:
        tolerance = ZERO * jnp.maximum(scale, 1)
        details["zero targets mislabelled"] = zero & (given < -tolerance)
        details["zero targets mislabelled without tolerance"] = zero & (given < 0)
    return details


# -- softmax attention ------------------------------------------------------------------------


class SoftAttention(NamedTuple):
    """Softmax attention with scores times lambda, and the hard head.

    `gap` is the distance from the best score to the best one not attended to (inf if all are),
    `value_range` the spread of the values over positions.
    """

    sharpness: Float[np.ndarray, " K"]  # lambda
    gap: Float[np.ndarray, " n"]
    value_range: Float[np.ndarray, " n"]
    hard: Float[np.ndarray, "n *rows"]
    soft: Float[np.ndarray, "K n *rows"]
    length: int

    @property
    def error(self) -> Float[np.ndarray, "K n"]:
        away = np.abs(self.soft - self.hard)
        return away.reshape(*away.shape[:2], -1).max(axis=2)

    @property
    def bound(self) -> Float[np.ndarray, "K n"]:
        return self.length * np.exp(-self.sharpness[:, None] * self.gap) * self.value_range


@checked()
def softmax_bound(found: SoftAttention) -> Theorem:
    """`|soft - hard| <= T exp(-lambda gap) range` at every lambda and sequence.

    Scores that the hard head takes for equal may differ by up to TIE, which moves the soft one by at
    most `lambda TIE range`.
    """
    ties = found.sharpness[:, None] * TIE * found.value_range
    slack = float((found.bound + ties - found.error).min())
    return Theorem.inequality("Softmax attention", slack, within=1e-12, cases=found.error.size)


@checked(world=one(MemoryHMM), lambdas=reals((None,), least=np.finfo(float).tiny))
def soft_attention(
    world: MemoryHMM,
    classifier: Classifier,
    sequences: Int[np.ndarray, "n T"],
    lambdas: Sequence[float] | Float[np.ndarray, " rates"],
    *,
    observed: Bool[np.ndarray, " T"] | None = None,
) -> SoftAttention:
    """The scores of attention at temperature `1 / lambda`, and of the hard head."""
    sequences, seen = check_sequences(world, sequences, observed)
    if not isinstance(classifier.head, AttentionHead):
        raise TypeError("the classifier has a linear head; this is about an attention head")
    rates = np.asarray(lambdas)
    with jax.enable_x64(True):
        found = _soft_attention(unshared(world), unshared(classifier), sequences, rates, seen)
    gap, spread, hard, soft = map(np.asarray, found)
    extra = 0 if classifier.prompt is None else len(classifier.prompt)
    length = sequences.shape[1] + extra + int(classifier.placeholder)
    return SoftAttention(rates, gap, spread, hard, np.moveaxis(soft, 1, 0), length)


@eqx.filter_jit
def _soft_attention(
    world: MemoryHMM,
    classifier: Classifier,
    sequences: Int[AnyArray, "n T"],
    rates: Float[AnyArray, " K"],
    observed: Bool[AnyArray, " T"],
) -> tuple[Array, Array, Array, Array]:
    head = classifier.head
    assert isinstance(head, AttentionHead)

    def one(x: Int[Array, " T"]) -> tuple[Array, Array, Array, Array]:
        outputs, tokens, known = classifier.outputs(world, x, observed)
        scores, hard = head.scores(outputs), head.weights(outputs)
        values = head.values(outputs, tokens, known)
        soft = jax.vmap(lambda t: eqx.tree_at(lambda h: h.temperature, head, t).weights(outputs))(
            1 / rates
        )
        rest = jnp.max(jnp.where(hard > 0, -jnp.inf, scores))
        flat = values.reshape(len(values), -1)
        spread = jnp.max(flat.max(0) - flat.min(0))
        return jnp.max(scores) - rest, spread, hard @ values, soft @ values

    return jax.vmap(one)(jnp.asarray(sequences))
