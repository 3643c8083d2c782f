"""Stage 1, uniform attention: which value matrices are optimal, and how gradient descent gets there."""

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from minicosm.models import BagAttention
from minicosm.worlds import Corruption, TopicWorld

from ..checks import NOT_NEGATIVE, POSITIVE, whole
from ..signatures import checked
from ..theorem import Theorem
from .masked_documents import (
    Features,
    check_ids,
    constants,
    documents_differ,
    features,
    moments,
    sets_of_topics,
)

BROKEN = 1e-2
RAISES = 1e-9


def loss_of(W: Float[np.ndarray, "V V"], given: Features) -> float:
    """`E|W x - y|^2 = tr(W M W^T) - 2 tr(W C^T) + 1`."""
    return float(np.sum((W @ given.M) * W) - 2 * np.sum(W * given.C) + 1)


@checked()
def stage1_loss(W: Float[np.ndarray, "V V"], world: TopicWorld, corruption: Corruption) -> float:
    """The squared loss of uniform attention with the value matrix W, in infinite documents."""
    check_ids(world)
    if W.shape != (world.vocab + 1,) * 2:
        raise ValueError(f"W has shape {W.shape}; it must have shape {(world.vocab + 1,) * 2}")
    return loss_of(np.asarray(W, float), moments(world, corruption))


def least_loss(world: TopicWorld) -> float:
    """`1 - E|theta|^2 / v`, which is `1 - 1/(tau v)` for documents of tau topics."""
    return 1 - world.topics * world.moments.same / world.words


def inverse(M: Float[np.ndarray, "V V"], rank: int) -> Float[np.ndarray, "V V"]:
    """The pseudoinverse of a symmetric matrix of known rank."""
    values, vectors = np.linalg.eigh(M)
    kept, basis = values[-rank:], vectors[:, -rank:]
    return (basis / kept) @ basis.T


@checked()
def proposition_2_1_1(world: TopicWorld, corruption: Corruption) -> Theorem:
    """After masking, a word of the document has frequency `a/(v tau) + b/(v T)`, another one `b/(v T)`, and
    the mask k. Against the channel, position by position: chosen or not, kept, random or masked."""
    conditions = (sets_of_topics(world),)
    if not conditions[0].holds:
        return Theorem("Proposition 2.1.1", conditions)
    sets = world.topic_sets()[:, world.labels]
    before = sets / sets.sum(axis=1, keepdims=True)
    stays = (1 - corruption.chosen) * before
    kept = corruption.chosen * corruption.kept * before
    random = corruption.chosen * corruption.random * before.sum(axis=1, keepdims=True) / world.vocab
    masked = corruption.chosen * (1 - corruption.kept - corruption.random)
    shown = np.concatenate([np.full((len(sets), 1), masked), stays + kept + random], axis=1)
    found = features(world, corruption)
    error = np.abs(found - shown).max() + np.abs(found.sum(axis=1) - 1).max()
    return Theorem.identity(
        "Proposition 2.1.1", float(error), cases=found.size, conditions=conditions
    )


# -- Lemma 2.1.1, which is Theorem 2.1.4 ------------------------------------------------------


def misfit(
    W: Float[np.ndarray, "V V"], world: TopicWorld, corruption: Corruption, c1: float | None = None
) -> Float[np.ndarray, " conditions"]:
    """By how much each condition of Lemma 2.1.1 is missed, with the u that its first entry of each row says.

    `c1` is that of the corruption unless it is given (Theorem 2.1.1 has the same conditions with 0).
    """
    at = constants(world, corruption)
    c1 = at.c1 if c1 is None else c1
    ids, v, T = world.vocab + 1, world.words, world.topics
    shift = np.full(ids, c1)
    shift[0] = 0
    u = -(W[:, 0] + shift) / at.c2
    sums = W[:, 1:].reshape(ids, T, v).sum(axis=2)
    wanted = np.repeat(u[:, None] * v, T, axis=1)
    wanted[1:] += at.c3 * (world.labels[:, None] == np.arange(T))
    return np.abs(sums - wanted).ravel()


def random_member(
    world: TopicWorld, corruption: Corruption, rng: np.random.Generator
) -> Float[np.ndarray, "V V"]:
    """A matrix of the family of Lemma 2.1.1: random u and random entries, shifted to the sums it asks."""
    at = constants(world, corruption)
    ids, v, T = world.vocab + 1, world.words, world.topics
    u = rng.normal(size=ids)
    shift = np.full(ids, at.c1)
    shift[0] = 0
    words = rng.normal(size=(ids, T, v))
    wanted = np.repeat(u[:, None] * v, T, axis=1)
    wanted[1:] += at.c3 * (world.labels[:, None] == np.arange(T))
    words += (wanted - words.sum(axis=2))[:, :, None] / v
    return np.concatenate([(-at.c2 * u - shift)[:, None], words.reshape(ids, -1)], axis=1)


def generator(key: PRNGKeyArray) -> np.random.Generator:
    """NumPy's, from a JAX key."""
    import jax

    return np.random.default_rng(np.asarray(jax.random.bits(key, (4,))).tolist())


@checked(members=whole(1, 2**10))
def lemma_2_1_1(
    world: TopicWorld, corruption: Corruption, key: PRNGKeyArray, members: int = 3
) -> Theorem:
    """Every member of the family has the least loss: the error is the largest excess of random members."""
    conditions = (documents_differ(world),)
    if not conditions[0].holds:
        return Theorem("Lemma 2.1.1", conditions)
    rng, given = generator(key), moments(world, corruption)
    losses = [loss_of(random_member(world, corruption, rng), given) for _ in range(members)]
    error = np.abs(np.array(losses) - least_loss(world)).max()
    return Theorem.identity("Lemma 2.1.1", float(error), cases=members, conditions=conditions)


@checked(members=whole(1, 2**10))
def lemma_2_1_1_only(
    world: TopicWorld, corruption: Corruption, key: PRNGKeyArray, members: int = 3
) -> Theorem:
    """Every minimiser is in the family: random `C M^+ + R (I - M M^+)` meet its conditions."""
    conditions = (documents_differ(world),)
    if not conditions[0].holds:
        return Theorem("Lemma 2.1.1, only these", conditions)
    rng, given = generator(key), moments(world, corruption)
    M, C = given
    T = world.topics
    pseudo = inverse(M, T)
    values = np.linalg.eigvalsh(M)[::-1]
    errors = []
    for _ in range(members):
        free = rng.normal(size=M.shape)
        W = C @ pseudo + free @ (np.eye(len(M)) - pseudo @ M)
        errors.append(misfit(W, world, corruption).max())
    return Theorem.identity(
        "Lemma 2.1.1, only these",
        float(np.max(errors)),
        cases=members,
        conditions=conditions,
        details={
            "eigenvalue T": float(values[T - 1]),
            "eigenvalue T + 1": float(np.abs(values[T:]).max()),
        },
    )


@checked()
def lemma_2_1_1_broken(world: TopicWorld, corruption: Corruption, key: PRNGKeyArray) -> Theorem:
    """A matrix that misses one condition by 0.01 has a loss that is larger by more than 1e-9.

    One entry of a random member is changed at a time: the mask's, and a word's in each topic, in the row of
    the mask and in one of a word.
    """
    conditions = (documents_differ(world),)
    if not conditions[0].holds:
        return Theorem("Lemma 2.1.1, broken", conditions)
    rng, given = generator(key), moments(world, corruption)
    W = random_member(world, corruption, rng)
    start, raised = least_loss(world), []
    for row in (0, 1 + int(rng.integers(world.vocab))):
        for column in (0, *range(1, world.vocab + 1, world.words)):
            changed = W.copy()
            changed[row, column] += BROKEN
            raised.append(loss_of(changed, given) - start)
    return Theorem.inequality(
        "Lemma 2.1.1, broken",
        float(np.min(raised)) - RAISES,
        within=0.0,
        cases=len(raised),
        conditions=conditions,
    )


# -- Theorem 2.1.2 ----------------------------------------------------------------------------


@checked()
def block_value(world: TopicWorld, corruption: Corruption) -> Float[np.ndarray, "V V"]:
    """The matrix of Theorem 2.1.2: row 0 is zero, words of one topic have one entry, others another."""
    check_ids(world)
    at = constants(world, corruption)
    below = at.c2**2 + world.vocab
    different = -(at.c1 * at.c2 + at.c3) / below
    topic = world.labels
    W = np.zeros((world.vocab + 1,) * 2)
    W[1:, 0] = (at.c2 * at.c3 - at.c1 * world.vocab) / below
    W[1:, 1:] = different + (topic[:, None] == topic) * at.c3 / world.words
    return W


@checked()
def diagonal_value(world: TopicWorld, corruption: Corruption) -> Float[np.ndarray, "V V"]:
    """The matrix of Definition 2.1.2: `c3` on the diagonal of words, `-c1` for the mask, zero elsewhere."""
    check_ids(world)
    at = constants(world, corruption)
    W = at.c3 * np.eye(world.vocab + 1)
    W[1:, 0], W[0, 0] = -at.c1, 0
    return W


@checked(penalty=POSITIVE)
def ridge(
    world: TopicWorld, corruption: Corruption, penalty: float, length: int | None = None
) -> Float[np.ndarray, "V V"]:
    """The minimiser of loss plus `penalty |W|^2`: `C (M + penalty I)^-1`."""
    M, C = moments(world, corruption, length)
    return np.linalg.solve(M + penalty * np.eye(len(M)), C.T).T


def uniform_model(value: Float[np.ndarray, "V V"]) -> BagAttention:
    """Uniform attention on one-hot embeddings with this value matrix."""
    zero = np.zeros_like(value)
    return BagAttention(None, zero, zero, value)


@checked()
def theorem_2_1_2(world: TopicWorld, corruption: Corruption) -> Theorem:
    """With a small penalty on the norm the optimal value matrix is one block matrix: the minimiser of least
    norm, `C M^+`. The construction is the model; `certify()` compares it with the pseudoinverse."""
    conditions = (sets_of_topics(world), documents_differ(world))
    if not all(condition.holds for condition in conditions):
        return Theorem("Theorem 2.1.2", conditions)
    W = block_value(world, corruption)

    def check() -> Theorem:
        M, C = moments(world, corruption)
        error = np.abs(C @ inverse(M, world.topics) - W).max()
        ids = {"mask": W[1, 0], "same": W[1, 1], "different": W[1, -1]}
        return Theorem.identity(
            "Theorem 2.1.2",
            float(error),
            details={name: float(value) for name, value in ids.items()}
            | {"norm": float(np.linalg.norm(W))},
        )

    return Theorem("Theorem 2.1.2", conditions, construction=uniform_model(W), check=check)


@checked()
def theorem_2_1_2_ridge(world: TopicWorld, corruption: Corruption) -> Theorem:
    """It is the limit of ridge solutions, linearly: halving the penalty halves the distance. The error is how
    far the ratio is from 2 at `1e-4` times the smallest positive eigenvalue of M."""
    conditions = (sets_of_topics(world), documents_differ(world))
    if not all(condition.holds for condition in conditions):
        return Theorem("Theorem 2.1.2, ridge", conditions)
    W = block_value(world, corruption)
    small = 1e-4 * np.linalg.eigvalsh(moments(world, corruption).M)[-world.topics]
    far, near = (np.abs(ridge(world, corruption, float(p)) - W).max() for p in (small, small / 2))
    return Theorem.identity(
        "Theorem 2.1.2, ridge",
        float(abs(far / near - 2)),
        within=0.02,
        conditions=conditions,
        details={"ratio": float(far / near), "distance": float(near)},
    )


@checked()
def theorem_2_1_2_signs(world: TopicWorld, corruption: Corruption) -> Theorem:
    """`different < 0 < same`: the slack is the smaller distance from zero."""
    conditions = (sets_of_topics(world), documents_differ(world))
    if not all(condition.holds for condition in conditions):
        return Theorem("Theorem 2.1.2, signs", conditions)
    W = block_value(world, corruption)
    slack = min(W[1, 1], -W[1, -1])
    return Theorem.inequality(
        "Theorem 2.1.2, signs",
        float(slack),
        within=0.0,
        conditions=conditions,
        details={"same": float(W[1, 1]), "different": float(W[1, -1])},
    )


@checked()
def needs_several_documents(world: TopicWorld, corruption: Corruption) -> Theorem:
    """With tau = T the minimiser of least norm is another matrix, by more than 0.01: all documents are
    alike, and nothing tells topics apart. The theorem needs tau < T."""
    alike = Theorem("Theorem 2.1.2 with tau = T", (sets_of_topics(world),))
    if not alike.applies or documents_differ(world).holds or world.topics == 1:
        return alike
    M, C = moments(world, corruption)
    away = np.abs(C @ inverse(M, 1) - block_value(world, corruption)).max()
    return Theorem.inequality(
        "Theorem 2.1.2 with tau = T", float(away) - 0.01, within=0.0, conditions=alike.conditions
    )


# -- gradient descent -------------------------------------------------------------------------


@checked(rate=POSITIVE, step=NOT_NEGATIVE)
def value_after(
    given: Features, rate: float, step: float, start: Float[np.ndarray, "V V"] | None = None
) -> Float[np.ndarray, "V V"]:
    """The value matrix after `step` steps of gradient descent on the expected loss, in closed form:
    `W_n = C M^+ (I - (I - 2 rate M)^n) + W_0 (I - 2 rate M)^n`."""
    M, C = given
    values, basis = np.linalg.eigh(M)
    values = np.maximum(values, 0)
    if 2 * rate * values[-1] >= 2:
        raise ValueError(f"rate is {rate:g}; above {1 / values[-1]:.4g} gradient descent diverges")
    left = np.abs(1 - 2 * rate * values) ** step * np.sign(1 - 2 * rate * values) ** (step % 2)
    gain = np.where(
        values > 1e-15, (1 - left) / np.where(values > 1e-15, values, 1), 2 * rate * step
    )
    W = (C @ basis * gain) @ basis.T
    return W if start is None else W + (np.asarray(start, float) @ basis * left) @ basis.T


@checked(rate=POSITIVE, steps=whole(1, 10**5))
def gradient_descent(
    world: TopicWorld, corruption: Corruption, rate: float, steps: int, length: int | None = None
) -> Theorem:
    """Gradient descent on the expected Stage-1 loss follows the closed form: the error is the largest
    difference from steps that are taken one by one."""
    given = moments(world, corruption, length)
    W = np.zeros_like(given.M)
    for _ in range(steps):
        W = W - 2 * rate * (W @ given.M - given.C)
    error = np.abs(W - value_after(given, rate, float(steps))).max()
    return Theorem.identity("Stage 1, gradient descent", float(error), details={"steps": steps})
