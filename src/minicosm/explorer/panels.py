"""What the explorer shows: from what widgets hold to HTML. Bad input becomes a sentence in place of it.

A panel imports what it needs when it is first shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from . import markov, page
from .settings import BRACKETS, CHAIN_STEPS, SPINS, TEXTS, TREE, WORLD

if TYPE_CHECKING:
    from .spins import Dynamics
    from .tree_walk import Walked

Panel = Callable[..., str]


def panel(function: Panel) -> Panel:
    """What is wrong with what was given is shown as a sentence."""

    @wraps(function)
    def shown(*args: Any, **settings: Any) -> str:
        try:
            return function(*args, **settings)
        except (ValueError, TypeError) as error:
            return page.sentence(error)

    return shown


# -- hidden Markov worlds -----------------------------------------------------------------------------


def texts_of_world(
    kind: str, hidden: int, vocab: int, seed: int, temperature: float, sparse: bool
) -> tuple[dict[str, str], str]:
    """A random world as it is typed (A, W, p0, mu and tokens), and what is wrong with what was asked,
    if anything: then the texts are empty."""
    try:
        world, mu = markov.draw_world(kind, hidden, vocab, seed, temperature, sparse)
    except (ValueError, TypeError) as error:
        return dict.fromkeys(TEXTS, ""), page.sentence(error)
    made = {"A": world.A, "W": world.W, "p0": world.p0, "mu": mu}
    texts = {name: markov.as_text(values) for name, values in made.items()}
    return texts | {"tokens": markov.sampled_text(world, 0)}, ""


@panel
def answers(A: str, W: str, p0: str, tokens: str) -> str:
    """The matrices as shades; posterior and conditionals of the sequence."""
    found = markov.read_world(A, W, p0)
    sequence, seen = markov.read_tokens(tokens, found)
    exact = markov.answers(found, sequence, seen)
    chance = f"The tokens that are seen have log probability {exact.log_prob:.4f}."
    if exact.log_prob == float("-inf"):
        chance = "The tokens that are seen are impossible in this world: all laws are zero."
    words = [str(token) if there else "?" for token, there in zip(sequence, seen, strict=True)]
    matrices = page.side_by_side(
        page.shades(np.asarray(found.A), "$A$: next state given state", corner="next"),
        page.shades(np.asarray(found.W), "$W$: token given state", corner="token"),
        page.shades(np.asarray(found.p0)[:, None], "$p_0$", columns=["start"], corner="state"),
    )
    laws = page.side_by_side(
        page.shades(
            exact.posterior.T, "Posterior of every hidden state $H_i$ given what is seen",
            columns=[str(i) for i in range(len(exact.posterior))], corner="state",
        ),
        page.shades(
            exact.conditionals.T, "Law of every token $X_i$ given the others that are seen",
            columns=[f"{i} [{word}]" for i, word in enumerate(words, 1)], corner="token",
            framed=[(int(sequence[i]), i) for i in range(len(words)) if seen[i]],
        ),
    )  # fmt: skip
    return matrices + page.prose(chance) + laws


@panel
def theorems(A: str, W: str, p0: str, mu: str) -> str:
    """Assumptions with their numbers; what Theorems 3.3 and 3.6 construct, and their certificates."""
    found = markov.read_world(A, W, p0)
    task = markov.read_task(mu, found)
    rows = [
        ["✓ holds" if c.holds else "✕ fails", c.name, markov.decided_on(c), c.reason]
        for c in markov.assumptions(found, task)
    ]
    made = page.table(("", "assumption", "decided on", "why it fails"), rows, "Assumptions")
    applied = markov.theorems(found, task)
    length = markov.enumerated_length(found.vocab)
    made += page.table(
        ("theorem", "certificate", "constructs"),
        [[each.name, certificate(each, length), construction(each)] for each in applied],
        "Theorems",
    )
    alt = "Exact score against the score of the constructed head, for every sequence"
    scores = markov.scores(found, task, applied)
    return made + page.picture("scores", alt, markov.picture_of_scores, scores)


def certificate(theorem: Any, length: int) -> str:
    """What came out on all sequences of a length, in a sentence."""
    if not theorem.applies:
        return f"does not apply: {'; '.join(c.reason for c in theorem.failed())}"
    if "warning" in theorem.details:
        return str(theorem.details["warning"])
    what = "holds" if theorem.holds else "fails"
    return (
        f"{what} on all {theorem.details['sequences']} sequences of {length} tokens: "
        f"{theorem.details['disagreements']} of {theorem.details['compared']} labels differ, "
        f"largest error of the score identity {theorem.error:.1e}"
    )


def construction(theorem: Any) -> str:
    """The prompt's rows and the head's weights."""
    made = theorem.construction
    if made is None:
        return "nothing"
    head = f"head b = ({markov.as_text(made.head.weights.round(3))})"
    return (
        head if made.prompt is None else f"prompt u = ({markov.as_text(made.prompt.rows)}), {head}"
    )


# -- brackets -----------------------------------------------------------------------------------------


@panel
def brackets(text: str, seed: int) -> str:
    """Laws of the next bracket, and attention maps side by side."""
    from . import brackets as bracket

    tokens = bracket.read_brackets(text)
    found = bracket.readings(tokens, seed)
    columns = ("model", *(f"`{sign}`" for sign in bracket.SIGNS), "off here", "off at most",
               "balance violation")  # fmt: skip
    rows = bracket.comparison(tokens, found)
    caption = "The next bracket: probabilities, total variation from the exact law"
    laws = page.picture(
        "laws", "Law of the next bracket by model", bracket.picture_of_laws, tokens, found
    )
    names = ["start", *(bracket.SIGNS[token] for token in tokens)]
    maps = [
        page.shades(
            reading.attention,
            f"Attention: {reading.name}",
            rows=names,
            columns=["", *names[1:]],
            written=False,
        )
        for reading in found
    ]
    return laws + page.table(columns, rows, caption) + page.side_by_side(*maps)


# -- VGB ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def walked(bits: int, noise: float, seed: int, walk_seed: int) -> Walked:
    from . import tree_walk

    return tree_walk.walk(bits, noise, seed, walk_seed)


@panel
def tree(bits: int, noise: float, seed: int, walk_seed: int, step: int) -> str:
    """The tree with the walk on it, and the laws of strings."""
    from . import tree_walk

    found = walked(bits, noise, seed, walk_seed)
    place = tree_walk.name(found.tree, int(found.path[step]))
    alt = f"The tree of all strings of {bits} bits; after {step} steps the walk is at {place}"
    drawn = page.picture("tree", alt, tree_walk.picture_of_tree, found, step)
    laws = tree_walk.laws(found.tree, step)
    leaves = range(found.tree.leaves.start, found.tree.leaves.stop)
    shades = page.shades(
        np.stack(list(laws.values())), "Laws of complete strings",
        rows=[tree_walk.NAMES[key] for key in laws],
        columns=[tree_walk.name(found.tree, leaf) for leaf in leaves],
    )  # fmt: skip
    curve = page.picture(
        "distance", "Total variation from the wanted law by the number of steps",
        tree_walk.picture_of_distance, found, step,
    )  # fmt: skip
    columns = ("law of strings", "total variation from wanted", "cost")
    return drawn + shades + page.table(columns, tree_walk.numbers(found.tree, step)) + curve


# -- spins --------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def moving(shape: str, count: int, temperature: float, field: float, k: int) -> Dynamics:
    from . import spins

    return spins.dynamics(shape, count, temperature, field, k)


@panel
def ising(
    shape: str, count: int, temperature: float, field: float, k: int, seed: int, step: int
) -> str:
    """Two chains to watch, exact mixing numbers, distances by step."""
    from . import spins

    found = moving(shape, count, temperature, field, k)
    chains = "".join(
        page.shades(
            spins.chain(P, seed, count).T.astype(float), f"Spins over time: {name}",
            rows=[""] * count, columns=[str(t) if t % 10 == 0 else "" for t in range(CHAIN_STEPS + 1)],
            written=False, pale_after=step,
        )
        for name, P in ((f"blocks of {k}", found.block), ("all in parallel", found.parallel))
    )  # fmt: skip
    curve = page.picture(
        "mixing", "Total variation from the law by steps", spins.picture_of_distances, found, step
    )
    bars = page.picture(
        "up", "Law of the number of spins up", spins.picture_of_spins_up, found, step
    )
    columns = ("chain", "Poincaré constant", f"steps to total variation {spins.NEAR:g}",
               "total variation for ever")  # fmt: skip
    return chains + page.table(columns, spins.numbers(found)) + curve + bars


# -- before anyone looks ------------------------------------------------------------------------------


def warm() -> Iterator[None]:
    """Compute panels as they are first shown, one after another, so that their programs are compiled."""
    texts, _ = texts_of_world(**WORLD)
    matrices = texts["A"], texts["W"], texts["p0"]
    yield
    answers(*matrices, texts["tokens"])
    yield
    theorems(*matrices, texts["mu"])
    yield
    brackets(**BRACKETS)
    yield
    tree(**TREE)
    yield
    ising(**SPINS)
    yield
