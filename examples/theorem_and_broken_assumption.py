"""A theorem as a function: its conditions, a certificate, and what a broken assumption says."""

import jax
import numpy as np

from minicosm.theory.tuning import best_linear_head, theorem_3_3, theorem_3_6, theorem_4_3
from minicosm.worlds import MemoryHMM, PosteriorTask, covered_world

world, mu, star, sources = covered_world(jax.random.key(3), hidden=8, vocab=4)
task = PosteriorTask(mu)  # label: 1(mu . P[H_0 | x] >= 0)

print(theorem_3_3(world, task))  # eight states, four tokens: Assumption 3.1 is broken
heads = best_linear_head(world, task, jax.random.key(1), train=2000, test=2000)
print(f"indeed the best linear head is right on {heads.fitted_accuracy:.1%} only")

theorem = theorem_3_6(world, task)  # the proof constructs a prompt and a head
for condition in theorem.conditions:
    print(condition)
print("prompt:", theorem.construction.prompt.rows)
print(theorem.certify(length=4))  # all 256 sequences of four tokens

memory = MemoryHMM.random(jax.random.key(0), hidden=3, memory=2, vocab=12)
empty = theorem_4_3(memory, PosteriorTask(np.array([1.0, -1.0]), "cell"), star=[0])
print(empty.certify(length=2))  # it applies, but to no sequence: that is no success
