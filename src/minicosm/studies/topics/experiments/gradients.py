"""How large gradients of values, keys and queries are when all matrices start near zero (Section 2.1.6)."""

import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.models import BagAttention
from minicosm.training import Bags, draw_bags
from minicosm.training.bags import losses_of
from minicosm.worlds import TopicWorld

from ..trials import Gradients
from .training import BERT, key_of


@jax.jit
def _norms(model: BagAttention, bags: Bags) -> dict[str, jax.Array]:
    def loss(model: BagAttention) -> jax.Array:
        found = losses_of(model, bags)
        return found.cross_entropy.sum() / found.positions.sum()

    gradient = jax.grad(loss)(model)
    return {n: jax.numpy.linalg.norm(getattr(gradient, n)) for n in ("value", "key", "query")}


def run(config: Gradients, progress: Progress) -> TrialResult:
    """`|grad W_V| / |grad W_K| sigma^2`, and the same with queries, for every size sigma and seed: one
    direction of the start is scaled."""
    world = TopicWorld(config.topics, config.words, dirichlet=0.1, lengths=(50, 60))
    ratios: dict[str, list[list[float]]] = {"key": [], "query": []}
    for done, key in enumerate(jax.random.split(key_of(config), config.seeds)):
        progress(done, config.seeds, "seeds")
        start, data = jax.random.split(key)
        bags = jax.tree.map(np.asarray, draw_bags(world, BERT, data, config.documents))
        unit = BagAttention.random(start, words=world.vocab, std=1.0)
        found = [
            _norms(jax.tree.map(lambda leaf, s=size: s * leaf, unit), bags) for size in config.sizes
        ]
        for name, rows in ratios.items():
            each = zip(config.sizes, found, strict=True)
            rows.append([float(g["value"] / g[name]) * size**2 for size, g in each])
    return TrialResult({"ratios": ratios})
