"""Pictures of refinement: quality against passes, tokens over passes, stutter and attention."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Estimate, Results, figure

from ..readings import PASSES, after, neighbours, of_seeds, searched
from ..trials import CAUSAL, DATA, EXACT, MARGINALS, Data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRINTED = {
    "stutter": (0.06, 0.13, 0.23, 0.01, 0.10, 0.25),
    "other": (0.11, 0.23, 0.35, 0.04, 0.20, 0.38),
}
DISTANCES = ("tv min", "tv mean", "tv max", "cosine min", "cosine mean", "cosine max")


def _band(values: np.ndarray) -> tuple[float, float, float]:
    """Mean with its interval, kept finite and within 0..100 for shares."""
    found = Estimate.of(100 * values)
    low, high = (max(0.0, found.low), min(100.0, found.high))
    return found.value, min(low, found.value), max(high, found.value)


def quality_figure(results: Results) -> "Figure":
    """Valid targets against passes for every data, with beams and the exact decoders: of the best
    of five lengths, and below with the true length given."""
    fig = figure(9.0, 5.6)
    grid = fig.subplots(2, len(DATA), sharex=True, sharey=True)
    rows = (("valid", "valid (per cent),\nbest of five lengths"),
            ("given_length_valid", "valid (per cent),\ntrue length given"))  # fmt: skip
    for axes, (measure, label) in zip(grid, rows, strict=True):
        for ax, data in zip(axes, DATA, strict=True):
            _quality(ax, results, data, measure)
            if measure == "valid":
                ax.set_title(data)
            else:
                ax.set_xlabel("decoder passes")
        axes[0].set_ylabel(label)
    fig.legend(*_labels(grid.flat), loc="outside lower center", ncols=4, fontsize=8)
    return fig


def _quality(ax: Any, results: Results, data: Data, measure: str) -> None:
    lines = (
        ("exact marginals", MARGINALS.get(data, ""), PALETTE[4], "s:", 6.5),
        ("exact posterior given the noise", EXACT.get(data, ""), PALETTE[2], "D--", 5.0),
        ("refinement", data, PALETTE[0], "o-", 4.5),
    )
    for label, arm, colour, style, size in lines:
        if arm not in results:
            continue
        found = [_band(after(results, arm, n, measure)) for n in PASSES]
        mean, low, high = map(np.array, zip(*found, strict=True))
        ax.errorbar(
            PASSES, mean, yerr=(mean - low, high - mean), fmt=style, color=colour, label=label,
            capsize=2.5, elinewidth=1, ms=size,
        )  # fmt: skip
    if CAUSAL[data] in results and measure == "valid":
        value, least, most = _band(searched(results, data))
        ax.axhline(value, color=PALETTE[1], lw=1.4, label="token by token")
        ax.axhspan(least, most, color=PALETTE[1], alpha=0.12, lw=0)
    ax.set_xscale("log")
    ax.set_xticks(PASSES, [str(n) for n in PASSES])
    ax.minorticks_off()
    ax.set_ylim(0, 106)


def _labels(axes: Any) -> tuple[list[Any], list[str]]:
    """Handles of all axes, each label once."""
    seen: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            seen.setdefault(label, handle)
    return list(seen.values()), list(seen)


def tokens_figure(results: Results) -> "Figure":
    """What stands in every position after each pass, the true length given, for the source of each data
    (of those kept) with most changes: word and place in its phrase ("3b" is the second token of the third
    word, "?" a token of no word of the source)."""
    fig = figure(9.0, 7.2)
    axes = fig.subplots(len(DATA), 1)
    for ax, data in zip(axes, DATA, strict=True):
        arrays = results[data].arrays
        outputs = arrays["shown_outputs"]
        busiest = int((outputs[:, 1:] != outputs[:, :-1]).sum(axis=(1, 2)).argmax())
        _passes(ax, *(arrays[f"shown_{name}"][busiest] for name in (
            "source", "inputs", "outputs", "lengths", "target"
        )))  # fmt: skip
        ax.set_title(
            f"{data}: coloured where a token changed, orange where it repeats its neighbour"
        )
    return fig


def _passes(
    ax: Any,
    source: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
    length: Any,
    target: np.ndarray,
) -> None:
    N = int(length)
    rows = [("noise", inputs[0])]
    for n, row in enumerate(outputs, start=1):
        rows.append((f"pass {n}", row))
        if n >= 3 and (row == outputs[n - 2]).all():
            break
    rows.append(("target", target))
    for at, (_, row) in enumerate(rows):
        before = rows[at - 1][1] if at else row
        for j in range(N):
            repeat = j and row[j] == row[j - 1]
            changed = 0 < at < len(rows) - 1 and row[j] != before[j]
            colour = PALETTE[1] if repeat and at else PALETTE[0] if changed else None
            if colour:
                ax.add_patch(_cell(j, at, colour))
            ax.text(j, at, _name(int(row[j]), source), ha="center", va="center", fontsize=8)
    ax.set_xlim(-0.5, N - 0.5)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_yticks(range(len(rows)), [name for name, _ in rows])
    ax.set_xticks(range(N), range(1, N + 1))
    ax.grid(False)
    ax.tick_params(length=0)


def _cell(x: int, y: int, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.45, y - 0.42), 0.9, 0.84, color=colour, alpha=0.28, lw=0)


def _name(token: int, source: np.ndarray, phrase: int = 2) -> str:
    """Place of the word in the source and of the token in its phrase."""
    word, place = divmod(token, phrase)
    found = np.flatnonzero(source == word)
    return f"{found[0] + 1}{'abc'[place]}" if found.size else "?"


def stutter_figure(results: Results) -> "Figure":
    """Repeats of one and four passes, of exact decoding and token by token: per 1000 tokens in the best
    of five lengths, and as a share of pairs with the true length given."""
    fig = figure(8.6, 3.2)
    left, right = fig.subplots(1, 2)
    same: dict[Data, str] = {data: data for data in DATA}
    series: tuple[tuple[str, dict[Data, str], str, float, tuple[str, ...]], ...] = (
        ("refinement, 1 pass", same, PALETTE[0], 0.9, ("passes", "1")),
        ("refinement, 4 passes", same, PALETTE[0], 0.45, ("passes", "4")),
        ("exact marginals", MARGINALS, PALETTE[4], 0.8, ("passes", "1")),
        ("token by token", CAUSAL, PALETTE[1], 0.9, ("beam",)),
    )
    for ax, refined, causal, factor in (
        (left, "stutter", "stutter", 1),
        (right, "given_length_stutter", "stutter_share", 100),
    ):
        for at, (label, arms, colour, alpha, path) in enumerate(series):
            name = causal if arms is CAUSAL else refined
            for i, data in enumerate(DATA):
                if arms.get(data) not in results:
                    continue
                values = factor * of_seeds(results, arms[data], *path, name)
                x = i + 0.2 * (at - 1.5)
                ax.bar(x, values.mean(), 0.18, color=colour, alpha=alpha, label=label, lw=0)
                ax.plot(np.full(len(values), x), values, ".", ms=4, color="0.45")
        ax.set_xticks(range(len(DATA)), DATA)
        ax.grid(axis="x", visible=False)
    left.set_ylabel("repeats per 1000 tokens")
    left.set_title("best of five lengths")
    right.set_ylabel("repeating pairs (per cent)")
    right.set_title("true length given")
    fig.legend(*_labels((left, right)), loc="outside lower center", ncols=4, fontsize=8)
    return fig


def attention_figure(of: str) -> Any:
    """How far apart neighbours look in the source, where they repeat and elsewhere; printed values as
    dashes. `of` says which hypotheses."""

    def draw(results: Results) -> "Figure":
        return _attention(results, of)

    return draw


def _attention(results: Results, of: str) -> "Figure":
    fig = figure(9.0, 3.0)
    axes = fig.subplots(1, len(DATA), sharey=True)
    for ax, data in zip(axes, DATA, strict=True):
        for at, (group, label) in enumerate((("stutter", "repeats"), ("other", "others"))):
            colour = PALETTE[1] if group == "stutter" else PALETTE[0]
            x = np.arange(len(DISTANCES)) + 0.24 * (at - 0.5)
            found = np.array(
                [neighbours(results, data, of, "cross", m)[at][:, 0] for m in DISTANCES]
            )
            if np.isfinite(found).all():
                ax.bar(x, found.mean(axis=1), 0.22, color=colour, alpha=0.75, label=label, lw=0)
                for row, place in zip(found, x, strict=True):
                    ax.plot(np.full(len(row), place), row, ".", ms=3, color="0.35")
            ax.plot(x, PRINTED[group], "_", ms=9, mew=1.6, color=colour, label=f"{label}, printed")
        pairs = int(neighbours(results, data, of, "cross", "tv mean")[0][:, 2].sum())
        ax.set_title(f"{data}, {pairs} repeats")
        ax.set_xticks(range(len(DISTANCES)), [m.replace(" ", "\n") for m in DISTANCES], fontsize=7)
        ax.grid(axis="x", visible=False)
    axes[0].set_ylabel("distance of neighbours\nin cross-attention")
    fig.legend(*_labels(axes), loc="outside lower center", ncols=4, fontsize=8)
    return fig
