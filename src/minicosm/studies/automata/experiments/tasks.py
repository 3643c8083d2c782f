"""What is simulated: automata by name, with labels at every position or at some, and scratchpads."""

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from minicosm.training import Labelled
from minicosm.worlds import Semiautomaton, automata
from minicosm.worlds.arrays import AnyArray

from ..experiment_trials import ABAB, BOUNDARY, STAY, ZERO, Training


def automaton(config: Training) -> Semiautomaton:
    """The automaton of a task, with its own law of symbols and what is seen of it."""
    task = config.task
    if task == "Dyck":
        return automata.dyck(2, config.depth)
    if task in STAY.values():
        return automata.dihedral(3 if task == STAY["D_6"] else 4, stay=True)
    if task == BOUNDARY:
        return automata.gridworld(4).observe(automata.is_boundary(4))
    if task == ABAB:
        world = automata.abab()
        return world.observe(automata.is_state(world, 3))
    if task == ZERO:
        world = automata.cyclic(4)
        return world.observe(automata.is_state(world))
    return _source_tasks()[task]


_source_tasks = lru_cache(automata.source_tasks)


def padded(config: Training, world: Semiautomaton) -> Semiautomaton:
    """The same automaton with the table, the number of labels and the modes that all arms of a shape have."""
    symbols, states = max(config.symbols, world.vocab), max(config.states, world.states)
    wide = world.padded(symbols, states, modes=2)
    reached = np.arange(states) < world.states
    wide = wide.observe(np.where(reached, wide.observation, states - 1))
    # A stack has no names, which would make another program of every automaton.
    return jax.tree.map(lambda leaf: np.asarray(leaf[0]), Semiautomaton.stack([wide]))


class Simulation(eqx.Module):
    """Strings of an automaton whose labels are given with probability `reveal`.

    A string with a scratchpad is `s_1, q_1, s_2, q_2, ..., s_T`: after every symbol but the last stands
    its label. Symbols are then the tokens after those of the labels.
    """

    world: Semiautomaton
    reveal: Float[AnyArray, "*stack"]
    scratchpad: bool = eqx.field(static=True)

    def labelled(self, key: PRNGKeyArray, length: int) -> Labelled:
        """One string of `length` symbols."""
        draw_key, reveal_key = jax.random.split(key)
        symbols, states = self.world.sample(draw_key, length)
        labels = jnp.asarray(self.world.observation)[states]
        given = jax.random.uniform(reveal_key, (length,)) < self.reveal
        if not self.scratchpad:
            return Labelled(symbols, labels, given)
        tokens = jnp.stack([symbols + self.world.states, labels], axis=1).reshape(-1)[:-1]
        return Labelled(tokens, labels, given)
