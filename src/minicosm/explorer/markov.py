"""Hidden Markov worlds to draw and edit: exact answers, assumptions, and what the theorems construct.

Worlds are drawn and then rounded to thousandths, columns still summing to one: what is shown, edited and
computed is the same.
"""

from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from minicosm.adaptation import Classifier
from minicosm.lab import figure
from minicosm.lab.figures import BLUE, INK, ORANGE
from minicosm.sentences import shown
from minicosm.theory import Condition, Theorem, all_sequences, both_scores
from minicosm.theory.tuning import (
    covering,
    linear_head_exists,
    nondegenerate,
    pseudo_inverse_head,
    regular,
    start_recurs,
    theorem_3_3,
    theorem_3_6,
)
from minicosm.worlds import (
    HMM,
    PosteriorTask,
    covered_world,
    full_rank_world,
    rank_deficient_world,
    uncovered_world,
)
from minicosm.worlds.arrays import AnyArray

from .settings import KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_STATES, MOST_TOKENS, MOST_LENGTH = 12, 12, 24
LONGEST = 40  # characters of a number
BUDGET = 2000  # nodes of the search for a cover
ENUMERATED = 1024  # sequences that a certificate tries
ZERO = 1e-9  # what rounding may leave of a score
THOUSAND = 1000


class Drawn(NamedTuple):
    """A world and the weights of a task, `1(mu . P[H_0 | x] >= 0)`."""

    world: HMM
    mu: Float[np.ndarray, " H"]


class Answers(NamedTuple):
    """Exact answers about one sequence."""

    posterior: Float[np.ndarray, "T+1 H"]  # P[H_i | seen tokens], i = 0..T
    conditionals: Float[np.ndarray, "T V"]  # P[X_i | the other seen tokens]
    log_prob: float


# -- worlds -------------------------------------------------------------------------------------------


def draw_world(
    kind: str, hidden: int, vocab: int, seed: int, temperature: float = 0.3, sparse: bool = True
) -> Drawn:
    """A random world of one of `KINDS`; `temperature` is that of softmax worlds, `sparse` says whether
    the emission laws of independent ones have zeros."""
    key = jax.random.key(seed)
    mu = np.random.default_rng(seed).normal(size=hidden)
    if kind == "covered":
        star = min(3, vocab, hidden)
        world, mu, *_ = covered_world(key, hidden=hidden, vocab=vocab, star=star)
    elif kind == "independent":
        world = full_rank_world(key, hidden=hidden, vocab=vocab, sparse=sparse)
    elif kind == "deficient":
        rank = min(hidden - 1, vocab)
        world = rank_deficient_world(key, rank=rank, hidden=hidden, vocab=vocab)
    elif kind == "uncovered":
        world = uncovered_world(key, hidden=hidden, vocab=vocab)
    elif kind == "softmax":
        world = HMM.random(
            key, hidden=hidden, vocab=vocab, start_temperature=10.0,
            transition_temperature=temperature, emission_temperature=temperature,
        )  # fmt: skip
    else:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS.values())}")
    A, W, p0 = (thousandths(np.asarray(part, np.float64)) for part in (world.A, world.W, world.p0))
    return Drawn(HMM(A, W, p0), np.round(mu, 2))


def thousandths(columns: Float[np.ndarray, "n *columns"]) -> Float[np.ndarray, "n *columns"]:
    """Columns that sum to one, rounded so that they still do: what is left over goes to the entries
    that rounding down cost most."""
    whole = np.floor(columns * THOUSAND + 1e-9)
    left = np.round(THOUSAND - whole.sum(axis=0)).astype(int)
    rank = np.argsort(np.argsort(whole - columns * THOUSAND, axis=0, kind="stable"), axis=0)
    return (whole + (rank < left)) / THOUSAND


# -- what is typed ------------------------------------------------------------------------------------


def as_text(values: Float[AnyArray, "*rows n"]) -> str:
    """One row a line."""
    rows = np.atleast_2d(values) + 0.0  # no -0
    return "\n".join(" ".join(f"{x:g}" for x in row) for row in rows)


def read_matrix(name: str, text: str) -> Float[np.ndarray, "rows n"]:
    """Rows on lines of their own, numbers such as `0.25` or `1/4` with spaces or commas between them."""
    lines = [line.replace(",", " ").split() for line in text.strip().splitlines()]
    rows = [[_number(name, i, word) for word in words] for i, words in enumerate(lines, 1) if words]
    if not rows:
        raise ValueError(f"{name} is empty; it needs a row of numbers on each line")
    for i, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"{name} has {len(rows[0])} numbers in row 1 and {len(row)} in row {i}; "
                "all rows must have as many"
            )
    return np.array(rows)


def _number(name: str, row: int, word: str) -> float:
    try:
        # A fraction is exact: of 1e300000000 it would have all digits.
        value = float(Fraction(word)) if "/" in word and len(word) <= LONGEST else float(word)
        if not isfinite(value):
            raise ValueError
        return value
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ValueError(
            f"{name} has {shown(word)} in row {row}; it must be a number such as 0.25 or 1/4"
        ) from None


def read_world(A: str, W: str, p0: str) -> HMM:
    """The world that was typed: columns of A and W, and p0, sum to one."""
    matrices = [read_matrix(name, text) for name, text in (("A", A), ("W", W), ("p0", p0))]
    hidden, vocab = matrices[0].shape[1], matrices[1].shape[0]
    if hidden > MOST_STATES or vocab > MOST_TOKENS:
        raise ValueError(
            f"there are {hidden} states and {vocab} tokens; the explorer takes at most "
            f"{MOST_STATES} and {MOST_TOKENS}"
        )
    return HMM(matrices[0], matrices[1], matrices[2].ravel())


def read_task(mu: str, world: HMM) -> PosteriorTask:
    """The task `1(mu . P[H_0 | x] >= 0)` with one weight for every state."""
    weights = read_matrix("mu", mu).ravel()
    if len(weights) != world.hidden:
        raise ValueError(
            f"mu has {len(weights)} numbers; the world has {world.hidden} states, it needs as many"
        )
    return PosteriorTask(weights)


def read_tokens(text: str, world: HMM) -> tuple[Int[np.ndarray, " T"], Bool[np.ndarray, " T"]]:
    """Tokens with spaces between them, `?` for one that is not seen; which ones are seen."""
    words = text.replace(",", " ").split()
    if not 1 <= len(words) <= MOST_LENGTH:
        raise ValueError(f"there are {len(words)} tokens; give 1 to {MOST_LENGTH}, such as 0 2 ? 1")
    tokens = np.zeros(len(words), int)
    for i, word in enumerate(words):
        if word == "?":
            continue
        known = word.isascii() and word.isdigit() and len(word) <= LONGEST
        if not (known and int(word) < world.vocab):
            raise ValueError(
                f"token {i + 1} is {shown(word)}; it must be a number from 0 to {world.vocab - 1}, or ?"
            )
        tokens[i] = int(word)
    return tokens, np.array([word != "?" for word in words])


def sampled_text(world: HMM, seed: int, length: int = 8) -> str:
    """A sequence of the world, as it is typed; its third token is not seen. Nothing is compiled for it."""
    rng = np.random.default_rng(seed)
    A, W = np.asarray(world.A), np.asarray(world.W)
    state, words = rng.choice(world.hidden, p=np.asarray(world.p0)), []
    for _ in range(length):
        state = rng.choice(world.hidden, p=A[:, state])
        words.append(str(rng.choice(world.vocab, p=W[:, state])))
    words[2] = "?"
    return " ".join(words)


# -- exact answers, assumptions, theorems -------------------------------------------------------------


def answers(world: HMM, tokens: Int[np.ndarray, " T"], seen: Bool[np.ndarray, " T"]) -> Answers:
    """Posterior of every hidden state, law of every token given the others, log probability."""
    with jax.enable_x64(True):
        return Answers(
            np.asarray(world.posterior(tokens, seen).hidden),
            np.asarray(world.conditionals(tokens, seen)),
            float(world.log_prob(tokens, seen)),
        )


def assumptions(world: HMM, task: PosteriorTask) -> list[Condition]:
    """The conditions of Theorems 3.3 and 3.6, and what they are weakened to."""
    return [
        nondegenerate(world),
        regular(world),
        covering(world, task.mu, budget=BUDGET),
        start_recurs(world),
        linear_head_exists(world, task.mu),
    ]


def decided_on(condition: Condition) -> str:
    """The numbers that decided a condition, in a line."""
    shown = {
        "rank": "rank", "smallest singular value": "singular_values", "primitive": "primitive",
        "smallest p0": "smallest_start", "B": "sources", "H*": "star", "mass lost": "lost_mass",
        "residual": "residual",
    }  # fmt: skip
    parts = []
    for name, key in shown.items():
        value: Any = condition.numbers.get(key)
        if value is None or (key == "singular_values" and not value):
            continue
        if key == "singular_values":
            value = value[-1]
        parts.append(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}")
    return ", ".join(parts)


def theorems(world: HMM, task: PosteriorTask) -> list[Theorem]:
    """Theorems 3.3 and 3.6 on this world; where one applies its construction is run on all sequences
    of `enumerated_length` tokens."""
    found = [theorem_3_3(world, task), theorem_3_6(world, task, budget=BUDGET)]
    length = enumerated_length(world.vocab)
    return [each.certify(length=length) if each.applies else each for each in found]


def enumerated_length(vocab: int) -> int:
    """The largest length of which there are at most `ENUMERATED` sequences, up to 6."""
    return max(n for n in range(1, 7) if n == 1 or vocab**n <= ENUMERATED)


class Scores(NamedTuple):
    """Exact and computed scores under one construction, of every sequence whose exact score is not zero;
    that of an impossible one is."""

    name: str
    exact: Float[np.ndarray, " n"]
    computed: Float[np.ndarray, " n"]
    promised: bool  # whether the theorem applies

    @property
    def wrong(self) -> Bool[np.ndarray, " n"]:
        """Where labels differ."""
        return (self.computed >= -ZERO) != (self.exact >= 0)


def scores(world: HMM, task: PosteriorTask, applied: list[Theorem]) -> list[Scores]:
    """What the head of Theorem 3.3, promised or not, and the prompt of Theorem 3.6 compute."""
    head, prompt = applied
    sequences = all_sequences(world.vocab, enumerated_length(world.vocab))
    unpromised = Classifier(pseudo_inverse_head(world, task), placeholder=True)
    classifiers = [("head of Theorem 3.3", head.construction or unpromised, head.applies)]
    if prompt.construction is not None:
        classifiers.append(("prompt and head of Theorem 3.6", prompt.construction, True))
    found = []
    for name, classifier, promised in classifiers:
        both = both_scores(world, task, classifier, sequences)
        exact, computed = both[np.abs(both[:, 0]) > ZERO].T
        found.append(Scores(name, exact, computed, promised))
    return found


# -- a picture ----------------------------------------------------------------------------------------


def picture_of_scores(found: list[Scores]) -> "Figure":
    """Exact against computed scores of all sequences; the label is right in two of four quadrants."""
    fig = figure(4.3 * len(found), 3.1)
    for ax, each in zip(fig.subplots(1, len(found), squeeze=False)[0], found, strict=True):
        wrong = each.wrong
        ax.axhline(0, color=INK, lw=0.8)
        ax.axvline(0, color=INK, lw=0.8)
        for these, color, what in ((~wrong, BLUE, "right"), (wrong, ORANGE, "wrong")):
            style = {"s": 11, "color": color, "alpha": 0.55, "edgecolors": "none"}
            points = np.unique(np.round([each.exact[these], each.computed[these]], 9), axis=1)
            ax.scatter(*points, label=f"label {what}: {int(these.sum())}", **style)
        title = each.name if each.promised else f"{each.name}, not promised"
        ax.set(xlabel="exact score", ylabel="score of the head", title=title)
        ax.legend(loc="best", markerscale=1.6)
    return fig
