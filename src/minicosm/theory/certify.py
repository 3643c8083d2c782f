"""A construction run against the exact labels, sequence by sequence.

A theorem states a score identity. On every sequence x in its scope,

    head's score(x) = factor(x) * mu . P[latent | x],        factor(x) > 0 in closed form,

from which the equality of labels follows. A `Statement` computes the right-hand factor without
looking at the head; `certify` compares the two sides in float64 and counts the labels that differ.
"""

from collections.abc import Callable
from dataclasses import replace
from math import log10
from types import FunctionType
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from minicosm.adaptation import AttentionHead, Classifier, LinearHead
from minicosm.adaptation.checks import (
    brief,
    check_answers,
    check_key,
    check_kind,
    check_real,
    check_whole,
    unshared,
)
from minicosm.worlds import PosteriorTask, decide, margin
from minicosm.worlds.arrays import AnyArray

from .checks import check_sequences
from .signatures import checked
from .theorem import IDENTITY, Theorem

MAX_SEQUENCES = 2_000_000
MAX_TOKENS = 200_000_000
CHUNK = 16_384
FLOOR = 1e-9  # labels are compared where the exact margin is above this
TOLERANCE = 1e-12  # times the scale of the head: a score this close to zero counts as zero


class Evidence(NamedTuple):
    """What a theorem says about one possible sequence.

    `details` are reported over the sequences in scope: truth values are counted, numbers are
    reported by their largest.
    """

    factor: Float[Array, ""]  # the positive factor of the score identity
    applies: Bool[Array, ""] | bool = True  # whether x is in the theorem's scope
    details: dict[str, Array] = {}  # noqa: RUF012


# (world, task, classifier, tokens of one sequence) -> Evidence. A module-level function, or an
# Equinox module when the statement carries arrays, so that worlds of one shape compile once.
Statement = Callable[[Any, PosteriorTask, Classifier, Int[Array, " T"]], Evidence]


def all_sequences(vocab: int, length: int) -> Int[np.ndarray, "n T"]:
    """All `vocab ** length` sequences, in lexicographic order."""
    check_whole("vocab", vocab, 1)
    check_whole("length", length, 1)
    digits = length * log10(vocab)
    if digits > log10(MAX_SEQUENCES) or length > MAX_SEQUENCES:
        count = str(vocab**length) if digits < 20 else f"1e{digits:.0f}"
        raise ValueError(
            f"vocab is {vocab}, which makes {count} sequences of length {length}; at most "
            f"{MAX_SEQUENCES} are enumerated, sample instead"
        )
    count = vocab**length
    powers = vocab ** np.arange(length - 1, -1, -1)
    return np.arange(count)[:, None] // powers % vocab


@eqx.filter_jit
def _sample(world: Any, keys: Key[Array, " n"], length: int) -> Int[Array, "n T"]:
    return jax.vmap(lambda key: world.sample(key, length).tokens)(keys)


def sample_sequences(
    world: Any, key: PRNGKeyArray, length: int, count: int
) -> Int[np.ndarray, "n T"]:
    """`count` sequences drawn from the world."""
    check_answers("world", world, "sample", "vocab")
    check_key("key", key)
    check_whole("length", length, 1)
    check_whole("count", count, 1)
    if length * count > MAX_TOKENS:
        raise ValueError(
            f"length is {length} and count is {count}; at most {MAX_TOKENS} tokens are drawn at once"
        )
    with jax.enable_x64(True):
        return np.asarray(_sample(unshared(world), jax.random.split(key, count), length))


def head_scale(head: LinearHead | AttentionHead) -> float:
    """`max(1, |weights|_inf)`: what the errors of a head's scores are measured against.

    The value path of an attention head is linear in `value` and `readout`, so there it is the
    product of their largest entries.
    """
    if isinstance(head, LinearHead):
        return max(1.0, float(np.abs(head.weights).max()))
    return max(1.0, float(np.abs(head.value).max()) * float(np.abs(head.readout).max()))


class _Row(NamedTuple):
    possible: Array
    applies: Array
    error: Array
    margin: Array  # exact, without sign
    target: Array  # factor * margin, what the head's margin should be
    same: Array  # whether the labels agree
    zero: Array  # the exact score is exactly zero (exactly tied for several classes)
    zero_kept: Array  # ... and the head's label is that of zero too
    details: dict[str, Array]


@eqx.filter_jit
def _examine(
    world: Any,
    task: PosteriorTask,
    classifier: Classifier,
    statement: Statement,
    sequences: Int[AnyArray, "n T"],
    tolerance: Float[AnyArray, ""],
) -> _Row:
    def one(tokens: Int[Array, " T"]) -> _Row:
        seen = task.observed(tokens.shape[0])
        possible = world.supports(world.embed(tokens, seen)).possible
        exact = task.scores(world, tokens)
        given = classifier.scores(world, tokens, seen)
        evidence = statement(world, task, classifier, tokens)
        error = jnp.max(jnp.abs(given - evidence.factor * exact))
        lead = jnp.abs(margin(exact))
        same = decide(given if given.ndim else given + tolerance) == decide(exact)
        zero = lead == 0
        return _Row(
            possible,
            jnp.asarray(evidence.applies),
            error,
            lead,
            evidence.factor * lead,
            same,
            zero,
            zero & (jnp.abs(margin(given)) <= tolerance),
            evidence.details,
        )

    return jax.vmap(one)(jnp.asarray(sequences))


def certify(
    world: Any,
    task: PosteriorTask,
    classifier: Classifier,
    statement: Statement,
    *,
    length: int | None = None,
    key: PRNGKeyArray | None = None,
    count: int | None = None,
    sequences: Int[np.ndarray, "n T"] | None = None,
    floor: float = FLOOR,
    tolerance: float = TOLERANCE,
) -> Theorem:
    """Run a construction on sequences and compare it with what the theorem states.

    Give `length` for all sequences of that length, `key`, `length` and `count` for sampled ones, or
    the `sequences` themselves. Impossible sequences and those outside the theorem's scope are
    skipped. The error of the score identity is relative to `head_scale`. Labels are compared where
    the exact margin is above `floor` and above what rounding leaves of it, `tolerance * scale`
    (`details["too close"]` counts the others); a head's score within that tolerance of zero counts
    as zero. Exactly zero scores are counted, and so are those where the head's score is zero too.

    It holds if the error is at most 1e-9 and no compared label differs. Without a sequence in scope,
    or with no error and no label to compare, nothing is decided; the details begin with a warning.
    """
    check_answers("world", world, "embed", "supports", "vocab")
    check_kind("task", task, PosteriorTask)
    check_kind("classifier", classifier, Classifier)
    if not callable(statement) or not isinstance(statement, eqx.Module | FunctionType):
        raise TypeError(f"statement is {brief(statement)}; it must be a theorem's statement")
    check_real("floor", floor, least=0)
    check_real("tolerance", tolerance, least=0)
    exhaustive = sequences is None and key is None
    if sequences is None:
        if length is None or (key is None) != (count is None):
            raise ValueError("give length, or key with length and count, or sequences")
        if key is None or count is None:
            sequences = all_sequences(world.vocab, length)
        else:
            sequences = sample_sequences(world, key, length, count)
    sequences, _ = check_sequences(world, sequences)

    scale = head_scale(classifier.head)
    rows = _in_chunks(world, task, classifier, statement, sequences, tolerance * scale)
    scope = rows.possible & rows.applies
    above = scope & (rows.margin > floor)
    compared = above & (rows.target > tolerance * scale)
    wrong = int((compared & ~rows.same).sum())
    details: dict[str, Any] = {
        **_warning(rows, scope, int(compared.sum())),
        "sequences": len(sequences),
        "exhaustive": exhaustive,
        "skipped": int((~scope).sum()),
        "compared": int(compared.sum()),
        "disagreements": wrong,
        "smallest margin": float(rows.margin[compared].min()) if compared.any() else float("inf"),
        "impossible": int((~rows.possible).sum()),
        "out of scope": int((rows.possible & ~rows.applies).sum()),
        "too close": int((above & ~compared).sum()),
        "zero scores": int((scope & rows.zero).sum()),
        "zero scores kept": int((scope & rows.zero_kept).sum()),
        "scale": scale,
    }
    for name, values in rows.details.items():
        inside = values[scope]
        if values.dtype == bool:
            details[name] = int(inside.sum())
        else:
            details[name] = float(inside.max()) if inside.size else 0.0
    error = float(rows.error[scope].max()) / scale if scope.any() else None
    # A NaN on either side is an error that does not hold.
    right = error is None or (error <= IDENTITY and wrong == 0)
    return Theorem(
        "the construction",
        holds=right if compared.any() or not right else None,
        error=error,
        tolerance=IDENTITY,
        details=details,
    )


def _warning(rows: _Row, scope: Bool[AnyArray, " n"], compared: int) -> dict[str, str]:
    if compared:
        return {}
    impossible = int((~rows.possible).sum())
    why = "has an exact score clear of zero" if scope.any() else "is in the theorem's scope"
    outside = (
        f"{impossible} are impossible and {len(scope) - impossible - int(scope.sum())} outside it"
    )
    return {"warning": f"NOTHING WAS COMPARED, none of {len(scope)} sequences {why} ({outside})"}


def explained(found: Theorem, why: Callable[[], str]) -> Theorem:
    """`found`; where its scope was empty although some sequences are possible, its warning says why."""
    details = found.details
    outside = details["out of scope"]
    if not outside or details["impossible"] + outside < details["sequences"]:
        return found
    return replace(found, details={**details, "warning": f"{details['warning']}: {why()}"})


def _in_chunks(
    world: Any,
    task: PosteriorTask,
    classifier: Classifier,
    statement: Statement,
    sequences: Int[np.ndarray, "n T"],
    tolerance: float,
) -> _Row:
    """`_examine` on at most CHUNK sequences at a time, the last chunk padded to the same shape."""
    count = len(sequences)
    size = min(count, CHUNK)
    parts = []
    world, task, classifier = unshared((world, task, classifier))
    with jax.enable_x64(True):
        for start in range(0, count, size):
            part = sequences[start : start + size]
            padded = np.pad(part, ((0, size - len(part)), (0, 0)))
            rows = _examine(
                world, task, classifier, statement, padded, np.asarray(tolerance, np.float64)
            )
            parts.append(jax.tree.map(np.asarray, rows))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *parts)


@checked()
def both_scores(
    world: Any, task: PosteriorTask, classifier: Classifier, sequences: Int[np.ndarray, "n T"]
) -> Float[np.ndarray, "n 2"]:
    """Columns: the exact `mu . P`, and what the classifier computes."""
    check_answers("world", world, "embed", "supports", "vocab")
    sequences, _ = check_sequences(world, sequences)
    with jax.enable_x64(True):
        return np.asarray(_both(unshared(world), unshared(task), unshared(classifier), sequences))


@eqx.filter_jit
def _both(
    world: Any, task: PosteriorTask, classifier: Classifier, sequences: Int[AnyArray, "n T"]
) -> Float[Array, "n 2"]:
    def one(tokens: Int[Array, " T"]) -> Float[Array, " 2"]:
        return jnp.stack([task.scores(world, tokens), classifier.scores(world, tokens)])

    return jax.vmap(one)(jnp.asarray(sequences))
