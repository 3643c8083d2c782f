"""The propositions, claims and lemmas that prove Theorem 4.3.

D.1 and D.8 are compared with sums over all hidden paths (`path_sums`), the others with the exact
posteriors. Every function takes a batch of sequences and leaves out the impossible ones.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.adaptation import AttentionHead, Classifier
from minicosm.adaptation.checks import check_whole, unshared
from minicosm.worlds import MemoryHMM, PosteriorTask
from minicosm.worlds.arrays import AnyArray

from ..certify import all_sequences
from ..checks import check_sequences
from ..theorem import Condition, Theorem
from .attention_head import ATTENDED, nearly_sure, theorem_4_3, token_chance
from .path_sums import cell_joint, others_joint, shifted_joint, token_rows
from .recoverable import check_cell, recoverable_for, recoverable_states, star_states
from .scope import sure_positions


class Observed(NamedTuple):
    """Everything the lemmas compare, for n sequences at L positions (the first the prompt, if any).

    "The rest" at position i is everything but row i: x_-i, or (z~, x)_-i with a prompt.
    """

    possible: Bool[AnyArray, " n"]  # x
    reachable: Bool[AnyArray, " n"]  # (z~, x); x without a prompt
    context: Bool[AnyArray, "n L"]  # the rest
    support: Bool[AnyArray, "n L H"]  # supp P[H_i | the rest]
    support_before: Bool[AnyArray, "n L H"]  # the same without the prompt; empty at the prompt
    cell_support: Bool[AnyArray, "n L M"]  # supp P[M_{j*} | the rest]
    sure: Bool[AnyArray, "n L"]  # supp P[H_i | x_-i] in H*; never at the prompt
    sure_after: Bool[AnyArray, "n L"]  # supp P[H_i | the rest] in H*; never at the prompt
    near: Bool[AnyArray, "n L"]  # Pr(H_i not in H* | the rest) within the tolerance for ties
    law: Float[AnyArray, "n L M H"]  # P[M_{j*} = m, H_i = h | the rest]
    seen: Float[AnyArray, "n L M"]  # P[M_{j*} = m, row i | the rest]
    memory: Float[AnyArray, "n M"]  # P[M_{j*} | x]
    memory_after: Float[AnyArray, "n M"]  # P[M_{j*} | z~, x]
    fake: Float[AnyArray, " n"]  # Pr(z~ | X^_{2:} = x); 1 without a prompt
    chance: Float[AnyArray, "n L"]  # G_i[x_i]
    outputs: Float[AnyArray, "n L V"]
    keys: Float[AnyArray, "n L D"]
    recovered: Float[AnyArray, "n L M N S"]  # Theta^V G_i
    scores: Float[AnyArray, "n L"]
    attended: Bool[AnyArray, "n L"]
    values: Float[AnyArray, "n L *rows"]


def observe(
    world: MemoryHMM,
    classifier: Classifier,
    cell: int,
    star: Sequence[int],
    sequences: Int[np.ndarray, "n T"],
) -> Observed:
    """Run a constructed head and exact inference on a batch of sequences."""
    sequences, _ = check_sequences(world, sequences)
    H_star = star_states(world, cell, star)
    with jax.enable_x64(True):
        found = _observe(unshared(world), unshared(classifier), np.asarray(cell), H_star, sequences)
    return jax.tree.map(np.asarray, found)


@eqx.filter_jit
def _observe(
    world: MemoryHMM,
    classifier: Classifier,
    cell: Int[AnyArray, ""],
    star: Bool[AnyArray, " H"],
    sequences: Int[AnyArray, "n T"],
) -> Observed:
    values, star = world.values, jnp.asarray(star)
    member = jax.nn.one_hot(jnp.asarray(world.cell_values())[:, cell], values)  # (C, M)
    extra = 0 if classifier.prompt is None else len(classifier.prompt)

    def grid(rows: Array) -> Array:
        return rows.reshape(len(rows), -1, world.hidden)

    def one(x: Int[Array, " T"]) -> Observed:
        plain = world.embed(x)
        rows = plain if classifier.prompt is None else classifier.prompt.prepend(plain)
        possible, sure = sure_positions(world, plain, star)
        reachable, sure_after = sure_positions(world, rows, star)
        near = nearly_sure(world, rows, star)
        if extra:
            sure = jnp.pad(sure, (extra, 0))
            sure_after, near = sure_after.at[:extra].set(False), near.at[:extra].set(False)
        others = grid(world.supports(rows).others)
        before = grid(world.supports(plain).others).any(axis=1)
        tau = world.aggregate(rows)
        law = jnp.einsum("lch,cm->lmh", tau, member)
        seen = jnp.einsum("lch,lch,cm->lm", tau, grid(rows), member)
        total = seen[-1].sum()
        head = classifier.head
        assert isinstance(head, AttentionHead)
        outputs, tokens, known = classifier.outputs(world, x, None)
        return Observed(
            possible=possible,
            reachable=reachable,
            context=others.any(axis=(1, 2)),
            support=others.any(axis=1),
            support_before=jnp.pad(before, ((extra, 0), (0, 0))),
            cell_support=jnp.einsum("lc,cm->lm", others.any(axis=2), member) > 0,
            sure=sure,
            sure_after=sure_after,
            near=near & ~sure_after,
            law=law,
            seen=seen,
            memory=world.posterior(x).cells[cell],
            memory_after=seen[-1] / jnp.where(total > 0, total, 1),
            fake=seen[0].sum() if extra else jnp.ones(()),
            chance=token_chance(outputs, tokens, known),
            outputs=outputs,
            keys=outputs @ jnp.asarray(head.key).T,
            recovered=(outputs @ jnp.asarray(head.value).T).reshape(
                len(rows), values, world.cells, -1
            ),
            scores=head.scores(outputs),
            attended=head.weights(outputs) > ATTENDED,
            values=head.values(outputs, tokens, known),
        )

    return jax.vmap(one)(jnp.asarray(sequences))


def worst(differences: AnyArray, where: AnyArray) -> float:
    """The largest absolute entry where `where` (its axes lead those of `differences`)."""
    chosen = np.abs(np.asarray(differences))[np.asarray(where)]
    return float(chosen.max()) if chosen.size else 0.0


def largest(name: str, parts: Mapping[str, float], cases: int, **details: Any) -> Theorem:
    """An identity in several parts, whose error is the largest of theirs (NaN if one is NaN)."""
    error = float(np.max(list(parts.values())))
    return Theorem.identity(name, error, cases=cases, details={**parts, **details})


def constructed(theorem: Theorem) -> tuple[Classifier, tuple[int, ...]]:
    """The classifier and S* of a memory theorem; raises if it constructs nothing."""
    if theorem.construction is None:
        reasons = "; ".join(f"{c.name}: {c.reason}" for c in theorem.failed())
        raise ValueError(f"{theorem.name} constructs nothing here ({reasons})")
    return theorem.construction, theorem.conditions[0].witness


# -- Propositions D.1 and D.8 -----------------------------------------------------------------


def proposition_d1(world: MemoryHMM, sequences: Int[np.ndarray, "n T"]) -> Theorem:
    """Proposition D.1: `P[X_i | x_-i] = sum_{m,j,s} W[:, m, j, s] Pr(M_j = m, H_i = (j, s) | x_-i)`.

    The left side is `Pr(x with z at i) / sum_z ..` from whole sequences, the right side a sum over
    paths. The error is the larger of their distance and that of the model's output from the left.
    """
    check_cell(world, 0)
    sequences, _ = check_sequences(world, sequences)
    joint = cell_joint(world, others_joint(world, token_rows(world, sequences)))
    joint = joint.reshape(*joint.shape[:2], -1)  # (n, T, M N S)
    total = joint.sum(axis=2, keepdims=True)
    possible = total[..., 0] > 0
    flat = np.asarray(world.W, np.float64).reshape(world.vocab, -1)
    right = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0) @ flat.T
    with jax.enable_x64(True):
        left, model = map(np.asarray, _substituted(unshared(world), sequences))
    parts = {"expansion": worst(left - right, possible), "model": worst(model - left, possible)}
    return largest("Proposition D.1", parts, int(possible.sum()))


@eqx.filter_jit
def _substituted(
    world: MemoryHMM, sequences: Int[AnyArray, "n T"]
) -> tuple[Float[Array, "n T V"], Float[Array, "n T V"]]:
    length = sequences.shape[1]

    def one(x: Int[Array, " T"]) -> tuple[Array, Array]:
        x = jnp.asarray(x)
        tokens = jnp.arange(world.vocab, dtype=x.dtype)
        swapped = jax.vmap(lambda i: jax.vmap(lambda z: x.at[i].set(z))(tokens))(jnp.arange(length))
        chance = jnp.exp(jax.vmap(jax.vmap(world.log_prob))(swapped))
        total = chance.sum(axis=1, keepdims=True)
        return chance / jnp.where(total > 0, total, 1), world.conditionals(x)

    return jax.vmap(one)(jnp.asarray(sequences))


def proposition_d8(world: MemoryHMM, *, length: int = 2, shifts: int = 2) -> Theorem:
    """Proposition D.8: with a stationary start `P[M, H_i, X_{i+1:i+t}]` does not depend on i.

    The largest distance of the law for i = 1..shifts from that for i = 0, by sums over paths, over
    all sequences of t = `length` tokens.
    """
    check_cell(world, 0)
    check_whole("shifts", shifts, 1, 100)
    sequences = all_sequences(world.vocab, length)
    base = shifted_joint(world, sequences, 0)
    moved = np.stack([shifted_joint(world, sequences, i) for i in range(1, shifts + 1)])
    return Theorem.identity(
        "Proposition D.8", float(np.abs(moved - base).max()), cases=shifts * base.size
    )


# -- Lemma D.2, Claim D.3, Lemma D.4 ----------------------------------------------------------


def lemma_d2(
    world: MemoryHMM,
    task: PosteriorTask,
    sequences: Int[np.ndarray, "n T"],
    *,
    star: Sequence[int] | None = None,
) -> Theorem:
    """Lemma D.2: on R the attended set is `I^ = {i: supp P[H_i | x_-i] in H*}`.

    Counts sequences with I != I^, I^ being extended by the near ties (counted apart).
    """
    classifier, found = constructed(theorem_4_3(world, task, star=star))
    o = observe(world, classifier, task.cell, found, sequences)
    inside = o.possible & o.sure.any(axis=1)
    wrong = inside & (o.attended != (o.sure | o.near)).any(axis=1)
    near = int((inside & o.near.any(axis=1)).sum())
    return Theorem.identity(
        "Lemma D.2",
        float(wrong.sum()),
        within=0.0,
        cases=int(inside.sum()),
        details={"near ties": near},
    )


def claim_d3(
    world: MemoryHMM,
    task: PosteriorTask,
    sequences: Int[np.ndarray, "n T"],
    *,
    star: Sequence[int] | None = None,
) -> Theorem:
    """Claim D.3, at every position of every possible x and every s in S*:

    `(Theta1 G_i)_{(j*, s)} = Pr(H_i = (j*, s) | x_-i)`, `||Theta1 G_i||_1 = 1` and
    `(Theta2_s G_i)_m = Pr(M_{j*} = m, H_i = (j*, s) | x_-i)`. The error is the largest of the three.
    """
    classifier, found = constructed(theorem_4_3(world, task, star=star))
    o = observe(world, classifier, task.cell, found, sequences)
    everywhere = np.broadcast_to(o.possible[:, None], o.context.shape)
    parts = key_errors(world, o, task.cell, found, everywhere)
    return largest("Claim D.3", parts, int(everywhere.sum()))


def key_errors(
    world: MemoryHMM, o: Observed, cell: int, star: Sequence[int], where: Bool[np.ndarray, "n L"]
) -> dict[str, float]:
    """The three parts of Claims D.3 and D.10 at the given (sequence, position) pairs."""
    H = star_states(world, cell, star)
    recovered = o.recovered[:, :, :, cell][..., list(star)]
    return {
        "states": worst(o.keys[:, :, :-1][..., H] - o.law.sum(axis=2)[..., H], where),
        "norm": worst(np.abs(o.keys).sum(axis=2) - 1, where),
        "memory": worst(recovered - o.law[..., H], where),
    }


def lemma_d4(
    world: MemoryHMM,
    task: PosteriorTask,
    sequences: Int[np.ndarray, "n T"],
    *,
    star: Sequence[int] | None = None,
) -> Theorem:
    """Lemma D.4: for x in R and i in I^ the value is `G_i(x)[x_i] mu . P[M_{j*} | x]`.

    `details["smallest factor"]` is the least `r_{x,i} = G_i(x)[x_i]`, which must be positive.
    """
    classifier, found = constructed(theorem_4_3(world, task, star=star))
    o = observe(world, classifier, task.cell, found, sequences)
    where = o.possible[:, None] & o.sure
    target = o.memory @ np.asarray(task.mu, np.float64).T
    expected = np.einsum("nl,n...->nl...", o.chance, target)
    least = float(o.chance[where].min()) if where.any() else float("inf")
    return Theorem.identity(
        "Lemma D.4",
        worst(o.values - expected, where),
        cases=int(where.sum()),
        details={"smallest factor": least},
    )


# -- how the assumptions are related ----------------------------------------------------------


def recoverable_relations(world: MemoryHMM, mu: Any, cell: int) -> tuple[Theorem, ...]:
    """Implications between the assumptions, each under its premise:

    - 4.2 gives D.5 for every mu, with an S* at least as large;
    - D.5 for a mu without zeros is 4.2;
    - independent emission columns, Assumption 3.1 on all (m, j, s), give 4.2 with S* = S.
    """
    full, reduced = recoverable_states(world, cell), recoverable_for(world, mu, cell)
    dense = recoverable_for(world, np.ones(world.values), cell)
    rank, count = full.numbers["rank"], full.numbers["columns"]
    independent = Condition(
        "Assumption 3.1 on all columns",
        rank == count,
        {"rank": rank, "columns": count},
        "" if rank == count else f"{count} emission columns have rank {rank}",
    )
    contained = reduced.holds and set(full.witness or ()) <= set(reduced.witness)
    same = (dense.holds, dense.witness) == (full.holds, full.witness)
    whole = full.witness == tuple(range(world.W.shape[-1]))

    def relation(name: str, true: bool, *premise: Condition) -> Theorem:
        return Theorem.identity(name, float(not true), within=0.0, conditions=premise)

    return (
        relation("Assumption 4.2 gives D.5", contained, full),
        relation("Assumption D.5 for a dense mu is 4.2", same),
        relation("Assumption 3.1 gives 4.2", whole, independent),
    )
