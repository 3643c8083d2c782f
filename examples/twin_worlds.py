"""Which world does a masked predictor know? Twins of one task, and recovery from another."""

import jax

from minicosm.theory.identifiability import (
    distance,
    middle_pair,
    recover,
    recover_gaussian,
    twin,
    unseen,
)
from minicosm.worlds import doubly_stochastic_world, predictor

world = doubly_stochastic_world(jax.random.key(0), hidden=3, vocab=4, least=0.1)
for task in ("x2|x1", "x2,x3|x1", "x3|x1,x2"):
    print(f"{task:>8}: {unseen(world, task).dimension} directions of parameters are not seen")

found = twin(world, "x2|x1", jax.random.key(1))  # another HMM with the same optimal predictor
print(found)
print(twin(world, "x2,x3|x1", jax.random.key(1)))  # a certificate: there is none nearby

table = predictor(world, "x2,x3|x1")  # P(x2, x3 | x1): 4 x 4 x 4 numbers
again = recover(table, "x2,x3|x1", hidden=3)
print(f"recovered from two tokens to {distance(world, again.world):.0e}")

gaussian, mirrored = middle_pair()  # means e1 and e2, against -e2 and -e1
for task in ("x2|x1", "x1,x3|x2"):
    solutions = recover_gaussian(predictor(gaussian, task), task, hidden=2, dimension=2)
    print(f"Gaussian emissions, {task}: {len(solutions)} world(s) with this predictor")
