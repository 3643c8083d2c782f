"""Losses of two arms, and what share of the possible gain each makes."""

from collections.abc import Callable
from typing import Any

from minicosm.lab import Estimate, Outcome, Results, Table, all_of, least

from ..readings import held_out

SLIGHTLY = 0.1


def gained(results: Results, less: str, more: str, decide: Callable[..., Outcome]) -> Outcome:
    """The relative excess of an arm that trains less over one that trains more, seed by seed, and which share
    of the way from a uniform guess to Bayes' loss each has gone."""
    kind = results[less].config.loss
    first, second = held_out(results, less), held_out(results, more)
    both = int(least([len(first), len(second)]))
    excess = Estimate.of(first[:both] / second[:both] - 1)
    numbers = results["Bayes"].numbers
    guess, bayes = numbers["uniform guess"][kind], numbers["Bayes"][kind][0]
    lines: list[tuple[Any, ...]] = [
        (arm, Estimate.of(losses), Estimate.of((guess - losses) / (guess - bayes)))
        for arm, losses in ((less, first), (more, second))
    ]
    lines += [("uniform guess", guess, 0.0), ("Bayes", bayes, 1.0)]
    return all_of(
        decide(f"relative excess, {kind}", excess, SLIGHTLY),
        tables=(
            Table(f"held-out loss, {kind}", ("model", "loss", "share of the gain"), tuple(lines)),
        ),
    )
