"""What `print` and the prompt of an interpreter say about a theorem."""

import jax
import numpy as np

from minicosm.theory import Condition, Theorem
from minicosm.theory.tuning import theorem_3_3
from minicosm.worlds import PosteriorTask, covered_world, full_rank_world


def test_a_theorem_says_in_one_line_what_came_out():
    world = full_rank_world(jax.random.key(0), hidden=2, vocab=3)
    theorem = theorem_3_3(world, PosteriorTask(np.array([1.0, -0.5])))
    assert str(theorem) == "Theorem 3.3 is not run yet"
    for said in ("<Theorem 3.3 is not run yet", "constructs a Classifier", ".certify(...)"):
        assert said in repr(theorem)
    assert "Assumption 3.1 (independent emissions) holds" in repr(theorem)
    found = theorem.certify(length=2)
    assert str(found).startswith("Theorem 3.3 holds: error ") and "compared " in str(found)
    assert repr(found).startswith("<Theorem 3.3 holds, error ") and "\n" not in repr(found)


def test_a_broken_assumption_is_named_with_its_numbers():
    world, mu, *_ = covered_world(jax.random.key(3), hidden=8, vocab=4)
    theorem = theorem_3_3(world, PosteriorTask(mu))
    assert str(theorem) == "Theorem 3.3 does not apply: W has rank 4 and 8 columns"
    assert "Assumption 3.1 (independent emissions) fails: W has rank 4 and 8" in repr(theorem)
    assert str(theorem.conditions[1]) == "Assumption 3.2 (regularity) holds"


def test_no_cases_are_no_verdict_and_it_is_loud():
    found = Theorem.identity("Lemma", 0.0, cases=0)
    assert found.holds is None and "NOTHING WAS COMPARED" in str(found)
    fails = Theorem.inequality("Bound", -1.0, conditions=(Condition("sizes", True),))
    assert str(fails) == "Bound fails: slack -1" and "Bound fails, slack -1; sizes holds" in repr(
        fails
    )
