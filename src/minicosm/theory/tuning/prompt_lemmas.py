"""The propositions, claims and lemmas that prove Theorem D.6.

With a prompt the model sees a modified world: at position 1 only, a fake token z~ is emitted with
probabilities u, `P[X^_1 = z~ | M, H_1] = u` and `P[X^_1 = z | M, H_1] = (1 - u) * P[z | M, H_1]`.
Write x^ = (z~, x). Functions that build the prompt of Theorem D.6 take `stationary=False` for the
repaired one, with which the same statements hold from any start.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.adaptation.checks import check_reals, unshared
from minicosm.worlds import MemoryHMM, PosteriorTask
from minicosm.worlds.arrays import AnyArray

from ..checks import check_sequences
from ..theorem import Theorem
from .memory_lemmas import Observed, constructed, key_errors, largest, observe, worst
from .path_sums import cell_joint, others_joint, token_rows
from .prompt_attention import Beta, theorem_d6
from .recoverable import check_cell, relevant_values

Tokens = Int[np.ndarray, "n T"]


def lemma_d7(world: MemoryHMM, u: Float[np.ndarray, "C H"], sequences: Tokens) -> Theorem:
    """Lemma D.7, for any u in [0, 1]: `tau_i(e^(x)) = P[M, H_i, X^_-i = x^_-i]` at every i, and for
    i > 1 the output is `P[X^_i | X^_-i = x^_-i]`, the zero vector if that context is impossible.

    The right sides are sums over configurations and hidden paths of the modified world. Details: the
    two errors, that of Gbar_1 against `P[X_1 | ..]` of the unmodified emissions, the number of
    impossible contexts, and how many outputs there are not exactly zero.
    """
    check_cell(world, 0)
    sequences, _ = check_sequences(world, sequences)
    u = np.asarray(check_reals("u", u), np.float64)
    if u.shape != (world.configurations, world.hidden) or (u < 0).any() or (u > 1).any():
        shape = (world.configurations, world.hidden)
        raise ValueError(f"u has shape {u.shape}; it must have shape {shape} and entries in [0, 1]")
    rows = token_rows(world, sequences)
    fake = np.broadcast_to(u, (len(rows), 1, *u.shape))
    exact = others_joint(world, np.concatenate([fake, rows], axis=1))
    joint = cell_joint(world, exact).reshape(*exact.shape[:2], -1)
    total = joint.sum(axis=2, keepdims=True)
    possible = total[..., 0] > 0
    flat = np.asarray(world.W, np.float64).reshape(world.vocab, -1)
    laws = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0) @ flat.T
    with jax.enable_x64(True):
        tau, outputs = map(np.asarray, _prompted(unshared(world), u.reshape(1, -1), sequences))
    everywhere = np.ones(possible.shape, bool)
    later = np.broadcast_to(np.arange(possible.shape[1]) > 0, possible.shape)
    parts = {
        "messages": worst(tau - exact, everywhere),
        "outputs": worst(outputs - laws, later),
    }
    details = {
        "output at the prompt": worst(outputs - laws, ~later),
        "impossible contexts": int((~possible).sum()),
        "impossible contexts with an output": int((outputs[~possible] != 0).any(axis=1).sum()),
    }
    return largest("Lemma D.7", parts, int(possible.size), **details)


@eqx.filter_jit
def _prompted(
    world: MemoryHMM, u: Float[AnyArray, "1 CH"], sequences: Int[AnyArray, "n T"]
) -> tuple[Float[Array, "n L C H"], Float[Array, "n L V"]]:
    def one(x: Int[Array, " T"]) -> tuple[Array, Array]:
        rows = jnp.concatenate([u, world.embed(x)])
        m = world.messages(rows)
        scale = jnp.exp(m.forward_log + m.backward_log[:, 1:]) * jnp.asarray(world.pM)[:, None]
        tau = scale[..., None] * m.forward * m.backward[:, 1:]
        return jnp.moveaxis(tau, 0, 1), world.predict(rows)

    return jax.vmap(one)(jnp.asarray(sequences))


def _run(
    world: MemoryHMM,
    task: PosteriorTask,
    sequences: Tokens,
    star: Sequence[int] | None,
    stationary: bool,
    beta: Beta = "safe",
) -> tuple[Observed, tuple[int, ...]]:
    theorem = theorem_d6(world, task, beta=beta, stationary=stationary, star=star)
    classifier, found = constructed(theorem)
    return observe(world, classifier, task.cell, found, sequences), found


def _after_prompt(o: Observed) -> np.ndarray:
    """Possible x, positions i > 1 with `Pr(X^_-i = x^_-i) > 0`."""
    return np.asarray(o.possible[:, None] & o.context) & (np.arange(o.context.shape[1]) > 0)


def lemma_d9(
    world: MemoryHMM,
    task: PosteriorTask,
    sequences: Tokens,
    *,
    star: Sequence[int] | None = None,
    stationary: bool = True,
    beta: Beta = "safe",
    printed: bool = False,
) -> Theorem:
    """Lemma D.9 corrected: the attended set I contains `I^ = {i + 1: supp P[H_i | x_-i] in H*}`, and
    is exactly the set of sure positions of the modified world, `{i > 1: supp P[H_i | x^_-i] in H*}`.

    Over the possible x of (D.7) with I^ nonempty. The error counts violations of either. With
    `printed`, violations of the printed `I = I^`: the prompt shrinks supports, so that more positions
    may be sure. `details["prompt attended"]` counts how often position 1 is in I.
    """
    o, _ = _run(world, task, sequences, star, stationary, beta)
    inside = o.possible & o.context[:, 1:].all(axis=1) & o.sure.any(axis=1)
    missed = inside & (o.sure & ~o.attended).any(axis=1)
    other = inside & (o.attended != (o.sure_after | o.near)).any(axis=1)
    different = inside & (o.attended != o.sure).any(axis=1)
    return Theorem.identity(
        "Lemma D.9 as printed" if printed else "Lemma D.9",
        float((different if printed else missed | other).sum()),
        within=0.0,
        cases=int(inside.sum()),
        details={
            "prompt adds sure positions": int(
                (inside & (o.sure_after & ~o.sure).any(axis=1)).sum()
            ),
            "prompt attended": int((inside & o.attended[:, 0]).sum()),
            "near ties": int((inside & o.near.any(axis=1)).sum()),
        },
    )


def claim_d10(
    world: MemoryHMM,
    task: PosteriorTask,
    sequences: Tokens,
    *,
    star: Sequence[int] | None = None,
    stationary: bool = True,
) -> Theorem:
    """Claim D.10: as Claim D.3 with x^ in place of x, at positions i > 1 with a possible context.

    It says nothing at position 1, which the prompt does not reach: `details["norm at the prompt"]`
    is the largest `||Theta1 Gbar_1||_1` and `details["score at the prompt"]` the largest
    `q . Theta^K Gbar_1`, which the printed `beta_1 = -2` takes to be at most 1.
    """
    o, found = _run(world, task, sequences, star, stationary)
    where = _after_prompt(o)
    parts = key_errors(world, o, task.cell, found, where)
    at_prompt = np.zeros_like(where)
    at_prompt[:, 0] = o.possible
    H = np.isin(np.arange(world.hidden), task.cell * world.W.shape[-1] + np.array(found))
    score = o.keys[:, :, :-1][..., H].sum(axis=2)
    details = {
        "norm at the prompt": worst(np.abs(o.keys).sum(axis=2), at_prompt),
        "score at the prompt": float(score[at_prompt].max()) if at_prompt.any() else 0.0,
        "above 3 at the prompt": int((score[at_prompt] > 3).sum()),
    }
    return largest("Claim D.10", parts, int(where.sum()), **details)


def proposition_d11(
    world: MemoryHMM,
    task: PosteriorTask,
    sequences: Tokens,
    *,
    star: Sequence[int] | None = None,
    stationary: bool = True,
) -> Theorem:
    """Proposition D.11: `supp P[M_{j*} | X^_-i = x^_-i]` lies in M* = supp(mu) for i > 1.

    Counts violations on truth values; `details["mass"]` is the largest probability outside M*.
    """
    o, _ = _run(world, task, sequences, star, stationary)
    where = _after_prompt(o)
    outside = ~relevant_values(world, np.asarray(task.mu))
    found = (o.cell_support & outside).any(axis=2) & where
    mass = worst(o.law.sum(axis=3)[..., outside], where)
    return Theorem.identity(
        "Proposition D.11",
        float(found.sum()),
        within=0.0,
        cases=int(where.sum()),
        details={"mass": mass},
    )


def claim_d12(
    world: MemoryHMM,
    task: PosteriorTask,
    sequences: Tokens,
    *,
    star: Sequence[int] | None = None,
    stationary: bool = True,
) -> Theorem:
    """Claim D.12: `supp P[H_i | X^_-i = x^_-i]` lies in `supp P[H_{i-1} | X_-(i-1) = x_-(i-1)]`.

    Counts violations; `details["strict"]` counts the positions where the inclusion is strict.
    """
    o, _ = _run(world, task, sequences, star, stationary)
    where = _after_prompt(o)
    bad = (o.support & ~o.support_before).any(axis=2) & where
    strict = (~o.support & o.support_before).any(axis=2) & where
    return Theorem.identity(
        "Claim D.12",
        float(bad.sum()),
        within=0.0,
        cases=int(where.sum()),
        details={"strict": int(strict.sum())},
    )


def lemma_d13(
    world: MemoryHMM,
    task: PosteriorTask,
    sequences: Tokens,
    *,
    star: Sequence[int] | None = None,
    stationary: bool = True,
) -> Theorem:
    """Lemma D.13: for i in I^ with a possible context the value is `mu . P[X^_i = x^_i, M_{j*} |
    x^_-i]`, hence `r mu . P[M_{j*} | x]` with `r = Gbar_i[x_i] / Pr(M_{j*} in M* | x)` if x^ is
    possible; and if x^ is impossible, the value is 0 at every i > 1.

    The error is the largest of the three.
    """
    o, _ = _run(world, task, sequences, star, stationary)
    mu = np.asarray(task.mu, np.float64)
    where = _after_prompt(o) & o.sure
    relevant = o.memory[:, relevant_values(world, mu)].sum(axis=1)
    target = (o.memory / np.where(relevant > 0, relevant, 1)[:, None]) @ mu.T
    scaled = np.einsum("nl,n...->nl...", o.chance, target)
    ruled_out = (o.possible & ~o.reachable)[:, None] & (np.arange(where.shape[1]) > 0)
    reachable = where & o.reachable[:, None]
    parts = {
        "joint": worst(o.values - o.seen @ mu.T, where),
        "scaled": worst(o.values - scaled, reachable),
        "zero": worst(o.values, ruled_out),
    }
    ruled = {"impossible x^": int((o.possible & ~o.reachable).sum())}
    return largest("Lemma D.13", parts, int((where | ruled_out).sum()), **ruled)


def claim_d14(
    world: MemoryHMM,
    task: PosteriorTask,
    sequences: Tokens,
    *,
    star: Sequence[int] | None = None,
    stationary: bool = True,
) -> Theorem:
    """Claim D.14: `mu . P[M_{j*} | X^ = x^] = mu . P[M_{j*} | x] / Pr(z~ | x)` for possible x^.

    With a stationary start and the 0/1 prompt `Pr(z~ | x) = Pr(M_{j*} in M* | x)`, which is checked
    too (`details["fake"]`). With the repaired prompt `Pr(M_{j*} in M* | x)` takes its place.
    """
    o, _ = _run(world, task, sequences, star, stationary)
    mu = np.asarray(task.mu, np.float64)
    where = o.possible & o.reachable
    relevant = o.memory[:, relevant_values(world, mu)].sum(axis=1)
    divisor = o.fake if stationary else relevant
    ratio = o.memory / np.where(divisor > 0, divisor, 1)[:, None]
    parts = {"identity": worst(o.memory_after @ mu.T - ratio @ mu.T, where)}
    if stationary:
        parts["fake"] = worst(o.fake - relevant, where)
    return largest("Claim D.14", parts, int(where.sum()))


def claim_d15(
    world: MemoryHMM,
    task: PosteriorTask,
    sequences: Tokens,
    *,
    star: Sequence[int] | None = None,
    stationary: bool = True,
) -> Theorem:
    """Claim D.15: if x is possible and x^ is not, `mu . P[M_{j*} | x] = 0`; and where
    `Pr(X^_-i = x^_-i) = 0` the output is exactly the zero vector.

    The error is the larger of |mu . P| and of the outputs' entries.
    """
    o, _ = _run(world, task, sequences, star, stationary)
    zero = o.possible & ~o.reachable
    parts = {
        "target": worst(o.memory @ np.asarray(task.mu, np.float64).T, zero),
        "outputs": worst(o.outputs, ~o.context),
    }
    found = {"impossible x^": int(zero.sum()), "impossible contexts": int((~o.context).sum())}
    return largest("Claim D.15", parts, sum(found.values()), **found)
