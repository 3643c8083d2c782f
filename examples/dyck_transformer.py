"""A Transformer with explicit weights that predicts a bracket language exactly; its attention map."""

import tempfile
from pathlib import Path

import jax
import numpy as np

from minicosm.models.attention_patterns import draw_attention
from minicosm.theory.dyck import project, theorem_2_2_1, token_depth_embedding
from minicosm.worlds import Dyck

world = Dyck(types=2, depth=4)
E = token_depth_embedding(world, "onehot")
M = project(np.random.default_rng(0).normal(size=(17, 17)), E, world)  # random, and balanced
theorem = theorem_2_2_1(world, E, M)
tokens = np.asarray(world.sample(jax.random.key(0), 200).tokens)
print(theorem.certify(strings=tokens[None]))

text = "".join("()[]"[token] for token in tokens[:16])
ids = np.append(world.pairs, world.token_depths(tokens[:16]))  # the start, then brackets with depth
with jax.enable_x64(True):
    law = np.exp(theorem.construction.next_logits(ids)[-1])
    pattern = theorem.construction.trace(ids).attention[0, 0]
print(f"after {text} follow ( ) [ ] with probabilities", np.round(law, 3))
path = Path(tempfile.gettempdir()) / "dyck-attention.png"
draw_attention(pattern, ["start", *text], title="it looks like nothing").figure.savefig(path)
print(f"its attention map is in {path}")
