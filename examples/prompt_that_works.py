"""A world with more states than tokens: no linear head works, the prompt of Theorem 3.6 does."""

import jax

from minicosm.theory.tuning import best_linear_head, theorem_3_3, theorem_3_6
from minicosm.worlds import PosteriorTask, covered_world

world, mu, star, sources = covered_world(jax.random.key(3), hidden=8, vocab=4)
task = PosteriorTask(mu)  # label: 1(mu . P[H_0 | x] >= 0)

print("a linear head: ", theorem_3_3(world, task).failed()[0].reason)
heads = best_linear_head(world, task, jax.random.key(1))
print(f"the best one is right on {heads.fitted_accuracy:.1%} (majority {heads.majority:.1%})")

theorem = theorem_3_6(world, task)
print("the prompt:    ", theorem.construction.prompt.rows)
print(theorem.certify(length=6))  # every one of the 4,096 sequences of six tokens
