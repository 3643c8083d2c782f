"""How fast pretraining recipes approach the exact model, in tokens and in seconds.

    python benchmarks/recipes.py [--recipes ours,paper] [--worlds 15,30,m5] [--steps 800]

Every recipe trains the same Transformer (2 layers, width 64, 4 heads) for the same number of steps on
batches of 32 sequences of 128 tokens, in worlds of Appendix E: "15" has 15 hidden states, "m5" a memory
of 5 values and 4 states. They differ in positions, masks, targets and optimiser. The yardstick is the
same for all: the mean excess loss over the exact model, in nats, where 5% of the positions are masked
(the paper's rate), on held-out sequences. Prints it at the end of training and the tokens and
seconds to 0.1 and 0.05 nats.
"""

import argparse
import time
from dataclasses import dataclass, replace
from functools import partial

import equinox as eqx
import jax
import optax

from minicosm.models import Transformer, TransformerConfig
from minicosm.training import MaskedObjective, adamw, fit
from minicosm.worlds import HMM, MemoryHMM

LENGTH, BATCH, VOCAB = 128, 32, 10
TARGETS = (0.1, 0.05)


@dataclass(frozen=True)
class Recipe:
    """What may differ between recipes; the defaults are the study's."""

    positions: str = "rotary"
    base: float = 100.0
    rate: float = 0.3
    corruption: str = "mask"
    exact: bool = True
    peak: float = 3e-3
    warmup: int = 50
    decay: str = "cosine"
    layers: int = 2
    width: int = 64
    heads: int = 4
    optimiser: str = "adamw"
    init_std: float = 0.02
    batch: int = BATCH
    norm: str = "pre"


OURS = Recipe()
RECIPES = {
    "ours": OURS,
    "sampled": replace(OURS, exact=False),
    "rate 15%": replace(OURS, rate=0.15),
    "rate 50%": replace(OURS, rate=0.5),
    "rate 5%": replace(OURS, rate=0.05),
    "learned": replace(OURS, positions="learned"),
    "base 10000": replace(OURS, base=10_000.0),
    "base 30": replace(OURS, base=30.0),
    "peak .001": replace(OURS, peak=1e-3),
    "peak .006": replace(OURS, peak=6e-3),
    "3 layers": replace(OURS, layers=3),
    "8 heads": replace(OURS, heads=8),
    "muon": replace(OURS, optimiser="muon", peak=1e-2),
    "muon .02": replace(OURS, optimiser="muon", peak=2e-2),
    "muon .05": replace(OURS, optimiser="muon", peak=5e-2),
    "peak .01": replace(OURS, peak=1e-2),
    "peak .01, no clip": replace(OURS, peak=1e-2, optimiser="no clip"),
    "init .1": replace(OURS, init_std=0.1),
    "batch 16": replace(OURS, batch=16),
    "paper": Recipe("learned", 100.0, 0.05, "bert", False, 1e-3, 50, "linear", norm="post"),
    "paper, 3e-3": Recipe("learned", 100.0, 0.05, "bert", False, 3e-3, 50, "linear", norm="post"),
}


def world_named(name: str, seed: int):
    """A random world of Appendix E: "15" or "m5"."""
    key = jax.random.key(seed)
    if name.startswith("m"):
        draw = partial(MemoryHMM.random, hidden=4, memory=int(name[1:]), vocab=VOCAB)
    else:
        draw = partial(HMM.random, hidden=int(name), vocab=VOCAB)
    return jax.jit(draw)(key)


def run(recipe: Recipe, world, steps: int, chunk: int, seed: int):
    """Excess losses at the end of every chunk, and the seconds per step without compilation."""
    config = TransformerConfig(
        VOCAB, layers=recipe.layers, heads=recipe.heads, width=recipe.width, max_length=LENGTH,
        positions=recipe.positions, rotary_base=recipe.base, init_std=recipe.init_std,
        norm=recipe.norm,
    )  # fmt: skip
    objective = MaskedObjective(
        world, length=LENGTH, batch=recipe.batch, rate=recipe.rate,
        corruption=recipe.corruption, exact=recipe.exact, measure=False,
    )  # fmt: skip
    steps, chunk = steps * BATCH // recipe.batch, chunk * BATCH // recipe.batch
    yardstick = MaskedObjective(world, length=LENGTH, batch=256, rate=0.05, exact=True)
    measure = jax.jit(lambda model: yardstick(model, jax.random.key(99), 0)[1])
    times = [time.perf_counter()]

    def watch(model, done):
        times.append(time.perf_counter())
        found = measure(model)
        times.append(time.perf_counter())
        return {"held_out": found["excess"], "held_out_tv": found["tv"]}

    if recipe.optimiser == "muon":
        rate = optax.warmup_cosine_decay_schedule(0.0, recipe.peak, recipe.warmup, steps)
        from optax.contrib import MuonDimensionNumbers as Axes

        def axes(params):
            tree = jax.tree.map(lambda _: None, params)
            return eqx.tree_at(
                lambda m: (
                    m.layers.attention.qkv,
                    m.layers.attention.out,
                    m.layers.mlp.up,
                    m.layers.mlp.down,
                ),
                tree,
                (Axes(1, (3, 4)), Axes((1, 2), 3), Axes(1, 2), Axes(1, 2)),
                is_leaf=lambda x: x is None,
            )

        rate2 = optax.warmup_cosine_decay_schedule(0.0, 5e-3, recipe.warmup, steps)
        optimiser = optax.contrib.muon(
            rate, adam_learning_rate=rate2, muon_weight_dimension_numbers=axes
        )
    elif recipe.optimiser == "no clip":
        optimiser = adamw(recipe.peak, steps, recipe.warmup, decay=recipe.decay, clip=None)
    else:
        optimiser = adamw(recipe.peak, steps, recipe.warmup, decay=recipe.decay)
    model = Transformer(config, key=jax.random.key(seed + 1))
    _, history = fit(
        objective, model, optimiser, steps, jax.random.key(seed + 2), chunk=chunk, watch=watch
    )
    took = [after - before for before, after in zip(times[2::2], times[3::2], strict=False)]
    return history, min(took) / chunk


def main() -> None:
    parser = argparse.ArgumentParser(description="pretraining recipes by excess loss")
    parser.add_argument("--recipes", default=",".join(["ours", "sampled", "learned", "paper"]))
    parser.add_argument("--worlds", default="15,30,m5")
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--chunk", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    print("recipe            world   excess      tv   ms/step    to 0.1 nats       to 0.05 nats")
    for name in a.recipes.split(","):
        for place in a.worlds.split(","):
            recipe = RECIPES[name]
            history, seconds = run(recipe, world_named(place, a.seed), a.steps, a.chunk, a.seed)
            reached = []
            for target in TARGETS:
                at = history["step"][history["held_out"] <= target]
                tokens = at[0] * recipe.batch * LENGTH / 1e6 if at.size else None
                reached.append(f"{tokens:5.2f} M {at[0] * seconds:5.1f} s" if at.size else "-")
            print(
                f"{name:17s} {place:>5s} {history['held_out'][-1]:8.4f}"
                f"{history['held_out_tv'][-1]:8.4f}{1e3 * seconds:9.1f}"
                + "".join(f"{text:>19s}" for text in reached),
                flush=True,
            )


if __name__ == "__main__":
    main()
