"""Stage 2 as statements: the attention family, its losses and its optima (Theorems 2.1.3 and 2.1.5)."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import PRNGKeyArray

from minicosm.models import Transformer
from minicosm.worlds import Corruption, TopicWorld
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.topics.draws import corrupt_documents, draw_documents

from ..checks import POSITIVE, real, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .attention import (
    BestAttention,
    MaskKeys,
    Value,
    attention_loss,
    attention_model,
    best_attention,
    free_table_minimum,
    loss_by_tokens,
    symmetric_minimum,
)
from .masked_documents import documents_differ, sets_of_topics
from .stage1 import block_value, diagonal_value, generator

SAME = 1e-8  # a search and the symmetric optimum


def _finite(world: TopicWorld) -> tuple[Condition, ...]:
    return (sets_of_topics(world), documents_differ(world))


@eqx.filter_jit
def _logits(model: Transformer, tokens: AnyArray, observed: AnyArray) -> Any:
    return model.logits(model.embed(tokens, observed))


@checked(alpha=POSITIVE, beta=POSITIVE, length=whole(1, 2**12))
def assumption_2_1_2(
    world: TopicWorld,
    corruption: Corruption,
    alpha: float,
    beta: float,
    key: PRNGKeyArray,
    value: Value = "block",
    length: int = 20,
) -> Theorem:
    """The attention pattern is realisable: a `Transformer` with `W_K = I` and `W_Q = sqrt(V) G` puts out what
    the weights say, at every position of a masked document. The error is the largest difference."""
    import jax

    conditions = _finite(world)[:1]
    if not conditions[0].holds:
        return Theorem("Assumption 2.1.2, realised", conditions)
    rng = generator(key)
    tokens = draw_documents(world, rng, 1, length)
    shown, observed, _ = (p[0] for p in corrupt_documents(corruption, rng, tokens, world.vocab))
    model = attention_model(world, corruption, alpha, beta, value).to_transformer()
    with jax.enable_x64(True):
        found = np.asarray(_logits(model, shown, observed), float)
    topic = np.where(observed, world.labels[shown], -1)
    word = np.where(observed, shown, -1)
    weights = np.where(topic[:, None] == topic, alpha, 1.0)  # [query, key]
    weights = np.where(word[:, None] == word, beta, weights)
    weights[~observed] = 1.0
    weights /= weights.sum(axis=1, keepdims=True)
    W = (block_value if value == "block" else diagonal_value)(world, corruption)
    wanted = weights @ W[1:, word + 1].T
    error = np.abs(found - wanted).max()
    return Theorem.identity(
        "Assumption 2.1.2, realised", float(error), cases=wanted.size, conditions=conditions
    )


@checked(gamma=POSITIVE, share=real(least=0, most=1))
def remark_2_1_5(
    world: TopicWorld,
    corruption: Corruption,
    gamma: float,
    share: float,
    keys: MaskKeys = "full",
) -> Theorem:
    """With the block matrix the loss depends on alpha and beta through `gamma = ((v-1) alpha + beta) / v`
    alone: `beta = share v gamma`, alpha the rest, against alpha = beta = gamma."""
    v = world.words
    name = "Remark 2.1.5"
    if not _finite(world)[0].holds:
        return Theorem(name, _finite(world)[:1])
    beta = gamma if v == 1 else share * v * gamma
    alpha = gamma if v == 1 else (1 - share) * v * gamma / (v - 1)
    one, other = (
        float(attention_loss(world, corruption, np.array(a), np.array(b), "block", keys))
        for a, b in ((alpha, beta), (gamma, gamma))
    )
    return Theorem.identity(name, abs(one - other), conditions=_finite(world)[:1])


@checked(alpha=POSITIVE, beta=POSITIVE)
def attention_normaliser(
    world: TopicWorld,
    corruption: Corruption,
    alpha: float,
    beta: float,
    value: Value = "block",
    *,
    as_printed: bool = False,
) -> Theorem:
    """The loss formula against a sum over all tokens of the model (2.7): with keys that show the mask counted
    (`z + k`) it agrees. As printed it agrees neither with the model that reads them nor with the one from
    which they are hidden; the error is the smaller difference."""
    name = "Normaliser as printed" if as_printed else "Normaliser with masked keys"
    conditions = _finite(world)
    if not all(condition.holds for condition in conditions):
        return Theorem(name, conditions)
    model = attention_model(world, corruption, alpha, beta, value)
    weights = (np.array(alpha), np.array(beta))
    read, hidden = (loss_by_tokens(model, world, corruption, hide) for hide in (False, True))
    keys: MaskKeys = "printed" if as_printed else "full"
    formula = float(attention_loss(world, corruption, *weights, value, keys, total=False))
    error = min(abs(formula - read), abs(formula - hidden)) if as_printed else abs(formula - read)
    return Theorem.identity(
        name,
        error,
        conditions=conditions,
        details={"formula": formula, "masked keys read": read, "masked keys hidden": hidden},
    )


# -- asymptotic losses ------------------------------------------------------------------------


def loss_2_27(
    world: TopicWorld, corruption: Corruption, gamma: float, *, as_printed: bool
) -> float:
    r"""Equation 2.27, without its remainder: `p_c ((1 - A)^2 + (v-1) A^2) + p_r (1 + v B^2)`, printed without
    the v, where `A = gamma / (a v (gamma + tau - 1) + b v tau)` and
    `B = (b/a) gamma / (b gamma v + (a + b) v T)`."""
    T, v = world.topics, world.words
    tau = world.per_document
    assert tau is not None
    a, b = corruption.a, corruption.b
    A = gamma / a / (v * gamma + v * (tau - 1) + b / a * v * tau)
    B = b / a * gamma / (b * gamma * v + (a + b) * v * T)
    words = 1 if as_printed else v
    own = (1 - A) ** 2 + (v - 1) * A**2
    return corruption.kept * own + corruption.random * (1 + words * B**2)


@checked(gamma=POSITIVE)
def equation_2_27(
    world: TopicWorld, corruption: Corruption, gamma: float, *, as_printed: bool = False
) -> Theorem:
    """The asymptotic loss is the exact one (with the printed normalisers) up to what vanishes: the error may
    be `1e-3 (1/tau + tau/T)`."""
    name = "Equation 2.27 as printed" if as_printed else "Equation 2.27 with v"
    conditions = _finite(world)
    if not all(condition.holds for condition in conditions):
        return Theorem(name, conditions)
    tau = world.per_document
    assert tau is not None
    exact = attention_loss(
        world, corruption, np.array(gamma), np.array(gamma), "block", "printed", total=False
    )
    error = abs(float(exact) - loss_2_27(world, corruption, gamma, as_printed=as_printed))
    return Theorem.identity(
        name,
        error,
        within=1e-3 * (1 / tau + tau / world.topics),
        conditions=conditions,
        details={"T": world.topics, "gamma": gamma},
    )


# -- optima -----------------------------------------------------------------------------------


@checked(starts=whole(1, 100))
def symmetric_pattern(
    world: TopicWorld,
    corruption: Corruption,
    value: Value,
    key: PRNGKeyArray,
    starts: int = 4,
) -> Theorem:
    """The pattern of Assumption 2.1.2 is among the optimal ones: no table of weights from words to words that
    a search finds is better. Masked keys are hidden, or have a weight of their own in both. The error is the
    largest difference from the symmetric optimum, over starts."""
    conditions = _finite(world)
    if not all(condition.holds for condition in conditions):
        return Theorem("Symmetric attention is optimal", conditions)
    best = [symmetric_minimum(world, corruption, value, hidden) for hidden in (False, True)]
    found = [
        free_table_minimum(world, corruption, value, key, starts, hidden)
        for hidden in (False, True)
    ]
    one_level = best_attention(world, corruption, value, "full", total=False).loss
    return Theorem.identity(
        "Symmetric attention is optimal",
        float(np.abs(np.array(found) - np.array(best)[:, None]).max()),
        within=SAME,
        cases=2 * starts,
        conditions=conditions,
        details={
            "symmetric": best[0],
            "lost if the mask weighs as other topics": one_level - best[0],
        },
    )


def asymptotic(world: TopicWorld, corruption: Corruption) -> tuple[Condition, ...]:
    """Assumptions 2.1.3 and 2.1.4. The first is of limits: for one world it is read as `tau / T <= 0.1`,
    `tau >= 5` and `v >= 10`."""
    T, v, tau = world.topics, world.words, world.per_document
    sets = sets_of_topics(world)
    if tau is None:
        return (sets,)
    c3 = 1 / corruption.a
    few = tau / T <= 0.1 and tau >= 5 and v >= 10
    large = v > (c3 + 1) ** 2 + 1
    scheme = corruption.chosen < 0.5 and corruption.kept == corruption.random
    scheme = scheme and 0 < corruption.kept < 0.5
    return (
        sets,
        Condition(
            "Assumption 2.1.3",
            few and large,
            {"tau / T": tau / T, "tau": tau, "v": v},
            f"tau is {tau}, T is {T} and v is {v}; the asymptotic setting needs tau / T <= 0.1, tau >= 5 "
            f"and v >= 10, above {(c3 + 1) ** 2 + 1:.3g}",
        ),
        Condition(
            "Assumption 2.1.4",
            scheme,
            {"p_m": corruption.chosen, "p_c": corruption.kept, "p_r": corruption.random},
            "the corruption needs p_m < 1/2 and p_c = p_r in (0, 1/2)",
        ),
    )


@checked()
def theorem_2_1_3(
    world: TopicWorld, corruption: Corruption, keys: MaskKeys = "full", *, proof: bool = False
) -> Theorem:
    r"""With the block matrix the best gamma lies in `(lambda1 (tau - 1), lambda2 T)`, where `lambda1 =
    (a + b)(2 - a) / (2a)` (with `proof` the proof's `(a + b)(2a - 1) / (2a)`) and `lambda2 = 100 (a/b + 1)`.
    The slack is the smaller logarithm of a ratio."""
    conditions = asymptotic(world, corruption)
    if not all(condition.holds for condition in conditions):
        return Theorem("Theorem 2.1.3", conditions)
    tau = world.per_document
    assert tau is not None
    a, b = corruption.a, corruption.b
    gamma = best_attention(world, corruption, "block", keys).topic
    factor = 2 * a - 1 if proof else 2 - a
    low = (a + b) * factor / (2 * a) * (tau - 1)
    high = 100 * (a / b + 1) * world.topics
    return Theorem.inequality(
        "Theorem 2.1.3",
        float(np.log(min(gamma / low, high / gamma))),
        within=0.0,
        conditions=conditions,
        details={
            "gamma": gamma,
            "over lower bound": gamma / low,
            "under upper bound": high / gamma,
        },
    )


@checked()
def theorem_2_1_5(world: TopicWorld, corruption: Corruption, keys: MaskKeys = "full") -> Theorem:
    r"""With the diagonal matrix `lambda3 tau < beta < lambda4 T` and `alpha < lambda5 beta` at the best
    attention. The slack is the smallest logarithm of a ratio; alpha = 0 is below any bound."""
    conditions = asymptotic(world, corruption)
    if not all(condition.holds for condition in conditions):
        return Theorem("Theorem 2.1.5", conditions)
    T, v, tau = world.topics, world.words, world.per_document
    assert tau is not None
    a, b = corruption.a, corruption.b
    best = best_attention(world, corruption, "diagonal", keys)
    low = (a + b) / 100 * v * tau
    high = a / (np.sqrt(v - 1) - 1 - a) * (a + b) / b * v * T
    ratio = best.beta / (a * (v - 1)) / best.alpha if best.alpha > 0 else np.inf
    sides = (best.beta / low, high / best.beta, ratio)
    return Theorem.inequality(
        "Theorem 2.1.5",
        float(np.log(min(sides))),
        within=0.0,
        conditions=conditions,
        details={
            "alpha": best.alpha,
            "beta": best.beta,
            "over lower bound": float(sides[0]),
            "under upper bound": float(sides[1]),
        },
    )


def limit_of_weight(corruption: Corruption, keys: MaskKeys) -> float:
    """The limit of `gamma / tau`, and of `beta / (v tau)`: `(a + b) / (1 - a)` with the printed normalisers,
    `1 / (1 - a)` with masked keys."""
    share = 1.0 if keys == "full" else corruption.a + corruption.b
    return share / (1 - corruption.a)


@checked(within=POSITIVE)
def best_block_attention(
    world: TopicWorld, corruption: Corruption, within: float, keys: MaskKeys = "full"
) -> Theorem:
    """The best gamma is about `tau / (1 - a)`; the error is relative."""
    conditions = asymptotic(world, corruption)
    if not all(condition.holds for condition in conditions):
        return Theorem("Best attention, block", conditions)
    assert world.per_document is not None
    found = best_attention(world, corruption, "block", keys).topic / world.per_document
    limit = limit_of_weight(corruption, keys)
    return Theorem.identity(
        "Best attention, block",
        abs(found / limit - 1),
        within=within,
        conditions=conditions,
        details={"gamma / tau": found, "limit": limit, "T": world.topics},
    )


@checked(within=POSITIVE)
def best_diagonal_attention(
    world: TopicWorld, corruption: Corruption, within: float, keys: MaskKeys = "full"
) -> Theorem:
    """The best beta is about `v tau / (1 - a)`; the error is relative."""
    conditions = asymptotic(world, corruption)
    if not all(condition.holds for condition in conditions):
        return Theorem("Best attention, diagonal", conditions)
    assert world.per_document is not None
    best: BestAttention = best_attention(world, corruption, "diagonal", keys, total=False)
    found = best.beta / world.per_document / world.words
    limit = limit_of_weight(corruption, keys)
    return Theorem.identity(
        "Best attention, diagonal",
        abs(found / limit - 1),
        within=within,
        conditions=conditions,
        details={"beta / (v tau)": found, "limit": limit, "loss": best.loss, "alpha": best.alpha},
    )


@checked()
def same_topic_last(world: TopicWorld, corruption: Corruption, keys: MaskKeys = "full") -> Theorem:
    """With the diagonal matrix the best weight of other words of the topic is below that of other topics:
    `alpha < 1`. The slack is `1 - alpha`."""
    conditions = _finite(world)
    if not all(condition.holds for condition in conditions):
        return Theorem("Same topic last", conditions)
    best = best_attention(world, corruption, "diagonal", keys)
    return Theorem.inequality(
        "Same topic last",
        1 - best.alpha,
        within=0.0,
        conditions=conditions,
        details={"alpha": best.alpha, "beta": best.beta},
    )


@checked()
def loss_ladder(world: TopicWorld, corruption: Corruption) -> Theorem:
    """With its best attention the diagonal matrix keeps less than 1% of the gap between Stage 1 and Bayes'
    loss, the block matrix more than 80%. The slack is the smaller distance of a share from its limit."""
    conditions = _finite(world)
    if not all(condition.holds for condition in conditions):
        return Theorem("Loss ladder", conditions)
    first, bayes = world.stage1_loss(), world.bayes_loss(corruption)
    block, diagonal = (
        best_attention(world, corruption, value, "full").loss for value in ("block", "diagonal")
    )
    shares: Any = [(loss - bayes) / (first - bayes) for loss in (block, diagonal)]
    return Theorem.inequality(
        "Loss ladder",
        min(shares[0] - 0.8, 0.01 - shares[1]),
        within=0.0,
        conditions=conditions,
        details={
            "tau": world.per_document,
            "Stage 1": first,
            "block": block,
            "diagonal": diagonal,
            "Bayes": bayes,
            "share kept by block": shares[0],
            "share kept by diagonal": shares[1],
        },
    )
