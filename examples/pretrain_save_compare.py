"""Pretrain a small encoder by masked prediction, save it, load it, compare it with the exact law."""

import tempfile
from pathlib import Path

import jax
import numpy as np

from minicosm.models import Transformer, TransformerConfig, load, save
from minicosm.training import MaskedObjective, adamw, fit
from minicosm.worlds import HMM

world = HMM.random(jax.random.key(0), hidden=4, vocab=6)
config = TransformerConfig(world.vocab, layers=1, heads=2, width=32, positions="rotary")
model = Transformer(config, key=jax.random.key(1))
objective = MaskedObjective(world, length=16, batch=32, rate=0.3, exact=True)
model, history = fit(objective, model, adamw(1e-2, 150, 10), 150, jax.random.key(2), chunk=50)
for step, excess in zip((50, 100, 150), history["excess"], strict=True):
    print(f"step {step}: {excess:.3f} nats above the best possible loss")

with tempfile.TemporaryDirectory() as folder:
    save(model, Path(folder) / "model.safetensors")
    model = load(Path(folder) / "model.safetensors")

np.set_printoptions(precision=2, suppress=True)
tokens = np.asarray(world.sample(jax.random.key(3), 16).tokens)
seen = np.arange(16) != 7  # the eighth token is masked
print("exact law:  ", np.asarray(world.conditionals(tokens, seen)[7]))
print("the model's:", np.asarray(model.predict(model.embed(tokens, seen))[7]))
