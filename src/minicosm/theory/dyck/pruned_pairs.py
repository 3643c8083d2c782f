"""Pruning a pair of random matrices to a given product, by subset sums (Lemmas 2.2.2 and 2.2.6).

In `outer act(inner x)` a hidden unit s that reads one coordinate c contributes
`outer[r, s] inner[s, c]` to the entry (r, c) of the product. Among two dozen such numbers some subset
has almost any wanted sum.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from minicosm.worlds.arrays import check_whole_numbers

from ..checks import COUNT, NOT_NEGATIVE, whole
from ..signatures import checked
from .matrices import Matrices
from .subset_sum import MOST_VALUES, Subsets, closest_subsets

Mode = Literal["signed", "positive", "linear"]
SIGNS: dict[Mode, tuple[int, ...]] = {"signed": (1, -1), "positive": (1,), "linear": (0,)}


@checked(size=whole(1, MOST_VALUES), offers=COUNT, tolerance=NOT_NEGATIVE)
class Search(NamedTuple):
    """How subset sums are looked for.

    Of the hidden units that are free, `size` are offered at a time, those that read the coordinate
    with the largest weight first: products of small weights may reach no sum near 1. Where an offer
    leaves an error above the tolerance the next one is tried; units that are not used stay free.
    """

    size: int = 24
    offers: int = 4
    tolerance: float = 1e-5


SEARCH = Search()


class PairReport(NamedTuple):
    """What pruning one pair of matrices came to."""

    name: str
    worst: float  # the largest error of a subset sum
    norm: float  # spectral norm of the error: |result(x) - wanted(x)| <= norm |x| for all x
    units: int  # hidden units that keep an entry


class Pair(NamedTuple):
    inner: Float[np.ndarray, "h p"]
    outer: Float[np.ndarray, "q h"]
    report: PairReport


@checked()
def prune_pair(
    target: Float[np.ndarray, "r c"],
    inner: Float[np.ndarray, "h p"],
    outer: Float[np.ndarray, "q h"],
    *,
    rows: Int[np.ndarray, " r"],
    columns: Int[np.ndarray, " c"],
    mode: Mode,
    search: Search = SEARCH,
    name: str = "pair",
) -> Pair:
    """Prune `outer act(inner x)` so that coordinates `rows` of it are nearly `target x[columns]`.

    Every column and sign has hidden units of its own, see `Search`. Mode "signed": act is
    the ReLU and x has any sign, so that x > 0 and x < 0 are served by units of their own.
    "positive": act is the ReLU, only positive entries of `inner` are kept, and the result is
    `target relu(x[columns])`. "linear": act is the identity.
    """
    check_places("rows", rows, len(outer))
    check_places("columns", columns, inner.shape[1])
    free, size = np.ones(len(inner), bool), search.size
    kept_inner, kept_outer = np.zeros_like(inner), np.zeros_like(outer)
    errors = np.zeros((len(rows), len(columns), len(SIGNS[mode])))
    for at, column in enumerate(columns):
        if not target[:, at].any():
            continue
        for part, sign in enumerate(SIGNS[mode]):
            entries = inner[:, column]
            units = np.flatnonzero(free & (entries * sign > 0 if sign else entries != 0))
            if len(units) < size:
                raise ValueError(
                    f"{name}: coordinate {at} of {len(columns)} finds {len(units)} free hidden units "
                    f"of {len(inner)} with an entry of the sign it needs; {size} are needed"
                )
            units = units[np.argsort(-np.abs(entries[units]), kind="stable")]
            units, found = _choose(target[:, at], outer[rows], entries, units, search)
            kept_outer[np.ix_(rows, units)] = np.where(found.chosen, outer[np.ix_(rows, units)], 0)
            used = units[found.chosen.any(axis=0)]
            kept_inner[used, column] = entries[used]
            free[used] = False
            errors[:, at, part] = found.sums - target[:, at]
    return Pair(
        kept_inner,
        kept_outer,
        PairReport(
            name,
            float(np.abs(errors).max()),
            float(np.linalg.norm(errors.reshape(len(rows), -1), 2)),
            int(kept_inner.any(axis=1).sum()),
        ),
    )


def check_places(name: str, places: Int[np.ndarray, " n"], width: int) -> None:
    """Raise unless these are different coordinates of so many."""
    check_whole_numbers(name, places, 0, width - 1)
    if len(set(places.tolist())) < len(places):
        raise ValueError(f"{name} has a coordinate more than once; all must differ")


def _choose(
    target: Float[np.ndarray, " r"],
    outer: Float[np.ndarray, "r h"],
    entries: Float[np.ndarray, " h"],
    units: Int[np.ndarray, " free"],
    search: Search,
) -> tuple[np.ndarray, Subsets]:
    """The first offer of `search.size` units that comes within the tolerance, or the best offer."""
    best = None
    for offer in range(min(search.offers, len(units) // search.size)):
        these = units[offer * search.size : (offer + 1) * search.size]
        found = closest_subsets(outer[:, these] * entries[these], target)
        if best is None or found.errors.max() < best[1].errors.max():
            best = these, found
        if best[1].errors.max() <= search.tolerance:
            break
    assert best is not None
    return best


@checked()
def prune_mlp(
    first: Float[np.ndarray, "w c"],
    second: Float[np.ndarray, "r w"],
    block: Matrices,
    *,
    rows: Int[np.ndarray, " r"],
    columns: Int[np.ndarray, " c"],
    search: Search = SEARCH,
    name: str = "mlp",
) -> tuple[Matrices, tuple[PairReport, ...]]:
    """Prune the two MLPs of a block to `x -> second relu(first x[columns])`, written to `rows`."""
    block.check_stack(2, name="block")
    between, width = np.arange(len(first)), block.up.shape[2]
    if len(between) > width:
        raise ValueError(
            f"the MLP to be found (first) has {len(between)} hidden units; the large model has width {width} "
            "and must have at least that"
        )
    one = prune_pair(
        first, block.up[0], block.down[0],
        rows=between, columns=columns, mode="signed", search=search, name=f"{name}, first half",
    )  # fmt: skip
    two = prune_pair(
        second, block.up[1], block.down[1],
        rows=rows, columns=between, mode="positive", search=search, name=f"{name}, second half",
    )  # fmt: skip
    kept = Matrices(*map(np.zeros_like, block))._replace(
        up=np.stack([one.inner, two.inner]), down=np.stack([one.outer, two.outer])
    )
    return kept, (one.report, two.report)


@checked()
def prune_linear(
    target: Float[np.ndarray, "r c"],
    block: Matrices,
    *,
    rows: Int[np.ndarray, " r"],
    columns: Int[np.ndarray, " c"],
    search: Search = SEARCH,
    name: str = "linear",
) -> tuple[Matrices, tuple[PairReport, ...]]:
    """The same to a linear map, `W x = [I, -I] relu([W; -W] x)` (Lemma 2.2.20)."""
    unit = np.eye(len(target))
    first, second = np.vstack([target, -target]), np.hstack([unit, -unit])
    return prune_mlp(first, second, block, rows=rows, columns=columns, search=search, name=name)
