"""Pretrain a small encoder on a random hidden Markov world by masked prediction.

The world knows the exact law of every hidden token, so the loss uses it as the target, and the excess
loss says how far the model is from the best possible one: zero is perfect. Takes about a minute.
"""

import jax

from minicosm.models import Transformer, TransformerConfig
from minicosm.training import MaskedObjective, adamw, fit
from minicosm.worlds import HMM, masked_loss

LENGTH, RATE, STEPS = 64, 0.3, 800

world_key, model_key, data_key, test_key = jax.random.split(jax.random.key(0), 4)
world = HMM.random(world_key, hidden=8, vocab=10)
config = TransformerConfig(
    world.vocab, layers=2, heads=4, width=64, positions="rotary", rotary_base=100.0
)
model = Transformer(config, key=model_key)
objective = MaskedObjective(world, length=LENGTH, batch=32, rate=RATE, exact=True)

optimum = masked_loss(world, test_key, rate=RATE, length=LENGTH)
print(f"the best possible loss is {optimum.mean:.3f} nats a token")

model, history = fit(
    objective,
    model,
    adamw(3e-3, STEPS, warmup=50),  # cosine decay, gradients clipped at norm 1
    STEPS,
    data_key,
    chunk=100,
    progress=lambda done, steps, note: print(f"step {done:4d} of {steps}: {note}"),
)

print(f"at the end: {history['excess'][-1]:.4f} nats above the optimum,")
print(f"total variation {history['tv'][-1]:.3f} from the exact laws")
