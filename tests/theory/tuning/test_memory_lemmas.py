"""The lemmas behind Theorems 4.3 and D.6, and their referees."""

import jax
import memory_path_sums as referee
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory import all_sequences, sample_sequences
from minicosm.theory.tuning import (
    claim_d3,
    claim_d10,
    claim_d12,
    claim_d14,
    claim_d15,
    lemma_d2,
    lemma_d4,
    lemma_d7,
    lemma_d9,
    lemma_d9_by_any_head,
    lemma_d13,
    opposed_world,
    overlapping_spans,
    proposition_d1,
    proposition_d8,
    proposition_d11,
    theorem_4_6,
    wrong_label_world,
)
from minicosm.theory.tuning.memory_lemmas import observe
from minicosm.theory.tuning.path_sums import cell_joint, others_joint, shifted_joint, token_rows
from minicosm.worlds import (
    PosteriorTask,
    nonstationary,
    overlapping_spans_world,
    prompt_memory_world,
    recoverable_memory_world,
)

ONE = {"values": 2, "cells": 1, "syntax": 3, "star": 1}
TWO = {"values": 2, "cells": 2, "syntax": 2, "star": 1}
ONE_PROMPT = {"values": 3, "cells": 1, "syntax": 3, "star": 1}
TWO_PROMPT = {"values": 3, "cells": 2, "syntax": 2, "star": 1}
ROUNDING = 1e-11


def task_of(found):
    return PosteriorTask(found.mu, "cell", cell=found.cell)


def test_path_sums_agree_with_itertools():
    """Two enumerations that share no code, with a prompt row at the first position."""
    world = prompt_memory_world(jax.random.key(4), **TWO_PROMPT).world
    rng = np.random.default_rng(0)
    u = rng.random((world.configurations, world.hidden))
    x = rng.integers(world.vocab, size=2)
    fake = np.broadcast_to(u, (1, 1, *u.shape))
    rows = np.concatenate([fake, token_rows(world, x[None])], axis=1)
    exact = others_joint(world, rows)[0]
    shown = [lambda memory, h: u[memory[0] * world.values + memory[1], h], *x.tolist()]
    for i in range(3):
        expected = np.zeros((world.configurations, world.hidden))
        for (memory, path), weight in referee.joint(world, referee.without(shown, i)).items():
            expected[memory[0] * world.values + memory[1], path[i + 1]] += weight
        np.testing.assert_allclose(exact[i], expected, atol=1e-15)
        law = np.zeros(world.vocab)
        W = np.asarray(world.W).reshape(world.vocab, -1)
        joint = cell_joint(world, exact[i]).reshape(-1)
        if joint.sum() > 0:
            law = W @ joint / joint.sum()
        np.testing.assert_allclose(law, referee.output(world, shown, i), atol=1e-14)
    shifted = shifted_joint(world, x[None], 1)[0]
    expected = np.zeros_like(shifted)
    for (memory, path), weight in referee.joint(world, [None, *x.tolist()]).items():
        expected[memory[0] * world.values + memory[1], path[1]] += weight
    np.testing.assert_allclose(shifted, expected, atol=1e-15)


def test_lemmas_of_theorem_4_3():
    attended = 0
    for seed in range(6):
        found = recoverable_memory_world(jax.random.key(seed), **TWO)
        world, task = found.world, task_of(found)
        sequences = sample_sequences(world, jax.random.key(seed), 4, 48)
        d2 = lemma_d2(world, task, sequences)
        assert d2.error == 0
        attended += d2.details["cases"]
        assert claim_d3(world, task, sequences).error < ROUNDING
        d4 = lemma_d4(world, task, sequences)
        assert d4.error < ROUNDING
        assert d4.details["smallest factor"] > 0
    assert attended > 50


def test_proposition_d1():
    for seed in range(5):
        world = recoverable_memory_world(jax.random.key(seed), **TWO).world
        d1 = proposition_d1(world, sample_sequences(world, jax.random.key(seed), 3, 16))
        assert d1.holds and d1.error < ROUNDING


@pytest.mark.parametrize("stationary", [True, False])
@pytest.mark.parametrize("sizes", [ONE_PROMPT, TWO_PROMPT])
def test_lemmas_of_theorem_d6(sizes, stationary):
    printed = strict = zero = 0
    beyond = 0.0
    for seed in range(12):
        found = prompt_memory_world(jax.random.key(seed), **sizes)
        if not stationary:
            found = nonstationary(found, jax.random.key(seed))
        world, task = found.world, task_of(found)
        sequences = sample_sequences(world, jax.random.key(seed), 4, 48)
        how = {"stationary": stationary}
        d9 = lemma_d9(world, task, sequences, **how)
        assert not d9.error and d9.holds is not False
        assert d9.details["prompt attended"] == 0
        printed += lemma_d9(world, task, sequences, printed=True, **how).error or 0.0
        d10 = claim_d10(world, task, sequences, **how)
        assert d10.error < ROUNDING
        beyond = max(beyond, d10.details["norm at the prompt"])
        d11 = proposition_d11(world, task, sequences, **how)
        assert d11.error == d11.details["mass"] == 0
        d12 = claim_d12(world, task, sequences, **how)
        assert d12.error == 0
        strict += d12.details["strict"]
        assert (lemma_d13(world, task, sequences, **how).error or 0.0) < ROUNDING
        assert claim_d14(world, task, sequences, **how).error < ROUNDING
        d15 = claim_d15(world, task, sequences, **how)
        assert d15.error == (0 if d15.details["cases"] else None)  # None: nothing to compare
        zero += d15.details["impossible x^"]
    if sizes is ONE_PROMPT:
        assert printed > 0  # Lemma D.9 claims I = I^, and the prompt may make more positions sure
    assert strict > 0
    assert zero > 0
    assert beyond > 1.01  # Claim D.10 has nothing to say at the prompt's own position


def test_printed_lemma_d9_fails_through_position_one():
    found = wrong_label_world()
    sequences = all_sequences(4, 4)
    assert lemma_d9(found.world, task_of(found), sequences).error == 0
    printed = lemma_d9(found.world, task_of(found), sequences, beta="printed")
    assert printed.error == printed.details["prompt attended"] == 32
    assert claim_d10(found.world, task_of(found), sequences).details["above 3 at the prompt"] >= 32


def test_minus_two_fails_for_every_key_of_claim_d10():
    """The outputs after the prompt span all of R^|X|, so q^T Theta^K is determined by Claim D.10."""
    found = wrong_label_world()
    classifier = theorem_4_6(found.world, task_of(found)).construction
    o = observe(found.world, classifier, 0, found.star_syntax, all_sequences(4, 4))
    after = o.outputs[o.possible][:, 1:].reshape(-1, 4)
    assert np.linalg.svd(after, compute_uv=False)[-1] > 1e-3
    target = (o.law[o.possible][:, 1:, :, list(found.star_syntax)]).sum(axis=(2, 3)).ravel()
    k, *_ = np.linalg.lstsq(after, target)
    np.testing.assert_allclose(after @ k, target, atol=1e-10)
    assert (o.outputs[o.possible][:, 0] @ k).max() == pytest.approx(9.122, abs=5e-4)


def test_no_head_attends_as_lemma_d9_states():
    """By hand: after c the next state is 0 whatever the memory; after d only if it is 0 or 1."""
    found = opposed_world()
    world, task = found.world, task_of(found)
    theorem = theorem_4_6(world, task)
    assert theorem.applies and theorem.conditions[0].witness == found.star_syntax
    two = np.array([[2, 0, 3, 0], [3, 0, 2, 0]])
    o = observe(world, theorem.construction, 0, found.star_syntax, two)
    assert o.possible.all() and o.context.all()
    np.testing.assert_array_equal(o.sure[:, [2, 4]], [[True, False], [False, True]])
    assert o.sure_after[:, [2, 4]].all()
    odds = 0.7 / (0.7 + 0.3)  # of value 0 against 1: one token a was seen
    law = odds * np.array([0.7, 0.3]) + (1 - odds) * np.array([0.3, 0.7])
    np.testing.assert_allclose(o.outputs[:, [2, 4], :2], np.tile(law, (2, 2, 1)), atol=1e-14)
    assert lemma_d9_by_any_head(world, task, two).error == 2  # each pair of pairs both ways
    assert lemma_d9_by_any_head(world, task, two[:1]).holds  # one sequence is no contradiction
    assert lemma_d9(world, task, two).error == 0
    assert theorem.certify(sequences=two).holds


WORLDS = {
    cells: prompt_memory_world(jax.random.key(9), **sizes).world
    for cells, sizes in ((1, ONE_PROMPT), (2, TWO_PROMPT))
}


@given(st.integers(1, 2), st.integers(0, 2**32 - 1), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=25)
def test_lemma_d7_for_any_prompt(cells, seed, zeros, ones):
    """Entries of u at 0, at 1 and between; impossible contexts give exactly zero vectors."""
    world, rng = WORLDS[cells], np.random.default_rng(seed)
    u = rng.random((world.configurations, world.hidden))
    kind = rng.random(u.shape)
    u = np.where(kind < zeros, 0, np.where(kind > 1 - ones * (1 - zeros), 1, u))
    d7 = lemma_d7(world, u, rng.integers(world.vocab, size=(8, 3)))
    assert d7.error < ROUNDING
    assert d7.details["output at the prompt"] < ROUNDING
    assert d7.details["impossible contexts with an output"] == 0


def test_lemma_d7_meets_impossible_contexts():
    world = WORLDS[1]
    u = np.zeros((world.configurations, world.hidden))
    d7 = lemma_d7(world, u, all_sequences(world.vocab, 2))
    assert d7.error < ROUNDING
    assert d7.details["impossible contexts"] >= 2 * world.vocab**2
    assert d7.details["impossible contexts with an output"] == 0
    with pytest.raises(ValueError, match="entries in"):
        lemma_d7(world, u - 1, all_sequences(world.vocab, 2))


def test_proposition_d8_needs_a_stationary_start():
    for sizes in (ONE_PROMPT, TWO_PROMPT):
        found = prompt_memory_world(jax.random.key(0), **sizes)
        assert proposition_d8(found.world, length=2, shifts=2).error < 1e-14
        moved = nonstationary(found, jax.random.key(0)).world
        assert proposition_d8(moved, length=2, shifts=2).error > 1e-3


def test_overlapping_spans_spoil_the_keys():
    """Claim D.3 fails once a column of H* lies in the span of the others."""
    worst = []
    for seed in range(5):
        found = overlapping_spans_world(jax.random.key(seed), **ONE)
        sequences = sample_sequences(found.world, jax.random.key(seed), 4, 48)
        worst.append(
            overlapping_spans(found.world, task_of(found), found.star_syntax, sequences).error
        )
    assert min(worst) > 1e-2
    found = recoverable_memory_world(jax.random.key(0), **ONE)
    sequences = sample_sequences(found.world, jax.random.key(0), 4, 48)
    spans = overlapping_spans(found.world, task_of(found), found.star_syntax, sequences)
    assert spans.error < ROUNDING
