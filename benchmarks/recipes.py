"""How fast pretraining recipes approach the exact model, in tokens and in seconds.

    python benchmarks/recipes.py [--recipes "ours;paper"] [--worlds 15,30,m5] [--steps 800]

Every recipe trains a small Transformer (2 layers, width 64, 4 heads, unless its name says otherwise) on
the same number of tokens, `steps` times 32 sequences of 128, in worlds of Appendix E: "15" has 15 hidden
states, "m5" a memory of 5 values and 4 states. The yardstick is the same for all: the mean excess loss
over the exact model, in nats, where 5% of the positions are masked (the paper's rate), on held-out
sequences. Prints it at the end of training, and the tokens and seconds to 0.1 and 0.05 nats.
"""

import argparse
import time
from dataclasses import replace
from functools import partial

import jax

from minicosm.models import Transformer
from minicosm.studies.tuning.experiments.pretraining import optimiser_of, transformer_config
from minicosm.studies.tuning.trials import PAPER_RATE, PAPER_RECIPE, Pretraining
from minicosm.training import MaskedObjective, fit
from minicosm.worlds import HMM, MemoryHMM

LENGTH, BATCH, VOCAB = 128, 32, 10
TARGETS = (0.1, 0.05)

OURS = Pretraining(max_length=LENGTH)
ADAMW = replace(OURS, optimiser="adamw", peak=3e-3, warmup=50, batch=32)
SCALED = replace(
    PAPER_RECIPE, layers=2, width=64, heads=4, max_length=LENGTH, length=LENGTH, dropout=0.0, batch=32,
    peak=1e-3, warmup=50, documents=0,
)  # fmt: skip
RECIPES = {
    "ours": OURS,
    "sampled tokens": replace(OURS, exact=False),
    "masks 15%": replace(OURS, rate=0.15),
    "masks 50%": replace(OURS, rate=0.5),
    "learned positions": replace(OURS, positions="learned"),
    "batch 32": replace(OURS, batch=32),
    "batch 16": replace(OURS, batch=16),
    "batch 4": replace(OURS, batch=4),
    "rate .01": replace(OURS, peak=0.01),
    "3 layers": replace(OURS, layers=3),
    "8 heads": replace(OURS, heads=8),
    "base 10000": replace(OURS, rotary_base=10_000.0),
    "base 30": replace(OURS, rotary_base=30.0),
    "adamw": ADAMW,
    "adamw, batch 8": replace(ADAMW, batch=8),
    "adamw, sampled": replace(ADAMW, exact=False),
    "paper": SCALED,
}


def world_named(name: str, seed: int):
    """A random world of Appendix E: "15" or "m5"."""
    key = jax.random.key(seed)
    if name.startswith("m"):
        draw = partial(MemoryHMM.random, hidden=4, memory=int(name[1:]), vocab=VOCAB)
    else:
        draw = partial(HMM.random, hidden=int(name), vocab=VOCAB)
    return jax.jit(draw)(key)


def run(recipe: Pretraining, world, steps: int, chunk: int, seed: int):
    """Excess losses at the end of every chunk, and the seconds per step without compilation."""
    steps, chunk = steps * BATCH // recipe.batch, chunk * BATCH // recipe.batch
    recipe = replace(recipe, steps=steps)
    objective = MaskedObjective(
        world, length=LENGTH, batch=recipe.batch, rate=recipe.rate,
        corruption=recipe.corruption, exact=recipe.exact, measure=False,
    )  # fmt: skip
    yardstick = MaskedObjective(world, length=LENGTH, batch=256, rate=PAPER_RATE, exact=True)
    measure = jax.jit(lambda model: yardstick(model, jax.random.key(99), 0)[1])
    times = [time.perf_counter()]

    def watch(model, done):
        times.append(time.perf_counter())
        found = measure(model)
        times.append(time.perf_counter())
        return {"held_out": found["excess"], "held_out_tv": found["tv"]}

    model = Transformer(transformer_config(recipe, VOCAB), key=jax.random.key(seed + 1))
    _, history = fit(
        objective, model, optimiser_of(recipe), steps, jax.random.key(seed + 2),
        chunk=chunk, watch=watch,
    )  # fmt: skip
    took = [after - before for before, after in zip(times[2::2], times[3::2], strict=False)]
    return history, min(took) / chunk


def main() -> None:
    parser = argparse.ArgumentParser(description="pretraining recipes by excess loss")
    parser.add_argument("--recipes", default="ours;sampled tokens;adamw;paper")
    parser.add_argument("--worlds", default="15,30,m5")
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--chunk", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    print("recipe            world   excess      tv   ms/step    to 0.1 nats       to 0.05 nats")
    for name in a.recipes.split(";"):
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
