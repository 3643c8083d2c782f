"""Who judges whole strings in the bracket sandbox."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np

from minicosm.decoding import ProbeVerifier
from minicosm.decoding.verifiers import Brackets
from minicosm.models import CachedMemory
from minicosm.studies.guided.experiments.dyck_generator import END
from minicosm.studies.guided.experiments.dyck_leaves import (
    Judgement,
    LearnedValue,
    Leaves,
    unknown_lengths,
)
from minicosm.studies.guided.experiments.dyck_tables import where_fired
from minicosm.studies.guided.experiments.judges import kept_in


def test_only_whole_strings_are_judged_apart():
    """After 2 tokens the string is unfinished, after 3 whole and valid, after 4 whole and wrong; the
    probe has examples of up to 2 tokens."""
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
        unknown = np.arange(5) > 2
        judge = LearnedValue.of(probe, 2, unknown=unknown).at_leaves(leaves)
        found = [float(judge.score(memory, jnp.int32(n))) for n in (2, 3, 4)]
        np.testing.assert_allclose(found, scores, rtol=1e-6)


def test_a_string_is_whole_once_all_its_brackets_are_there():
    """A probe that always says 0.5 is asked about one bracket of two; with both, and after the end token or
    a third bracket, the string is valid or not."""
    probe = ProbeVerifier((np.zeros((4, 1)),), (np.zeros(1),))
    judge = LearnedValue.of(probe, 2, Leaves.EXACT)
    rows = jnp.zeros((4, 4))
    source = CachedMemory((), (), rows[None], rows, rows)
    for string, wanted in (((0, 1, END), (1, 1)), ((0, 3, END), (0, 0)), ((0, 1, 0), (1, 0))):
        memory = judge.begin(3, source)
        found = []
        for n, token in enumerate(string):
            memory = judge.read(memory, jnp.int32(n), jnp.int32(token), source)
            found.append(float(judge.score(memory, jnp.int32(n + 1))))
        assert found == [0.5, *wanted]


def test_lengths_without_examples_are_not_judged():
    """Of 200 mistakes none has 4 tokens and one, less than a hundredth, has 6."""
    lengths = np.repeat([3, 5, 6], [99, 100, 1])
    unknown = unknown_lengths(lengths, 7)
    assert unknown.tolist() == [False] * 4 + [True, False, True, True]
    probe = ProbeVerifier((np.zeros((4, 1)),), (np.zeros(1),))
    rows = jnp.zeros((9, 4))
    source = CachedMemory((), (), rows[None], rows, rows)
    for leaves, wanted in ((Leaves.LEARNED, 0.5), (Leaves.EXACT, 1), (Leaves.ACCEPTED, 1)):
        judge = LearnedValue.of(probe, 6, leaves, unknown)
        memory = judge.begin(8, source)
        for n in range(5):
            memory = judge.read(memory, jnp.int32(n), jnp.int32(0), source)
        found = [float(judge.score(memory, jnp.int32(n))) for n in (3, 4, 5)]
        assert found == [0.5, wanted, 0.5]


def test_where_the_verifier_fired():
    fired = np.array([[2, 3, -1], [3, 1, -1]])
    traces = [SimpleNamespace(fired_lengths=fired), SimpleNamespace(fired_lengths=fired[:1])]
    assert where_fired(traces, 4) == [0, 1, 2, 3, 0]


def test_what_was_measured_is_not_measured_again(tmp_path):
    def measured():
        return {"a": {"b": 0.1}, "rows": [["x", 1]]}, {"states": np.arange(3.0)}

    def never():
        raise AssertionError

    for measure in (measured, never):
        numbers, arrays = kept_in(tmp_path / "one.npz", measure)
        assert numbers == measured()[0] and list(arrays) == ["states"]
        np.testing.assert_array_equal(arrays["states"], measured()[1]["states"])
