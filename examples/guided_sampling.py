"""Sample brackets under a verifier of one's own: rejection, backtracking and VGB, and what each costs."""

import jax
import numpy as np

from minicosm.decoding import VGB, Ancestral, Backtracking, Rejection, generate
from minicosm.worlds import Dyck

world = Dyck(types=2, depth=4)
LENGTH = 10


def can_end_balanced(tokens: np.ndarray) -> float:
    """1 while the open brackets (even tokens) can still be closed in the tokens that are left."""
    depth = int(np.sum(tokens % 2 == 0) - np.sum(tokens % 2 == 1))
    return float(depth <= LENGTH - len(tokens))


samplers = {
    "ancestral": Ancestral(),
    "rejection": Rejection(),
    "backtracking": Backtracking(quota=4, stride=2),
    "VGB": VGB(output="first_leaf"),
}
for name, sampler in samplers.items():
    trace = generate(
        world, sampler, key=jax.random.key(0), length=LENGTH, count=50, verifier=can_end_balanced
    )
    print(f"{name:12} balanced {trace.accepted.mean():.2f}, laws {trace.calls.mean():.1f}")
