"""An Ising model: block dynamics as exact Markov chains, and how much faster larger blocks mix."""

import numpy as np

from minicosm.theory.parallel import poincare_improves
from minicosm.theory.parallel.kernels import independent_parallel, k_gibbs
from minicosm.theory.parallel.mixing import poincare
from minicosm.worlds import Ising

N = 5
J = 0.5 * (np.ones((N, N)) - np.eye(N))  # every spin wants to be like every other
joint = Ising(np.full(N, 0.1), J).joint()  # all 32 probabilities
print(f"P[all up] = {joint.probabilities[-1]:.3f}, P[all down] = {joint.probabilities[0]:.3f}")

start = np.eye(2**N)[0]  # all spins down
for k in range(1, N + 1):
    P = k_gibbs(joint, k)  # k spins, drawn at random, are drawn anew given the others
    law, steps = start, 0
    while np.abs(law - joint.probabilities).sum() / 2 > 0.05:
        law, steps = law @ P, steps + 1
    print(
        f"blocks of {k}: Poincaré constant {poincare(P, joint.probabilities):6.2f}, {steps} steps"
    )
print(poincare_improves(joint, 2))

P = independent_parallel(joint)  # all spins at once, each given the old others
off = np.abs(np.linalg.matrix_power(P, 10_000)[0] - joint.probabilities).sum() / 2
print(f"all spins in parallel: total variation {off:.3f} from the right law, for ever")
