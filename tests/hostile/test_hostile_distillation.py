"""Parities, grammars, curricula of teachers and their theory with one bad argument at a time."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hostile import (
    Call,
    array,
    count,
    faults,
    flag,
    key,
    positive,
    report,
    thing,
    tokens,
    whole,
)
from minicosm.adaptation import causal_reliance, reliance, window
from minicosm.theory import distillation as theory
from minicosm.training import (
    Curriculum,
    Distilled,
    MaskedSentences,
    NextTokens,
    SignTokens,
    SignVectors,
    Trajectory,
    equal_split,
    kappa_split,
    keeping,
    one_shot,
    progressive,
    soft_targets,
    stacked,
    steps_to,
    transition,
    two_shot,
)
from minicosm.worlds import HierarchicalParity, LayeredPCFG, SparseParity

pytestmark = pytest.mark.usefixtures("unchecked_types")

BIG = ("2**40", "2**70")
LESS = "one entry less"
FREE = ("entry -1", "entry 10**6", "plus .5")
MORE = ("one axis more", "array of four axes")

# -- worlds ------------------------------------------------------------------------------------------

PARITY = SparseParity(4, 2)
TREE = HierarchicalParity(4, 1, 2)
SIGNS = array(np.array([1.0, -1.0, 1.0, -1.0]), allows=("one axis more", "entry -1"))
BITS = tokens([0, 1, 1, 0], allows=())
RULES = {3: [[0, 1], [2, 2]], 4: [[3, 3], [3]]}
GRAMMAR = LayeredPCFG(RULES, 4)
WORDS = tokens([0, 1, 2, 2])
MASKED = tokens([0, 1, 2, 2], names="observed")
ROWS = array(
    np.eye(3)[[0, 1, 2, 2]], allows=("entry 10**6", "plus .5", LESS), names=("embeddings", "length")
)
SEEN = array(np.array([True, False, True, True]), allows="None")

WORLDS = [
    Call(SparseParity, d=count(4), k=count(2), support=thing([1, 3], allows="None")),
    Call(PARITY.labels, x=SIGNS),
    Call(PARITY.sample, key=key(), length=count(4, allows="None")),
    Call(PARITY.log_prob, tokens=BITS),
    Call(
        HierarchicalParity, d=count(4), k=count(1), depth=count(2),
        blocks=thing([[0], [1], [2]], allows="None"),
    ),
    Call(TREE.labels, x=SIGNS),
    Call(TREE.parities, x=SIGNS),
    Call(TREE.way, label=whole(1, allows="0")),
    Call(TREE.sample, key=key(), length=count(4, allows="None")),
    Call(TREE.log_prob, tokens=BITS),
    Call(LayeredPCFG, rules=thing(RULES), root=count(4),
         probabilities=thing({4: [0.5, 0.5]}, allows=("None", "{}"))),
    Call(LayeredPCFG.named, name=thing("cfg3b"), below=count(8)),
    Call(GRAMMAR.symbols, height=count(2)),
    Call(GRAMMAR.sample, key=key(), length=count(4, allows="None")),
    Call(GRAMMAR.log_prob, tokens=WORDS),
    Call(GRAMMAR.log_evidence, rows=ROWS, length=count(4, allows="None")),
    Call(GRAMMAR.embed, tokens=MASKED, observed=SEEN),
    Call(GRAMMAR.predict, embeddings=ROWS,
         at=array([0, 1], allows=("None", LESS, "one axis more", "0", "True", "[]", "[[]]"))),
    Call(GRAMMAR.conditionals, tokens=MASKED, observed=SEEN),
    Call(GRAMMAR.posterior, tokens=MASKED, observed=SEEN),
    Call(GRAMMAR.next_logits, tokens=WORDS),
    Call(GRAMMAR.end_probabilities, tokens=WORDS),
    Call(GRAMMAR.boundary_laws, tokens=MASKED, height=count(2), observed=SEEN),
    Call(GRAMMAR.ngrams, n=count(2)),
    Call(GRAMMAR.text, tokens=tokens([0, 1, 2, 2], allows=("[]", "entry -1", "tokens below zero"))),
]  # fmt: skip

# -- training ----------------------------------------------------------------------------------------

TASK = SignVectors(PARITY)


def mlp(seed):
    return eqx.nn.MLP(4, 2, 2, 1, key=jax.random.key(seed))


TEACHERS = stacked([mlp(0), mlp(1)])
KEPT = Trajectory(TEACHERS, np.array([5, 10]))
MANY = Trajectory(
    jax.tree.map(lambda x: x[:, None] if eqx.is_array(x) else x, TEACHERS), np.array([5, 10])
)
CURRICULUM = two_shot(0, 4, 1)
NUMBERS = thing([0, 1], allows=("tokens far outside", "tokens below zero"))
STEPS = array(
    np.array([5, 10]),
    allows=("entry -1", "entry 10**6", "tokens below zero", "tokens far outside"),
    names=("checkpoints", "accuracy"),
)
CURVE = array(np.array([0.5, 0.9]), allows=(*FREE, "tokens far outside", "tokens below zero", "entry nan",
                                           "entry inf", "array of nan"))  # fmt: skip
CURVES = CURVE._replace(allows=CURVE.allows | {"array of four axes"}, nan=frozenset(["entry nan"]))
TAU = array(
    0.5,
    allows=(
        "0",
        "2.5",
        "plus .5",
        "entry 10**6",
        *BIG,
        "one axis more",
        LESS,
        "tokens far outside",
    ),
)
BATCH = TASK.draw(jax.random.key(0))


class Uniform(eqx.Module):
    """A masked language model that knows nothing."""

    def embed(self, tokens, observed=None):
        return jnp.zeros((len(tokens), 3))

    def logits(self, embeddings, at, visible=None):
        return jnp.zeros((len(at), 3))

    def predict(self, embeddings, at, visible=None):
        return jnp.full((len(at), 3), 1 / 3)


MASKS = MaskedSentences(GRAMMAR, batch=2)
HIDDEN = MASKS.draw(jax.random.key(0))
ENDS = NextTokens(GRAMMAR, 2, batch=2)
ENDED = ENDS.draw(jax.random.key(0))
BITS_TASK = SignTokens(PARITY, batch=2)

TRAINING = [
    Call(MaskedSentences, world=thing(GRAMMAR), batch=count(2), rate=thing(0.5, allows="True")),
    Call(MASKS.draw, key=key()),
    Call(MASKS.logits, model=thing(Uniform()), batch=thing(HIDDEN)),
    Call(MASKS.labels, batch=thing(HIDDEN)),
    Call(MASKS.weights, batch=thing(HIDDEN)),
    Call(MASKS.bayes, batch=thing(HIDDEN)),
    Call(window, n=count(3, allows=BIG), at=whole(1, allows=("0",)), length=count(4)),
    Call(reliance, model=thing(Uniform()), tokens=tokens([0, 1, 2, 2], allows=(
        "entry 10**6", "tokens far outside"), names="at"), at=whole(1, allows=()),
         sizes=thing([2, 3]), visible=array(np.ones(4, bool), allows="None")),
    Call(causal_reliance, model=thing(GRAMMAR), tokens=tokens([0, 1, 2, 2], names="at"),
         at=whole(1, allows=()), sizes=thing([2, 3]), start=count(3, allows=("0", "None", *BIG)),
         height=count(1)),
    Call(SignVectors, world=thing(PARITY), batch=count(2)),
    Call(TASK.draw, key=key()),
    Call(TASK.logits, model=thing(mlp(0), allows="a function"), batch=thing(BATCH)),
    Call(TASK.labels, batch=thing(BATCH)),
    Call(TASK.weights, batch=thing(BATCH)),
    Call(SignTokens, world=thing(PARITY), batch=count(2)),
    Call(BITS_TASK.draw, key=key()),
    Call(BITS_TASK.logits, model=thing(Uniform()), batch=thing(BATCH)),
    Call(BITS_TASK.labels, batch=thing(BATCH)),
    Call(BITS_TASK.weights, batch=thing(BATCH)),
    Call(NextTokens, world=thing(GRAMMAR), batch=count(2), lowest=count(1),
         height=array(2, allows=("one axis more", LESS, "[]", "[[]]"))),
    Call(ENDS.draw, key=key()),
    Call(ENDS.logits, model=thing(Uniform()), batch=thing(ENDED)),
    Call(ENDS.labels, batch=thing(ENDED)),
    Call(ENDS.weights, batch=thing(ENDED)),
    Call(ENDS.bayes, batch=thing(ENDED)),
    Call(Curriculum, which=NUMBERS, durations=thing([4])),
    Call(CURRICULUM.at, step=array(3, allows=("0", *MORE, LESS, "tokens far outside", "entry 10**6",
                                              "[]", "[[]]"))),
    Call(CURRICULUM.among, used=thing([0, 1]), segments=count(3)),
    Call(one_shot, checkpoints=count(2)),
    Call(two_shot, checkpoint=whole(0, allows=("-1", "0")), steps=count(3),
         final=whole(1, allows=("-1", "0"))),
    Call(progressive, checkpoints=NUMBERS, steps=count(3)),
    Call(equal_split, checkpoints=NUMBERS, horizon=count(6)),
    Call(kappa_split, checkpoints=NUMBERS, kappa=positive(0.5, allows="2.5"),
         teacher_steps=count(8), horizon=count(6)),
    Call(soft_targets, logits=array(np.ones((2, 3)), allows=(*FREE, *MORE, LESS, "tokens far outside",
                                                             "tokens below zero")),
         temperature=TAU),
    Call(Distilled, task=thing(TASK), curriculum=thing(CURRICULUM), teachers=thing(TEACHERS),
         temperature=TAU,
         block=count(2)),
    Call(Distilled.of, task=thing(TASK), trajectory=thing(KEPT), curriculum=thing(CURRICULUM),
         temperature=TAU, block=count(2)),
    Call(Distilled(TASK, CURRICULUM, TEACHERS).prepare, key=key(),
         steps=array(np.array([0, 1]), allows=(LESS, "entry 10**6", "tokens far outside"))),
    Call(keeping, watch=thing(lambda params, done: {}, allows="None")),
    Call(Trajectory, models=thing(TEACHERS), steps=STEPS),
    Call(Trajectory.of, history=thing(dict(zip(
        ("step", "kept 0", "kept 1", "kept 2", "kept 3"),
        (np.array([5, 10]), *jax.tree.leaves(eqx.filter(TEACHERS, eqx.is_array))), strict=True))),
        params=thing(mlp(0), allows="a function")),
    Call(KEPT.index, step=count(5)),
    Call(KEPT.at, step=count(5)),
    Call(KEPT.take, which=array(np.array([0, 1]), allows=(LESS, "0"))),
    Call(MANY.member, i=whole(0, allows=())),
    Call(stacked, models=thing([mlp(0), mlp(1)])),
    Call(transition, steps=STEPS, accuracy=CURVE, levels=thing((0.5, 0.7, 0.9))),
    Call(steps_to, steps=STEPS, accuracy=CURVES, level=thing(0.7, allows=("-1", "0", "2.5", *BIG))),
]  # fmt: skip

# -- theory ------------------------------------------------------------------------------------------

START = theory.symmetric_start(5, 2, 4, 0)
X = np.array([[1.0, 1, -1, 1, -1], [1, -1, 1, 1, 1]])
INPUTS = array(X, allows=(*FREE, LESS), names="target")
VALUES = array(np.arange(4.0), allows=FREE)
SIZES = {"d": count(5), "k": count(2), "m": count(4), "seed": whole(3, allows="0")}
SMALL = SIZES | {"m": count(4)}

PAIRS = ("tokens far outside", "tokens below zero")

THEORY = [
    Call(theory.sign_cube, d=count(3)),
    Call(theory.walsh_hadamard,
         values=array(np.arange(4.0), allows=(*FREE, *MORE, *PAIRS, LESS, "True"))),
    Call(theory.monomial_correlations, values=array(np.arange(2.0), allows=(*FREE, *PAIRS)),
         x=array(X, allows=FREE, names="values"), support=thing([0, 1], allows="[]"), degree=count(2)),
    Call(theory.majority_coefficient, d=count(5), i=whole(3, allows="0")),
    Call(theory.majority_scaling, i=count(3), dims=thing([5, 9], allows=("[]", *PAIRS)), printed=flag(False)),
    Call(theory.majority_gap, d=count(9), k=count(2)),
    Call(theory.symmetric_start, **SIZES, aligned=flag(False)),
    Call(theory.one_step_teacher, **SIZES, aligned=flag(False)),
    Call(theory.first_gradient, start=thing(START), x=INPUTS,
         target=array(np.ones(2), allows=(*FREE, *PAIRS))),
    Call(theory.expected_gradient, start=thing(START), k=count(2)),
    Call(theory.stepped, start=thing(START), gradient=array(np.ones((4, 5)), allows=(*FREE, LESS)),
         k=count(2), rate=positive(0.5, allows=("None", "2.5"))),
    Call(theory.linear_coefficients, net=thing(START)),
    Call(theory.support_recall, gradient=array(np.ones((4, 5)), allows=(*FREE, LESS)), k=count(2)),
    Call(theory.claim_7, **SMALL),
    Call(theory.lemma_63, **SMALL),
    Call(theory.sampled_step_error, **SMALL, batch=count(8)),
    Call(theory.lemma_64, **SMALL, aligned=flag(False)),
    Call(theory.corollary_3, **SMALL, aligned=flag(True)),
    Call(theory.student_gradient, **SMALL, student=count(4)),
    Call(theory.corollary_4, values=VALUES, k=count(2), clipped=flag(True)),
    Call(theory.collinear_loss, c=array(np.array([1.0, 0.5]), allows=(*FREE, LESS, "tokens far outside",
                                                                      "tokens below zero")),
         scales=array(np.array([1.0, 2.0]), allows=(*FREE, LESS, "tokens far outside", "tokens below zero"))),
    Call(theory.theorem_23_student, **SMALL),
    Call(theory.ridge_error, net=thing(START), k=count(2), seed=whole(0), samples=count(20),
         penalty=positive(0.1)),
    Call(theory.lemma_65_error, **SMALL),
    Call(theory.student_fits, **SMALL, batch=count(8)),
    Call(theory.recall_by_batch, source=thing("leak"), **SMALL, batches=thing([4, 8]), leak=positive(0.1)),
    Call(theory.batch_for_recall,
         batches=array(np.array([10.0, 20.0]), allows=("entry 10**6", "plus .5"), names="recall"),
         recall=array(np.array([0.2, 0.8]), allows=(*FREE, "tokens far outside", "tokens below zero")),
         level=thing(0.5, allows=("-1", "0", "2.5", *BIG))),
    Call(theory.lemma_66, d=count(4), k=count(2), neurons=count(2), tau=positive(0.1), seed=whole(0)),
    Call(theory.proposition_9, d=count(5), k=count(2), seed=whole(0)),
    Call(theory.proposition_10, d=count(5), k=count(2), seed=whole(0)),
]  # fmt: skip

CALLS = [*WORLDS, *TRAINING, *THEORY]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_hostile_arguments_of_distillation_are_refused_in_one_sentence(call):
    found = faults(call)
    assert not found, report(found)


def test_networks_are_read_by_rows():
    assert START(X).shape == (2,)
    assert jnp.asarray(X).shape == (2, 5)
