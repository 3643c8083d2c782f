"""Who judges whole strings in the bracket sandbox."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np

from minicosm.decoding import ProbeVerifier
from minicosm.decoding.verifiers import Brackets
from minicosm.studies.guided.experiments.dyck_generator import END
from minicosm.studies.guided.experiments.dyck_leaves import Judgement, LearnedValue, Leaves
from minicosm.studies.guided.experiments.dyck_tables import share_at_end


def test_only_whole_strings_are_judged_apart():
    """After 2 tokens the string is unfinished, after 3 whole and valid, after 4 whole and wrong."""
    probe = ProbeVerifier((np.zeros((4, 1)),), (np.zeros(1),))
    alive = jnp.array([True, True, True, True, False])
    numbers = jnp.zeros(5, jnp.int32)
    memory = Judgement(
        jnp.array([0.5, 0.5, 0.3, 0.2, 0.1]),
        Brackets(numbers[:4], numbers, numbers, alive),
        jnp.array([False, False, False, True, True]),
    )
    wanted = {
        Leaves.LEARNED: (0.3, 0.2, 0.1),
        Leaves.EXACT: (0.3, 1, 0),
        Leaves.ACCEPTED: (0.3, 1, 1),
    }
    for leaves, scores in wanted.items():
        judge = LearnedValue.of(probe, 2).at_leaves(leaves)
        found = [float(judge.score(memory, jnp.int32(n))) for n in (2, 3, 4)]
        np.testing.assert_allclose(found, scores, rtol=1e-6)


def test_how_many_rejected_strings_were_whole():
    fired = np.array([[[0, 1, -1], [0, 1, END]], [[0, 0, 1], [END, -1, -1]]])
    trace = SimpleNamespace(fired=fired, fired_lengths=np.array([[2, 3], [3, 1]]))
    assert share_at_end([trace], 3) == 3 / 4 and share_at_end([trace], 9) == 2 / 4
    none = SimpleNamespace(fired=fired, fired_lengths=np.full((2, 2), -1))
    assert np.isnan(share_at_end([none], 3))
