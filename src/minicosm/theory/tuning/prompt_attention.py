"""Theorems 4.6 and D.6: a prompt that rules out irrelevant memory values, then an attention head."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.adaptation import AttentionHead, Classifier, SoftPrompt
from minicosm.adaptation.checks import check_choice, check_flag
from minicosm.worlds import MemoryHMM, PosteriorTask

from ..certify import Evidence, certify, explained
from ..signatures import checked
from ..theorem import Theorem
from .assumptions import regular, start_ratio, start_recurs
from .attention_head import (
    ATTENDED,
    mean_over,
    nearly_sure,
    recovering_head,
    relevant_possible,
    token_chance,
    zero_target,
)
from .recoverable import (
    check_cell,
    check_task,
    columns,
    recoverable_for,
    relevant_values,
    some_states,
    star_states,
)
from .recoverable import stationary as stationary_start
from .scope import sure_in, why_empty

Beta = Literal["safe", "printed"]
PRINTED_BETA = -2.0


def theorem_d6(
    world: MemoryHMM,
    task: PosteriorTask,
    *,
    beta: Beta = "safe",
    stationary: bool = True,
    star: Sequence[int] | None = None,
) -> Theorem:
    """Under Assumptions D.5 and 4.4 a prompt and an attention head compute the labels on R.

    For x in R that leaves M* = supp(mu) possible, with I the attended positions of (z~, x),

        Attn(x) = mean_{i in I} Gbar_i[x^_i] * mu . P[M_{j*} | x] / Pr(M_{j*} in M* | x)

    and where x rules out M* both sides are 0. `beta="printed"` keeps attention from the prompt's own
    position by adding -2 to its score, as the paper does; that is not enough in general, because
    Claim D.10 bounds no score there. `beta="safe"` adds `-(2 + max_z |(q^T Theta^K)_z|)`.

    With `stationary=False` Assumption 4.4 gives way to 3.2 with `supp(p0)` in `supp(p_1)`, and the
    prompt is repaired: `u = 1(m_{j*} in M*) kappa p0 / p_1`. `star` is S*; by default the largest.
    """
    mu, cell = check_task(world, task)
    check_choice("beta", beta, ("safe", "printed"))
    check_flag("stationary", stationary)
    found = recoverable_for(world, mu, cell, star=star)
    start = (stationary_start(world),) if stationary else (regular(world), start_recurs(world))
    conditions = (found, *start)
    name = "Theorem D.6" if stationary else "Theorem D.6 without stationarity"
    name += " and position vector -2" if beta == "printed" else ""
    if not all(condition.holds for condition in conditions):
        return Theorem(name, conditions)
    construction = prompted_head(world, mu, cell, found.witness, beta=beta, repaired=not stationary)
    check = partial(certify_prompted, world, task, construction, found.witness)
    return Theorem(name, conditions, construction=construction, check=check)


def theorem_4_6(
    world: MemoryHMM,
    task: PosteriorTask,
    *,
    beta: Beta = "safe",
    stationary: bool = True,
    star: Sequence[int] | None = None,
) -> Theorem:
    """Theorem D.6 for one memory cell (Assumption 4.5 in place of D.5)."""
    check_task(world, task)
    if world.cells != 1:
        raise ValueError(f"the world has {world.cells} cells; Theorem 4.6 is about one, see D.6")
    general = theorem_d6(world, task, beta=beta, stationary=stationary, star=star)
    name = general.name.replace("D.6", "4.6")
    return replace(general, name=name)


@checked(star=some_states)
def prompted_head(
    world: MemoryHMM,
    mu: Float[np.ndarray, "*rows M"],
    cell: int,
    star: Sequence[int],
    *,
    beta: Beta = "safe",
    repaired: bool = False,
) -> Classifier:
    """The construction of Theorem D.6, whether or not its conditions hold.

    The head is that of Theorem 4.3 on the columns of D.5, with query 1 in its last coordinate and
    the position vector (0, .., 0, beta_1) at the prompt.
    """
    relevant_values(world, mu)
    free = recovering_head(world, mu, cell, star, columns(world, cell, mu), last=1.0)
    away = PRINTED_BETA
    if beta == "safe":
        away = -(2 + float(np.abs(free.query @ free.key).max()))
    position = np.zeros((1, world.hidden + 1))
    position[0, -1] = away
    head = eqx.tree_at(lambda h: h.positions, free, position, is_leaf=lambda leaf: leaf is None)
    return Classifier(head, memory_prompt(world, mu, cell, repaired=repaired))


def memory_prompt(
    world: MemoryHMM,
    mu: Float[np.ndarray, "*rows M"],
    cell: int,
    *,
    repaired: bool = False,
) -> SoftPrompt:
    """`u[m_1..m_N, h] = 1(m_{j*} in M*)`, times `kappa p0[h] / p_1[h]` if `repaired`.

    kappa makes the largest factor 1.
    """
    check_cell(world, cell)
    check_flag("repaired", repaired)
    relevant = relevant_values(world, mu)[world.cell_values()[:, cell]]
    ratio = start_ratio(world) if repaired else np.ones(world.hidden)
    u = relevant[:, None] * (ratio / ratio.max())
    return SoftPrompt(u.reshape(1, -1))


# -- run on sequences -------------------------------------------------------------------------

Scope = Literal["R", "wider", "outside"]


class PromptStatement(eqx.Module):
    """What Theorem D.6 states about one sequence of R, of the wider set on which it holds, or (only
    the labels mean something) of the possible sequences outside R."""

    star: Bool[np.ndarray, " H"]
    scope: Scope = eqx.field(static=True, default="R")

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
        sure = jnp.pad(sure_in(world, support, star), (1, 0))
        if self.scope == "outside":
            return Evidence(jnp.ones(()), ~sure.any())
        assert classifier.prompt is not None
        rows = classifier.prompt.prepend(rows)
        sure_after = sure_in(world, world.supports(rows), star).at[0].set(False)
        near = ~sure_after & nearly_sure(world, rows, star).at[0].set(False)
        outputs, padded, known = classifier.outputs(world, tokens, seen)
        head = classifier.head
        assert isinstance(head, AttentionHead)
        attended = head.weights(outputs) > ATTENDED
        reachable = relevant_possible(world, task, support)
        mu, law = jnp.asarray(task.mu), task.law(world, tokens)
        relevant = jnp.where((mu != 0).reshape(-1, world.values).any(axis=0), law, 0).sum()
        factor = mean_over(sure_after | near, token_chance(outputs, padded, known))
        factor = jnp.where(reachable, factor / jnp.where(relevant > 0, relevant, 1), 1)
        given = head(outputs, padded, known)
        error = jnp.abs(given - factor * (mu @ law)).max()
        inside = sure.any() if self.scope == "R" else sure_after.any() | ~reachable
        details = {
            "prompt attended": attended[0],
            "sure but not attended": reachable & (sure & ~attended).any(),
            "prompt adds sure positions": reachable & (sure_after & ~sure).any(),
            "attended differs from sure after the prompt": reachable
            & (attended != (sure_after | near)).any(),
            "near ties": near.any(),
            "absolute error without near ties": jnp.where(near.any(), 0, error),
            **zero_target(head, given, ~reachable),
        }
        return Evidence(factor, inside, details)


def certify_prompted(
    world: MemoryHMM,
    task: PosteriorTask,
    classifier: Classifier,
    star: Sequence[int],
    *,
    scope: Scope = "R",
    **how: Any,
) -> Theorem:
    """Run the construction of Theorem D.6 on R, on the wider set on which it holds, or outside R.

    `how` is passed to `certify`: `length=`, or `key=, length=, count=`, or `sequences=`.
    `details` compares the attended positions with I^ (sure given x) and with the sure positions of
    the modified world (given z~ and x), and reports zero targets as `certify_attention` does.
    """
    check_choice("scope", scope, ("R", "wider", "outside"))
    states = star_states(world, task.cell, star)
    run = certify(world, task, classifier, PromptStatement(states, scope), **how)
    return run if scope == "outside" else explained(run, lambda: why_empty(world, states, **how))
