"""An automaton as a world, as a cascade, and as a shallow Transformer with weights that are written down."""

import jax

from minicosm.theory.automata import holonomy, is_solvable, semigroup, theorem_10, theorem_11
from minicosm.worlds import automata

world = automata.dihedral(4)  # a car on a circle of four places
inputs, states = world.sample(jax.random.key(0), 12)
print(world.text(inputs), [world.state_names[q] for q in states])
print(f"guessed from the position alone: {world.position_accuracy(100):.1%} of states")
print(f"from the last 8 symbols: {world.window_accuracy(8, 100):.1%}")

print(len(semigroup(world)), "maps; solvable:", is_solvable(world))
print(holonomy(automata.gridworld(4)))  # walls make three levels of resets

theorem = theorem_10(world, length=64)  # any automaton: depth log2 T
print(theorem.construction.audit())
print(theorem.certify(count=100))

theorem = theorem_11(world, length=64)  # solvable ones: a depth that does not depend on T
print(theorem.construction.audit())
print(theorem.certify(count=100))
print(theorem_11(automata.alternating(5), length=64))  # A_5 is not

network = theorem_11(automata.gridworld(4), length=12).construction
inputs, states = automata.gridworld(4).sample(jax.random.key(1), 12)
print((network(inputs) == states).all(), network.attention(inputs, layer=1).shape)
