"""Write the pictures of the tutorials: `python docs/pictures.py`.

Some are figures of claims, from reference results or else from the store at profile smoke; the others are
drawn from what their example computes.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from minicosm.lab import PALETTE, figure, to_svg
from minicosm.lab.catalogue import select
from minicosm.lab.figures import house_style
from minicosm.lab.reference import Reference
from minicosm.lab.run import recall
from minicosm.lab.store import Store, home
from minicosm.studies import STUDIES

ROOT = Path(__file__).parents[1]
CLAIMS = {
    "theorem_and_broken_assumption": "tuning/theorem-3.6",
    "flip_flop_memory": "flipflop/proposition-5-exact",
    "topics_in_one_layer": "topics/theorem-2.1.2",
    "progressive_distillation": "distillation/before-labels",
    "hugging_face": "guided/stationary-flow",
}


def posterior_of_an_hmm(found: Mapping[str, Any]) -> Any:
    """The law of every hidden state, with all tokens and with two of them missing."""
    world, tokens, seen = (found[name] for name in ("world", "tokens", "seen"))
    fig = figure(8.0, 2.6)
    axes = fig.subplots(1, 2, sharey=True)
    for ax, shown, title in zip(
        axes, (np.ones_like(seen), seen), ("all tokens seen", "two missing"), strict=True
    ):
        law = np.asarray(world.posterior(tokens, shown).hidden).T
        ax.imshow(law, cmap="Purples", vmin=0, vmax=1, aspect="auto")
        for (row, column), value in np.ndenumerate(law):
            colour = "white" if value > 0.5 else "black"
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", size=9, color=colour)
        read = [str(token) if known else "?" for token, known in zip(tokens, shown, strict=True)]
        ax.set_xticks(range(len(read) + 1), ["start", *read])
        ax.set_yticks(range(len(law)))
        ax.set_xlabel("token")
        ax.set_title(title)
        ax.grid(False)
    axes[0].set_ylabel("hidden state")
    return fig


def pretrain_save_compare(found: Mapping[str, Any]) -> Any:
    """The excess loss, and the exact laws of masked tokens against the model's: half of them are masked."""
    world, model = found["world"], found["model"]
    fig = figure(8.0, 2.8)
    left, right = fig.subplots(1, 2, width_ratios=(1, 1.6))
    steps = 50 * np.arange(1, 4)
    left.plot(steps, found["history"]["excess"], marker="o", color=PALETTE[0])
    left.set_ylim(0)
    left.set_xlabel("training step")
    left.set_ylabel("excess loss, nats")
    tokens = jax.vmap(lambda key: world.sample(key, 16).tokens)(
        jax.random.split(jax.random.key(3), 60)
    )
    seen = jax.random.bernoulli(jax.random.key(4), 0.5, tokens.shape)
    exact = np.asarray(jax.vmap(world.conditionals)(tokens, seen))[~seen]
    said = np.asarray(jax.vmap(lambda x, s: model.predict(model.embed(x, s)))(tokens, seen))[~seen]
    for token, colour in zip(range(world.vocab), (*PALETTE, "0.2"), strict=True):
        right.plot(exact[:, token], said[:, token], ".", ms=3, color=colour, label=f"token {token}")
    right.axline((0, 0), slope=1, color="0.5", lw=1)
    right.set_xlabel("exact probability at a masked position")
    right.set_ylabel("the model's")
    right.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


DRAWN: tuple[Callable[[Mapping[str, Any]], Any], ...] = (posterior_of_an_hmm, pretrain_save_compare)


def main() -> None:
    reference, store = Reference(), Store(home())
    for name, claim in CLAIMS.items():
        ((study, chosen),) = select(STUDIES, [claim])
        kept = reference.recall(study, chosen) or recall(store, study, chosen, "smoke")
        if kept is None or kept.svg is None:
            print(f"{claim} has no figure yet: minicosm check {claim} --profile smoke")
            continue
        _write(name, kept.svg)
    for draw in DRAWN:
        found = runpy.run_path(str(ROOT / "examples" / f"{draw.__name__}.py"))
        with house_style():
            _write(draw.__name__, to_svg(draw(found), name=draw.__name__))


def _write(name: str, svg: str) -> None:
    path = ROOT / "docs" / "tutorials" / f"{name}.svg"
    path.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")
    print(path)


if __name__ == "__main__":
    main()
