"""How the shipped models of brackets were trained: `python -m minicosm.explorer.trained`.

One layer over brackets with their depths, with the settings of the minimal models of the study `dyck`: every
model reads prefixes of 26 brackets and predicts the next one. It takes about a minute on one core.
"""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.models import Transformer, save, variants
from minicosm.theory.dyck import token_depth_embedding
from minicosm.training import fit
from minicosm.worlds import Dyck

WORLD = Dyck(types=2, depth=4)
WEIGHTS = Path(__file__).parent / "weights"
SEEDS = (0, 1)
LENGTH, BATCH, STEPS, WIDTH, RATE = 26, 64, 3000, 50, 3e-3


class NextBracket(eqx.Module):
    """Mean cross-entropy of the brackets of a batch of prefixes, each given those before it."""

    world: Dyck

    def __call__(
        self, model: Transformer, key: PRNGKeyArray, step: Int[Array, ""] | int
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        losses = jax.vmap(lambda k: self._one(model, k))(jax.random.split(key, BATCH))
        return jnp.mean(losses), {"cross_entropy": jax.lax.stop_gradient(jnp.mean(losses))}

    def _one(self, model: Transformer, key: PRNGKeyArray) -> Float[Array, " T"]:
        tokens = self.world.sample(key, LENGTH).tokens
        ids = jnp.pad(self.world.token_depths(tokens), (1, 0), constant_values=self.world.pairs)
        logs = jax.nn.log_softmax(model.next_logits(ids[:-1]))
        return -jnp.take_along_axis(logs, tokens[:, None], axis=-1)[:, 0]


def train(seed: int, steps: int = STEPS) -> tuple[Transformer, float]:
    """A model from this seed, with one-hot embeddings that stay as they are; its last loss."""
    E = token_depth_embedding(WORLD, "onehot")
    config = variants.theory(
        WORLD.vocab, width=E.shape[1], head_width=WIDTH, mlp_width=WIDTH, inputs=len(E),
        attention_scale=WIDTH**-0.5, init_std=(3 * WIDTH) ** -0.5, constant=1e-6,
    )  # fmt: skip
    start, key = jax.random.split(jax.random.key(seed))
    model = Transformer(config, key=start)
    model = eqx.tree_at(lambda m: m.token_embedding, model, jnp.asarray(E, jnp.float32))
    learned = jax.tree.map(eqx.is_inexact_array, model)
    learned = eqx.tree_at(lambda m: m.token_embedding, learned, False)
    rate = optax.piecewise_constant_schedule(RATE, {round(0.7 * steps): 0.3})
    model, history = fit(
        NextBracket(WORLD), model, optax.adam(rate), steps, key,
        chunk=max(1, steps // 10), trainable=learned,
    )  # fmt: skip
    return model, float(np.asarray(history["cross_entropy"])[-1])


if __name__ == "__main__":
    WEIGHTS.mkdir(exist_ok=True)
    for seed in SEEDS:
        model, loss = train(seed)
        save(model, WEIGHTS / f"brackets-{seed}.safetensors")
        best = WORLD.optimal_loss(LENGTH)
        print(f"seed {seed}: cross-entropy {loss:.4f}, the least possible is {best:.4f}")
