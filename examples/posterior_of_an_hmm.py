"""Your own hidden Markov model from NumPy matrices, and exact answers with tokens missing."""

import numpy as np

from minicosm.worlds import HMM

np.set_printoptions(precision=3, suppress=True)
# Columns sum to one: A[next, now] and W[token, state].
A = np.array([[0.9, 0.2, 0.0], [0.1, 0.7, 0.3], [0.0, 0.1, 0.7]])
W = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
world = HMM(A, W, p0=np.array([0.5, 0.3, 0.2]))

tokens = np.array([0, 0, 1, 2, 2, 2])
print(f"log probability of {tokens.tolist()}: {world.log_prob(tokens):.4f}")
print("P[H_i | all tokens], i = 0..6:")
print(np.asarray(world.posterior(tokens).hidden))

seen = np.array([True, True, False, False, True, True])  # the third and fourth are missing
print(f"log probability of the four that are seen: {world.log_prob(tokens, seen):.4f}")
print("the law of each token given the others that are seen:")
print(np.asarray(world.conditionals(tokens, seen)))
