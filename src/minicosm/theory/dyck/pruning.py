"""Theorem 2.2.3: a random Transformer contains every smaller one.

Setting entries of a random Transformer to zero, and changing none, makes it compute a given smaller
Transformer up to a small error. All is done by subset sums: a hidden unit that reads one coordinate c
contributes `outer[r, s] inner[s, c]` to the entry (r, c) of a product, and among two dozen such
numbers some subset has almost any wanted sum.

One layer of the theorem has an MLP g with four layers of weights, `W_4 relu(W_3 relu(W_2 relu(W_1 x)))`.
Here it is a *block* of two layers with an ordinary MLP, of which the second has no attention (its
value matrix is pruned to zero). The ReLU between the two is not needed: of W_3 only positive entries
are kept, one per row, and `relu(w y) = w relu(y)` for w > 0. What W_2 puts out has to fit into the
width of the model.

A layer of the target takes two blocks. With W_V of the second pruned to entries at (a_i, b_i):

1. The first block computes `x -> [x at coordinates a; D^-1 P W_V x at coordinates b]`, where D is
   diagonal with the entries kept of W_V. It has no attention.
2. In the second, W_V moves b to a and multiplies by D; `W_K^T W_Q` is pruned to that of the target on
   the coordinates a; its MLP is pruned to the target's, from a to the first m coordinates.

Other blocks are pruned to the identity on the first m coordinates, and may stand anywhere.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from minicosm.adaptation.checks import check_whole
from minicosm.models import Transformer

from ..checks import COUNT
from ..signatures import checked
from .matrices import Matrices, matrices_of, transformer
from .pruned_pairs import SEARCH, PairReport, Search, prune_linear, prune_mlp, prune_pair

Which = Literal["query", "key", "value", "up", "down"]
WHICH: tuple[Which, ...] = ("query", "key", "value", "up", "down")


class Report(NamedTuple):
    """The error budget of a pruned Transformer."""

    pairs: tuple[PairReport, ...]
    kept_mlp: float  # share of the entries of MLPs that are kept
    kept_attention: float

    @property
    def worst(self) -> float:
        return max(pair.worst for pair in self.pairs)

    @property
    def units(self) -> int:
        """The most hidden units that one matrix needs."""
        return max(pair.units for pair in self.pairs)


class Pruned(NamedTuple):
    model: Transformer
    report: Report


@checked(m=COUNT)
def diagonal_entries(
    value: Float[np.ndarray, "M M"], m: int
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """Lemma 2.2.9: rows a and columns b of m entries of at least 1/2, a and b disjoint and ascending.

    The upper right quarter is cut into m x m pieces and the largest entry of every piece on the
    diagonal is taken.
    """
    half = (len(value) + 1) // 2
    if len(value) < 2 * m:
        raise ValueError(
            f"value is that of a large model of width {len(value)}; for m = {m} it must be at least {2 * m}"
        )
    chosen = []
    for a, b in zip(
        np.array_split(np.arange(half), m),
        np.array_split(np.arange(half, len(value)), m),
        strict=True,
    ):
        piece = value[np.ix_(a, b)]
        i, j = np.unravel_index(int(piece.argmax()), piece.shape)
        if piece[i, j] < 0.5:
            raise ValueError(
                f"the largest of {piece.size} entries in a piece of the value matrix is "
                f"{piece[i, j]:.3g}; one of at least 1/2 is needed, so draw a wider large model"
            )
        chosen.append((a[i], b[j]))
    return np.array([a for a, _ in chosen]), np.array([b for _, b in chosen])


@checked()
def prune_layer(
    target: Matrices, blocks: Matrices, *, search: Search = SEARCH, name: str = "layer"
) -> tuple[Matrices, tuple[PairReport, ...]]:
    """Prune two blocks (four layers of matrices) to one layer of the target."""
    target.check_stack(0, name="target")
    blocks.check_stack(4, name="blocks")
    m = target.value.shape[0]
    before, block = (Matrices(*(w[part] for w in blocks)) for part in (slice(2), slice(2, 4)))
    a, b = diagonal_entries(block.value[0], m)
    scale = block.value[0][a, b]
    centred = target.value - target.value.mean(axis=0)
    first, reports = prune_linear(
        np.vstack([np.eye(m), centred / scale[:, None]]), before,
        rows=np.concatenate([a, b]), columns=np.arange(m), search=search, name=f"{name}, values",
    )  # fmt: skip
    logits = prune_pair(
        target.key.T @ target.query, block.query[0], block.key[0].T,
        rows=a, columns=a, mode="linear", search=search, name=f"{name}, attention",
    )  # fmt: skip
    second, more = prune_mlp(
        target.up, target.down, block,
        rows=np.arange(m), columns=a, search=search, name=f"{name}, MLP",
    )  # fmt: skip
    second.query[0], second.key[0] = logits.inner, logits.outer.T
    second.value[0][a, b] = scale
    kept = Matrices(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))
    return kept, (*reports, logits.report, *more)


@checked()
def prune_transformer(
    target: Transformer,
    large: Transformer,
    *,
    search: Search = SEARCH,
    places: Sequence[int] | None = None,
) -> Pruned:
    """Prune `large` to `target`; `places` are the blocks at which the target's layers begin.

    By default they come first, and the other blocks become the identity.
    """
    wanted, given = matrices_of(target), matrices_of(large)
    _check(target, large, wanted)
    m, depth, blocks = target.config.width, target.config.layers, large.config.layers // 2
    places = range(0, 2 * depth, 2) if places is None else places
    busy = [place + part for place in places for part in (0, 1)]
    if len(places) != depth or busy != sorted(set(busy)) or not 0 <= busy[0] <= busy[-1] < blocks:
        raise ValueError(
            f"places is {tuple(places)}; for {depth} layers it must name as many beginnings of two "
            f"blocks each, ascending and apart, among the {blocks} blocks of the large model"
        )
    kept = Matrices(*map(np.zeros_like, given))
    reports: list[PairReport] = []

    def put(at: int, layers: int, pruned: Matrices, found: tuple[PairReport, ...]) -> None:
        for whole, part in zip(kept, pruned, strict=True):
            whole[2 * at : 2 * at + layers] = part
        reports.extend(found)

    for index, place in enumerate(places):
        four = Matrices(*(w[2 * place : 2 * place + 4] for w in given))
        put(place, 4, *prune_layer(wanted.layer(index), four, search=search, name=f"layer {index}"))
    for place in sorted(set(range(blocks)) - set(busy)):
        two = Matrices(*(w[2 * place : 2 * place + 2] for w in given))
        same = np.arange(m)
        name = f"identity of block {place}"
        put(
            place,
            2,
            *prune_linear(np.eye(m), two, rows=same, columns=same, search=search, name=name),
        )
    if not is_pruning(kept, given):
        raise AssertionError("an entry of the pruned model is neither zero nor the large model's")
    return Pruned(
        transformer(kept, large.config.epsilon, m),
        Report(tuple(reports), _share(kept[3:]), _share(kept[:3])),
    )


@checked()
def is_pruning(pruned: Matrices, large: Matrices) -> bool:
    """Definition 2.2.4: every entry is zero or that of the large model."""
    for name, one, other in zip(Matrices._fields, pruned, large, strict=True):
        if one.shape != other.shape:
            raise ValueError(
                f"{name} has shape {one.shape} in pruned and {other.shape} in large; they must agree"
            )
    pairs = zip(pruned, large, strict=True)
    return all(bool(np.all((p == 0) | (p == w))) for p, w in pairs)


@checked()
def shared_matrix_pair(
    first: Transformer,
    second: Transformer,
    large: Transformer,
    layer: int,
    which: Which,
    *,
    search: Search = SEARCH,
) -> tuple[Pruned, Pruned]:
    """Corollary 2.2.3: prune `large` to two Transformers that share one matrix of one layer.

    The layer's block becomes the identity in both, and the layers of the targets go around it: of
    4L blocks, `floor(j / 2) + floor((4L - 1 - j) / 2) >= 2L - 1` pairs of neighbours avoid block j.
    Without values, its attention has no effect, so a query or key matrix is then kept whole. A value
    matrix is shared by letting a layer of the targets end in its block, where possible, as what is
    kept of it depends on no target; elsewhere it is zero in both.
    """
    check_whole("layer", layer, 0, large.config.layers - 1)
    if (first.config.width, first.config.layers) != (second.config.width, second.config.layers):
        raise ValueError("the two targets differ in width or layers; they must agree in both")
    block, blocks = layer // 2, large.config.layers // 2
    own = [block - 1] if which == "value" and layer % 2 == 0 and block > 0 else []
    before = range(0, block - 1 - len(own), 2)
    others = [*before, *range(block + 1, blocks - 1, 2)][: first.config.layers - len(own)]
    places = sorted([*own, *others])
    one, two = (
        _with_whole(
            prune_transformer(target, large, search=search, places=places), large, layer, which
        )
        for target in (first, second)
    )
    return one, two


def _with_whole(pruned: Pruned, large: Transformer, layer: int, which: Which) -> Pruned:
    """Give a query or key matrix back all its entries."""
    if which not in ("query", "key"):
        return pruned
    kept = matrices_of(pruned.model)
    getattr(kept, which)[layer] = getattr(matrices_of(large), which)[layer]
    model = transformer(kept, large.config.epsilon, pruned.model.config.vocab)
    return pruned._replace(
        model=model, report=pruned.report._replace(kept_attention=_share(kept[:3]))
    )


def _check(target: Transformer, large: Transformer, wanted: Matrices) -> None:
    """Raise unless the theorem's conditions hold."""
    if {target.config.positions, large.config.positions} != {"none"}:
        raise ValueError("a model adds positions to its input; pruning needs positions='none'")
    out = np.asarray(large.layers.attention.out)[:, 0]
    if not np.array_equal(out, np.broadcast_to(np.eye(out.shape[1], out.shape[2]), out.shape)):
        raise ValueError(
            "the large model's value matrix is a product of two; its output matrix must be [I; 0]"
        )
    constant = target.config.epsilon
    if constant == 0:
        raise ValueError(
            "the target's norm has C = 0; pruning needs C > 0, as errors grow with 1/C"
        )
    if large.config.epsilon != constant:
        raise ValueError(
            f"the large model's norm has C = {large.config.epsilon:g}, the target's {constant:g}; "
            "they must be equal"
        )
    for name, stack in wanted._asdict().items():
        norm = float(np.linalg.norm(stack, 2, axis=(1, 2)).max())
        if norm > 1 + 1e-9:
            raise ValueError(
                f"the target's {name} matrix has spectral norm {norm:.4g}; it must be at most 1"
            )


def _share(matrices: Sequence[np.ndarray]) -> float:
    return float(sum(np.count_nonzero(w) for w in matrices) / sum(w.size for w in matrices))
