"""Sequences that no world can have made are refused, and a certificate over nothing says so."""

import jax
import numpy as np
import pytest

from minicosm.theory import both_scores, certify
from minicosm.theory import tuning as theory
from minicosm.worlds import MemoryHMM, PosteriorTask, full_rank_world, recoverable_memory_world
from minicosm.worlds.markov import stationary_law

pytestmark = pytest.mark.usefixtures("unchecked_types")

WORLD = full_rank_world(jax.random.key(0), hidden=3, vocab=4)
TASK = PosteriorTask(np.array([1.0, -0.7, 0.2]))
MEMORY, MU, CELL, _ = recoverable_memory_world(
    jax.random.key(0), values=2, cells=1, syntax=3, star=1
)
MEMORY = MemoryHMM(MEMORY.A, MEMORY.W, MEMORY.pM, stationary_law(MEMORY.A))
CELL_TASK = PosteriorTask(MU, "cell", cell=CELL)
HEAD = theory.theorem_3_3(WORLD, TASK).construction
ATTENTION = theory.theorem_4_3(MEMORY, CELL_TASK).construction
STAR = theory.star_states(MEMORY, CELL, (0,))
PROMPT = theory.memory_prompt(MEMORY, MU, CELL)

ON_HMM = {
    "certify": lambda x: certify(WORLD, TASK, HEAD, theory.statement_3_3, sequences=x),
    "both_scores": lambda x: both_scores(WORLD, TASK, HEAD, x),
    "claim_b1": lambda x: theory.claim_b1(WORLD, x),
    "lemma_c1": lambda x: theory.lemma_c1(WORLD, np.ones(3), x),
    "lemma_c2": lambda x: theory.lemma_c2(WORLD, np.ones(3), x),
    "equation_c1": lambda x: theory.equation_c1(WORLD, x),
    "prompt_length": lambda x: theory.prompt_length_is_irrelevant(WORLD, np.ones((2, 3)), x),
}
ON_MEMORY = {
    "proposition_d1": lambda x: theory.proposition_d1(MEMORY, x),
    "in_scope": lambda x: theory.in_scope(MEMORY, x, STAR),
    "in_wider_scope": lambda x: theory.in_wider_scope(MEMORY, PROMPT, x, STAR),
    "soft_attention": lambda x: theory.soft_attention(MEMORY, ATTENTION, x, [1.0]),
    "lemma_d7": lambda x: theory.lemma_d7(
        MEMORY, np.ones((MEMORY.configurations, MEMORY.hidden)), x
    ),
    "overlapping_spans": lambda x: theory.overlapping_spans(MEMORY, CELL_TASK, (0,), x),
    "binary_prompt": lambda x: theory.binary_prompt(MEMORY, CELL_TASK, sequences=x),
} | {
    name: lambda x, name=name: getattr(theory, name)(MEMORY, CELL_TASK, x)
    for name in (
        *("lemma_d2", "claim_d3", "lemma_d4", "lemma_d9", "claim_d10", "proposition_d11"),
        *("claim_d12", "lemma_d13", "claim_d14", "claim_d15"),
    )
}


@pytest.mark.parametrize("name", ON_HMM | ON_MEMORY)
def test_sequences_that_are_none_are_refused_in_one_sentence(name):
    call, vocab = (ON_HMM | ON_MEMORY)[name], (WORLD if name in ON_HMM else MEMORY).vocab
    for bad, said in (
        ([[0, 1000]], f"token 1000 at row 0, index 1; it is outside the vocabulary 0..{vocab - 1}"),
        ([[0, 1], [-1, 0]], "token -1 at row 1, index 0"),
        ([[0.0, 1.0]], "float64"),
        (np.array([[0, 1]], ">i8"), "other byte order"),
        (np.array([0, 1]), "shape (2,)"),
        (np.zeros((0, 2), int), "shape (0, 2)"),
        ([[True, False]], "bool"),
        ([[0], [0, 1]], "rectangular"),
        (None, ""),
        ("abc", "abc"),
    ):
        with pytest.raises((ValueError, TypeError)) as caught:
            call(bad)
        message = str(caught.value)
        assert "sequences" in message and said in message and "\n" not in message


def test_a_task_that_is_no_number_has_no_recoverable_states():
    for mu in (np.full(MEMORY.values, np.nan), np.full(MEMORY.values, np.inf)):
        with pytest.raises(ValueError, match="mu"):
            theory.recoverable_for(MEMORY, mu, CELL)


def test_a_certificate_over_nothing_says_why_r_is_empty():
    """All states may follow each other and emit anything: no position is ever sure of one state."""
    W = np.random.default_rng(0).dirichlet(np.ones(8), size=(2, 1, 2)).transpose(3, 0, 1, 2)
    world = MemoryHMM(np.full((2, 2), 0.5), W, np.full(2, 0.5), np.full(2, 0.5))
    theorem = theory.theorem_4_3(world, PosteriorTask(np.array([1.0, -1.0]), "cell"), star=[1])
    found = theorem.certify(length=2)
    assert found.holds is None and found.error is None
    for said in (str(found), found.details["warning"]):
        assert "NOTHING WAS COMPARED, none of 64 sequences is in the theorem's scope" in said
        assert "0 are impossible and 64 outside it" in said and "R is empty" in said
        assert "H* = [1]" in said and "the states [0] remain possible" in said
        assert "A has no zero" in said
    assert "is not decided" in repr(found) and "Assumption 4.2" in repr(found)
